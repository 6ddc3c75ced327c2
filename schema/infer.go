package schema

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// For returns the JSON Schema of T as encoding/json writes it. Structs become objects that allow no other
// properties; fields without omitempty or omitzero are required and stand in the order of the struct; the
// struct tag jsonschema is a field's description. It fails for types that JSON cannot hold, such as channels
// and functions, and for types that contain themselves. Lists are never null.
func For[T any]() (json.RawMessage, error) {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	listsOnly(s)
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return raw, nil
}

// ForType returns the JSON Schema of t as For does, for bodies of an HTTP interface: lists are never null,
// and the types in known have the schemas that stand there, such as those of strings that only some words may
// stand in.
func ForType(t reflect.Type, known map[reflect.Type]json.RawMessage) (json.RawMessage, error) {
	o := jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{}}
	for t, raw := range known {
		s := new(jsonschema.Schema)
		if err := json.Unmarshal(raw, s); err != nil {
			return nil, fmt.Errorf("schema: of %s: %w", t, err)
		}
		o.TypeSchemas[t] = s
	}
	s, err := jsonschema.ForType(t, &o)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	listsOnly(s)
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return raw, nil
}

// listsOnly takes null from the types of lists.
func listsOnly(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" && s.Types[1] == "array" {
		s.Type, s.Types = "array", nil
	}
	listsOnly(s.Items)
	listsOnly(s.AdditionalProperties)
	for _, p := range s.Properties {
		listsOnly(p)
	}
}
