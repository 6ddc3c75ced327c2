package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"wield/chat"
	"wield/tool/runner"
)

// Topic is the topic of questions about runs between services.
const Topic = "runs"

// Others are the services beside this one that work on the same journal. What they tell each other is only what the
// journal does not have, or has later: nothing is lost with it.
type Others interface {
	// Ask asks all of them, and returns the answer of the one that has what is asked about. It reports false if none
	// has.
	Ask(ctx context.Context, topic string, question []byte) (answer []byte, ok bool, err error)
	// Any reports whether there are any.
	Any() bool
}

type alone struct{}

func (alone) Ask(context.Context, string, []byte) ([]byte, bool, error) { return nil, false, nil }
func (alone) Any() bool                                                 { return false }

// Shared reports whether there are other services that may drive runs.
func (h *Hub) Shared() bool { return h.others.Any() }

// Driven returns how many runs are driven here, and how long it took until what other services wrote last was seen.
func (h *Hub) Driven() (runs int, lag time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.live), time.Duration(h.lag.Load())
}

// An errand is a request of one service to the one that drives a run.
type errand struct {
	Run     string        `json:"run"`
	Cancel  bool          `json:"cancel,omitempty"`
	Message *chat.Message `json:"message,omitempty"` // to be sent to it
	Listen  *listening    `json:"listen,omitempty"`
}

// listening is the position of a listener in a run.
type listening struct {
	Place string `json:"place"`
	Told  int    `json:"told"`
}

// A reply says what became of an errand.
type reply struct {
	Error string `json:"error,omitempty"`
	Kind  int    `json:"kind,omitempty"` // of the error: the number of one of errandKinds, from 1
	Told  int    `json:"told,omitempty"`
	Said  []said `json:"said,omitempty"`
}

// said is an event of a run between two records.
type said struct {
	ID       string                 `json:"id"`
	Kind     string                 `json:"kind"`
	Turn     int                    `json:"turn,omitempty"`
	Index    int                    `json:"index,omitempty"`
	Call     string                 `json:"call,omitempty"`
	Name     string                 `json:"name,omitempty"`
	Text     string                 `json:"text,omitempty"`
	State    *runner.StateDetail    `json:"state,omitempty"`
	Progress *runner.ProgressDetail `json:"progress,omitempty"`
}

// errandKinds are the errors that keep their kind on the way.
var errandKinds = []error{ErrEnded, ErrWaiting, ErrHeld, ErrUnknownRun, ErrDraining, ErrPlace}

// elsewhere has an errand done by the service that drives the run. held is the error if there is none.
func (h *Hub) elsewhere(ctx context.Context, e *errand, held error) error {
	r, ok, err := h.send(ctx, e)
	switch {
	case err != nil:
		return errors.Join(held, err)
	case !ok:
		return held
	}
	return r.err()
}

// send asks the service that drives a run. It reports false if there is none.
func (h *Hub) send(ctx context.Context, e *errand) (r reply, ok bool, err error) {
	question, err := json.Marshal(e)
	if err != nil {
		return r, false, err
	}
	answer, ok, err := h.others.Ask(ctx, Topic, question)
	if err != nil || !ok {
		return r, false, err
	}
	return r, true, json.Unmarshal(answer, &r)
}

// Answer does what another service asks of the one that drives a run. It reports false if this is not the one.
func (h *Hub) Answer(ctx context.Context, question []byte) ([]byte, bool) {
	var e errand
	if err := json.Unmarshal(question, &e); err != nil {
		return nil, false
	}
	l := h.lookUp(e.Run)
	if l == nil {
		return nil, false
	}
	var r reply
	switch {
	case e.Cancel:
		r.fail(h.Cancel(ctx, e.Run))
	case e.Message != nil:
		r.fail(h.Send(ctx, e.Run, *e.Message))
	case e.Listen != nil:
		r.fail(l.hear(ctx, e.Listen, &r))
	}
	answer, err := json.Marshal(&r)
	if err != nil {
		h.log.Error("cannot answer another service", "run", e.Run, "error", err)
		return nil, false
	}
	return answer, true
}

