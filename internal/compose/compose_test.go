package compose

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wield/chat"
	"wield/internal/config"
	"wield/internal/gateway"
	"wield/internal/testlevel"
)

func TestMain(m *testing.M) { testlevel.Main(m) }

// A server answers every request with the same text and remembers what it was sent.
type server struct {
	*httptest.Server
	status   int
	headers  []http.Header
	requests []sent
}

// sent holds the parts of a request that are checked.
type sent struct {
	Model    string
	Tools    []json.RawMessage
	Messages []struct{ Role, Content string }
	TopK     json.RawMessage `json:"top_k"`
}

func newServer(t *testing.T, answers ...string) *server {
	t.Helper()
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		var got sent
		if err := json.Unmarshal(body, &got); err != nil {
			t.Errorf("%v in %s", err, body)
		}
		answer := answers[min(len(s.requests), len(answers)-1)]
		s.requests, s.headers = append(s.requests, got), append(s.headers, r.Header.Clone())
		if s.status != 0 {
			http.Error(w, `{"error":{"message":"no"}}`, s.status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{
			"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": answer},
		}}})
	}))
	t.Cleanup(s.Close)
	return s
}

// compose reads a file in which URL stands for the server's address.
func compose(t *testing.T, text, url string, pairs ...string) (*Service, error) {
	t.Helper()
	getenv := env(pairs...)
	r, err := config.Parse("config.yaml", []byte("wield: config/v1\n"+strings.ReplaceAll(text, "URL", url+"/v1")),
		config.Options{Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(r.Config, Environment{Getenv: getenv})
	if err == nil {
		t.Cleanup(s.Close)
	}
	return s, err
}

func modelOf(t *testing.T, s *Service, name string) *gateway.Model {
	t.Helper()
	for i := range s.Gateway.Models {
		if s.Gateway.Models[i].Name == name {
			return &s.Gateway.Models[i]
		}
	}
	t.Errorf("no model %q", name)
	return &gateway.Model{}
}

// ask sends one message with one tool on offer and returns the answer's text and calls.
func ask(t *testing.T, s *Service, name, system string) string {
	t.Helper()
	req := &chat.Request{Model: name, Tools: []chat.Tool{{
		Name:       "get_weather",
		Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
	}}}
	if system != "" {
		req.Messages = append(req.Messages, chat.Message{Role: chat.RoleSystem, Parts: chat.Text(system)})
	}
	req.Messages = append(req.Messages, chat.Message{Role: chat.RoleUser, Parts: chat.Text("hello")})
	var b strings.Builder
	for e, err := range modelOf(t, s, name).Model.Stream(t.Context(), req) {
		switch {
		case err != nil:
			b.WriteString("error " + err.Error())
		case e.Kind == chat.KindText:
			b.WriteString(e.Text)
		case e.Kind == chat.KindRejected && e.Flags&chat.FlagSpent != 0:
			b.WriteString(e.Detail.(*chat.RejectedDetail).Raw)
		case e.Kind == chat.KindCallEnd:
			call := e.Detail.(*chat.Call)
			b.WriteString("[" + call.Name + call.Arguments + "]")
		}
	}
	return b.String()
}

const call = "```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n```"

var (
	withoutCity  = strings.Replace(call, `"city"`, `"town"`, 1)
	singleQuotes = strings.Replace(call, `"Paris"`, `'Paris'`, 1)
)

func TestComposeBackend(t *testing.T) {
	srv := newServer(t, "hi")
	s, err := compose(t, `
keys: [{name: ha, secret: env:HA, role: admin, models: ["a*"], limits: {rpm: 6, concurrent: 2}}]
hosts: [wield.home.arpa]
origins: ["https://app.example"]
limits: {body: 1MiB}
backends:
  s: {url: "URL", key: env:KEY, headers: {X-Team: tools, X-Token: env:TOKEN}, forward: [top_k]}
models:
  a: {backend: s, model: real, mode: native}
  b: {backend: s, mode: text, expose: tool_request}
`, srv.URL, "HA", "sk-ha", "KEY", "sk-1", "TOKEN", "sk-2")
	if err != nil {
		t.Fatal(err)
	}
	g := s.Gateway
	wantKey := gateway.Key{Name: "ha", Hash: gateway.HashKey("sk-ha"), Role: gateway.RoleAdmin, Models: []string{"a*"},
		RPM: 6, Concurrent: 2}
	if diff := cmp.Diff([]gateway.Key{wantKey}, g.Keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if g.MaxBody != 1<<20 || len(g.Hosts) != 1 || len(g.Origins) != 1 || len(g.Models) != 2 {
		t.Errorf("got %+v", g)
	}
	if modelOf(t, s, "b").Expose != gateway.ExposeToolRequest || modelOf(t, s, "a").Expose != gateway.ExposeOpenAI {
		t.Error("models are exposed in the wrong form")
	}
	if got := ask(t, s, "a", ""); got != "hi" {
		t.Errorf("got %q", got)
	}
	h := srv.headers[0]
	if h.Get("Authorization") != "Bearer sk-1" || h.Get("X-Token") != "sk-2" || h.Get("X-Team") != "tools" {
		t.Errorf("headers: %v", h)
	}
	if r := srv.requests[0]; r.Model != "real" || len(r.Tools) != 1 {
		t.Errorf("sent %+v", r)
	}
}

// TestComposeText checks that the keys of a model reach its prompt and its bridge.
func TestComposeText(t *testing.T) {
	for _, c := range []struct {
		name, model, system string
		answers             []string
		want                string
		requests            int
		prompt              []string // what the first request must hold
		last                []string // what the last message of the last request must hold
	}{
		{name: "text", model: "mode: text", answers: []string{call}, want: `[get_weather{"city": "Paris"}]`,
			requests: 1, prompt: []string{"get_weather", "city"}},
		{name: "A33 forTools",
			model:   `mode: text, instructions: {forTools: "Use the tools below to accomplish tasks. To use them you MUST output the JSON to me, unlike the proton_info or web search tools."}`,
			answers: []string{"ok"}, want: "ok", requests: 1,
			prompt: []string{"unlike the proton_info or web search tools", "get_weather"}},
		{name: "AR05 template",
			model:   `mode: text, instructions: {template: "A {{prefix}} {{#if clientInstructions}}B {{clientInstructions}}{{else}}C {{fallback}}{{/if}} {{tools}}", fallback: "be brief"}, calls: {prefix: "user:"}`,
			answers: []string{"ok"}, want: "ok", requests: 1,
			prompt: []string{"A user: C be brief", "user:get_weather"}},
		{name: "AR08 no fallback", model: `mode: text, instructions: {fallback: "be brief"}`, system: "be long",
			answers: []string{"ok"}, want: "ok", requests: 1, prompt: []string{"be long"}},
		{name: "AR07 patterns",
			model:  `mode: text, instructions: {replacePatterns: [{pattern: "emo(ji)", replacement: "smi$1"}]}`,
			system: "No EMOJI", answers: []string{"ok"}, want: "ok", requests: 1, prompt: []string{"No smiJI"}},
		{name: "AR09 first", model: `mode: text, instructions: {injectInto: first}`, answers: []string{"ok"},
			want: "ok", requests: 1, prompt: []string{"user [Project instructions: "}},
		{name: "AR01 prefix", model: `mode: text, calls: {prefix: "user:"}`,
			answers: []string{strings.Replace(call, "get_weather", "user:get_weather", 1)},
			want:    `[get_weather{"city": "Paris"}]`, requests: 1, prompt: []string{"user:get_weather"}},
		{name: "dialect", model: `mode: text, dialect: hermes`,
			answers: []string{
				"<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>"},
			want: `[get_weather{"city": "Paris"}]`, requests: 1, prompt: []string{"<tool_call>"}},
		{name: "bounce", model: `mode: text`, answers: []string{withoutCity, call},
			want: `[get_weather{"city": "Paris"}]`, requests: 2,
			last: []string{"TOOL_ERROR: Missing required parameter: city"}},
		{name: "two bounces", model: `mode: text, bounce: {max: 2}`, answers: []string{withoutCity, withoutCity, call},
			want: `[get_weather{"city": "Paris"}]`, requests: 3},
		{name: "no bounce", model: `mode: text, bounce: {max: 0}`, answers: []string{withoutCity, call},
			want: withoutCity, requests: 1},
		{name: "no bounce for this", model: `mode: text, bounce: {on: [confused]}`,
			answers: []string{withoutCity, call}, want: withoutCity, requests: 1},
		{name: "no reason to bounce", model: `mode: text, bounce: {on: []}`, answers: []string{withoutCity, call},
			want: withoutCity, requests: 1},
		{name: "repair off", model: `mode: text, repair: off, bounce: {max: 0}`, answers: []string{singleQuotes},
			want: singleQuotes, requests: 1},
		{name: "repair full", model: `mode: text, bounce: {max: 0}`, answers: []string{singleQuotes},
			want: `[get_weather{"city": "Paris"}]`, requests: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			srv := newServer(t, c.answers...)
			s, err := compose(t, "backends: {s: {url: \"URL\"}}\nmodels: {m: {backend: s, "+c.model+"}}\n", srv.URL)
			if err != nil {
				t.Fatal(err)
			}
			if got := ask(t, s, "m", c.system); !strings.HasPrefix(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if len(srv.requests) != c.requests {
				t.Fatalf("%d requests, want %d", len(srv.requests), c.requests)
			}
			checkPrompt(t, srv.requests[0], 0, c.prompt)
			last := srv.requests[c.requests-1]
			checkPrompt(t, last, len(last.Messages)-1, c.last)
		})
	}
}

// checkPrompt looks for texts in the messages of a request from the given one on, each written as role and content.
func checkPrompt(t *testing.T, r sent, from int, want []string) {
	t.Helper()
	if len(r.Tools) != 0 {
		t.Errorf("tools were sent to a model that takes text: %s", r.Tools)
	}
	var b strings.Builder
	for _, m := range r.Messages[from:] {
		b.WriteString(m.Role + " " + m.Content + "\n")
	}
	for _, text := range want {
		if !strings.Contains(b.String(), text) {
			t.Errorf("%q does not stand in\n%s", text, &b)
		}
	}
}

func TestComposeFallback(t *testing.T) {
	down, up := newServer(t, ""), newServer(t, "from the second")
	down.status = http.StatusBadGateway
	s, err := compose(t, `
backends:
  down: {url: "URL", retry: {attempts: 1}}
  up: {url: "`+up.URL+`/v1"}
models:
  first: {backend: down, fallback: [second]}
  second: {backend: up, model: real}
`, down.URL)
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(t, s, "first", ""); got != "from the second" {
		t.Errorf("got %q", got)
	}
	if len(down.requests) != 1 || len(up.requests) != 1 || up.requests[0].Model != "real" {
		t.Errorf("%d and %d requests", len(down.requests), len(up.requests))
	}
}

// TestComposeLimit checks that all models on a backend share its places.
func TestComposeLimit(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		asked <- struct{}{}
		<-release
		io.WriteString(w,
			`{"choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"hi"}}]}`)
	}))
	defer srv.Close()
	s, err := compose(t,
		"backends: {s: {url: \"URL\", concurrent: 1, queue: 0, retry: {attempts: 1}}}\nmodels: {m: {backend: s}, n: {backend: s}}\n", srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	first := make(chan string)
	go func() { first <- ask(t, s, "m", "") }()
	<-asked
	if got := ask(t, s, "n", ""); !strings.HasPrefix(got, "error overloaded") {
		t.Errorf("beside another request: got %q", got)
	}
	close(release)
	if got := <-first; got != "hi" {
		t.Errorf("got %q", got)
	}
}

func TestComposeRetry(t *testing.T) {
	srv := newServer(t, "")
	srv.status = http.StatusServiceUnavailable
	s, err := compose(t, "backends: {s: {url: \"URL\", retry: {attempts: 2}}}\nmodels: {m: {backend: s}}\n", srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(t, s, "m", ""); !strings.HasPrefix(got, "error ") {
		t.Errorf("got %q", got)
	}
	if len(srv.requests) != 2 {
		t.Errorf("%d requests, want 2", len(srv.requests))
	}
}

func TestComposeScripted(t *testing.T) {
	dir := t.TempDir()
	text := "wield: scenario/v1\nname: one\nturns:\n  - id: any\n    when: {}\n    reply: [{text: I am one}]\n"
	if err := os.WriteFile(filepath.Join(dir, "one.scenario.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := compose(t, "backends: {dir: {kind: script, scenario: \""+dir+"\"}, file: {kind: script, scenario: \""+dir+
		"/one.scenario.yaml\"}, name: {kind: script, scenario: success}}\n"+
		"models: {one: {backend: dir}, other: {backend: dir, model: one}, file: {backend: file}, name: {backend: name}}\n", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "other", "file"} {
		if got := ask(t, s, name, ""); got != "I am one" {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if got := ask(t, s, "name", ""); got == "" || strings.HasPrefix(got, "error") {
		t.Errorf("got %q", got)
	}
}

// TestComposeDialect checks that a scenario writes its calls in the dialect that the model is taught.
func TestComposeDialect(t *testing.T) {
	file := filepath.Join(t.TempDir(), "calls.scenario.yaml")
	text := "wield: scenario/v1\nname: calls\nturns:\n  - id: any\n    when: {}\n    reply: [{call: {name: get_weather, args: {city: Paris}}}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"auto": "```json\n", "hermes": "<tool_call>\n",
		"yaml-style": "TOOL: get_weather\n"} {
		s, err := compose(t, "backends: {s: {kind: script, scenario: \""+file+
			"\"}}\nmodels: {m: {backend: s, mode: text, dialect: "+name+"}}\n", "")
		if err != nil {
			t.Fatal(err)
		}
		if got, raw := ask(t, s, "m", ""), rawOf(t, s, "m"); !strings.HasPrefix(got, "[get_weather{") ||
			!strings.Contains(got, "Paris") || !strings.HasPrefix(raw, want) {
			t.Errorf("%s: got %q from %q", name, got, raw)
		}
	}
}

// rawOf returns what the model behind a bridge writes.
func rawOf(t *testing.T, s *Service, name string) string {
	t.Helper()
	req := &chat.Request{Model: name, Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("hello")}},
		Tools: []chat.Tool{{Name: "get_weather"}}}
	raw := ""
	for e, err := range modelOf(t, s, name).Model.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == chat.KindRaw {
			raw += e.Text
		}
	}
	return raw
}

// TestBrokenSchema sends a tool whose schema is broken through the whole service, and one whose pattern is only beyond
// it.
func TestBrokenSchema(t *testing.T) {
	upstream := newServer(t, "hi")
	s, err := compose(t, "backends: {s: {url: \"URL\"}}\nmodels: {m: {backend: s, mode: text}}\n", upstream.URL)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(gateway.New(s.Gateway))
	defer srv.Close()
	post := func(path, body string) (int, string) {
		resp, err := http.Post(srv.URL+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	const broken = `{"type":"object","properties":{"a":{"type":"strin"}}}`
	const completion = `{"model":"m","messages":[{"role":"user","content":"x"}],
		"tools":[{"type":"function","function":{"name":"f","parameters":%s}}],"stream":%v}`
	for _, c := range []struct{ path, body, param string }{
		{"/v1/chat/completions", fmt.Sprintf(completion, broken, false), "tools[0].function.parameters"},
		{"/v1/chat/completions", fmt.Sprintf(completion, broken, true), "tools[0].function.parameters"},
		{"/v1/responses", `{"model":"m","input":"x","tools":[{"type":"function","name":"f","parameters":` + broken +
			`}]}`, "tools[0].parameters"},
	} {
		status, body := post(c.path, c.body)
		var got struct {
			Error struct{ Message, Type, Param, Code string }
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil || status != http.StatusBadRequest ||
			got.Error.Type != "invalid_request_error" || got.Error.Param != c.param ||
			got.Error.Code != "invalid_function_parameters" ||
			!strings.Contains(got.Error.Message, `"f" are no JSON Schema: at /properties/a/type: `) {
			t.Errorf("%s: %d %s", c.path, status, body)
		}
	}
	if len(upstream.requests) != 0 {
		t.Errorf("the server was asked %d times", len(upstream.requests))
	}
	if status, body := post("/v1/chat/completions", fmt.Sprintf(completion,
		`{"type":"object","properties":{"a":{"pattern":"^(?!x)"}}}`, false)); status != http.StatusOK ||
		!strings.Contains(body, "hi") {
		t.Errorf("a pattern: %d %s", status, body)
	}
}

func TestComposeErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"key of a client", "keys: [{name: ha, secret: env:HA}]\n", "key ha: env:HA: the variable is not set"},
		{"key of a backend", "backends: {s: {url: \"URL\", key: env:K}}\nmodels: {m: {backend: s}}\n",
			"backends.s.key: env:K: the variable is not set"},
		{"header of a backend",
			"backends: {s: {url: \"URL\", headers: {X-Key: \"file:none\"}}}\nmodels: {m: {backend: s}}\n",
			"backends.s.headers.X-Key: file:none: no such file"},
		{"scenario", "backends: {s: {kind: script, scenario: sucess}}\nmodels: {m: {backend: s}}\n",
			`backends.s.scenario: there is no scenario "sucess"`},
		{"scenario in a fallback",
			"backends: {s: {kind: script, scenario: success}, b: {kind: script, scenario: none.scenario.yaml}}\nmodels: {m: {backend: s, fallback: [n]}, n: {backend: b}}\n", "backends.b.scenario: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := compose(t, c.text, "http://127.0.0.1:1")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
