package terminal

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// A markdown shows Markdown while it is written. Lines that are finished become rows at once and are never touched
// again; the last line, and a table until its end, are the tail.
type markdown struct {
	color   bool
	columns int

	line   strings.Builder // that is being written
	inside bool            // what was printed of it already: its rest goes on in the middle
	indent string          // of the rest
	fence  string          // that is open
	info   string          // what its block is
	table  []string
}

// maxTable limits the rows of a table that are held until its columns are known.
const maxTable = 200

// write takes more text, and returns the rows that are finished. They are the same however the text is cut.
func (m *markdown) write(text string) []row {
	var out []row
	for {
		line, rest, ok := strings.Cut(text, "\n")
		for len(line) > 0 {
			n := min(len(line), m.most()-m.line.Len())
			m.line.WriteString(line[:n])
			if line = line[n:]; m.line.Len() == m.most() {
				out = append(out, m.overflow()...)
			}
		}
		if !ok {
			return out
		}
		out = append(out, m.end()...)
		text = rest
	}
}

// end finishes the line.
func (m *markdown) end() []row {
	line := m.line.String()
	m.line.Reset()
	if m.inside {
		m.inside = false
		return m.rest(line)
	}
	if m.fence == "" && strings.HasPrefix(strings.TrimLeft(line, " "), "|") && len(m.table) < maxTable {
		m.table = append(m.table, line)
		return nil
	}
	return append(m.endTable(), m.block(line)...)
}

// close finishes what was written.
func (m *markdown) close() []row {
	var out []row
	if m.line.Len() > 0 {
		out = m.end()
	}
	out = append(out, m.endTable()...)
	m.fence = ""
	return out
}

// tail returns the rows of what is not finished.
func (m *markdown) tail() []row {
	var out []row
	for _, l := range m.table {
		out = append(out, wrap(plainRow(clean(l)), m.columns, "")...)
	}
	if m.line.Len() == 0 {
		return out
	}
	if m.inside {
		return append(out, wrap(m.inline(clean(m.line.String()), styleText), m.columns, m.indent)...)
	}
	was, info := m.fence, m.info
	rows := m.block(m.line.String())
	m.fence, m.info = was, info
	for _, r := range rows {
		out = append(out, wrap(r, m.columns, "")...)
	}
	return out
}

// longLine and longCode are how many bytes of a line that does not end are held back. Code is rarely broken, so that
// it can be copied.
const (
	longLine = 2000
	longCode = 16 << 10
)

func (m *markdown) most() int {
	if m.fence != "" {
		return longCode
	}
	return longLine
}

// overflow finishes the beginning of a line that is too long to be held until it ends: up to its last word, or as far
// as there are whole characters.
func (m *markdown) overflow() []row {
	line := m.line.String()
	at := strings.LastIndexByte(line, ' ') + 1
	if at < len(line)/2 {
		at = wholeRunes(line)
	}
	m.line.Reset()
	m.line.WriteString(line[at:])
	head := strings.TrimRight(line[:at], " ")
	if m.inside {
		return m.rest(head)
	}
	m.inside = true
	rows := m.endTable()
	if m.fence == "" {
		_, _, m.indent = prefix(head)
	}
	return append(rows, m.block(head)...)
}

// wholeRunes returns how long a text is without a character at its end of which only the beginning is there.
func wholeRunes(s string) int {
	for n := len(s) - 1; n >= max(len(s)-utf8.UTFMax+1, 0); n-- {
		if utf8.RuneStart(s[n]) {
			if !utf8.FullRuneInString(s[n:]) {
				return n
			}
			break
		}
	}
	return len(s)
}

// rest returns the rows of what follows the beginning of a long line.
func (m *markdown) rest(line string) []row {
	if m.fence != "" {
		return []row{styled(styleCode, clean(line))}
	}
	return wrap(append(plainRow(m.indent), m.inline(clean(line), styleText)...), m.columns, m.indent)
}

