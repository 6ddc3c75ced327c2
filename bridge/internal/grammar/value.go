package grammar

import (
	"encoding/json"
	"slices"
	"strings"

	"wield/schema/shape"
)

// A notation says how values that are no text are written.
type notation struct {
	kind                 string // first part of the rules' names
	null, yes, no        string
	strings, stringsBody string // name and body of the rule for strings
}

// stringBody is a JSON string. Its escapes are whole characters: half of a surrogate pair is none.
const stringBody = `"\"" ([^"\\\x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" ([0-9a-cA-Ce-fE-F] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2})))* "\""`

var (
	jsonNotation   = notation{"json", "null", "true", "false", "string", stringBody}
	pythonNotation = notation{"python", "None", "True", "False", "string", stringBody}
	// A string in an element has no sign that begins a tag, except as an escape.
	elementNotation = notation{"element", "null", "true", "false", "string",
		strings.Replace(stringBody, `[^"\\`, `[^"\\<`, 1)}
)

const (
	integerBody = `"-"? ("0" | [1-9] [0-9]{0,15})`
	numberBody  = `"-"? ("0" | [1-9] [0-9]{0,15}) ("." [0-9]{1,15})? ([eE] [-+]? [0-9]{1,2})?`
)

// values writes rules for values by their shapes. Shapes may be cyclic: each that is an object or a list has one rule.
type values struct {
	w     *writer
	n     notation
	names map[*shape.Shape]string      // rules of objects
	lists map[*shape.Shape]string      // rules of lists
	texts map[*shape.Shape]textGrammar // of the only property of an object, a string
}

func (v *values) string() string { return v.w.once(v.n.strings, v.n.stringsBody) }

// any returns the rule for a value of which nothing is known.
func (v *values) any() string {
	name := v.n.kind + "-any"
	if !v.w.named[name] {
		object := v.object()
		v.w.once(name, choice(object, `"[" (`+name+` ("," " "? `+name+`)*)? "]"`, v.string(),
			v.w.once("number", numberBody), literal(v.n.yes), literal(v.n.no), literal(v.n.null)))
	}
	return name
}

// object returns the rule for an object of which nothing is known.
func (v *values) object() string {
	name := v.n.kind + "-object"
	if !v.w.named[name] {
		member := v.string() + ` ":" " "? ` + v.n.kind + "-any"
		v.w.once(name, `"{" (`+member+` ("," " "? `+member+`)*)? "}"`)
		v.any()
	}
	return name
}

// of returns what a value of a shape is.
func (v *values) of(s *shape.Shape) string {
	if s == nil || s.Types == 0 && s.Enum == nil {
		return v.any()
	}
	if s.Enum != nil {
		return v.enum(s.Enum)
	}
	var alternatives []string
	for _, t := range []struct {
		is   shape.Types
		body func() string
	}{
		{shape.String, v.string},
		{shape.Object, func() string { return v.record(s) }},
		{shape.Array, func() string { return v.list(s) }},
		{shape.Boolean, func() string { return choice(literal(v.n.yes), literal(v.n.no)) }},
		{shape.Null, func() string { return literal(v.n.null) }},
	} {
		if s.Types.Any(t.is) {
			alternatives = append(alternatives, t.body())
		}
	}
	switch {
	case s.Types.Any(shape.Number):
		alternatives = append(alternatives, v.w.once("number", numberBody))
	case s.Types.Any(shape.Integer):
		alternatives = append(alternatives, v.w.once("integer", integerBody))
	}
	return choice(alternatives...)
}

// enum returns the choice of JSON texts.
func (v *values) enum(texts []string) string {
	var alternatives []string
	for _, text := range texts {
		switch {
		case strings.HasPrefix(text, "{") || strings.HasPrefix(text, "["):
			return v.any() // it is checked afterwards
		case text == "null":
			text = v.n.null
		case text == "true":
			text = v.n.yes
		case text == "false":
			text = v.n.no
		case v.n.kind == elementNotation.kind && strings.Contains(text, "<"):
			text = strings.ReplaceAll(text, "<", `\u003c`)
		}
		alternatives = append(alternatives, literal(text))
	}
	if len(alternatives) == 0 {
		return v.any()
	}
	return choice(alternatives...)
}

func (v *values) list(s *shape.Shape) string {
	if name, ok := v.lists[s]; ok {
		return name
	}
	if v.lists == nil {
		v.lists = map[*shape.Shape]string{}
	}
	name, at := v.w.next(v.n.kind+"-list"), len(v.w.rules)
	v.lists[s] = v.w.add(name, "")
	item := v.of(s.Items)
	v.w.set(at, `"[" (`+item+` ("," " "? `+item+`)*)? "]"`)
	return name
}

// record returns the rule for an object with the properties of its shape, in their order. Others are left out
// where the schema names some.
func (v *values) record(s *shape.Shape) string {
	if len(s.Props) == 0 {
		if !s.Open {
			return `"{" "}"`
		}
		return v.object()
	}
	if name, ok := v.names[s]; ok {
		return name
	}
	if v.names == nil {
		v.names = map[*shape.Shape]string{}
	}
	name := v.w.next(v.n.kind + "-record")
	v.names[s] = name
	at := len(v.w.rules)
	v.w.add(name, "")
	v.w.set(at, `"{" `+chain(v.w, name, s.Props, `"}"`, func(i int, first bool) string {
		key, _ := json.Marshal(s.Props[i].Name) // a text can always be written
		before := ""
		if !first {
			before = `"," " "? `
		}
		head := before + literal(string(key)) + ` ":" " "? `
		if text := v.texts[s]; text != nil {
			return head + text.string(v.w, v.n)
		}
		return head + v.of(s.Props[i].Shape)
	}))
	return name
}

// chain writes rules for properties in their order, of which those that are not required may be missing, and
// returns the first. one returns what a property is, by its index and whether it is the first that is written.
func chain(w *writer, name string, props []shape.Prop, end string, one func(i int, first bool) string) string {
	rest := [2]string{end, end} // what follows: behind no property, and behind some
	needed := slices.IndexFunc(props, func(p shape.Prop) bool { return p.Required })
	for i := len(props) - 1; i >= 0; i-- {
		var now [2]string
		for k, first := range [2]bool{true, false} {
			if first && needed >= 0 && needed < i || !first && i == 0 {
				continue // never reached
			}
			body := one(i, first) + " " + rest[1]
			if !props[i].Required {
				body += " | " + rest[k]
			}
			now[k] = w.add(w.next(name+"-"), body)
		}
		rest = now
	}
	return rest[0]
}

func required(props []shape.Prop) bool {
	for i := range props {
		if props[i].Required {
			return true
		}
	}
	return false
}
