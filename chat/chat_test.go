package chat_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"wield/chat"
)

func TestMessageText(t *testing.T) {
	for _, tt := range []struct {
		name  string
		parts []chat.Part
		want  string
	}{
		{"none", nil, ""},
		{"one", chat.Text("hi"), "hi"},
		{"an empty one", chat.Text(""), ""},
		{"only an image", []chat.Part{{Kind: chat.PartImage, URL: "data:,x"}}, ""},
		{"two with an image between", []chat.Part{{Text: "a"}, {Kind: chat.PartImage, Text: "no"}, {Text: "b"}},
			"a\nb"},
	} {
		m := chat.Message{Parts: tt.parts}
		if got := m.Text(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestNames shows that every kind, origin and choice has a name of its own.
func TestNames(t *testing.T) {
	seen := map[string]bool{"unknown": true}
	name := func(s string) {
		if seen[s] {
			t.Errorf("the name %q stands twice, or is none", s)
		}
		seen[s] = true
	}
	for k := chat.KindTurnStart; k <= chat.KindIdle; k++ {
		name("kind " + k.String())
	}
	if got := (chat.KindIdle + 1).String(); got != "unknown" {
		t.Errorf("a kind behind the last is called %q", got)
	}
	for o := chat.OriginText; o <= chat.OriginNative; o++ {
		name("origin " + o.String())
	}
	for c := chat.ChoiceAuto; c <= chat.ChoiceNamed; c++ {
		name("choice " + c.String())
	}
	if seen["kind unknown"] || seen["origin unknown"] || seen["choice unknown"] {
		t.Error("a name is missing")
	}
}

func TestErrors(t *testing.T) {
	cause := errors.New("reset by peer")
	err := fmt.Errorf("asking: %w", &chat.Error{Kind: chat.ErrUnavailable, Status: 502, Cause: cause})
	if !errors.Is(err, chat.ErrUnavailable) || !errors.Is(err, cause) || errors.Is(err, chat.ErrTimeout) {
		t.Error("an error is not what it wraps, or is what it does not")
	}
	if got, want := chat.AsError(err).Error(), "unavailable (status 502): reset by peer"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if e := chat.Errorf(chat.ErrProtocol, "line %d: %w", 3, cause); !errors.Is(e, cause) ||
		e.Message != "line 3: reset by peer" {
		t.Errorf("%+v", e)
	}
}

func TestAsError(t *testing.T) {
	known := &chat.Error{Kind: chat.ErrRateLimit, RetryAfter: time.Second}
	for _, tt := range []struct {
		err  error
		want chat.ErrorKind
	}{
		{known, chat.ErrRateLimit},
		{fmt.Errorf("again: %w", known), chat.ErrRateLimit},
		{fmt.Errorf("asking: %w", context.Canceled), chat.ErrCanceled},
		{context.DeadlineExceeded, chat.ErrTimeout},
		{errors.New("no route"), chat.ErrUnavailable},
	} {
		if got := chat.AsError(tt.err).Kind; got != tt.want {
			t.Errorf("%v is %s, want %s", tt.err, got, tt.want)
		}
	}
	if chat.AsError(nil) != nil {
		t.Error("no error became one")
	}
}

func TestUsageAdd(t *testing.T) {
	var u chat.Usage
	u.Add(chat.Usage{Requests: 1})
	if u.Known {
		t.Error("counts that nobody gave are known")
	}
	u.Add(chat.Usage{Known: true, In: 10, Out: 4, Cached: 3, Written: 5, Reasoning: 2, Requests: 1})
	if want := (chat.Usage{Known: true, In: 10, Out: 4, Cached: 3, Written: 5, Reasoning: 2, Requests: 2}); u != want {
		t.Errorf("%+v, want %+v", u, want)
	}
}

func TestFail(t *testing.T) {
	n := 0
	for e, err := range chat.Fail(chat.ErrAuth) {
		n++
		if e.Kind != 0 || !errors.Is(err, chat.ErrAuth) {
			t.Errorf("%v, %v", e, err)
		}
	}
	if n != 1 {
		t.Errorf("%d steps, want one", n)
	}
}

func TestRequestTool(t *testing.T) {
	r := &chat.Request{Tools: []chat.Tool{{Name: "a"}, {Name: "b"}}}
	if r.Tool("b") != &r.Tools[1] || r.Tool("c") != nil {
		t.Error("a tool is not found, or one that is not there is")
	}
}
