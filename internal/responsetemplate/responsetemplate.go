// Package responsetemplate makes a dialect of a response template: the description of a model's answers that
// Transformers, from 5.13, keeps in a tokenizer_config.json. The model then needs no row in wield's table.
//
// A template may say more than a reader of streams can follow, since its delimiters are regular expressions. What
// wield cannot read is an error with its place; nothing is read in another way than the template says.
package responsetemplate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"wield/dialect"
)

// An Imported holds what a template says, in the terms of a decoder.
type Imported struct {
	Dialect  *dialect.Dialect // of the calls; nil: the template has none
	Thinking dialect.Thinking // the tags of reasoning
	Drop     []string         // tokens around the content
}

// Apply completes the options of a decoder.
func (m *Imported) Apply(o *dialect.Options) {
	o.Own = m.Dialect
	if o.Thinking.Closer == "" {
		o.Thinking.Opener, o.Thinking.Closer = m.Thinking.Opener, m.Thinking.Closer
	}
	o.Drop = append(slices.Clip(o.Drop), m.Drop...)
}

// An Error names the part of a template that cannot be read.
type Error struct {
	Place string // such as fields.tool_calls.open_pattern
	Why   string
}

func (e *Error) Error() string { return "response_template: " + e.Place + ": " + e.Why }

// template is the file's own shape.
type template struct {
	Version            *int                       `json:"version"`
	Defaults           json.RawMessage            `json:"defaults"`
	Fields             map[string]json.RawMessage `json:"fields"`
	StartAnchor        json.RawMessage            `json:"start_anchor"`
	StartAnchorPattern json.RawMessage            `json:"start_anchor_pattern"`
}

// field is one part of an answer.
type field struct {
	Open          literals        `json:"open"`
	OpenPattern   string          `json:"open_pattern"`
	Close         literals        `json:"close"`
	ClosePattern  string          `json:"close_pattern"`
	Content       string          `json:"content"`
	Args          contentArgs     `json:"content_args"`
	Repeats       bool            `json:"repeats"`
	Join          *string         `json:"join"`
	Optional      *bool           `json:"optional"`
	Transform     json.RawMessage `json:"transform"`
	TransformEach bool            `json:"transform_each"`
}

// contentArgs are those of all parsers of content.
type contentArgs struct {
	Strip        *bool           `json:"strip"`
	UnquotedKeys bool            `json:"unquoted_keys"`
	StringDelims [][2]string     `json:"string_delims"`
	AllowNonJSON bool            `json:"allow_non_json"`
	TagPattern   string          `json:"tag_pattern"`
	ValueParser  json.RawMessage `json:"value_parser"`
	Merge        bool            `json:"merge_duplicates"`
	LineSep      string          `json:"line_sep"`
	KVSep        string          `json:"kv_sep"`
}

// literals are one text or several.
type literals []string

func (l *literals) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*l = literals{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(l))
}

// The names that the parts of an answer go by.
var (
	thinkingFields = []string{"thinking", "reasoning", "reasoning_content"}
	contentFields  = []string{"content"}
	callFields     = []string{"tool_calls"}
)

