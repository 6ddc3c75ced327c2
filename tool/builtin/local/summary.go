package local

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"wield/tool/internal/patch"
)

// A blockInput holds a block of any kind.
type blockInput struct {
	Path    string   `json:"path"`
	Paths   []string `json:"paths"`
	Edits   string   `json:"edits"`
	Content string   `json:"content"`
	Code    *string  `json:"code"`
}

// Summary says in few words what a call of one of the tools is about, such as [edit: main.go (−1 +2)]; "" for a call
// of another tool. It is made of what was written alone: how many lines of the file really change is known when the
// call has been planned. Nothing in it is made harmless for a terminal.
func Summary(name, arguments string) string {
	var in blockInput
	if json.Unmarshal([]byte(arguments), &in) != nil {
		return ""
	}
	all := kinds()
	if i := slices.IndexFunc(all, func(k kind) bool { return k.name == name }); i >= 0 {
		return all[i].summary(&in)
	}
	if in.Code == nil {
		return ""
	}
	return execSummary(name, *in.Code)
}

func (in *blockInput) readSummary() string { return "[read: " + strings.Join(in.Paths, ", ") + "]" }

func (in *blockInput) createSummary() string {
	return fmt.Sprintf("[create: %s (%s)]", in.Path, lines(in.Content))
}

func (in *blockInput) editSummary() string {
	ops, err := (&editInput{Path: in.Path, Text: in.Edits}).ops()
	if err != nil {
		return "[edit: " + in.Path + "]"
	}
	var parts []string
	for i := range ops {
		parts = append(parts, opSummary(&ops[i]))
	}
	return "[edit: " + strings.Join(parts, ", ") + "]"
}

// opSummary counts the lines that an operation takes away and adds.
func opSummary(op *patch.Op) string {
	switch op.Kind {
	case patch.Create:
		return fmt.Sprintf("%s (%s)", op.Path, lines(op.Content))
	case patch.Delete:
		return op.Path + " (deleted)"
	}
	removed, added := 0, 0
	for _, h := range op.Hunks {
		for _, l := range h.Lines {
			switch l.Kind {
			case patch.Remove:
				removed++
			case patch.Add:
				added++
			}
		}
	}
	if op.To != "" {
		return fmt.Sprintf("%s to %s (−%d +%d)", op.Path, op.To, removed, added)
	}
	return fmt.Sprintf("%s (−%d +%d)", op.Path, removed, added)
}

// summaryLines limits the lines of code in a summary.
const summaryLines = 3

func execSummary(name, code string) string {
	all := strings.Split(strings.TrimSuffix(code, "\n"), "\n")
	if len(all) <= summaryLines {
		return "[" + name + ": " + strings.Join(all, "\n") + "]"
	}
	return fmt.Sprintf("[%s: %s\n... (%d lines)]", name, strings.Join(all[:summaryLines], "\n"), len(all))
}

// lines counts the lines of a text.
func lines(text string) string {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}
