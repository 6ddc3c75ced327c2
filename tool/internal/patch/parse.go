package patch

import (
	"slices"
	"strings"
)

// Detect returns the syntax of a text, or "" if it is in none.
func Detect(text string) Syntax {
	var file, group, minus bool
	for _, l := range splitLines(text) {
		switch {
		case strings.TrimSpace(l) == beginPatch:
			return SyntaxPatch
		case minus && strings.HasPrefix(l, "+++ "):
			return SyntaxUnified
		case isFileLine(l):
			file = true
		case marker(l, '<', searchWord) > 0:
			group = true
		}
		minus = strings.HasPrefix(l, "--- ")
		if group {
			break
		}
	}
	switch {
	case group && file:
		return SyntaxBlocks
	case group:
		return SyntaxAider
	case file:
		return SyntaxWhole
	}
	return ""
}

// Parse reads a text in whichever syntax it is. The error is a *SyntaxError; nothing of a text that has one may be
// carried out.
func Parse(text string) ([]Op, error) {
	switch Detect(text) {
	case SyntaxPatch:
		return parsePatch(text)
	case SyntaxUnified:
		return parseUnified(text)
	case SyntaxBlocks:
		return parseBlocks(text)
	case SyntaxAider:
		return parseAider(text)
	case SyntaxWhole:
		return parseWhole(text)
	}
	return nil, &SyntaxError{Syntax: "unknown", Line: 1, Msg: "this is no edit in any syntax: write \"=== FILE: " +
		"path\" and then groups of " +
		"<<<<<<< SEARCH, =======, >>>>>>> REPLACE"}
}

const (
	fileMark    = "=== FILE:"
	searchWord  = "SEARCH"
	replaceWord = "REPLACE"
	leastMarks  = 5 // of < = > in a row
)

func isFileLine(l string) bool { return strings.HasPrefix(strings.TrimSpace(l), fileMark) }

// pathOf returns the path of a line "=== FILE: path", with what models put around it taken off.
func pathOf(l string) string {
	p := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(l), fileMark))
	p = strings.TrimSpace(strings.TrimSuffix(p, "==="))
	return unquotePath(p)
}

// unquotePath takes back-ticks, quotes and asterisks off a path that stands between them.
func unquotePath(p string) string {
	for _, q := range []string{"**", "`", `"`, "'"} {
		if len(p) > 2*len(q) && strings.HasPrefix(p, q) && strings.HasSuffix(p, q) {
			p = p[len(q) : len(p)-len(q)]
		}
	}
	return p
}

// marker returns how often mark stands at the beginning of a line that otherwise says word, or 0. A longer row of marks
// is what a group is written with whose text has lines that look like markers.
func marker(l string, mark byte, word string) int {
	n := 0
	for n < len(l) && l[n] == mark {
		n++
	}
	rest := strings.TrimSpace(l[n:])
	if n < leastMarks || rest != word && !(word != "" && strings.HasPrefix(rest, word)) {
		return 0
	}
	if word == "" && strings.TrimRight(l, " \t") != l[:n] {
		return 0
	}
	return n
}

// A searchReplace is one pair of search and replace text.
type searchReplace struct {
	search, replace []string
	end             int // the line behind it
}

// readGroup reads the group that begins at lines[i]. Inside, nothing is a marker but rows of the same length; a second
// divider means that the text holds one, and which is meant cannot be known.
func readGroup(s Syntax, lines []string, i int) (searchReplace, error) {
	n := marker(lines[i], '<', searchWord)
	divider := 0
	for k := i + 1; k < len(lines); k++ {
		l := lines[k]
		switch {
		case marker(l, '=', "") == n:
			if divider > 0 {
				return searchReplace{},
					&SyntaxError{s, k + 1, "the group that begins on line " + itoa(i+1) +
						" has two dividers; if its text holds such a " + "line, write all three markers of the group " +
						"with more of their signs"}
			}
			divider = k
		case marker(l, '<', searchWord) == n:
			return searchReplace{},
				&SyntaxError{s, k + 1, "a group begins inside the one of line " + itoa(i+1) +
					", which has no >>>>>>> REPLACE yet"}
		case marker(l, '>', replaceWord) == n:
			if divider == 0 {
				return searchReplace{},
					&SyntaxError{s, k + 1, "the group that begins on line " + itoa(i+1) + " has no divider ======="}
			}
			return searchReplace{search: lines[i+1 : divider], replace: lines[divider+1 : k], end: k + 1}, nil
		}
	}
	return searchReplace{},
		&SyntaxError{s, len(lines), "the group that begins on line " + itoa(i+1) + " does not end with >>>>>>> REPLACE"}
}

