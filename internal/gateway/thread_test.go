package gateway

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"wield/chat"
	"wield/internal/metrics"
)

// threaded serves m, which is recognised by its messages, u, which is by the user, and p, a satellite's model.
func threaded(t *testing.T) (say func(model, user string, messages ...string) string, told *chat.Request,
	log *bytes.Buffer) {
	told, log = &chat.Request{}, &bytes.Buffer{}
	model := fake(func(_ context.Context, req *chat.Request, emit func(chat.Event) bool) error {
		*told = *req
		emit(text("ok"))
		emit(finish(chat.FinishStop))
		return nil
	})
	srv := serve(t, Options{Log: slog.New(slog.NewTextHandler(log, nil)), Metrics: metrics.New("test"), Models: []Model{
		{Name: "m", Model: model, Match: true},
		{Name: "u", Model: model, Match: true, FromUser: true},
		{Name: "p", Model: model, FromUser: true, Expose: ExposeToolRequest},
		{Name: "none", Model: model},
	}})
	return func(model, user string, messages ...string) string {
		t.Helper()
		resp, body := ask(t, srv, fmt.Sprintf(`{"model":%q,"user":%q,"messages":[%s]}`, model, user,
			strings.Join(messages, ",")))
		if resp.StatusCode != 200 {
			t.Fatalf("status %d: %s", resp.StatusCode, body)
		}
		if got := parse(t, body); got.Conversation != "" {
			return got.Conversation
		}
		if id := resp.Header.Get("X-Wield-Conversation"); id != told.Conversation {
			t.Errorf("the header says %q, the model is told %q", id, told.Conversation)
		}
		return told.Conversation
	}, told, log
}

func utter(role, text string) string { return fmt.Sprintf(`{"role":%q,"content":%q}`, role, text) }

// TestContinuations: requests are recognised by the messages they begin with, whatever became of the assistant's words.
func TestContinuations(t *testing.T) {
	ask, _, _ := threaded(t)
	u1, u2, u3 := utter("user", "one"), utter("user", "two"), utter("user", "three")
	first := ask("m", "", utter("system", "s"), u1)
	if !strings.HasPrefix(first, "conv_") {
		t.Fatalf("the id is %q", first)
	}
	if other := ask("m", "", u1); other == first {
		t.Error("a conversation that begins is taken for one that goes on")
	} else {
		first = other // the last one that began so
	}
	if got := ask("m", "", u1, utter("assistant", "not what it said"), u2); got != first {
		t.Errorf("the second turn is of %q, not %q", got, first)
	}
	if got := ask("m", "", u1, u2); got != first {
		t.Error("asked again, it is another conversation")
	}
	branch := ask("m", "", u1, u3)
	if branch == first {
		t.Error("a branch is the same conversation")
	}
	if a, b := ask("m", "", u1, u2, u3), ask("m", "", u1, u3, u2); a != first || b != branch {
		t.Errorf("behind the branch: %q and %q, want %q and %q", a, b, first, branch)
	}
	if got := ask("u", "", u1, u2, u3); got == first {
		t.Error("with another model it is the same conversation")
	}
	call := `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	if got := ask("m", "", u1, u2, u3, call, `{"role":"tool","tool_call_id":"c1","content":"x"}`); got != first {
		t.Error("with a result it is another conversation")
	}
	if got := ask("none", "", u1, u2); got != "" {
		t.Errorf("without the option there is the conversation %q", got)
	}
}

// TestDeriveIDFromUser: the field user names the conversation. What contradicts it is answered, logged and counted.
func TestDeriveIDFromUser(t *testing.T) {
	ask, _, log := threaded(t)
	u1, u2 := utter("user", "one"), utter("user", "two")
	anna := ask("u", "anna", u1)
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(anna) {
		t.Errorf("the id is %q", anna)
	}
	if got := ask("u", "anna", u1, u2); got != anna || strings.Contains(log.String(), "contradicts") {
		t.Errorf("the second turn is of %q, not %q\n%s", got, anna, log)
	}
	if got := ask("u", "bert", u1); got == anna {
		t.Error("two users have one conversation")
	}
	if got := ask("u", "anna", u2, u1); got != anna || !strings.Contains(log.String(), "contradicts") {
		t.Errorf("what contradicts: %q\n%s", got, log)
	}
	if a, b := ask("p", "anna", u1), ask("p", "anna", u2); a != b || a == anna || a == "" {
		t.Errorf("a satellite's conversations are %q and %q", a, b)
	}
}

// TestThreadsOfResponses: what a Responses client names counts, and so do the messages of one that names nothing.
func TestThreadsOfResponses(t *testing.T) {
	srv := serve(t, Options{Models: []Model{{Name: "m", Model: says(text("ok")), Match: true}}})
	said := func(body string) string {
		t.Helper()
		resp, answer := send(t, srv, "POST", "/v1/responses", `{"model":"m",`+body+`}`)
		if resp.StatusCode != 200 {
			t.Fatalf("status %d: %s", resp.StatusCode, answer)
		}
		return resp.Header.Get("X-Wield-Conversation")
	}
	if got := said(`"input":"one","conversation":"mine"`); got != "mine" {
		t.Errorf("the conversation is %q", got)
	}
	first := said(`"input":"two"`)
	if got := said(
		`"input":[{"role":"user","content":"two"},{"role":"assistant","content":"ok"},{"role":"user","content":"three"}]`); got != first || first == "" {
		t.Errorf("the second turn is of %q, not %q", got, first)
	}
}

// TestThreadLimits: the memory is bounded.
func TestThreadLimits(t *testing.T) {
	var s threads
	for i := range maxThreads + 10 {
		s.put(conversationKey{id: fmt.Sprint(i)}, []historyHash{{1}, {byte(i), byte(i >> 8), 2}})
	}
	if len(s.byKey) != maxThreads || s.order.Len() != maxThreads || s.marks != 2*maxThreads ||
		len(s.byMark) != maxThreads+1 {
		t.Errorf("%d threads, %d in order, %d marks, %d by mark", len(s.byKey), s.order.Len(), s.marks, len(s.byMark))
	}
	s.put(conversationKey{id: "giant"}, make([]historyHash, maxThreadMarks+1))
	if len(s.byKey) != 1 {
		t.Errorf("%d threads beside a giant", len(s.byKey)-1)
	}
}
