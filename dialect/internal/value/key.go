package value

import (
	"strings"

	"wield/chat"
	"wield/dialect/internal/chars"
	"wield/dialect/internal/note"
	"wield/schema/shape"
)

// beginKey begins a key.
func (v *Reader) beginKey(c byte, i int) {
	v.tok, v.keyAt = v.tok[:0], v.pos(i)
	switch {
	case c == '"' || c == '\'' && (v.python || v.repair != Off):
		v.quote, v.state = c, vKey
		if c == '\'' && !v.python {
			v.note(note.SingleQuotes, "'", `"`, i, i+1)
		}
	case v.repair != Off && (chars.IsWord(c) || c == '-'):
		v.state = vKeyBare
		v.tok = append(v.tok, c)
	default:
		v.fail("a key is missing")
	}
}

// keyCut says that a text ends before the key that it begins with.
const keyCut = -1

// PlainKey returns the length of the quoted key that s begins with, 0 if it has escapes, or keyCut.
func PlainKey(s string) int {
	for i := 1; i < len(s) && i <= maxKey; i++ {
		switch c := s[i]; {
		case c == '"':
			return i + 1
		case c == '\\' || c < 0x20:
			return 0
		}
	}
	return keyCut
}

// wholeKey reads a key of n bytes at i at once.
func (v *Reader) wholeKey(in string, i, n int) int {
	v.nameKey(in[i+1:i+n-1], i+n)
	v.writePend(v.pos(i))
	v.writeSame(in[i:i+n], v.pos(i+n))
	return i + n
}

// inKey reads in a key.
func (v *Reader) inKey(in string, i int) int {
	if v.state == vKey {
		if j := chars.Quoted.Index(in, i); j > i {
			v.tok, v.from = append(v.tok, in[i:j]...), j
			return j
		}
	}
	i = v.readKey(in[i], i)
	v.from = i
	return i
}

// readKey reads a byte of a key.
func (v *Reader) readKey(c byte, i int) int {
	switch {
	case v.state == vKeyEscape:
		v.state = vKey
		if c == '\'' || c == '_' {
			v.tok = append(v.tok, c)
			v.odd = true
		} else {
			v.tok = append(v.tok, '\\', c)
		}
	case v.state == vKeyBare:
		if chars.IsWord(c) || c == '-' || c == '.' {
			v.tok = append(v.tok, c)
			break
		}
		v.quote = 0
		v.note(note.UnquotedKey, string(v.tok), string(shape.AppendQuoted(nil, string(v.tok))), i-len(v.tok), i)
		v.endKey(i)
		return i
	case c == '\\':
		v.state = vKeyEscape
	case c == v.quote:
		v.endKey(i + 1)
	case c < 0x20:
		v.fail("a control character in a key")
	case c == '"':
		v.tok = append(v.tok, '\\', '"')
	default:
		v.tok = append(v.tok, c)
	}
	return i + 1
}

// endKey ends a key before i.
func (v *Reader) endKey(i int) {
	var key, quoted string
	if n := len(v.tok); v.step == 1 && v.out.Holding() && v.quote == '"' && v.keyAt+n+2 == v.pos(i) {
		quoted = v.out.Held(v.keyAt, v.pos(i)) // it stands there as it is
		key = quoted[1 : n+1]
	} else {
		key = string(v.tok)
		quoted = `"` + key + `"`
	}
	if strings.IndexByte(key, '\\') >= 0 {
		var ok bool
		if key, ok = Unquote(key); !ok {
			v.fail("a broken escape in a key")
			return
		}
	}
	v.nameKey(key, i)
	v.writePend(v.keyAt)
	if v.quote == '"' && !v.odd {
		v.writeSame(quoted, v.pos(i))
	} else {
		v.write(quoted, i)
	}
	v.odd = false
}

// nameKey takes a key that ends before i into the innermost object. If it stands there already its value is held, to be
// compared.
func (v *Reader) nameKey(key string, i int) {
	f := &v.stack[len(v.stack)-1]
	v.state = vColon
	if !v.Discard && !v.hold.on {
		if j := FindKey(&f.keys, v.keys, key); j >= 0 {
			v.hold = hold{on: true, depth: len(v.stack), dup: j + 1, text: v.hold.text[:0], At: v.pos(i)}
			f.key = j
			return
		}
	}
	f.key = len(v.keys)
	v.keys = AddKey(&f.keys, v.keys, keySpan{key: key, from: -1})
}

// keep begins to hold what is written, for a conversion of the value that begins at i.
func (v *Reader) keep(i int) {
	if !v.hold.on {
		v.hold = hold{on: true, depth: len(v.stack), text: v.hold.text[:0], shape: v.shape, At: v.pos(i)}
	}
}

// releaseHold decides about the held value, which ends before i.
func (v *Reader) releaseHold(i int) {
	h := &v.hold
	h.on = false
	got := strings.TrimSpace(string(h.text[h.Value:]))
	out, c, _ := shape.FitScalar(got, h.shape, v.repair == Full)
	if h.dup > 0 {
		v.releaseDuplicate(out, i)
		return
	}
	if c != shape.Fits && c != shape.Uncoerced {
		v.NoteAt(chat.NoteKind(c), got, out, h.At, v.pos(i))
	}
	if c == shape.Uncoerced && h.shape.Type().Only(shape.String) && v.repair == Full {
		out = string(shape.AppendQuoted(nil, got))
		v.NoteAt(note.SourceText, got, out, h.At, v.pos(i))
	}
	v.write(out, i)
}

// releaseDuplicate decides about a second value for a key: the same again is left out; another one counts,
// being last, at the level full.
func (v *Reader) releaseDuplicate(out string, i int) {
	h := &v.hold
	k := v.keys[h.dup-1]
	was := ""
	if !v.Discard {
		was = v.out.Arguments()[k.from:k.to]
	}
	if was != out && v.repair != Full {
		v.fail("the key " + k.key + " stands twice with different values")
		return
	}
	if was == out {
		v.NoteAt(chat.NoteDuplicateKey, out, out, h.At, v.pos(i))
		return
	}
	// a copy: the note is not to keep all of the arguments
	v.NoteAt(chat.NoteDuplicateKey, strings.Clone(was), out, h.At, v.pos(i))
	if !v.Discard && !v.out.Holding() {
		v.replace(h.dup, out)
		return
	}
	v.write(string(h.text[:h.Value])+out, i)
}

// maxReplaced limits the values that are replaced in one text: for each the arguments so far are written anew.
const maxReplaced = 32

// replace puts out in place of the value of a key that was read before. That is possible only while nothing of the
// arguments was sent, as when they are read as a whole.
func (v *Reader) replace(dup int, out string) {
	if v.replaced++; v.replaced > maxReplaced {
		v.fail("too many keys stand twice with different values")
		return
	}
	k := &v.keys[dup-1]
	text := v.out.Arguments()
	from, to := k.from, k.to
	v.out.Rewrite(text[:from], out, text[to:])
	for i := range v.keys {
		if key := &v.keys[i]; key.from >= to {
			key.from += len(out) - (to - from)
			key.to += len(out) - (to - from)
		}
	}
	k.to = from + len(out)
}
