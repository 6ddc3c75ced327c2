package compose

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"wield/internal/config"
	"wield/internal/gateway"
	"wield/internal/metrics"
)

// TestSatelliteOnLumo: without declared tools there is nothing to tell Lumo's own from, so that names stand
// without the prefix, in what the client gets and in what Lumo is told.
func TestSatelliteOnLumo(t *testing.T) {
	for _, version := range []string{"1", "2"} {
		c := chain(t, `
turns:
  - id: look
    when: {}
    reply: [{text: '{"tool_request":{"name":"lookup_weather","arguments":{"city":"Lisbon"}}}'}]
`, "version: "+version, ", expose: tool_request")
		_, body := c.post(t, "/v1/chat/completions",
			`{"model":"lumo","conversation_id":"c","messages":[{"role":"user","content":"weather?"}]}`)
		if !strings.Contains(body, `"tool_request":{"name":"lookup_weather","arguments":{"city":"Lisbon"}}`) {
			t.Errorf("version %s: %s", version, body)
		}
		c.post(t, "/v1/chat/completions",
			`{"model":"lumo","conversation_id":"c","messages":[{"role":"tool_result","name":"lookup_weather","content":"clear sky"}]}`)
		if all := strings.Join(c.sent, "\n"); len(c.sent) != 2 || !strings.Contains(all, "clear sky") ||
			strings.Contains(all, "user:") {
			t.Errorf("version %s: sent %s", version, all)
		}
	}
}

// TestPartlyEncrypted_AR38: an answer of which a part is encrypted is an error in every form of answer, and
// no ciphertext is shown.
func TestPartlyEncrypted_AR38(t *testing.T) {
	for version, frames := range map[string][]string{
		"1": {`{"type":"token_data","target":"message","content":"Hello "}`,
			`{"type":"token_data","target":"message","content":"c2VjcmV0","encrypted":true}`, `{"type":"done"}`},
		"2": {`{"choices":[{"delta":{"content":"Hello "}}]}`,
			`{"choices":[{"delta":{"content":"c2VjcmV0","encrypted":true}}]}`,
			`{"choices":[{"delta":{},"finish_reason":"stop"}]}`, `[DONE]`},
	} {
		for _, stream := range []bool{false, true} {
			c := rawChain(t, nil, "version: "+version, frames)
			resp, body := c.post(t, "/v1/chat/completions", asking("hi", false, stream))
			if !strings.Contains(body, "a part of the answer is encrypted") || strings.Contains(body, "c2VjcmV0") ||
				strings.Contains(body, `"finish_reason":"stop"`) ||
				!stream && resp.StatusCode != http.StatusBadGateway {
				t.Errorf("version %s, stream %v: %d %s", version, stream, resp.StatusCode, body)
			}
		}
	}
}

// rawChain is a service in front of a Lumo that always answers with the same frames.
func rawChain(t *testing.T, m *metrics.Metrics, lumo string, frames []string) *lumoChain {
	t.Helper()
	back := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, f := range frames {
			fmt.Fprintf(w, "data: %s\n\n", f)
		}
	}))
	t.Cleanup(back.Close)
	text := "wield: config/v1\nbackends: {l: {kind: lumo, url: \"" + back.URL + "\", retry: {attempts: 1}, lumo: {" +
		lumo + "}}}\nmodels: {lumo: {backend: l}}\n"
	r, err := config.Parse("config.yaml", []byte(text), config.Options{Getenv: env()})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(r.Config, Environment{Getenv: env(), Metrics: m})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	front := httptest.NewServer(gateway.New(s.Gateway))
	t.Cleanup(front.Close)
	return &lumoChain{url: front.URL}
}

const twoConfused = `{"type":"token_data","target":"tool_call","content":"{\"name\":\"GetLiveContext\",\"parameters\":{\"area\":\"hall\"}}{\"name\":\"GetLiveContext\",\"parameters\":{\"area\":\"attic\"}}"}`

