package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"wield/bridge"
	"wield/model/openai"
)

// spoken is a server that answers with the deltas given, each a JSON object, one answer after the other. It is always
// asked for streams.
func spoken(t *testing.T, o bridge.Options, answers ...[]string) (*httptest.Server, *atomic.Int32) {
	t.Helper()
	return spokenAs(t, openai.Options{AlwaysStream: true}, o, answers...)
}

// spokenAs is the same with a model of one's own before it. Who asks for no stream gets the deltas in one body.
func spokenAs(t *testing.T, backendOptions openai.Options, o bridge.Options, answers ...[]string) (*httptest.Server,
	*atomic.Int32) {
	t.Helper()
	var asked atomic.Int32
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Stream bool `json:"stream"`
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Error(err)
		}
		io.Copy(io.Discard, r.Body)
		n := int(asked.Add(1)) - 1
		deltas := answers[min(n, len(answers)-1)]
		if !req.Stream {
			fmt.Fprintf(w,
				`{"choices":[{"index":0,"message":%s,"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`, joined(t, deltas))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, delta := range deltas {
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", delta)
		}
		io.WriteString(w,
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":5,"completion_tokens":2}}`+"\n\ndata: [DONE]\n\n")
	}))
	backendOptions.URL = backend.URL + "/v1"
	m := openai.New(backendOptions)
	t.Cleanup(func() {
		m.Close()
		backend.Close()
	})
	return serve(t, one(bridge.New(m, o))), &asked
}

// joined is the message that deltas make.
func joined(t *testing.T, deltas []string) []byte {
	t.Helper()
	type call struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}
	type said struct {
		Role      string `json:"role"`
		Content   string `json:"content"`
		Reasoning string `json:"reasoning_content,omitempty"`
		Calls     []call `json:"tool_calls,omitempty"`
	}
	whole := said{Role: "assistant"}
	for _, delta := range deltas {
		var d said
		if err := json.Unmarshal([]byte(delta), &d); err != nil {
			t.Error(err)
		}
		whole.Content += d.Content
		whole.Reasoning += d.Reasoning
		for _, c := range d.Calls {
			if c.ID != "" {
				whole.Calls = append(whole.Calls, c)
			} else {
				whole.Calls[len(whole.Calls)-1].Function.Arguments += c.Function.Arguments
			}
		}
	}
	body, err := json.Marshal(whole)
	if err != nil {
		t.Error(err)
	}
	return body
}

// TestGluedCalls: what servers make of two calls that they do not tell apart, and of one that they repeat.
func TestGluedCalls(t *testing.T) {
	const tools = `"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}},
		{"type":"function","function":{"name":"now"}},{"type":"function","function":{"name":"get"}}]`
	const rome, oslo = `get_weather({"city":"Rome"})`, `get_weather({"city":"Oslo"})`
	for _, tc := range []struct {
		name   string
		deltas []string
		want   string
	}{
		{"arguments glued",
			[]string{
				`{"tool_calls":[{"index":0,"id":"a","function":{"name":"get_weather","arguments":"{\"city\":\"Rome\"}{\"city\":\"Oslo\"}"}}]}`}, rome + oslo},
		{"arguments glued in pieces",
			[]string{
				`{"tool_calls":[{"index":0,"id":"a","function":{"name":"get_weather","arguments":"{\"city\":\"Ro"}}]}`,
				`{"tool_calls":[{"index":0,"function":{"arguments":"me\"}{\"city\""}}]}`,
				`{"tool_calls":[{"index":0,"function":{"arguments":":\"Oslo\"}"}}]}`}, rome + oslo},
		{"names and arguments glued",
			[]string{
				`{"tool_calls":[{"index":0,"id":"a","function":{"name":"get_weathernow","arguments":"{\"city\":\"Rome\"}{}"}}]}`}, rome + "now({})"},
		{"one name twice, two objects",
			[]string{
				`{"tool_calls":[{"index":0,"id":"a","function":{"name":"get_weatherget_weather","arguments":"{\"city\":\"Rome\"}{\"city\":\"Oslo\"}"}}]}`}, rome + oslo},
		{"one name twice, one object",
			[]string{
				`{"tool_calls":[{"index":0,"id":"a","function":{"name":"get_weatherget_weather","arguments":"{\"city\":\"Rome\"}"}}]}`}, rome},
		{"the name in every delta",
			[]string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"get_weather","arguments":"{\"city\":"}}]}`,
				`{"tool_calls":[{"index":0,"id":"a","function":{"name":"get_weather","arguments":"\"Rome\"}"}}]}`},
			rome},
		{"neither index nor ids",
			[]string{`{"tool_calls":[{"function":{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}}]}`,
				`{"tool_calls":[{"function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}]}`}, rome + oslo},
		{"no arguments, neither index nor ids", []string{`{"tool_calls":[{"function":{"name":"now","arguments":""}}]}`,
			`{"tool_calls":[{"function":{"name":"get","arguments":""}}]}`}, "now({})get({})"},
		{"everything is index 0",
			[]string{
				`{"tool_calls":[{"index":0,"id":"a","function":{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}}]}`,
				`{"tool_calls":[{"index":0,"id":"b","function":{"name":"now","arguments":"{}"}}]}`}, rome + "now({})"},
		{"the same id twice",
			[]string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"now","arguments":"{}"}}]}`,
				`{"tool_calls":[{"index":1,"id":"a","function":{"name":"get","arguments":"{}"}}]}`}, "now({})get({})"},
		{"a longer name that begins like another",
			[]string{
				`{"tool_calls":[{"index":0,"id":"a","function":{"name":"get_weatherget","arguments":"{\"city\":\"Rome\"}{}"}}]}`}, rome + "get({})"},
	} {
		for _, stream := range []bool{false, true} {
			srv, asked := spoken(t, bridge.Options{Mode: bridge.ModeNative}, tc.deltas)
			calls, ids := callsOf(t, srv,
				fmt.Sprintf(`{"model":"m","stream":%v,"messages":[{"role":"user","content":"hi"}],%s}`, stream, tools),
				stream)
			if calls != tc.want || asked.Load() != 1 {
				t.Errorf("%s (stream %v): %s after %d requests, want %s", tc.name, stream, calls, asked.Load(), tc.want)
			}
			seen := map[string]bool{}
			for _, id := range ids {
				if id == "" || seen[id] {
					t.Errorf("%s: the ids are %q", tc.name, ids)
				}
				seen[id] = true
			}
		}
	}
	// A row of names that does not fit its arguments is nobody's call.
	bad := []string{
		`{"tool_calls":[{"index":0,"id":"a","function":{"name":"get_weathernow","arguments":"{\"city\":\"Rome\"}"}}]}`}
	good := []string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"now","arguments":"{}"}}]}`}
	srv, asked := spoken(t, bridge.Options{Mode: bridge.ModeNative}, bad, good)
	if calls, _ := callsOf(t, srv, `{"model":"m","messages":[{"role":"user","content":"hi"}],`+tools+`}`,
		false); calls != "now({})" || asked.Load() != 2 {
		t.Errorf("%s after %d requests", calls, asked.Load())
	}
}

