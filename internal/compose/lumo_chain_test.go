package compose

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"wield/internal/gateway"
	"wield/internal/script"
	"wield/internal/scriptserver"
)

// A lumoChain is a service in front of a scripted Lumo.
type lumoChain struct {
	url string

	mu   sync.Mutex
	sent []string // to Lumo
}

// chain starts one with the catalogue's scenario of this name, or with the text of one. options is what the file says
// of the backend's Lumo and of the model.
func chain(t *testing.T, scenario, lumo, options string) *lumoChain {
	t.Helper()
	discard := slog.New(slog.DiscardHandler)
	live, err := script.Find(script.Catalogue(""), scenario, discard)
	if strings.Contains(scenario, "\n") {
		file := filepath.Join(t.TempDir(), "t.scenario.yaml")
		if err := os.WriteFile(file, []byte("wield: scenario/v1\nname: t\nbackend: {speaks: lumo}\n"+scenario),
			0o600); err != nil {
			t.Fatal(err)
		}
		live, err = script.Open(file, discard)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := &lumoChain{}
	played := scriptserver.New(scriptserver.Options{Scenarios: []*script.Live{live}, Speaks: script.SpeaksLumo})
	back := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c.mu.Lock()
		c.sent = append(c.sent, string(body))
		c.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		played.ServeHTTP(w, r)
	}))
	t.Cleanup(back.Close)
	service, err := compose(t, "backends: {l: {kind: lumo, url: \"URL\", retry: {attempts: 1}, lumo: {"+lumo+
		"}}}\nmodels: {lumo: {backend: l"+options+"}}\n", back.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(gateway.New(service.Gateway))
	t.Cleanup(front.Close)
	c.url = front.URL
	return c
}

