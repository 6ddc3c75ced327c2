package terminal

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Long pastes stand in the input as one character each, of an area that is nobody's, so that the cursor steps over
// them and the screen is not filled with them.
const (
	pasteBase = 0xf0000
	maxPastes = 1000
	longPaste = 400 // characters
	tallPaste = 6   // lines
)

// An editor is the input: text of several lines and a cursor.
type editor struct {
	text   []rune
	at     int // cursor
	pastes []string
	killed string
	past   history
	wish   int // column that the cursor wants to be in when it moves up and down; -1: where it is
}

// value returns what was written, with the pastes in their places.
func (e *editor) value() string {
	var b strings.Builder
	for _, r := range e.text {
		if i := int(r) - pasteBase; i >= 0 && i < len(e.pastes) {
			b.WriteString(e.pastes[i])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func (e *editor) empty() bool { return len(e.text) == 0 }

// set replaces the text.
func (e *editor) set(s string) {
	e.text, e.pastes = []rune(s), nil
	e.at, e.wish = len(e.text), -1
}

func (e *editor) insert(s string) {
	in := []rune(s)
	e.text = slices.Insert(e.text, e.at, in...)
	e.at += len(in)
}

// paste inserts pasted text. A long one stands there as one character.
func (e *editor) paste(s string) {
	s = strings.ToValidUTF8(s, "\ufffd")
	if (len(s) > longPaste || strings.Count(s, "\n") >= tallPaste) && len(e.pastes) < maxPastes {
		e.pastes = append(e.pastes, s)
		s = string(rune(pasteBase + len(e.pastes) - 1))
	}
	e.insert(s)
}

// label returns the placeholder of a long paste.
func (e *editor) label(r rune) (string, bool) {
	i := int(r) - pasteBase
	if i < 0 || i >= len(e.pastes) {
		return "", false
	}
	p := e.pastes[i]
	if n := strings.Count(strings.TrimSuffix(p, "\n"), "\n") + 1; n > 1 {
		return fmt.Sprintf("[pasted: %d lines, %s]", n, size(len(p))), true
	}
	return fmt.Sprintf("[pasted: %s]", size(len(p))), true
}

// size writes a number of bytes for people.
func size(n int) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

// An action changes the input when a key is pressed.
type action func(e *editor)

// actions are the keys that change or move in the input.
var actions = map[key]action{
	keyNewline:     func(e *editor) { e.insert("\n") },
	keyBackspace:   func(e *editor) { e.remove(e.at-1, e.at) },
	keyDelete:      func(e *editor) { e.remove(e.at, e.at+1) },
	keyLeft:        func(e *editor) { e.at = max(e.at-1, 0) },
	keyRight:       func(e *editor) { e.at = min(e.at+1, len(e.text)) },
	keyHome:        func(e *editor) { e.at = e.lineStart(e.at) },
	keyEnd:         func(e *editor) { e.at = e.lineEnd(e.at) },
	keyWordLeft:    func(e *editor) { e.at = e.wordLeft() },
	keyWordRight:   func(e *editor) { e.at = e.wordRight() },
	keyWordBack:    func(e *editor) { e.kill(e.wordLeft(), e.at) },
	keyWordForward: func(e *editor) { e.kill(e.at, e.wordRight()) },
	keyKillStart:   func(e *editor) { e.kill(e.lineStart(e.at), e.at) },
	keyKillEnd:     func(e *editor) { e.kill(e.at, max(e.lineEnd(e.at), min(e.at+1, len(e.text)))) },
	keyYank:        func(e *editor) { e.insert(e.killed) },
	keyUp:          (*editor).up,
	keyDown:        (*editor).down,
	keyPrevious:    func(e *editor) { e.past.back(e) },
	keyNext:        func(e *editor) { e.past.forth(e) },
}

// press carries out a key, if it is one of the input.
func (e *editor) press(p press) {
	switch p.key {
	case keyRune:
		e.insert(p.text)
	case keyPaste:
		e.paste(p.text)
	default:
		f, ok := actions[p.key]
		if !ok {
			return
		}
		f(e)
	}
	if p.key != keyUp && p.key != keyDown {
		e.wish = -1
	}
}

func (e *editor) remove(from, to int) {
	from, to = max(from, 0), min(to, len(e.text))
	if from >= to {
		return
	}
	e.text = slices.Delete(e.text, from, to)
	if e.at > from {
		e.at = max(from, e.at-(to-from))
	}
}

// kill removes text that can be put back.
func (e *editor) kill(from, to int) {
	if from < to {
		e.killed = string(e.text[from:to])
		e.remove(from, to)
	}
}

func (e *editor) lineStart(i int) int {
	for i > 0 && e.text[i-1] != '\n' {
		i--
	}
	return i
}

func (e *editor) lineEnd(i int) int {
	for i < len(e.text) && e.text[i] != '\n' {
		i++
	}
	return i
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

func (e *editor) wordLeft() int {
	i := e.at
	for i > 0 && !wordRune(e.text[i-1]) {
		i--
	}
	for i > 0 && wordRune(e.text[i-1]) {
		i--
	}
	return i
}

func (e *editor) wordRight() int {
	i := e.at
	for i < len(e.text) && !wordRune(e.text[i]) {
		i++
	}
	for i < len(e.text) && wordRune(e.text[i]) {
		i++
	}
	return i
}

// up moves to the line above, or back in the history from the first one.
func (e *editor) up() {
	start := e.lineStart(e.at)
	if start == 0 {
		e.past.back(e)
		return
	}
	e.sameColumn(start, e.lineStart(start-1))
}

// down moves to the line below, or forth in the history from the last one.
func (e *editor) down() {
	end := e.lineEnd(e.at)
	if end == len(e.text) {
		e.past.forth(e)
		return
	}
	e.sameColumn(e.lineStart(e.at), end+1)
}

// sameColumn moves to another line, as far from its beginning as now.
func (e *editor) sameColumn(start, line int) {
	if e.wish < 0 {
		e.wish = e.at - start
	}
	e.at = min(line+e.wish, e.lineEnd(line))
}

// rows returns the input as it is shown, behind a prompt, and where the cursor is.
func (e *editor) rows(prompt string, columns int) (rows []row, curRow, curCol int) {
	pad := strings.Repeat(" ", cells(prompt))
	room := max(columns-len(pad), 4)
	line := styled(styleUser, prompt)
	used := 0
	feed := func() {
		rows = append(rows, line)
		line, used = plainRow(pad), 0
	}
	for i, r := range e.text {
		if i == e.at {
			curRow, curCol = len(rows), len(pad)+used
		}
		if r == '\n' {
			feed()
			continue
		}
		text, st := clean(string(r)), styleText
		if label, ok := e.label(r); ok {
			text, st = label, styleDim
		}
		w := cells(text)
		if used+w > room && used > 0 {
			feed()
			if i == e.at {
				curRow, curCol = len(rows), len(pad)
			}
		}
		line = appendText(line, st, text)
		used += w
	}
	if e.at == len(e.text) {
		if used >= room {
			feed()
		}
		curRow, curCol = len(rows), len(pad)+used
	}
	return append(rows, line), curRow, curCol
}

// appendText adds text to a row, in the last span if that has the style.
func appendText(r row, st style, text string) row {
	if n := len(r); n > 1 && r[n-1].style == st {
		r[n-1].text += text
		return r
	}
	return append(r, span{st, text})
}
