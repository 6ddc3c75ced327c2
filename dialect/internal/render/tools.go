package render

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"wield/chat"
)

// AppendTools appends the definitions of tools. Whatever they hold, the text keeps its lines and no dialect reads a
// call in it.
func (row *Row) AppendTools(dst []byte, tools []chat.Tool) []byte {
	switch {
	case len(tools) == 0:
		return dst
	case row.Tools != nil:
		return row.Tools(dst, tools)
	}
	return toolsJSON(dst, tools)
}

// toolsJSON writes a list with one JSON object a line. The object does not begin the line, since there
// it could be taken for a call.
func toolsJSON(dst []byte, tools []chat.Tool) []byte {
	for i := range tools {
		if i > 0 {
			dst = append(dst, '\n')
		}
		dst = append(dst, "- "...)
		dst = definition(dst, &tools[i])
	}
	return dst
}

// ToolsTag writes the definitions in one element, in the shape of the OpenAI protocol, as Hermes and
// Qwen know them. They share a line, for the reason above.
func ToolsTag(dst []byte, tools []chat.Tool) []byte {
	dst = append(dst, "<tools>"...)
	for i := range tools {
		dst = append(dst, ` {"type":"function","function":`...)
		dst = definition(dst, &tools[i])
		dst = append(dst, '}')
	}
	return append(dst, " </tools>"...)
}

// ToolsElements returns a writer of definitions in an element, each in one more of its own if that has
// a name. They share a line, for the reason above.
func ToolsElements(all, each string) func(dst []byte, tools []chat.Tool) []byte {
	open, end := "", ""
	if each != "" {
		open, end = "<"+each+">", "</"+each+">"
	}
	return func(dst []byte, tools []chat.Tool) []byte {
		dst = append(append(append(dst, '<'), all...), '>')
		for i := range tools {
			dst = append(append(dst, ' '), open...)
			dst = append(definition(dst, &tools[i]), end...)
		}
		return append(append(append(dst, " </"...), all...), '>')
	}
}

// ToolsAvailable writes the definitions as a list in the element that Nemotron knows.
func ToolsAvailable(dst []byte, tools []chat.Tool) []byte {
	return append(toolsList(append(dst, "<AVAILABLE_TOOLS>"...), tools), "</AVAILABLE_TOOLS>"...)
}

// ToolsPhi writes them between the tokens of Phi-4-mini.
func ToolsPhi(dst []byte, tools []chat.Tool) []byte {
	return append(toolsList(append(dst, "<|tool|>"...), tools), "<|/tool|>"...)
}

// ToolsMistral writes them between the tokens of Mistral's instruct models.
func ToolsMistral(dst []byte, tools []chat.Tool) []byte {
	return append(toolsList(append(dst, "[AVAILABLE_TOOLS] "...), tools), "[/AVAILABLE_TOOLS]"...)
}

