package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"wield/chat"
	"wield/model/ollama"
	"wield/model/openai"
)

const (
	ollamaHello  = `{"model":"m:latest","messages":[{"role":"user","content":"hello"}],"stream":false}`
	ollamaStream = `{"model":"m","messages":[{"role":"user","content":"hello"}]}`
)

// ollamaLine holds the parts of an Ollama answer that are checked.
type ollamaLine struct {
	Model   string
	Message *struct {
		Role, Content, Thinking string
		ToolCalls               []struct {
			ID       string
			Function struct {
				Name      string
				Arguments map[string]any
			}
		} `json:"tool_calls"`
	}
	Response *string
	Done     bool
	Reason   string `json:"done_reason"`
	Error    string
}

func ollamaLines(t *testing.T, body string) (lines []ollamaLine) {
	t.Helper()
	for text := range strings.Lines(body) {
		var l ollamaLine
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		lines = append(lines, l)
	}
	return lines
}

func TestOllamaChat(t *testing.T) {
	answer := append([]chat.Event{{Kind: chat.KindReasoning, Text: "hm"}, text("Let me. ")},
		append(call(0, "c1", "f", `{"x"`, `:1}`), call(1, "c2", "g", `{}`)...)...)
	srv := serve(t, one(says(answer...)))

	resp, body := send(t, srv, "POST", "/api/chat", ollamaHello)
	whole := ollamaLines(t, body)[0]
	m := whole.Message
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/json" || !whole.Done ||
		whole.Reason != "stop" || whole.Model != "m" || m.Content != "Let me. " || m.Thinking != "hm" ||
		len(m.ToolCalls) != 2 || m.ToolCalls[0].Function.Arguments["x"] != 1.0 || m.ToolCalls[1].ID != "c2" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}

	resp, body = send(t, srv, "POST", "/api/chat", ollamaStream)
	lines := ollamaLines(t, body)
	var content string
	var names []string
	for i, l := range lines {
		content += l.Message.Content
		for _, c := range l.Message.ToolCalls {
			names = append(names, c.Function.Name)
		}
		if l.Done != (i == len(lines)-1) || l.Message.Role != "assistant" {
			t.Errorf("line %d: %+v", i, l)
		}
	}
	if resp.Header.Get("Content-Type") != "application/x-ndjson" || content != "Let me. " ||
		strings.Join(names, " ") != "f g" {
		t.Errorf("%v\n%s", resp.Header, body)
	}
}

func TestOllamaGenerate(t *testing.T) {
	srv := serve(t, one(says(text("a"), text("b"))))
	_, body := send(t, srv, "POST", "/api/generate", `{"model":"m","prompt":"hello"}`)
	lines := ollamaLines(t, body)
	if *lines[0].Response+*lines[1].Response != "ab" || !lines[len(lines)-1].Done {
		t.Error(body)
	}
	if _, body = send(t, srv, "POST", "/api/generate", `{"model":"m","prompt":"hello","stream":false}`); *ollamaLines(
		t, body)[0].Response != "ab" {
		t.Error(body)
	}
}

// Whatever is wrong is an object with a text, and no client's fault is ever a fault of the service.
func TestOllamaErrors(t *testing.T) {
	srv := serve(t, one(says(text("a"))))
	for _, c := range []struct {
		method, path, body string
		status             int
		part               string
	}{
		{"POST", "/api/chat", `{"model":`, 400, "not valid JSON"},
		{"POST", "/api/chat", ``, 400, "empty"},
		{"POST", "/api/chat", `{"model":"m","messages":"x"}`, 400, "messages"},
		{"POST", "/api/chat", `{"model":"m","messages":[{"role":"system","content":"x"}]}`, 400, "role user"},
		{"POST", "/api/chat", `{"model":"none","messages":[{"role":"user","content":"x"}]}`, 404, "none"},
		{"POST", "/api/generate", `{"model":"m","prompt":"a","raw":true}`, 400, "raw"},
		{"POST", "/api/generate", `{"model":"m","prompt":"a","context":[1,2]}`, 400, "context"},
		{"POST", "/api/show", `{"model":"none"}`, 404, "none"},
		{"POST", "/api/show", `[]`, 400, "object"},
		{"POST", "/api/pull", `{"model":"x"}`, 501, "configuration"},
		{"DELETE", "/api/delete", `{"model":"x"}`, 501, "configuration"},
		{"GET", "/api/chat", ``, 405, "GET"},
	} {
		resp, body := send(t, srv, c.method, c.path, c.body)
		if l := ollamaLines(t, body)[0]; resp.StatusCode != c.status || !strings.Contains(l.Error, c.part) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, resp.StatusCode, body)
		}
	}
}

// A model's error has its status and its wait, or is the last line of a stream that had begun.
func TestOllamaModelErrors(t *testing.T) {
	limit := &chat.Error{Kind: chat.ErrRateLimit, Status: 429, Code: "2028",
		Message: "Weekly limit reached (Code: 2028)", RetryAfter: time.Hour}
	srv := serve(t, one(fails(limit)))
	for _, request := range []string{ollamaHello, ollamaStream} {
		resp, body := send(t, srv, "POST", "/api/chat", request)
		if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "3600" ||
			body != `{"error":"Weekly limit reached (Code: 2028)"}` {
			t.Errorf("%d %v %s", resp.StatusCode, resp.Header, body)
		}
	}
	srv = serve(t, one(fails(&chat.Error{Kind: chat.ErrUnavailable, Message: "broke off"}, text("a"), idle())))
	_, body := send(t, srv, "POST", "/api/chat", ollamaStream)
	if lines := ollamaLines(t, body); len(lines) != 2 || lines[1].Error != "broke off" {
		t.Error(body)
	}
}

