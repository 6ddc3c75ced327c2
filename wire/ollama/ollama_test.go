package ollama_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"wield/chat"
	"wield/wire/jsonbody"
	"wield/wire/ollama"
	"wield/wire/openai"
)

func at(s int) time.Time { return time.Date(2026, 1, 2, 3, 4, s, 0, time.UTC) }

func options() ollama.ResponseOptions {
	return ollama.ResponseOptions{ID: "a", Model: "m", Created: at(5), Now: func() time.Time { return at(6) }}
}

const wholeRequest = `{
  "model": "m", "keep_alive": "5m", "think": "high", "stream": false,
  "messages": [
    {"role": "System", "content": "Be brief."},
    {"role": "user", "content": "Look", "images": ["iVBORw0KGgo="]},
    {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": [
      {"function": {"name": "a", "arguments": {"n": 12345678901234567890}}},
      {"id": "x1", "function": {"index": 1, "name": "b", "arguments": "{\"s\": \"t\"}"}},
      {"function": {"name": "a", "arguments": "ls -la"}}]},
    {"role": "tool", "tool_name": "b", "content": "two"},
    {"role": "tool", "tool_name": "a", "content": "one"},
    {"role": "tool", "content": "three"},
    {"role": "user", "content": [{"type": "text", "text": "And?"}]}
  ],
  "tools": [
    {"type": "function", "function": {"name": "a", "description": "A", "parameters": {"type": "object"}}},
    {"type": "web_search"},
    {"type": "function", "name": "b"}],
  "format": {"type": "object"},
  "options": {"temperature": 0.5, "top_p": 0.9, "seed": 42.0, "num_predict": -1, "stop": ["x"], "num_ctx": 8192, "top_k": 4},
  "logprobs": true, "top_logprobs": 2
}`

