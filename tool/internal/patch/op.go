package patch

import (
	"fmt"
	"strings"
)

// A Syntax is a notation for edits.
type Syntax string

// The syntaxes.
const (
	// SyntaxBlocks names the file in a line "=== FILE: path", followed by groups of search and replace text. All of a
	// text is about one file.
	SyntaxBlocks Syntax = "blocks"
	// SyntaxAider has groups of search and replace text in running text; the file's name stands on a line of its own
	// before a group.
	SyntaxAider Syntax = "aider"
	// SyntaxPatch begins with "*** Begin Patch" and has a section for each file.
	SyntaxPatch Syntax = "apply_patch"
	// SyntaxUnified is a unified diff. The numbers in it are not believed.
	SyntaxUnified Syntax = "unified"
	// SyntaxWhole is a line "=== FILE: path" and then the whole file.
	SyntaxWhole Syntax = "whole"
)

// A Kind says what an operation does.
type Kind string

// The kinds of operations.
const (
	Create  Kind = "create"  // writes a whole file, which may be there already unless New is set
	Update  Kind = "update"  // changes places of a file that is there
	Delete  Kind = "delete"  // removes a file
	Replace Kind = "replace" // replaces text anywhere in a file, also within a line
)

// An Op describes what becomes of one file.
type Op struct {
	Kind Kind
	Path string
	To   string // the new path of an updated file; empty: it stays
	Line int    // where the operation begins in the text, from 1; 0: it comes from no text

	Content string // of the file (Create)
	New     bool   // the file must not be there yet (Create)
	Hunks   []Hunk // in the order of the text (Update)
	Ordered bool   // that is also their order in the file

	Old, With string // the text that goes and that comes (Replace)
	All       bool   // every place where Old stands, not the only one (Replace)
}

// A Hunk is one place of a file.
type Hunk struct {
	Lines []Line
	Scope []string // lines that stand before the place, each behind the one before
	AtEnd bool     // the place is the end of the file
	// its text may be part of a line: that of a search and replace block may, a patch is made of whole lines
	Inline bool
	Line   int // where the hunk begins in the text, from 1
}

// A Line is one line of a hunk, without its line end.
type Line struct {
	Kind LineKind
	Text string
}

// A LineKind says what becomes of a line.
type LineKind byte

// The kinds of lines.
const (
	Keep   LineKind = ' '
	Remove LineKind = '-'
	Add    LineKind = '+'
)

// search returns the lines that must be in the file.
func (h *Hunk) search() []string {
	var lines []string
	for _, l := range h.Lines {
		if l.Kind != Add {
			lines = append(lines, l.Text)
		}
	}
	return lines
}

// replace returns the lines that stand there afterwards.
func (h *Hunk) replace() []string {
	var lines []string
	for _, l := range h.Lines {
		if l.Kind != Remove {
			lines = append(lines, l.Text)
		}
	}
	return lines
}

// changes reports whether the hunk changes anything.
func (h *Hunk) changes() bool {
	for _, l := range h.Lines {
		if l.Kind != Keep {
			return true
		}
	}
	return false
}

// mostCompared bounds the lines of a group that are compared with one another; a longer one is replaced as a whole
// between the lines that its beginning and its end have in common.
const mostCompared = 1000

// newHunk makes a hunk of search and replace text. Lines that both have are kept, so that the file's own version of
// them stays.
func newHunk(search, replace []string, line int) Hunk {
	h := Hunk{Line: line, Inline: true}
	add := func(kind LineKind, lines ...string) {
		for _, l := range lines {
			h.Lines = append(h.Lines, Line{kind, l})
		}
	}
	head := 0
	for head < len(search) && head < len(replace) && search[head] == replace[head] {
		head++
	}
	tail := 0
	for tail < len(search)-head && tail < len(replace)-head &&
		search[len(search)-1-tail] == replace[len(replace)-1-tail] {
		tail++
	}
	add(Keep, search[:head]...)
	old, with := search[head:len(search)-tail], replace[head:len(replace)-tail]
	if len(old) > mostCompared || len(with) > mostCompared {
		add(Remove, old...)
		add(Add, with...)
	} else {
		align(old, with, add)
	}
	add(Keep, search[len(search)-tail:]...)
	return h
}

// align hands on the lines of a longest common subsequence as kept, the others as removed and added.
func align(old, with []string, add func(LineKind, ...string)) {
	// longest[i][j] is that of old[i:] and with[j:].
	longest := make([][]int, len(old)+1)
	for i := range longest {
		longest[i] = make([]int, len(with)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(with) - 1; j >= 0; j-- {
			if old[i] == with[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(old) && j < len(with) {
		switch {
		case old[i] == with[j]:
			add(Keep, old[i])
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			add(Remove, old[i])
			i++
		default:
			add(Add, with[j])
			j++
		}
	}
	add(Remove, old[i:]...)
	add(Add, with[j:]...)
}

// A SyntaxError says where a text is no edit of its syntax.
type SyntaxError struct {
	Syntax Syntax
	Line   int // from 1
	Msg    string
}

// Error names the line.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d of the %s edit: %s", e.Line, e.Syntax, e.Msg)
}

// splitLines returns the lines of a text without their ends. A text that ends with a line end has no empty line
// behind it.
func splitLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
	}
	return lines
}