func (c *lumoChain) post(t *testing.T, path, body string) (*http.Response, string) {
	t.Helper()
	resp, err := http.Post(c.url+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(answer)
}

const offered = `"tools":[{"type":"function","function":{"name":"GetLiveContext","parameters":{"type":"object","properties":{}}}},
	{"type":"function","function":{"name":"web_search","parameters":{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}}}]`

// asking returns a chat completion request that offers the first n of the tools.
func asking(text string, tools, stream bool) string {
	body := `{"model":"lumo","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"` + text +
		`"}]`
	if tools {
		body += `,"tools":[{"type":"function","function":{"name":"GetLiveContext","parameters":{"type":"object","properties":{}}}}]`
	}
	if stream {
		body += `,"stream":true`
	}
	return body + "}"
}

// spoken is the answer of a chat completion, whole or streamed, put together.
type spoken struct {
	Content     string
	Calls       []string
	Finish      string
	Annotations []json.RawMessage
}

func hear(t *testing.T, body string) (s spoken) {
	t.Helper()
	type message struct {
		Content   string
		ToolCalls []struct {
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
		Annotations []json.RawMessage
	}
	chunks := []string{body}
	if strings.HasPrefix(body, "data: ") {
		chunks = strings.Split(strings.TrimSpace(body), "\n\n")
	}
	for _, chunk := range chunks {
		chunk = strings.TrimPrefix(chunk, "data: ")
		if chunk == "[DONE]" {
			continue
		}
		var b struct {
			Choices []struct {
				Message, Delta message
				FinishReason   string `json:"finish_reason"`
			}
		}
		if err := json.Unmarshal([]byte(chunk), &b); err != nil {
			t.Fatalf("%v in %s", err, chunk)
		}
		for _, c := range b.Choices {
			for _, m := range []message{c.Message, c.Delta} {
				s.Content += m.Content
				s.Annotations = append(s.Annotations, m.Annotations...)
				for _, call := range m.ToolCalls {
					if call.Function.Name != "" {
						s.Calls = append(s.Calls, call.Function.Name)
					}
				}
			}
			s.Finish += c.FinishReason
		}
	}
	return s
}

// eachWay runs f in both versions of Lumo's protocol, streamed and whole.
func eachWay(t *testing.T, f func(t *testing.T, version string, stream bool)) {
	for _, version := range []string{"1", "2"} {
		for _, stream := range []bool{false, true} {
			name := "v" + version + " whole"
			if stream {
				name = "v" + version + " streamed"
			}
			t.Run(name, func(t *testing.T) { f(t, version, stream) })
		}
	}
}

const latestNews = `
turns:
  - id: news
    when: {user_contains: latest AI news}
    reply:
      - text: "Let me look. "
      - target: {tool_call: '{"name":"web_search","parameters":{"query":"latest AI news"}}'}
      - target: {tool_result: '{"results":[{"title":"A model that calls tools","url":"https://news.example/1","description":"It does."}],"total_count":1}'}
      - text: "The latest AI news: a model that calls tools."
`

// TestLatestAINews_A65: a native search answers "latest AI news" while a tool of the client is on offer as well; what
// it found is an event and, for a model that is configured so, an annotation (A-18 to A-20: seen from
// outside).
func TestLatestAINews_A65(t *testing.T) {
	eachWay(t, func(t *testing.T, version string, stream bool) {
		c := chain(t, latestNews, "enableWebSearch: true, version: "+version, ", native: {annotations: true}")
		_, body := c.post(t, "/v1/chat/completions", asking("What is the latest AI news?", true, stream))
		s := hear(t, body)
		if s.Content != "Let me look. The latest AI news: a model that calls tools." || len(s.Calls) > 0 ||
			s.Finish != "stop" {
			t.Errorf("%+v", s)
		}
		if len(s.Annotations) != 2 ||
			!strings.Contains(string(s.Annotations[0]),
				`"name":"web_search","arguments":"{\"query\":\"latest AI news\"}"`) ||
			!strings.Contains(string(s.Annotations[1]), `"url":"https://news.example/1"`) {
			t.Errorf("annotations: %s", s.Annotations)
		}
		if !strings.Contains(c.sent[0], "web_search") || !strings.Contains(c.sent[0], "user:GetLiveContext") {
			t.Errorf("sent %s", c.sent[0])
		}

		c = chain(t, latestNews, "version: "+version, "")
		_, body = c.post(t, "/v1/chat/completions", asking("What is the latest AI news?", false, stream))
		if strings.Contains(body, "annotations") || strings.Contains(c.sent[0], "web_search") {
			t.Errorf("off: %s after %s", body, c.sent[0])
		}
	})
}

// TestConfused_A47: the client's tool is called natively. The client sees the corrected call and nothing of the apology
// Lumo sees its answer so far and the correction with the call in JSON (A-44, AR-11, AR-12), the instructions
// again, and one request more, not two.
func TestConfused_A47(t *testing.T) {
	eachWay(t, func(t *testing.T, version string, stream bool) {
		c := chain(t, "confusedToolCall", "version: "+version, "")
		resp, body := c.post(t, "/v1/chat/completions", asking("Which lights are on?", true, stream))
		s := hear(t, body)
		bounces := resp.Header.Get("X-Wield-Bounces") + resp.Trailer.Get("X-Wield-Bounces")
		if strings.Join(s.Calls, " ") != "GetLiveContext" || s.Finish != "tool_calls" || s.Content != "" ||
			bounces != "1" {
			t.Errorf("%s bounces: %+v", bounces, s)
		}
		if len(c.sent) != 2 {
			t.Fatalf("%d requests", len(c.sent))
		}
		type turn struct{ Role, Content string }
		var sent struct {
			Messages []turn
			Prompt   struct{ Turns []turn }
		}
		if err := json.Unmarshal([]byte(c.sent[1]), &sent); err != nil {
			t.Fatal(err)
		}
		turns := append(sent.Messages, sent.Prompt.Turns...)
		last := turns[len(turns)-1]
		if !strings.HasPrefix(turns[0].Content, "[Project instructions: ") ||
			!strings.HasSuffix(turns[0].Content, "]\n\nWhich lights are on?") || last.Role != "user" ||
			!strings.HasSuffix(last.Content, "{\n  \"name\": \"user:GetLiveContext\",\n  \"arguments\": {}\n}") {
			t.Errorf("%+v", turns)
		}
	})
}

// TestCustomBesideNative_A65: a native search and a call of the client's tool in one answer.
func TestCustomBesideNative_A65(t *testing.T) {
	eachWay(t, func(t *testing.T, version string, stream bool) {
		c := chain(t, `
turns:
  - id: both
    when: {}
    reply:
      - target: {tool_call: '{"name":"web_search","parameters":{"query":"x"}}'}
      - target: {tool_result: '{"results":[]}'}
      - text: "Nothing there.\n"
      - {fence: json, call: {name: "user:GetLiveContext", args: {}}}
`, "enableWebSearch: true, version: "+version, ", native: {annotations: true}")
		_, body := c.post(t, "/v1/chat/completions", asking("lights?", true, stream))
		if s := hear(t, body); strings.Join(s.Calls, " ") != "GetLiveContext" ||
			!strings.HasPrefix(s.Content, "Nothing there.") || len(s.Annotations) != 1 || len(c.sent) != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// TestReplaced_A20: a native tool that is replaced is not offered to Lumo as one, and a call of it, if it is made all
// the same, becomes one of the client's tool of that name.
func TestReplaced_A20(t *testing.T) {
	eachWay(t, func(t *testing.T, version string, stream bool) {
		c := chain(t, `
turns:
  - id: corrected
    when: {user_contains: built-in tool system}
    reply: [{fence: json, call: {name: "user:web_search", args: {query: x}}}]
  - id: native
    when: {}
    reply:
      - target: {tool_call: '{"name":"web_search","parameters":{"query":"x"}}'}
      - target: {tool_result: '{"results":[]}'}
      - text: "I found nothing."
`, "enableWebSearch: true, version: "+version, ", native: {replace: [web_search], off: [stock]}")
		body := `{"model":"lumo","messages":[{"role":"user","content":"news?"}],` + offered + `}`
		if stream {
			body = strings.TrimSuffix(body, "}") + `,"stream":true}`
		}
		_, answer := c.post(t, "/v1/chat/completions", body)
		if s := hear(t, answer); strings.Join(s.Calls, " ") != "web_search" || s.Content != "" {
			t.Errorf("%+v", s)
		}
		if natives := `"web_search"`; strings.Contains(c.sent[0], natives+",") ||
			strings.Contains(c.sent[0], `{"name":`+natives) || strings.Contains(c.sent[0], `"stock"`) ||
			!strings.Contains(c.sent[0], `"weather"`) {
			t.Errorf("sent %s", c.sent[0])
		}
	})
}

// TestLumoEnds: what Lumo refuses is refused in the client's own protocol, with its reason and its wait.
func TestLumoEnds(t *testing.T) {
	asks := []struct{ path, body string }{
		{"/v1/chat/completions", `{"model":"lumo","messages":[{"role":"user","content":"hi"}]`},
		{"/v1/responses", `{"model":"lumo","input":"hi"`},
		{"/v1/messages", `{"model":"lumo","max_tokens":9,"messages":[{"role":"user","content":"hi"}]`},
		{"/api/chat", `{"model":"lumo","messages":[{"role":"user","content":"hi"}]`},
	}
	for _, c := range []struct {
		name, scenario string
		status         int
		parts          []string // of the answer, for each protocol
	}{
		{"weeklyLimit",
			"turns: [{id: a, when: {}, reply: [{text: x}]}]\nfaults: [{on: a, do: {status: 429, retry_after: 2h, body: '{\"Code\": 2028, \"Error\": \"Weekly limit reached (Code: 2028)\"}'}}]\n", 429,
			[]string{`"code":"2028"`, `Code: 2028`, `"rate_limit_error"`,
				`{"error":"Weekly limit reached (Code: 2028)"}`}},
		{"rejected", "turns: [{id: a, when: {}, reply: [], finish: rejected}]\n", 400,
			[]string{`"code":"rejected"`, `rejected`, `"invalid_request_error"`, `rejected`}},
		{"timeout", "turns: [{id: a, when: {}, reply: [], finish: {timeout: High demand error}}]\n", 504,
			[]string{`High demand error`, `High demand error`, `High demand error`, `{"error":"High demand error"}`}},
		{"harmful", "turns: [{id: a, when: {}, reply: [{text: No.}], finish: content_filter}]\n", 200,
			[]string{`"finish_reason":"content_filter"`, `"reason":"content_filter"`, `"stop_reason":"refusal"`,
				`"done_reason":"content_filter"`}},
	} {
		for _, version := range []string{"1", "2"} {
			for i, a := range asks {
				for _, stream := range []string{"false", "true"} {
					l := chain(t, c.scenario, "version: "+version, "")
					resp, body := l.post(t, a.path, a.body+`,"stream":`+stream+`}`)
					if resp.StatusCode == http.StatusNotFound && strings.Contains(body, "unknown URL") {
						t.Logf("%s is not served", a.path)
						continue
					}
					if resp.StatusCode != c.status || !strings.Contains(body, c.parts[i]) {
						t.Errorf("%s, version %s, %s, stream %s: %d %s", c.name, version, a.path, stream,
							resp.StatusCode, body)
					}
					if wait := resp.Header.Get("Retry-After"); c.status == 429 && wait != "7200" {
						t.Errorf("%s: wait %q", a.path, wait)
					}
				}
			}
		}
	}
}

// confusedAgain is a Lumo that never learns.
const confusedAgain = `
turns:
  - id: again
    when: {}
    reply:
      - target: {tool_call: '{"name":"user:GetLiveContext","parameters":{"area":"hall"}}{"name":"user:GetLiveContext"}'}
      - target: {tool_result: '{"error":true}'}
      - text: "I don't have access to that tool."
`

// TestConfusedAgain_A11: a second confused call (AR-17: it is not bounced again) becomes a call of the client's tool.
// The apology is shown in neither answer.
func TestConfusedAgain_A11(t *testing.T) {
	eachWay(t, func(t *testing.T, version string, stream bool) {
		c := chain(t, confusedAgain, "version: "+version, "")
		_, body := c.post(t, "/v1/chat/completions", asking("lights?", true, stream))
		if s := hear(t, body); strings.Join(s.Calls, " ") != "GetLiveContext" || s.Content != "" ||
			s.Finish != "tool_calls" || len(c.sent) != 2 {
			t.Errorf("%d requests, %s", len(c.sent), body)
		}
		if !strings.Contains(strings.ReplaceAll(body, `\`, ""), `{"area":"hall"}`) {
			t.Errorf("the arguments are lost: %s", body)
		}
	})
}

// TestSecondOfTwo_A12: of two calls that are glued together the second is the client's.
func TestSecondOfTwo_A12(t *testing.T) {
	eachWay(t, func(t *testing.T, version string, stream bool) {
		c := chain(t, `
turns:
  - id: corrected
    when: {user_contains: built-in tool system}
    reply: [{fence: json, call: {name: "user:GetLiveContext", args: {}}}]
  - id: glued
    when: {}
    reply:
      - target: {tool_call: '{"name":"web_search","parameters":{"query":"x"}}'}
      - target: {tool_call: '{"name":"GetLiveContext","parameters":{}}'}
      - target: {tool_result: '{"results":[]}'}
      - target: {tool_result: '{"error":true}'}
      - text: "I don't have access to that tool."
`, "enableWebSearch: true, version: "+version, "")
		_, body := c.post(t, "/v1/chat/completions", asking("lights?", true, stream))
		if s := hear(t, body); strings.Join(s.Calls, " ") != "GetLiveContext" || s.Content != "" || len(c.sent) != 2 {
			t.Errorf("%s", body)
		}
	})
}

// TestNewNative_A14: a native tool that nobody here has heard of is no confused call, with tools of the client and
// without.
func TestNewNative_A14(t *testing.T) {
	eachWay(t, func(t *testing.T, version string, stream bool) {
		for _, tools := range []bool{false, true} {
			c := chain(t, `
turns:
  - id: image
    when: {}
    reply:
      - target: {tool_call: '{"name":"generate_image","parameters":{"prompt":"a cat"}}'}
      - text: "Here it is."
`, "version: "+version, "")
			_, body := c.post(t, "/v1/chat/completions", asking("a cat", tools, stream))
			if s := hear(t, body); s.Content != "Here it is." || len(s.Calls) > 0 || len(c.sent) != 1 {
				t.Errorf("tools %v: %s", tools, body)
			}
		}
	})
}

// TestPieces_A10: a confused call that arrives in pieces is recognised by its name, so that the apology behind it is
// not shown even to a client that reads along.
func TestPieces_A10(t *testing.T) {
	requests := 0
	back := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		frames := []string{
			`{"choices":[{"delta":{"content":"Let me look. "}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"GetLiveContext"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}`,
			`{"choices":[{"delta":{"content":"I don't have access to that tool."}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}}]}`,
			`{"choices":[{"delta":{},"finish_reason":"stop"}]}`,
		}
		if requests++; requests > 1 {
			frames = []string{
				`{"choices":[{"delta":{"content":"{\"name\": \"user:GetLiveContext\", \"arguments\": {}}"}}]}`}
		}
		rc := http.NewResponseController(w)
		for _, f := range append(frames, "[DONE]") {
			io.WriteString(w, "data: "+f+"\n\n")
			rc.Flush()
		}
	}))
	defer back.Close()
	service, err := compose(t, "backends: {l: {kind: lumo, url: \"URL\"}}\nmodels: {lumo: {backend: l}}\n", back.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(gateway.New(service.Gateway))
	defer front.Close()
	c := &lumoChain{url: front.URL}
	_, body := c.post(t, "/v1/chat/completions", asking("lights?", true, true))
	if s := hear(t, body); strings.Join(s.Calls, " ") != "GetLiveContext" || s.Content != "Let me look. " ||
		requests != 2 {
		t.Errorf("%d requests: %s", requests, body)
	}
}

// TestHistory_AR24: a call and its result of the client's history reach Lumo as text of their turns, which go on in the
// same notation, and the instructions stand in front of the first turn (AR-09) where they cannot be closed (AR-10).
func TestHistory_AR24(t *testing.T) {
	for _, version := range []string{"1", "2"} {
		c := chain(t, "success", "version: "+version, "")
		resp, body := c.post(t, "/v1/chat/completions", `{"model":"lumo","messages":[
			{"role":"system","content":"Be brief.]\n\nand kind"},{"role":"user","content":"lights?"},
			{"role":"assistant","content":"Let me look.","tool_calls":[{"id":"c1","type":"function","function":{"name":"GetLiveContext","arguments":"{\"a\":"}}]},
			{"role":"tool","tool_call_id":"c1","content":"on"},{"role":"user","content":"And now?"}],
			"tools":[{"type":"function","function":{"name":"GetLiveContext"}}]}`)
		if resp.StatusCode != 200 {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
		type turn struct{ Role, Content string }
		var sent struct {
			Messages []turn
			Prompt   struct{ Turns []turn }
		}
		if err := json.Unmarshal([]byte(c.sent[0]), &sent); err != nil {
			t.Fatal(err)
		}
		turns := append(sent.Messages, sent.Prompt.Turns...)
		if first := turns[0].Content; !strings.HasPrefix(first, "[Project instructions: Be brief.]") ||
			!strings.HasSuffix(first, "]\n\nlights?") || strings.Count(first, "]\n") != 1 {
			t.Errorf("%q", turns[0].Content)
		}
		var roles []string
		for _, m := range turns {
			roles = append(roles, m.Role)
		}
		all := c.sent[0]
		for _, part := range []string{"Let me look.", "user:GetLiveContext", "on", "And now?"} {
			if !strings.Contains(all, part) {
				t.Errorf("no %q in %s", part, all)
			}
		}
		if got := strings.Join(roles, " "); got != "user assistant user user" && got != "user assistant user" {
			t.Errorf("roles %s", got)
		}
	}
}
