package chat

import (
	"encoding/json"
	"fmt"
	"time"
)

// Kind tells what an Event is.
type Kind uint8

// The kinds of events. Who emits them and what they carry:
const (
	// KindTurnStart and KindTurnEnd frame one response of a model (agent, bridge). Turn counts; a *TurnDetail
	// says the model and the attempt.
	KindTurnStart Kind = iota + 1
	KindTurnEnd

	// KindText and KindReasoning carry a delta in Text and its span (backend, decoder).
	KindText
	KindReasoning

	// KindMarkup is raw text that is shown nowhere: tags, special tokens, white space that belongs to them
	// (decoder). It exists so that the spans of a turn's events cover every byte.
	KindMarkup

	// KindCallStart opens a call: Index, ID and Name are set (decoder, backend). It is closed by exactly one
	// KindCallEnd or KindRejected of the same Index before the next call starts.
	KindCallStart
	// KindCallArgs carries a delta of the call's arguments in Text. Joined, the deltas are exactly the
	// arguments of the KindCallEnd.
	KindCallArgs
	// KindCallEnd carries the whole call in a *Call. Its own span is what was left of the call's text
	// after the last KindCallArgs.
	KindCallEnd

	// KindNativeCall and KindNativeResult report tools that the backend itself runs: Name, Text (arguments or
	// result), ID (backend).
	KindNativeCall
	KindNativeResult

	// KindRejected reports text that tried to be a call and is none: a *RejectedDetail has the reason and the
	// raw text (decoder, bridge). Index is that of the call it closes, or -1 if none was open. The event's
	// own span is what was left of the attempt's text; the detail has the whole one.
	KindRejected

	// KindOverrun says that the model went on past the end of its turn: *OverrunDetail (decoder). At and End
	// are both the offset at which the turn ended. It comes at most once a turn, and no call of the decoder's
	// follows it.
	KindOverrun

	// KindNote records one repair or coercion, or something else worth knowing: *NoteDetail (decoder, bridge).
	KindNote
	// KindCandidate reports what became of a possible opener; only when tracing: *CandidateDetail (decoder).
	KindCandidate

	// KindBounce reports a corrective second request, KindConverted a call that was taken over from another
	// channel: *BounceDetail (bridge).
	KindBounce
	KindConverted

	// KindPolicy, KindApproval, KindToolState, KindProgress and KindResult report the running of tools (tool,
	// agent). Packages tool and policy define their details but that of the last: *Result.
	KindPolicy
	KindApproval
	KindToolState
	KindProgress
	KindResult

	// KindRaw carries the turn's whole model text in Text, once, at its end (bridge).
	KindRaw

	// KindUsage carries token counts summed over all backend requests: *Usage.
	KindUsage
	// KindFinish ends every stream that does not end in an error, exactly once and last: *Finish.
	KindFinish

	// KindIdle says that nothing more is available now, because the backend's reader would block. Every
	// decorator passes it on; what shows events flushes or repaints on it. With a *RetryDetail it says that a
	// request failed and is made again (route).
	KindIdle
)

// String returns the kind's name.
func (k Kind) String() string { return nameOf(kindNames[:], int(k)) }

var kindNames = [...]string{"none", "turn_start", "turn_end", "text", "reasoning", "markup", "call_start", "call_args",
	"call_end", "native_call", "native_result", "rejected", "overrun", "note", "candidate", "bounce", "converted",
	"policy", "approval", "tool_state", "progress", "result", "raw", "usage", "finish", "idle"}

// Flags are properties of an event.
type Flags uint8

// The flags.
const (
	// FlagPromoted marks a call that was found in reasoning and taken as a call because the text ended there.
	// Its spans point into bytes that were already shown as reasoning.
	FlagPromoted Flags = 1 << iota
	// FlagSpent marks a KindRejected event whose raw text is to be shown as content, because no bounce is
	// left (bridge).
	FlagSpent
	// FlagDecoded marks a KindText whose text stood in a string with escapes, so that its span does not hold
	// it as it is.
	FlagDecoded
	// FlagUnplaced marks text and reasoning of an answer that came in one piece, in a protocol that keeps
	// text and calls apart: they may have stood before its calls or behind them (backend). A bridge takes the
	// flag off.
	FlagUnplaced
)

// An Event is one step of a stream. It is a value: copying is cheap, and only rare kinds allocate a Detail.
//
// Text may alias the memory of the chunk it was read from, which is safe because strings do not change.
type Event struct {
	Kind   Kind
	Flags  Flags
	Origin Origin
	Turn   int // counts the turns of a run, from 0
	Index  int // of a call, over the whole response, from 0
	At     int // span in the turn's raw text
	End    int
	Text   string
	ID     string
	Name   string
	Detail Detail
}

