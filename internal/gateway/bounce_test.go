package gateway

import (
	"net/http"
	"strings"
	"testing"

	"wield/bridge"
	"wield/model/openai"
)

// asker is one way to ask for an answer with the tool get_weather on offer. STREAM stands for true or false.
type asker struct{ name, path, body, tokens, required string }

var askers = []asker{
	{"completions", "/v1/chat/completions",
		`{"model":"m","stream":STREAM,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}],` + weatherTool + `}`, `"prompt_tokens":10`, `,"tool_choice":"required"`},
	{"responses", "/v1/responses",
		`{"model":"m","stream":STREAM,"input":"hi","tools":[{"type":"function","name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}]}`, `"input_tokens":10`, `,"tool_choice":"required"`},
	{"messages", "/v1/messages",
		`{"model":"m","stream":STREAM,"max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"get_weather","input_schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}]}`, `"input_tokens":10`, `,"tool_choice":{"type":"any"}`},
	{"ollama", "/api/chat", `{"model":"m","stream":STREAM,"messages":[{"role":"user","content":"hi"}],` + weatherTool +
		`}`, `"prompt_eval_count":10`, ""},
}

// TestBounceInEveryFront: whatever protocol a client speaks, it sees the second answer and nothing of what failed, the
// tokens of both requests and the number of bounces.
func TestBounceInEveryFront(t *testing.T) {
	good := []string{`{"content":"` +
		"```json\\n{\\\"name\\\":\\\"get_weather\\\",\\\"arguments\\\":{\\\"city\\\":\\\"Rome\\\"}}\\n```" + `"}`}
	native := []string{
		`{"tool_calls":[{"index":0,"id":"g","function":{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}}]}`}
	for _, tc := range []struct {
		name   string
		mode   bridge.Mode
		failed []string
		second []string
	}{
		{"confused", bridge.ModeText,
			[]string{`{"tool_calls":[{"index":0,"id":"n","function":{"name":"get_weather","arguments":""}}]}`,
				`{"content":"FAILED: I don't have access."}`,
				`{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":\"FAILED\"}"}}]}`}, good},
		{"unknown", bridge.ModeNative,
			[]string{`{"tool_calls":[{"index":0,"id":"n","function":{"name":"FAILED","arguments":"{}"}}]}`}, native},
		{"invalid", bridge.ModeNative,
			[]string{
				`{"tool_calls":[{"index":0,"id":"n","function":{"name":"get_weather","arguments":"{\"town\":\"FAILED\"}"}}]}`}, native},
		{"malformed", bridge.ModeText,
			[]string{`{"content":"<tool_call>{\"name\":\"get_weather\",\"arguments\":{FAILED</tool_call>"}`}, good},
	} {
		for _, a := range askers {
			for _, stream := range []string{"false", "true"} {
				srv, asked := spoken(t, bridge.Options{Mode: tc.mode}, tc.failed, tc.second)
				resp, body := send(t, srv, http.MethodPost, a.path, strings.ReplaceAll(a.body, "STREAM", stream))
				if resp.StatusCode != 200 || strings.Contains(body, "FAILED") ||
					strings.Contains(body, "TOOL_ERROR") || asked.Load() != 2 {
					t.Errorf("%s, %s, stream %s: status %d after %d requests: %s", tc.name, a.name, stream,
						resp.StatusCode, asked.Load(), body)
				}
				if !strings.Contains(body, "get_weather") || !strings.Contains(body, "Rome") ||
					!strings.Contains(body, a.tokens) {
					t.Errorf("%s, %s, stream %s: the call or %s is missing: %s", tc.name, a.name, stream, a.tokens,
						body)
				}
				if n := resp.Header.Get("X-Wield-Bounces") + resp.Trailer.Get("X-Wield-Bounces"); n != "1" {
					t.Errorf("%s, %s, stream %s: the header says %q bounces", tc.name, a.name, stream, n)
				}
			}
		}
	}
}

