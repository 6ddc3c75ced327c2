package dialect

import "sort"

// Class names the body machine of a dialect.
type Class string

// The classes.
const (
	ClassJSON       Class = "json"        // a JSON value decides where the call ends
	ClassHeaderJSON Class = "header-json" // the name first, then a JSON object
	ClassTagged     Class = "tagged"      // named elements with text values, typed by the schema
	ClassPythonic   Class = "pythonic"    // the syntax of a function call
	ClassKeyValue   Class = "keyvalue"    // literals of the Gemma family
	ClassChannel    Class = "channel"     // message headers decide what a body is
	ClassLine       Class = "line"        // lines decide
)

// A Dialect is one text protocol for tool calls: a row of the table. Rows are never changed.
type Dialect struct {
	Name    string
	Aliases []string
	Class   Class
	Summary string // one line: what it is
	Models  string // who writes it
	Example string // one call, with tool N and argument k
	ByName  bool   // on only when it is named, never in auto
	Safe    bool   // stays on beside a dialect that is named
}

// Lookup returns the dialect with this name or alias.
func Lookup(name string) (*Dialect, bool) {
	for i := range table {
		d := &table[i]
		if d.Name == name {
			return d, true
		}
		for _, a := range d.Aliases {
			if a == name {
				return d, true
			}
		}
	}
	return nil, false
}

// Names returns the names of all dialects in alphabetical order, without aliases and without auto.
func Names() []string {
	names := make([]string, len(table))
	for i := range table {
		names[i] = table[i].Name
	}
	sort.Strings(names)
	return names
}
