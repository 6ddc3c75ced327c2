package compose

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"wield/chat"
)

// TestToolsOff: without calls.enabled the tools of a request are left out, and what looks like a call is text.
func TestToolsOff(t *testing.T) {
	for _, mode := range []string{"text", "native"} {
		srv := newServer(t, call)
		s, err := compose(t, "backends: {s: {url: \"URL\"}}\nmodels: {m: {backend: s, mode: "+mode+
			", calls: {enabled: false}}}\n", srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		if got := ask(t, s, "m", ""); got != call || len(srv.requests[0].Tools) > 0 ||
			len(srv.requests[0].Messages) != 1 {
			t.Errorf("%s: %q, sent %+v", mode, got, srv.requests[0])
		}
		req := &chat.Request{Model: "m", Tools: []chat.Tool{{Name: "f"}},
			Choice:   chat.Choice{Mode: chat.ChoiceNamed, Name: "f"},
			Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("hello")}}}
		for _, err := range modelOf(t, s, "m").Model.Stream(t.Context(), req) {
			if err == nil || !strings.Contains(err.Error(), "calls.enabled: false") ||
				chat.AsError(err).Param != "tool_choice" {
				t.Errorf("%s: a call that is required: %v", mode, err)
			}
		}
	}
}

// TestNamedIDs: with calls.ids: named an id says whose call it is, and a result that comes back without its call is
// known by it.
func TestNamedIDs(t *testing.T) {
	srv := newServer(t, call, "fine")
	s, err := compose(t, "backends: {s: {url: \"URL\"}}\nmodels: {m: {backend: s, mode: text, calls: {ids: named}}}\n",
		srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	req := &chat.Request{Model: "m", Tools: []chat.Tool{{Name: "get_weather"}},
		Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("hello")}}}
	var id string
	for e, err := range modelOf(t, s, "m").Model.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == chat.KindCallEnd {
			id = e.ID
		}
	}
	if !regexp.MustCompile(`^get_weather__[0-9a-f]{24}$`).MatchString(id) {
		t.Errorf("the id is %q", id)
	}
	req.Messages = append(req.Messages, chat.Message{Role: chat.RoleTool, CallID: id, Parts: chat.Text("18")})
	for _, err := range modelOf(t, s, "m").Model.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
	}
	messages := srv.requests[1].Messages
	if last := messages[len(messages)-1].Content; !strings.Contains(last, `"from":"get_weather"`) {
		t.Errorf("the model is told %s", last)
	}
}

// TestSurfaceThinking: reasoning is seen unless the file says otherwise.
func TestSurfaceThinking(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w,
			`{"choices":[{"message":{"role":"assistant","reasoning_content":"hm","content":"<think>so</think>hello"},"finish_reason":"stop"}]}`)
	}))
	t.Cleanup(srv.Close)
	s, err := compose(t,
		"backends: {s: {url: \"URL\"}}\nmodels: {m: {backend: s}, q: {backend: s, surfaceThinking: false}}\n", srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"m": "hmso", "q": ""} {
		got, text := "", ""
		req := &chat.Request{Model: name, Tools: []chat.Tool{{Name: "f"}},
			Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("hello")}}}
		for e, err := range modelOf(t, s, name).Model.Stream(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			switch e.Kind {
			case chat.KindReasoning:
				got += e.Text
			case chat.KindText:
				text += e.Text
			}
		}
		if got != want || text != "hello" {
			t.Errorf("%s: reasoning %q, text %q", name, got, text)
		}
	}
}