func toolsList(dst []byte, tools []chat.Tool) []byte {
	dst = append(dst, '[')
	for i := range tools {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(dst, `{"type":"function","function":`...)
		dst = definition(dst, &tools[i])
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func definition(dst []byte, t *chat.Tool) []byte {
	dst = append(dst, `{"name":`...)
	dst = appendString(dst, t.Name, safe)
	// an empty one too: a name with parameters behind it is a call in some dialects
	dst = append(dst, `,"description":`...)
	dst = appendString(dst, t.Description, safe)
	dst = append(dst, `,"parameters":`...)
	if raw := string(t.Parameters); IsObject(raw) {
		dst = compact(dst, raw, safe)
	} else {
		dst = append(dst, `{"type":"object","properties":{}}`...)
	}
	return append(dst, '}')
}

// ToolsSignature writes a list of signatures, - name(param: type, opt?: type): description, and beneath each the
// descriptions of its parameters.
func ToolsSignature(dst []byte, tools []chat.Tool) []byte {
	for i := range tools {
		if i > 0 {
			dst = append(dst, '\n')
		}
		t := &tools[i]
		schema := signature{root: string(t.Parameters), left: maxTypes}
		dst = append(dst, "- "...)
		dst = word(dst, t.Name)
		dst = append(dst, '(')
		dst = schema.members(dst, schema.root, 0)
		dst = append(dst, ')')
		if t.Description != "" {
			dst = append(dst, ": "...)
			dst = inline(dst, t.Description)
		}
		dst = schema.describe(dst)
	}
	return dst
}

// A signature writes types out of one JSON Schema in the way that TypeScript writes them.
type signature struct {
	root string
	left int // types that may still be written out
}

// How much of a schema is written out. What lies deeper, or behind so many others, is an object or an array
// to the reader: a schema that refers to itself has no end, and one that does so often grows beyond any
// prompt.
const (
	maxDepth = 4
	maxTypes = 400
)

// members writes "a: string, b?: integer" for the properties of the object schema in raw.
func (s *signature) members(dst []byte, raw string, depth int) []byte {
	var required []string
	properties := ""
	Each(raw, func(key, value string) {
		switch key {
		case "properties":
			properties = value
		case "required":
			_ = json.Unmarshal([]byte(value), &required) // a list of another kind requires nothing
		}
	})
	n := 0
	Each(properties, func(key, value string) {
		if n++; n > 1 {
			dst = append(dst, ", "...)
		}
		dst = word(dst, key)
		if !slices.Contains(required, key) {
			dst = append(dst, '?')
		}
		dst = append(dst, ": "...)
		dst = s.typ(dst, value, depth)
	})
	return dst
}

// typ writes the type of the schema in raw.
func (s *signature) typ(dst []byte, raw string, depth int) []byte {
	var f struct{ kind, enum, constant, items, properties, union, ref string }
	Each(raw, func(key, value string) {
		switch key {
		case "type":
			f.kind = value
		case "enum":
			f.enum = value
		case "const":
			f.constant = value
		case "items":
			f.items = value
		case "properties":
			f.properties = value
		case "anyOf", "oneOf":
			f.union = value
		case "$ref":
			f.ref = value
		}
	})
	if s.left--; s.left < 0 {
		depth = maxDepth
	}
	switch {
	case f.ref != "" && depth < maxDepth:
		return s.typ(dst, s.resolve(f.ref), depth+1)
	case f.enum != "":
		return s.join(dst, f.enum, func(dst []byte, v string) []byte { return compact(dst, v, safe) })
	case f.constant != "":
		return compact(dst, f.constant, safe)
	case f.union != "" && depth < maxDepth:
		return s.join(dst, f.union, func(dst []byte, v string) []byte { return s.typ(dst, v, depth+1) })
	case strings.HasPrefix(f.kind, "["):
		return s.join(dst, f.kind, func(dst []byte, v string) []byte {
			return s.one(dst, raw, v, f.items, f.properties, depth)
		})
	}
	return s.one(dst, raw, f.kind, f.items, f.properties, depth)
}

// one writes one of the types of the schema in raw.
func (s *signature) one(dst []byte, raw, name, items, properties string, depth int) []byte {
	kind, _ := Unquote(name)
	switch {
	case kind == "array" && items != "" && depth < maxDepth:
		start := len(dst)
		dst = s.typ(dst, items, depth+1)
		if strings.Contains(string(dst[start:]), " | ") {
			dst = append(append(append(dst[:start:start], '('), dst[start:]...), ')')
		}
		return append(dst, "[]"...)
	case (kind == "object" || kind == "") && properties != "" && depth < maxDepth:
		dst = append(dst, '{')
		dst = s.members(dst, raw, depth+1)
		return append(dst, '}')
	case kind == "":
		return append(dst, "any"...)
	}
	return word(dst, kind)
}

// join writes the elements of the JSON array in raw as a union, null at its end.
func (s *signature) join(dst []byte, raw string, each func([]byte, string) []byte) []byte {
	n, nothing := 0, ""
	for i := space(raw, 0) + 1; i < len(raw); {
		i = space(raw, i)
		end := valueEnd(raw, i)
		if end <= i {
			break
		}
		switch v := raw[i:end]; v {
		case `"null"`, `null`, `{"type":"null"}`:
			nothing = v
		default:
			if n++; n > 1 {
				dst = append(dst, " | "...)
			}
			dst = each(dst, v)
		}
		if i = space(raw, end); i < len(raw) && raw[i] == ',' {
			i++
		}
	}
	switch {
	case nothing != "" && n > 0:
		return each(append(dst, " | "...), nothing)
	case nothing != "":
		return each(dst, nothing)
	case n == 0:
		return append(dst, "any"...)
	}
	return dst
}

// resolve returns the schema that a reference into the same document names, or "".
func (s *signature) resolve(ref string) string {
	path, _ := Unquote(ref)
	path, ok := strings.CutPrefix(path, "#")
	if !ok {
		return ""
	}
	raw := s.root
	for _, step := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		if step == "" {
			continue
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		next := ""
		Each(raw, func(key, value string) {
			if key == step {
				next = value
			}
		})
		raw = next
	}
	return raw
}

// describe writes a line for each parameter that has a description, or bounds, which no type tells.
func (s *signature) describe(dst []byte) []byte {
	Each(s.root, func(key, properties string) {
		if key != "properties" {
			return
		}
		Each(properties, func(name, schema string) {
			text := ""
			Each(schema, func(key, value string) {
				if key == "description" {
					text, _ = Unquote(value)
				}
			})
			limits := bounds(schema)
			if text == "" && limits == "" {
				return
			}
			dst = append(dst, "\n    "...)
			dst = word(dst, name)
			dst = append(dst, ": "...)
			dst = inline(dst, text)
			if limits != "" {
				if text != "" {
					dst = append(dst, ' ')
				}
				dst = append(dst, "("+limits+")"...)
			}
		})
	})
	return dst
}

// limits are the keywords that bound a value, in the words of a prompt.
var limits = []struct{ key, before, after string }{
	{"minimum", "at least ", ""}, {"exclusiveMinimum", "above ", ""}, {"maximum", "at most ", ""},
	{"exclusiveMaximum", "below ", ""}, {"multipleOf", "a multiple of ", ""},
	{"minLength", "at least ", " characters"}, {"maxLength", "at most ", " characters"},
	{"minItems", "at least ", " items"}, {"maxItems", "at most ", " items"}, {"uniqueItems", "no item twice", ""},
	{"format", "format ", ""}, {"pattern", "pattern ", ""},
}

// bounds says which values of its type a schema allows, as "at least 1, at most 10".
func bounds(schema string) string {
	var list []string
	for _, l := range limits {
		Each(schema, func(key, value string) {
			if key != l.key || value == "false" || value == "0" && strings.HasPrefix(key, "min") && l.after != "" {
				return
			}
			text, isText := Unquote(value)
			switch {
			case value == "true":
				text = ""
			case !isText && strings.Trim(value, "+-.0123456789eE") == "":
				text = value
			case !isText:
				return
			}
			list = append(list, l.before+string(inline(nil, text))+l.after)
		})
	}
	return strings.Join(list, ", ")
}

// word writes a name bare when it is nothing but letters, digits and the signs that join them, else as a string.
func word(dst []byte, s string) []byte {
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.:/$@", r) || r == utf8.RuneError {
			return appendString(dst, s, safe)
		}
	}
	if s == "" {
		return append(dst, `""`...)
	}
	return append(dst, s...)
}

// inline writes text into a line: bare when it is harmless there, else as a string, in which it cannot break out.
func inline(dst []byte, s string) []byte {
	s = strings.TrimSpace(s)
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == 0x7f || mayBegin(s, i, safe) {
			return appendString(dst, s, safe)
		}
	}
	if !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) || strings.ContainsAny(s, "{\u2028\u2029") ||
		strings.Contains(s, "===") || strings.HasSuffix(s, "]") {
		return appendString(dst, s, safe)
	}
	return append(dst, s...)
}
