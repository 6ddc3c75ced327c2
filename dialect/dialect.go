// Package dialect reads the text of a model for tool calls, in whatever protocol the model writes them, and writes
// calls, definitions and results as such text.
//
// Words:
//
//   - A dialect is one text protocol for calls: a row of the table, read by one of a few body machines.
//   - An opener is a literal that may begin a call, a closer one that may end it; a carrier surrounds a call: a tag, a
//     code fence, the start of a line.
//   - A candidate is a place where a call may have begun. It is confirmed by the shape that must follow, or refused at
//     the first byte that cannot continue it; a refused candidate is text, byte for byte.
//   - A repair makes broken syntax whole, a coercion makes a value fit its schema. Each is recorded in a note, and how
//     much of either is allowed is an option.
//
// What a decoder promises:
//
//   - Any chunking of a text gives the same events, up to the borders between adjacent deltas. Whole text is the stream
//     fed at once.
//   - No byte is lost: the spans of the events are in order, do not overlap and cover the text.
//   - No call is invented: only a declared tool can be called, and code, quotations and the results of tools are never
//     read.
//   - Work and memory are linear in the bytes, whatever they are.
//
// Most programs need no more than this:
//
//	d, err := dialect.New(dialect.Options{Tools: tools})
//	...
//	for chunk := range chunks {
//		events = d.Feed(events[:0], chunk)
//		...
//	}
//	events = d.Close(events[:0])
package dialect

import (
	"sort"
	"strings"

	"wield/dialect/internal/render"
)

// What decides where the body of a call ends: Dialect.Class.
const (
	classJSON       = "json"        // a JSON value decides where the call ends
	classHeaderJSON = "header-json" // the name first, then a JSON object
	classTagged     = "tagged"      // named elements with text values, typed by the schema
	classPythonic   = "pythonic"    // the syntax of a function call
	classKeyValue   = "keyvalue"    // literals of the Gemma family
	classChannel    = "channel"     // message headers decide what a body is
	classLine       = "line"        // lines decide
)

// A Dialect is one text protocol for tool calls: a row of the table. Rows are never changed.
type Dialect struct {
	Name    string
	Aliases []string
	Class   string // what decides where a call ends: json, header-json, tagged, pythonic, keyvalue, channel or line
	Summary string // one line: what it is
	Models  string // who writes it
	Example string // one call, with tool N and argument k
	ByName  bool   // on only when it is named, never in auto
	Safe    bool   // stays on beside a dialect that is named
	Alone   bool   // no other is on beside it: it reads the whole message

	openers  []opener // how a call begins; bare forms have none
	closers  []string // of reasoning whose opener is the header of a message
	bareJSON bool     // JSON without an opener is one of its forms,
	midLine  bool     // and may begin in the middle of a line when it is expected most,
	spaced   bool     // white space before a call belongs to the content
	keyed    bool     // and may have the name as its key when it is expected most
	// a name and a JSON object without an opener is one of its forms, be it because its tokens were taken out
	bareName bool
	write    render.Row // how it is written for a prompt
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

// Mentioned returns the longest opener of the dialect that a text speaks of, "" if there is none. What must follow the
// opener has to stand in the text as well.
func (d *Dialect) Mentioned(text string) (longest string) {
	for i := range d.openers {
		o := &d.openers[i]
		if o.use != useJSON && o.use != useCalls && o.use != useBody || o.lineStart || o.framing {
			continue
		}
		if len(o.literal)+len(o.then) > len(longest) && strings.Contains(text, o.literal) &&
			strings.Contains(text, o.then) {
			longest = o.literal + o.then
		}
	}
	return longest
}
