package scriptserver_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"wield/internal/script"
	"wield/internal/scriptserver"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

const head = "wield: scenario/v1\nname: t\n"

// serve starts a server of scenario texts and returns its address and the files.
func serve(t *testing.T, texts ...string) (string, []string) {
	t.Helper()
	dir := t.TempDir()
	var o scriptserver.Options
	var files []string
	for i, text := range texts {
		file := filepath.Join(dir, string(rune('a'+i))+".scenario.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := script.Open(file, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		o.Scenarios = append(o.Scenarios, l)
		files = append(files, file)
	}
	srv := httptest.NewServer(scriptserver.New(o))
	t.Cleanup(srv.Close)
	return srv.URL, files
}

// httpResponse is the answer that a client got.
type httpResponse struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func post(t *testing.T, url, body string, header ...string) httpResponse {
	t.Helper()
	req, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		return httpResponse{err: err}
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return httpResponse{res.StatusCode, res.Header, string(data), err}
}

func get(t *testing.T, url string) string {
	t.Helper()
	res, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// ask is a streamed request of the chat completions protocol.
const ask = `{"model":"t","stream":true,"messages":[{"role":"user","content":"hi"}]}`

// frames cuts the body of an event stream and takes off what all chunks of the chat protocol share.
func frames(body string) []string {
	var list []string
	for _, f := range strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		f = strings.TrimPrefix(f, "data: ")
		if _, delta, ok := strings.Cut(f, `"delta":`); ok {
			f = strings.TrimSuffix(strings.TrimSuffix(delta, "}]}"), `,"logprobs":null,"finish_reason":null`)
		}
		list = append(list, f)
	}
	return list
}

const three = head + `turns: [{id: a, when: {}, reply: [{text: "one "}, {text: "two "}, {text: three}]}]` + "\n"

func TestOpenAIStream(t *testing.T) {
	url, _ := serve(t, head+`
backend: {native_tools: true}
turns:
  - id: call
    when: {tools_offered: [get_weather]}
    chunk: 6
    reply:
      - think: "Hm."
      - text: "Grüße,\n"
      - call: {name: get_weather, args: {city: "São"}, id: call_x}
      - call: {name: now}
    usage: {in: 10, out: 5}
  - {id: rest, when: {}, reply: [{text: "ü\"", split: every}]}
`)
	const tools = `,"tools":[{"type":"function","function":{"name":"get_weather"}}]`
	got := post(t, url+"/v1/chat/completions",
		`{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]`+tools+`}`)
	if got.err != nil || got.status != 200 || got.header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
		t.Fatalf("%+v", got)
	}
	for _, line := range strings.Split(got.body, "\n\n") {
		if s, ok := strings.CutPrefix(line, "data: "); ok && s != "[DONE]" && !json.Valid([]byte(s)) {
			t.Errorf("not JSON: %s", s)
		}
	}
	body := strings.ReplaceAll(got.body, `,"usage":null}`, "}")
	if n := strings.Count(got.body, `"usage":null`); n != 11 {
		t.Errorf("%d chunks carry usage null", n)
	}
	list := frames(body)
	usage := list[len(list)-2]
	list = append(list[:len(list)-2], list[len(list)-1])
	want := []string{
		`{"role":"assistant","content":""}`,
		`{"reasoning_content":"Hm."}`,
		`{"content":"Grüße,"}`,
		`{"content":"\n"}`,
		`{"tool_calls":[{"index":0,"id":"call_x","type":"function","function":{"name":"get_weather","arguments":""}}]}`,
		`{"tool_calls":[{"index":0,"function":{"arguments":"{\"city"}}]}`,
		`{"tool_calls":[{"index":0,"function":{"arguments":"\": \"Sã"}}]}`,
		`{"tool_calls":[{"index":0,"function":{"arguments":"o\"}"}}]}`,
		list[8], // its id comes from the seed
		`{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}`,
		`{},"logprobs":null,"finish_reason":"tool_calls"`,
		"[DONE]",
	}
	if d := cmp.Diff(want, list); d != "" {
		t.Error(d)
	}
	if !strings.HasPrefix(list[8], `{"tool_calls":[{"index":1,"id":"call_`) {
		t.Errorf("second call: %s", list[8])
	}
	if !strings.HasSuffix(usage, `"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`) {
		t.Errorf("usage: %s", usage)
	}

	whole := post(t, url+"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]`+tools+`}`)
	var m struct {
		Choices []struct {
			FinishReason string `json:"finish_reason"`
			Message      struct {
				Role, Content string
				Reasoning     string `json:"reasoning_content"`
				ToolCalls     []struct {
					ID, Type string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
		}
	}
	if err := json.Unmarshal([]byte(whole.body), &m); err != nil || len(m.Choices) != 1 {
		t.Fatalf("%v in %s", err, whole.body)
	}
	c := m.Choices[0]
	if c.FinishReason != "tool_calls" || c.Message.Content != "Grüße,\n" || c.Message.Reasoning != "Hm." ||
		len(c.Message.ToolCalls) != 2 || c.Message.ToolCalls[0].Function.Arguments != `{"city": "São"}` {
		t.Errorf("%+v", c)
	}

	// A character that a cut runs through is sent whole.
	got = post(t, url+"/v1/chat/completions", ask)
	if d := cmp.Diff([]string{`{"role":"assistant","content":""}`, `{"content":"ü"}`, `{"content":"\""}`,
		`{},"logprobs":null,"finish_reason":"stop"`, "[DONE]"}, frames(got.body)); d != "" {
		t.Error(d)
	}
}

// Every fault of the format, as a client of the wire sees it.
func TestFaults(t *testing.T) {
	role := `{"role":"assistant","content":""}`
	one, two, rest := `{"content":"one "}`, `{"content":"two "}`, `{"content":"three"}`
	stop, done := `{},"logprobs":null,"finish_reason":"stop"`, "[DONE]"
	all := []string{role, one, two, rest, stop, done}
	for _, c := range []struct {
		name, do string
		want     []string
		check    func(t *testing.T, a httpResponse)
	}{
		{"status", `{status: 429, retry_after: 1500ms}`, nil, func(t *testing.T, a httpResponse) {
			if a.status != 429 || a.header.Get("Retry-After") != "2" ||
				!strings.Contains(a.body, `"type":"rate_limit_error"`) || !json.Valid([]byte(a.body)) {
				t.Errorf("%+v", a)
			}
		}},
		{"status with body", `{status: 429, body: "Code: 2028"}`, nil, func(t *testing.T, a httpResponse) {
			if a.status != 429 || a.body != "Code: 2028" ||
				!strings.HasPrefix(a.header.Get("Content-Type"), "text/plain") {
				t.Errorf("%+v", a)
			}
		}},
		{"html_502", `html_502`, nil, func(t *testing.T, a httpResponse) {
			if a.status != 502 || !strings.HasPrefix(a.body, "<html>") || a.header.Get("Content-Type") != "text/html" {
				t.Errorf("%+v", a)
			}
		}},
		{"slow_headers", `{slow_headers: 1ms}`, all, nil},
		{"wrong_content_type", `{wrong_content_type: text/html}`, all, func(t *testing.T, a httpResponse) {
			if a.header.Get("Content-Type") != "text/html" {
				t.Errorf("%+v", a.header)
			}
		}},
		{"cut_after bytes", `{cut_after: 37b}`, nil, func(t *testing.T, a httpResponse) {
			if len(a.body) != 37 || !errors.Is(a.err, io.ErrUnexpectedEOF) {
				t.Errorf("%d bytes, error %v", len(a.body), a.err)
			}
		}},
		{"cut_after 0 bytes", `{cut_after: 0b}`, nil, func(t *testing.T, a httpResponse) {
			if a.body != "" || !errors.Is(a.err, io.ErrUnexpectedEOF) {
				t.Errorf("%+v", a)
			}
		}},
		{"cut_after chunks", `{cut_after: 2chunks}`, []string{role, one, two}, unexpectedEOF},
		{"cut_after time", `{cut_after: 120ms}`, all, unexpectedEOF},
		{"reset", `{cut_after: 1chunks, reset: true}`, nil, func(t *testing.T, a httpResponse) {
			if !errors.Is(a.err, syscall.ECONNRESET) {
				t.Errorf("error %v", a.err)
			}
		}},
		{"half_close", `{cut_after: 1chunks, half_close: true}`, []string{role, one}, unexpectedEOF},
		{"half_close after all", `half_close`, all, unexpectedEOF},
		{"stall", `{stall: 1ms}`, all, nil},
		{"drip", `{drip: 1us}`, all, nil},
		{"dup_chunk", `{dup_chunk: 2}`, []string{role, one, two, two, rest, stop, done}, nil},
		{"dup_chunk beyond", `{dup_chunk: 9}`, all, nil},
		{"reorder", `{reorder: 1}`, []string{role, two, one, rest, stop, done}, nil},
		{"reorder beyond", `{reorder: 3}`, all, nil},
		{"drop_done", `drop_done`, []string{role, one, two, rest, stop}, nil},
		{"bad_utf8", `bad_utf8`, []string{role, "{\"content\":\"one \xff\"}", two, rest, stop, done}, nil},
		{"bad_sse", `bad_sse`, []string{role, one, two, `{"choices":[{`, rest, stop, done}, nil},
		{"huge_line", `{huge_line: 70000}`, nil, func(t *testing.T, a httpResponse) {
			longest := 0
			for _, l := range strings.Split(a.body, "\n") {
				longest = max(longest, len(l))
			}
			if longest != 70000 {
				t.Errorf("the longest line has %d bytes", longest)
			}
			var chunk struct {
				Choices []struct{ Delta struct{ Content string } }
			}
			line := strings.TrimPrefix(strings.Split(a.body, "\n\n")[1], "data: ")
			if err := json.Unmarshal([]byte(line), &chunk); err != nil || chunk.Choices[0].Delta.Content != "one " {
				t.Errorf("%v, %+v", err, chunk)
			}
		}},
		{"several", `[drop_done, bad_sse]`, []string{role, one, two, `{"choices":[{`, rest, stop}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			url, _ := serve(t, three+"faults: [{on: a, do: "+c.do+"}]\n")
			a := post(t, url+"/v1/chat/completions", ask)
			if c.want != nil {
				if d := cmp.Diff(c.want, frames(a.body)); d != "" {
					t.Error(d)
				}
			}
			if c.check != nil {
				c.check(t, a)
			} else if a.err != nil || a.status != 200 {
				t.Errorf("status %d, error %v", a.status, a.err)
			}
		})
	}
}

func unexpectedEOF(t *testing.T, a httpResponse) {
	t.Helper()
	if !errors.Is(a.err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", a.err)
	}
}

// The faults that mean something for an answer that is not streamed.
func TestFaultsOfWholeAnswers(t *testing.T) {
	const whole = `{"messages":[{"role":"user","content":"hi"}]}`
	url, _ := serve(t, three)
	want := post(t, url+"/v1/chat/completions", whole).body
	for _, c := range []struct {
		do    string
		check func(a httpResponse) bool
	}{
		{"{status: 500}", func(a httpResponse) bool { return a.status == 500 && json.Valid([]byte(a.body)) }},
		{"{cut_after: 20b}", func(a httpResponse) bool {
			return a.body == want[:20] && errors.Is(a.err, io.ErrUnexpectedEOF)
		}},
		{"{stall: 1ms}", func(a httpResponse) bool { return a.body == want && a.err == nil }},
		{"{drip: 1us}", func(a httpResponse) bool { return a.body == want && a.err == nil }},
		{"bad_utf8", func(a httpResponse) bool { return strings.Contains(a.body, "three\xff") }},
		{"bad_sse", func(a httpResponse) bool { return !json.Valid([]byte(a.body)) }},
		{"{huge_line: 9000}", func(a httpResponse) bool { return len(a.body) == 9000 && json.Valid([]byte(a.body)) }},
	} {
		t.Run(c.do, func(t *testing.T) {
			url, _ := serve(t, three+"faults: [{do: "+c.do+"}]\n")
			if a := post(t, url+"/v1/chat/completions", whole); !c.check(a) {
				t.Errorf("%+v", a)
			}
		})
	}
}

// The time of cut_after is that of the reply's own timetable, so that a slow machine cuts at the same byte.
func TestCutByTime(t *testing.T) {
	url, _ := serve(t,
		head+
			"defaults: {tps: 1000}\nturns: [{id: a, when: {}, reply: [{text: a}, {text: b}, {text: c}, {text: d}]}]\nfaults: [{do: {cut_after: 2ms}}]\n")
	a := post(t, url+"/v1/chat/completions", ask)
	unexpectedEOF(t, a)
	if d := cmp.Diff([]string{`{"role":"assistant","content":""}`, `{"content":"a"}`, `{"content":"b"}`,
		`{"content":"c"}`}, frames(a.body)); d != "" {
		t.Error(d)
	}
}

func TestBadUTF8CutsACharacter(t *testing.T) {
	url, _ := serve(t, head+"turns: [{id: a, when: {}, reply: [{text: São}]}]\nfaults: [{do: bad_utf8}]\n")
	if a := post(t, url+"/v1/chat/completions", ask); !strings.Contains(a.body, "\"S\xc3o\"") {
		t.Errorf("%q", a.body)
	}
}

// The faults of servers that speak the chat protocol badly.
func TestQuirks(t *testing.T) {
	const open = `"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":""}`
	for _, c := range []struct {
		do   string
		want []string
	}{
		{"no_index", []string{
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":""}}]}`,
			`{"tool_calls":[{"function":{"arguments":"{\"a\""}}]}`,
			`{"tool_calls":[{"function":{"arguments":": 1}"}}]}`}},
		{"id_every_delta", []string{
			`{"role":"assistant","content":null,"tool_calls":[{` + open + `}]}`,
			`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\""}}]}`,
			`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":": 1}"}}]}`}},
		{"empty_id", []string{
			`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"","type":"function","function":{"name":"f","arguments":""}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":": 1}"}}]}`}},
		{"no_role", []string{
			`{"tool_calls":[{` + open + `}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":": 1}"}}]}`}},
		{"object_args", []string{
			`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":{"a": 1}}}]}`}},
		{"whole_args", []string{
			`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}]}`}},
		{"finish_stop", []string{
			`{"role":"assistant","content":null,"tool_calls":[{` + open + `}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":": 1}"}}]}`}},
	} {
		t.Run(c.do, func(t *testing.T) {
			url, _ := serve(t,
				head+
					"backend: {native_tools: true}\nturns: [{id: a, when: {}, chunk: 4, reply: [{call: {name: f, args: {a: 1}, id: c1}}]}]\nfaults: [{do: "+c.do+"}]\n")
			reason := `{},"logprobs":null,"finish_reason":"tool_calls"`
			if c.do == "finish_stop" {
				reason = `{},"logprobs":null,"finish_reason":"stop"`
			}
			a := post(t, url+"/v1/chat/completions", ask)
			if d := cmp.Diff(append(c.want, reason, "[DONE]"), frames(a.body)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestNthAndProbability(t *testing.T) {
	url, _ := serve(t, three+"seed: 3\nfaults: [{on: a, nth: 2, do: {status: 503}}, {p: 50%, do: {status: 500}}]\n")
	run := func(key string) string {
		var s strings.Builder
		for range 12 {
			s.WriteString(http.StatusText(post(t, url+"/v1/chat/completions", ask, "X-Wield-Test", key).status)[:1])
		}
		return s.String()
	}
	got := run("one")
	if got[1] != 'S' && got[1] != 'I' {
		t.Errorf("the second request did not fail: %s", got)
	}
	if !strings.Contains(got, "O") || !strings.Contains(got, "I") {
		t.Errorf("half of the requests should fail: %s", got)
	}
	again, _ := serve(t, three+"seed: 3\nfaults: [{on: a, nth: 2, do: {status: 503}}, {p: 50%, do: {status: 500}}]\n")
	url = again
	if second := run("one"); second != got {
		t.Errorf("another run of the same seed differs: %s and %s", got, second)
	}
}

func TestAnthropic(t *testing.T) {
	url, _ := serve(t, head+`
backend: {speaks: anthropic, native_tools: true}
turns:
  - {id: answer, when: {last: tool, tool: f, result_contains: "18", system_contains: be brief}, reply: [{text: "${result}"}], usage: {in: 3, out: 4}}
  - {id: call, when: {tools_offered: [f]}, reply: [{think: T}, {text: A}, {call: {name: f, args: {a: 1}, id: toolu_1}}]}
`)
	const request = `{"model":"m","system":[{"type":"text","text":"be brief"}],"tools":[{"name":"f","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"hi"}`
	a := post(t, url+"/v1/messages?beta=true", request+`],"stream":true}`)
	var names []string
	for _, f := range strings.Split(strings.TrimSpace(a.body), "\n\n") {
		event, data, _ := strings.Cut(f, "\ndata: ")
		name := strings.TrimPrefix(event, "event: ")
		if !json.Valid([]byte(data)) || !strings.HasPrefix(data, `{"type":"`+name+`"`) {
			t.Errorf("frame %s", f)
		}
		names = append(names, name)
	}
	block := []string{"content_block_start", "content_block_delta", "content_block_stop"}
	want := append(append(append([]string{"message_start"}, block...), append(block, block...)...), "message_delta",
		"message_stop")
	if d := cmp.Diff(want, names); d != "" {
		t.Error(d)
	}
	for _, part := range []string{`"index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}`,
		`"partial_json":"{\"a\": 1}"`, `"stop_reason":"tool_use"`, `"text":""`} {
		if !strings.Contains(a.body, part) {
			t.Errorf("%s is missing in %s", part, a.body)
		}
	}
	a = post(t, url+"/v1/messages",
		request+`,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{"a":1}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"18 C"}]}]}]}`)
	if !strings.Contains(a.body,
		`"content":[{"type":"text","text":"18 C"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":4}`) {
		t.Errorf("%s", a.body)
	}
	if a := post(t, url+"/v1/messages", `{"model":"m","messages":[{"role":"user","content":"x"}]}`); a.status != 404 ||
		!strings.Contains(a.body, `"type":"not_found_error"`) {
		t.Errorf("%+v", a)
	}
}

func TestOllama(t *testing.T) {
	url, _ := serve(t, head+`
backend: {speaks: ollama, native_tools: true}
turns:
  - {id: answer, when: {last: tool, tool: f}, reply: [{text: "${result}"}], usage: {in: 3, out: 4}}
  - {id: call, when: {}, reply: [{think: T}, {text: "A\n"}, {call: {name: f, args: {a: 1}, id: c1}}]}
`)
	a := post(t, url+"/api/chat", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
	lines := strings.Split(strings.TrimSpace(a.body), "\n")
	const at = `{"model":"m","created_at":"2023-11-14T22:13:20Z","message":{"role":"assistant","content":`
	want := []string{at + `"","thinking":"T"},"done":false}`, at + `"A\n"},"done":false}`,
		at + `"","tool_calls":[{"id":"c1","function":{"index":0,"name":"f","arguments":{"a": 1}}}]},"done":false}`}
	if d := cmp.Diff(want, lines[:len(lines)-1]); d != "" {
		t.Error(d)
	}
	if last := lines[len(lines)-1]; !strings.Contains(last, `"done_reason":"stop","done":true`) ||
		!json.Valid([]byte(last)) {
		t.Errorf("%s", last)
	}
	a = post(t, url+"/api/chat",
		`{"model":"m","stream":false,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{}}}]},{"role":"tool","tool_name":"f","content":"R"}]}`)
	if !strings.Contains(a.body, `"content":"R"},"done_reason":"stop"`) || !strings.Contains(a.body, `"eval_count":4`) {
		t.Errorf("%s", a.body)
	}
	if a := post(t, url+"/v1/chat/completions", ask); a.status != 404 || !strings.Contains(a.body, "speaks ollama") {
		t.Errorf("%+v", a)
	}
}

const confused = head + `
backend: {speaks: lumo}
turns:
  - id: a
    when: {}
    reply:
      - target: {tool_call: '{"name":"GetLiveContext","parameters":{}}'}
      - target: {tool_result: '{"error":true}'}
      - text: "I don't have access to that tool."
      - target: {reasoning: R}
`

func TestLumo(t *testing.T) {
	url, _ := serve(t, confused)
	a := post(t, url+"/ai/v1/chat",
		`{"Prompt":{"type":"generation_request","turns":[{"role":"user","content":"hi"}],"options":{"tools":["proton_info"]},"targets":["message"]}}`)
	want := []string{
		`{"type":"ingesting","target":"tool_call"}`,
		`{"type":"token_data","target":"tool_call","count":0,"content":"{\"name\":\"GetLiveContext\",\"parameters\":{}}"}`,
		`{"type":"ingesting","target":"tool_result"}`,
		`{"type":"token_data","target":"tool_result","count":1,"content":"{\"error\":true}"}`,
		`{"type":"ingesting","target":"message"}`,
		`{"type":"token_data","target":"message","count":0,"content":"I don't have access to that tool."}`,
		`{"type":"ingesting","target":"reasoning"}`,
		`{"type":"token_data","target":"reasoning","count":0,"content":"R"}`,
		`{"type":"done"}`,
	}
	if d := cmp.Diff(want, frames(a.body)); d != "" {
		t.Error(d)
	}
	a = post(t, url+"/ai/v1/chat/completions",
		`{"model":"lumo","stream":true,"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"proton_info"}],"lumo":{"target":"message"}}`)
	want = []string{
		`{"object":"chat.tool_call","tool_call":{"id":"c1","name":"GetLiveContext","arguments":"{}"}}`,
		`{"object":"chat.tool_result","tool_result":{"call_id":"c1","content":"{\"error\":true}"}}`,
		`{"content":"I don't have access to that tool."}`,
		`{"reasoning_content":"R"}`,
		`{},"finish_reason":"stop"`,
		`{"model":"lumo","choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0,"applied_limit_category":null,"remaining_limits":null}}`,
		"[DONE]",
	}
	if d := cmp.Diff(want, frames(a.body)); d != "" {
		t.Error(d)
	}
	a = post(t, url+"/ai/v1/chat/completions",
		`{"model":"lumo","messages":[{"role":"user","content":"hi"}],"lumo":{"target":"title"}}`)
	if f := frames(a.body); f[0] != `{"content":"t"}` {
		t.Errorf("title: %v", f)
	}
}

// A backend can end its answer with an error of its own, in each protocol's way.
func TestFailures(t *testing.T) {
	for _, c := range []struct{ speaks, path, body, finish, want string }{
		{"lumo", "/ai/v1/chat", `{"Prompt":{"turns":[{"role":"user","content":"x"}]}}`,
			`{error: "Test error message"}`, `data: {"type":"error","message":"Test error message"}`},
		{"lumo", "/ai/v1/chat", `{"Prompt":{"turns":[{"role":"user","content":"x"}]}}`,
			`{timeout: "High demand error"}`, `data: {"type":"timeout","message":"High demand error"}`},
		{"lumo", "/ai/v1/chat", `{"Prompt":{"turns":[{"role":"user","content":"x"}]}}`, `rejected`,
			`data: {"type":"rejected"}`},
		{"lumo", "/ai/v1/chat", `{"Prompt":{"turns":[{"role":"user","content":"x"}]}}`, `content_filter`,
			`data: {"type":"harmful"}`},
		{"lumo", "/ai/v1/chat/completions", ask, `rejected`,
			`"error":{"code":"rejected","message":"the backend rejected the request"}`},
		{"openai", "/v1/chat/completions", ask, `timeout`,
			`data: {"error":{"message":"the backend reports a timeout","type":"server_error","param":null,"code":"timeout"}}`},
		{"anthropic", "/v1/messages", ask, `error`,
			"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\""},
		{"ollama", "/api/chat", ask, `error`, `{"error":"the backend reports an error"}`},
	} {
		t.Run(c.speaks+" "+c.finish, func(t *testing.T) {
			url, _ := serve(t,
				head+"backend: {speaks: "+c.speaks+"}\nturns: [{id: a, when: {}, reply: [{text: x}], finish: "+c.finish+
					"}]\n")
			a := post(t, url+c.path, c.body)
			if a.status != 200 || a.err != nil ||
				!strings.HasSuffix(strings.TrimSpace(a.body), strings.TrimSpace(c.want)) &&
					!strings.Contains(a.body, c.want) || strings.Contains(a.body, "[DONE]") {
				t.Errorf("%+v", a)
			}
		})
	}
	url, _ := serve(t, head+"turns: [{id: a, when: {}, finish: timeout}]\n")
	if a := post(t, url+"/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}]}`); a.status != 504 ||
		!strings.Contains(a.body, `"code":"timeout"`) {
		t.Errorf("%+v", a)
	}
}

func TestRaw(t *testing.T) {
	url, _ := serve(t,
		head+
			"backend: {speaks: raw}\nturns: [{id: a, when: {user: ping}, reply: [{raw: \"data: {\\\"x\\\":\"}, {raw: !!binary /w==}, {echo: user}]}]\n")
	if a := post(t, url+"/anything", "ping"); a.body != "data: {\"x\":\xffping" || a.err != nil {
		t.Errorf("%+v", a)
	}
}

func TestJournal(t *testing.T) {
	url, _ := serve(t, head+`turns: [{id: a, when: {user: "/hi (?<who>.+)/"}, reply: [{text: "<${who}>"}]}]`+
		"\nfaults: [{nth: 2, do: drop_done}]\n")
	for range 2 {
		post(t, url+"/v1/chat/completions", `{"messages":[{"role":"user","content":"hi Bo"}]}`, "Authorization",
			"Bearer secret")
	}
	post(t, url+"/v1/chat/completions", `{"messages":[{"role":"user","content":"ho"}]}`, "X-Wield-Test", "k")
	text := get(t, url+"/__script/journal")
	var list []script.Entry
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list) != 3 {
		t.Fatalf("%v in %s", err, text)
	}
	if strings.Contains(text, "secret") {
		t.Errorf("the journal shows the key: %s", text)
	}
	e := list[1]
	if e.Turn != "a" || e.Captures["who"] != "Bo" || len(e.Faults) != 1 || e.Faults[0] != "drop_done" ||
		!strings.Contains(e.Request, "hi Bo") || !strings.Contains(e.Response, `<Bo>`) || !e.Complete ||
		!strings.HasPrefix(e.Key, "key-") {
		t.Errorf("%+v", e)
	}
	if e := list[2]; e.Key != "k" || !strings.Contains(e.Error, "no turn") || e.Complete {
		t.Errorf("%+v", e)
	}
}

func TestFaultsOverHTTP(t *testing.T) {
	url, _ := serve(t, three)
	if a := post(t, url+"/__script/faults", `[{"on":"a","do":{"status":503}}]`); a.status != 200 ||
		!strings.Contains(a.body, `"status: 503"`) {
		t.Fatalf("%+v", a)
	}
	if a := post(t, url+"/v1/chat/completions", ask); a.status != 503 {
		t.Errorf("%+v", a)
	}
	req, _ := http.NewRequest("DELETE", url+"/__script/faults", nil)
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if a := post(t, url+"/v1/chat/completions", ask); a.status != 200 {
		t.Errorf("%+v", a)
	}
	if a := post(t, url+"/__script/faults", `{do: {statsu: 1}}`); a.status != 400 ||
		!strings.Contains(a.body, `did you mean "status"?`) {
		t.Errorf("%+v", a)
	}
}

func TestHotReload(t *testing.T) {
	url, files := serve(t, three)
	write := func(text string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(files[0], at, at); err != nil {
			t.Fatal(err)
		}
	}
	const whole = `{"messages":[{"role":"user","content":"x"}]}`
	write(strings.ReplaceAll(three, "three", "drei!"), time.Unix(1, 0))
	if a := post(t, url+"/v1/chat/completions", whole); !strings.Contains(a.body, "drei!") {
		t.Errorf("the new version does not answer: %+v", a)
	}
	write("broken: [", time.Unix(2, 0))
	if a := post(t, url+"/v1/chat/completions", whole); !strings.Contains(a.body, "drei!") {
		t.Errorf("the old version does not stay: %+v", a)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if a := post(t, url+"/v1/chat/completions", whole); a.status != 404 || !strings.Contains(a.body, "is gone") {
		t.Errorf("a file that is gone still answers: %+v", a)
	}
	write(three, time.Unix(3, 0))
	if a := post(t, url+"/v1/chat/completions", whole); !strings.Contains(a.body, "three") {
		t.Errorf("%+v", a)
	}
}

func TestSeveralScenarios(t *testing.T) {
	url, _ := serve(t, three, strings.Replace(confused, "name: t", "name: other", 1))
	if body := get(t, url+"/v1/models"); !strings.Contains(body, `{"id":"t","object":"model","created":1700000000`) ||
		!strings.Contains(body, `"id":"other"`) {
		t.Errorf("%s", body)
	}
	if a := post(t, url+"/v1/chat/completions", ask); !strings.Contains(a.body, "three") {
		t.Errorf("%+v", a)
	}
	if a := post(t, url+"/v1/chat/completions", `{"model":"nobody","messages":[]}`); a.status != 404 ||
		!strings.Contains(a.body, `no scenario is named \"nobody\"; there are t, other`) {
		t.Errorf("%+v", a)
	}
}

func TestHeaderCondition(t *testing.T) {
	url, _ := serve(t,
		head+
			"turns:\n  - {id: a, when: {header: {x-tenant: \"/^blue/\", X-Kind: plain}}, reply: [{text: blue}]}\n  - {id: b, when: {}, reply: [{text: other}]}\n")
	if a := post(t, url+"/v1/chat/completions", ask, "X-Tenant", "blue-1", "X-Kind", "plain"); !strings.Contains(
		a.body, "blue") {
		t.Errorf("%+v", a)
	}
	if a := post(t, url+"/v1/chat/completions", ask, "X-Tenant", "blue-1"); !strings.Contains(a.body, "other") {
		t.Errorf("%+v", a)
	}
}

// The protocol can be chosen for scenarios that do not care.
func TestSpeaks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.scenario.yaml")
	if err := os.WriteFile(file, []byte(three), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := script.Open(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(scriptserver.New(scriptserver.Options{Scenarios: []*script.Live{l},
		Speaks: script.SpeaksLumo}))
	defer srv.Close()
	a := post(t, srv.URL+"/ai/v1/chat", `{"Prompt":{"turns":[{"role":"user","content":"x"}]}}`)
	if !strings.Contains(a.body, `{"type":"token_data","target":"message","count":2,"content":"three"}`) {
		t.Errorf("%+v", a)
	}
}

func TestBadRequests(t *testing.T) {
	url, _ := serve(t, three)
	for _, body := range []string{"", "{", "[]", `{"model":"t"}`, `{"messages":3}`} {
		if a := post(t, url+"/v1/chat/completions", body); a.status != 400 ||
			!strings.Contains(a.body, `"type":"invalid_request_error"`) {
			t.Errorf("%q: %+v", body, a)
		}
	}
	if a := post(t, url+"/v1/embeddings", ask); a.status != 404 {
		t.Errorf("%+v", a)
	}
}

// The same requests give the same bytes, however many at once, and states of one key do not reach another.
func TestDeterminismAndStates(t *testing.T) {
	const text = head + `
seed: 5
backend: {native_tools: true}
turns:
  - {id: one, when: {}, need_state: "", set_state: s, reply: [{text: "first, cut anywhere", split: random}, {call: {name: f}}]}
  - {id: two, when: {}, need_state: s, set_state: "", reply: [{text: second}]}
`
	url, _ := serve(t, text)
	other, _ := serve(t, text)
	want := [2]string{post(t, other+"/v1/chat/completions", ask).body, post(t, other+"/v1/chat/completions", ask).body}
	if !strings.Contains(want[1], "second") {
		t.Fatalf("%q", want)
	}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			key := string(rune('a' + i))
			for j := range 4 {
				if a := post(t, url+"/v1/chat/completions", ask, "X-Wield-Test", key); a.body != want[j%2] {
					t.Errorf("key %s, request %d: %s", key, j, a.body)
				}
			}
		})
	}
	wg.Wait()
}

// A state is set only after the whole reply was sent.
func TestStateAfterBrokenReply(t *testing.T) {
	url, _ := serve(t, head+`
turns:
  - {id: one, when: {}, need_state: "", set_state: s, reply: [{text: first}]}
  - {id: two, when: {}, reply: [{text: second}]}
faults: [{on: one, nth: 1, do: {cut_after: 1chunks}}]
`)
	for _, want := range []string{"first", "first", "second"} {
		if a := post(t, url+"/v1/chat/completions", ask); !strings.Contains(a.body, want) {
			t.Errorf("want %s, got %s", want, a.body)
		}
	}
}

// Headers are flushed before the wait for the first byte, and a client that goes away ends the reply.
func TestHeadersBeforeBody(t *testing.T) {
	url, _ := serve(t, head+"defaults: {ttft: 1h}\nturns: [{id: a, when: {}, reply: [{text: x}]}]\n")
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: " +
		itoa(len(ask)) + "\r\n\r\n" + ask)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	n, err := conn.Read(buf)
	if err != nil || !bytes.HasPrefix(buf[:n], []byte("HTTP/1.1 200 OK\r\n")) {
		t.Fatalf("%q, %v", buf[:n], err)
	}
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }
