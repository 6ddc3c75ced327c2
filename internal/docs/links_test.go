package docs

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var (
	code = regexp.MustCompile("`[^`]*`")         // no place for a link
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`) // an inline link or picture
)

// links returns the targets of a page's links.
func links(page string) []string {
	var found []string
	for line := range prose(page) {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(line, "code"), -1) {
			found = append(found, m[1])
		}
	}
	return found
}

// anchors returns the names by which a page's headings can be linked to.
func anchors(page string) []string {
	var found []string
	for line := range prose(page) {
		heading := strings.TrimLeft(line, "#")
		if heading == line || !strings.HasPrefix(heading, " ") {
			continue
		}
		var name strings.Builder
		for _, c := range strings.ToLower(strings.TrimSpace(heading)) {
			switch {
			case c == ' ':
				name.WriteByte('-')
			case c == '-' || c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c):
				name.WriteRune(c)
			}
		}
		found = append(found, name.String())
	}
	return found
}

// prose yields the lines of a page that stand outside of fenced blocks.
func prose(page string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		fence, indent := "", 0
		for line := range strings.SplitSeq(page, "\n") {
			trimmed := strings.TrimLeft(line, " ")
			f := fenceOf(trimmed)
			switch {
			case fence == "" && f != "":
				fence, indent = f, len(line)-len(trimmed)
			case fence != "":
				if len(line)-len(trimmed) < indent+4 && len(f) >= len(fence) && f[0] == fence[0] &&
					strings.TrimSpace(trimmed[len(f):]) == "" {
					fence = ""
				}
			case !yield(line):
				return
			}
		}
	}
}

func TestFindLinks(t *testing.T) {
	const page = "# A `b` page, for you\n[x](a.md) and [`y`](b.md#c) but `[z](no.md)`\n```text\n[n](no.md)\n# no\n```\n![p](p.svg)\n## 2. Two\n"
	if got, want := links(page), []string{"a.md", "b.md#c", "p.svg"}; !slices.Equal(got, want) {
		t.Errorf("links: %q, want %q", got, want)
	}
	if got, want := anchors(page), []string{"a-b-page-for-you", "2-two"}; !slices.Equal(got, want) {
		t.Errorf("anchors: %q, want %q", got, want)
	}
}
