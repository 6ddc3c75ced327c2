package schema

import "wield/schema/shape"

// A Schema is a compiled JSON Schema. It does not change and may be used by several goroutines at once. The zero value
// allows everything.
type Schema struct {
	root    *node
	tape    *tape // of the schema itself; enums point into it
	shape   *shape.Shape
	library *library // checks in the place of root what root cannot

	patterns int // their size
}

// Patterns returns the size of the schema's compiled patterns, in instructions: what they cost in memory is in
// proportion to it. A schema with keywords that take more than linear time is charged for them in the same unit.
func (s *Schema) Patterns() int {
	if s == nil {
		return 0
	}
	return s.patterns
}

// Shape returns what the schema says of a value's types and properties; nil when it says nothing. It must not
// be changed.
func (s *Schema) Shape() *shape.Shape {
	if s == nil {
		return nil
	}
	return s.shape
}

// A Violation is one way in which a document breaks its schema.
type Violation struct {
	Pointer string // JSON pointer to the place in the document; for a missing property, to where it should be
	// the keyword of the schema that is broken, "false" for a schema that allows nothing; empty when the text is not
	// JSON
	Keyword string
	Message string // what is wrong there, in words for a model
	Missing string // name of the required property that is absent, if that is what is wrong
}

// String returns the pointer and the message, such as "/city: missing required property".
func (v Violation) String() string {
	if v.Pointer == "" {
		return v.Message
	}
	return v.Pointer + ": " + v.Message
}

// Bounds of one validation.
const (
	maxViolations = 1000
	freeSteps     = 200_000 // how many times a subschema may look at a value
	stepsPerToken = 100
)

// Validate checks the JSON text doc and returns all violations, in the order of the document as far as the
// schema is walked in that order; nil when there are none. A text that is not strict JSON has exactly one
// violation, without a Keyword. Of more than a thousand violations the rest is left out.
//
// Strict means as for Check, except that names may differ only in case and numbers may have any size, since
// JSON Schema has no opinion on either.
func (s *Schema) Validate(doc string) []Violation {
	t, err := read(doc, strictness{depth: maxDepth})
	if err != nil {
		return []Violation{{Pointer: err.Pointer, Message: err.Error()}}
	}
	defer t.release()
	if s == nil || s.root == nil {
		return nil
	}
	v := validator{tape: t, path: t.path[:0], steps: freeSteps + stepsPerToken*len(t.tokens)}
	if s.library != nil {
		v.walk(s.root, 0)
	} else {
		v.check(s.root, 0)
		t.path = v.path[:0]
	}
	switch {
	case v.steps < 0:
		return []Violation{{Keyword: "false", Message: "the value is too complex to be checked against its schema"}}
	case s.library != nil:
		return s.library.validate(t)
	}
	return v.found
}
