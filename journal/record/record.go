// Package record holds what a journal is made of: the kinds of records, what each of them carries, and their JSON form.
// It is for what writes records or reads them, and for stores.
//
// A Record is one thing that happened in a run, a session or an approval. Its Kind says which of its parts is set:
//
//	record.Record{Kind: record.KindMessage, Message: &record.Message{By: "anna", Message: m}}
//
// A writer appends records to a journal.Store, most simply with a journal.Writer; a reader finds them in the entries
// that Store.Read yields. Record.Encode and Decode write and read the JSON form, which is read for ever.
//
// A store takes records as a Batch: checked, masked and encoded, with what its index needs of them.
package record

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"wield/chat"
	"wield/tool/policy"
	"wield/tool/runner"
)

// version is the version of the JSON form of records. A reader takes every version up to its own.
const version = 1

// Failures of reading or writing a record.
var (
	ErrInvalid = errors.New("journal: not a record")
	ErrVersion = errors.New("journal: made by a newer wield")
)

// Kind tells what a Record is.
type Kind string

// The kinds of records and what they carry. Kinds that open a stream can only be its first record.
const (
	KindRun      Kind = "run"      // Run: opens the stream of a run
	KindSession  Kind = "session"  // Session: what is known of the session now, such as its title; the last one counts
	KindClaimed  Kind = "claimed"  // Claimed: the run has a new owner. Only stores write it
	KindMessage  Kind = "message"  // Message: enters the conversation from outside
	KindSent     Kind = "sent"     // Sent: a message waits to enter the conversation
	KindTurn     Kind = "turn"     // Turn: a model is about to be asked
	KindTurnEnd  Kind = "turn_end" // TurnEnd: what it answered, whole
	KindBounce   Kind = "bounce"   // Bounce: a corrective second request was made
	KindReject   Kind = "reject"   // Reject: text that was no call
	KindRepair   Kind = "repair"   // Repair: one thing was repaired in a call
	KindOverrun  Kind = "overrun"  // Overrun: the model went on past the end of its turn
	KindPolicy   Kind = "policy"   // Policy: what the rules said of a call
	KindStart    Kind = "start"    // Start: a call is about to run. Once for each id of a call in a stream
	KindDetached Kind = "kept"     // Detached: under which name a call continues elsewhere
	KindAgain    Kind = "again"    // Again: a call that was interrupted and may run again is about to
	KindResult   Kind = "result"   // Result: what came of a call. Once for each id of a call in a stream
	KindSummary  Kind = "summary"  // Summary: a part of the history was replaced for the model
	KindWait     Kind = "wait"     // Wait: the run stops, and can continue later
	KindResume   Kind = "resume"   // Resume: it goes on
	KindEnd      Kind = "end"      // End: the run is over

	KindQuestion Kind = "question" // Question: opens the stream of an approval
	KindAnswer   Kind = "answer"   // Answer: a person decided
	KindConsumed Kind = "consumed" // Consumed: the approval was used

	// Object: opens or continues the stream of something else that lasts as long as its session
	KindObject Kind = "object"
	KindRules  Kind = "rules" // Object without a session: the rules that people keep, all of them. The last one counts

	KindDeleted Kind = "deleted" // Deleted: entries were deleted. Only stores write it, in a stream of their own
)

// A State tells whether a stream is open, waits or has ended. It is that of the last record whose kind has one.
type State string

// The states of streams.
const (
	StateOpen     State = "open"     // a run that is driven, or was when its process ended
	StateWaiting  State = "waiting"  // a run that stopped and can go on
	StateEnded    State = "ended"    // a run that is over
	StatePending  State = "pending"  // a question without an answer
	StateDecided  State = "decided"  // a question with one that was not used
	StateConsumed State = "consumed" // a question whose answer was used
	StateObject   State = "kept"     // an object
)