func (r *reply) fail(err error) {
	if err == nil {
		return
	}
	r.Error = err.Error()
	for i, kind := range errandKinds {
		if errors.Is(err, kind) {
			r.Kind = i + 1
			return
		}
	}
}

// A besideError is one of another service.
type besideError struct {
	kind error
	text string
}

func (e *besideError) Error() string { return e.text }
func (e *besideError) Unwrap() error { return e.kind }

func (r *reply) err() error {
	if r.Error == "" {
		return nil
	}
	e := &besideError{text: r.Error}
	if r.Kind > 0 && r.Kind <= len(errandKinds) {
		e.kind = errandKinds[r.Kind-1]
	}
	return e
}

const (
	hearFor  = 10 * time.Second      // that a service waits for something to be said
	hearAway = 20 * time.Millisecond // that it collects what is said meanwhile
)

// hear waits until the run has said something that somebody has not heard, or has recorded something.
func (l *Live) hear(ctx context.Context, from *listening, r *reply) error {
	p, err := parsePlace(from.Place)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, hearFor)
	defer cancel()
	r.Told = from.Told
	for {
		changed := l.tail.change()
		recorded := l.tail.behind(p.seq)
		for _, n := range l.tail.since(&p, &r.Told) {
			r.Said = append(r.Said, tellable(&n))
		}
		if recorded || len(r.Said) > 0 {
			return nil
		}
		select {
		case <-changed:
		case <-l.done:
			return nil
		case <-ctx.Done():
			return nil
		}
		select { // a model says little at a time
		case <-time.After(hearAway):
		case <-l.done:
		}
	}
}

// behind reports whether there are records behind a number.
func (t *tail) behind(seq int64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last > seq
}

// tellable returns an event as another service is told of it.
func tellable(n *Numbered) said {
	e := &n.Event
	s := said{ID: n.ID, Kind: e.Kind.String(), Turn: e.Turn, Index: e.Index, Call: e.ID, Name: e.Name, Text: e.Text}
	switch d := e.Detail.(type) {
	case *runner.StateDetail:
		s.State = d
	case *runner.ProgressDetail:
		s.Progress = d
	}
	return s
}

// tellableKinds are the kinds of events that services tell each other.
var tellableKinds = []chat.Kind{chat.KindText, chat.KindReasoning, chat.KindCallStart, chat.KindToolState,
	chat.KindProgress}

// event returns the event, and false for one whose detail another service does not know.
func (s *said) event() (chat.Event, bool) {
	e := chat.Event{Turn: s.Turn, Index: s.Index, ID: s.Call, Name: s.Name, Text: s.Text}
	i := slices.IndexFunc(tellableKinds, func(k chat.Kind) bool { return k.String() == s.Kind })
	if i < 0 {
		return e, false
	}
	switch e.Kind = tellableKinds[i]; e.Kind {
	case chat.KindToolState:
		e.Detail = s.State
		return e, s.State != nil
	case chat.KindProgress:
		e.Detail = s.Progress
		return e, s.Progress != nil
	}
	return e, true
}

// listenIn shows what a run says that another service drives, until there are records to be read. It reports false if
// no service drives it.
func (r *reading) listenIn(ctx context.Context) (there bool, err error) {
	if !r.hub.Shared() {
		return false, nil
	}
	answer, ok, err := r.hub.send(ctx, &errand{Run: r.run, Listen: &listening{r.place.String(), r.heard}})
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil:
		r.hub.log.Debug("no message from the service that drives a run", "run", r.run, "error", err)
		return false, nil
	case !ok:
		r.heard = 0
		return false, nil
	}
	if err := answer.err(); err != nil {
		return false, nil // the journal tells all of it, only later
	}
	r.heard = answer.Told
	for i := range answer.Said {
		s := &answer.Said[i]
		p, err := parsePlace(s.ID)
		if err != nil {
			return false, fmt.Errorf("runs: another service tells of a place that is none: %w", err)
		}
		r.place = p
		if e, ok := s.event(); ok && !r.yield(Numbered{ID: s.ID, Event: e}) {
			return false, errStopped
		}
	}
	return true, nil
}