func TestDecodeRequest(t *testing.T) {
	got, err := ollama.DecodeRequest([]byte(wholeRequest))
	if err != nil {
		t.Fatal(err)
	}
	half, nine, seed := 0.5, 0.9, int64(42)
	call := func(i int, id, name, args string) chat.Call {
		return chat.Call{Index: i, ID: id, Name: name, Arguments: args, Complete: true, Origin: chat.OriginFunction}
	}
	want := &chat.Request{
		Model: "m", Temperature: &half, TopP: &nine, Seed: &seed, Stop: []string{"x"}, Effort: "high", LogProbs: true,
		TopLogProbs: 2, Messages: []chat.Message{
			{Role: chat.RoleSystem, Parts: chat.Text("Be brief.")},
			{Role: chat.RoleUser,
				Parts: []chat.Part{{Text: "Look"},
					{Kind: chat.PartImage, MediaType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}}},
			{Role: chat.RoleAssistant, Reasoning: "hm", Calls: []chat.Call{
				call(0, "call_2_0", "a", `{"n": 12345678901234567890}`), call(1, "x1", "b", `{"s": "t"}`),
				call(2, "call_2_2", "a", "ls -la")}},
			{Role: chat.RoleTool, CallID: "x1", Name: "b", Parts: chat.Text("two")},
			{Role: chat.RoleTool, CallID: "call_2_0", Name: "a", Parts: chat.Text("one")},
			{Role: chat.RoleTool, CallID: "call_2_2", Name: "a", Parts: chat.Text("three")},
			{Role: chat.RoleUser, Parts: chat.Text("And?")},
		},
		Tools: []chat.Tool{{Name: "a", Description: "A", Parameters: json.RawMessage(`{"type": "object"}`)},
			{Name: "web_search", Raw: json.RawMessage("{\"type\": \"web_search\"}"), Hosted: chat.HostedOptional},
			{Name: "b"}},
		Format: &chat.Format{Kind: chat.FormatSchema, Schema: json.RawMessage(`{"type": "object"}`)},
		Extra: []chat.Extra{
			{Protocol: chat.ProtocolOllama, Key: "keep_alive", Value: json.RawMessage(`"5m"`)},
			{Protocol: chat.ProtocolOllama, Key: "think", Value: json.RawMessage(`"high"`)},
			{Protocol: chat.ProtocolOllama, Key: "options", Value: json.RawMessage(`{"num_ctx":8192,"top_k":4}`)},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeDefaults(t *testing.T) {
	req, err := ollama.DecodeRequest(
		[]byte(`{"model":"m","messages":null,"format":"","think":null,"options":null,"tools":null}`))
	if err != nil || !req.Stream || len(req.Messages) != 0 || req.Format != nil || req.Effort != "" {
		t.Errorf("%+v, %v", req, err)
	}
	for think, effort := range map[string]string{"true": "medium", "false": "", `"low"`: "low"} {
		req, err := ollama.DecodeRequest([]byte(`{"think":` + think + `}`))
		if err != nil || req.Effort != effort {
			t.Errorf("think %s is effort %q, want %q (%v)", think, req.Effort, effort, err)
		}
	}
}

// Whatever a client sends is an error with a place, never anything worse.
func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct{ body, param, code string }{
		{``, "", jsonbody.CodeInvalidJSON},
		{`{"model":`, "", jsonbody.CodeInvalidJSON},
		{`[1]`, "", jsonbody.CodeInvalidType},
		{`"x"`, "", jsonbody.CodeInvalidType},
		{strings.Repeat(`{"a":`, 20000), "", jsonbody.CodeInvalidJSON},
		{`{"model":7}`, "model", jsonbody.CodeInvalidType},
		{`{"stream":"yes"}`, "stream", jsonbody.CodeInvalidType},
		{`{"messages":{}}`, "messages", jsonbody.CodeInvalidType},
		{`{"messages":[7]}`, "messages[0]", jsonbody.CodeInvalidType},
		{`{"messages":[{"role":"user","content":7}]}`, "messages[0].content", jsonbody.CodeInvalidType},
		{`{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, "messages[0].content[0]",
			jsonbody.CodeInvalidType},
		{`{"messages":[{"role":"user"},{"role":"bot"}]}`, "messages[1].role", jsonbody.CodeInvalidValue},
		{`{"messages":[{"role":"user","thinking":[]}]}`, "messages[0].thinking", jsonbody.CodeInvalidType},
		{`{"messages":[{"role":"user","images":["%%"]}]}`, "messages[0].images[0]", jsonbody.CodeInvalidValue},
		{`{"messages":[{"role":"user","images":[7]}]}`, "messages[0].images[0]", jsonbody.CodeInvalidType},
		{`{"messages":[{"role":"assistant","tool_calls":[{}]}]}`, "messages[0].tool_calls[0].function.name",
			jsonbody.CodeMissing},
		{`{"messages":[{"role":"assistant","tool_calls":"x"}]}`, "messages[0].tool_calls", jsonbody.CodeInvalidType},
		{`{"tools":{}}`, "tools", jsonbody.CodeInvalidType},
		{`{"tools":[{"type":"function","function":{}}]}`, "tools[0].function.name", jsonbody.CodeMissing},
		{`{"tools":[{"function":{"name":"a"}},{"function":{"name":"a"}}]}`, "tools[1].function.name",
			jsonbody.CodeInvalidValue},
		{`{"format":"xml"}`, "format", jsonbody.CodeInvalidValue},
		{`{"format":[]}`, "format", jsonbody.CodeInvalidType},
		{`{"think":7}`, "think", jsonbody.CodeInvalidType},
		{`{"options":[]}`, "options", jsonbody.CodeInvalidType},
		{`{"options":{"temperature":"hot"}}`, "options.temperature", jsonbody.CodeInvalidType},
		{`{"options":{"seed":1.5}}`, "options.seed", jsonbody.CodeInvalidType},
		{`{"options":{"stop":7}}`, "options.stop", jsonbody.CodeInvalidType},
	} {
		_, err := ollama.DecodeRequest([]byte(c.body))
		var e *chat.Error
		if !errors.As(err, &e) {
			t.Errorf("%.60s: %v", c.body, err)
			continue
		}
		if e.Kind != chat.ErrBadRequest || e.Param != c.param || e.Code != c.code ||
			!strings.HasPrefix(e.Message, e.Param) {
			t.Errorf("%.60s: kind %s, param %q, code %q: %s", c.body, e.Kind, e.Param, e.Code, e.Message)
		}
	}
}

// FuzzDecodeRequest: any body is a request or a typed error.
func FuzzDecodeRequest(f *testing.F) {
	f.Add([]byte(wholeRequest))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := ollama.DecodeRequest(body)
		if err != nil {
			var e *chat.Error
			if !errors.As(err, &e) || e.Kind != chat.ErrBadRequest {
				t.Fatalf("%v", err)
			}
			return
		}
		if b, err := ollama.AppendRequest(nil, req,
			ollama.RequestOptions{Forward: []string{"options", "keep_alive"}}); err == nil && !json.Valid(b) {
			t.Fatalf("not JSON: %s", b)
		}
	})
}

func TestAppendRequest(t *testing.T) {
	req, err := ollama.DecodeRequest([]byte(wholeRequest))
	if err != nil {
		t.Fatal(err)
	}
	got, err := ollama.AppendRequest(nil, req, ollama.RequestOptions{Model: "there", Stream: true,
		Forward: []string{"keep_alive", "options"}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"model":"there","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Look","images":["iVBORw0KGgo="]},` +
		`{"role":"assistant","content":"","thinking":"hm","tool_calls":[{"id":"call_2_0","function":{"index":0,"name":"a","arguments":{"n":12345678901234567890}}},` +
		`{"id":"x1","function":{"index":1,"name":"b","arguments":{"s":"t"}}},{"id":"call_2_2","function":{"index":2,"name":"a","arguments":{"arguments":"ls -la"}}}]},` +
		`{"role":"tool","content":"two","tool_name":"b","tool_call_id":"x1"},{"role":"tool","content":"one","tool_name":"a","tool_call_id":"call_2_0"},` +
		`{"role":"tool","content":"three","tool_name":"a","tool_call_id":"call_2_2"},{"role":"user","content":"And?"}],` +
		`"tools":[{"type":"function","function":{"name":"a","description":"A","parameters":{"type":"object"}}},` +
		`{"type":"function","function":{"name":"b","description":"","parameters":{"type":"object","properties":{}}}}],` +
		`"stream":true,"format":{"type":"object"},"think":"high","options":{"temperature":0.5,"top_p":0.9,"seed":42,"stop":["x"],"num_ctx":8192,"top_k":4},` +
		`"logprobs":true,"top_logprobs":2,"keep_alive":"5m"}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAppendRequestParts(t *testing.T) {
	user := []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("hi")}}
	tools := []chat.Tool{{Name: "a"}, {Name: "b"}}
	for _, c := range []struct {
		name string
		req  chat.Request
		o    ollama.RequestOptions
		want string // part of the body
	}{
		{"named choice", chat.Request{Tools: tools, Choice: chat.Choice{Mode: chat.ChoiceNamed, Name: "b"}},
			ollama.RequestOptions{}, `"tools":[{"type":"function","function":{"name":"b",`},
		{"no choice", chat.Request{Tools: tools, Choice: chat.Choice{Mode: chat.ChoiceNone}}, ollama.RequestOptions{},
			`"content":"hi"}],"stream":false}`},
		{"effort", chat.Request{Effort: "minimal"}, ollama.RequestOptions{}, `"think":true`},
		{"effort in levels", chat.Request{Effort: "minimal"}, ollama.RequestOptions{Levels: true}, `"think":"low"`},
		{"no effort", chat.Request{Effort: "none"}, ollama.RequestOptions{Levels: true}, `"think":false`},
		{"tokens", chat.Request{MaxTokens: 7}, ollama.RequestOptions{}, `"options":{"num_predict":7}`},
		{"JSON", chat.Request{Format: &chat.Format{Kind: chat.FormatJSON}}, ollama.RequestOptions{}, `"format":"json"`},
		{"foreign extra",
			chat.Request{
				Extra: []chat.Extra{{Protocol: chat.ProtocolOpenAI, Key: "options", Value: []byte(`{"x": 1}`)}}},
			ollama.RequestOptions{Forward: []string{"options"}}, `"stream":false}`},
		{"extra not listed",
			chat.Request{Extra: []chat.Extra{{Protocol: chat.ProtocolOllama, Key: "shift", Value: []byte(`true`)}}},
			ollama.RequestOptions{}, `"stream":false}`},
	} {
		c.req.Model, c.req.Messages = "m", user
		got, err := ollama.AppendRequest(nil, &c.req, c.o)
		if err != nil || !strings.Contains(string(got), c.want) || !json.Valid(got) {
			t.Errorf("%s: %s, %v", c.name, got, err)
		}
	}
	for _, part := range []chat.Part{{Kind: chat.PartImage, URL: "https://host.example/a.png"},
		{Kind: chat.PartAudio, Data: []byte("x")}} {
		_, err := ollama.AppendRequest(nil,
			&chat.Request{Messages: []chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{part}}}},
			ollama.RequestOptions{})
		var e *chat.Error
		if !errors.As(err, &e) || e.Kind != chat.ErrBadRequest || e.Param != "messages[0].content[0]" {
			t.Errorf("%v: %v", part, err)
		}
	}
}

func TestStreamWriter(t *testing.T) {
	w := ollama.NewStreamWriter(options())
	var got []byte
	for _, e := range events() {
		got = w.Append(got, e)
	}
	const head = `{"model":"m","created_at":"2026-01-02T03:04:06Z","message":{"role":"assistant","content":`
	want := head + `"","thinking":"hm"},"done":false}` + "\n" +
		head + `"a\nb"},"done":false}` + "\n" +
		head + `"é"},"done":false}` + "\n" +
		head +
		`"","tool_calls":[{"id":"c1","function":{"index":0,"name":"f","arguments":{"x":1}},"index":0}]},"done":false}` + "\n" +
		head + `"{\"x\":"},"done":false}` + "\n" +
		head + `"<raw>"},"done":false}` + "\n" +
		head +
		`""},"done_reason":"stop","done":true,"total_duration":1000000000,"prompt_eval_count":3,"eval_count":4}` + "\n"
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if more := w.AppendError(nil, &chat.Error{Message: "late"}); more != nil {
		t.Errorf("after the end: %s", more)
	}
}

func events() []chat.Event {
	return []chat.Event{
		{Kind: chat.KindReasoning, Text: "hm"},
		{Kind: chat.KindText, Text: "a\nb"},
		{Kind: chat.KindText, Text: "\xc3"},
		{Kind: chat.KindText, Text: "\xa9"},
		{Kind: chat.KindCallStart, ID: "c1", Name: "f"},
		{Kind: chat.KindCallArgs, Text: `{"x": 1}`},
		{Kind: chat.KindCallEnd, Detail: &chat.Call{ID: "c1", Name: "f", Arguments: `{"x": 1}`, Complete: true}},
		{Kind: chat.KindCallEnd, Detail: &chat.Call{Name: "f", Arguments: `{"x":`}},
		{Kind: chat.KindRejected, Flags: chat.FlagSpent, Detail: &chat.RejectedDetail{Raw: "<raw>"}},
		{Kind: chat.KindRejected, Detail: &chat.RejectedDetail{Raw: "<hidden>"}},
		{Kind: chat.KindNativeCall, Name: "web_search", Text: "{}"},
		{Kind: chat.KindUsage, Detail: &chat.Usage{Known: true, In: 3, Out: 4}},
		{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishCalls}},
	}
}

func TestResponse(t *testing.T) {
	r := ollama.NewResponse(options())
	for _, e := range events() {
		r.Add(e)
	}
	const want = `{"model":"m","created_at":"2026-01-02T03:04:06Z","message":{"role":"assistant","content":"a\nbé{\"x\":<raw>","thinking":"hm",` +
		`"tool_calls":[{"id":"c1","function":{"index":0,"name":"f","arguments":{"x":1}},"index":0}]},` +
		`"done_reason":"stop","done":true,"total_duration":1000000000,"prompt_eval_count":3,"eval_count":4}`
	if got := string(r.Append(nil)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A stream that failed ends with a line that says so, and says nothing of being done.
func TestStreamError(t *testing.T) {
	w := ollama.NewStreamWriter(options())
	got := w.Append(nil, chat.Event{Kind: chat.KindText, Text: "a"})
	got = w.AppendError(got, &chat.Error{Kind: chat.ErrUnavailable, Message: `it "broke"`})
	lines := strings.Split(string(got), "\n")
	if len(lines) != 3 || lines[1] != `{"error":"it \"broke\""}` || strings.Contains(string(got), `"done":true`) {
		t.Errorf("%s", got)
	}
}

// What one side writes the other reads: the events of an answer survive the wire.
func TestRoundTrip(t *testing.T) {
	w, whole := ollama.NewStreamWriter(options()), ollama.NewResponse(options())
	var wire []byte
	for _, e := range events() {
		wire = w.Append(wire, e)
		whole.Add(e)
	}
	var r ollama.StreamReader
	var stream []chat.Event
	var err error
	for _, line := range strings.SplitAfter(string(wire), "\n") {
		if stream, err = r.Feed(stream, []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if stream, err = r.Close(stream); err != nil {
		t.Fatal(err)
	}
	body, err := ollama.DecodeResponse(nil, whole.Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string][]chat.Event{"stream": stream, "whole": body} {
		text, calls, last := "", "", got[len(got)-1]
		for _, e := range got {
			switch e.Kind {
			case chat.KindText:
				text += e.Text
			case chat.KindCallEnd:
				call := e.Detail.(*chat.Call)
				calls += call.ID + call.Name + call.Arguments
			}
		}
		if text != "a\nbé{\"x\":<raw>" || calls != `c1f{"x":1}` || last.Kind != chat.KindFinish ||
			last.Detail.(*chat.Finish).Reason != chat.FinishCalls {
			t.Errorf("%s: text %q, calls %s, last %+v", name, text, calls, last)
		}
	}
}

func TestStreamReader(t *testing.T) {
	const end = `{"done":true,"done_reason":"stop"}`
	for _, c := range []struct {
		name  string
		lines []string
		want  string // kinds and texts
		kind  chat.ErrorKind
	}{
		{"text", []string{`{"message":{"content":"a"}}`, end}, "text:a finish:stop", ""},
		{"thinking first", []string{`{"message":{"thinking":"t","content":"a"}}`, end},
			"reasoning:t text:a finish:stop", ""},
		{"calls in one line",
			[]string{
				`{"message":{"tool_calls":[{"function":{"name":"f"}},{"function":{"index":0,"name":"g","arguments":{"a":1}}}]}}`, end},
			`call_start:call_0 f call_args:{} call_end:{} call_start:call_1 g call_args:{"a":1} call_end:{"a":1} finish:tool_calls`, ""},
		{"cut at the limit", []string{`{"message":{"content":"a"},"done":true,"done_reason":"length"}`},
			"text:a finish:length", ""},
		{"after the end", []string{`{"message":{"content":"a"}}`, end, `{"message":{"content":"b"}}`},
			"text:a finish:stop", ""},
		{"usage", []string{`{"message":{"content":"a"}}`, `{"done":true,"prompt_eval_count":3,"eval_count":4}`},
			"text:a usage:3+4 finish:stop", ""},
		{"loaded", []string{`{"message":{"content":""},"done_reason":"load","done":true}`}, "finish:stop", ""},
		{"broken off", []string{`{"message":{"content":"a"}}`}, "text:a", chat.ErrProtocol},
		{"no JSON", []string{`<html>`}, "", chat.ErrProtocol},
		{"an error", []string{`{"message":{"content":"a"}}`, `{"error":"model runner has unexpectedly stopped"}`},
			"text:a", chat.ErrUnavailable},
	} {
		var r ollama.StreamReader
		var got []chat.Event
		var err error
		for _, line := range c.lines {
			if got, err = r.Feed(got, []byte(line+"\n")); err != nil {
				break
			}
		}
		if err == nil {
			got, err = r.Close(got)
		}
		var parts []string
		for _, e := range got {
			parts = append(parts, e.Kind.String()+":"+show(e))
		}
		if s := strings.Join(parts, " "); s != c.want {
			t.Errorf("%s: got %s", c.name, s)
		}
		if e := chat.AsError(err); (e == nil) != (c.kind == "") || e != nil && e.Kind != c.kind {
			t.Errorf("%s: error %v, want kind %q", c.name, err, c.kind)
		}
	}
}

func show(e chat.Event) string {
	switch e.Kind {
	case chat.KindCallStart:
		return e.ID + " " + e.Name
	case chat.KindCallEnd:
		return e.Detail.(*chat.Call).Arguments
	case chat.KindUsage:
		usage := e.Detail.(*chat.Usage)
		return string(rune('0'+usage.In)) + "+" + string(rune('0'+usage.Out))
	case chat.KindFinish:
		return string(e.Detail.(*chat.Finish).Reason)
	}
	return e.Text
}

func TestDecodeError(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		kind   chat.ErrorKind
		code   string
	}{
		{400, `{"error":"registry.ollama.ai/library/gemma:2b does not support tools"}`, chat.ErrBadRequest,
			chat.CodeToolsUnsupported},
		{400, `{"error":"invalid options"}`, chat.ErrBadRequest, ""},
		{404, `{"error":"model 'x' not found"}`, chat.ErrNotFound, ""},
		{404, "404 page not found", chat.ErrNotFound, ""},
		{429, `{"error":"you have reached your usage limit"}`, chat.ErrRateLimit, ""},
		{500, `{"error":"model requires more system memory"}`, chat.ErrUnavailable, ""},
		{503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`, chat.ErrOverloaded, ""},
	} {
		e := ollama.DecodeError(c.status, nil, []byte(c.body))
		if e.Kind != c.kind || e.Code != c.code || e.Message == "" || e.Status != c.status {
			t.Errorf("%s: %+v", c.body, e)
		}
		if b := ollama.AppendError(nil, e); !json.Valid(b) || !strings.HasPrefix(string(b), `{"error":"`) {
			t.Errorf("%s", b)
		}
	}
}

