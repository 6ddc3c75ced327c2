package gateway

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"wield/bridge"
	"wield/chat"
	"wield/dialect"
	"wield/model/openai"
)

// overheard is a chain in the mode of o whose server says hello. What the server was told last is in the string.
func overheard(t *testing.T, o bridge.Options) (*httptest.Server, func() string) {
	t.Helper()
	var mu sync.Mutex
	var told string
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		told = string(body)
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`)
	}))
	m := openai.New(openai.Options{URL: backend.URL + "/v1"})
	t.Cleanup(func() {
		m.Close()
		backend.Close()
	})
	return serve(t, one(bridge.New(m, o))), func() string {
		mu.Lock()
		defer mu.Unlock()
		return told
	}
}

// TestA16: a result that is shown in text says of which tool it is, under the name that the model knows.
func TestA16(t *testing.T) {
	srv, told := overheard(t, bridge.Options{Mode: bridge.ModeText, Decode: dialect.Options{Prefix: "user:"}})
	resp, body := ask(t, srv, `{"model":"m",`+weatherTool+`,"messages":[{"role":"user","content":"hi"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}}]},
		{"role":"tool","tool_call_id":"c1","content":"18"}]}`)
	if resp.StatusCode != 200 || !strings.Contains(told(), `\"from\":\"user:get_weather\"`) ||
		!strings.Contains(told(), `\"name\": \"user:get_weather\"`) {
		t.Errorf("status %d %s, told %s", resp.StatusCode, body, told())
	}
}

// TestA17: nothing of a client's history is lost on the way to a model that is shown it in text, and broken arguments
// in it are no error.
func TestA17(t *testing.T) {
	srv, told := overheard(t, bridge.Options{Mode: bridge.ModeText, Decode: dialect.Options{Prefix: "user:"}})
	for _, arguments := range []string{`{\"city\":\"Rome\"}`, `{\"city\":`, `]`, ``, `{'city': 'Rome',}`, `\u0000`} {
		resp, body := ask(t, srv,
			`{"model":"m",`+weatherTool+`,"messages":[{"role":"system","content":"First."},{"role":"user","content":[
			{"type":"text","text":"what is this?"},{"type":"image_url","image_url":{"url":"http://127.0.0.1/i.png"}}]},
			{"role":"assistant","content":"I look.","tool_calls":[{"id":"c1","type":"function","function":{"name":"get_weather","arguments":"`+arguments+`"}}]},
			{"role":"tool","tool_call_id":"c1","content":"18"},{"role":"system","content":"Second."},{"role":"user","content":"and?"}]}`)
		if resp.StatusCode != 200 {
			t.Errorf("%s: status %d: %s", arguments, resp.StatusCode, body)
		}
		for _, want := range []string{"First.", "Second.", "I look.", "user:get_weather", "http://127.0.0.1/i.png",
			`json`} {
			if !strings.Contains(told(), want) {
				t.Errorf("%s: %q is lost: %s", arguments, want, told())
			}
		}
	}
}

// TestA19Choice: tool_choice and parallel_tool_calls are heeded, in text as natively.
func TestA19Choice(t *testing.T) {
	for _, tc := range []struct {
		mode       bridge.Mode
		field      string
		has, hasNo string
	}{
		{bridge.ModeText, `"tool_choice":"none"`, "hi", "get_weather"},
		{bridge.ModeText, `"tool_choice":"required"`, "MUST contain a tool call", "nothing"},
		{bridge.ModeText, `"tool_choice":{"type":"function","function":{"name":"get_weather"}}`,
			"MUST contain a call of the tool get_weather", "nothing"},
		{bridge.ModeText, `"parallel_tool_calls":false`, "Use ONLY ONE tool call per response", "nothing"},
		{bridge.ModeNative, `"tool_choice":"required"`, `"tool_choice":"required"`, "MUST contain"},
		{bridge.ModeNative, `"parallel_tool_calls":false`, `"parallel_tool_calls":false`, "ONLY ONE"},
	} {
		srv, told := overheard(t, bridge.Options{Mode: tc.mode, Bounce: bridge.BounceOptions{Off: true}})
		resp, body := ask(t, srv, `{"model":"m",`+tc.field+`,`+weatherTool+
			`,"messages":[{"role":"user","content":"hi"}]}`)
		if resp.StatusCode != 200 || !strings.Contains(told(), tc.has) || strings.Contains(told(), tc.hasNo) {
			t.Errorf("%s %s: status %d %s, told %s", tc.mode, tc.field, resp.StatusCode, body, told())
		}
	}
}

