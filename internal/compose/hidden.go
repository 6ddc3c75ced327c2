package compose

import (
	"context"
	"errors"
	"iter"
	"net/http"

	"wield/chat"
	"wield/internal/gateway"
	"wield/model/exchange"
)

// A hidden model hides secrets in the errors of a backend: servers repeat the key that they refuse, and an
// error goes to clients, logs, captures, traces and the journal.
type hidden struct {
	next chat.Model
	hide func(string) string
}

// Stream implements chat.Model.
func (h hidden) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		h.next.Stream(ctx, req)(func(e chat.Event, err error) bool {
			if err != nil {
				err = hideError(err, h.hide)
			}
			return yield(e, err)
		})
	}
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