var (
	fenceLine = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})[ \t]*([^`]*)$")
	heading   = regexp.MustCompile(`^ {0,3}(#{1,6})[ \t]+(.*)$`)
	listItem  = regexp.MustCompile(`^( *)([-*+]|\d{1,9}[.)])( +)(.*)$`)
	quoteLine = regexp.MustCompile(`^ {0,3}>[ ]?(.*)$`)
	ruleLine  = regexp.MustCompile(`^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$`)
)

// block returns the rows of one line.
func (m *markdown) block(line string) []row {
	line = clean(line)
	if f := fenceLine.FindStringSubmatch(line); f != nil && m.fence == "" || f != nil && closes(f, m.fence) {
		if m.fence == "" {
			m.fence, m.info = f[1], strings.ToLower(strings.TrimSpace(f[2]))
		} else {
			m.fence, m.info = "", ""
		}
		return []row{styled(styleDim, line)}
	}
	if m.fence != "" {
		return []row{styled(m.codeStyle(line), line)}
	}
	if h := heading.FindStringSubmatch(line); h != nil {
		if m.color {
			line = strings.TrimRight(strings.TrimRight(h[2], "#"), " ")
		}
		return wrap(styled(styleHeading, line), m.columns, "")
	}
	if ruleLine.MatchString(line) {
		return []row{styled(styleDim, strings.Repeat("─", min(m.columns, 40)))}
	}
	head, text, indent := prefix(line)
	return wrap(append(head, m.inline(text, styleText)...), m.columns, indent)
}

// closes reports whether a line ends the block that a fence began.
func closes(f []string, fence string) bool {
	return f[1][0] == fence[0] && len(f[1]) >= len(fence) && strings.TrimSpace(f[2]) == ""
}

func (m *markdown) codeStyle(line string) style {
	if m.info == "diff" || m.info == "patch" {
		return diffStyle(line)
	}
	return styleCode
}

// prefix parts what stands at the beginning of an item or a quotation from its text, and returns what further rows
// begin with.
func prefix(line string) (head row, text, indent string) {
	if q := quoteLine.FindStringSubmatch(line); q != nil {
		head, text, indent = prefix(q[1])
		return append(styled(styleDim, "│ "), head...), text, "│ " + indent
	}
	if l := listItem.FindStringSubmatch(line); l != nil {
		mark := l[2]
		if len(mark) == 1 {
			mark = "•"
		}
		indent = strings.Repeat(" ", len(l[1])+cells(mark)+1)
		text = l[4]
		box, rest, ok := strings.Cut(text, "] ")
		if ok && (box == "[ " || box == "[x" || box == "[X") {
			mark, text = map[bool]string{true: "☐", false: "☑"}[box == "[ "], rest
			indent = strings.Repeat(" ", len(l[1])+2)
		}
		return row{{styleText, l[1]}, {styleTool, mark + " "}}, text, indent
	}
	text = strings.TrimLeft(line, " ")
	indent = line[:len(line)-len(text)]
	return plainRow(indent), text, indent
}

// marks are the signs around words, the longer ones first.
var marks = []struct {
	sign  string
	style style
	word  bool // only at the borders of words
}{
	{"**", styleStrong, false}, {"__", styleStrong, true}, {"~~", styleStrike, false}, {"*", styleEmph, false},
	{"_", styleEmph, true},
}

// inline returns text with its marked words. Without colours the signs stay, since nothing else would show what they
// mean; what has no end stays as it is written.
func (m *markdown) inline(s string, base style) row {
	if !m.color {
		return styled(base, s)
	}
	var out row
	from := 0
	flush := func(to int) {
		if from < to {
			out = append(out, span{base, s[from:to]})
		}
	}
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && strings.IndexByte("*_`~[]\\#", s[i+1]) >= 0:
			flush(i)
			from = i + 1
			i += 2
			continue
		case c == '`':
			n := run(s[i:], '`')
			if j := closing(s[i+n:], n); j >= 0 {
				flush(i)
				out = append(out, span{styleCode, s[i+n : i+n+j]})
				i += n + j + n
				from = i
				continue
			}
			i += n
			continue
		case c == '*' || c == '_' || c == '~':
			if text, st, n := marked(s, i); n > 0 {
				flush(i)
				out = append(out, m.inline(text, st)...)
				i += n
				from = i
				continue
			}
			i += run(s[i:], c)
			continue
		case c == '[':
			if l := link.FindStringSubmatch(s[i:]); l != nil {
				flush(i)
				out = append(out, span{base, l[1]})
				if l[1] != l[2] {
					out = append(out, span{styleDim, " ("}, span{styleLink, l[2]}, span{styleDim, ")"})
				}
				i += len(l[0])
				from = i
				continue
			}
		}
		i++
	}
	flush(len(s))
	return out
}

