package ollama_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"wield/chat"
	"wield/internal/script"
	"wield/model/ollama"

	"wield/internal/scriptserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// model returns a model of a server that answers with h.
func model(t *testing.T, h http.Handler) *ollama.Model {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	m := ollama.New(ollama.Options{URL: s.URL + "/v1/", Key: "k"})
	t.Cleanup(m.Close)
	return m
}

// play runs a stream to its end and writes it down.
func play(m chat.Model, req *chat.Request) (string, error) {
	var b strings.Builder
	for e, err := range m.Stream(context.Background(), req) {
		if err != nil {
			return strings.TrimSpace(b.String()), err
		}
		switch e.Kind {
		case chat.KindText, chat.KindReasoning:
			fmt.Fprintf(&b, "%s:%s ", e.Kind, e.Text)
		case chat.KindCallEnd:
			call := e.Detail.(*chat.Call)
			fmt.Fprintf(&b, "%s(%s) ", call.Name, call.Arguments)
		case chat.KindFinish:
			fmt.Fprintf(&b, "finish:%s", e.Detail.(*chat.Finish).Reason)
		}
	}
	return b.String(), nil
}

func scripted(t *testing.T, turns string) *scriptserver.Server {
	t.Helper()
	file := filepath.Join(t.TempDir(), "t.scenario.yaml")
	if err := os.WriteFile(file,
		[]byte("wield: scenario/v1\nname: t\nbackend: {speaks: ollama, native_tools: true}\nturns:\n"+turns),
		0o600); err != nil {
		t.Fatal(err)
	}
	l, err := script.Open(file, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return scriptserver.New(scriptserver.Options{Scenarios: []*script.Live{l}})
}

func request(stream bool) *chat.Request {
	return &chat.Request{Model: "m", Stream: stream,
		Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("hi")}},
		Tools:    []chat.Tool{{Name: "f"}, {Name: "g"}}}
}

func TestAnswers(t *testing.T) {
	s := scripted(t, `
  - id: a
    when: {}
    reply: [{think: hm}, {text: "Let me. "}, {call: {name: f, args: {x: 1}}}, {call: {name: g, args: {}}}]
`)
	for _, stream := range []bool{true, false} {
		got, err := play(model(t, s), request(stream))
		if err != nil || got != `reasoning:hm text:Let me.  f({"x": 1}) g({}) finish:tool_calls` {
			t.Errorf("stream %v: %s, %v", stream, got, err)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		kind   chat.ErrorKind
		code   string
	}{
		{"no tools", 400, `{"error":"registry.ollama.ai/library/m:latest does not support tools"}`, chat.ErrBadRequest,
			chat.CodeToolsUnsupported},
		{"no model", 404, `{"error":"model 'm' not found"}`, chat.ErrNotFound, ""},
		{"busy", 503, `{"error":"server busy"}`, chat.ErrOverloaded, ""},
		{"in the stream", 200, `{"message":{"role":"assistant","content":"a"},"done":false}` + "\n" +
			`{"error":"the runner stopped"}` + "\n", chat.ErrUnavailable, ""},
		{"broken off", 200, `{"message":{"role":"assistant","content":"a"},"done":false}` + "\n" + `{"mess`,
			chat.ErrProtocol, ""},
		{"a page", 200, `<html><title>Welcome</title>`, chat.ErrProtocol, ""},
	} {
		m := model(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api/chat" || r.Header.Get("Authorization") != "Bearer k" {
				t.Errorf("%s with %v", r.URL.Path, r.Header)
			}
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		}))
		_, err := play(m, request(true))
		var e *chat.Error
		if !errors.As(err, &e) || e.Kind != c.kind || e.Code != c.code {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestThinking: a model that cannot think is asked without, and from then on at once, unless the client has said itself
// that it shall.
func TestThinking(t *testing.T) {
	var asked []string
	m := model(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var b struct{ Think json.RawMessage }
		if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
			t.Error(err)
		}
		if asked = append(asked, string(b.Think)); len(b.Think) > 0 {
			w.WriteHeader(400)
			fmt.Fprint(w, `{"error":"\"m\" does not support thinking"}`)
			return
		}
		fmt.Fprint(w, `{"message":{"role":"assistant","content":"a"},"done":true,"done_reason":"stop"}`)
	}))
	req := request(true)
	req.Effort = "high"
	for range 2 {
		if got, err := play(m, req); err != nil || got != "text:a finish:stop" {
			t.Errorf("%s, %v", got, err)
		}
	}
	if strings.Join(asked, ",") != "true,," {
		t.Errorf("asked with think %q", asked)
	}
	req.Extra = []chat.Extra{{Protocol: chat.ProtocolOllama, Key: "think", Value: []byte("true")}}
	if _, err := play(m, req); !errors.Is(err, chat.ErrBadRequest) {
		t.Errorf("a client that insists: %v", err)
	}
}

// Only one family wants words; all others refuse them.
func TestLevels(t *testing.T) {
	for name, want := range map[string]string{"gpt-oss:20b": `"high"`, "qwen3": "true"} {
		m := model(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var b struct{ Think json.RawMessage }
			if err := json.NewDecoder(r.Body).Decode(&b); err != nil || string(b.Think) != want {
				t.Errorf("%s: %s, %v", name, b.Think, err)
			}
			fmt.Fprint(w, `{"message":{"content":"a"},"done":true}`)
		}))
		req := request(true)
		req.Model, req.Effort = name, "high"
		if _, err := play(m, req); err != nil {
			t.Error(err)
		}
	}
}

// TestPrompt: a prompt goes to /api/generate, where no template is applied to it.
func TestPrompt(t *testing.T) {
	var path string
	var body map[string]any
	m := model(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.Path
		_ = json.NewDecoder(r.Body).Decode(&body)
		fmt.Fprint(w, `{"response":"hel","done":false}`+"\n"+`{"response":"lo","done":false}`+"\n"+
			`{"response":"","done":true,"done_reason":"stop"}`+"\n")
	}))
	log, err := play(m, &chat.Request{Model: "m", Stream: true, Prompt: "<|user|>hi", Stop: []string{"<|user|>"},
		Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("hi")}}})
	if err != nil || log != "text:hel text:lo finish:stop" || path != "/api/generate" {
		t.Errorf("%s: %s, %v", path, log, err)
	}
	if body["raw"] != true || body["prompt"] != "<|user|>hi" || body["messages"] != nil ||
		fmt.Sprint(body["options"]) != "map[stop:[<|user|>]]" {
		t.Errorf("%v", body)
	}
}
