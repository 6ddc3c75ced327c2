// Package profile knows how the models of a family write: the dialects of their calls, the tags of their
// reasoning, the tokens that stand around their text. What it knows of a model it finds by the model's name.
//
// A profile that was found by a name is a guess, and is to be used as one: it makes dialects likely and turns
// none off. See [Profile.Apply].
package profile

import (
	"slices"

	"wield/chat"
	"wield/dialect"
)

// A Profile describes a family of models. The zero value knows nothing and changes nothing.
type Profile struct {
	Name     string
	Models   string           // which models these are, for people
	Patterns []string         // of their names; see Table.Find
	Dialects []string         // that they write, the likeliest first
	Thinking dialect.Thinking // Open: their prompt usually ends inside reasoning, so that raw text begins in it
	Drop     []string         // tokens without a meaning, besides those that every decoder leaves out
	Headers  dialect.Headers  // of turns, besides those that every decoder knows
	Native   []string         // tools that their servers run themselves and report as function calls
	Role     chat.Role        // of the message that corrects a call; "": user
	Strips   bool             // servers usually take the tokens of their dialects out of the text
}

// Dialect returns the dialect that comes first, "" if there is none.
func (p *Profile) Dialect() string {
	if len(p.Dialects) == 0 {
		return ""
	}
	return p.Dialects[0]
}

// Taught returns the dialect in which a prompt should tell the models of their tools: the likeliest one,
// unless servers take its tokens out of the answer. Then it is the likeliest of those that are plain text, or
// "" if the profile has none.
func (p *Profile) Taught() string {
	if !p.Strips {
		return p.Dialect()
	}
	for _, name := range p.Dialects {
		if d, ok := dialect.Lookup(name); ok && d.Safe { // those that stay on beside any other are plain text
			return name
		}
	}
	return ""
}

// Apply completes the options of a decoder with what the profile knows. What o says already stays: with a
// dialect that is named the profile's are not preferred.
func (p *Profile) Apply(o *dialect.Options) {
	if o.Dialect == "" || o.Dialect == "auto" {
		o.Prefer = append(slices.Clip(o.Prefer), p.Dialects...)
	}
	if o.Thinking.Closer == "" {
		o.Thinking.Opener, o.Thinking.Closer = p.Thinking.Opener, p.Thinking.Closer
	}
	if o.Thinking.Calls == dialect.CallsUnclosed {
		o.Thinking.Calls = p.Thinking.Calls
	}
	o.Thinking.Open = o.Thinking.Open || p.Thinking.Open
	o.Thinking.Off = o.Thinking.Off || p.Thinking.Off
	o.Drop = append(slices.Clip(o.Drop), p.Drop...)
	o.Headers.Others = append(slices.Clip(o.Headers.Others), p.Headers.Others...)
	o.Headers.Own = append(slices.Clip(o.Headers.Own), p.Headers.Own...)
}

// Builtin returns the table of the families that wield knows. It is a copy, but its rows share their lists,
// which are not to be changed.
func Builtin() Table { return slices.Clone(builtin) }

// Find returns the built-in profile of the model of this name.
func Find(model string) (Profile, bool) {
	p, _, ok := builtin.Find(model)
	return p, ok
}

// Lookup returns the built-in profile of this name.
func Lookup(name string) (Profile, bool) { return builtin.Lookup(name) }