// TestA19Concurrent: requests to one model do not wait for one another.
func TestA19Concurrent(t *testing.T) {
	const n = 8
	var all sync.WaitGroup
	all.Add(n)
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		all.Done()
		all.Wait() // for all of them to be here
		writes("hello")(w, &http.Request{Body: io.NopCloser(strings.NewReader("{}"))})
	}))
	m := openai.New(openai.Options{URL: backend.URL + "/v1"})
	t.Cleanup(func() {
		m.Close()
		backend.Close()
	})
	srv := serve(t, one(bridge.New(m, bridge.Options{})))
	var done sync.WaitGroup
	for range n {
		done.Go(func() {
			if resp, body := ask(t, srv, hello); resp.StatusCode != 200 {
				t.Errorf("status %d: %s", resp.StatusCode, body)
			}
		})
	}
	done.Wait()
}

// TestA19Refusals: what a backend refuses has a status and a code of its own, and is no internal error. A wait that
// it asks for is handed on.
func TestA19Refusals(t *testing.T) {
	for _, tc := range []struct {
		status int
		header string
		body   string
		want   int
		code   string
		retry  string
	}{
		{403, "", `{"error":{"message":"harmful","code":"content_policy_violation"}}`, 400, "content_policy_violation",
			""},
		{400, "", `{"error":{"message":"blocked by content_filter"}}`, 400, "content_filter", ""},
		{429, "7", `{"error":{"message":"weekly limit","code":"2028"}}`, 429, "2028", "7"},
		{429, "", `slow down`, 429, "rate_limit_exceeded", ""},
		{404, "", `{"error":{"message":"no such model"}}`, 404, "model_not_found", ""},
		{500, "", `<html><title>oops</title></html>`, 502, "upstream_unavailable", ""},
	} {
		srv := chain(t, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			if tc.header != "" {
				w.Header().Set("Retry-After", tc.header)
			}
			w.WriteHeader(tc.status)
			io.WriteString(w, tc.body)
		})
		for _, body := range []string{hello, helloStream} {
			resp, answer := ask(t, srv, body)
			e := parse(t, answer).Error
			if resp.StatusCode != tc.want || e == nil || deref(e.Code) != tc.code ||
				resp.Header.Get("Retry-After") != tc.retry {
				t.Errorf("%d %s: status %d, Retry-After %q: %s", tc.status, tc.body, resp.StatusCode,
					resp.Header.Get("Retry-After"), answer)
			}
		}
	}
}

// TestErrorCodes: the codes of errors by name.
func TestErrorCodes(t *testing.T) {
	srv := serve(t, Options{Models: []Model{{Name: "m", Model: says(text("a"), finish(chat.FinishStop))}},
		MaxBody: 1 << 10})
	for _, tc := range []struct {
		body, code string
		status     int
	}{
		{`{"model":"m"}`, "missing_messages", 400},
		{`{"model":"m","messages":[]}`, "missing_messages", 400},
		{`{"model":"m","messages":[{"role":"system","content":"x"}]}`, "missing_user_message", 400},
		{`{"model":"x","messages":[{"role":"user","content":"x"}]}`, "model_not_found", 404},
		{`{"model":"m","reasoning_effort":"huge","messages":[{"role":"user","content":"x"}]}`,
			"invalid_reasoning_effort", 400},
		{`{"model":"m","messages":[`, "invalid_json", 400},
		{fmt.Sprintf(`{"model":"m","messages":[{"role":"user","content":%q}]}`, strings.Repeat("x", 2000)),
			"request_too_large", 413},
	} {
		resp, answer := ask(t, srv, tc.body)
		if e := parse(t, answer).Error; resp.StatusCode != tc.status || e == nil || deref(e.Code) != tc.code {
			t.Errorf("%.60s: status %d: %s", tc.body, resp.StatusCode, answer)
		}
	}
}
