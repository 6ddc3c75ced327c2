// Package bridge makes any model call tools.
package bridge

import (
	"context"
	"iter"

	"wield/chat"
	"wield/dialect"
	"wield/prompt"
	"wield/schema"
)

// Mode says how tools reach a model.
type Mode string

// The modes.
const (
	ModeAuto   Mode = "auto"   // native; text after the backend has refused tools
	ModeText   Mode = "text"   // described in the prompt, called in text
	ModeNative Mode = "native" // through the backend's function calling
)

// Release says when the parts of a call go on to the client.
type Release string

// The ways of release.
const (
	ReleaseAuto    Release = "auto"    // checked for the first KiB of arguments, eager from there
	ReleaseChecked Release = "checked" // when the whole call is valid
	ReleaseEager   Release = "eager"   // as soon as the name is known
)

// BounceOptions say which failures are sent back to the model, and how often.
type BounceOptions struct {
	Max  int           // corrective requests for one client request; 0: the default, 1; below 0: none
	On   []chat.Reason // nil: confused, unknown_tool, invalid, malformed
	Role chat.Role     // of the message that corrects; "": user
}

// Options say how a Bridge works. The zero value is ready.
type Options struct {
	Mode     Mode   // "": ModeAuto
	Dialect  string // "" or "auto": all are read
	Thinking dialect.Thinking
	Drop     []string
	Repair   dialect.Repair
	Release  Release // "": ReleaseAuto
	Bounce   BounceOptions
	MaxCalls int            // calls a turn; 0: no limit
	Prefix   string         // in front of every tool name towards the model
	Native   []string       // tools that the backend runs itself
	Passive  bool           // expose tool_request messages; nothing is taught, checked or bounced
	Prompt   prompt.Options // Dialect, Prefix and MaxCalls are filled in
	Schemas  *schema.Cache  // nil: the Bridge has its own
	Support  *Support       // what is known of the models' own tool support; nil: the Bridge has its own
	Backend  string         // name shown in TurnStart
}

// Support remembers which models have refused tools. The zero value is ready, and safe for concurrent use.
type Support struct{}

// A Bridge is a chat.Model that stands in front of another one.
type Bridge struct {
	model chat.Model
	o     Options
}

// New returns a Bridge in front of m.
func New(m chat.Model, o Options) *Bridge { return &Bridge{model: m, o: o} }

// Stream implements [chat.Model].
func (b *Bridge) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return b.model.Stream(ctx, req)
}
