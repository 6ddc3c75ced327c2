package gateway

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"wield/chat"
)

// TestGoldenStreams: the exact chunks of the streams that clients were found to accept.
func TestGoldenStreams(t *testing.T) {
	usage := chat.Event{Kind: chat.KindUsage, Detail: &chat.Usage{Known: true, In: 10, Out: 5}}
	concat := func(lists ...[]chat.Event) (all []chat.Event) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	for _, tt := range []struct {
		name    string
		options string // further fields of the request
		events  []chat.Event
		want    []string // delta or choices, finish reason
	}{
		{"text", "", []chat.Event{text("Hel"), idle(), text("lo"), usage, finish(chat.FinishStop)}, []string{
			`{"role":"assistant","content":""} null`, `{"content":"Hel"} null`, `{"content":"lo"} null`, `{} "stop"`}},
		{"nothing", "", []chat.Event{finish(chat.FinishLength)}, []string{`{"role":"assistant","content":""} null`,
			`{} "length"`}},
		{"call after text", "",
			concat([]chat.Event{text("I look.")}, call(0, "call_a", "get_weather", `{"city":`, `"Paris"}`),
				[]chat.Event{finish(chat.FinishStop)}), []string{
				`{"role":"assistant","content":""} null`, `{"content":"I look."} null`,
				`{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"get_weather","arguments":""}}]} null`,
				`{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":"}}]} null`,
				`{"tool_calls":[{"index":0,"function":{"arguments":"\"Paris\"}"}}]} null`,
				`{} "tool_calls"`}},
		{"two calls", "", concat(call(0, "call_a", "f", `{}`), call(1, "call_b", "g", `{}`),
			[]chat.Event{finish(chat.FinishCalls)}), []string{
			`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"f","arguments":""}}]} null`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]} null`,
			`{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"g","arguments":""}}]} null`,
			`{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]} null`,
			`{} "tool_calls"`}},
		{"usage asked for", `,"stream_options":{"include_usage":true}`,
			[]chat.Event{text("a"), usage, finish(chat.FinishStop)}, []string{
				`{"role":"assistant","content":""} null`, `{"content":"a"} null`, `{} "stop"`, `usage`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := serve(t, one(says(tt.events...)))
			resp, body := ask(t, srv, `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]`+
				tt.options+`}`)
			if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream; charset=utf-8" {
				t.Errorf("content type %q", ct)
			}
			if cc := resp.Header.Get("Cache-Control"); cc != "no-cache" {
				t.Errorf("cache control %q", cc)
			}
			data := frames(body)
			if len(data) == 0 || data[len(data)-1] != "[DONE]" || !strings.HasSuffix(body, "\n\n") {
				t.Fatalf("stream ends wrongly: %q", body)
			}
			var got []string
			for _, d := range data[:len(data)-1] {
				if strings.Contains(d, `"choices":[]`) && strings.Contains(d, `"prompt_tokens":10`) {
					got = append(got, "usage")
					continue
				}
				m := chunkForm.FindStringSubmatch(d)
				if m == nil {
					t.Fatalf("chunk is not as it should be: %s", d)
				}
				got = append(got, m[1]+" "+m[2])
			}
			if fmt.Sprint(strings.Join(got, "\n")) != strings.Join(tt.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

var chunkForm = regexp.MustCompile(
	`^\{"id":"chatcmpl-[^"]+","object":"chat.completion.chunk","created":\d+,"model":"m","choices":\[\{"index":0,"delta":(.*),"logprobs":null,"finish_reason":(null|"[a-z_]+")\}\](?:,"usage":null)?\}$`)

// TestA32Response: a call and the text beside it, in one body; the arguments are a string.
func TestA32Response(t *testing.T) {
	events := append([]chat.Event{text("I'll check the weather for you.")},
		call(0, "call_abc123", "get_weather", `{"location": "Paris"}`)...)
	srv := serve(t, one(says(append(events, finish(chat.FinishCalls))...)))
	resp, body := ask(t, srv, hello)
	got := parse(t, body)
	if resp.StatusCode != 200 || len(got.Choices) != 1 || got.Object != "chat.completion" || got.Model != "m" ||
		got.Created < 1_700_000_000 || got.Created > 10_000_000_000 {
		t.Fatalf("status %d: %s", resp.StatusCode, body)
	}
	c := got.Choices[0]
	if deref(c.Message.Content) != "I'll check the weather for you." || deref(c.FinishReason) != "tool_calls" ||
		len(c.Message.ToolCalls) != 1 {
		t.Fatalf("choice: %s", body)
	}
	if tc := c.Message.ToolCalls[0]; tc.ID != "call_abc123" || tc.Type != "function" ||
		tc.Function.Name != "get_weather" || tc.Function.Arguments != `{"location": "Paris"}` {
		t.Errorf("call: %+v", tc)
	}
}

// TestA31Request: the request reaches the model as the client meant it, tool_choice and parallel_tool_calls included
// (A19).
func TestA31Request(t *testing.T) {
	var got *chat.Request
	srv := serve(t, one(fake(func(_ context.Context, req *chat.Request, emit func(chat.Event) bool) error {
		got = req
		emit(finish(chat.FinishStop))
		return nil
	})))
	resp, body := ask(t, srv,
		`{"model":"m","messages":[{"role":"user","content":"hi"}],"tool_choice":"required","parallel_tool_calls":false,
		"tools":[{"type":"function","function":{"name":"get_weather","description":"d","parameters":{"type":"object","properties":{"b":{},"a":{}}}}}]}`)
	if resp.StatusCode != 200 {
		t.Fatalf("status %d: %s", resp.StatusCode, body)
	}
	if got.Choice.Mode != chat.ChoiceRequired || got.Parallel == nil || *got.Parallel {
		t.Errorf("choice %v, parallel %v", got.Choice, got.Parallel)
	}
	if len(got.Tools) != 1 || got.Tools[0].Name != "get_weather" ||
		!strings.Contains(string(got.Tools[0].Parameters), `"b":{},"a":{}`) {
		t.Errorf("tools %+v", got.Tools)
	}
}
