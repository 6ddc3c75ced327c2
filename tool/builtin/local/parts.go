package local

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"wield/tool/internal/patch"
)

// Parts divide a call of edit: into its groups, or the hunks and files of its patch, each of which a person
// can refuse.
type Parts struct {
	Paths []string // the file of each

	input  editInput
	header string // in front of the text, which the call has no line for
	parts  []patch.Part
}

// PartsOf returns the parts of a call; nil: it has no two of them.
func PartsOf(name, arguments string) *Parts {
	p := new(Parts)
	if name != "edit" || json.Unmarshal([]byte(arguments), &p.input) != nil {
		return nil
	}
	if _, err := p.input.ops(); err != nil {
		return nil
	}
	if s := patch.Detect(p.input.Text); p.input.Path != "" && s != patch.SyntaxPatch && s != patch.SyntaxUnified {
		p.header = headerMark + " " + p.input.Path + "\n"
	}
	var err error
	if p.parts, err = patch.Parts(p.header + p.input.Text); err != nil || len(p.parts) < 2 {
		return nil
	}
	for _, part := range p.parts {
		p.Paths = append(p.Paths, part.Op.Path)
	}
	return p
}

// Summary says what one part is about, such as main.go (−1 +2).
func (p *Parts) Summary(i int) string { return opSummary(&p.parts[i].Op) }

// Without returns the arguments of the call without some of its parts; "" where all are refused.
func (p *Parts) Without(refused []int) (string, error) {
	text := patch.Without(p.header+p.input.Text, p.parts, refused)
	if text == "" {
		return "", nil
	}
	left := editInput{Path: p.input.Path, Text: strings.TrimPrefix(text, p.header)}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(left); err != nil {
		return "", err
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}

// Tell says in words which parts are refused, for the model: it knows them by their file and by the line of its own
// text. why may have a reason for each; "" is none.
func (p *Parts) Tell(refused []int, why map[int]string) string {
	var list []string
	for i, part := range p.parts {
		if !slices.Contains(refused, i) {
			continue
		}
		line := part.Line - strings.Count(p.header, "\n")
		text := fmt.Sprintf("part %d of %d (%s, on line %d of your text)", i+1, len(p.parts), part.Op.Path, line)
		if why[i] != "" {
			text += ": " + why[i]
		}
		list = append(list, text)
	}
	return strings.Join(list, "; ")
}

// Diff returns what one part takes away and what it brings, as the lines of a diff.
func (p *Parts) Diff(i int) string {
	op := &p.parts[i].Op
	var b strings.Builder
	switch {
	case op.Kind == patch.Delete:
		b.WriteString("-the whole file\n")
	case op.Kind == patch.Create:
		for line := range strings.Lines(op.Content) {
			b.WriteString("+" + strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	for _, h := range op.Hunks {
		for _, l := range h.Lines {
			b.WriteString(string(rune(l.Kind)) + l.Text + "\n")
		}
	}
	return b.String()
}
