package dialect

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"wield/chat"
)

// AppendTools appends the definitions of tools. Whatever they hold, the text keeps its lines and no dialect reads a call in it.
func (row *renderRow) AppendTools(dst []byte, tools []chat.Tool) []byte {
	switch {
	case len(tools) == 0:
		return dst
	case row.tools != nil:
		return row.tools(dst, tools)
	}
	return renderToolsJSON(dst, tools)
}

// renderToolsJSON writes a list with one JSON object a line. The object does not begin the line, since there
// it could be taken for a call.
func renderToolsJSON(dst []byte, tools []chat.Tool) []byte {
	for i := range tools {
		if i > 0 {
			dst = append(dst, '\n')
		}
		dst = append(dst, "- "...)
		dst = renderDefinition(dst, &tools[i])
	}
	return dst
}

// renderToolsTag writes the definitions in one element, in the shape of the OpenAI protocol, as Hermes and
// Qwen know them. They share a line, for the reason above.
func renderToolsTag(dst []byte, tools []chat.Tool) []byte {
	dst = append(dst, "<tools>"...)
	for i := range tools {
		dst = append(dst, ` {"type":"function","function":`...)
		dst = renderDefinition(dst, &tools[i])
		dst = append(dst, '}')
	}
	return append(dst, " </tools>"...)
}

// renderToolsElements returns a writer of definitions in an element, each in one more of its own if that has
// a name. They share a line, for the reason above.
func renderToolsElements(all, each string) func(dst []byte, tools []chat.Tool) []byte {
	open, end := "", ""
	if each != "" {
		open, end = "<"+each+">", "</"+each+">"
	}
	return func(dst []byte, tools []chat.Tool) []byte {
		dst = append(append(append(dst, '<'), all...), '>')
		for i := range tools {
			dst = append(append(dst, ' '), open...)
			dst = append(renderDefinition(dst, &tools[i]), end...)
		}
		return append(append(append(dst, " </"...), all...), '>')
	}
}

// renderToolsAvailable writes the definitions as a list in the element that Nemotron knows.
func renderToolsAvailable(dst []byte, tools []chat.Tool) []byte {
	return append(renderToolsList(append(dst, "<AVAILABLE_TOOLS>"...), tools), "</AVAILABLE_TOOLS>"...)
}

// renderToolsPhi writes them between the tokens of Phi-4-mini.
func renderToolsPhi(dst []byte, tools []chat.Tool) []byte {
	return append(renderToolsList(append(dst, "<|tool|>"...), tools), "<|/tool|>"...)
}

// renderToolsMistral writes them between the tokens of Mistral's instruct models.
func renderToolsMistral(dst []byte, tools []chat.Tool) []byte {
	return append(renderToolsList(append(dst, "[AVAILABLE_TOOLS] "...), tools), "[/AVAILABLE_TOOLS]"...)
}