func TestOllamaModels(t *testing.T) {
	o := one(says())
	o.Models = append(o.Models, Model{Name: "other", Model: says()})
	o.Keys = []Key{{Name: "a", Hash: HashKey("secret"), Models: []string{"m"}}}
	srv := serve(t, o)
	for _, c := range []struct{ method, path, body, part string }{
		{"GET", "/api/tags", "", `"name":"m"`},
		{"GET", "/api/ps", "", `"expires_at":"`},
		{"POST", "/api/show", `{"name":"m:latest"}`, `"capabilities":["completion","tools"]`},
		{"GET", "/api/version", "", `{"version":"` + ollamaVersion},
		{"POST", "/api/chat", `{"model":"m"}`, `"done_reason":"load"`},
		{"POST", "/api/generate", `{"model":"m","keep_alive":0}`, `"response":"","done_reason":"unload"`},
	} {
		resp, body := send(t, srv, c.method, c.path, c.body, "Authorization", "Bearer secret")
		if resp.StatusCode != 200 || !strings.Contains(body, c.part) || strings.Contains(body, "other") {
			t.Errorf("%s: %d %s", c.path, resp.StatusCode, body)
		}
	}
	if resp, body := send(t, srv, "GET", "/api/tags", ""); resp.StatusCode != 401 ||
		ollamaLines(t, body)[0].Error == "" {
		t.Errorf("without a key: %d %s", resp.StatusCode, body)
	}
}

// TestOllamaRelay: what needs the bare prompt goes to a server of the same protocol as it is, as embeddings do; other
// servers have no place for it.
func TestOllamaRelay(t *testing.T) {
	var got string
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = r.URL.Path + " " + string(b)
		fmt.Fprint(w, `{"response":"c"}`)
	}))
	m, other := ollama.New(ollama.Options{URL: backend.URL}), openai.New(openai.Options{URL: backend.URL + "/v1"})
	t.Cleanup(func() { m.Close(); other.Close(); backend.Close() })
	srv := serve(t,
		Options{Models: []Model{{Name: "m", Model: m, Relay: m, Upstream: "there", Speaks: chat.ProtocolOllama},
			{Name: "other", Model: other, Relay: other, Speaks: chat.ProtocolOpenAI}}})
	for _, c := range []struct{ path, body, want string }{
		{"/api/generate", `{"model":"m:latest","prompt":"a","suffix":"b","stream":false}`,
			`/api/generate {"model":"there","prompt":"a","suffix":"b","stream":false}`},
		{"/api/generate", `{"model":"m","prompt":"a","raw":true}`,
			`/api/generate {"model":"there","prompt":"a","raw":true}`},
		{"/api/generate", `{"model":"m","prompt":"a","context":[1,2]}`,
			`/api/generate {"model":"there","prompt":"a","context":[1,2]}`},
		{"/api/embed", `{"model":"m:latest","input":"a"}`, `/api/embed {"model":"there","input":"a"}`},
	} {
		resp, body := send(t, srv, "POST", c.path, c.body)
		if resp.StatusCode != 200 || body != `{"response":"c"}` || got != c.want {
			t.Errorf("%s: %d %s, the server got %s", c.body, resp.StatusCode, body, got)
		}
	}
	resp, body := send(t, srv, "POST", "/api/generate", `{"model":"other","prompt":"a","raw":true}`)
	if resp.StatusCode != 400 || !strings.HasPrefix(ollamaLines(t, body)[0].Error, "raw: ") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// TestShow: an Ollama server is asked what a model can do; wield adds tools, and takes away what it is configured to.
func TestShow(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		switch r.URL.Path + " " + string(b) {
		case `/api/show {"model":"sees"}`:
			fmt.Fprint(w, `{"capabilities":["completion","vision","thinking"]}`)
		case `/api/show {"model":"embeds"}`:
			fmt.Fprint(w, `{"capabilities":["embedding"]}`)
		default:
			http.NotFound(w, r)
		}
	}))
	m, claude := ollama.New(ollama.Options{URL: backend.URL}), openai.New(openai.Options{URL: backend.URL + "/v1"})
	t.Cleanup(func() { m.Close(); claude.Close(); backend.Close() })
	model := func(name, upstream string) Model {
		return Model{Name: name, Model: m, Relay: m, Upstream: upstream, Speaks: chat.ProtocolOllama, Thinking: true}
	}
	blind, off := model("blind", "sees"), model("off", "sees")
	blind.NoImages, blind.Thinking, off.NoTools = true, false, true
	srv := serve(t,
		Options{Models: []Model{model("sees", "sees"), model("embeds", "embeds"), blind, off, model("gone", "gone"),
			{Name: "claude", Model: claude, Relay: claude, Speaks: chat.ProtocolAnthropic},
			{Name: "other", Model: claude, Relay: claude, Speaks: chat.ProtocolOpenAI}}})
	for name, want := range map[string]string{
		"sees": `["completion","vision","thinking","tools"]`, "embeds": `["embedding"]`,
		"blind": `["completion","tools"]`, "off": `["completion","vision","thinking"]`,
		"gone": `["completion","thinking","tools"]`, "claude": `["completion","vision","tools"]`,
		"other": `["completion","tools"]`,
	} {
		if _, body := send(t, srv, "POST", pathShow, `{"model":"`+name+`"}`); !strings.Contains(body,
			`"capabilities":`+want) {
			t.Errorf("%s: %s, want %s", name, body, want)
		}
	}
}
