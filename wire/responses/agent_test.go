package responses

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"wield/chat"
)

// agentRequest is a request of the size and shape that a coding agent sends on its second turn: long instructions as
// two messages of the developer, functions with schemas of some depth, a namespace, a tool that is no function, and
// the first turn with what it came to.
func agentRequest() []byte {
	prose := func(n int, topic string) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b,
				"%d. On %s: keep to the \"plan\", say what was done, and never <guess> a path like C:\\tmp or /tmp/é.\n", i, topic)
		}
		return b.String()
	}
	text := func(role string, parts ...string) map[string]any {
		var content []any
		for _, p := range parts {
			content = append(content, map[string]any{"type": "input_text", "text": p})
		}
		return map[string]any{"type": "message", "role": role, "content": content}
	}
	function := func(name string, properties int) map[string]any {
		props := map[string]any{}
		for i := range properties {
			props[fmt.Sprintf("field_%d", i)] = map[string]any{"type": []any{"string", "null"},
				"description": prose(150, name), "enum": []any{"a", "b", nil}}
		}
		props["list"] = map[string]any{"type": "array",
			"items": map[string]any{"type": "object",
				"properties": map[string]any{"n": map[string]any{"type": "number", "minimum": 0.5}}}}
		return map[string]any{"type": "function", "name": name, "description": prose(500, name), "strict": false,
			"parameters": map[string]any{"type": "object", "properties": props, "required": []any{"list"},
				"additionalProperties": false}}
	}
	var tools []any
	for i, name := range []string{"run_command", "write_stdin", "ask_person", "look_at_image", "get_goal",
		"create_goal", "update_goal"} {
		tools = append(tools, function(name, i))
	}
	var team []any
	for i, name := range []string{"stop_helper", "go_on", "tell_helper", "start_helper", "wait_for"} {
		team = append(team, function(name, i))
	}
	tools = append(tools, map[string]any{"type": "namespace", "name": "helpers", "description": "Helpers.",
		"tools": team},
		map[string]any{"type": "web_search", "external_web_access": false})
	message := text("assistant")
	message["content"] = []any{map[string]any{"type": "output_text", "text": "I read it first.\n"}}
	body := map[string]any{
		"model": "m", "stream": true, "store": false, "tool_choice": "auto", "parallel_tool_calls": true,
		"prompt_cache_key": "01a1fd7f", "include": []any{"reasoning.encrypted_content"},
		"reasoning":       map[string]any{"summary": "auto"},
		"client_metadata": map[string]any{"session": "01a1", "nested": "{\"turn\":\"x\"}"}, "tools": tools,
		"input": []any{
			text("developer", prose(15000, "work")), text("developer", prose(2000, "safety"), prose(500, "style")),
			text("user", prose(900, "surroundings")), text("user", "Add a second line to notes.txt"),
			message,
			map[string]any{"type": "function_call", "name": "run_command", "call_id": "call_1",
				"arguments": `{"cmd": "cat notes.txt", "list": []}`},
			map[string]any{"type": "function_call", "name": "go_on", "namespace": "helpers", "call_id": "call_2",
				"arguments": `{"list": [{"n": 12345678901234567890}]}`},
			map[string]any{"type": "function_call_output", "call_id": "call_1", "output": prose(6000, "a file")},
			map[string]any{"type": "function_call_output", "call_id": "call_2", "output": "ok"},
		},
	}
	b, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return b
}

// TestAgentRequest reads such a request, writes it again, and compares field by field. What the vocabulary takes
// apart comes back as it was.
func TestAgentRequest(t *testing.T) {
	req := writtenAgain(t, agentRequest())
	if len(req.Tools) != 13 || len(req.Messages) != 7 || req.Messages[4].Role != chat.RoleAssistant ||
		len(req.Messages[4].Calls) != 2 {
		t.Errorf("%d tools, %d messages", len(req.Tools), len(req.Messages))
	}
}

// TestRecordedRequest_Codex does the same with what Codex 0.169.0 sent on the fourth turn of a task: its request as
// it was recorded, with every word of its texts replaced by another one of the same length, and every name of the
// machine.
func TestRecordedRequest_Codex(t *testing.T) {
	sent, err := os.ReadFile("testdata/agent.json")
	if err != nil {
		t.Fatal(err)
	}
	req := writtenAgain(t, sent)
	calls := 0
	for _, m := range req.Messages {
		calls += len(m.Calls)
	}
	if len(req.Tools) != 13 || calls != 3 {
		t.Errorf("%d tools, %d calls", len(req.Tools), calls)
	}
}

// writtenAgain reads a request, writes it, and compares every field.
func writtenAgain(t *testing.T, sent []byte) *Request {
	t.Helper()
	if n := len(sent); n < 40_000 || n > 60<<10 {
		t.Fatalf("the request has %d bytes, which is not its size", n)
	}
	req := decode(t, string(sent))
	var forward []string
	for _, x := range req.Extra {
		forward = append(forward, x.Key)
	}
	written, err := AppendRequest(nil, &req.Request, RequestOptions{Stream: true, Forward: forward})
	if err != nil {
		t.Fatal(err)
	}
	want, got := fields(t, sent), fields(t, written)
	for _, item := range want["input"].([]any) { // what a server says of its items is nothing that a model is told
		item := item.(map[string]any)
		delete(item, "id")
		delete(item, "status")
		parts, _ := item["content"].([]any)
		for _, part := range parts {
			delete(part.(map[string]any), "annotations")
			delete(part.(map[string]any), "logprobs")
		}
	}
	for key, v := range want {
		compareFields(t, key, v, got[key])
		delete(got, key)
	}
	for key := range got {
		t.Errorf("%s was added", key)
	}
	return req
}

func fields(t *testing.T, body []byte) (m map[string]any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		t.Fatal(err)
	}
	return m
}

// compareFields compares values and names the field in which they differ.
func compareFields(t *testing.T, path string, want, got any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok || len(got) != len(want) {
			t.Errorf("%s has %d fields, want %d: %v", path, len(got), len(want), got)
			return
		}
		for key, v := range want {
			compareFields(t, path+"."+key, v, got[key])
		}
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			t.Errorf("%s has %d elements, want %d", path, len(got), len(want))
			return
		}
		for i, v := range want {
			compareFields(t, fmt.Sprintf("%s[%d]", path, i), v, got[i])
		}
	default:
		if !reflect.DeepEqual(want, got) {
			t.Errorf("%s is %.80v, want %.80v", path, got, want)
		}
	}
}

func BenchmarkDecodeRequest(b *testing.B) {
	body := agentRequest()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeRequest(body); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStream writes 50 deltas, which is an answer of two sentences.
func BenchmarkStream(b *testing.B) {
	end := finishEvent(chat.FinishStop)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		w := NewStreamWriter(plainOptions)
		for range 50 {
			buf = w.Append(buf[:0], chat.Event{Kind: chat.KindText, Text: "token "})
		}
		buf = w.Append(buf[:0], end)
	}
}
