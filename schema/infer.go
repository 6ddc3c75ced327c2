package schema

import (
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// For returns the JSON Schema of T as encoding/json writes it. Structs become objects that allow no other properties; fields
// without omitempty or omitzero are required and stand in the order of the struct; the struct tag jsonschema is a field's
// description. It fails for types that JSON cannot hold, such as channels and functions, and for types that contain
// themselves.
func For[T any]() (json.RawMessage, error) {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return raw, nil
}