// A kindRule says what a store and a reader have to know of a kind.
type kindRule struct {
	has     func(r *Record) bool // the part that the kind needs
	opens   bool                 // a stream begins with it
	durable bool                 // on the disk when Append returns
	state   State                // of the stream after it; empty: as before
	store   bool                 // only stores write it
	call    func(r *Record) string
}

var rules = map[Kind]kindRule{
	KindRun:     {has: func(r *Record) bool { return r.Run != nil }, opens: true, durable: true, state: StateOpen},
	KindSession: {has: func(r *Record) bool { return r.Session != nil }},
	KindClaimed: {has: func(r *Record) bool { return r.Claimed != nil }, store: true},
	KindMessage: {has: func(r *Record) bool { return r.Message != nil }},
	KindSent:    {has: func(r *Record) bool { return r.Sent != nil }, durable: true},
	KindTurn:    {has: func(r *Record) bool { return r.Turn != nil }},
	KindTurnEnd: {has: func(r *Record) bool { return r.TurnEnd != nil }},
	KindBounce:  {has: func(r *Record) bool { return r.Bounce != nil }},
	KindReject:  {has: func(r *Record) bool { return r.Reject != nil }},
	KindOverrun: {has: func(r *Record) bool { return r.Overrun != nil }},
	KindRepair:  {has: func(r *Record) bool { return r.Repair != nil }},
	KindPolicy:  {has: func(r *Record) bool { return r.Policy != nil }},
	KindStart: {has: func(r *Record) bool { return r.Start != nil }, durable: true,
		call: func(r *Record) string { return r.Start.CallID }},
	KindDetached: {has: func(r *Record) bool { return r.Detached != nil }, durable: true},
	KindAgain:    {has: func(r *Record) bool { return r.Again != nil }, durable: true},
	KindResult: {has: func(r *Record) bool { return r.Result != nil }, durable: true,
		call: func(r *Record) string { return r.Result.CallID }},
	KindSummary: {has: func(r *Record) bool { return r.Summary != nil }},
	KindWait:    {has: func(r *Record) bool { return r.Wait != nil }, durable: true, state: StateWaiting},
	KindResume:  {has: func(r *Record) bool { return r.Resume != nil }, state: StateOpen},
	KindEnd:     {has: func(r *Record) bool { return r.End != nil }, durable: true, state: StateEnded},
	KindQuestion: {has: func(r *Record) bool { return r.Question != nil }, opens: true, durable: true,
		state: StatePending},
	KindAnswer:   {has: func(r *Record) bool { return r.Answer != nil }, durable: true, state: StateDecided},
	KindConsumed: {has: func(r *Record) bool { return r.Consumed != nil }, state: StateConsumed},
	KindObject: {has: func(r *Record) bool { return r.Object != nil }, opens: true, durable: true,
		state: StateObject},
	KindRules: {has: func(r *Record) bool { return r.Object != nil }, opens: true, durable: true,
		state: StateObject},
	KindDeleted: {has: func(r *Record) bool { return r.Deleted != nil }, durable: true, store: true, opens: true},
}

// Durable reports whether a record of this kind outlives a loss of power when Append returns.
func (k Kind) Durable() bool { return rules[k].durable }

