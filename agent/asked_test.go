package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"wield/agent"
	"wield/chat"
	"wield/journal"
	"wield/tool/runner"
)

// checkAsked holds what the journal tells of each question to a model against what the model was sent. It is asked by
// an agent that knows nothing else: other limits, no window, another model.
func checkAsked(t *testing.T, store journal.Store, run string, sent []*chat.Request) {
	t.Helper()
	a := agent.New(nil, reader(t), agent.Options{Journal: store})
	n := 0
	for _, want := range sent {
		if want == nil { // the test's model did not keep it
			n++
			continue
		}
		if strings.HasPrefix(want.Messages[len(want.Messages)-1].Text(), "Write a summary") {
			continue
		}
		got, err := a.Asked(t.Context(), run, n)
		if err != nil {
			t.Fatalf("question %d: %v", n, err)
		}
		if dump(got.Request.Messages) != dump(want.Messages) ||
			fmt.Sprint(names(got.Request.Tools)) != fmt.Sprint(names(want.Tools)) || got.Request.Model != want.Model {
			t.Errorf("question %d is told as\n%s\nand was\n%s", n, dump(got.Request.Messages), dump(want.Messages))
		}
		if got.Match != "same" {
			t.Errorf("question %d: the match is %s", n, got.Match)
		}
		n++
	}
	if _, err := a.Asked(t.Context(), run, n); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("question %d, which was not put: %v", n, err)
	}
}

func names(tools []chat.Tool) (list []string) {
	for _, t := range tools {
		list = append(list, t.Name)
	}
	return list
}

// TestAskedOtherwise: where results are written for models in another way than then, what was asked is told with the
// word that it is not the same.
func TestAskedOtherwise(t *testing.T) {
	store := new(journal.Memory)
	var sent []*chat.Request
	run := agent.New(pages(1, &sent), reader(t), agent.Options{Journal: store}).Run(ask("Read all pages."))
	play(t, run)
	other := tools(t, reads("page", func(context.Context, string) (string, error) { return "", nil }))
	other = other.With(func(s *runner.Settings) { s.Style = 1 })
	got, err := agent.New(nil, other, agent.Options{Journal: store}).Asked(t.Context(), run.ID(), 1)
	if err != nil || got.Match == "unknown" || len(got.Request.Messages) != len(sent[1].Messages) {
		t.Errorf("%+v %v", got, err)
	}
	if same := dump(got.Request.Messages) == dump(sent[1].Messages); same != (got.Match == "same") {
		t.Errorf("the match is %s, and that the messages are the same is %t", got.Match, same)
	}
	if _, err := agent.New(nil, other, agent.Options{}).Asked(t.Context(), run.ID(), 0); !errors.Is(err,
		agent.ErrNoJournal) {
		t.Error(err)
	}
	if _, err := agent.New(nil, other, agent.Options{Journal: store}).Asked(t.Context(), "run_none", 0); !errors.Is(
		err, journal.ErrNotFound) {
		t.Error(err)
	}
}