// Read reads a tokenizer_config.json with a response_template, or the template alone, and makes what it says
// under the name.
func Read(name string, data []byte) (*Imported, error) {
	data, err := templateIn(data)
	if err != nil {
		return nil, err
	}
	var t template
	if err := strict("the template", data, &t); err != nil {
		return nil, err
	}
	if t.Version != nil && *t.Version != 1 {
		return nil, &Error{"version", fmt.Sprintf("%d is not known; wield reads 1", *t.Version)}
	}
	if len(t.Fields) == 0 {
		return nil, &Error{"fields", "there are none"}
	}
	m := &Imported{}
	for _, key := range slices.Sorted(maps.Keys(t.Fields)) {
		var f field
		if err := strict("fields."+key, t.Fields[key], &f); err != nil {
			return nil, err
		}
		if err := m.take(name, key, &f); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// templateIn returns the template of a file, which may be all of it.
func templateIn(data []byte) ([]byte, error) {
	var file struct {
		Template json.RawMessage `json:"response_template"`
		Fields   json.RawMessage `json:"fields"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("response_template: the file is no JSON object: %w", err)
	}
	if file.Template == nil && file.Fields == nil {
		return nil, fmt.Errorf("response_template: the file has none")
	}
	if file.Template != nil {
		return file.Template, nil
	}
	return data, nil
}

// strict reads a part of the template, in which every key has to be known.
func strict(place string, data []byte, v any) error {
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return &Error{place, strings.TrimPrefix(err.Error(), "json: ")}
	}
	return nil
}

// take takes in one field.
func (m *Imported) take(name, key string, f *field) error {
	place := "fields." + key
	if len(f.Open) > 0 && f.OpenPattern != "" || len(f.Close) > 0 && f.ClosePattern != "" {
		return &Error{place, "a delimiter is either a literal or a pattern"}
	}
	if slices.Contains(append(f.Open, f.Close...), "") {
		return &Error{place, "a delimiter is empty"}
	}
	switch {
	case slices.Contains(callFields, key):
		l, err := f.layout(place)
		if err != nil {
			return err
		}
		l.Name = name
		if m.Dialect, err = l.Dialect(); err != nil {
			return &Error{place, err.Error()}
		}
		return nil
	case f.Content != "" && f.Content != "text":
		return &Error{place + ".content", fmt.Sprintf("wield reads %s as text, not as %s", key, f.Content)}
	case f.Transform != nil:
		return &Error{place + ".transform", "only tool_calls can be transformed"}
	case slices.Contains(thinkingFields, key):
		return m.thinking(place, f)
	case slices.Contains(contentFields, key):
		return m.content(place, f)
	}
	return &Error{place, "wield has no such part of an answer; it knows content, thinking and tool_calls"}
}

// thinking takes the tags of reasoning.
func (m *Imported) thinking(place string, f *field) error {
	open, err := f.literal(place, ".open")
	if err != nil {
		return err
	}
	closer, err := f.literal(place, ".close")
	if err != nil {
		return err
	}
	if closer == "" {
		return &Error{place + ".close", "nothing ends the reasoning"}
	}
	m.Thinking = dialect.Thinking{Opener: open, Closer: closer}
	return nil
}

// literal returns a delimiter that has to be one literal, white space at its ends aside; "" if there is none.
func (f *field) literal(place, which string) (string, error) {
	list, pattern := f.Open, f.OpenPattern
	if which == ".close" {
		list, pattern = f.Close, f.ClosePattern
	}
	switch {
	case len(list) > 1:
		return "", &Error{place + which, "wield reads one literal there, and there are several"}
	case len(list) == 1:
		return strings.TrimSpace(list[0]), nil
	case pattern == "":
		return "", nil
	}
	parts, err := split(place+which+"_pattern", pattern)
	if err != nil {
		return "", err
	}
	if parts = trim(parts); len(parts) != 1 || parts[0].literal == "" {
		return "", &Error{place + which + "_pattern", "wield reads one literal there"}
	}
	return strings.TrimSpace(parts[0].literal), nil
}

// content takes the tokens around the content, which are left out.
func (m *Imported) content(place string, f *field) error {
	if f.OpenPattern != "" || f.ClosePattern != "" {
		for _, p := range []struct{ which, pattern string }{{".open_pattern", f.OpenPattern},
			{".close_pattern", f.ClosePattern}} {
			if p.pattern == "" {
				continue
			}
			parts, err := alternatives(place+p.which, p.pattern)
			if err != nil {
				return err
			}
			f.Close = append(f.Close, parts...)
		}
	}
	for _, token := range append(slices.Clone(f.Open), f.Close...) {
		if token = strings.TrimSpace(token); token != "" && !slices.Contains(m.Drop, token) {
			m.Drop = append(m.Drop, token)
		}
	}
	return nil
}