// A Record is one thing that happened. Kind says which one of the parts is set.
type Record struct {
	Kind Kind `json:"kind"`

	Run      *Run                 `json:"run,omitempty"`
	Session  *Session             `json:"session,omitempty"`
	Message  *Message             `json:"message,omitempty"`
	Sent     *Sent                `json:"sent,omitempty"`
	Turn     *Turn                `json:"turn,omitempty"`
	TurnEnd  *TurnEnd             `json:"turn_end,omitempty"`
	Bounce   *chat.BounceDetail   `json:"bounce,omitempty"`
	Reject   *Reject              `json:"reject,omitempty"`
	Repair   *Repair              `json:"repair,omitempty"`
	Overrun  *Overrun             `json:"overrun,omitempty"`
	Policy   *policy.Detail       `json:"policy,omitempty"`
	Start    *runner.StartRecord  `json:"start,omitempty"`
	Again    *Again               `json:"again,omitempty"`
	Detached *Detached            `json:"kept,omitempty"`
	Result   *runner.FinishRecord `json:"result,omitempty"`
	Summary  *Summary             `json:"summary,omitempty"`
	Wait     *Wait                `json:"wait,omitempty"`
	Resume   *Resume              `json:"resume,omitempty"`
	End      *End                 `json:"end,omitempty"`
	Question *Question            `json:"question,omitempty"`
	Answer   *Answer              `json:"answer,omitempty"`
	Consumed *Consumed            `json:"consumed,omitempty"`
	Object   *Object              `json:"object,omitempty"`
	StoreOnly
}

// StoreOnly holds the parts of the records that only a store writes.
type StoreOnly struct {
	Claimed *Claimed `json:"claimed,omitempty"`
	Deleted *Deleted `json:"deleted,omitempty"`
}

// A Run opens the stream of a run.
type Run struct {
	Session string `json:"session"`
	Parent  string `json:"parent,omitempty"` // the run that this one was made from
	Agent   string `json:"agent,omitempty"`  // as configured
	Model   string `json:"model,omitempty"`
	Dir     string `json:"dir,omitempty"`
	By      string `json:"by,omitempty"` // the key or the person that asked

	// Unattended says that nobody keeps a connection open for the answer: a service continues the run by itself.
	Unattended bool `json:"detached,omitempty"`
	// Only are the names of the only tools of the agent that the run may use; nil: all.
	Only *[]string `json:"only,omitempty"`
	// Client are the tools that whoever asked runs, so that a run which continues without them offers them as before.
	Client []Definition `json:"client,omitempty"`
	// Offered are the tools that a model was told of when the run began.
	Offered []Definition `json:"offered,omitempty"`
}

// A Definition is a tool as a model was told of it, kept so that what the model wrote can be read again later.
type Definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// Definitions returns tools as a journal keeps them.
func Definitions(tools []chat.Tool) []Definition {
	list := make([]Definition, 0, len(tools))
	for _, t := range tools {
		list = append(list, Definition{t.Name, t.Description, t.Parameters})
	}
	return list
}

// A Session describes a session.
type Session struct {
	Title string            `json:"title,omitempty"`
	Notes map[string]string `json:"notes,omitempty"`
}

// Claimed says that a run has a new owner.
type Claimed struct {
	Owner string `json:"owner"`
}

// A Message entered the conversation from outside of the run: from a person, a client, a module.
type Message struct {
	chat.Message
	By   string `json:"by,omitempty"`
	Sent string `json:"sent,omitempty"` // id of the Sent that it is; empty: it was not recorded before
}

// A Sent is a message to a run that is busy. It is in the conversation as soon as there is a Message with its
// id, and is not lost when the process ends before.
type Sent struct {
	ID string `json:"id"`
	chat.Message
	By string `json:"by,omitempty"`
}

// A Turn begins: a model is about to be asked.
type Turn struct {
	Turn    int    `json:"turn"` // from 0
	Model   string `json:"model,omitempty"`
	Backend string `json:"backend,omitempty"`
	Attempt int    `json:"attempt,omitempty"` // from 1

	// What it is sent of the conversation, where that is not all.
	Budget  int `json:"budget,omitempty"`  // tokens that it may have, by an estimate; 0: any number
	Pruned  int `json:"pruned,omitempty"`  // results in whose place a note is sent
	Dropped int `json:"dropped,omitempty"` // messages that are not sent
	Room    int `json:"room,omitempty"`    // tokens that there was room for, by all that is known; 0: any number

	// Tools are those that the model is offered, where they are others than those of Run.Offered and Run.Client.
	Tools *[]Definition `json:"tools,omitempty"`
	// Digest is that of the messages and the tools, so that they are known to be the same when they are put
	// together again.
	Digest string `json:"digest,omitempty"`
}

