package agent_test

import (
	"strings"
	"testing"

	"wield/agent"
	"wield/bridge"
	"wield/chat"
	"wield/dialect"
)

// TestBlocksThatEndEarly_A22: a file with a bare fence in it is never cut there under a word of success.
func TestBlocksThatEndEarly_A22(t *testing.T) {
	const head = "Here it is:\n```create\n=== FILE: README.md\n# Title\n"
	for _, tt := range []struct {
		name, answer string
		runs         bool
	}{
		{"a bare fence inside", head + "\n```\nmake\n```\n\nMore.\n```\n", false},
		{"right at the beginning", "```create\n=== FILE: README.md\n```\nx\n```\n```\n", false},
		{"a blank line behind it", head + "Build it\n```\n\nmake\n```\n\nMore.\n```\n", false},
		{"blank lines around what is in it", head + "\n```\n\nmake\n\n```\n\nMore.\n```\n", false},
		{"a lead-in in front of it", head + "Build it:\n```\n\nmake\n\n```\n", false},
		{"in a list", head + "- first:\n\n  ```\n  make\n  ```\n- second\n```\n", false},
		{"the last fence missing", head + "\n```\nmake\n```\n", false},
		{"several of them", head + "\n```\nmake\n```\n\n```\nmake test\n```\n```\n", false},
		{"one with a language first", head + "\n```sh\nmake\n```\nthen\n```\nmake test\n```\n```\n", false},
		{"with Windows' line ends", strings.ReplaceAll(head+"\n```\nmake\n```\nMore.\n```\n", "\n", "\r\n"), false},
		{"a fence with a language inside", head + "\n```sh\nmake\n```\n\nMore.\n```\n", true},
		{"longer fences around it", strings.Replace(head, "```", "````", 1) + "\n```\nmake\n```\n\nMore.\n````\n",
			true},
		{"nothing behind it", head + "```", true},
		{"a sentence behind it", head + "```\nThat is the file.\n", true},
		{"a sentence and what it prints", head + "```\n\nIt prints:\n\n```\nTitle\n```\n", true},
		{"a sentence, what it prints and another sentence",
			head + "```\n\nRun it with\n\n```\nmake\n```\n\nand look.\n", true},
		{"another block behind it", head + "```\n```sh\nls\n```\n", true},
	} {
		for _, whole := range []bool{false, true} {
			made := reads("create", says("README.md created successfully"))
			made.Definition.Parameters = []byte(
				`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}`)
			model := &writer{answers: []string{tt.answer}}
			a := agent.New(bridge.New(model,
				bridge.Options{Mode: bridge.ModeText, Decode: dialect.Options{Dialect: "cli-block"}}),
				tools(t, made), agent.Options{Whole: whole})
			var results []string
			for _, e := range play(t, a.Run(ask("write a README"))) {
				if e.Kind == chat.KindResult {
					results = append(results, e.Detail.(*chat.Result).Parts[0].Text)
				}
			}
			want := "README.md created successfully"
			if !tt.runs {
				want = "Error: The call was not run: a line of back-ticks"
			}
			if len(results) != 1 || !strings.HasPrefix(results[0], want) {
				t.Errorf("%s: %q, want %q", tt.name, results, want)
			}
		}
	}
}
