package dialect

import (
	"slices"
	"strings"

	"wield/dialect/internal/chars"
)

// A lastText is the end of the text that was passed on, as far as names of files are looked for in it.
type lastText struct {
	b   []byte
	end int  // the offset behind it
	cut bool // there was more of it
}

// mostAbove limits the bytes above a block that matter: two lines with a name in them.
const mostAbove = 2 * maxHeader

// add adds text that begins at the offset at. What does not follow at once begins anew.
func (t *lastText) add(s string, at int) {
	if t.end != at {
		t.b, t.cut = t.b[:0], false
	}
	t.end = at + len(s)
	if len(s) > mostAbove {
		t.b, t.cut, s = t.b[:0], true, s[len(s)-mostAbove:]
	}
	if t.b = append(t.b, s...); len(t.b) > 4*mostAbove {
		t.b, t.cut = append(t.b[:0], t.b[len(t.b)-mostAbove:]...), true
	}
}

// nameAbove returns the name of a file that stands above the candidate, and whether it is all that its line
// and its paragraph hold.
func (d *driver) nameAbove() (path string, alone bool) {
	text, cut := "", false
	if d.text.last >= d.text.at(0) {
		text = d.text.in[d.text.index(d.text.last):d.text.index(d.text.candAt)]
	} else {
		text = d.text.held(max(d.text.last, d.text.holdAt), d.text.candAt)
	}
	if d.text.above.end == d.text.last {
		text, cut = string(d.text.above.b)+text, d.text.above.cut
	}
	if len(text) > mostAbove {
		text, cut = text[len(text)-mostAbove:], true
	}
	text, ok := strings.CutSuffix(strings.TrimRight(text, " \t"), "\n")
	if !ok {
		return "", false
	}
	text, line, first := lastLine(text)
	if alone = line != ""; !alone { // a blank line may stand between
		text, line, first = lastLine(text)
	}
	if path = nameIn(line); path == "" || first && cut {
		return "", false
	}
	_, before, _ := lastLine(text)
	alone = alone &&
		(strings.HasPrefix(line, blockFile) ||
			line == path && ends(path) && (first || before == "" || isFenceLine(before)))
	return path, alone
}

// lastLine parts the last line from a text, without the blanks at its end, and tells whether it was the first as well.
func lastLine(text string) (rest, line string, first bool) {
	k := strings.LastIndexByte(text, '\n')
	return text[:max(k, 0)], strings.TrimRight(text[k+1:], " \t\r"), k < 0
}

func isFenceLine(line string) bool {
	line = strings.TrimLeft(line, " ")
	return strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
}

// nameLabels are words that announce the name of a file.
var nameLabels = []string{"File:", "file:", "Filename:", "filename:", "File path:", "Path:", "path:"}

// nameQuotes lists the marks that enclose names of files.
var nameQuotes = []string{"**", "`", `"`, "'", "*", "_"}

// nameIn returns the name of a file that a line consists of, with what models put around it, or "".
func nameIn(line string) string {
	line = strings.TrimSpace(line)
	if name, ok := strings.CutPrefix(line, blockFile); ok {
		return strings.TrimSpace(name)
	}
	if len(line) > maxHeader || isFenceLine(line) {
		return ""
	}
	for old := ""; old != line; {
		old = line
		line = strings.TrimSpace(strings.TrimSuffix(line, ":"))
		if rest := strings.TrimLeft(line, "#"); rest != line && strings.HasPrefix(rest, " ") {
			line = strings.TrimSpace(rest)
		}
		for _, label := range nameLabels {
			line = strings.TrimSpace(strings.TrimPrefix(line, label))
		}
		for _, q := range nameQuotes {
			if len(line) > 2*len(q) && strings.HasPrefix(line, q) && strings.HasSuffix(line, q) {
				line = line[len(q) : len(line)-len(q)]
			}
		}
	}
	if !isPath(line) {
		return ""
	}
	return line
}

// nameKeys lists the keys before names of files in info strings.
var nameKeys = []string{"title=", "file=", "filename=", "path="}

// nameInInfo returns the name of a file that an info string has beside the language, such as go:main.go, or
// that it is; else "".
func nameInInfo(info string) string {
	for k, word := range strings.Fields(info) {
		if _, name, ok := strings.Cut(word, ":"); ok && k == 0 && isPath(name) {
			return name
		}
		for _, key := range nameKeys {
			if name, ok := strings.CutPrefix(word, key); ok {
				word = strings.Trim(name, `"'`)
			}
		}
		if isPath(word) {
			return word
		}
	}
	return ""
}

var (
	// bareNames are names of files that look like words.
	bareNames = []string{"Makefile", "Dockerfile", "Containerfile", "Justfile", "Rakefile", "Gemfile", "Procfile",
		"Vagrantfile", "LICENSE", "README", "CHANGELOG", "AUTHORS", "NOTICE", "OWNERS", "CODEOWNERS"}
	// productNames lists words that look like names of files and are none.
	productNames = []string{"Node.js", "Vue.js", "Next.js", "Nuxt.js", "Express.js", "React.js", "Three.js",
		"Alpine.js", "Ember.js", "Backbone.js", "D3.js", "ASP.NET", "VB.NET", "ML.NET", "Socket.IO", "Socket.io"}
	// domains lists endings of hosts that files do not have.
	domains = []string{"com", "org", "net", "io", "dev"}
)

// isPath reports whether a word is the path of a file: it has directories, an ending, or a name that is usual
// for a file.
func isPath(s string) bool {
	if s == "" || len(s) > maxHeader || strings.ContainsAny(s, " \t<>|\"*?`,;=!:{}$^&%") || strings.Contains(s, "//") {
		return false
	}
	return ends(s) || strings.Contains(strings.Trim(s, "/."), "/") && !strings.HasSuffix(s, "/")
}

// ends reports whether a path ends as those of files do.
func ends(path string) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	if slices.Contains(bareNames, name) {
		return true
	}
	k := strings.LastIndexByte(name, '.')
	if k < 0 || slices.Contains(productNames, name) || path == name && slices.Contains(domains, name[k+1:]) {
		return false
	}
	letters := 0
	for i := k + 1; i < len(name); i++ {
		switch c := name[i]; {
		case chars.IsLetter(c):
			letters++
		case !chars.IsDigit(c) && c != '_' && c != '-' && c != '+':
			return false
		}
	}
	return letters > 0 && len(name)-k <= 16
}
