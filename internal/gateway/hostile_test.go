package gateway

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"wield/bridge"
	"wield/chat"
)

// hostileBodies are requests that use much of each protocol.
var hostileBodies = map[string]string{
	pathCompletions: `{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"1"}],
		"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object","properties":{"x":{"type":"string"}}},"strict":true}}],"tool_choice":"auto",
		"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object"}}},"stop":["a"],"stream_options":{"include_usage":true}}`,
	pathResponses: `{"model":"m","instructions":"x","input":[{"role":"user","content":[{"type":"input_text","text":"hi"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},
		{"type":"function_call_output","call_id":"c","output":"1"},{"type":"reasoning","summary":[{"type":"summary_text","text":"x"}]}],
		"tools":[{"type":"function","name":"f","parameters":{"type":"object"}},{"type":"namespace","name":"n","tools":[{"type":"function","name":"g"}]}],
		"tool_choice":{"type":"function","name":"g"},"text":{"format":{"type":"text"}},"reasoning":{"effort":"low"},"store":true,"include":["x"]}`,
	pathMessages: `{"model":"m","max_tokens":5,"system":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}],"messages":[
		{"role":"user","content":[{"type":"text","text":"hi"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]},
		{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"s"},{"type":"tool_use","id":"c","name":"f","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"1"}]}]}],
		"tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":"auto"},"thinking":{"type":"enabled","budget_tokens":2000},"metadata":{"user_id":"u"},"output_config":{"effort":"high"}}`,
	pathChat: `{"model":"m","messages":[{"role":"user","content":"hi","images":["AAAA"]},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{}}}]},
		{"role":"tool","tool_name":"f","content":"1"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}],"think":true,"format":"json",
		"options":{"temperature":0,"num_ctx":5,"stop":["x"]},"keep_alive":"5m"}`,
	"/api/generate":   `{"model":"m","prompt":"hi","system":"x","images":["AAAA"],"suffix":"","raw":false,"context":[1]}`,
	pathCountTokens:   `{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
	pathConversations: `{"items":[{"role":"user","content":"x"}],"metadata":{"a":"b"}}`,
	"/api/show":       `{"model":"m"}`,
}

// hostileValues stand in the place of any value.
var hostileValues = []string{`null`, `true`, `5`, `-1`, `1e400`, `0.5`, `1000000000000000000000000000000`, `""`, `"."`,
	`"\u0000"`, `"zzz"`, `"\ud800"`, `[]`, `{}`, `[[]]`, `[null]`, `{"a":null}`, `[{}]`, `{"type":"zzz"}`,
	`{"type":null}`, `["a",5]`, `"` + strings.Repeat("x", 5000) + `"`}

// TestNeverAServerError puts each of these values in the place of each value of a request, and takes each away.
// Whatever comes of it, the client is answered or told what is wrong, in every protocol, in front of a model that reads
// text and one that has tools.
func TestNeverAServerError(t *testing.T) {
	var gateways []*Gateway
	for _, mode := range []bridge.Mode{bridge.ModeText, bridge.ModeNative} {
		gateways = append(gateways,
			New(one(bridge.New(says(text("hi"), finish(chat.FinishStop)), bridge.Options{Mode: mode}))))
	}
	for _, path := range slices.Sorted(maps.Keys(hostileBodies)) {
		var body any
		if err := json.Unmarshal([]byte(hostileBodies[path]), &body); err != nil {
			t.Fatal(err)
		}
		n := 0
		mutate(body, func(sent []byte) {
			n++
			expectAnswer(t, gateways[n%len(gateways)], path, sent)
		})
		if n < 20 {
			t.Errorf("%s: only %d requests", path, n)
		}
	}
}

// expectAnswer sends a body and checks that the answer is one, or an error that the client is to blame for, with a
// message.
func expectAnswer(t *testing.T, h http.Handler, path string, body []byte) {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest("POST", "http://localhost"+path, io.NopCloser(bytes.NewReader(body)))
	r.Header.Set("Content-Type", "application/json")
	h.ServeHTTP(w, r)
	switch {
	case w.Code == http.StatusOK:
	case w.Code != http.StatusBadRequest && w.Code != http.StatusNotFound:
		t.Errorf("%s %.300s: status %d: %s", path, body, w.Code, w.Body)
	case !json.Valid(w.Body.Bytes()) || !strings.Contains(w.Body.String(), `"error":`):
		t.Errorf("%s %.300s: no error of the protocol: %s", path, body, w.Body)
	}
}

// mutate calls send with the text of body in every mutated form. body is the same afterwards.
func mutate(body any, send func([]byte)) {
	out := func() {
		b, err := json.Marshal(body)
		if err != nil {
			panic(err) // it was made of JSON
		}
		send(b)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				old := v[k]
				for _, value := range hostileValues {
					v[k] = json.RawMessage(value)
					out()
				}
				delete(v, k)
				out()
				v[k] = old
				walk(old)
			}
		case []any:
			for i, old := range v {
				for _, value := range hostileValues {
					v[i] = json.RawMessage(value)
					out()
				}
				v[i] = old
				walk(old)
			}
		}
	}
	walk(body)
}
