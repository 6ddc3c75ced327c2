package anthropic_test

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	"wield/model/anthropic"
	wire "wield/wire/anthropic"

	"wield/internal/scriptserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// model returns a model of a server that answers with h.
func model(t *testing.T, h http.Handler) *anthropic.Model {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	m := anthropic.New(anthropic.Options{URL: s.URL + "/v1/", Key: "k"})
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
			if e.Detail != nil {
				opaque := e.Detail.(chat.Opaque)
				fmt.Fprintf(&b, "%s=%s ", opaque[0].Key, opaque[0].Value)
			}
		case chat.KindCallEnd:
			call := e.Detail.(*chat.Call)
			fmt.Fprintf(&b, "%s(%s) ", call.Name, call.Arguments)
		case chat.KindUsage:
			usage := e.Detail.(*chat.Usage)
			fmt.Fprintf(&b, "usage:%d/%d/%d/%d ", usage.In, usage.Cached, usage.Written, usage.Out)
		case chat.KindFinish:
			fmt.Fprintf(&b, "finish:%s", e.Detail.(*chat.Finish).Reason)
		}
	}
	return b.String(), nil
}

// TestTemperature reports a temperature that is lowered, since the protocol ends at 1.
func TestTemperature(t *testing.T) {
	s := scripted(t, "  - {id: a, reply: [{text: hi}]}\n")
	warm := 1.7
	req := request(true)
	req.Temperature = &warm
	for e, err := range model(t, s).Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := e.Detail.(*chat.NoteDetail); ok && n.Kind == chat.NoteUnsent && n.Path == "temperature above 1" {
			return
		}
	}
	t.Error("no note names the temperature")
}

