package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// A schemaNode is the part of JSON Schema that the file needs.
type schemaNode struct {
	Schema      string      `json:"$schema,omitempty"`
	Title       string      `json:"title,omitempty"`
	Description string      `json:"description,omitempty"`
	Type        any         `json:"type,omitempty"`
	Enum        []string    `json:"enum,omitempty"`
	Pattern     string      `json:"pattern,omitempty"`
	Minimum     json.Number `json:"minimum,omitempty"`
	Maximum     json.Number `json:"maximum,omitempty"`
	Properties  *properties `json:"properties,omitempty"`
	Required    []string    `json:"required,omitempty"`
	Additional  any         `json:"additionalProperties,omitempty"`
	Items       *schemaNode `json:"items,omitempty"`
	Default     any         `json:"default,omitempty"`
}

// properties is a JSON object that keeps the order of its keys.
type properties struct {
	names []string
	nodes []*schemaNode
}

// MarshalJSON writes the keys in the order of the file.
func (p *properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range p.names {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:", name)
		text, err := marshal(p.nodes[i])
		if err != nil {
			return nil, err
		}
		b.Write(text)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// marshal is json.Marshal without the escapes that only a page needs.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// Schema returns the JSON Schema (2020-12) of the configuration file. It holds what a key alone can tell; references
// between keys, such as a model's to its backend, only Load checks.
func Schema() ([]byte, error) { return schemaText(Default(), "Configuration of wield") }

// ProjectSchema returns the JSON Schema of a project's file.
func ProjectSchema() ([]byte, error) {
	return schemaText(&Project{}, "Rules of a project for wield")
}

func schemaText(v any, title string) ([]byte, error) {
	root := schemaOf(reflect.ValueOf(v).Elem(), field{})
	root.Schema = "https://json-schema.org/draft/2020-12/schema"
	root.Title = title
	text, err := marshal(root)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// schemaOf describes the type of v, which holds the default values, as f bounds it.
func schemaOf(v reflect.Value, f field) *schemaNode {
	n := &schemaNode{Description: f.doc}
	if s, ok := asScalar(v); ok {
		n.Type = "string"
		n.Pattern = s.pattern()
		if size, ok := s.(*Size); ok {
			n.Type = []string{"string", "integer"}
			n.Minimum, n.Maximum = byteBound(f.min), byteBound(f.max)
			n.Default = size.String()
		} else if _, ok := s.(*Amount); ok {
			n.Type, n.Minimum = []string{"string", "number"}, "0"
		} else if text := fmt.Sprint(v.Interface()); !v.IsZero() {
			n.Default = text
		}
		return n
	}
	switch v.Kind() {
	case reflect.Pointer:
		item := reflect.New(v.Type().Elem()).Elem()
		n = schemaOf(item, f)
		n.Default = nil // absent means something else
		return n
	case reflect.Struct:
		n.object(v)
	case reflect.Map:
		item := reflect.New(v.Type().Elem()).Elem()
		setDefaults(item)
		n.Type = []string{"object", "null"}
		n.Additional = schemaOf(item, field{})
	case reflect.Slice:
		item := reflect.New(v.Type().Elem()).Elem()
		setDefaults(item)
		n.Type = []string{"array", "null"}
		n.Items = schemaOf(item, field{enum: f.enum, min: f.min, max: f.max})
		if v.Len() > 0 {
			n.Default = v.Interface()
		}
	case reflect.String:
		n.Type = "string"
		n.Enum = f.enum
		if s := v.String(); s != "" {
			n.Default = s
		}
	case reflect.Int:
		n.Type = "integer"
		n.Minimum, n.Maximum = json.Number(f.min), json.Number(f.max)
		n.Default = v.Int()
	case reflect.Bool:
		n.Type = "boolean"
		n.Default = v.Bool()
	}
	return n
}

func (n *schemaNode) object(v reflect.Value) {
	n.Type = []string{"object", "null"}
	n.Additional = false
	n.Properties = &properties{}
	for _, f := range fieldsOf(v.Type()) {
		n.Properties.names = append(n.Properties.names, f.name)
		n.Properties.nodes = append(n.Properties.nodes, schemaOf(v.FieldByIndex(f.index), f))
		if f.required {
			n.Required = append(n.Required, f.name)
			n.Type = "object"
		}
	}
}

// byteBound returns the bound of a size in bytes.
func byteBound(text string) json.Number {
	var s Size
	if text == "" || s.Parse(text) != nil {
		return ""
	}
	return json.Number(fmt.Sprint(int64(s)))
}

func indexed(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
