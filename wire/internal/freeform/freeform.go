// Package freeform lets a function stand for a tool that takes plain text, possibly of a grammar, in the place of
// arguments.
package freeform

import (
	"encoding/json"
	"strings"

	"wield/chat"
	"wield/schema/shape"
)

// A Grammar describes the text. The zero value is any text.
type Grammar struct{ Syntax, Definition string }

// Fill gives a tool the grammar, and the parameters that a function in its place has: one text. A regular expression is
// held to like any other pattern; of another grammar the model is told.
func (g Grammar) Fill(t *chat.Tool) {
	b := []byte(`{"type":"object","properties":{"input":{"type":"string"`)
	switch {
	case g.Definition == "":
	case g.Syntax == "regex":
		b = shape.AppendQuoted(append(b, `,"pattern":`...), "^(?:"+g.Definition+")$")
	default:
		told := "The whole text of input follows this grammar (" + g.Syntax + "):\n" + g.Definition
		if t.Description = strings.TrimSpace(t.Description + "\n\n" + told); g.Syntax == "" {
			t.Description = strings.Replace(t.Description, " ()", "", 1)
		}
	}
	t.Syntax, t.Grammar = g.Syntax, g.Definition
	t.Parameters = append(b, `}},"required":["input"],"additionalProperties":false}`...)
}

// A definition is a tool as it stands in a request. Chat completions have all but the type in custom, and the members
// of a grammar in grammar.
type definition struct {
	Type        string      `json:"type,omitempty"`
	Name        string      `json:"name,omitempty"`
	Description string      `json:"description,omitempty"`
	Format      *format     `json:"format,omitempty"`
	Custom      *definition `json:"custom,omitempty"`
}

type format struct {
	Type       string  `json:"type,omitempty"`
	Syntax     string  `json:"syntax,omitempty"`
	Definition string  `json:"definition,omitempty"`
	Grammar    *format `json:"grammar,omitempty"`
}

// Type is the type of such tools and of their calls.
const Type = "custom"

// Is reports whether a client offered a tool as one that takes plain text.
func Is(t *chat.Tool) bool {
	if len(t.Raw) == 0 || t.Hosted != chat.HostedNot {
		return false
	}
	var d definition
	return json.Unmarshal(t.Raw, &d) == nil && d.Type == Type
}

// Names returns the names of the tools that are such, nil if there are none.
func Names(tools []chat.Tool) (names map[string]bool) {
	for i := range tools {
		if Is(&tools[i]) {
			if names == nil {
				names = make(map[string]bool)
			}
			names[tools[i].Name] = true
		}
	}
	return names
}

// AppendTool appends a tool that is one, as a protocol of the two has it: unchanged if it came in this one.
func AppendTool(dst []byte, t *chat.Tool, to chat.Protocol) []byte {
	if t.Protocol == to {
		return append(dst, t.Raw...)
	}
	var d definition
	json.Unmarshal(t.Raw, &d) // Is has read it
	if to == chat.ProtocolOpenAI {
		d.Name = t.Name // with its namespace
		if f := d.Format; f != nil && f.Definition != "" {
			d.Format = &format{Type: f.Type, Grammar: &format{Syntax: f.Syntax, Definition: f.Definition}}
		}
		d.Type = ""
		d = definition{Type: Type, Custom: new(d)}
	} else if d.Custom != nil {
		d = *d.Custom
		if d.Type = Type; d.Format != nil && d.Format.Grammar != nil {
			d.Format.Grammar.Type, d.Format = d.Format.Type, d.Format.Grammar
		}
	}
	b, _ := json.Marshal(d) // texts can always be written
	return append(dst, b...)
}

// Arguments returns the arguments of a function's call that stands for a call with a text.
func Arguments(text string) string {
	return string(append(shape.AppendQuoted([]byte(`{"input":`), text), '}'))
}

// Piece returns what a piece of the text is in such arguments, the first of which opens them. End closes them.
func Piece(text string, first bool) string {
	args := Arguments(text)
	if !first {
		args = args[len(start):]
	}
	return args[:len(args)-len(End)]
}

// What stands around the text.
const (
	start = `{"input":"`
	End   = `"}`
)

// Input returns the text of a call. Arguments that hold none are it themselves.
func Input(args string) string {
	var a struct {
		Input *string `json:"input"`
	}
	if json.Unmarshal([]byte(args), &a) != nil || a.Input == nil {
		return args
	}
	return *a.Input
}

// A Reader takes the text out of the arguments of a call while they come. It knows only the one object that such
// arguments are; of anything else it gives nothing. The zero value is ready.
type Reader struct {
	raw    []byte // all that came
	at     int    // how far the text was read
	inside bool   // of the string
	over   bool   // the string has ended
}

// Add takes in arguments and returns the text that they add.
func (r *Reader) Add(args string) string {
	r.raw = append(r.raw, args...)
	if !r.inside && !r.over {
		rest := r.raw
		for _, token := range []string{"{", `"input"`, ":", `"`} {
			rest = trimSpace(rest)
			if len(rest) < len(token) || string(rest[:len(token)]) != token {
				return ""
			}
			rest = rest[len(token):]
		}
		r.inside, r.at = true, len(r.raw)-len(rest)
	}
	if r.over {
		return ""
	}
	end := r.at
	for end < len(r.raw) && r.raw[end] != '"' {
		n := 1
		if r.raw[end] == '\\' {
			n = escapeLen(r.raw[end:])
		}
		if n == 0 {
			break
		}
		end += n
	}
	r.over = end < len(r.raw) && r.raw[end] == '"'
	text := string(shape.AppendUnquoted(nil, r.raw[r.at:end]))
	r.at = end
	return text
}

// escapeLen returns the length of the escape at the beginning of b, both halves of a character outside the first plane
// included; 0: more has to come.
func escapeLen(b []byte) int {
	switch {
	case len(b) < 2:
		return 0
	case b[1] != 'u':
		return 2
	case len(b) < 6:
		return 0
	case b[2] != 'd' && b[2] != 'D' || !strings.ContainsRune("89abAB", rune(b[3])):
		return 6
	case len(b) < 7 || b[6] == '\\' && len(b) < 12:
		return 0
	case b[6] == '\\' && b[7] == 'u':
		return 12
	}
	return 6
}

func trimSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\n' || b[0] == '\t' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}
