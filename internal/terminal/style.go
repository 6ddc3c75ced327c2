package terminal

import "strings"

// A style says what a span is, not how it looks.
type style uint8

// The styles.
const (
	styleText    style = iota
	styleUser          // what the person wrote
	styleDim           // of less importance
	styleStrong        // bold
	styleEmph          // italic
	styleStrike        // crossed out
	styleHeading       // of a section
	styleCode          // code within a line, and in blocks
	styleLink          // an address
	styleTool          // what a tool does
	styleGood          // it went well
	styleBad           // it failed
	styleWarn          // it needs attention
	styleAdd           // lines that come
	styleRemove        // lines that go
	styleHunk          // place of a change
	styles
)

// looks are the sequences that begin each style, in the sixteen colours that every terminal has and people choose for
// themselves.
var looks = [styles]string{
	styleUser:    "\x1b[1;36m",
	styleDim:     "\x1b[2m",
	styleStrong:  "\x1b[1m",
	styleEmph:    "\x1b[3m",
	styleStrike:  "\x1b[9m",
	styleHeading: "\x1b[1;35m",
	styleCode:    "\x1b[36m",
	styleLink:    "\x1b[4;34m",
	styleTool:    "\x1b[34m",
	styleGood:    "\x1b[32m",
	styleBad:     "\x1b[31m",
	styleWarn:    "\x1b[33m",
	styleAdd:     "\x1b[32m",
	styleRemove:  "\x1b[31m",
	styleHunk:    "\x1b[36m",
}

const lookEnd = "\x1b[0m"

// paint writes a row, with colours or without.
func paint(b *strings.Builder, r row, color bool) {
	for _, s := range r {
		look := looks[s.style]
		if look == "" || !color || s.text == "" {
			b.WriteString(s.text)
			continue
		}
		b.WriteString(look)
		b.WriteString(s.text)
		b.WriteString(lookEnd)
	}
}
