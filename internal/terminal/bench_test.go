package terminal

import (
	"strings"
	"testing"

	"wield/internal/terminal/vt"
)

// BenchmarkMarkdown shows an answer that comes in small pieces, with a tail that is painted after each of them.
func BenchmarkMarkdown(b *testing.B) {
	text := strings.Repeat(
		"A line with **strong** words, `code` and [a link](https://example.com), as models write them.\n", 200)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		s := screen{w: vt.New(80, 24), color: true, width: 80, height: 24}
		m := markdown{color: true, columns: s.columns()}
		for i := 0; i < len(text); i += 8 {
			s.print(m.write(text[i:min(i+8, len(text))])...)
			if i%64 == 0 {
				s.paint(tail{rows: m.tail()})
			}
		}
	}
}

// BenchmarkKeyToEcho types a character into an input while an answer streams, up to its echo on the screen.
func BenchmarkKeyToEcho(b *testing.B) {
	c, err := begin(options(b, modelFunc(endless)))
	if err != nil {
		b.Fatal(err)
	}
	c.screen.w = vt.New(80, 24)
	c.turn = &userTurn{trail: new(trail), md: markdown{columns: c.screen.columns()}}
	c.turn.md.write(strings.Repeat("word ", 100))
	for b.Loop() {
		c.presses(b.Context(), c.keys.feed([]byte("x")))
		c.paint()
		if c.editor.at == 200 {
			c.editor.set("")
		}
	}
}