// A TurnEnd holds a model's answer. Its calls stand in Message, before any of them runs.
type TurnEnd struct {
	Turn    int          `json:"turn"`
	Message chat.Message `json:"message"`
	Raw     Text         `json:"raw,omitempty"` // the model's whole text, as it was
	// the texts of the answers that were bounced before it, each a turn of its own
	Before []Text       `json:"before,omitempty"`
	Usage  chat.Usage   `json:"usage"`
	Finish *chat.Finish `json:"finish,omitempty"`
	Error  *Failure     `json:"error,omitempty"` // the turn broke off
}

// A Failure says why something broke off.
type Failure struct {
	Kind       string        `json:"kind"` // a chat.ErrorKind where the model failed
	Message    string        `json:"message"`
	Status     int           `json:"status,omitempty"`      // of the server's answer; 0: there was none
	RetryAfter time.Duration `json:"retry_after,omitempty"` // that the server asks to wait, in nanoseconds
}

// FailureOf returns what a journal keeps of an error.
func FailureOf(err error) *Failure {
	e := chat.AsError(err)
	return &Failure{string(e.Kind), e.Message, e.Status, e.RetryAfter}
}

// Err returns the failure as the error that it was.
func (f *Failure) Err() *chat.Error {
	return &chat.Error{Kind: chat.ErrorKind(f.Kind), Message: f.Message, Status: f.Status, RetryAfter: f.RetryAfter}
}

// A Reject is text that tried to be a call.
type Reject struct {
	Turn   int    `json:"turn"`
	CallID string `json:"call_id,omitempty"` // of the call that it became, with an error for a result
	chat.RejectedDetail
}

// A Repair is one repair of a call.
type Repair struct {
	Turn   int    `json:"turn"`
	CallID string `json:"call_id,omitempty"`
	chat.NoteDetail
}

// An Overrun says where a model went on past the end of its turn.
type Overrun struct {
	Turn int `json:"turn"`
	chat.OverrunDetail
}

// Detached says under which name a call continues elsewhere, such as a task of an MCP server. If its process ends,
// another one asks for it there.
type Detached struct {
	CallID string `json:"call_id"`
	Name   string `json:"name"`
}

// Again says that a call that may run again is about to run once more, under the same id.
type Again struct {
	CallID string `json:"call_id"`
}

// A Summary stands in the conversation, for the model, in place of the messages before it. The records of those stay.
type Summary struct {
	Messages int        `json:"messages"` // how many it stands for, from the first one of the conversation
	Digest   string     `json:"digest"`   // of those messages: it stands for no others
	Text     string     `json:"text"`
	Model    string     `json:"model,omitempty"` // that wrote it
	Usage    chat.Usage `json:"usage"`           // for writing it
}

// A Wait says why a run stopped and what it waits for.
type Wait struct {
	For       WaitFor  `json:"for"`
	Approvals []string `json:"approvals,omitempty"` // ids
	Calls     []string `json:"calls,omitempty"`     // ids of calls that the client is to run
	Note      string   `json:"note,omitempty"`
	Error     *Failure `json:"error,omitempty"` // with WaitRetry: what failed
}

// WaitFor names what a run waits for.
type WaitFor string

// What a run can wait for.
const (
	WaitApproval WaitFor = "approval" // a person
	WaitClient   WaitFor = "client"   // results of the client's own calls
	WaitDrain    WaitFor = "drain"    // it was cut off: the service was stopped, or whoever listened has gone
	WaitRetry    WaitFor = "retry"    // a retry of what failed; Note says what it was
)

// Resume says that a run goes on.
type Resume struct {
	By string `json:"by,omitempty"`
	// Unattended says that from here on nobody keeps a connection open for the answer, as in Run.
	Unattended bool `json:"detached,omitempty"`
}

