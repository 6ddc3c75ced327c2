package terminal

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A tail stands below the scrollback; it knows where the cursor is in it.
type tail struct {
	rows     []row
	row, col int
}

// A screen prints to a terminal. It knows the rows of the tail that it painted last, and nothing of what is above.
type screen struct {
	w      io.Writer
	color  bool
	plain  bool // there is no terminal: lines only
	width  int
	height int

	out    []row // finished, not printed yet
	shown  []row // the tail as it stands
	cursor int   // row of the cursor in it
	col    int   // and its column
	failed error
	begun  bool
	anew   bool // the terminal may have broken what stands there: it is wiped before it is painted again
}

// columns is how wide rows may be. The last column stays free: what is written there makes terminals differ.
func (s *screen) columns() int {
	if s.plain {
		return 1 << 20 // whoever reads the lines breaks them
	}
	return max(s.width-1, 20)
}

// print puts rows at the end of the scrollback.
func (s *screen) print(rows ...row) { s.out = append(s.out, rows...) }

// Sequences of terminals. Those with a question mark are ignored by terminals that do not know them.
const (
	beginPaint = "\x1b[?2026h\x1b[?25l" // nothing is shown until the end; no cursor meanwhile
	endPaint   = "\x1b[?25h\x1b[?2026l"
	clearBelow = "\x1b[J"
	clearRight = "\x1b[K"
	bracketed  = "\x1b[?2004h" // pastes are marked
	unmarked   = "\x1b[?2004l"
	wipe       = "\x1b[H\x1b[2J"
)

// paint prints what is finished and paints the tail, in one write.
func (s *screen) paint(t tail) {
	if s.plain {
		s.lines()
		return
	}
	if most := max(s.height-1, 2); len(t.rows) > most { // the end is what matters
		t.row -= len(t.rows) - most
		t.rows = t.rows[len(t.rows)-most:]
	}
	if len(t.rows) == 0 {
		t.rows = []row{nil}
	}
	t.row = min(max(t.row, 0), len(t.rows)-1)
	same := 0
	if len(s.out) == 0 {
		same = equalRows(s.shown, t.rows)
		if same == len(t.rows) && same == len(s.shown) && s.begun {
			s.moveOnly(t)
			return
		}
	}
	var b strings.Builder
	b.WriteString(beginPaint)
	same = min(same, max(len(s.shown)-1, 0), len(t.rows)-1)
	move(&b, same-s.cursor)
	b.WriteByte('\r')
	s.finished(&b)
	for i, r := range t.rows[same:] {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(clearRight)
		paint(&b, r, s.color)
	}
	b.WriteString(clearBelow)
	move(&b, t.row-(len(t.rows)-1))
	column(&b, t.col)
	b.WriteString(endPaint)
	s.shown, s.cursor, s.col, s.begun = t.rows, t.row, t.col, true
	s.write(b.String())
}

func (s *screen) moveOnly(t tail) {
	var b strings.Builder
	move(&b, t.row-s.cursor)
	column(&b, t.col)
	s.cursor, s.col = t.row, t.col
	s.write(b.String())
}

// finished writes the rows that go to the scrollback, over the tail. Each line is emptied first: blanks at its end,
// where something longer stood before, would be copied, and would be broken into a line of their own when the
// terminal becomes narrower. A row that is longer than the screen, such as a line of code, is broken by the terminal,
// which knows then that it is one line.
func (s *screen) finished(b *strings.Builder) {
	if s.anew || slices.ContainsFunc(s.out, func(r row) bool { return r.cells() >= s.width }) {
		b.WriteString(clearBelow)
	}
	for _, r := range s.out {
		b.WriteString(clearRight)
		paint(b, r, s.color)
		b.WriteString("\r\n")
	}
	s.out, s.anew = s.out[:0], false
}

// lines prints what is finished where there is no terminal.
func (s *screen) lines() {
	if len(s.out) == 0 {
		return
	}
	var b strings.Builder
	for _, r := range s.out {
		paint(&b, r, s.color)
		b.WriteByte('\n')
	}
	s.out = s.out[:0]
	s.write(b.String())
}

// resize takes a new size. Terminals break the rows of the tail anew when they become narrower, so the first of them
// may be further up.
func (s *screen) resize(width, height int) {
	if width > 0 && width != s.width {
		up := 0
		for _, r := range s.shown[:min(s.cursor, len(s.shown))] {
			up += max((r.cells()+width-1)/width, 1)
		}
		s.cursor = up + s.col/width
		s.shown = make([]row, max(s.cursor+1, len(s.shown))) // nothing of it is known to be the same
		for i := range s.shown {
			s.shown[i] = plainRow("\x00")
		}
		s.width, s.anew = width, true
	}
	if height > 0 {
		s.height = height
	}
}

// clear empties the screen. The scrollback stays.
func (s *screen) clear() {
	if s.plain {
		return
	}
	s.write(wipe)
	s.forget()
}

// forget says that the cursor stands at the beginning of an empty line, whoever left it there.
func (s *screen) forget() { s.shown, s.cursor, s.col, s.begun = nil, 0, 0, false }

// leave prints what is finished, takes the tail away, and leaves the cursor at the beginning of a line.
func (s *screen) leave() {
	s.paint(tail{})
	s.forget()
}

func (s *screen) write(text string) {
	if s.failed == nil {
		_, s.failed = io.WriteString(s.w, text)
	}
}

// equalRows returns how many rows at the beginning are the same.
func equalRows(a, b []row) int {
	n := min(len(a), len(b))
	for i := range n {
		if !slices.Equal(a[i], b[i]) {
			return i
		}
	}
	return n
}

// move moves the cursor down, or up.
func move(b *strings.Builder, rows int) {
	switch {
	case rows < 0:
		fmt.Fprintf(b, "\x1b[%dA", -rows)
	case rows > 0:
		fmt.Fprintf(b, "\x1b[%dB", rows)
	}
}

func column(b *strings.Builder, col int) {
	b.WriteByte('\r')
	if col > 0 {
		fmt.Fprintf(b, "\x1b[%dC", col)
	}
}
