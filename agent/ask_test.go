package agent_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"wield/agent"
	"wield/chat"
	"wield/tool/runner"
)

// said is a model that says one text, or fails.
type said struct {
	text string
	err  error
}

func (s said) Stream(context.Context, *chat.Request) iter.Seq2[chat.Event, error] {
	if s.err != nil {
		return chat.Fail(s.err)
	}
	return func(yield func(chat.Event, error) bool) {
		if s.text == "" || yield(chat.Event{Kind: chat.KindText, Text: s.text}, nil) {
			yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}}, nil)
		}
	}
}

// TestAsk checks that an answer comes back as text, and what else a run ends with as an error that holds the outcome.
func TestAsk(t *testing.T) {
	tests := []struct {
		name   string
		model  said
		want   string
		reason agent.EndReason
		kind   chat.ErrorKind
	}{
		{"an answer", said{text: "Done."}, "Done.", "", ""},
		{"nothing", said{}, "", agent.EndEmpty, ""},
		{"a failure", said{err: chat.Errorf(chat.ErrAuth, "no such key")}, "", agent.EndError, chat.ErrAuth},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := agent.New(test.model, runner.New(runner.Settings{Tools: new(runner.Registry)}), agent.Options{})
			got, err := a.Ask(context.Background(), "Do it.")
			if got != test.want {
				t.Errorf("text %q, want %q", got, test.want)
			}
			var ended *agent.NoAnswerError
			if errors.As(err, &ended) != (test.reason != "") || ended != nil && ended.Outcome.Reason != test.reason {
				t.Errorf("error %v, want the reason %q", err, test.reason)
			}
			var e *chat.Error
			if test.kind != "" && (!errors.As(err, &e) || e.Kind != test.kind) {
				t.Errorf("error %v, want one of kind %q", err, test.kind)
			}
		})
	}
}
