// Package bridge makes any model call tools. A [Bridge] stands in front of a model and is a model itself:
// what it yields are calls of declared tools with arguments that fit their schemas, whichever way the model
// expressed them.
//
// Words:
//
//   - A tool is custom when the request declares it, native when the backend runs it itself.
//   - A call is confused when it names a custom tool but came through a channel that cannot run it: the backend's
//     native pipeline, or function calling that was never offered.
//   - A bounce is a second request that shows the model its failed answer and says what was wrong. The client sees
//     neither. How many there may be is one budget for all reasons.
//   - A request is spent when it has no bounce left. Then a confused call with valid arguments is converted, which
//     means taken as if it had come the right way; what else fails is told in words.
//   - The form of an answer is what the request says of it: calls, where it requires one, or the JSON of its Format. A
//     backend is held to a form when it cannot write anything else (constrained output); else the model is told, and
//     the answer checked.
//   - A call is released when the client has been told of it. Until then it is held and can still be bounced.
//
// The stages of an answer are: the prompt (text mode only), the model, the decoder, the check against the
// schema, and the choice between release, bounce and conversion. Text goes through without delay.
package bridge

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"

	"wield/chat"
	"wield/dialect"
	"wield/prompt"
	"wield/schema"
)

// Mode says how tools reach a model.
type Mode string

// The modes. Text is decoded in all of them whenever tools are offered, because servers with function calling
// leak calls as text too.
const (
	ModeAuto   Mode = "auto"   // native; text once the backend has refused tools
	ModeText   Mode = "text"   // described in the prompt, called in text
	ModeNative Mode = "native" // through the backend's function calling

	// ModeTemplate renders Options.Template: tools and calls are written as the model was trained to, and calls are
	// read from the text. The backend completes the prompt.
	ModeTemplate Mode = "template"
)

// Release says when a call goes on to the client.
type Release string

// The ways of release.
const (
	// checked for the first KiB of arguments, eager from there; checked if the request wants no stream
	ReleaseAuto    Release = "auto"
	ReleaseChecked Release = "checked" // when the whole call has been found valid
	ReleaseEager   Release = "eager"   // as soon as the name is known; such a call is never bounced
)

// autoRelease limits the bytes of arguments that ReleaseAuto holds.
const autoRelease = 1 << 10

// reasonNoCall is the reason of a bounce when the request requires a call and the answer has none. The request itself
// asks for it, whatever BounceOptions.On says.
const reasonNoCall chat.Reason = "no_call"

// ReasonFormat is the reason of a bounce when the request asks for an answer of a form (Request.Format) and
// the answer has another. BounceOptions.On need not list it.
const ReasonFormat chat.Reason = "format"

// BounceOptions say which failures are sent back to the model, and how often.
type BounceOptions struct {
	Off  bool          // none is sent back
	Max  int           // corrective requests for one client request; 0: one
	On   []chat.Reason // nil: confused, unknown_tool, invalid, malformed
	Role chat.Role     // of the message that corrects; "": user
}

// Options say how a Bridge works. The zero value is ready.
type Options struct {
	Server

	Mode Mode // "": ModeAuto
	// Decode says how text is read. A named Dialect is also the one that is taught. Repair applies to function calls
	// too, Prefix to ModeText only (no client sees it), and Thinking.Open to backends that leave reasoning in the text.
	// The tools are those of each request. nil Cache: the Bridge has its own.
	Decode  dialect.Options
	Release Release // "": ReleaseAuto
	// a whole answer without the form that was asked for is an error, once no second try is left
	Strict   bool
	Bounce   BounceOptions
	MaxCalls int            // calls a response; 0: no limit. A request that wants no parallel calls has 1
	NoTools  bool           // leave the tools of requests out, as if there were none
	NamedIDs bool           // ids of calls begin with the tool's name: NAME__ and 24 hexadecimal digits
	Passive  bool           // read strict tool_request messages and nothing else; nothing is checked or bounced
	Prompt   prompt.Options // Dialect (if empty), Prefix, MaxCalls, Cache and Schemas are filled in
	Schemas  *schema.Cache  // nil: the Bridge has its own
	Template Template       // for ModeTemplate
	Log      *slog.Logger   // gets a warning of every tool whose schema cannot be applied in full; nil: none
}