var link = regexp.MustCompile(`^\[([^\[\]]+)\]\(([^()\s]+)\)`)

// marked returns the text between two signs at i, its style, and how long all of it is.
func marked(s string, i int) (string, style, int) {
	for _, k := range marks {
		rest, ok := strings.CutPrefix(s[i:], k.sign)
		if !ok || rest == "" || rest[0] == ' ' || k.word && i > 0 && wordRune(rune(s[i-1])) {
			continue
		}
		for at := 0; ; {
			j := strings.Index(rest[at:], k.sign)
			if j < 0 {
				break
			}
			j += at
			behind := rest[j+len(k.sign):]
			double := len(k.sign) == 1 && (strings.HasPrefix(behind, k.sign) || j > 0 && rest[j-1] == k.sign[0])
			if j > 0 && rest[j-1] != ' ' && !double && !(k.word && behind != "" && wordRune(rune(behind[0]))) {
				return rest[:j], k.style, len(k.sign) + j + len(k.sign)
			}
			at = j + len(k.sign)
		}
	}
	return "", 0, 0
}

// run returns how often a sign is repeated.
func run(s string, c byte) int {
	n := 0
	for n < len(s) && s[n] == c {
		n++
	}
	return n
}

// closing returns where exactly n back-ticks follow, or -1.
func closing(s string, n int) int {
	for i := 0; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		k := run(s[i:], '`')
		if k == n {
			return i
		}
		i += k
	}
	return -1
}

// endTable returns the rows of a table, in columns if they fit.
func (m *markdown) endTable() []row {
	if len(m.table) == 0 {
		return nil
	}
	lines := m.table
	m.table = nil
	var widths []int
	table := make([][]row, len(lines))
	for i, l := range lines {
		for j, text := range fields(clean(l)) {
			r := m.inline(text, styleText)
			if i == 0 {
				r = m.inline(text, styleStrong)
			}
			table[i] = append(table[i], r)
			if j == len(widths) {
				widths = append(widths, 0)
			}
			if !dashes(lines[i]) {
				widths[j] = max(widths[j], r.cells())
			}
		}
	}
	total := 0
	for _, w := range widths {
		total += w + 3
	}
	var out []row
	for i, l := range lines {
		switch {
		case total > m.columns || len(lines) < 2 || !dashes(lines[1]): // it is no table, or has no room
			out = append(out, wrap(m.inline(clean(l), styleText), m.columns, "  ")...)
		case dashes(l):
			var parts []string
			for _, w := range widths {
				parts = append(parts, strings.Repeat("─", w))
			}
			out = append(out, styled(styleDim, strings.Join(parts, "─┼─")))
		default:
			out = append(out, aligned(table[i], widths))
		}
	}
	return out
}

func aligned(fields []row, widths []int) row {
	var r row
	for j, w := range widths {
		if j > 0 {
			r = append(r, span{styleDim, " │ "})
		}
		n := 0
		if j < len(fields) {
			r = append(r, fields[j]...)
			n = fields[j].cells()
		}
		if j < len(widths)-1 {
			r = append(r, span{styleText, strings.Repeat(" ", w-n)})
		}
	}
	return r
}

// fields parts a row of a table.
func fields(line string) []string {
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
	var out []string
	var b strings.Builder
	code := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && line[i+1] == '|':
			i++
			b.WriteByte('|')
		case c == '|' && !code:
			out = append(out, strings.TrimSpace(b.String()))
			b.Reset()
		default:
			code = code != (c == '`')
			b.WriteByte(c)
		}
	}
	return append(out, strings.TrimSpace(b.String()))
}

// dashes reports whether a row is the one that parts the head of a table from its body.
func dashes(line string) bool {
	line = strings.TrimSpace(line)
	return strings.Contains(line, "-") && strings.Trim(line, "|-: ") == ""
}