// A Detail holds the further fields of one kind of event. The comment on each kind names its type; an event of that
// kind always has one, so that a type assertion holds. Packages define the details of the kinds that only they emit.
type Detail interface {
	// EventDetail does nothing. It marks the types that are made to be details.
	EventDetail()
}

// LogProbs are the probabilities of the tokens of a Text event, in the OpenAI shape.
type LogProbs json.RawMessage

// Opaque holds data that only a backend of the same protocol understands, and that a client returns in its history: of
// a Reasoning event, which may have no Text then, the signature of the thinking that ends here, or thinking that cannot
// be read.
type Opaque []Extra

func (*TurnDetail) EventDetail()      {}
func (*Call) EventDetail()            {}
func (*RejectedDetail) EventDetail()  {}
func (*OverrunDetail) EventDetail()   {}
func (*NoteDetail) EventDetail()      {}
func (*CandidateDetail) EventDetail() {}
func (*BounceDetail) EventDetail()    {}
func (*Result) EventDetail()          {}
func (*Usage) EventDetail()           {}
func (*Finish) EventDetail()          {}
func (*RetryDetail) EventDetail()     {}
func (LogProbs) EventDetail()         {}
func (Opaque) EventDetail()           {}

// TurnDetail says which model answers and at which attempt, from 1.
type TurnDetail struct {
	Model   string
	Backend string
	Dialect string
	Attempt int
	Began   time.Time // when the model was asked; zero: not known
	Notice  string    // what a person should know of the way in which it was asked; "": nothing
	Sent    *Request  // what the model is sent, where that is known. Nobody changes it
	Failed  *Error    // of a turn that is read from a record: why it broke off
}

// RetryDetail says that a request to a backend failed and will be made again.
type RetryDetail struct {
	Error   *Error
	At      time.Time // of the next attempt
	Attempt int       // the next one, from 2
	Of      int       // attempts in all
}

// Sentence says what failed and when it is tried again.
func (r *RetryDetail) Sentence(now time.Time) string {
	when := "now"
	if wait := r.At.Sub(now).Round(time.Second); wait > 0 {
		when = "in " + wait.String()
	}
	return fmt.Sprintf("%v: trying again %s (attempt %d of %d)", r.Error, when, r.Attempt, r.Of)
}

// Reason tells why text is no call.
type Reason string

// The reasons.
const (
	ReasonUnknownTool Reason = "unknown_tool" // a well-formed call of a tool that is not declared
	ReasonMalformed   Reason = "malformed"    // the syntax is broken beyond what the repair level allows
	ReasonInvalid     Reason = "invalid"      // the arguments do not fit the schema (bridge)
	ReasonIncomplete  Reason = "incomplete"   // the text ended inside the call (bridge)
	ReasonConfused    Reason = "confused"     // a custom tool was called through the native pipeline (bridge)
	ReasonOverLimit   Reason = "over_limit"   // more calls in one turn than the configuration allows (bridge)
	ReasonOverrun     Reason = "overrun"      // the call came behind the end of the model's turn (bridge)
)

// RejectedDetail describes an attempt at a call.
type RejectedDetail struct {
	Reason    Reason `json:"reason"`
	Name      string `json:"name,omitempty"`      // of the tool, if it was read
	Raw       string `json:"raw,omitempty"`       // the whole text of the attempt; it also stands in the content
	Arguments string `json:"arguments,omitempty"` // what was read of the arguments
	Message   string `json:"message,omitempty"`   // what is wrong and where, in words for the model and the developer
	Dialect   string `json:"dialect,omitempty"`   // that it was read in; empty unless it is text that a decoder read
	At        int    `json:"at,omitempty"`        // span of Raw
	End       int    `json:"end,omitempty"`
}

// OverrunDetail says what showed that a model's turn was over.
type OverrunDetail struct {
	At     int    `json:"at"`     // offset at which the turn ended, as in the event
	Marker string `json:"marker"` // what stands there: the header of another party, or of a result
	// the marker is markup, and so is all behind it; else it is text, which may be meant
	Hard bool `json:"hard,omitempty"`
}