// An End is the end of a run.
type End struct {
	Reason string     `json:"reason"` // stop, limit, error, canceled ..
	Detail string     `json:"detail,omitempty"`
	Usage  chat.Usage `json:"usage"`
	Cost   *float64   `json:"cost,omitempty"` // by the prices of the run; nil: not known
	Error  *Failure   `json:"error,omitempty"`
}

// A Question opens the stream of an approval.
type Question struct {
	ID      string    `json:"id"`
	Session string    `json:"session"`
	Run     string    `json:"run"`
	Asked   time.Time `json:"asked"`
	runner.Question
}

// An Answer decides a question.
type Answer struct {
	At time.Time `json:"at"`
	runner.Answer
}

// Consumed says that an approval was used.
type Consumed struct {
	Binding string `json:"binding,omitempty"`
}

// An Object is something else that is to last as long as its session. The last record of its stream is its present
// state.
type Object struct {
	Session string          `json:"session,omitempty"`
	Type    string          `json:"type"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Deleted says which entries were deleted, and why.
type Deleted struct {
	Session   string       `json:"session"`
	Reason    DeleteReason `json:"reason"`
	Positions [][2]int64   `json:"positions"` // first and last of each range
}

// Add adds a position, which is behind all others.
func (d *Deleted) Add(p int64) {
	if n := len(d.Positions); n > 0 && d.Positions[n-1][1] == p-1 {
		d.Positions[n-1][1] = p
		return
	}
	d.Positions = append(d.Positions, [2]int64{p, p})
}

// DeleteReason says why a session was deleted.
type DeleteReason string

// The reasons.
const (
	ReasonAsked DeleteReason = "asked" // a person or a program asked for it
	ReasonAge   DeleteReason = "age"   // it was older than sessions are kept
	ReasonSize  DeleteReason = "size"  // the journal was larger than it may be
)

// Text is text as a model wrote it. Bytes that are no UTF-8 are kept.
type Text string

// MarshalJSON writes a string, or an object {"base64":".."} for what is no UTF-8.
func (t Text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return encode(string(t))
	}
	return encode(struct {
		Base64 []byte `json:"base64"`
	}{[]byte(t)})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (t *Text) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '{' {
		var o struct {
			Base64 string `json:"base64"`
		}
		if err := json.Unmarshal(raw, &o); err != nil {
			return err
		}
		b, err := base64.StdEncoding.DecodeString(o.Base64)
		*t = Text(b)
		return err
	}
	return json.Unmarshal(raw, (*string)(t))
}

// Encode returns the JSON form of a record, in one line.
func (r *Record) Encode() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	raw, err := encode(struct {
		Version int `json:"v"`
		*Record
	}{version, r})
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInvalid, r.Kind, err)
	}
	return raw, nil
}

// Decode reads the JSON form of a record.
func Decode(raw []byte) (Record, error) {
	var r struct {
		Version int `json:"v"`
		Record
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return Record{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	switch {
	case r.Version < 1:
		return Record{}, fmt.Errorf("%w: it has no version", ErrInvalid)
	case r.Version > version:
		return Record{}, fmt.Errorf("%w: the record has version %d, and this wield reads up to %d", ErrVersion,
			r.Version, version)
	}
	return r.Record, r.check()
}

// check reports a record that is of no kind or lacks its part.
func (r *Record) check() error {
	rule, ok := rules[r.Kind]
	if !ok {
		return fmt.Errorf("%w: there is no kind %q", ErrInvalid, r.Kind)
	}
	if !rule.has(r) {
		return fmt.Errorf("%w: a record of kind %s lacks its part", ErrInvalid, r.Kind)
	}
	if rule.call != nil && rule.call(r) == "" {
		return fmt.Errorf("%w: a record of kind %s lacks the id of its call", ErrInvalid, r.Kind)
	}
	return nil
}

// encode writes JSON without escaping what HTML would need.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
