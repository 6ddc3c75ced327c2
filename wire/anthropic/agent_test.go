package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wield/chat"
)

// agentRequest writes a request of the size and shape of those that Claude Code sends: instructions in blocks with
// cache marks, of which the first changes with every version; more of them among the messages; a dozen tools with
// long descriptions, one of them deferred; rounds of calls, the last result with a cache mark; and keys that only
// servers of the protocol know.
func agentRequest(rounds int) []byte {
	mark := map[string]string{"type": "ephemeral"}
	block := func(text string, more ...any) map[string]any {
		b := map[string]any{"type": "text", "text": text}
		for i := 0; i+1 < len(more); i += 2 {
			b[more[i].(string)] = more[i+1]
		}
		return b
	}
	names := []string{"Agent", "Bash", "Edit", "Find", "List", "Notes", "Plan", "Read", "Review", "Skill", "Wait",
		"Write"}
	var tools []map[string]any
	for i, name := range names {
		properties := map[string]any{}
		for j := range 2 + i%4 {
			properties[fmt.Sprintf("%s_%d", strings.ToLower(name), j)] = map[string]any{
				"type": []string{"string", "integer", "boolean", "array"}[j%4], "description": prose(120 + 40*j),
				"items": map[string]any{"type": "string"}}
		}
		tools = append(tools, map[string]any{"name": name, "description": prose(400 + 170*i),
			"input_schema": map[string]any{
				"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": properties,
				"required": []string{strings.ToLower(name) + "_0"}, "additionalProperties": false}})
	}
	tools[5] = map[string]any{"name": "Placeholder", "description": "Stands for tools that are loaded later.",
		"input_schema": map[string]any{"type": "object", "properties": map[string]any{}}, "defer_loading": true}
	tools[11]["cache_control"] = mark

	messages := []map[string]any{
		{"role": "user", "content": []any{block("<reminder>\n" + prose(560) + "\n</reminder>\n"),
			block("Change the greeting in \"/tmp/w\" to a farewell — 再见 🌙")}},
		{"role": "system", "content": prose(9000)},
	}
	for i := range rounds {
		id, other := fmt.Sprintf("toolu_w_call_%024x", 2*i), fmt.Sprintf("toolu_01%022d", i)
		messages = append(messages,
			map[string]any{"role": "assistant", "content": []any{
				map[string]any{"type": "thinking", "thinking": "", "signature": fmt.Sprintf("c2lnbmF0dXJl%d==", i)},
				block("I read it first."),
				map[string]any{"type": "tool_use", "id": id, "name": "Read",
					"input": map[string]any{"read_0": "/tmp/w/a.txt", "read_1": json.Number("9007199254740993")}},
				map[string]any{"type": "tool_use", "id": other, "name": "Bash",
					"input": map[string]any{"bash_0": "printf 'a\\n\"b\"' | tr a b"}},
			}},
			map[string]any{"role": "user", "content": []any{
				map[string]any{"tool_use_id": id, "type": "tool_result", "content": "1\thello, world\n2\t"},
				map[string]any{"tool_use_id": other, "type": "tool_result", "content": []any{block("exit status 1")},
					"is_error": true},
			}})
	}
	if rounds > 0 {
		results := messages[len(messages)-1]["content"].([]any)
		results[1].(map[string]any)["cache_control"] = mark
		messages = append(messages, map[string]any{"role": "system", "content": []any{block("A tool was added.")}})
	}

	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false) // as clients in JavaScript write it
	err := e.Encode(map[string]any{
		"model":    "coder",
		"messages": messages,
		"system": []any{block("x-client-header: version=1.2.3; entrypoint=cli;"),
			block("You are an agent.", "cache_control", mark), block(prose(6700), "cache_control", mark)},
		"tools":      tools,
		"metadata":   map[string]string{"user_id": strings.Repeat("u", 150)},
		"max_tokens": 32000,
		"thinking":   map[string]string{"type": "adaptive", "display": "omitted"},
		"context_management": map[string]any{
			"edits": []any{map[string]string{"type": "clear_thinking", "keep": "all"}}},
		"output_config": map[string]string{"effort": "high"},
		"stream":        true,
	})
	if err != nil {
		panic(err)
	}
	return body.Bytes()
}

