package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"wield/tool"
)

// Times of the protocol.
const (
	BeatEvery = 2 * time.Second
	LostAfter = 3 * BeatEvery // of silence, on either side
)

// Bounds of what a message holds.
const (
	MaxPart    = 512 << 10 // bytes of a result in one frame
	maxPayload = 8 << 20
)

// Headers of the request that becomes the WebSocket.
const (
	HeaderID    = "Wield-Worker"       // the id that the worker has drawn
	HeaderKey   = "Wield-Worker-Key"   // answered: the key's part of its address
	HeaderToken = "Wield-Worker-Token" // answered: what it connects with, once
)

// Path is the path that workers connect to.
const Path = "/api/worker"

// An Address is by whom a worker was let in, in hexadecimal, and which it is.
type Address struct{ Key, ID string }

// Subjects of a worker. It may send to From and Out, and hear To and Services.
func (a Address) To() string   { return "wield.to." + a.Key + "." + a.ID }
func (a Address) From() string { return "wield.from." + a.Key + "." + a.ID }

// Out returns where frames about a call of a service go.
func (a Address) Out(service, call string) string {
	return "wield.out." + a.Key + "." + a.ID + "." + service + "." + call
}

// Services is where services tell that they are there.
const Services = "wield.services"

// A Definition is a tool as its worker describes it.
type Definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Traits
}

// Traits are what else a service has to know of a tool.
type Traits struct {
	Timeout    time.Duration `json:"timeout,omitempty"`
	Idempotent bool          `json:"idempotent,omitempty"`
	Dangerous  bool          `json:"dangerous,omitempty"`
	Network    bool          `json:"network,omitempty"`
}

// Hash returns what tells a definition from another.
func (d *Definition) Hash() string {
	text, err := json.Marshal(d)
	if err != nil {
		return "" // its parameters are no JSON, and it is not offered
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// A Hello describes a worker.
type Hello struct {
	Name       string            `json:"name"`
	Version    string            `json:"version"`
	Labels     map[string]string `json:"labels,omitempty"`
	Concurrent int               `json:"concurrent"` // calls that it takes at a time
	Started    time.Time         `json:"started"`
	Tools      []Definition      `json:"tools"`
}

// A Beat tells that a worker is there.
type Beat struct {
	Calls   []string `json:"calls,omitempty"` // that it runs, or whose results were not acknowledged, as SERVICE.CALL
	Busy    int      `json:"busy,omitempty"`
	Leaving bool     `json:"leaving,omitempty"` // it takes no further calls
	Gone    bool     `json:"gone,omitempty"`    // and runs none
}

// FromWorker is a message from a worker to all services.
type FromWorker struct {
	Hello *Hello `json:"hello,omitempty"`
	Beat  *Beat  `json:"beat,omitempty"`
}

// A CallRequest asks a worker to run a tool.
type CallRequest struct {
	Service string `json:"service"` // who asks
	ID      string `json:"id"`      // of this attempt
	Key     string `json:"key"`     // the idempotency key: of two calls with the same one, one runs
	Run     string `json:"run,omitempty"`
	Once    string `json:"once,omitempty"`  // the idempotency key that the tool gets: that of all attempts
	Fence   int64  `json:"fence,omitempty"` // grows each time another process takes the run over

	Tool       string        `json:"tool"`
	Definition string        `json:"definition"` // hash of what the caller knows as the tool
	Arguments  string        `json:"arguments"`
	Within     time.Duration `json:"within,omitempty"` // the time it has; 0: no limit
	Output     int           `json:"output"`           // bytes that its result may have
	By         string        `json:"by,omitempty"`     // on whose behalf
	Approved   *Approved     `json:"approved,omitempty"`
}

// Approved is the answer of a person to an Ask.
type Approved struct {
	Binding   string          `json:"binding"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // what is to run instead
}

// ToWorker is a message from a service to one worker.
type ToWorker struct {
	Call     *CallRequest `json:"call,omitempty"`
	Stop     string       `json:"stop,omitempty"` // the call that nobody waits for any more, as SERVICE.CALL
	Ack      string       `json:"ack,omitempty"`  // the call whose result has arrived
	Describe bool         `json:"describe,omitempty"`
}

// Service is a service's message to all workers and all services.
type Service struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	Workers int       `json:"workers"`           // that are connected to it
	Waiting int       `json:"waiting,omitempty"` // calls that wait for a worker
	Gone    bool      `json:"gone,omitempty"`
	Load
}

// Load is the load of a service, and its configuration.
type Load struct {
	Requests int           `json:"requests" jsonschema:"of clients that it answers"`
	Runs     int           `json:"runs" jsonschema:"whose lease it has"`
	Lag      time.Duration `json:"lag_ns" jsonschema:"nanoseconds until it saw what another service wrote into the journal last"`
	Config   string        `json:"config" jsonschema:"the beginning of the hash of its configuration"`
	Draining bool          `json:"draining" jsonschema:"it takes no more requests"`
}

// A Frame carries a worker's message about a call. That it runs one it tells with its beats.
type Frame struct {
	Busy   bool    `json:"busy,omitempty"` // the worker has not begun it and will not
	Output *Output `json:"output,omitempty"`
	Part   []byte  `json:"part,omitempty"` // of the JSON of the result
	Number int     `json:"number,omitempty"`
	Done   *Done   `json:"done,omitempty"` // the last one
}

// Output carries the output of a running tool.
type Output struct {
	Stream string  `json:"stream,omitempty"`
	Text   string  `json:"text,omitempty"`
	Done   float64 `json:"done,omitempty"`
	Total  float64 `json:"total,omitempty"`
}

// Done reports the end of a call.
type Done struct {
	Result *tool.Result `json:"result,omitempty"`
	Parts  int          `json:"parts,omitempty"` // of the result, if it came in parts
	Ask    *Ask         `json:"ask,omitempty"`   // it did not run: the rules of the worker ask a person
}

// An Ask is the question of a worker's rules.
type Ask struct {
	Binding string `json:"binding"`
	Why     string `json:"why"`
}
