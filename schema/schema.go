package schema

import (
	"encoding/json"

	"wield/schema/shape"
)

// A Schema is a compiled JSON Schema. It does not change and may be used by several goroutines at once.
type Schema struct {
	shape *shape.Shape
}

// Compile compiles the JSON Schema in raw. Empty or null raw allows everything.
func Compile(raw json.RawMessage) (*Schema, error) { return &Schema{}, nil }

// Shape returns what the schema says of a value's types and properties; nil when it says nothing. It must not be changed.
func (s *Schema) Shape() *shape.Shape { return s.shape }

// Validate checks the JSON text doc and returns all violations, nil when there are none. A text that is not strict JSON
// (see Check) has exactly one violation.
func (s *Schema) Validate(doc string) []Violation { return nil }

// A Violation is one way in which a document breaks its schema.
type Violation struct {
	Pointer string // JSON pointer to the place in the document; for a missing property, to where it should be
	Keyword string // the keyword of the schema that is broken; empty when the text is not JSON
	Message string // what is wrong there, in words for a model
	Missing string // name of the required property that is absent, if that is what is wrong
}

// String returns the pointer and the message. The whole document is written as "arguments".
func (v Violation) String() string {
	if v.Pointer == "" {
		return v.Message
	}
	return v.Pointer + ": " + v.Message
}

// A Cache keeps compiled schemas by the hash of their text. The zero value is ready; it may be used by several goroutines.
type Cache struct{}

// Compile returns the schema compiled from raw, from the cache if it is there.
func (c *Cache) Compile(raw json.RawMessage) (*Schema, error) { return Compile(raw) }

// Check reports whether doc is strict JSON. The error is a *SyntaxError.
func Check(doc string) error { return nil }

// A SyntaxError says where a text stops being strict JSON.
type SyntaxError struct {
	Offset  int    // of the byte in the text
	Pointer string // JSON pointer to the value or member being read
	Kind    SyntaxKind
	Message string
}

func (e *SyntaxError) Error() string { return e.Message }

// SyntaxKind is the class of a SyntaxError.
type SyntaxKind string

// The classes of syntax errors.
const (
	Malformed    SyntaxKind = "malformed"     // not JSON by RFC 8259
	DuplicateKey SyntaxKind = "duplicate_key" // an object has the same name twice
	CaseClash    SyntaxKind = "case_clash"    // an object has two names that differ only in ASCII case
	BadUTF8      SyntaxKind = "bad_utf8"      // bytes that are not UTF-8
	Surrogate    SyntaxKind = "surrogate"     // an escaped surrogate without its other half
	Trailing     SyntaxKind = "trailing"      // something after the value
	TooDeep      SyntaxKind = "too_deep"
)

// For returns the JSON Schema of the JSON form of T.
func For[T any]() (json.RawMessage, error) { return nil, nil }

// ShapeOf returns the shape of the schema in raw, as far as it can be made out: a schema that Compile refuses, for a type
// name that does not exist or a reference that leads nowhere, still has one.
func ShapeOf(raw json.RawMessage) *shape.Shape { return nil }
