package freeform

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wield/chat"
)

// TestReader shows that a text arrives whole, however the arguments that hold it are cut.
func TestReader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.OneOf(rapid.Rune(), rapid.SampledFrom([]rune("\"\\\n\U0001f680")))).Draw(t, "text")
		args := Arguments(text)
		if got := Input(args); got != text {
			t.Fatalf("Input(%s) = %q, want %q", args, got, text)
		}
		var r Reader
		var got strings.Builder
		for rest := args; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			got.WriteString(r.Add(rest[:n]))
			rest = rest[n:]
		}
		if got.String() != text {
			t.Fatalf("%s was read as %q, want %q", args, got.String(), text)
		}
	})
}

func TestFill(t *testing.T) {
	for _, c := range []struct {
		name        string
		g           Grammar
		about, want string
	}{
		{"none", Grammar{}, "d", `{"type":"string"}`},
		{"a regular expression", Grammar{"regex", `a|b"`}, "d", `{"type":"string","pattern":"^(?:a|b\")$"}`},
		{"another", Grammar{"lark", "start: A"}, "d\n\nThe whole text of input follows this grammar (lark):\nstart: A",
			`{"type":"string"}`},
	} {
		tool := chat.Tool{Description: "d"}
		c.g.Fill(&tool)
		want := `{"type":"object","properties":{"input":` + c.want +
			`},"required":["input"],"additionalProperties":false}`
		if string(tool.Parameters) != want || tool.Description != c.about || tool.Syntax != c.g.Syntax ||
			tool.Grammar != c.g.Definition {
			t.Errorf("%s: %s, %q", c.name, tool.Parameters, tool.Description)
		}
	}
}
