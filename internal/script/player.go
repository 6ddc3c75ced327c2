package script

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"wield/chat"
)

// Options say how a scenario is played. The zero value plays it as it is written.
type Options struct {
	Dialect string  // of calls that the scenario gives no dialect; "": fenced JSON
	Speed   float64 // 10: ten times as fast; 0: as written; below 0: without any wait
	Faults  []Fault // besides the scenario's own
	Key     string  // isolation key of states and counts; a request's User is used when this is empty
}

// An Input is one request to a scenario.
type Input struct {
	Request *chat.Request
	Header  map[string][]string // of HTTP, if there is any
	Key     string              // isolation key
	Body    []byte              // of HTTP, for the journal
}

// A Reply is the answer to an Input.
type Reply struct {
	Scenario *Scenario
	Turn     *Turn
	Steps    []Step
	Faults   []Fault // those that hit this reply, in the order in which they apply
	Captures map[string]string
	Finish   chat.FinishReason // "": by whether there are calls

	player *Player
	key    string
	entry  int
	id     string
}

// An Entry is one request in the journal of a Player.
type Entry struct {
	Seq      int               `json:"seq"`
	Scenario string            `json:"scenario"`
	Key      string            `json:"key,omitempty"`
	Turn     string            `json:"turn,omitempty"`
	Captures map[string]string `json:"captures,omitempty"`
	Faults   []string          `json:"faults,omitempty"`
	Error    string            `json:"error,omitempty"`
	Request  string            `json:"request,omitempty"`
	Response string            `json:"response,omitempty"`
	Complete bool              `json:"complete"` // the reply was sent in full
}

// A Player answers requests from a scenario and keeps what must be remembered between them: states, counts of matches
// and the journal. It is safe for concurrent use.
type Player struct {
	source func() (*Scenario, error)
	opts   Options

	mu      sync.Mutex
	states  map[string]string
	matches map[matchKey]int
	faults  []Fault
	journal []Entry
	bytes   int // of the journal's requests and responses
	seq     int
}

type matchKey struct{ key, turn string }

// The bounds of the journal; the oldest entries go first.
const (
	maxJournal      = 1000     // entries
	maxJournalBytes = 64 << 20 // of requests, responses and captures together
)

// NewPlayer returns a player of the scenario that source gives for each request.
func NewPlayer(source func() (*Scenario, error), o Options) *Player {
	if o.Speed == 0 {
		o.Speed = 1
	}
	return &Player{source: source, opts: o, states: map[string]string{}, matches: map[matchKey]int{}, faults: o.Faults}
}

// Play finds the turn for a request and writes its reply. Errors are *chat.Error: 404 when no turn matches, 500 when
// the scenario is at fault.
func (p *Player) Play(in Input) (*Reply, error) {
	s, err := p.source()
	if err != nil {
		return nil, err
	}
	v := newView(in, s.names())
	p.mu.Lock()
	defer p.mu.Unlock()
	e := Entry{Scenario: s.Name, Key: in.Key, Request: string(in.Body)}
	turn, captures, err := s.match(v, p.states[in.Key])
	if n := s.MaxRequests; n > 0 && p.matches[matchKey{in.Key, "*"}] >= n {
		err = &chat.Error{Kind: chat.ErrBadRequest, Code: "max_requests",
			Message: fmt.Sprintf("the scenario %s answers %d requests, and this is one more: does the client ask in "+
				"a loop? max_requests in the scenario sets the limit", s.Name, n)}
	}
	if err != nil {
		e.Error = err.Error()
		p.record(e)
		return nil, err
	}
	r := &Reply{Scenario: s, Turn: turn, Captures: captures, Finish: turn.Finish, player: p, key: in.Key}
	r.id = fmt.Sprintf("%016x", seedHash(s.Seed, "reply", turn.ID, fmt.Sprint(v.turns)))
	r.Faults = p.choose(s, turn, in.Key)
	e.Turn, e.Captures = turn.ID, make(map[string]string, len(captures))
	for name, text := range captures {
		e.Captures[name] = strings.Clone(text) // a part of the body would keep all of it
	}
	for _, f := range r.Faults {
		e.Faults = append(e.Faults, f.Do.String())
	}
	w := &writer{scenario: s, turn: turn, user: v.lastUser(), turns: v.turns, dialect: p.opts.Dialect,
		speed: p.opts.Speed, value: func(ref string) (string, bool) { return v.lookup(captures, ref) },
		rng: seededRand(s.Seed, "reply", turn.ID, fmt.Sprint(v.turns))}
	if r.Steps, err = w.write(); err != nil {
		e.Error = err.Error()
		p.record(e)
		return nil, err
	}
	if w.full {
		r.Finish = chat.FinishLength
	}
	r.entry = p.record(e)
	return r, nil
}

