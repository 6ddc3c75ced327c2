package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// parseLine runs wield parse on input and returns what it printed.
func parseLine(t *testing.T, input string, args ...string) string {
	t.Helper()
	tools := filepath.Join(t.TempDir(), "tools.json")
	if err := os.WriteFile(tools, []byte(`[{"type":"function","function":{"name":"f"}}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	app, stdout, _ := testApp()
	app.stdin = strings.NewReader(input)
	run(t.Context(), append([]string{"parse", "--tools", tools}, args...), app)
	return stdout.String()
}

// TestParseWritesUTF8 feeds bytes that are no UTF-8 in every place, and wants lines that are JSON.
func TestParseWritesUTF8(t *testing.T) {
	for _, c := range []struct {
		name, input string
		args        []string
		want        string
	}{
		{"arguments", "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"x\xff\xfey\"}}</tool_call>", nil, `"arguments":null,"arguments_raw":"{\"a\":\"x\ufffd\ufffdy\"}"`},
		{"content", "a\xffb", nil, `"content":"a\ufffdb"`},
		{"reasoning", "<think>a\xffb</think>", nil, `"reasoning":"a\ufffdb"`},
		{"rejected", "<tool_call>{\"name\":\"nope\",\"arguments\":{\"a\":\"\xff\"}}</tool_call>", nil, `"raw":"<tool_call>{\"name\":\"nope\",\"arguments\":{\"a\":\"\ufffd\"}}</tool_call>"`},
		{"events", "a\xffb", []string{"--events"}, `"text":"a\ufffdb"`},
		{"id", "{\"id\":\"a\xffb\",\"text\":\"\"}", []string{"--jsonl"}, `{"id":"a\ufffdb"`},
		{"id of a broken record", "{\"id\":\"a\xffb\",\"text\":5}", []string{"--jsonl"}, `{"id":"a\ufffdb","error"`},
	} {
		line := parseLine(t, c.input, c.args...)
		if !utf8.ValidString(line) || !json.Valid([]byte(line)) || !strings.Contains(line, c.want) {
			t.Errorf("%s: got %q, want %s in it", c.name, line, c.want)
		}
	}
}
