package terminal

import (
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// tabStop is the distance between tab stops.
const tabStop = 4

// runeWidth returns how many cells of the screen a character takes.
func runeWidth(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case r >= 0x1160 && r <= 0x11ff, // of syllables that are written as one
		r == nonJoiner, r == zeroJoiner,
		r >= pasteBase && r < pasteBase+maxPastes,
		unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// cells returns how many cells cleaned text takes.
func cells(s string) int {
	n := 0
	for len(s) > 0 {
		size, wide := sign(s)
		n += wide
		s = s[size:]
	}
	return n
}

// clean writes text so that a terminal shows it and does nothing else: characters that move the cursor or cannot be
// seen are spelled, tabs become blanks. New lines stay.
func clean(s string) string {
	if plainASCII(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	col := 0
	before := rune(0) // the last sign that can be seen
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		u := unseenOf(r)
		if u != nil && u.belongs != nil {
			if after, _ := utf8.DecodeRuneInString(s[i+size:]); u.belongs(before, after) {
				b.WriteString(s[i : i+size])
				i += size
				continue
			}
		}
		switch {
		case u != nil && !u.spelled:
			col--
		case r == '\n':
			b.WriteByte('\n')
			col = -1
		case r == '\r' && (i+1 == len(s) || s[i+1] == '\n'): // part of a line's end
			col--
		case r == '\t':
			n := tabStop - col%tabStop
			b.WriteString("        "[:n])
			col += n - 1
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
			col += 3
		case u == nil && unicode.IsPrint(r) && !(r >= pasteBase && r < pasteBase+maxPastes):
			b.WriteString(s[i : i+size])
			col += runeWidth(r) - 1
		case unicode.Is(unicode.Zs, r): // blanks of another width
			b.WriteByte(' ')
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
			col += 3
		default:
			n, _ := fmt.Fprintf(&b, `\u{%x}`, r)
			col += n - 1
		}
		if u == nil {
			before = r
		}
		col++
		i += size
	}
	return b.String()
}

func plainASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c != '\n' && (c < ' ' || c > '~') {
			return false
		}
	}
	return true
}

// A span is text in one style.
type span struct {
	style style
	text  string
}

// A row holds one line.
type row []span

func plainRow(s string) row         { return row{{text: s}} }
func styled(st style, s string) row { return row{{st, s}} }

// text returns what stands in a row.
func (r row) text() string {
	if len(r) == 1 {
		return r[0].text
	}
	var b strings.Builder
	for _, s := range r {
		b.WriteString(s.text)
	}
	return b.String()
}

func (r row) cells() int {
	n := 0
	for _, s := range r {
		n += cells(s.text)
	}
	return n
}

// A cell is one sign with what belongs to it while a row is broken.
type cell struct {
	text  string
	wide  uint16
	style style
}

// wrap breaks a row into rows of at most columns cells, between words where that is possible. All but the first begin
// with indent. No character is lost but the blank that a row is broken at.
func wrap(r row, columns int, indent string) []row {
	columns = max(columns, 8)
	if r.cells() <= columns {
		return []row{r}
	}
	pad := cells(indent)
	if pad > columns/2 {
		indent, pad = "", 0
	}
	var all []cell
	for _, s := range r {
		for text := s.text; text != ""; {
			n, wide := sign(text)
			all = append(all, cell{text[:n], uint16(min(wide, math.MaxUint16)), s.style})
			text = text[n:]
		}
	}
	var rows []row
	for len(all) > 0 {
		room := columns
		var out row
		if len(rows) > 0 && pad > 0 {
			room -= pad
			out = plainRow(indent)
		}
		n, blank := fit(all, room)
		rows = append(rows, append(out, spans(all[:n])...))
		if all = all[n:]; blank {
			all = all[1:]
		}
	}
	return rows
}

// fit returns how many cells go into a row, and whether a blank behind them is left out.
func fit(all []cell, room int) (n int, blank bool) {
	used, word, begun := 0, -1, false
	for i, c := range all {
		w := int(c.wide)
		if used+w > room && w > 0 {
			switch {
			case c.text == " ":
				return i, true
			case word > 0:
				return word, true
			}
			return max(i, 1), false
		}
		if c.text != " " {
			begun = true
		} else if begun {
			word = i
		}
		used += w
	}
	return len(all), false
}

func textOf(all []cell) string {
	var b strings.Builder
	for _, c := range all {
		b.WriteString(c.text)
	}
	return b.String()
}

// spans joins characters of one style.
func spans(all []cell) row {
	var r row
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].style == all[i].style {
			j++
		}
		r = append(r, span{all[i].style, textOf(all[i:j])})
		i = j
	}
	return r
}

// cut returns a row of at most columns cells; what is missing is shown by two points.
func cut(r row, columns int) row {
	if r.cells() <= columns {
		return r
	}
	var out row
	room := max(columns-2, 0)
	for _, s := range r {
		for at := 0; at < len(s.text); {
			n, wide := sign(s.text[at:])
			if wide > room {
				return append(out, span{s.style, s.text[:at] + ".."})
			}
			at, room = at+n, room-wide
		}
		out = append(out, s)
	}
	return out
}

// shorten returns the first line of a text, of at most n characters.
func shorten(s string, n int) string {
	s, more, _ := strings.Cut(strings.TrimSpace(s), "\n")
	for at := range s {
		if n--; n < 0 {
			return s[:at] + ".."
		}
	}
	if strings.TrimSpace(more) != "" {
		return s + " .."
	}
	return s
}