// A Server describes the server behind a model. Nothing is known of the zero value.
type Server struct {
	Backend    string        // shown in TurnStart
	Notice     string        // the same: what a person should know of how the model is asked
	Protocol   chat.Protocol // that the backend speaks: tools that its servers run are passed on to it
	Support    *Support      // what is known of models that refuse something; nil: the Bridge has its own
	Constraint Constraint    // how the backend is held to the form of an answer; "": ConstraintNone
	// the backend takes stop sequences: an answer in text is stopped where a model invents a result or a turn
	Stops bool
	// with ModeAuto, count tokens of a model that nothing is known of, to find out whether its server drops tools
	Count    bool
	Probe    bool     // with ModeAuto, ask a model that nothing is known of for a call before it gets tools
	NoImages bool     // the model takes no images: those in results are described to it
	Native   []string // tools that the backend runs itself, for backends that report them as function calls
}

// A Bridge is a [chat.Model] that stands in front of another one. It may be used by several goroutines at
// once if that one may.
type Bridge struct {
	model    chat.Model
	o        Options
	decoders pool
	runs     sync.Pool   // of *run that are over
	splits   atomic.Bool // the backend has sent reasoning apart from the text
	relaxed  relaxed
	grammars grammars
}

// New returns a Bridge in front of m.
func New(m chat.Model, o Options) *Bridge {
	if o.Mode == "" {
		o.Mode = ModeAuto
	}
	if o.Release == "" {
		o.Release = ReleaseAuto
	}
	if o.Constraint == "" {
		o.Constraint = ConstraintNone
	}
	o.Bounce.Max = cmp.Or(o.Bounce.Max, 1)
	if o.Bounce.On == nil {
		o.Bounce.On = []chat.Reason{chat.ReasonConfused, chat.ReasonUnknownTool, chat.ReasonInvalid,
			chat.ReasonMalformed}
	}
	if o.Bounce.Role == "" {
		o.Bounce.Role = chat.RoleUser
	}
	if o.Passive {
		o.Mode, o.Bounce.Off, o.Prompt.DropOrphans = ModeText, true, true
		o.Decode.Dialect, o.Decode.Only, o.Decode.Repair = "tool-request", true, dialect.RepairOff
		o.Decode.Prefix = "" // nobody tells this model of one
	}
	if o.Prompt.Dialect == "" {
		o.Prompt.Dialect = o.Decode.Dialect
	}
	if o.Prompt.Cache == nil {
		o.Prompt.Cache = new(prompt.Cache)
	}
	if o.Schemas == nil {
		o.Schemas = new(schema.Cache)
	}
	o.Prompt.Schemas = o.Schemas
	if o.Decode.Cache == nil {
		o.Decode.Cache = new(dialect.Cache)
	}
	if o.Support == nil {
		o.Support = new(Support)
	}
	return &Bridge{model: m, o: o}
}

// newID returns an id for a call of the tool of this name that no other call has.
func (b *Bridge) newID(name string) string {
	var random [12]byte
	_, _ = rand.Read(random[:]) // never fails
	if b.o.NamedIDs {
		return name + "__" + hex.EncodeToString(random[:])
	}
	return "call_" + hex.EncodeToString(random[:])
}

// Stream implements [chat.Model]. Besides what the model yields there are TurnStart, Raw and TurnEnd around
// each response, and Rejected, Bounce and Converted where the answer needed help. The one Usage sums all
// requests to the model.
//
// A Rejected event with [chat.FlagSpent] holds raw text that belongs in the content; what stood around it
// comes as text. One with an Index of 0 or more closes a call that the client may have seen the start of;
// then its text belongs in the content only of a client that has not. All others are for the record.
//
// Errors are those of the model, and a [chat.ErrBadRequest] when a tool's schema or the choice of tools makes no sense.
func (b *Bridge) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		r := b.start()
		r.ctx, r.req, r.yield = ctx, req, yield
		err, stopped := r.run(), r.stopped
		r.free()
		if err != nil && !stopped {
			yield(chat.Event{}, chat.AsError(err))
		}
	}
}

// Sent returns what Stream would send to the model for a request, at first, and whether the tools stand in
// its text. Nothing is asked: a mode that a probe would find out is taken as it is known, and a template that
// would have to be fetched is an error.
func (b *Bridge) Sent(req *chat.Request) (sent *chat.Request, inText bool, err error) {
	o := b.o
	o.Probe = false
	if o.Template != nil {
		o.Template = knownTemplate{o.Template}
	}
	r := run{Bridge: &Bridge{model: b.model, o: o}, ctx: context.Background(), req: req,
		yield: func(chat.Event, error) bool { return true }}
	if err := r.prepare(); err != nil {
		return nil, false, err
	}
	if sent, err = r.render(); err == nil {
		sent, err = r.prompted(sent)
	}
	return sent, r.mode == ModeText, err
}
