package compose

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"wield/internal/gateway"
)

// TestToolset: the calls of a set of tools that only a server of Messages knows reach the client, which runs them, and
// the server again, with the name of the set.
func TestToolset(t *testing.T) {
	const call = `{"type":"tool_use","id":"t1","name":"screenshot","toolset_name":"computer","input":{"a":1}}`
	var body string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if body = string(b); !strings.Contains(body, `"stream":true`) {
			io.WriteString(w, `{"id":"m","type":"message","role":"assistant","model":"x","content":[`+call+
				`],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, f := range []string{
			`{"type":"message_start","message":{"id":"m","model":"x","usage":{"input_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":` + strings.Replace(call, `{"a":1}`, `{}`, 1) +
				`}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}`,
			`{"type":"message_stop"}`,
		} {
			io.WriteString(w, "data: "+f+"\n\n")
		}
	}))
	t.Cleanup(srv.Close)
	s, err := compose(t, `
backends: {s: {kind: anthropic, url: "URL"}}
models: {a: {backend: s}}
`, srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(gateway.New(s.Gateway))
	t.Cleanup(front.Close)
	const result = `{"type":"tool_result","tool_use_id":"t1","toolset_name":"computer","content":"x"}`
	const set = `{"type":"computer_toolset_20260801"}`
	for _, tools := range []string{set, set + `,{"name":"f","input_schema":{"type":"object"}}`} {
		for _, stream := range []bool{false, true} {
			request := `{"model":"a","max_tokens":9,"tools":[` + tools +
				`],"messages":[{"role":"user","content":"go"},` + `{"role":"assistant","content":[` + call +
				`]},{"role":"user","content":[` + result + `]}]}`
			want := []string{call}
			if stream {
				request = strings.Replace(request, "{", `{"stream":true,`, 1)
				want = []string{`"name":"screenshot","toolset_name":"computer","input":{}}`,
					`"partial_json":"{\"a\":1}"`}
			}
			resp, err := front.Client().Post(front.URL+"/v1/messages", "application/json", strings.NewReader(request))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if dropped := resp.Header.Get("X-Wield-Dropped"); err != nil || dropped != "" {
				t.Errorf("%v, %s is dropped", err, dropped)
			}
			for _, part := range append(want, `"stop_reason":"tool_use"`) {
				if !strings.Contains(string(answer), part) {
					t.Errorf("streamed %v: %s, want %s", stream, answer, part)
				}
			}
			for _, part := range []string{set, `"content":"x","toolset_name":"computer"`} {
				if !strings.Contains(body, part) || strings.Count(body, `"toolset_name":"computer"`) != 2 {
					t.Errorf("%s was sent, want %s", body, part)
				}
			}
		}
	}
}
