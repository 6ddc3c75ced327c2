package config

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Problem is one thing that is wrong, or that is worth a warning.
type Problem struct {
	File    string // or where else the value comes from, such as the name of a variable
	Line    int    // from 1; 0 if the source has no lines
	Column  int    // in characters, from 1
	Width   int    // of what the caret line underlines
	Path    string // of the key; empty: the file as a whole
	Message string // what is wrong and what to do
	Source  string // the line, secrets hidden
	Warning bool
}

// Error returns the place, the path and the message on one line.
func (p *Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	if p.Warning {
		b.WriteString("warning: ")
	}
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// String returns what Error does, then the line of the file and a line that points into it.
func (p *Problem) String() string {
	if p.Line == 0 || p.Source == "" {
		return p.Error()
	}
	number := fmt.Sprintf("%5d | ", p.Line)
	margin := strings.Repeat(" ", len(number)-2) + "| "
	return fmt.Sprintf("%s\n%s%s\n%s%s", p.Error(), number, p.Source, margin, caret(p.Source, p.Column, p.Width))
}

// caret underlines width characters of line from column on. Tabs stay tabs, so that it stands where it should.
func caret(line string, column, width int) string {
	var b strings.Builder
	for i, r := range []rune(line) {
		if i >= column-1 {
			break
		}
		if r == '\t' {
			b.WriteByte('\t')
		} else {
			b.WriteByte(' ')
		}
	}
	left := utf8.RuneCountInString(line) - (column - 1)
	b.WriteString(strings.Repeat("^", max(1, min(width, left))))
	return b.String()
}

// Problems is the error of a file that cannot be used: everything that is wrong with it, in the order of the file.
type Problems []*Problem

// Error returns all problems, each with its line, and their number if there are several.
func (ps Problems) Error() string {
	var b strings.Builder
	if len(ps) == 1 {
		return ps[0].String()
	}
	for _, p := range ps {
		b.WriteString(p.String())
		b.WriteByte('\n')
	}
	return fmt.Sprintf("%s%d problems in the configuration", b.String(), len(ps))
}

// Unwrap returns the problems one by one.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errs
}

// split parts ps into errors and warnings.
func (ps Problems) split() (errs, warnings Problems) {
	for _, p := range ps {
		if p.Warning {
			warnings = append(warnings, p)
		} else {
			errs = append(errs, p)
		}
	}
	return errs, warnings
}
