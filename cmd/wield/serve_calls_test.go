package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestServePTK: a model under the dialect ptk is taught its tags and gets results in them, as JSON where they
// are JSON. What it wrote as a call and is none is text, and stands in the log.
func TestServePTK(t *testing.T) {
	asked := make(chan string, 1)
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked <- string(body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w,
			`{"choices":[{"message":{"role":"assistant","content":"<PTK_CALL>{invalid json}</PTK_CALL>"},"finish_reason":"stop"}]}`)
	}))
	defer model.Close()
	s := start(t, nil, "--upstream", model.URL+"/v1", "--model", "m", "--mode", "text", "--dialect", "ptk")
	status, answer := post(t, s.base, `{"model":"m","messages":[{"role":"user","content":"List them."},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"list_files","arguments":"{\"directory\":\".\"}"}}]},
		{"role":"tool","tool_call_id":"c1","content":"{\"files\":[\"a.ts\"],\"count\":1}"}],
		"tools":[{"type":"function","function":{"name":"list_files","parameters":{"type":"object","properties":{"directory":{"type":"string"}},"required":["directory"]}}}]}`)
	if status != 200 || !strings.Contains(answer, `{invalid json}`) || strings.Contains(answer, "tool_calls") {
		t.Errorf("the client gets %d %s", status, answer)
	}
	saw := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\"`, `"`, `\\`, `\`).Replace(<-asked)
	for _, want := range []string{"<PTK_CALL>",
		`PTK_RESULT: {"success":true,"data":{"files":["a.ts"],"count":1},"error":null`} {
		if !strings.Contains(saw, want) {
			t.Errorf("the model is not told %s:\n%s", want, saw)
		}
	}
	if strings.Contains(saw, "TOOL_CALL>") {
		t.Errorf("the prompt shows other tags:\n%s", saw)
	}
	s.end(t, 0)
	if log := s.stderr.String(); !strings.Contains(log, "a call is read as text") ||
		!strings.Contains(log, "malformed") {
		t.Errorf("the log says\n%s", log)
	}
}