// callsOf returns the ids and the arguments of the calls of a whole answer.
func callsOf(t *testing.T, body string) (ids, arguments []string) {
	t.Helper()
	var b struct {
		Choices []struct {
			Message struct {
				ToolCalls []struct {
					ID       string
					Function struct{ Arguments string }
				} `json:"tool_calls"`
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &b); err != nil || len(b.Choices) != 1 {
		t.Fatalf("%v: %s", err, body)
	}
	for _, c := range b.Choices[0].Message.ToolCalls {
		ids, arguments = append(ids, c.ID), append(arguments, c.Function.Arguments)
	}
	return ids, arguments
}

// TestConvertedIDs_A11: calls that are taken over have ids of their own, in one answer and in all of them:
// Lumo has none, or counts from 0 in each.
func TestConvertedIDs_A11(t *testing.T) {
	c := rawChain(t, nil, "version: 1",
		[]string{twoConfused, `{"type":"token_data","target":"message","content":"I cannot."}`, `{"type":"done"}`})
	used := map[string]bool{}
	for range 2 {
		_, body := c.post(t, "/v1/chat/completions", asking("lights?", true, false))
		ids, arguments := callsOf(t, body)
		if strings.Join(arguments, " ") != `{"area":"hall"} {"area":"attic"}` {
			t.Errorf("calls with %v: %s", arguments, body)
		}
		for _, id := range ids {
			if id == "" || used[id] {
				t.Errorf("id %q again", id)
			}
			used[id] = true
		}
	}
}

// TestMisrouted_AR41: /metrics counts every call through the wrong channel, when they are bounced and when they are
// taken over.
func TestMisrouted_AR41(t *testing.T) {
	c := rawChain(t, metrics.New("v"), "version: 1", []string{twoConfused, `{"type":"done"}`})
	c.post(t, "/v1/chat/completions", asking("lights?", true, false))
	resp, err := http.Get(c.url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if want := `wield_tool_calls_total{status="misrouted",tool_name="GetLiveContext",type="custom"} 4`; !strings.Contains(string(text), want+"\n") {
		t.Errorf("no %s", want)
	}
}

// TestTextBehindConverted: a call that stands as text behind one that is taken over is a call as well, and
// the apology between them stays unsaid.
func TestTextBehindConverted(t *testing.T) {
	eachWay(t, func(t *testing.T, version string, stream bool) {
		c := chain(t, `
turns:
  - id: again
    when: {}
    reply:
      - target: {tool_call: '{"name":"user:GetLiveContext","parameters":{"area":"hall"}}'}
      - target: {tool_result: '{"error":true}'}
      - text: "I don't have access to that tool.\n"
      - {fence: json, call: {name: "user:web_search", args: {query: lamps}}}
`, "version: "+version, "")
		body := `{"model":"lumo","messages":[{"role":"user","content":"lights?"}],` + offered
		if stream {
			body += `,"stream":true`
		}
		_, answer := c.post(t, "/v1/chat/completions", body+"}")
		if s := hear(t, answer); strings.Join(s.Calls, " ") != "GetLiveContext web_search" ||
			strings.TrimSpace(s.Content) != "" || s.Finish != "tool_calls" {
			t.Errorf("%s", answer)
		}
	})
}

// TestRefusedNative: the annotation of a native call that Lumo refused has its arguments and says that it failed.
func TestRefusedNative(t *testing.T) {
	eachWay(t, func(t *testing.T, version string, stream bool) {
		c := chain(t, `
turns:
  - id: refused
    when: {}
    reply:
      - target: {tool_call: '{"name":"web_search","parameters":{"query":"x"}}'}
      - target: {tool_result: '{"error":true}'}
      - text: "I may not search."
`, "enableWebSearch: true, version: "+version, ", native: {annotations: true}")
		_, body := c.post(t, "/v1/chat/completions", asking("news?", true, stream))
		s := hear(t, body)
		if len(s.Annotations) != 1 ||
			!strings.Contains(string(s.Annotations[0]), `"name":"web_search","arguments":"{\"query\":\"x\"}"`) ||
			!strings.Contains(string(s.Annotations[0]), `"is_error":true`) || s.Content != "I may not search." {
			t.Errorf("%+v in %s", s, body)
		}
	})
}
