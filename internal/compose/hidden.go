package compose

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"

	"wield/chat"
	"wield/internal/gateway"
	"wield/model/exchange"
)

// A hidden model hides secrets in the errors of a backend, and its own key in what the model says: servers repeat the
// key that they refuse, and what they say goes to clients, logs, captures, traces and the journal.
type hidden struct {
	next chat.Model
	hide func(string) string
	own  []string // what is sent to the backend to be let in
}

// minOwn is how long a key must be to be looked for in an answer. A shorter one, such as "ollama" for a server that
// wants any, is a word.
const minOwn = 16

// Stream implements chat.Model.
func (h hidden) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		a := maskedStream{own: h.own, yield: yield}
		h.next.Stream(ctx, req)(func(e chat.Event, err error) bool {
			if err != nil {
				return a.flush() && yield(e, hideError(err, h.hide))
			}
			return a.event(e)
		})
		a.flush()
	}
}

// A maskedStream passes on what a model says, with stars in the place of keys, so that what follows stays where it is.
type maskedStream struct {
	own     []string
	yield   func(chat.Event, error) bool
	pending chat.Event // may be the beginning of a key; of no kind: there is none
	stopped bool
}

// event passes an event on. The end of a text that may be the beginning of a key waits for the next one.
func (a *maskedStream) event(e chat.Event) bool {
	if a.pending.Kind != 0 && e.Kind == chat.KindIdle { // a pause within a key
		return a.pass(e)
	}
	if len(a.own) == 0 || e.Kind != chat.KindText && e.Kind != chat.KindReasoning {
		return a.flush() && a.yield(e, nil)
	}
	if a.pending.Kind != 0 && (a.pending.Kind != e.Kind || a.pending.Flags != e.Flags) && !a.flush() {
		return false
	}
	if a.pending.Kind != 0 {
		e.Text, e.At = a.pending.Text+e.Text, a.pending.At
		a.pending = chat.Event{}
	}
	open := 0
	for _, key := range a.own {
		e.Text = strings.ReplaceAll(e.Text, key, strings.Repeat("*", len(key)))
		for n := min(len(key)-1, len(e.Text)); n > open; n-- {
			if strings.HasSuffix(e.Text, key[:n]) {
				open = n
			}
		}
	}
	if open > 0 {
		at := len(e.Text) - open
		a.pending = e
		a.pending.Text, a.pending.At, a.pending.Detail = e.Text[at:], e.At+at, nil
		e.Text, e.End = e.Text[:at], e.At+at
		if e.Text == "" && e.Detail == nil {
			return true
		}
	}
	return a.pass(e)
}

// flush passes on what waits: there comes no more of it.
func (a *maskedStream) flush() bool {
	if a.pending.Kind == 0 {
		return !a.stopped
	}
	e := a.pending
	a.pending = chat.Event{}
	return a.pass(e)
}

func (a *maskedStream) pass(e chat.Event) bool {
	a.stopped = a.stopped || !a.yield(e, nil)
	return !a.stopped
}

// A hiddenRelay does so for what is passed on as it is.
type hiddenRelay struct {
	next gateway.Relay
	hide func(string) string
}

// Relay implements gateway.Relay.
func (h hiddenRelay) Relay(ctx context.Context, q exchange.Relayed) (*http.Response, error) {
	resp, err := h.next.Relay(ctx, q)
	if err != nil {
		err = hideError(err, h.hide)
	}
	return resp, err
}

// hideError returns an error of the same kind without secrets, and err itself if it has none.
func hideError(err error, hide func(string) string) error {
	e := *chat.AsError(err)
	found := false
	for _, text := range []*string{&e.Message, &e.Code, &e.Param} {
		was := *text
		*text = hide(was)
		found = found || *text != was
	}
	if e.Cause != nil {
		if text := e.Cause.Error(); hide(text) != text {
			e.Cause, found = hiddenCause{e.Cause, hide(text)}, true
		}
	}
	if !found {
		return err
	}
	return &e
}

// A hiddenCause is an error whose text is another one.
type hiddenCause struct {
	err  error
	text string
}

func (c hiddenCause) Error() string        { return c.text }
func (c hiddenCause) Is(target error) bool { return errors.Is(c.err, target) }
