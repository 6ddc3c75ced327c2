package agent

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"wield/chat"
)

// A state holds a run's conversation, and what it has used. It is made of messages alone, by
// newState and state.Add, so that the same messages always lead to the same steps, in another process too.
type state struct {
	Limits   Limits
	Messages []chat.Message // the conversation: what was there before the run, and what Add added

	// What the run has used, by whoever drives it.
	Usage   chat.Usage
	Elapsed time.Duration
	Cost    float64

	ids      map[string]bool // of calls in the conversation
	turns    int             // answers in this run
	calls    int             // in this run
	byTool   map[string]int
	streaks  map[fingerprint]*streak
	most     int  // the longest of streaks
	warned   bool // the model was told that the next answer is the last one
	finished bool // it gave that one

	at   int         // of the message with the last calls, in Messages
	open []*openCall // its calls without a result, in order
}

// An openCall is a call without a result.
type openCall struct {
	call   chat.Call
	number int // among the calls of the run, from 1
	tool   int // among those of the same tool
	same   int // among those with the same arguments and the same result so far
	mark   fingerprint
}

// newState returns the state of a run that begins. history is the conversation before it; its calls are not the run's.
func newState(l Limits, history []chat.Message) *state {
	s := &state{Limits: l.filled(), Messages: slices.Clone(history), ids: map[string]bool{}, byTool: map[string]int{},
		streaks: map[fingerprint]*streak{}}
	for i := range history {
		for j := range history[i].Calls {
			s.ids[history[i].Calls[j].ID] = true
		}
	}
	return s
}

// Add puts a message at the end of the conversation: an answer of the model, a result of an open call, or what
// somebody says. A result takes its place among those of the same turn, in the order of the calls; one of no open
// call is not added, and Add reports false.
func (s *state) Add(m chat.Message) bool {
	switch m.Role {
	case chat.RoleTool:
		return s.addResult(m)
	case chat.RoleAssistant:
		s.turns++
		s.finished = s.finished || s.warned || s.Limits.Iterations > 0 && s.turns >= s.Limits.Iterations
		s.addCalls(m.Calls)
	default:
		s.warned = s.warned || m.Role == chat.RoleUser && isLast(m.Text()) && s.reached() != ""
	}
	s.Messages = append(s.Messages, m)
	return true
}

// isLast reports whether a message asks for the last answer.
func isLast(text string) bool { return text == textOverLimit || strings.HasPrefix(text, limitNotice) }

func (s *state) addCalls(calls []chat.Call) {
	s.at, s.open = len(s.Messages), nil
	for _, c := range calls {
		s.calls++
		s.byTool[c.Name]++
		o := &openCall{call: c, number: s.calls, tool: s.byTool[c.Name], same: 1, mark: fingerprintCall(&c)}
		if k := s.streaks[o.mark]; k != nil {
			o.same += k.count
		}
		for _, other := range s.open { // of one turn, all are taken to have the same result
			if other.mark == o.mark {
				o.same++
			}
		}
		s.ids[c.ID] = true
		s.open = append(s.open, o)
	}
}

func (s *state) addResult(m chat.Message) bool {
	i := slices.IndexFunc(s.open, func(o *openCall) bool { return o.call.ID == m.CallID })
	if i < 0 {
		return false
	}
	s.count(s.open[i], &m)
	s.open = slices.Delete(s.open, i, i+1)
	s.Messages = slices.Insert(s.Messages, s.place(m.CallID), m)
	return true
}

// place returns where the result of a call of the last turn belongs: behind those of the calls before it.
func (s *state) place(id string) int {
	calls := s.Messages[s.at].Calls
	position := func(id string) int { return slices.IndexFunc(calls, func(c chat.Call) bool { return c.ID == id }) }
	own, at := position(id), s.at+1
	for at < len(s.Messages) && s.Messages[at].Role == chat.RoleTool && position(s.Messages[at].CallID) < own {
		at++
	}
	return at
}

// count tells the guard of a result.
func (s *state) count(o *openCall, m *chat.Message) {
	k := s.streaks[o.mark]
	if k == nil {
		k = new(streak)
		s.streaks[o.mark] = k
	}
	result := fingerprintResult(m)
	switch {
	case isBlocked(m):
		k.count++
	case k.count > 0 && k.result == result:
		k.count++
	default:
		k.count, k.result = 1, result
	}
	s.most = max(s.most, k.count)
}

