package script

import (
	"encoding/json"
	"time"

	"wield/chat"
)

// Version is the value of the key wield that a scenario must have.
const Version = "scenario/v1"

// Speaks names the wire protocol that a scenario produces when it is served.
type Speaks string

// The protocols. SpeaksRaw sends the reply's items as the body, verbatim.
const (
	SpeaksOpenAI    Speaks = "openai"
	SpeaksAnthropic Speaks = "anthropic"
	SpeaksResponses Speaks = "responses"
	SpeaksOllama    Speaks = "ollama"
	SpeaksLumo      Speaks = "lumo"
	SpeaksRaw       Speaks = "raw"
)

// Pos is a place in a scenario file.
type Pos struct {
	File      string
	Line, Col int
}

// A Scenario is one loaded file, its includes taken in. It is never changed after that.
type Scenario struct {
	Name        string
	Summary     string // one line for lists
	Seed        int64  // of everything random
	Speaks      Speaks
	NativeTools bool // calls are function calls of the backend, not text
	MaxRequests int  // of one isolation key, which are answered; 0: all
	Turns       []Turn
	Faults      []Fault
	Expect      *Expect // nil: nothing is expected
	Client      *Client // nil: it is derived from the turns
	Files       []string
}

// A Turn is one answer and the requests that it is for.
type Turn struct {
	ID     string
	Pos    Pos
	Usage  chat.Usage        // Known is false if the file says nothing
	Finish chat.FinishReason // empty: stop, or tool_calls where there are any
	// in place of the end: the backend reports this error in the middle of its answer; nil: none
	Fail *chat.Error

	when      when
	needState *string // nil: any
	setState  *string // nil: leaves it
	reply     []item
	pace      pace
}

// pace is the speed of a reply. A nil field is not set.
type pace struct {
	chunk  *int           // characters a chunk; 0: one chunk an item
	ttft   *time.Duration // before the first byte of the body
	tps    *float64       // chunks a second; 0: no wait
	jitter *float64       // part of the wait by which it varies, up and down
}

// over returns p with what is not set taken from q.
func (p pace) over(q pace) pace {
	if p.chunk == nil {
		p.chunk = q.chunk
	}
	if p.ttft == nil {
		p.ttft = q.ttft
	}
	if p.tps == nil {
		p.tps = q.tps
	}
	if p.jitter == nil {
		p.jitter = q.jitter
	}
	return p
}

// when holds the conditions of a turn; those that are nil, or empty, hold always.
type when struct {
	user           *pattern
	userContains   *string
	systemContains *string
	turn           *int
	last           chat.Role
	tool           string
	resultContains *string
	toolsOffered   []string
	model          *pattern
	temperature    *float64
	header         []headerCondition
}

type headerCondition struct {
	name    string
	pattern *pattern
}

// item is one piece of a reply; kind says which of the other fields count.
type item struct {
	pos    Pos
	src    string // of text and raw, as written
	text   template
	think  template
	call   *callItem
	target string // name of the target; its content is text
	pause  time.Duration
	kind   itemKind
	split  split
}

type itemKind uint8

const (
	itemText itemKind = iota + 1
	itemThink
	itemCall
	itemRaw
	itemTarget
	itemPause
	itemEcho
)

type callItem struct {
	name     template
	args     template
	verbatim bool // args was a string
	id       template
	dialect  string // "" : the default
	fence    string // info string of a Markdown fence
	fenced   bool
}

// split says where an item is cut.
type split struct {
	mode splitMode
	at   []int    // byte offsets
	bars []string // the pieces between bars, as written
}

type splitMode uint8

const (
	splitDefault splitMode = iota // by the pace's chunk
	splitEvery
	splitRandom
	splitAt
	splitBars
)

// A Fault breaks some replies.
type Fault struct {
	On  string  // id of a turn, or *
	Nth int     // only the n-th match of the turn, from 1; 0: every one
	P   float64 // probability; only if HasP
	Do  Do
	Pos Pos

	HasP bool
}

// Do holds the actions of a fault. Zero fields do nothing.
type Do struct {
	Status      int           // answer with this status in the protocol's error shape
	RetryAfter  time.Duration // goes with Status
	Body        *string       // in place of the error shape
	HTML502     bool          // status 502 with an HTML page
	SlowHeaders time.Duration // before the status line
	ContentType string        // wrong content type

	Cut       *Cut // flush what was sent, then close without a terminator; at the latest after the last frame
	Reset     bool // close with a TCP reset, at Cut or after the last item
	HalfClose bool // close the write side only, at Cut or after the last item

	Stall    time.Duration // silence in the middle, or before Cut
	Drip     time.Duration // one byte a Drip
	Dup      int           // send this chunk twice, from 1
	Reorder  int           // swap this chunk and the next
	DropDone bool          // leave out the terminator
	BadUTF8  bool          // cut a character, or insert a byte 0xFF
	BadSSE   bool          // a frame that is not JSON
	HugeLine int           // one line of this many bytes

	// Faults of a backend that speaks the OpenAI protocol badly.
	NoIndex      bool // calls without an index
	IDEveryDelta bool // id and name in every delta of a call
	EmptyID      bool // id is ""
	NoRole       bool // no role in the first delta
	ObjectArgs   bool // arguments are an object
	WholeArgs    bool // arguments in one delta
	FinishStop   bool // finish reason stop in spite of calls
}

// A Cut is a point of a reply.
type Cut struct {
	Unit  CutUnit
	N     int           // bytes of the body (in process: of the text), or chunks
	After time.Duration // on the reply's own timetable, not by the clock
}

// CutUnit says which field of a Cut counts.
type CutUnit uint8

// The units.
const (
	CutBytes CutUnit = iota
	CutChunks
	CutTime
)

// Expect holds the conditions that a run of the scenario must meet.
type Expect struct {
	Calls     []ExpectCall
	HasCalls  bool // calls was given: an empty list means that none may occur
	Subset    bool // other calls may occur too
	Events    []string
	MaxTurns  int // backend requests; 0: no limit
	final     *pattern
	neverSees []*pattern
}

// ExpectCall is a call that must occur. Strings of Args between slashes are regular expressions.
type ExpectCall struct {
	Name string
	Args json.RawMessage // nil: any
}

// A Client is the other side of a scenario's conversation, as Drive plays it.
type Client struct {
	Dialect string // that the bridge in front of the model teaches and reads first; empty: auto
	System  string
	User    []string // each is sent after the answer to the one before
	Tools   []chat.Tool
	Results map[string][]string // by name of the tool, one a call; the last one repeats
}
