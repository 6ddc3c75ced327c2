// Package form says, as data, how families of models write calls: what stands where. Readers and writers share it.
package form

import "wield/schema/shape"

// A Tags describes how a family of dialects writes a call with named elements.
type Tags struct {
	NameEnd    string // behind the name
	ParamOpen  string
	ParamEnd   string // behind a parameter's name
	ParamClose string
	CallOpen   string
	CallClose  string
	Quoted     bool // names stand in quotes
	Paired     bool // the newline at the end only behind one at the beginning
	Newlines   bool // one newline at either end of a value is not part of it
	Entities   bool // character references are decoded in values that are otherwise clean
	Untyped    shape.Untyped
	Python     bool // None is null
	Nulls      bool // null is null in any case, whatever the type, unless that is a string

	Object Object

	// Of forms with a name and pairs of key and value elements:
	Bare      bool   // the name stands in no tag: it ends with its line, or where a tag or an object begins
	Alone     bool   // the call is the section
	NameClose string // may stand behind the name
	ValueOpen string // between the name of a parameter and its value
	TypeOpen  string // of an element between the two that names the type; "": there is none
	TypeClose string
	Strings   bool // strings may be written as JSON
	Strict    bool // no tag may be missing
	Needed    bool // a name alone is no call, and that of no tool no attempt

	AttributeTags

	// Of forms with an element for each argument, whose name is that of the argument: paramOpen ends before
	// it, paramClose stands before it in the closing tag.
	Elements bool
}

// An Object is a JSON object of arguments that may stand in place of the parameters.
type Object struct {
	Form    *Header // nil: none may
	Dialect string  // of such a call
}

// An AttributeTags holds the part of forms whose names are attributes.
type AttributeTags struct {
	// others may follow; string="true" or "false" says how a value is meant, and a tag may close itself
	Attributes bool
	Loose      bool      // paramOpen ends before the attribute, whose spelling is that of a tokenizer that leaks
	Between    [4]string // may stand between calls, and before the first
	// the names of a first parameter that holds all arguments, unless the tool has one of that name
	Unwrap [2]string
	TagEnd string // ends a tag behind its attributes, if that is more than nameEnd; names have character references
	Typed  string // the value of the attribute type that says that a value is a string
	Cdata  bool   // a value may stand in a CDATA section
}

// A Header describes how a family of dialects writes a call whose name comes first, with a JSON object of
// arguments behind it. Literals may be empty where a family has none.
type Header struct {
	CallOpen  string // before the name of each call in a section
	Kind      string // stands in place of the name when the name comes behind the separator
	IdOpen    string // between the name and the id of the call
	ArgsOpen  string // behind the name: a separator, which begins with no byte of a name unless lineName
	ArgsLead  string // may stand between that and the object
	Optional  bool   // argsOpen may be missing: the object says where the name ends
	CallClose string // behind the object
	Stops     bool   // callClose ends the turn: servers leave it out
	Closer    string // of the section
	Noise     bool   // what else stands between the calls of a section is left out
	Counted   bool   // the name is an id: functions.NAME:0
	LineName  bool   // the name ends with its line
	Then      *Tags  // how the call that callOpen opens is read, if not in this form
	KindIs    string // the dialect of a call with a kind
	NameIs    string // the dialect of one without
}

// A Literal describes how a family of models that were trained on Gemma's literals writes a call: a name, and an
// object whose keys are bare and whose strings stand between two copies of a token, without escapes.
type Literal struct {
	Token  string // at both ends of a string
	Closer string // of the call
}
