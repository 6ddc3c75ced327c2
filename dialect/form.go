package dialect

import "wield/schema/shape"

// A tagForm is how a family of dialects writes a call with named elements.
type tagForm struct {
	nameEnd    string // behind the name
	paramOpen  string
	paramEnd   string // behind a parameter's name
	paramClose string
	callOpen   string
	callClose  string
	quoted     bool // names stand in quotes
	newlines   bool // one newline at either end of a value is not part of it
	entities   bool // character references are decoded in values that are otherwise clean
	untyped    shape.Untyped

	object   *headerForm // a JSON object of arguments may stand in place of the parameters
	objectIs string      // the dialect of such a call

	// Of forms with a name and pairs of key and value elements:
	bare      bool   // the name stands in no tag: it ends with its line, or where a tag or an object begins
	alone     bool   // the call is the section
	nameClose string // may stand behind the name
	valueOpen string // between the name of a parameter and its value
	typeOpen  string // of an element between the two that names the type; "": there is none
	typeClose string
	strings   bool // strings may be written as JSON
	strict    bool // no tag may be missing
	needed    bool // a name alone is no call, and that of no tool no attempt

	attributeForm

	// Of forms with an element for each argument, whose name is that of the argument: paramOpen ends before
	// it, paramClose stands before it in the closing tag.
	elements bool
}

// An attributeForm is what only forms have whose names are attributes.
type attributeForm struct {
	attributes bool      // others may follow; string="true" or "false" says how a value is meant, and a tag may close itself
	loose      bool      // paramOpen ends before the attribute, whose spelling is that of a tokenizer that leaks
	between    [3]string // may stand between calls, and before the first
	unwrap     [2]string // the names of a first parameter that holds all arguments, unless the tool has one of that name
	tagEnd     string    // ends a tag behind its attributes, if that is more than nameEnd; names have character references
	typed      string    // the value of the attribute type that says that a value is a string
	cdata      bool      // a value may stand in a CDATA section
}

// A headerForm is how a family of dialects writes a call whose name comes first, with a JSON object of
// arguments behind it. Literals may be empty where a family has none.
type headerForm struct {
	callOpen  string   // before the name of each call in a section
	kind      string   // stands in place of the name when the name comes behind the separator
	idOpen    string   // between the name and the id of the call
	argsOpen  string   // behind the name: a separator
	optional  bool     // argsOpen may be missing: the object says where the name ends
	callClose string   // behind the object
	stops     bool     // callClose ends the turn: servers leave it out
	closer    string   // of the section
	noise     bool     // what else stands between the calls of a section is left out
	counted   bool     // the name is an id: functions.NAME:0
	lineName  bool     // the name ends with its line
	then      *tagForm // how the call that callOpen opens is read, if not in this form
	kindIs    string   // the dialect of a call with a kind
	nameIs    string   // the dialect of one without
}

// A literalForm is how a family of models that were trained on Gemma's literals writes a call: a name, and an
// object whose keys are bare and whose strings stand between two copies of a token, without escapes.
type literalForm struct {
	token  string // at both ends of a string
	closer string // of the call
}
