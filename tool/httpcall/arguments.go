package httpcall

import (
	"bytes"
	"encoding/json"
	"strings"

	"wield/schema/shape"

	"github.com/go-json-experiment/json/jsontext"
)

// arguments are those of a call, by name. Null counts as absent.
type arguments map[string]json.RawMessage

func readArguments(text string) (arguments, error) {
	var args arguments
	if err := json.Unmarshal([]byte(text), &args); err != nil {
		return nil, err
	}
	for name, raw := range args {
		if string(raw) == "null" {
			delete(args, name)
		}
	}
	return args, nil
}

// text returns an argument as text: that of a string, the JSON of anything else.
func (a arguments) text(name string) (string, bool) {
	raw, ok := a[name]
	if !ok {
		return "", false
	}
	return textOf(raw), true
}

func textOf(raw json.RawMessage) string {
	if len(raw) > 0 && raw[0] == '"' {
		if s, err := jsontext.AppendUnquote(nil, raw); err == nil {
			return string(s)
		}
	}
	return string(raw)
}

// A member is one of an object, in the order in which it stands there.
type member struct {
	name  string
	value json.RawMessage
}

// members returns those of an object; ok is false for anything else.
func members(raw json.RawMessage) (list []member, ok bool) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, false
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.ReadToken(); err != nil {
		return nil, false
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		m := member{name: name.String()}
		value, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		m.value = json.RawMessage(bytes.Clone(value))
		list = append(list, m)
	}
	return list, true
}

// items returns those of a list; ok is false for anything else.
func items(raw json.RawMessage) (list []json.RawMessage, ok bool) {
	if len(raw) == 0 || raw[0] != '[' {
		return nil, false
	}
	return list, json.Unmarshal(raw, &list) == nil
}

// fill returns a JSON text in which the places of arguments are filled. A string that is nothing but a place becomes
// the argument as it is; a member or item for which there is no argument is left out. empty says that nothing is left
// of the value.
func fill(raw json.RawMessage, args arguments) (filled json.RawMessage, empty bool) {
	switch {
	case len(raw) == 0:
		return nil, true
	case raw[0] == '"':
		return fillText(raw, args)
	case raw[0] == '{':
		list, _ := members(raw)
		parts := make([]string, 0, len(list))
		for _, m := range list {
			if value, empty := fill(m.value, args); !empty {
				parts = append(parts, string(quote(m.name))+":"+string(value))
			}
		}
		return json.RawMessage("{" + strings.Join(parts, ",") + "}"), false
	case raw[0] == '[':
		list, _ := items(raw)
		parts := make([]string, 0, len(list))
		for _, item := range list {
			if value, empty := fill(item, args); !empty {
				parts = append(parts, string(value))
			}
		}
		return json.RawMessage("[" + strings.Join(parts, ",") + "]"), false
	}
	return raw, false
}

func fillText(raw json.RawMessage, args arguments) (json.RawMessage, bool) {
	t := parse(textOf(raw))
	if name, ok := t.alone(); ok {
		value, ok := args[name]
		return value, !ok
	}
	text, err := t.expand(args, plain)
	return quote(text), err != nil
}

// quote returns s as a JSON string.
func quote(s string) json.RawMessage { return json.RawMessage(shape.Quote(s)) }

// placesIn returns the arguments that have a place in the strings of a JSON text. The names of members have none.
func placesIn(raw json.RawMessage) []string {
	var names []string
	if len(raw) > 0 && raw[0] == '"' {
		return parse(textOf(raw)).names()
	}
	list, _ := members(raw)
	for _, m := range list {
		names = append(names, placesIn(m.value)...)
	}
	all, _ := items(raw)
	for _, item := range all {
		names = append(names, placesIn(item)...)
	}
	return names
}
