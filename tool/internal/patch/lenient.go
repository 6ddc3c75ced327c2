package patch

import (
	"html"
	"slices"
	"strings"
)

// shifted finds a hunk whose lines are all indented alike more or less than the file's, or with another unit. The
// lines that come are indented as the file is.
func shifted(d *document, h *Hunk) []hunkFit {
	want := h.search()
	var all []hunkFit
	for i := 0; i+len(want) <= len(d.lines); i++ {
		fit := reindent(d, d.lines[i:i+len(want)], h)
		if fit == nil {
			continue
		}
		if s, ok := h.at(d, i, fit); ok {
			all = append(all, hunkFit{i, []splice{s}})
		}
	}
	return all
}

// A pair is the indentation of one line in the file and in the hunk.
type pair struct{ file, want string }

// reindent returns what makes the indentation of a hunk's line that of the file, if one rule explains all lines; nil:
// none does.
func reindent(d *document, file []string, h *Hunk) func(string) (string, bool) {
	var pairs []pair
	for k, w := range h.search() {
		f := strings.TrimRight(file[k], " \t")
		w = strings.TrimRight(w, " \t")
		fi, wi := indentOf(f), indentOf(w)
		if f[len(fi):] != w[len(wi):] {
			return nil
		}
		if f != "" {
			pairs = append(pairs, pair{fi, wi})
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	for _, try := range []func([]pair) func(string) (string, bool){deeper, shallower} {
		if fit := try(pairs); fit != nil {
			return fit
		}
	}
	return otherUnit(pairs, unitOf(d.lines), unitOf(append(h.search(), h.replace()...)))
}

func indentOf(l string) string { return l[:len(l)-len(strings.TrimLeft(l, " \t"))] }

// deeper explains lines that the file indents further.
func deeper(pairs []pair) func(string) (string, bool) {
	more, ok := strings.CutSuffix(pairs[0].file, pairs[0].want)
	for _, p := range pairs {
		ok = ok && p.file == more+p.want
	}
	if !ok {
		return nil
	}
	return func(l string) (string, bool) {
		if strings.TrimSpace(l) == "" {
			return l, true
		}
		return more + l, true
	}
}

// shallower explains lines that the file indents less.
func shallower(pairs []pair) func(string) (string, bool) {
	less, ok := strings.CutSuffix(pairs[0].want, pairs[0].file)
	for _, p := range pairs {
		ok = ok && p.want == less+p.file
	}
	if !ok {
		return nil
	}
	return func(l string) (string, bool) {
		if strings.TrimSpace(l) == "" {
			return strings.TrimPrefix(l, less), true
		}
		return strings.CutPrefix(l, less)
	}
}

// unitOf returns what lines are indented with: a tab, or so many blanks that every indentation is a multiple of them;
// "" is nothing that could be told.
func unitOf(lines []string) string {
	blanks, tabs := 0, false
	for _, l := range lines {
		in := indentOf(l)
		if in == "" || in == l {
			continue
		}
		if strings.Trim(in, "\t") == "" {
			tabs = true
		} else if strings.Trim(in, " ") == "" {
			blanks = divisor(blanks, len(in))
		} else {
			return ""
		}
	}
	switch {
	case tabs && blanks > 0:
		return ""
	case tabs:
		return "\t"
	}
	return strings.Repeat(" ", blanks)
}

// divisor is the greatest common one.
func divisor(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// otherUnit explains lines that the hunk indents with another unit than the file, all of them as many levels deeper
// or less.
func otherUnit(pairs []pair, file, want string) func(string) (string, bool) {
	if file == "" || want == "" || file == want {
		return nil
	}
	shift, known := 0, false
	for _, p := range pairs {
		f, ok1 := levels(p.file, file)
		w, ok2 := levels(p.want, want)
		if !ok1 || !ok2 || known && f-w != shift {
			return nil
		}
		shift, known = f-w, true
	}
	return func(l string) (string, bool) {
		if strings.TrimSpace(l) == "" {
			return l, true
		}
		in := indentOf(l)
		n, ok := levels(in, want)
		if n += shift; !ok || n < 0 {
			return l, false
		}
		return strings.Repeat(file, n) + l[len(in):], true
	}
}

// levels counts how often unit makes up the indentation in.
func levels(in, unit string) (int, bool) {
	n := strings.Count(in, unit)
	return n, len(in) == n*len(unit)
}

// rewritten returns a rule that writes both texts of a hunk differently and looks again with the stricter rules. The
// first writing that is found counts.
func rewritten(writings ...func(search, replace []string) (s, r []string, ok bool)) func(*document, *Hunk) []hunkFit {
	return func(d *document, h *Hunk) []hunkFit {
		for _, write := range writings {
			search, replace, ok := write(h.search(), h.replace())
			if !ok || len(search) == 0 {
				continue
			}
			again := newHunk(search, replace, h.Line)
			for _, find := range []func(*document, *Hunk) []hunkFit{whereLines(equal), whereLines(equalButTrailing),
				shifted} {
				if all := find(d, &again); len(all) > 0 {
					return all
				}
			}
		}
		return nil
	}
}

// eachText applies a writing of text to both texts of a hunk, if it changes the search text.
func eachText(search, replace []string, write func(string) string) (s, r []string, ok bool) {
	old := strings.Join(search, "\n")
	new := write(old)
	if new == old {
		return nil, nil, false
	}
	return splitLines(new), splitLines(write(strings.Join(replace, "\n"))), true
}

var escapes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "", `\t`, "\t", `\"`, `"`, `\'`, `'`)

func unescape(search, replace []string) (s, r []string, ok bool) {
	return eachText(search, replace, escapes.Replace)
}

func unescapeHTML(search, replace []string) (s, r []string, ok bool) {
	return eachText(search, replace, html.UnescapeString)
}

var entities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func escapeHTML(search, replace []string) (s, r []string, ok bool) {
	return eachText(search, replace, entities.Replace)
}

// withoutNumbers takes line numbers off. Every line of the search text must have one, each by one greater than the
// last; of the replacement those that have one lose it.
func withoutNumbers(search, replace []string) (s, r []string, ok bool) {
	last := -1
	for _, l := range search {
		n, rest, ok := numbered(l)
		if !ok || last >= 0 && n != last+1 {
			return nil, nil, false
		}
		last = n
		s = append(s, rest)
	}
	for _, l := range replace {
		if _, rest, ok := numbered(l); ok {
			l = rest
		}
		r = append(r, l)
	}
	return s, r, last >= 0
}

// numbered parts a line from the number before it: digits, then one of | : tab or an arrow, then at most one blank.
func numbered(l string) (n int, rest string, ok bool) {
	t := strings.TrimLeft(l, " ")
	digits := len(t) - len(strings.TrimLeft(t, "0123456789"))
	if digits == 0 || digits > 9 {
		return 0, "", false
	}
	for _, c := range t[:digits] {
		n = n*10 + int(c-'0')
	}
	t = t[digits:]
	for _, sign := range []string{"\t", "|", ":", "→", " |", " →"} {
		if rest, ok := strings.CutPrefix(t, sign); ok {
			if sign != "\t" {
				rest = strings.TrimPrefix(rest, " ")
			}
			return n, rest, true
		}
	}
	return 0, "", false
}

// withoutFence takes off a code fence that was copied around the search text, and that around the replacement.
func withoutFence(search, replace []string) (s, r []string, ok bool) {
	s, ok = unfenced(search)
	if !ok {
		return nil, nil, false
	}
	if r, ok = unfenced(replace); !ok {
		r = replace
	}
	return s, r, true
}

func unfenced(lines []string) ([]string, bool) {
	n := len(lines)
	if n < 2 || !strings.HasPrefix(lines[0], "```") || strings.TrimSpace(lines[n-1]) != "```" {
		return nil, false
	}
	return lines[1 : n-1], true
}

// elided finds a hunk with lines such as "..." in the place of lines that stay. What stands between them must each be
// found once, one behind the other.
func elided(d *document, h *Hunk) []hunkFit {
	parts := h.parts()
	if parts == nil {
		return nil
	}
	var splices []splice
	from := 0
	for i := range parts {
		part := &parts[i]
		var all []hunkFit
		for _, find := range []func(*document, *Hunk) []hunkFit{whereLines(equal), whereLines(equalButTrailing)} {
			all = slices.DeleteFunc(find(d, part), func(f hunkFit) bool { return f.line < from })
			if len(all) > 0 {
				break
			}
		}
		if len(all) != 1 {
			return nil
		}
		splices = append(splices, all[0].splices...)
		from = all[0].splices[0].to
	}
	return []hunkFit{{splices[0].from, splices}}
}

// parts parts a hunk at the lines that stand for others. There are none if it has no such line, or one that goes or
// comes: then it is not known what it stands for.
func (h *Hunk) parts() []Hunk {
	all := []Hunk{{Line: h.Line}}
	any := false
	for _, l := range h.Lines {
		last := &all[len(all)-1]
		switch {
		case !elision(l.Text):
			last.Lines = append(last.Lines, l)
		case l.Kind != Keep:
			return nil
		case len(last.Lines) > 0:
			all = append(all, Hunk{Line: h.Line})
			any = true
		default:
			any = true
		}
	}
	if n := len(all); n > 0 && len(all[n-1].Lines) == 0 {
		all = all[:n-1]
	}
	for i := range all {
		if len(all[i].search()) == 0 {
			return nil
		}
	}
	if !any {
		return nil
	}
	return all
}

// elision reports whether a line stands for others: three points, alone or in a comment.
func elision(l string) bool {
	l = strings.TrimSpace(l)
	for _, c := range [][2]string{{"//", ""}, {"#", ""}, {"--", ""}, {"/*", "*/"}, {"<!--", "-->"}} {
		if inner, ok := strings.CutPrefix(l, c[0]); ok && strings.HasSuffix(inner, c[1]) {
			l = strings.TrimSpace(strings.TrimSuffix(inner, c[1]))
			break
		}
	}
	return l == "..." || l == "…"
}