// parseBlocks reads SyntaxBlocks: one file, and the groups that change it.
func parseBlocks(text string) ([]Op, error) {
	lines := splitLines(text)
	var op *Op
	for i := 0; i < len(lines); {
		l := lines[i]
		switch {
		case isFileLine(l):
			path := pathOf(l)
			switch {
			case path == "":
				return nil, &SyntaxError{SyntaxBlocks, i + 1, "Empty filename in === FILE: header"}
			case op != nil && op.Path != path:
				return nil, &SyntaxError{SyntaxBlocks, i + 1,
					"Edit block contains multiple files (" + op.Path + ", " + path + "). Use one edit block per file."}
			case op == nil:
				op = &Op{Kind: Update, Path: path, Line: i + 1}
			}
			i++
		case marker(l, '<', searchWord) > 0:
			if op == nil {
				return nil, &SyntaxError{SyntaxBlocks, i + 1, "Missing === FILE: header"}
			}
			g, err := readGroup(SyntaxBlocks, lines, i)
			if err != nil {
				return nil, err
			}
			op.Hunks = append(op.Hunks, newHunk(g.search, g.replace, i+1))
			i = g.end
		case strings.TrimSpace(l) == "":
			i++
		default:
			return nil, &SyntaxError{SyntaxBlocks, i + 1, "this line stands outside of any group"}
		}
	}
	if op == nil || len(op.Hunks) == 0 {
		return nil, &SyntaxError{SyntaxBlocks, max(len(lines), 1), "the edit has no <<<<<<< SEARCH"}
	}
	return []Op{*op}, nil
}

// parseWhole reads SyntaxWhole: a file as it is to be. All that follows the first line is its content, byte for byte.
func parseWhole(text string) ([]Op, error) {
	first, content, _ := strings.Cut(text, "\n")
	for strings.TrimSpace(first) == "" && content != "" {
		first, content, _ = strings.Cut(content, "\n")
	}
	if !isFileLine(first) {
		return nil, &SyntaxError{SyntaxWhole, 1, "Missing === FILE: header"}
	}
	path := pathOf(first)
	if path == "" {
		return nil, &SyntaxError{SyntaxWhole, 1, "Empty filename in === FILE: header"}
	}
	return []Op{{Kind: Create, Path: path, Content: content, Line: 1}}, nil
}

// nameBefore limits the lines before a group in which the name of its file is looked for.
const nameBefore = 3

// parseAider reads SyntaxAider. The text around the groups is of no consequence; a group without a name before it is
// about the file of the one before.
func parseAider(text string) ([]Op, error) {
	lines := splitLines(text)
	var ops []Op
	for i, from := 0, 0; i < len(lines); {
		if marker(lines[i], '<', searchWord) == 0 {
			i++
			continue
		}
		path := ""
		for k := i - 1; k >= max(from, i-nameBefore) && path == ""; k-- {
			path = nameIn(lines[k])
		}
		if path == "" && len(ops) > 0 {
			path = ops[len(ops)-1].Path
		}
		if path == "" {
			return nil, &SyntaxError{SyntaxAider, i + 1,
				"Missing === FILE: header, and no file is named in the three lines before the group"}
		}
		g, err := readGroup(SyntaxAider, lines, i)
		if err != nil {
			return nil, err
		}
		ops = addGroup(ops, path, g, i+1)
		i, from = g.end, g.end
	}
	if len(ops) == 0 {
		return nil, &SyntaxError{SyntaxAider, 1, "the edit has no <<<<<<< SEARCH"}
	}
	return ops, nil
}

// addGroup adds a group to the operation on its file, if that is the last one. A group without search text makes the
// file.
func addGroup(ops []Op, path string, g searchReplace, line int) []Op {
	if len(strings.TrimSpace(strings.Join(g.search, ""))) == 0 {
		return append(ops, Op{Kind: Create, Path: path, New: true, Content: joinLines(g.replace), Line: line})
	}
	h := newHunk(g.search, g.replace, line)
	if n := len(ops); n > 0 && ops[n-1].Path == path && ops[n-1].Kind == Update {
		ops[n-1].Hunks = append(ops[n-1].Hunks, h)
		return ops
	}
	return append(ops, Op{Kind: Update, Path: path, Hunks: []Hunk{h}, Line: line})
}

// bareNames are names of files that look like words.
var bareNames = []string{"Makefile", "Dockerfile", "Containerfile", "Justfile", "Rakefile", "Gemfile", "Procfile",
	"Vagrantfile", "LICENSE", "README", "CHANGELOG", "AUTHORS", "NOTICE", "OWNERS", "CODEOWNERS"}

// nameIn returns the name of a file that a line consists of, with what models put around it, or "". A word alone is a
// name only if it is marked as code or is a usual one.
func nameIn(l string) string {
	l = strings.TrimSpace(l)
	if strings.HasPrefix(l, "```") || strings.HasPrefix(l, "~~~") {
		return ""
	}
	if isFileLine(l) {
		return pathOf(l)
	}
	marked := strings.Contains(l, "`")
	for old := ""; old != l; {
		old = l
		l = unquotePath(strings.TrimSpace(strings.TrimSuffix(strings.TrimLeft(l, "# "), ":")))
	}
	if l == "" || strings.ContainsAny(l, " \t<>|\"*?`") {
		return ""
	}
	if !marked && !strings.ContainsAny(l, "./") && !slices.Contains(bareNames, l) {
		return ""
	}
	return l
}

// joinLines makes a text of lines.
func joinLines(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}
