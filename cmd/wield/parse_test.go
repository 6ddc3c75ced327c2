package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"wield/internal/cli"
)

// parseLine runs wield parse on input and returns what it printed.
func parseLine(t *testing.T, input string, args ...string) string {
	t.Helper()
	tools := filepath.Join(t.TempDir(), "tools.json")
	if err := os.WriteFile(tools, []byte(`[{"type":"function","function":{"name":"f"}}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	app, stdout, _ := testApp()
	app.Stdin = strings.NewReader(input)
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
		{"arguments", "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"x\xff\xfey\"}}</tool_call>", nil,
			`"arguments":null,"arguments_raw":"{\"a\":\"x\ufffd\ufffdy\"}"`},
		{"content", "a\xffb", nil, `"content":"a\ufffdb"`},
		{"reasoning", "<think>a\xffb</think>", nil, `"reasoning":"a\ufffdb"`},
		{"rejected", "<tool_call>{\"name\":\"nope\",\"arguments\":{\"a\":\"\xff\"}}</tool_call>", nil,
			`"raw":"<tool_call>{\"name\":\"nope\",\"arguments\":{\"a\":\"\ufffd\"}}</tool_call>"`},
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

// TestParseNamesTheKey says of a record that cannot be read which key is wrong, without words of this program's own
// source.
func TestParseNamesTheKey(t *testing.T) {
	for _, c := range []struct{ record, want string }{
		{`{"text":"a","chunks":[1]}`, "chunks: want a string, not a number"},
		{`{"text":5}`, "text: want a string, not a number"},
		{`{"text":"a","only":"x"}`, "only: want true or false, not a string"},
		{`[1]`, "the record: want an object, not an array"},
		{`{"text":"a"`, "not JSON: unexpected end of JSON input"},
		{`{"text":"a","tools":{}}`, "tools: want an array, not an object"},
		{`{"text":"a","tools":[5]}`, "tools: want an object, not a number"},
		{`{"text":"a","tools":[{"name":true}]}`, "tools: name: want a string, not a boolean"},
		{`{"text":"a","tools":[{"function":{"name":5}}]}`, "tools: function.name: want a string, not a number"},
		{`{"text":"a","tools":[{"function":5}]}`, "tools: function: want an object, not a number"},
		{`{"text":"a","tools":[{"type":"function"}]}`, "tools: tool 0 has no name"},
	} {
		app, stdout, _ := testApp()
		app.Stdin = strings.NewReader(c.record)
		code := run(t.Context(), []string{"parse", "--jsonl"}, app)
		var line struct{ Error string }
		if err := json.Unmarshal(stdout.Bytes(), &line); err != nil || line.Error != c.want || code != cli.ExitFailed {
			t.Errorf("%s: exit %d, %q, want %q", c.record, code, line.Error, c.want)
		}
	}
}
