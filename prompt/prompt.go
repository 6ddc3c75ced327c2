// Package prompt tells a model that knows nothing of tools how to use them.
package prompt

import "wield/chat"

// Inject says where instructions go.
type Inject string

// The places.
const (
	InjectSystem Inject = "system" // a system message at the front; the default
	InjectFirst  Inject = "first"  // in front of the first user turn, in brackets
	InjectLast   Inject = "last"   // in front of the last user turn, in brackets
)

// Options say how a request is rendered. The zero value is ready.
type Options struct {
	Dialect       string    // that the tools are taught in; "" or "auto": json-fence
	Prefix        string    // put in front of every tool name that the model sees
	MaxCalls      int       // calls a turn; 1 makes the rules say so
	Template      string    // of all instructions; "": the built-in one
	ForTools      string    // template of the rules for tools; "": that of the dialect
	ForToolBounce string    // text that corrects a call through the wrong channel; "": the built-in one
	Fallback      string    // instructions for requests that have none of their own
	InjectInto    Inject    // where the instructions go; "": InjectSystem
	Replace       []Pattern // changes to the client's own instructions, in order
	Alternate     bool      // merge neighbours so that user and assistant alternate strictly
	DropOrphans   bool      // leave out results that answer no pending call, rather than show them
	Cache         *Cache    // of rendered tool blocks; may be nil
}

// A Pattern is one change to a client's instructions.
type Pattern struct{}

// NewPattern returns the pattern that replaces every match of the regular expression, whatever its case.
func NewPattern(expr, replacement string) (Pattern, error) { return Pattern{}, nil }

// A Cache keeps rendered tool blocks. The zero value is ready, and safe for concurrent use.
type Cache struct{}

// Render returns req with its tools, calls and results written as text, for a model that takes nothing but text. req is not changed.
func Render(req *chat.Request, o Options) (*chat.Request, error) { return req, nil }
