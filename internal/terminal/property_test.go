package terminal

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"wield/internal/terminal/vt"
)

// pieces are what texts of the property tests are made of: all that Markdown knows, and what is hard for terminals.
var pieces = []string{
	"word", "a", "Ünïcode", "漢字", "日本語のテキスト", "e\u0301", "👍", "👩\u200d👩\u200d👧", "🇩🇪", "한국어", "שלום",
	"\u202eturned\u202c", "\u200b", "\ufeff", "\x1b[31m", "\x1b]0;title\x07", "\x00", "\x7f", "\x9b", "\xff\xfe", "\t",
	"\r", " ", "  ", " ", " ", "\n", "\n", "\n\n", "\r\n", "# ", "## Head", "- ", "* ", "10. ", "- [ ] ", "- [x] ",
	"> ", "> > ", "---", "***", "```", "```go\n", "~~~~\n", "\n```\n", "    indented",
	"| a | b |\n", "|---|---|\n", "| \\| |", "|", "**", "*", "__", "_", "~~", "`", "``", "[text](https://example.com)",
	"[", "](", "\\*", "\\", strings.Repeat("long", 30), strings.Repeat("many words ", 40), strings.Repeat("x", 700),
	strings.Repeat("文", 700),
}

// randomText returns a text made of pieces.
func randomText(r *rand.Rand, from []string, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(from[r.IntN(len(from))])
	}
	return b.String()
}

// cuts parts a text anywhere, within characters too.
func cuts(r *rand.Rand, text string) []string {
	var out []string
	for most := 1 + r.IntN(60); text != ""; {
		n := min(1+r.IntN(most), len(text))
		out, text = append(out, text[:n]), text[n:]
	}
	return out
}

// rendered returns the rows of a text that comes in parts.
func rendered(parts []string, color bool, columns int) []row {
	m := markdown{color: color, columns: columns}
	var out []row
	for i, p := range parts {
		out = append(out, m.write(p)...)
		if i%50 == 1 {
			m.tail() // looking at it changes nothing
		}
	}
	return append(out, m.close()...)
}

// rounds is how many random texts a property test looks at.
const rounds = 60

// TestMarkdownChunks shows that rows do not depend on how a text is cut.
func TestMarkdownChunks(t *testing.T) {
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 1))
		text, color, columns := randomText(r, pieces, 1+r.IntN(120)), r.IntN(2) == 0, 8+r.IntN(110)
		want := rendered([]string{text}, color, columns)
		parts := cuts(r, text)
		if got := rendered(parts, color, columns); !slices.EqualFunc(got, want, equalRow) {
			t.Fatalf("seed %d, %d columns, colour %v: %q in %d parts gives\n%s\nwant\n%s", seed, columns, color, text,
				len(parts), texts(got), texts(want))
		}
	}
}

// equalRow compares what a row looks like, however its spans are cut.
func equalRow(a, b row) bool { return slices.Equal(lookOf(a), lookOf(b)) }

func lookOf(r row) []cell {
	var out []cell
	for _, s := range r {
		for _, c := range s.text {
			out = append(out, cell{text: string(c), style: s.style})
		}
	}
	return out
}

func texts(rows []row) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%q\n", r.text())
	}
	return b.String()
}

// TestMarkdownWidth shows that no row is wider than it may be, except code, which the terminal breaks so that it can
// be copied.
func TestMarkdownWidth(t *testing.T) {
	noCode := slices.DeleteFunc(slices.Clone(pieces), func(s string) bool { return strings.ContainsAny(s, "`~") })
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 2))
		text, color, columns := randomText(r, noCode, 1+r.IntN(120)), r.IntN(2) == 0, 8+r.IntN(110)
		for _, out := range rendered(cuts(r, text), color, columns) {
			if n := out.cells(); n > columns {
				t.Fatalf("seed %d: %q has %d cells, %d are the most, of %q", seed, out.text(), n, columns, text)
			}
		}
	}
}

// kept returns the letters and numbers of a text, which no way of showing it leaves out or moves.
func kept(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Mn, r) ||
			r > 0x1f000 && unicode.Is(unicode.So, r) {
			return r
		}
		return -1
	}, s)
}

