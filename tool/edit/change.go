// Package edit says what becomes of a file: what is shown to a person, and what is written.
package edit

import (
	"bytes"
	"fmt"
	"io/fs"

	"github.com/aymanbagabas/go-udiff"
)

// A Change describes what becomes of one file: what is shown, and what is written.
type Change struct {
	Path    string // afterwards, or before if the file is removed
	From    string // before, if the file moves
	Existed bool   // it was there before
	Exists  bool   // it is there afterwards
	Before  []byte
	After   []byte
	Mode    fs.FileMode // permissions that the file has if it has to be made; 0: the usual ones

	Steps    []Step   // the rules that found its hunks, in the order of the text
	Lenient  []Step   // those of them that overlooked something, each once: what a person and the model should be told
	Warnings []string // what a person and the model should know
}

// A Step is the rule by which the place of an edit was found, such as "exact" or "indentation".
type Step string

// Changed reports whether anything is different afterwards.
func (c *Change) Changed() bool { return c.Existed != c.Exists || !bytes.Equal(c.Before, c.After) }

// Diff returns the change as a unified diff with so many lines around each place; "" if nothing changes.
func (c *Change) Diff(context int) string {
	from, to := "a/"+c.Path, "b/"+c.Path
	if !c.Existed {
		from = "/dev/null"
	}
	if !c.Exists {
		to = "/dev/null"
	}
	before, after := string(c.Before), string(c.After)
	d, err := udiff.ToUnified(from, to, before, udiff.Lines(before, after), context)
	if err != nil {
		panic(err) // only edits that do not fit their text are to blame, and these are its lines
	}
	return d
}

// Count returns how many lines go and how many come.
func (c *Change) Count() (removed, added int) {
	before, after := string(c.Before), string(c.After)
	d, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), 0)
	if err != nil {
		panic(err) // as in Diff
	}
	for _, h := range d.Hunks {
		for _, l := range h.Lines {
			switch l.Kind {
			case udiff.Delete:
				removed++
			case udiff.Insert:
				added++
			}
		}
	}
	return removed, added
}

// Summary says in one line what becomes of the file.
func (c *Change) Summary() string {
	removed, added := c.Count()
	switch {
	case !c.Exists:
		return fmt.Sprintf("[delete: %s (−%d)]", c.Path, removed)
	case !c.Existed && c.From == "":
		lines := "lines"
		if added == 1 {
			lines = "line"
		}
		return fmt.Sprintf("[create: %s (%d %s)]", c.Path, added, lines)
	case c.From != "":
		return fmt.Sprintf("[move: %s to %s]", c.From, c.Path)
	}
	return fmt.Sprintf("[edit: %s (−%d +%d)]", c.Path, removed, added)
}

// Reverse returns what undoes the change.
func (c *Change) Reverse() Change {
	return Change{Path: c.Path, Existed: c.Exists, Exists: c.Existed, Before: c.After, After: c.Before, Mode: c.Mode}
}
