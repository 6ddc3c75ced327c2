// Package shape holds the part of a JSON Schema that a reader of calls needs: which types a value may have, which
// properties an object has and in which order. It is pure data with no parser behind it, so that package dialect, which
// looks at it for every value it reads, compiles nothing but the standard library. Package schema makes shapes from
// schemas.
package shape

// Types is a set of JSON Schema types. The zero value means that nothing is known.
type Types uint8

// The types. Number includes Integer when a schema says number; a shape then has both bits.
const (
	Null Types = 1 << iota
	Boolean
	Integer
	Number
	String
	Array
	Object
)

// Has reports whether every type of u is in t.
func (t Types) Has(u Types) bool { return t&u == u }

// Any reports whether some type of u is in t.
func (t Types) Any(u Types) bool { return t&u != 0 }

// Only reports whether t is not empty and holds nothing but types of u.
func (t Types) Only(u Types) bool { return t != 0 && t&^u == 0 }

// A Shape describes one value, as its schema does. Recursive schemas make cyclic shapes. A nil *Shape knows
// nothing; all methods accept it.
type Shape struct {
	Types Types    // 0: unknown
	Enum  []string // JSON texts of the values allowed, in order; nil: no enum. A const is an enum of one
	Props []Prop   // properties in the order of the schema
	Items *Shape   // elements of an array, where they all have one shape
	Extra *Shape   // properties that are not in Props; nil: unknown
	Open  bool     // properties that are not in Props are allowed (additionalProperties is not false)

	index index
}

// An index finds properties and values where they are many.
type index struct {
	props map[string]int    // nil: they are few
	enum  map[string]bool   // nil: they are few
	cased map[string]string // strings of the enum in lower case; empty: several are the same then
}

// few are found as fast without an index.
const few = 32

// Index makes the time that a lookup takes independent of the number of properties and of values. Props and Enum must
// not change afterwards.
func (s *Shape) Index() {
	s.index = index{}
	if len(s.Props) > few {
		s.index.props = make(map[string]int, len(s.Props))
		for i := len(s.Props) - 1; i >= 0; i-- { // the first of a name counts
			s.index.props[s.Props[i].Name] = i
		}
	}
	if len(s.Enum) > few {
		s.index.enum, s.index.cased = make(map[string]bool, len(s.Enum)), make(map[string]string, len(s.Enum))
		for _, e := range s.Enum {
			s.index.enum[e] = true
			folded := lowerASCII(e)
			if _, several := s.index.cased[folded]; several {
				e = ""
			}
			s.index.cased[folded] = e
		}
	}
}

// A Prop is one property of an object.
type Prop struct {
	Name     string
	Required bool
	Shape    *Shape
}

// Type returns the set of types, 0 when unknown.
func (s *Shape) Type() Types {
	if s == nil {
		return 0
	}
	return s.Types
}

// Prop returns the shape of the property named name, and whether the schema names that property. A property that it
// does not name has the shape Extra.
func (s *Shape) Prop(name string) (*Shape, bool) {
	if s == nil {
		return nil, false
	}
	if s.index.props != nil {
		if i, ok := s.index.props[name]; ok {
			return s.Props[i].Shape, true
		}
		return s.Extra, false
	}
	for i := range s.Props {
		if s.Props[i].Name == name {
			return s.Props[i].Shape, true
		}
	}
	return s.Extra, false
}

// Item returns the shape of an array's elements, nil when unknown.
func (s *Shape) Item() *Shape {
	if s == nil {
		return nil
	}
	return s.Items
}

// A Tool gives a decoder the name and the arguments of one tool on offer.
type Tool struct {
	Name string // as declared, without any prefix
	Args *Shape // of the arguments object; nil: unknown
}
