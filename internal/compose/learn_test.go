package compose

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"wield/chat"
)

// A templateServer serves a model whose name says nothing. It tells its chat template as Ollama or as llama.cpp does.
type templateServer struct {
	show, props string // answers, as JSON; "": there is none
	answer      string
	asked       atomic.Int32
	prompt      atomic.Value // of the last completion
}

func (s *templateServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tell := func(answer string) {
		s.asked.Add(1)
		if answer == "" {
			http.Error(w, "404 page not found", http.StatusNotFound)
			return
		}
		io.WriteString(w, answer)
	}
	switch r.URL.Path {
	case "/api/show":
		tell(s.show)
	case "/props":
		tell(s.props)
	case "/v1/chat/completions":
		body, _ := io.ReadAll(r.Body)
		s.prompt.Store(string(body))
		text, _ := json.Marshal(s.answer)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w,
			"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", text)
	default:
		http.NotFound(w, r)
	}
}

// hunyuanTemplate writes calls in a dialect that nobody would guess, and has no role for tools.
const hunyuanTemplate = `{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% if m.tool_calls %}<tool_calls>{% for c in m.tool_calls %}<tool_call>{{ c.function.name }}<tool_sep>` +
	`{% for k, v in c.function.arguments.items() %}<arg_key>{{ k }}</arg_key><arg_value>{{ v if v is string else v|tojson }}</arg_value>{% endfor %}</tool_call>{% endfor %}</tool_calls>{% endif %}{% endfor %}`

// TestLearnedDialect serves models whose names say nothing: the chat template does, as the server tells it.
func TestLearnedDialect(t *testing.T) {
	props, _ := json.Marshal(map[string]any{"chat_template": hunyuanTemplate, "total_slots": 1})
	show, _ := json.Marshal(
		map[string]any{
			"template": "{{ range .Messages }}<|{{ .Role }}|>{{ .Content }}{{ range .ToolCalls }}<tool_call>\n{\"name\": \"{{ .Function.Name }}\", \"arguments\": {{ .Function.Arguments }}}\n</tool_call>{{ end }}{{ end }}"})
	const call = `<tool_calls><tool_call>tides<tool_sep><arg_key>port</arg_key><arg_value>Ostend</arg_value></tool_call></tool_calls>`
	for _, c := range []struct {
		name, key string
		server    *templateServer
		dialect   string
		asked     int32 // requests for a template, in two turns
	}{
		{name: "llama.cpp", server: &templateServer{props: string(props), answer: call}, dialect: "hunyuan-v3",
			asked: 2},
		{name: "ollama", server: &templateServer{show: string(show),
			answer: `<tool_call>{"name":"tides","arguments":{"port":"Ostend"}}</tool_call>`}, dialect: "hermes",
			asked: 1},
		{name: "neither", server: &templateServer{answer: `{"name":"tides","arguments":{"port":"Ostend"}}`},
			dialect: "auto", asked: 2},
		{name: "another answer", server: &templateServer{show: `{"error":"none"}`,
			answer: `{"name":"tides","arguments":{"port":"Ostend"}}`}, dialect: "auto", asked: 1},
		{name: "a name", key: "model: qwen3, ", server: &templateServer{props: string(props),
			answer: `<tool_call>{"name":"tides","arguments":{"port":"Ostend"}}</tool_call>`}, dialect: "hermes"},
		{name: "a dialect", key: "dialect: json-fence, ", server: &templateServer{props: string(props),
			answer: "```json\n{\"name\":\"tides\",\"arguments\":{\"port\":\"Ostend\"}}\n```"}, dialect: "json-fence"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(c.server)
			defer server.Close()
			r, err := parse(t, "wield: config/v1\nbackends: {local: {url: \""+server.URL+
				"/v1\"}}\nmodels:\n  m: {backend: local, "+c.key+"mode: text}\n")
			if err != nil {
				t.Fatal(err)
			}
			s, err := New(r.Config, Environment{Getenv: env(), Templates: true})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if n := c.server.asked.Load(); n != 0 {
				t.Errorf("asked for %d templates before the first request", n)
			}
			req := &chat.Request{Model: "m", Stream: true, Messages: []chat.Message{{Role: chat.RoleUser,
				Parts: chat.Text("When is high water?")}},
				Tools: []chat.Tool{{Name: "tides",
					Parameters: []byte(`{"type":"object","properties":{"port":{"type":"string"}}}`)}}}
			for range 2 {
				var turn chat.TurnDetail
				var arguments string
				for e, err := range modelOf(t, s, "m").Model.Stream(t.Context(), req) {
					switch {
					case err != nil:
						t.Fatal(err)
					case e.Kind == chat.KindTurnStart:
						turn = *e.Detail.(*chat.TurnDetail)
					case e.Kind == chat.KindCallEnd:
						arguments = e.Detail.(*chat.Call).Arguments
					}
				}
				if turn.Dialect != c.dialect || arguments != `{"port":"Ostend"}` {
					t.Errorf("dialect %q, arguments %s", turn.Dialect, arguments)
				}
				told := strings.Contains(turn.Notice, c.dialect+", which the model's chat template teaches")
				if told != (c.dialect != "auto" && c.key == "") {
					t.Errorf("notice %q", turn.Notice)
				}
			}
			if n := c.server.asked.Load(); n != c.asked {
				t.Errorf("asked for %d templates, want %d", n, c.asked)
			}
			if p := c.server.prompt.Load().(string); c.name == "llama.cpp" && !strings.Contains(p, "arg_key") {
				t.Errorf("the prompt teaches another dialect: %s", p)
			}
		})
	}
}