func TestGenerate(t *testing.T) {
	req, err := ollama.DecodeGenerate(
		[]byte(
			`{"model":"m","prompt":"Why?","system":"Be brief.","images":["iVBORw0KGgo="],"suffix":"","raw":false,"context":[],"options":{"seed":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(req.Messages) != 2 || req.Messages[0].Text() != "Be brief." || req.Messages[1].Text() != "Why?" ||
		len(req.Messages[1].Parts) != 2 || *req.Seed != 1 {
		t.Errorf("%+v", req)
	}
	for _, body := range []string{`{"prompt":"a","raw":true}`, `{"prompt":"a","suffix":"b"}`,
		`{"prompt":"a","template":"{{.}}"}`, `{"prompt":"a","context":[1,2]}`, `{"prompt":7}`} {
		var e *chat.Error
		if _, err := ollama.DecodeGenerate([]byte(body)); !errors.As(err, &e) || e.Param == "" {
			t.Errorf("%s: %v", body, err)
		}
	}
	if req, err := ollama.DecodeGenerate([]byte(`{"model":"m"}`)); err != nil || len(req.Messages) != 0 {
		t.Errorf("no prompt: %+v, %v", req, err)
	}

	o := options()
	o.Generate = true
	w, whole := ollama.NewStreamWriter(o), ollama.NewResponse(o)
	var got []byte
	for _, e := range []chat.Event{events()[0], events()[1], events()[len(events())-1]} {
		got = w.Append(got, e)
		whole.Add(e)
	}
	const head = `{"model":"m","created_at":"2026-01-02T03:04:06Z","response":`
	const end = `,"done_reason":"stop","done":true,"total_duration":1000000000}`
	want := head + `"","thinking":"hm","done":false}` + "\n" + head + `"a\nb","done":false}` + "\n" + head + `""` +
		end + "\n"
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := string(whole.Append(nil)); got != head+`"a\nb","thinking":"hm"`+end {
		t.Errorf("got\n%s", got)
	}
}

func TestLoad(t *testing.T) {
	for body, reason := range map[string]string{
		`{"model":"m"}`: "load", `{"model":"m","keep_alive":0}`: "unload", `{"model":"m","keep_alive":"0s"}`: "unload",
		`{"model":"m","keep_alive":-1}`: "load",
	} {
		req, err := ollama.DecodeRequest([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		got := string(ollama.AppendLoaded(nil, options(), ollama.Unloads(req)))
		if want := `{"model":"m","created_at":"2026-01-02T03:04:06Z","message":{"role":"assistant","content":""},"done_reason":"` + reason + `","done":true}`; got != want {
			t.Errorf("%s: %s", body, got)
		}
	}
}

// Clients that never think say so to every model: a server of the same protocol is told, others are not.
func TestThinkFalse(t *testing.T) {
	req, err := ollama.DecodeRequest([]byte(`{"model":"m","messages":[{"role":"user","content":"a"}],"think":false}`))
	if err != nil {
		t.Fatal(err)
	}
	same, err := ollama.AppendRequest(nil, req, ollama.RequestOptions{})
	if err != nil || !strings.Contains(string(same), `"think":false`) {
		t.Errorf("%s, %v", same, err)
	}
	other, err := openai.AppendRequest(nil, req, openai.RequestOptions{})
	if err != nil || strings.Contains(string(other), "effort") {
		t.Errorf("%s, %v", other, err)
	}
}

func TestLogProbs(t *testing.T) {
	const one, two = `{"token":"a","logprob":-0.1}`, `{"token":"b","logprob":-0.2}`
	w, whole := ollama.NewStreamWriter(options()), ollama.NewResponse(options())
	var stream []byte
	e := chat.Event{Kind: chat.KindText, Text: "ab",
		Detail: chat.LogProbs(json.RawMessage(`{"refusal":null,"content":[` + one + "," + two + `]}`))}
	stream = w.Append(stream, e)
	whole.Add(e)
	whole.Add(e)
	if !strings.HasSuffix(string(stream), `"content":"ab"},"logprobs":[`+one+","+two+`],"done":false}`+"\n") {
		t.Errorf("%s", stream)
	}
	if body := string(whole.Append(nil)); !strings.Contains(body, `"logprobs":[`+one+","+two+","+one+","+two+
		`],"done_reason"`) || !json.Valid([]byte(body)) {
		t.Errorf("%s", body)
	}
}
