package compose

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"wield/chat"
)

// saying is a backend that says one thing.
type saying string

func (s saying) Stream(context.Context, *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		_ = yield(chat.Event{Kind: chat.KindText, Text: string(s)}, nil) &&
			yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}}, nil)
	}
}

// TestResponseTemplate reads an answer in a format of the model's own, which its response template describes.
func TestResponseTemplate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokenizer_config.json")
	const template = `{"response_template": {"fields": {"thinking": {"open": "<ponder>", "close": "</ponder>"}, "content": {"close": "<done>"},
		"tool_calls": {"open_pattern": "<act tool=(?P<name>[^>]+)>", "close": "</act>", "content": "xml-inline", "repeats": true,
		"content_args": {"tag_pattern": "<with (?P<key>[^>]+)>(?P<value>.*?)</with>"}, "transform": {"function": {"name": "{name}", "arguments": "{content}"}}}}}}`
	if err := os.WriteFile(file, []byte(template), 0o600); err != nil {
		t.Fatal(err)
	}
	source := "wield: config/v1\nbackends: {local: {url: \"http://127.0.0.1:1/v1\"}}\nmodels:\n  m: {backend: local, mode: text, response_template: \"FILE\"}\n"
	r, err := parse(t, strings.ReplaceAll(source, "FILE", file))
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(r.Config,
		Environment{Getenv: env(),
			Backend: saying(
				"<ponder>the sea</ponder>Let me see.\n<act tool=tides>\n<with port>Ostend</with>\n</act><done>")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	req := &chat.Request{Model: "m",
		Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("When is high water?")}},
		Tools: []chat.Tool{
			{Name: "tides", Parameters: []byte(`{"type":"object","properties":{"port":{"type":"string"}}}`)}}}
	var text, reasoning, name, arguments string
	for e, err := range modelOf(t, s, "m").Model.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Kind {
		case chat.KindText:
			text += e.Text
		case chat.KindReasoning:
			reasoning += e.Text
		case chat.KindCallEnd:
			call := e.Detail.(*chat.Call)
			name, arguments = call.Name, call.Arguments
		}
	}
	if strings.TrimSpace(text) != "Let me see." || strings.TrimSpace(reasoning) != "the sea" || name != "tides" ||
		arguments != `{"port":"Ostend"}` {
		t.Errorf("text %q, reasoning %q, call %s %s", text, reasoning, name, arguments)
	}

	r, err = parse(t, strings.ReplaceAll(source, "FILE", file+".gone"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(r.Config, Environment{Getenv: env()}); err == nil ||
		!strings.Contains(err.Error(), "models.m.response_template") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestModeTemplate: the prompt is rendered with the template of a file, or of the server, which is asked once; and the
// call is read in the dialect that it teaches.
func TestModeTemplate(t *testing.T) {
	file, err := filepath.Abs("../chattemplate/testdata/hermes.jinja")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	var prompt string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		switch r.URL.Path {
		case "/props":
			_ = json.NewEncoder(w).Encode(map[string]string{"chat_template": string(source)})
		case "/v1/completions":
			var body struct{ Prompt string }
			_ = json.NewDecoder(r.Body).Decode(&body)
			prompt = body.Prompt
			_ = json.NewEncoder(w).Encode(
				map[string]any{"choices": []map[string]any{{"index": 0, "finish_reason": "stop",
					"text": "<tool_call>\n{\"name\": \"tides\", \"arguments\": {\"port\": \"Ostend\"}}\n</tool_call>"}}})
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	for _, tt := range []struct{ key, asked string }{
		{"", "/api/show /props /v1/completions /v1/completions"},
		{"chat_template: " + strconv.Quote(file), "/v1/completions /v1/completions"},
	} {
		asked = nil
		r, err := parse(t, "wield: config/v1\nbackends: {local: {url: \""+server.URL+
			"/v1\"}}\nmodels: {m: {backend: local, mode: template, "+tt.key+"}}\n")
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(r.Config, Environment{Getenv: env()})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for range 2 {
			req := &chat.Request{Model: "m",
				Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("When is high water?")}},
				Tools: []chat.Tool{
					{Name: "tides", Parameters: []byte(`{"type":"object","properties":{"port":{"type":"string"}}}`)}}}
			name := ""
			for e, err := range modelOf(t, s, "m").Model.Stream(t.Context(), req) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Kind == chat.KindCallEnd {
					name = e.Detail.(*chat.Call).Name
				}
			}
			if name != "tides" || !strings.Contains(prompt, `{"name": "tides"`) ||
				!strings.HasSuffix(prompt, "When is high water?<|im_end|>\n<|im_start|>assistant\n") {
				t.Errorf("call of %q, prompt %q", name, prompt)
			}
		}
		if got := strings.Join(asked, " "); got != tt.asked {
			t.Errorf("asked %s, want %s", got, tt.asked)
		}
	}
	for _, tt := range []struct{ config, want string }{
		{`backends: {b: {url: "http://127.0.0.1:1/v1"}}`, "chat_template: open"},
		{`backends: {b: {kind: anthropic, url: "http://127.0.0.1:1"}}`, "kind anthropic takes no rendered prompt"},
	} {
		r, err := parse(t,
			"wield: config/v1\n"+tt.config+"\nmodels: {m: {backend: b, mode: template, chat_template: gone}}\n")
		if err == nil {
			_, err = New(r.Config, Environment{Getenv: env()})
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}

// TestFirstChoice: with models.X.first_choice the model is asked twice, and may not call what it did not choose.
func TestFirstChoice(t *testing.T) {
	for _, tt := range []struct{ key, want string }{{"", "1"}, {"first_choice: true, ", "2"}} {
		r, err := parse(t, "wield: config/v1\nbackends: {local: {url: \"http://127.0.0.1:1/v1\"}}\nmodels: {m: {"+
			tt.key+"backend: local, mode: text}}\n")
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(r.Config, Environment{Getenv: env(), Backend: saying(`{"tool": "none"}`)})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		req := &chat.Request{Model: "m", Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("Hello.")}},
			Tools: []chat.Tool{{Name: "tides"}}}
		turns := 0
		for e, err := range modelOf(t, s, "m").Model.Stream(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == chat.KindTurnStart {
				turns++
			}
		}
		if strconv.Itoa(turns) != tt.want {
			t.Errorf("%q: %d turns, want %s", tt.key, turns, tt.want)
		}
	}
}