func renderToolsList(dst []byte, tools []chat.Tool) []byte {
	dst = append(dst, '[')
	for i := range tools {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(dst, `{"type":"function","function":`...)
		dst = renderDefinition(dst, &tools[i])
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

func renderDefinition(dst []byte, t *chat.Tool) []byte {
	dst = append(dst, `{"name":`...)
	dst = renderString(dst, t.Name, renderSafe)
	dst = append(dst, `,"description":`...) // an empty one too: a name with parameters behind it is a call in some dialects
	dst = renderString(dst, t.Description, renderSafe)
	dst = append(dst, `,"parameters":`...)
	if raw := string(t.Parameters); renderIsObject(raw) {
		dst = renderCompact(dst, raw, renderSafe)
	} else {
		dst = append(dst, `{"type":"object","properties":{}}`...)
	}
	return append(dst, '}')
}

// renderToolsSignature writes a list of signatures, - name(param: type, opt?: type): description, and beneath each the
// descriptions of its parameters.
func renderToolsSignature(dst []byte, tools []chat.Tool) []byte {
	for i := range tools {
		if i > 0 {
			dst = append(dst, '\n')
		}
		t := &tools[i]
		schema := renderSchema{root: string(t.Parameters), left: renderTypes}
		dst = append(dst, "- "...)
		dst = renderWord(dst, t.Name)
		dst = append(dst, '(')
		dst = schema.members(dst, schema.root, 0)
		dst = append(dst, ')')
		if t.Description != "" {
			dst = append(dst, ": "...)
			dst = renderInline(dst, t.Description)
		}
		dst = schema.describe(dst)
	}
	return dst
}

// A renderSchema writes types out of one JSON Schema in the way that TypeScript writes them.
type renderSchema struct {
	root string
	left int // types that may still be written out
}

// How much of a schema is written out. What lies deeper, or behind so many others, is an object or an array
// to the reader: a schema that refers to itself has no end, and one that does so often grows beyond any
// prompt.
const (
	renderDepth = 4
	renderTypes = 400
)

// members writes "a: string, b?: integer" for the properties of the object schema in raw.
func (s *renderSchema) members(dst []byte, raw string, depth int) []byte {
	var required []string
	properties := ""
	renderEach(raw, func(key, value string) {
		switch key {
		case "properties":
			properties = value
		case "required":
			_ = json.Unmarshal([]byte(value), &required) // a list of another kind requires nothing
		}
	})
	n := 0
	renderEach(properties, func(key, value string) {
		if n++; n > 1 {
			dst = append(dst, ", "...)
		}
		dst = renderWord(dst, key)
		if !renderHas(required, key) {
			dst = append(dst, '?')
		}
		dst = append(dst, ": "...)
		dst = s.typ(dst, value, depth)
	})
	return dst
}

// typ writes the type of the schema in raw.
func (s *renderSchema) typ(dst []byte, raw string, depth int) []byte {
	var f struct{ kind, enum, constant, items, properties, union, ref string }
	renderEach(raw, func(key, value string) {
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
		depth = renderDepth
	}
	switch {
	case f.ref != "" && depth < renderDepth:
		return s.typ(dst, s.resolve(f.ref), depth+1)
	case f.enum != "":
		return s.join(dst, f.enum, func(dst []byte, v string) []byte { return renderCompact(dst, v, renderSafe) })
	case f.constant != "":
		return renderCompact(dst, f.constant, renderSafe)
	case f.union != "" && depth < renderDepth:
		return s.join(dst, f.union, func(dst []byte, v string) []byte { return s.typ(dst, v, depth+1) })
	case strings.HasPrefix(f.kind, "["):
		return s.join(dst, f.kind, func(dst []byte, v string) []byte { return s.one(dst, raw, v, f.items, f.properties, depth) })
	}
	return s.one(dst, raw, f.kind, f.items, f.properties, depth)
}

// one writes one of the types of the schema in raw.
func (s *renderSchema) one(dst []byte, raw, name, items, properties string, depth int) []byte {
	kind, _ := renderUnquote(name)
	switch {
	case kind == "array" && items != "" && depth < renderDepth:
		start := len(dst)
		dst = s.typ(dst, items, depth+1)
		if strings.Contains(string(dst[start:]), " | ") {
			dst = append(append(append(dst[:start:start], '('), dst[start:]...), ')')
		}
		return append(dst, "[]"...)
	case (kind == "object" || kind == "") && properties != "" && depth < renderDepth:
		dst = append(dst, '{')
		dst = s.members(dst, raw, depth+1)
		return append(dst, '}')
	case kind == "":
		return append(dst, "any"...)
	}
	return renderWord(dst, kind)
}

// join writes the elements of the JSON array in raw as a union, null at its end.
func (s *renderSchema) join(dst []byte, raw string, each func([]byte, string) []byte) []byte {
	n, nothing := 0, ""
	for i := renderSpace(raw, 0) + 1; i < len(raw); {
		i = renderSpace(raw, i)
		end := renderValueEnd(raw, i)
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
		if i = renderSpace(raw, end); i < len(raw) && raw[i] == ',' {
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
func (s *renderSchema) resolve(ref string) string {
	path, _ := renderUnquote(ref)
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
		renderEach(raw, func(key, value string) {
			if key == step {
				next = value
			}
		})
		raw = next
	}
	return raw
}

// describe writes a line for each parameter that has a description.
func (s *renderSchema) describe(dst []byte) []byte {
	renderEach(s.root, func(key, properties string) {
		if key != "properties" {
			return
		}
		renderEach(properties, func(name, schema string) {
			renderEach(schema, func(key, value string) {
				if text, ok := renderUnquote(value); ok && key == "description" && text != "" {
					dst = append(dst, "\n    "...)
					dst = renderWord(dst, name)
					dst = append(dst, ": "...)
					dst = renderInline(dst, text)
				}
			})
		})
	})
	return dst
}

func renderHas(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

// renderWord writes a name bare when it is nothing but letters, digits and the signs that join them, else as a string.
func renderWord(dst []byte, s string) []byte {
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.:/$@", r) || r == utf8.RuneError {
			return renderString(dst, s, renderSafe)
		}
	}
	if s == "" {
		return append(dst, `""`...)
	}
	return append(dst, s...)
}

// renderInline writes text into a line: bare when it is harmless there, else as a string, in which it cannot break out.
func renderInline(dst []byte, s string) []byte {
	s = strings.TrimSpace(s)
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == 0x7f || renderUnsafe(s, i, renderSafe) {
			return renderString(dst, s, renderSafe)
		}
	}
	if !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) || strings.ContainsAny(s, "{\u2028\u2029") ||
		strings.Contains(s, "===") || strings.HasSuffix(s, "]") {
		return renderString(dst, s, renderSafe)
	}
	return append(dst, s...)
}