// TestOnlyTheGoodAnswer: whoever waits for a whole answer, in whatever protocol, sees nothing of what the model said
// before its call failed, neither text nor thoughts, however the backend sends it. The same holds for a stream where
// the backend answers in one piece and reports the call beside the text.
func TestOnlyTheGoodAnswer(t *testing.T) {
	const before = `{"reasoning_content":"FAILED thought","content":"FAILED text. "}`
	const good = `{"reasoning_content":"RIGHT thought","content":"It is sunny. "}`
	const call = `{"tool_calls":[{"index":0,"id":"g","function":{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}}]}`
	wrote := `{"content":"` +
		"\\n```json\\n{\\\"name\\\":\\\"get_weather\\\",\\\"arguments\\\":{\\\"city\\\":\\\"Rome\\\"}}\\n```" + `"}`
	for _, tc := range []struct {
		name     string
		mode     bridge.Mode
		required bool
		beside   bool // the call does not come as text
		failed   []string
		second   []string
	}{
		{"confused", bridge.ModeText, false, true,
			[]string{before,
				`{"tool_calls":[{"index":0,"id":"n","function":{"name":"get_weather","arguments":"{\"city\":\"FAILED\"}"}}]}`, `{"content":"FAILED apology"}`}, []string{good, wrote}},
		{"unknown", bridge.ModeNative, false, true,
			[]string{before, `{"tool_calls":[{"index":0,"id":"n","function":{"name":"FAILED","arguments":"{}"}}]}`},
			[]string{good, call}},
		{"invalid", bridge.ModeNative, false, true,
			[]string{before,
				`{"tool_calls":[{"index":0,"id":"n","function":{"name":"get_weather","arguments":"{\"town\":\"FAILED\"}"}}]}`}, []string{good, call}},
		{"invalid in text", bridge.ModeText, false, false,
			[]string{before,
				`{"content":"<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"town\":1}}</tool_call>"}`},
			[]string{good, wrote}},
		{"malformed", bridge.ModeText, false, false,
			[]string{before, `{"content":"<tool_call>{\"name\":\"get_weather\",\"arguments\":{FAILED</tool_call>"}`},
			[]string{good, wrote}},
		{"refused at first", bridge.ModeNative, true, false, []string{before, `{"content":"FAILED: I refuse."}`},
			[]string{good, call}},
	} {
		for how, o := range map[string]openai.Options{"as asked": {}, "always streamed": {AlwaysStream: true},
			"never streamed": {NoStream: true}} {
			for _, a := range askers {
				for _, stream := range []string{"false", "true"} {
					if stream == "true" && !(o.NoStream && tc.beside) || tc.required && a.required == "" {
						continue // the text is shown while it is written; Ollama's protocol cannot require a call
					}
					body := strings.ReplaceAll(a.body, "STREAM", stream)
					if tc.required {
						body = strings.TrimSuffix(body, "}") + a.required + "}"
					}
					srv, asked := spokenAs(t, o, bridge.Options{Mode: tc.mode}, tc.failed, tc.second)
					resp, got := send(t, srv, http.MethodPost, a.path, body)
					if resp.StatusCode != 200 || strings.Contains(got, "FAILED") || asked.Load() != 2 {
						t.Errorf("%s, %s, %s, stream %s: status %d after %d requests: %s", tc.name, how, a.name,
							stream, resp.StatusCode, asked.Load(), got)
					}
					for _, want := range []string{"It is sunny.", "RIGHT thought", "get_weather", "Rome"} {
						if !strings.Contains(got, want) {
							t.Errorf("%s, %s, %s, stream %s: %q is missing: %s", tc.name, how, a.name, stream, want,
								got)
						}
					}
				}
			}
		}
	}
}

// TestSpentInEveryFront: a model that fails twice leaves a sentence, an end, and no error of HTTP.
func TestSpentInEveryFront(t *testing.T) {
	failed := []string{
		`{"tool_calls":[{"index":0,"id":"n","function":{"name":"get_weather","arguments":"{\"town\":\"x\"}"}}]}`}
	for _, a := range askers {
		for _, stream := range []string{"false", "true"} {
			srv, asked := spoken(t, bridge.Options{Mode: bridge.ModeNative}, failed)
			resp, body := send(t, srv, http.MethodPost, a.path, strings.ReplaceAll(a.body, "STREAM", stream))
			if resp.StatusCode != 200 || asked.Load() != 2 ||
				!strings.Contains(body, "The model could not call get_weather: missing required parameter: city") {
				t.Errorf("%s, stream %s: status %d after %d requests: %s", a.name, stream, resp.StatusCode,
					asked.Load(), body)
			}
			for _, bad := range []string{"tool_use", `"tool_calls":[`, "function_call", "town"} {
				if strings.Contains(strings.ReplaceAll(body, "function_call_output", ""), bad) {
					t.Errorf("%s, stream %s: %s in %s", a.name, stream, bad, body)
				}
			}
		}
	}
}

// TestFormInEveryFront: each protocol's way to ask for an answer of a form holds for a model that writes prose first.
func TestFormInEveryFront(t *testing.T) {
	const city = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`
	for _, a := range []asker{
		{name: "completions", path: "/v1/chat/completions",
			body: `{"model":"m","stream":STREAM,"messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_schema","json_schema":{"name":"c","schema":` + city + `}}}`},
		{name: "responses", path: "/v1/responses",
			body: `{"model":"m","stream":STREAM,"input":"hi","text":{"format":{"type":"json_schema","name":"c","schema":` + city + `}}}`},
		{name: "messages", path: "/v1/messages",
			body: `{"model":"m","stream":STREAM,"max_tokens":100,"messages":[{"role":"user","content":"hi"}],"output_config":{"format":{"type":"json_schema","schema":` + city + `}}}`},
		{name: "ollama", path: "/api/chat",
			body: `{"model":"m","stream":STREAM,"messages":[{"role":"user","content":"hi"}],"format":` + city + `}`},
	} {
		for _, stream := range []string{"false", "true"} {
			srv, asked := spoken(t, bridge.Options{Mode: bridge.ModeText}, []string{`{"content":"PROSE about Rome"}`},
				[]string{`{"content":"{\"city\":"}`, `{"content":"\"Rome\"}"}`})
			resp, body := send(t, srv, http.MethodPost, a.path, strings.ReplaceAll(a.body, "STREAM", stream))
			if resp.StatusCode != 200 || asked.Load() != 2 || strings.Contains(body, "PROSE") ||
				!strings.Contains(body, `{\"city\":`) {
				t.Errorf("%s, stream %s: status %d after %d requests: %s", a.name, stream, resp.StatusCode,
					asked.Load(), body)
			}
		}
	}
}