// prose writes n bytes of sentences with the characters that codecs stumble over.
func prose(n int) string {
	words := strings.Fields(
		"the tool `reads` a <file> and \"returns\" its lines; use {\"path\": 1} or C:\\temp, — never & always\t| naïve 文件 🙂 </tag>")
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(words[(i*i+i/7)%len(words)])
		b.WriteString([]string{" ", " ", "\n", " ", "\n\n- "}[i%5])
	}
	return b.String()
}

// canonical makes requests equal that say the same: a text is a block of text, a result is no error unless it says
// so, and an id that wield made for the client is that of the call.
func canonical(t *testing.T, body []byte) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	blocks(v, "system")
	for _, m := range v["messages"].([]any) {
		m := m.(map[string]any)
		blocks(m, "content")
		for _, b := range m["content"].([]any) {
			b := b.(map[string]any)
			for _, key := range []string{"id", "tool_use_id"} {
				if id, ok := b[key].(string); ok {
					b[key] = originalID(id)
				}
			}
			if b["type"] == "tool_result" {
				blocks(b, "content")
				if b["is_error"] == false {
					delete(b, "is_error")
				}
			}
		}
	}
	return v
}

func blocks(v map[string]any, key string) {
	if s, ok := v[key].(string); ok {
		v[key] = []any{map[string]any{"type": "text", "text": s}}
	}
}

// TestAgentRequest decodes a request as agents send it, writes it for a server of the protocol, and compares every
// field.
func TestAgentRequest(t *testing.T) {
	for _, rounds := range []int{0, 1, 10} {
		body := agentRequest(rounds)
		if len(body) < 40_000 || len(body) > 60_000 {
			t.Errorf("%d rounds have %d bytes, those of agents 40 to 60 thousand", rounds, len(body))
		}
		req, err := DecodeRequest(body)
		if err != nil {
			t.Fatal(err)
		}
		out, err := AppendRequest(nil, req, RequestOptions{Stream: true, Forward: []string{"context_management"}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(canonical(t, body), canonical(t, out)); diff != "" {
			t.Errorf("%d rounds (-sent +written):\n%s", rounds, diff)
		}
		if len(req.Tools) != 12 || req.MaxTokens != 32000 || !req.Stream || req.User != strings.Repeat("u", 150) {
			t.Errorf("decoded as %d tools, %d tokens, stream %v", len(req.Tools), req.MaxTokens, req.Stream)
		}
		if ThinkingOf(req) != thinkingOmitted {
			t.Error("thinking is shown")
		}
		for i, m := range req.Messages {
			if (m.Role == chat.RoleSystem) != (i == 0) {
				t.Errorf("message %d of the role %s", i, m.Role)
			}
		}
	}
}

// TestRecordedRequest_ClaudeCode does the same with what Claude Code 2.1.329 sent on the fourth turn of a task: its
// request as it was recorded, with every word of its texts replaced by another one of the same length, and every name
// of the machine.
func TestRecordedRequest_ClaudeCode(t *testing.T) {
	body, err := os.ReadFile("testdata/agent.json")
	if err != nil {
		t.Fatal(err)
	}
	req, err := DecodeRequest(body)
	if err != nil {
		t.Fatal(err)
	}
	out, err := AppendRequest(nil, req, RequestOptions{Stream: true, Forward: []string{"context_management"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(canonical(t, body), canonical(t, out)); diff != "" {
		t.Errorf("(-sent +written):\n%s", diff)
	}
	var calls []string
	for _, m := range req.Messages {
		for _, c := range m.Calls {
			calls = append(calls, c.Name)
		}
	}
	if len(body) < 40_000 || len(req.Tools) != 12 || strings.Join(calls, " ") != "Read Edit Bash" {
		t.Errorf("%d bytes with %d tools, and the calls %q", len(body), len(req.Tools), calls)
	}
}

func BenchmarkDecodeRequest(b *testing.B) {
	body := agentRequest(2)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeRequest(body); err != nil {
			b.Fatal(err)
		}
	}
}