func scripted(t *testing.T, turns string) *scriptserver.Server {
	t.Helper()
	file := filepath.Join(t.TempDir(), "t.scenario.yaml")
	if err := os.WriteFile(file,
		[]byte("wield: scenario/v1\nname: t\nbackend: {speaks: anthropic, native_tools: true}\nturns:\n"+turns),
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
    usage: {in: 12, out: 5}
`)
	for _, stream := range []bool{true, false} {
		got, err := play(model(t, s), request(stream))
		if err != nil || got != `reasoning:hm text:Let me.  f({"x": 1}) g({}) usage:12/0/0/5 finish:tool_calls` {
			t.Errorf("stream %v: %s, %v", stream, got, err)
		}
	}
}

// TestFaults plays the faults of a connection and of a server. Each ends the stream with an error that tells what
// happened, or is passed over.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		do   string
		kind chat.ErrorKind // "": the answer is whole
	}{
		{"{cut_after: 4chunks}", chat.ErrUnavailable},
		{"{cut_after: 4chunks, reset: true}", chat.ErrUnavailable},
		{"bad_sse", chat.ErrProtocol},
		{"html_502", chat.ErrUnavailable},
		{"{status: 429, retry_after: 3s}", chat.ErrRateLimit},
		{"{status: 529}", chat.ErrOverloaded},
		{"drop_done", ""},
		{"{wrong_content_type: text/plain}", ""},
		{"{drip: 1ms}", ""},
	} {
		s := scripted(t, `
  - id: a
    when: {}
    reply: [{text: "one two three four five six", split: [3, 7, 13, 18]}]
faults:
  - {on: a, do: `+c.do+`}
`)
		got, err := play(model(t, s), request(true))
		got = strings.ReplaceAll(got, " text:", "")
		switch {
		case c.kind != "" && !errors.Is(err, c.kind):
			t.Errorf("%s: %s, %v, want %s", c.do, got, err, c.kind)
		case c.kind == "" && (err != nil || !strings.HasPrefix(got, "text:one two three four five six")):
			t.Errorf("%s: %s, %v", c.do, got, err)
		}
	}
}

func TestErrors(t *testing.T) {
	const start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n"
	for _, c := range []struct {
		name   string
		status int
		body   string
		kind   chat.ErrorKind
		code   string
	}{
		{"overloaded", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
			chat.ErrOverloaded, ""},
		{"overloaded under another status", 500,
			`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, chat.ErrOverloaded, ""},
		{"no key", 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`,
			chat.ErrAuth, ""},
		{"no model", 404, `{"type":"error","error":{"type":"not_found_error","message":"model: m"}}`, chat.ErrNotFound,
			""},
		{"too long", 400,
			`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 3 tokens > 2 maximum"}}`, chat.ErrContextLength, ""},
		{"too large", 413,
			`{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`,
			chat.ErrContextLength, ""},
		{"bad request", 400,
			`{"type":"error","error":{"type":"invalid_request_error","message":"messages: roles must alternate"}}`,
			chat.ErrBadRequest, chat.CodeRolesRefused},
		{"no money", 402, `{"type":"error","error":{"type":"billing_error","message":"credit balance is too low"}}`,
			chat.ErrRateLimit, ""},
		{"no tools", 400,
			`{"type":"error","error":{"type":"invalid_request_error","message":"this model does not support tools"}}`,
			chat.ErrBadRequest, chat.CodeToolsUnsupported},
		{"in the stream", 200,
			start +
				"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", chat.ErrOverloaded, ""},
		{"broken off", 200, start, chat.ErrProtocol, ""},
		{"half a frame", 200, start + "event: content_block_delta\ndata: {\"type\":\"cont\n\n", chat.ErrProtocol, ""},
		{"a page", 200, `<html><title>Welcome</title>`, chat.ErrProtocol, ""},
		{"a page with a status", 502, `<html><title>Bad Gateway</title>`, chat.ErrUnavailable, ""},
	} {
		m := model(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/messages" || r.Header.Get("X-Api-Key") != "k" ||
				r.Header.Get("Anthropic-Version") != "2023-06-01" {
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

// TestThinking shows that thinking and signatures come with an answer, and that the next request has them as they were.
func TestThinking(t *testing.T) {
	var asked string
	m := model(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = string(body)
		fmt.Fprint(w,
			`{"content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"text","text":"ok"}],"stop_reason":"end_turn",`+
				`"usage":{"input_tokens":1,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":4}}`)
	}))
	req := request(false)
	thinking := `{"type":"thinking","thinking":"Hm.","signature":"c2ln"}`
	req.Messages = append(req.Messages,
		chat.Message{Role: chat.RoleAssistant, Parts: []chat.Part{
			{Kind: chat.PartOpaque, Name: "thinking", Protocol: chat.ProtocolAnthropic, Raw: []byte(thinking)},
			{Kind: chat.PartOpaque, Name: "reasoning", Protocol: chat.ProtocolResponses, Raw: []byte(`{"secret":1}`)},
			{Text: "I look."}}},
		chat.Message{Role: chat.RoleUser, Parts: chat.Text("and?")})
	req.Extra = []chat.Extra{{Protocol: chat.ProtocolAnthropic, Key: "thinking", Value: []byte(`{"type":"adaptive"}`)},
		{Protocol: chat.ProtocolOpenAI, Key: "thinking", Value: []byte(`"no"`)}}
	got, err := play(m, req)
	if want := `reasoning:Hm. reasoning: signature="c2ln" text:ok usage:6/3/2/4 finish:stop`; err != nil ||
		got != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
	if !strings.Contains(asked, `"content":[`+thinking+`,{"type":"text","text":"I look."}]`) ||
		!strings.Contains(asked, `"thinking":{"type":"adaptive"}`) || strings.Contains(asked, "secret") ||
		strings.Contains(asked, `"no"`) {
		t.Errorf("the server was asked %s", asked)
	}
}

// TestPrompt: a prompt that is already rendered is refused, since it would be lost.
func TestPrompt(t *testing.T) {
	m := anthropic.New(anthropic.Options{URL: "http://127.0.0.1:1"})
	defer m.Close()
	for _, err := range m.Stream(t.Context(), &chat.Request{Model: "m", Prompt: "x"}) {
		if e := chat.AsError(err); e == nil || e.Kind != chat.ErrBadRequest {
			t.Errorf("%v", err)
		}
	}
}

// TestBetas shows that a server is sent the features in beta that a request names besides those that are configured,
// each once, and that what a request names stays with that request.
func TestBetas(t *testing.T) {
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, strings.Join(r.Header.Values("Anthropic-Beta"), ";")+" "+
			fmt.Sprint(strings.Contains(string(body), "betas")))
		io.WriteString(w,
			`{"type":"message","role":"assistant","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}`)
	}))
	t.Cleanup(s.Close)
	for _, configured := range []http.Header{nil, {"Anthropic-Beta": {"a-1, b-2"}}} {
		m := anthropic.New(anthropic.Options{URL: s.URL, Headers: configured})
		t.Cleanup(m.Close)
		for _, headers := range [][]string{{"b-2,c-3", "d 4", "b-2"}, nil} {
			req := &chat.Request{Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("hi")}}}
			wire.AddBetas(req, headers)
			if unread := fmt.Sprint(req.Unread); (unread == "[anthropic-beta=d 4]") != (headers != nil) {
				t.Errorf("of %q unread is %s", headers, unread)
			}
			if _, err := play(m, req); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := "[b-2,c-3 false  false a-1,b-2,c-3 false a-1, b-2 false]"; fmt.Sprint(got) != want {
		t.Errorf("sent %v, want %s", got, want)
	}
}