// TestMarkdownLosesNothing shows that what is shown has every letter of the text, in order; without colours it has
// every sign too.
func TestMarkdownLosesNothing(t *testing.T) {
	// What is written in another way has tests of its own: list marks, lines, columns, boxes.
	signs := slices.DeleteFunc(slices.Clone(pieces), func(s string) bool {
		return !utf8.ValidString(s) || strings.ContainsAny(s, "-*|_\u202e\x1b\x00\x7f\u200d\u200b\ufeff>")
	})
	letters := slices.DeleteFunc(slices.Clone(pieces), func(s string) bool { return strings.HasPrefix(s, "- [") })
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 3))
		columns := 8 + r.IntN(110)
		all := randomText(r, letters, 1+r.IntN(120))
		if got, want := kept(joined(rendered(cuts(r, all), true, columns))), kept(clean(all)); got != want {
			t.Fatalf("seed %d, %d columns: %q\nhas  %s\nwant %s", seed, columns, all, got, want)
		}
		text := randomText(r, signs, 1+r.IntN(120))
		if got, want := solid(joined(rendered(cuts(r, text), false, columns))), solid(clean(text)); got != want {
			t.Fatalf("seed %d, %d columns, no colour: %q\nhas  %s\nwant %s", seed, columns, text, got, want)
		}
	}
}

func joined(rows []row) string {
	var b strings.Builder
	for _, r := range rows {
		b.WriteString(r.text() + "\n")
	}
	return b.String()
}

// solid returns a text without blanks and ends of lines, which change when it is broken.
func solid(s string) string { return strings.Join(strings.Fields(s), "") }

// TestWrap shows that a row that is broken loses nothing but blanks, and that its rows fit.
func TestWrap(t *testing.T) {
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 4))
		text := strings.ReplaceAll(clean(randomText(r, pieces, 1+r.IntN(60))), "\n", " ")
		columns, indent := 8+r.IntN(110), strings.Repeat("│ ", r.IntN(8))
		half := wholeRunes(text[:len(text)/2])
		rows := wrap(row{{styleText, text[:half]}, {styleStrong, text[half:]}}, columns, indent)
		var b strings.Builder
		for i, out := range rows {
			if n := out.cells(); n > columns {
				t.Fatalf("seed %d: row %d, %q, has %d cells, %d are the most", seed, i, out.text(), n, columns)
			}
			got := out.text()
			if i > 0 && cells(indent) <= columns/2 {
				got = strings.TrimPrefix(got, indent)
			}
			b.WriteString(got)
		}
		if got, want := solid(b.String()), solid(text); got != want {
			t.Fatalf("seed %d, %d columns: %q\nhas  %s\nwant %s", seed, columns, text, got, want)
		}
	}
}