// Open returns the calls without a result, in order.
func (s *state) Open() []chat.Call {
	var calls []chat.Call
	for _, o := range s.open {
		calls = append(calls, o.call)
	}
	return calls
}

// doing says what kind of step is next.
type doing string

// The kinds of steps.
const (
	doAsk doing = "ask" // ask the model
	doRun doing = "run" // give every open call a result
	doEnd doing = "end" // the run is over
)

// A step tells what a run does next.
type step struct {
	Do    doing
	Calls []ruling // doRun: all open calls, in order

	// Limit is the one that made this step what it is. doAsk: this is the last answer, and nothing may be called.
	// doEnd: the run ended at it.
	Limit LimitKind
	// Tell is said to the model before it is asked; empty: nothing.
	Tell string
}

// A Ruling says what is to become of an open call.
type ruling struct {
	Call   chat.Call
	Refuse string    // the result of a call that must not run; empty: it runs
	Note   string    // to be added to its result
	Limit  LimitKind // that refuses it
}

// Next returns what comes next. It changes nothing.
func (s *state) Next() step {
	if len(s.open) > 0 {
		return step{Do: doRun, Calls: s.rulings()}
	}
	limit := s.reached()
	if n := len(s.Messages); n > 0 && s.Messages[n-1].Role == chat.RoleAssistant && s.turns > 0 {
		if s.warned {
			return step{Do: doEnd, Limit: limit}
		}
		return step{Do: doEnd}
	}
	switch {
	case limit == "":
		return step{Do: doAsk}
	case s.finished:
		return step{Do: doEnd, Limit: limit}
	case s.warned || s.calls == 0:
		return step{Do: doAsk, Limit: limit}
	}
	return step{Do: doAsk, Limit: limit, Tell: s.Limits.last(limit)}
}

// reached returns the limit that the run has come to, or "". The next answer is the last one then.
func (s *state) reached() LimitKind {
	l := &s.Limits
	switch {
	case l.Repeats.Stop > 0 && s.most >= l.Repeats.Stop:
		return LimitRepeats
	case l.Calls > 0 && s.calls >= l.Calls:
		return LimitCalls
	case l.Iterations > 0 && s.turns >= l.Iterations-1:
		return LimitIterations
	}
	return s.used()
}

// used returns the limit on what a run may use that is reached, or "". Then nothing runs any more.
func (s *state) used() LimitKind {
	l := &s.Limits
	switch {
	case l.Time > 0 && s.Elapsed >= l.Time:
		return LimitTime
	case l.Tokens > 0 && s.Usage.In+s.Usage.Out >= l.Tokens:
		return LimitTokens
	case l.Cost > 0 && s.Cost >= l.Cost:
		return LimitCost
	}
	return ""
}

// rulings says what is to become of the open calls.
func (s *state) rulings() []ruling {
	list := make([]ruling, len(s.open))
	for i, o := range s.open {
		list[i] = s.ruling(o)
	}
	return list
}

func (s *state) ruling(o *openCall) ruling {
	l, r := &s.Limits, ruling{Call: o.call}
	switch {
	case s.finished:
		r.Limit, r.Refuse = s.reached(), textOverLimit
	case s.used() != "":
		r.Limit, r.Refuse = s.used(), textOverLimit
	case l.Calls > 0 && o.number > l.Calls:
		r.Limit, r.Refuse = LimitCalls, textOverLimit
	case l.PerTool > 0 && o.tool > l.PerTool:
		r.Limit, r.Refuse = LimitPerTool, textOverLimit
	case l.Repeats.Block > 0 && o.same >= l.Repeats.Block:
		r.Limit, r.Refuse = LimitRepeats, blockedText(o.same)
	case l.Repeats.Note > 0 && o.same >= l.Repeats.Note:
		r.Note = repeatedText(o.same)
	}
	return r
}

// newID returns id if no call of the conversation has it, else one that none has. It is taken then.
func (s *state) newID(id string, index int) string {
	next := id
	if id == "" {
		id = "call_" + strconv.Itoa(index)
		next = id
	}
	for n := 2; s.ids[next]; n++ {
		next = id + "_" + strconv.Itoa(n)
	}
	s.ids[next] = true
	return next
}