// NoteKind says what a note records. The kinds that no program has to know are not constants. Repairs of the level
// safe: byte_order_mark, arguments_string (a JSON string that holds the object), missing_arguments, trailing_comma,
// comment, single_quotes, literal (of Python or JavaScript), raw_control_character, escape,
// unquoted_key, key_alias (args, input or parameters for arguments), missing_markup_closer, extra_closer, envelope.
// Repairs of the level full: missing_json_closer, enum_case, array_wrap, array_unwrap. Coercions to the schema:
// coerced, python_object, source_text (a value that is no literal was taken as it is written), uncoerced (it does not
// fit and was left as it is). Others: name (declared differently), promoted_from_reasoning (a call in reasoning that
// was never closed), more (of a text with very many repairs: how many more there are).
type NoteKind string

// The kinds of notes that programs tell apart.
const (
	NoteDuplicateKey NoteKind = "duplicate_key"
	NotePositional   NoteKind = "positional" // a positional argument got its name from the schema
	NoteDropped      NoteKind = "dropped"    // markup without a meaning was left out

	// NoteUnsent says that the backend is not sent a part of the request, at Path, of which Before says what it is.
	NoteUnsent NoteKind = "unsent"
	// NoteSteady says that lines of the instructions that change with each request were taken out, or put behind
	// the conversation, so that the server's cache of prompts holds.
	NoteSteady NoteKind = "steady"
	// NoteFormat says that the text does not have the format that was asked for; After says why.
	NoteFormat NoteKind = "format"
)

// NoteDetail describes one repair: what stood in the text and what was made of it.
type NoteDetail struct {
	Kind   NoteKind `json:"kind"`
	Path   string   `json:"path,omitempty"` // JSON pointer into the arguments, if the note is about a value there
	Before string   `json:"before,omitempty"`
	After  string   `json:"after,omitempty"`
	At     int      `json:"at,omitempty"`
	End    int      `json:"end,omitempty"`
}

// CandidateOutcome tells what became of a candidate.
type CandidateOutcome string

// The outcomes.
const (
	OutcomeAccepted CandidateOutcome = "accepted"
	OutcomeRefused  CandidateOutcome = "refused"
)

// CandidateDetail describes a place where a call could have begun.
type CandidateDetail struct {
	Dialect string
	At, End int
	Outcome CandidateOutcome
	Why     string
}

// BounceDetail describes a corrective second request, or a conversion.
type BounceDetail struct {
	Reason     Reason `json:"reason"`
	Call       *Call  `json:"call,omitempty"`
	Confused   []Call `json:"confused,omitempty"`   // further calls of the answer that came through the wrong channel
	Suppressed string `json:"suppressed,omitempty"` // text of the failed response that the client never sees
	Sent       string `json:"sent,omitempty"`       // the corrective message
	Left       int    `json:"left,omitempty"`       // bounces left for this request
}

// Decision is a policy's answer.
type Decision string

// The decisions, from mild to strict.
const (
	DecisionAllow Decision = "allow"
	DecisionAsk   Decision = "ask"
	DecisionDeny  Decision = "deny"
)

// Usage counts tokens. Unknown counts are 0; Known says whether any was reported.
type Usage struct {
	Known     bool `json:"known"`
	In        int  `json:"in,omitempty"`
	Out       int  `json:"out,omitempty"`
	Cached    int  `json:"cached,omitempty"`    // part of In: read from the backend's cache of prompts
	Written   int  `json:"written,omitempty"`   // part of In: written to that cache
	Reasoning int  `json:"reasoning,omitempty"` // part of Out
	Requests  int  `json:"requests,omitempty"`  // backend requests that are summed here
	// part of Requests: those that were stopped before they were counted, so that the sums lack them
	Uncounted int `json:"uncounted,omitempty"`
}

// Add adds v to u.
func (u *Usage) Add(v Usage) {
	u.Known = u.Known || v.Known
	u.In += v.In
	u.Out += v.Out
	u.Cached += v.Cached
	u.Written += v.Written
	u.Reasoning += v.Reasoning
	u.Requests += v.Requests
	u.Uncounted += v.Uncounted
}

// FinishReason tells why a stream ended.
type FinishReason string

// The reasons. A front shows FinishCalls exactly when the stream held a complete call.
const (
	FinishStop     FinishReason = "stop"
	FinishLength   FinishReason = "length"
	FinishCalls    FinishReason = "tool_calls"
	FinishFiltered FinishReason = "content_filter"
	FinishPause    FinishReason = "pause" // a tool that is run here waits for the client, which sends the answer back
)

// Finish ends a stream.
type Finish struct {
	Reason  FinishReason `json:"reason"`
	Model   string       `json:"model,omitempty"`   // as the backend named itself
	ID      string       `json:"id,omitempty"`      // of the backend's response, if any
	Bounces int          `json:"bounces,omitempty"` // corrective requests that were made
	Stop    string       `json:"stop,omitempty"`    // the stop sequence that ended the text, if the backend says so
}