// TestClean shows that nothing that acts on a terminal is left in a text.
func TestClean(t *testing.T) {
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 5))
		text := randomText(r, pieces, 1+r.IntN(60))
		for i, c := range clean(text) {
			if c != '\n' && c != nonJoiner && c != zeroJoiner && (!unicode.IsPrint(c) || c == '\ufffd') {
				t.Fatalf("seed %d: %q keeps %U at %d", seed, text, c, i)
			}
		}
	}
	for _, tt := range []struct{ in, want string }{
		{"a\tb\n\tc\td", "a   b\n    c   d"}, {"漢\tx", "漢  x"}, {"one\r\ntwo\r", "one\ntwo"}, {"a\rb", `a\x0db`},
		{"\x1b[2J", `\x1b[2J`}, {"\u202ex", `\u{202e}x`}, {"\xff", `\xff`}, {"a\u00a0b", "a b"}, {"a\u00adb", "ab"},
		{"e\u0301", "e\u0301"}, {"\U000f0000", `\u{f0000}`},
		// What belongs to a picture or a word stays,
		{"👩\u200d👩\u200d👧", "👩\u200d👩\u200d👧"}, {"👩🏽\u200d🚀", "👩🏽\u200d🚀"}, {"🏳\ufe0f\u200d🌈", "🏳\ufe0f\u200d🌈"},
		{"❤\ufe0f", "❤\ufe0f"}, {"1\ufe0f\u20e3", "1\ufe0f\u20e3"}, {"می\u200cخواهم", "می\u200cخواهم"},
		{"क्\u200dष", "क्\u200dष"}, {"葛\U000e0100", "葛\U000e0100"}, {"🇩🇪", "🇩🇪"},
		// what hides in a name is left out or spelled.
		{"pass\u200dword", "password"}, {"pass\u200cword", "password"}, {"👩\u200dx", "👩x"}, {"a\ufe0f", "a"},
		{"\u200d", ""}, {"a\u200b", `a\u{200b}`}, {"a\U000e0131\U000e0132", `a\u{e0131}\u{e0132}`},
		{"a\ufe01", `a\u{fe01}`}, {"😀\U000e0131", `😀\u{e0131}`}, {"🏴\U000e0067\U000e007f", `🏴\u{e0067}\u{e007f}`},
		{"\ufeffa", `\u{feff}a`},
	} {
		if got := clean(tt.in); got != tt.want {
			t.Errorf("clean(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// TestScreen shows that what is in a terminal at the end does not depend on how a text came and when it was painted,
// and that the tail leaves nothing behind.
func TestScreen(t *testing.T) {
	for seed := range uint64(rounds / 4) {
		r := rand.New(rand.NewPCG(seed, 6))
		text, color, w, h := randomText(r, pieces, 1+r.IntN(80)), r.IntN(2) == 0, 20+r.IntN(100), 6+r.IntN(40)
		once := onScreen(nil, []string{text}, color, w, h)
		parts := onScreen(r, cuts(r, text), color, w, h)
		if !slices.Equal(once, parts) {
			t.Fatalf("seed %d, %d by %d, colour %v: %q leaves\n%s\nwant\n%s", seed, w, h, color, text,
				strings.Join(parts, "\n"), strings.Join(once, "\n"))
		}
	}
}

// onScreen shows a text in parts, with a tail below it that is painted now and then, and returns what stands in the
// terminal at the end.
func onScreen(r *rand.Rand, parts []string, color bool, w, h int) []string {
	v := vt.New(w, h)
	s := screen{w: v, color: color, width: w, height: h}
	m := markdown{color: color, columns: s.columns()}
	for i, p := range parts {
		s.print(m.write(p)...)
		if r != nil && r.IntN(3) == 0 {
			rows := append(m.tail(), styled(styleTool, fmt.Sprintf("status %d", i)), plainRow("> input"))
			s.paint(tail{rows, r.IntN(len(rows)), r.IntN(8)})
		}
	}
	s.print(m.close()...)
	s.leave()
	lines := v.Lines()
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return append(lines, v.Problems()...)
}

// TestSigns counts cells as a terminal would that shows the parts of a sequence one beside the other, and breaks rows
// between signs only.
func TestSigns(t *testing.T) {
	const family, heart, crew = "👩\u200d👩\u200d👧", "❤\ufe0f", "👩🏽\u200d🚀"
	for _, tt := range []struct {
		text string
		want int
	}{{"abc", 3}, {family, 6}, {heart, 2}, {"❤", 1}, {crew, 6}, {"e\u0301", 1}, {"漢字", 4}, {"", 0},
		{"a" + heart + "b", 4}} {
		if got := cells(tt.text); got != tt.want {
			t.Errorf("%q has %d cells, want %d", tt.text, got, tt.want)
		}
	}
	var got []string
	for _, r := range wrap(plainRow(strings.Repeat(family, 3)+strings.Repeat(heart, 5)), 8, "") {
		got = append(got, r.text())
	}
	if want := []string{family, family, family + heart, heart + heart + heart + heart}; !slices.Equal(got, want) {
		t.Errorf("the rows are %q, want %q", got, want)
	}
	if got := cut(plainRow(family+family), 9).text(); got != family+".." {
		t.Errorf("cut to %q", got)
	}
}
