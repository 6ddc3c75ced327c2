// Package vt is a model of a terminal: what a program writes becomes rows of characters, as a person would see them.
// It is for tests of what is shown, and for pictures of it.
//
// It knows the sequences that wield writes, and complains about all others, so that no test passes because something
// was ignored.
package vt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// A Terminal is a screen with rows above it that have scrolled away. Several goroutines may use it at once.
type Terminal struct {
	mu       sync.Mutex
	w, h     int
	x, y     int
	wrap     bool // the next character begins a new row
	look     string
	rows     [][]cell
	scrolled [][]cell
	rest     []byte
	problems []string
}

type cell struct {
	text string
	look string
}

// New returns an empty screen.
func New(w, h int) *Terminal {
	v := &Terminal{w: w, h: h}
	for range h {
		v.rows = append(v.rows, make([]cell, w))
	}
	return v
}

// Write takes what a program writes. It never fails.
func (v *Terminal) Write(b []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.rest = append(v.rest, b...)
	for len(v.rest) > 0 {
		n := v.next()
		if n == 0 {
			break
		}
		v.rest = v.rest[n:]
	}
	return len(b), nil
}

func (v *Terminal) next() int {
	switch c := v.rest[0]; {
	case c == '\x1b':
		return v.escape()
	case c == '\r':
		v.x, v.wrap = 0, false
	case c == '\n':
		v.feed()
	case c == '\a':
	case c < ' ' || c == 0x7f:
		v.problems = append(v.problems, fmt.Sprintf("control character %#x", c))
	default:
		r, n := utf8.DecodeRune(v.rest)
		v.put(r)
		return n
	}
	return 1
}

func (v *Terminal) put(r rune) {
	n := runeWidth(r)
	if n == 0 {
		if v.x > 0 {
			v.rows[v.y][v.x-1].text += string(r)
		}
		return
	}
	if v.wrap || v.x+n > v.w {
		v.x, v.wrap = 0, false
		v.feed()
	}
	v.rows[v.y][v.x] = cell{string(r), v.look}
	if n == 2 {
		v.rows[v.y][v.x+1] = cell{"", v.look}
	}
	if v.x += n; v.x >= v.w {
		v.x, v.wrap = v.w-1, true
	}
}

func (v *Terminal) feed() {
	if v.y < v.h-1 {
		v.y++
		return
	}
	v.scrolled = append(v.scrolled, v.rows[0])
	v.rows = append(v.rows[1:], make([]cell, v.w))
}

func (v *Terminal) escape() int {
	if len(v.rest) < 2 {
		return 0
	}
	end := 2
	for end < len(v.rest) && (v.rest[end] < 0x40 || v.rest[end] > 0x7e) {
		end++
	}
	if end == len(v.rest) {
		return 0
	}
	seq := string(v.rest[1 : end+1])
	n := 1
	if digits := strings.Trim(seq[1:len(seq)-1], "?"); digits != "" {
		n, _ = strconv.Atoi(digits)
	}
	switch last := seq[len(seq)-1]; {
	case last == 'm':
		v.look = seq
		if seq == "[0m" {
			v.look = ""
		}
	case last == 'A':
		v.y, v.wrap = max(v.y-n, 0), false
	case last == 'B':
		v.y, v.wrap = min(v.y+n, v.h-1), false
	case last == 'C':
		v.x, v.wrap = min(v.x+n, v.w-1), false
	case seq == "[K":
		clear(v.rows[v.y][v.x:])
	case seq == "[J":
		clear(v.rows[v.y][v.x:])
		for _, r := range v.rows[v.y+1:] {
			clear(r)
		}
	case seq == "[2J":
		for _, r := range v.rows {
			clear(r)
		}
	case seq == "[H":
		v.x, v.y, v.wrap = 0, 0, false
	case seq == "[?2026h", seq == "[?2026l", seq == "[?25h", seq == "[?25l", seq == "[?2004h", seq == "[?2004l":
	default:
		v.problems = append(v.problems, fmt.Sprintf("sequence %q", seq))
	}
	return end + 1
}

// Screen returns what can be seen, with the styles as signs if they are wanted, and with the cursor as one.
func (v *Terminal) Screen(looks, cursor bool) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var b strings.Builder
	for y, r := range v.rows {
		line := v.line(r, looks)
		if cursor && y == v.y {
			line = v.line(r[:v.x], looks)
			line += strings.Repeat(" ", max(0, v.x-cells(v.line(r[:v.x], false)))) + "█" +
				v.line(r[min(v.x+1, len(r)):], looks)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func (v *Terminal) line(r []cell, looks bool) string {
	var b strings.Builder
	look := ""
	for _, c := range r {
		if looks && c.look != look {
			fmt.Fprintf(&b, "<%s>", strings.Trim(c.look, "[m"))
			look = c.look
		}
		switch {
		case c.text == "" && c.look == "":
			b.WriteByte(' ')
		default:
			b.WriteString(c.text)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// Lines returns the lines that have scrolled away and those that can be seen.
func (v *Terminal) Lines() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var lines []string
	for _, r := range append(append([][]cell(nil), v.scrolled...), v.rows...) {
		lines = append(lines, v.line(r, false))
	}
	return lines
}

// Problems returns what the terminal was sent and does not know.
func (v *Terminal) Problems() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.problems)
}

func runeWidth(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) || r == 0x200c || r == 0x200d {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

func cells(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}