// choose returns the faults that hit this match of the turn, and counts it.
func (p *Player) choose(s *Scenario, t *Turn, key string) []Fault {
	p.matches[matchKey{key, t.ID}]++
	p.matches[matchKey{key, "*"}]++
	var hit []Fault
	for i, f := range append(s.Faults[:len(s.Faults):len(s.Faults)], p.faults...) {
		n := p.matches[matchKey{key, f.On}]
		switch {
		case f.On != t.ID && f.On != "*":
		case f.Nth != 0 && f.Nth != n:
		case f.HasP && seededRand(s.Seed, "fault", fmt.Sprint(i), key, fmt.Sprint(n)).Float64() >= f.P:
		default:
			hit = append(hit, f)
		}
	}
	return hit
}

func (e *Entry) size() int {
	n := len(e.Request) + len(e.Response)
	for _, text := range e.Captures {
		n += len(text)
	}
	return n
}

func (p *Player) record(e Entry) int {
	p.seq++
	e.Seq = p.seq
	p.journal = append(p.journal, e)
	p.bytes += e.size()
	p.trim()
	return e.Seq
}

// trim keeps the journal within its bounds.
func (p *Player) trim() {
	drop := 0
	for n := len(p.journal); n-drop > maxJournal || p.bytes > maxJournalBytes && drop < n-1; drop++ {
		p.bytes -= p.journal[drop].size()
	}
	if drop > 0 {
		p.journal = append(p.journal[:0], p.journal[drop:]...)
	}
}

// Sent records that the reply was sent in full, which sets the state of its turn.
func (r *Reply) Sent() {
	p := r.player
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := r.Turn.setState; s != nil {
		p.states[r.key] = *s
	}
	if e := p.at(r.entry); e != nil {
		e.Complete = true
	}
}

// Record keeps in the journal the bytes that were sent.
func (r *Reply) Record(response []byte) {
	r.player.mu.Lock()
	defer r.player.mu.Unlock()
	if e := r.player.at(r.entry); e != nil {
		e.Response = string(response)
		r.player.bytes += len(response)
		r.player.trim()
	}
}

// at returns the journal's entry with the number seq, nil if it is gone.
func (p *Player) at(seq int) *Entry {
	i := seq - 1 - (p.seq - len(p.journal))
	if i < 0 || i >= len(p.journal) {
		return nil
	}
	return &p.journal[i]
}

// Journal returns the requests so far, oldest first.
func (p *Player) Journal() []Entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Entry{}, p.journal...)
}

// AddFaults makes more faults apply, after those there are.
func (p *Player) AddFaults(f ...Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults[:len(p.faults):len(p.faults)], f...)
}

// ClearFaults removes all faults that are not the scenario's own.
func (p *Player) ClearFaults() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = nil
}

// String names what the fault does, for journals.
func (d Do) String() string {
	var list []string
	add := func(on bool, format string, args ...any) {
		if on {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	add(d.Status != 0, "status: %d", d.Status)
	add(d.RetryAfter != 0, "retry_after: %v", d.RetryAfter)
	add(d.SlowHeaders != 0, "slow_headers: %v", d.SlowHeaders)
	add(d.ContentType != "", "wrong_content_type: %s", d.ContentType)
	add(d.Cut != nil, "cut_after: %v", d.Cut)
	add(d.Stall != 0, "stall: %v", d.Stall)
	add(d.Drip != 0, "drip: %v", d.Drip)
	add(d.Dup != 0, "dup_chunk: %d", d.Dup)
	add(d.Reorder != 0, "reorder: %d", d.Reorder)
	add(d.HugeLine != 0, "huge_line: %d", d.HugeLine)
	for _, name := range flagNames {
		f, _ := flagOf(&d, name)
		add(*f, "%s", name)
	}
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// String says how the answer is cut off.
func (c *Cut) String() string {
	switch c.Unit {
	case CutChunks:
		return fmt.Sprintf("%dchunks", c.N)
	case CutTime:
		return c.After.String()
	}
	return fmt.Sprintf("%db", c.N)
}

// MarshalJSON writes a fault as a scenario would have it, for the answer that lists the faults that are on.
func (f Fault) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"on": f.On, "do": f.Do.String()})
}

// ID returns an identifier for the reply, made from the seed and the place in the conversation.
func (r *Reply) ID() string { return r.id }