// callsOf returns the calls of an answer, and their ids.
func callsOf(t *testing.T, srv *httptest.Server, body string, stream bool) (calls string, ids []string) {
	t.Helper()
	_, answer := ask(t, srv, body)
	if !stream {
		for _, c := range parse(t, answer).Choices[0].Message.ToolCalls {
			calls += c.Function.Name + "(" + c.Function.Arguments + ")"
			ids = append(ids, c.ID)
		}
		return calls, ids
	}
	for _, f := range frames(answer) {
		if f == "[DONE]" {
			break
		}
		for _, choice := range parse(t, f).Choices {
			for _, c := range choice.Delta.ToolCalls {
				if c.Function.Name != "" {
					if len(ids) > 0 {
						calls += ")"
					}
					calls += c.Function.Name + "("
					ids = append(ids, c.ID)
				}
				calls += c.Function.Arguments
			}
		}
	}
	if len(ids) > 0 {
		calls += ")"
	}
	return calls, ids
}

// TestA10DeltaStyle: a custom tool called through function calling that was never offered, with an apology behind it,
// is asked for again, and nothing of the failed answer is seen but what a stream has shown before the call.
func TestA10DeltaStyle(t *testing.T) {
	confused := []string{`{"content":"Let me look. "}`,
		`{"tool_calls":[{"index":0,"id":"n","function":{"name":"get_weather","arguments":""}}]}`,
		`{"content":"I don't have access to that tool."}`,
		`{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":\"Rome\"}"}}]}`}
	good := []string{`{"content":"` +
		"```json\\n{\\\"name\\\":\\\"get_weather\\\",\\\"arguments\\\":{\\\"city\\\":\\\"Rome\\\"}}\\n```" + `"}`}
	for _, stream := range []string{"false", "true"} {
		srv, asked := spoken(t, bridge.Options{Mode: bridge.ModeText}, confused, good)
		resp, body := ask(t, srv,
			`{"model":"m","stream":`+stream+
				`,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}],`+weatherTool+`}`)
		if strings.Contains(body, "access") || strings.Contains(body, "Let me look.") != (stream == "true") ||
			!strings.Contains(body, "tool_calls") || asked.Load() != 2 {
			t.Errorf("after %d requests: %s", asked.Load(), body)
		}
		if n := resp.Header.Get("X-Wield-Bounces") + resp.Trailer.Get("X-Wield-Bounces"); n != "1" {
			t.Errorf("the header says %q bounces", n)
		}
		if !strings.Contains(body, `"prompt_tokens":10`) {
			t.Errorf("the usage is not that of both requests: %s", body)
		}
	}
}
