package jsonbody

import (
	"encoding/base64"

	"wield/chat"
)

// Location returns where a part's content lies: its address, or the content itself as one. media is the type of
// content that has none.
func Location(p *chat.Part, media string) string {
	if p.URL != "" {
		return p.URL
	}
	if p.MediaType != "" {
		media = p.MediaType
	}
	return "data:" + media + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}

// Format reads the form that an answer is to have, in the shape of chat completions or in that of Responses: clients
// send either to both. schema is where the protocol has the schema, for an error about one that is missing. null is
// nil.
func (r *Reader) Format(schema string) *chat.Format {
	if r.Null() {
		return nil
	}
	var f chat.Format
	var kind string
	r.Members(func(key string) {
		switch key {
		case "type":
			kind = r.Text()
		case "json_schema":
			r.Members(func(key string) { r.formatField(&f, key) })
		default:
			r.formatField(&f, key)
		}
	})
	switch kind {
	case "text":
		f.Kind = chat.FormatText
	case "json_object":
		if f.Kind = chat.FormatJSON; f.Schema != nil { // some servers take one here
			f.Kind = chat.FormatSchema
		}
	case "json_schema":
		f.Kind = chat.FormatSchema
		if f.Schema == nil {
			r.RefuseAt(schema, CodeMissing, "the format json_schema needs a schema")
		}
	default:
		code := CodeInvalidValue
		if kind == "" {
			code = CodeMissing
		}
		r.RefuseAt("type", code, "this must be text, json_object or json_schema")
	}
	return &f
}

func (r *Reader) formatField(f *chat.Format, key string) {
	switch key {
	case "name":
		f.Name = r.Text()
	case "description":
		f.Description = r.Optional()
	case "strict":
		f.Strict = r.Boolean()
	case "schema":
		if !r.Null() && r.Is('{') {
			f.Schema = r.Raw()
		}
	default:
		r.Unread()
	}
}

// ObjectSchema returns the schema of arguments as one that every server takes: of an object, which arguments are.
func ObjectSchema(schema []byte) []byte {
	if len(schema) == 0 || schema[0] != '{' {
		return []byte(`{"type":"object","properties":{}}`)
	}
	members := 0
	s := Scanner{Bytes: schema}
	for s.Enter('{'); s.Next('}'); s.Skip() {
		if members++; string(s.Key()) == "type" {
			return schema
		}
	}
	if members == 0 {
		return []byte(`{"type":"object"}`)
	}
	return append([]byte(`{"type":"object",`), schema[1:]...)
}
