package compose

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"wield/chat"
	"wield/internal/config"
)

// lumoFake answers in the second version and notes what it was sent.
type lumoFake struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
}

func newLumo(t *testing.T, answers ...string) *lumoFake {
	t.Helper()
	s := &lumoFake{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		answer := answers[min(len(s.bodies), len(answers)-1)]
		s.bodies = append(s.bodies, r.URL.Path+" "+string(body))
		s.mu.Unlock()
		fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\ndata: [DONE]\n\n", answer)
	}))
	t.Cleanup(s.Close)
	return s
}

// TestLumoDefaults: what a model on Lumo gets where the file says nothing, and that the file can say otherwise.
func TestLumoDefaults(t *testing.T) {
	const text = `
backends: {l: {kind: lumo, url: "URL", lumo: {enableWebSearch: true}}}
models:
  home: {backend: l}
  proton/lumo-max: {backend: l, native: {off: [stock], replace: [web_search]}}
  plain: {backend: l, model: lumo-lite, calls: {prefix: ""}, instructions: {injectInto: last}}
`
	s := newLumo(t, "```json\n{\"name\": \"user:f\", \"arguments\": {}}\n```")
	service, err := compose(t, text, s.URL)
	if err != nil {
		t.Fatal(err)
	}
	const all = `{"name":"proton_info"},{"name":"web_search"},{"name":"weather"},{"name":"stock"},{"name":"cryptocurrency"}`
	for i, c := range []struct {
		model string
		parts []string // of what is sent
		calls string
	}{
		{"home", []string{`"model":"lumo"`, `"content":"[Project instructions: `, `user:f`, all}, "f"},
		{"proton/lumo-max",
			[]string{`"model":"lumo-max"`, `[{"name":"proton_info"},{"name":"weather"},{"name":"cryptocurrency"}]`},
			"f"},
		{"plain", []string{`"model":"lumo-lite"`, `"content":"one"`, `"content":"[Project instructions: `, all}, ""},
	} {
		req := &chat.Request{Model: c.model, Tools: []chat.Tool{{Name: "f"}}, Messages: []chat.Message{
			{Role: chat.RoleUser, Parts: chat.Text("one")}, {Role: chat.RoleAssistant, Parts: chat.Text("ok")},
			{Role: chat.RoleUser, Parts: chat.Text("two")}}}
		calls := ""
		for e, err := range modelOf(t, service, c.model).Model.Stream(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == chat.KindCallEnd {
				calls += e.Detail.(*chat.Call).Name
			}
		}
		body := s.bodies[i]
		for _, part := range c.parts {
			if !strings.Contains(body, part) {
				t.Errorf("%s: no %s in %s", c.model, part, body)
			}
		}
		if !strings.HasPrefix(body, "/v1/ai/v1/chat/completions ") || calls != c.calls ||
			c.model == "plain" && strings.Contains(body, "user:f") {
			t.Errorf("%s: calls %q after %s", c.model, calls, body)
		}
	}
}

// TestLumoBlocks_A55: the blocks of the seed's terminal are calls on Lumo as they are written there, without a prefix.
func TestLumoBlocks_A55(t *testing.T) {
	s := newLumo(t, "```read\nnotes.md\n```\n")
	service, err := compose(t,
		"\nbackends: {l: {kind: lumo, url: \"URL\"}}\nmodels: {cli: {backend: l, dialect: cli-block}}\n", s.URL)
	if err != nil {
		t.Fatal(err)
	}
	req := &chat.Request{Model: "cli",
		Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("read my notes")}},
		Tools: []chat.Tool{
			{Name: "read",
				Parameters: []byte(
					`{"type":"object","properties":{"paths":{"type":"array","items":{"type":"string"}}},"required":["paths"]}`)}}}
	var calls []string
	for e, err := range modelOf(t, service, "cli").Model.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == chat.KindCallEnd {
			calls = append(calls, e.Name+e.Detail.(*chat.Call).Arguments)
		}
	}
	if len(calls) != 1 || !strings.Contains(calls[0], "notes.md") || !strings.HasPrefix(calls[0], "read{") {
		t.Errorf("%q", calls)
	}
}

func TestLumoChecks(t *testing.T) {
	_, err := config.Parse("config.yaml", []byte(`wield: config/v1
backends: {l: {kind: lumo, url: "https://lumo.example/api"}}
models: {home: {backend: l, mode: native}}
`), config.Options{Getenv: env()})
	if err == nil || !strings.Contains(err.Error(), "models.home.mode: Lumo takes no tools") {
		t.Errorf("mode native: %v", err)
	}
	r, err := config.Parse("config.yaml", []byte(`wield: config/v1
backends:
  l: {kind: lumo, url: "https://lumo.example/api"}
  o: {kind: openai, url: "http://127.0.0.1:1", lumo: {version: 1}}
models:
  home: {backend: l, native: {off: [wether]}}
  other: {backend: o, native: {annotations: true}}
`), config.Options{Getenv: env()})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range r.Warnings {
		got = append(got, w.Path)
	}
	if strings.Join(got, " ") != "backends.o.lumo models.home.native.off models.other.native" {
		t.Errorf("%v", r.Warnings)
	}
}
