package terminal

import (
	"bytes"
	"unicode/utf8"
)

// A key names a key that is not a character.
type key uint8

// The keys.
const (
	keyRune  key = iota // a character, in press.text
	keyPaste            // pasted text, in press.text
	keyEnter
	keyNewline // Alt-Enter, Ctrl-J
	keyTab
	keyBackTab
	keyEsc
	keyBackspace
	keyDelete
	keyLeft
	keyRight
	keyUp
	keyDown
	keyHome
	keyEnd
	keyPageUp
	keyPageDown
	keyWordLeft
	keyWordRight
	keyWordBack    // removes the word before the cursor
	keyWordForward // removes the word behind it
	keyKillEnd
	keyKillStart
	keyYank
	keyInterrupt // Ctrl-C
	keyEOF       // Ctrl-D
	keyClear     // Ctrl-L
	keySearch    // Ctrl-R
	keyEditor    // Ctrl-G
	keySuspend   // Ctrl-Z
	keyPrevious  // Ctrl-P
	keyNext      // Ctrl-N
)

// A press is one key, or one paste.
type press struct {
	key  key
	text string
}

// controls are the keys of control characters.
var controls = map[byte]key{
	0x01: keyHome, 0x02: keyLeft, 0x03: keyInterrupt, 0x04: keyEOF, 0x05: keyEnd, 0x06: keyRight, 0x07: keyEditor,
	0x08: keyBackspace, 0x09: keyTab, 0x0a: keyNewline, 0x0b: keyKillEnd, 0x0c: keyClear, 0x0d: keyEnter,
	0x0e: keyNext, 0x10: keyPrevious, 0x12: keySearch, 0x15: keyKillStart, 0x17: keyWordBack, 0x19: keyYank,
	0x1a: keySuspend, 0x7f: keyBackspace,
}

// sequences are the keys of what follows an escape character, as terminals in use send them.
var sequences = map[string]key{
	"[A": keyUp, "[B": keyDown, "[C": keyRight, "[D": keyLeft, "[H": keyHome, "[F": keyEnd, "[Z": keyBackTab,
	"OA": keyUp, "OB": keyDown, "OC": keyRight, "OD": keyLeft, "OH": keyHome, "OF": keyEnd, "OM": keyEnter,
	"[1~": keyHome, "[7~": keyHome, "[4~": keyEnd, "[8~": keyEnd, "[3~": keyDelete, "[5~": keyPageUp,
	"[6~": keyPageDown, "[1;5C": keyWordRight, "[1;5D": keyWordLeft, "[1;3C": keyWordRight, "[1;3D": keyWordLeft,
	"[5C": keyWordRight, "[5D": keyWordLeft, "[3;5~": keyWordForward, "[3;3~": keyWordForward, "[27;2;13~": keyNewline,
	"[13;2u": keyNewline, "[27;5;13~": keyNewline, "b": keyWordLeft, "f": keyWordRight, "d": keyWordForward,
	"\x7f": keyWordBack, "\x08": keyWordBack, "\r": keyNewline, "\n": keyNewline,
}

var (
	pasteBegin = []byte("\x1b[200~")
	pasteEnd   = []byte("\x1b[201~")
)

// maxPaste bounds what is kept of one paste.
const maxPaste = 16 << 20

// A keyReader makes keys of what a terminal sends. What is not complete is kept for the next time.
type keyReader struct {
	rest    []byte
	pasting bool
	paste   bytes.Buffer
	lost    int // bytes of the paste that there was no room for
}

// pending reports whether an escape character waits for what may follow it.
func (k *keyReader) pending() bool { return !k.pasting && len(k.rest) > 0 && k.rest[0] == 0x1b }

// flush takes what waits for the keys that it is by itself.
func (k *keyReader) flush() []press {
	if !k.pending() {
		return nil
	}
	rest := k.rest
	k.rest = nil
	if len(rest) == 1 {
		return []press{{key: keyEsc}}
	}
	return nil // the beginning of a sequence that never came
}

// feed takes what was read.
func (k *keyReader) feed(b []byte) []press {
	k.rest = append(k.rest, b...)
	var out []press
	for len(k.rest) > 0 {
		var p press
		var ok bool
		if k.pasting {
			p, ok = k.inPaste()
		} else {
			p, ok = k.next()
		}
		if !ok {
			break
		}
		if p.key != keyRune || p.text != "" {
			out = append(out, p)
		}
	}
	if len(k.rest) == 0 {
		k.rest = nil
	}
	return out
}

// inPaste takes text up to the end of the paste.
func (k *keyReader) inPaste() (press, bool) {
	i := bytes.Index(k.rest, pasteEnd)
	n := i
	if i < 0 {
		n = max(len(k.rest)-len(pasteEnd)+1, 0) // the end may have come in part
	}
	room := min(n, maxPaste-k.paste.Len())
	k.paste.Write(k.rest[:room])
	k.lost += n - room
	if i < 0 {
		k.rest = append([]byte(nil), k.rest[n:]...)
		return press{}, false
	}
	k.rest = k.rest[i+len(pasteEnd):]
	p := press{keyPaste, lines(k.paste.String())}
	k.pasting = false
	k.paste = bytes.Buffer{}
	return p, true
}

// lines makes the ends of lines what they are in files. Terminals send the key Enter for them.
func lines(s string) string {
	b := bytes.ReplaceAll([]byte(s), []byte("\r\n"), []byte("\n"))
	return string(bytes.ReplaceAll(b, []byte("\r"), []byte("\n")))
}

// next takes one key. A press without a key and text is something that is not known, and left out.
func (k *keyReader) next() (press, bool) {
	c := k.rest[0]
	switch {
	case c == 0x1b:
		return k.escape()
	case c < ' ' || c == 0x7f:
		k.rest = k.rest[1:]
		if name, ok := controls[c]; ok {
			return press{key: name}, true
		}
		return press{}, true
	}
	n := 0
	for n < len(k.rest) && k.rest[n] >= ' ' && k.rest[n] != 0x7f {
		if !utf8.FullRune(k.rest[n:]) {
			break
		}
		_, size := utf8.DecodeRune(k.rest[n:])
		n += size
	}
	if n == 0 {
		return press{}, false
	}
	p := press{keyRune, string(bytes.ToValidUTF8(k.rest[:n], []byte("\ufffd")))}
	k.rest = k.rest[n:]
	return p, true
}

// escape takes what begins with an escape character.
func (k *keyReader) escape() (press, bool) {
	b := k.rest
	if bytes.HasPrefix(b, pasteBegin) {
		k.rest, k.pasting, k.lost = b[len(pasteBegin):], true, 0
		return press{}, true
	}
	if len(b) == 1 {
		return press{}, false
	}
	end := 2
	switch b[1] {
	case 0x1b: // twice: the first one is by itself
		k.rest = b[1:]
		return press{key: keyEsc}, true
	case '[':
		for end < len(b) && (b[end] < 0x40 || b[end] > 0x7e) && end < 32 {
			end++
		}
		end++
	case 'O':
		end = 3
	default:
		_, size := utf8.DecodeRune(b[1:])
		end = 1 + size
		if _, ok := sequences[string(b[1:end])]; !ok && b[1] < ' ' { // two keys, one right after the other
			k.rest = b[1:]
			return press{key: keyEsc}, true
		}
	}
	if end > len(b) {
		return press{}, false
	}
	k.rest = b[end:]
	if name, ok := sequences[string(b[1:end])]; ok {
		return press{key: name}, true
	}
	return press{}, true
}
