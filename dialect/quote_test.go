package dialect_test

import (
	"testing"
	"unicode/utf8"

	"wield/dialect"
	"wield/schema/shape"
)

// TestQuotedBytes: a value that the decoder quotes becomes valid JSON text, whatever bytes a model wrote.
func TestQuotedBytes(t *testing.T) {
	tools := []shape.Tool{{Name: "say", Args: &shape.Shape{Types: shape.Object,
		Props: []shape.Prop{{Name: "text", Shape: &shape.Shape{Types: shape.String}}}}}}
	for _, text := range []string{
		"<tool_call>{\"name\":\"say\",\"arguments\":{\"text\":a\xffb}}</tool_call>",
		"<tool_call>{\"name\":\"say\",\"arguments\":{\"text\":{'a\xffb':1}}}</tool_call>",
		"<tool_call>{\"name\":\"say\",\"arguments\":{\"text\":[1, 'a\xffb']}}</tool_call>",
		"[say(text=a\xffb)]",
		"<|tool_call>call:say{text:a\xffb}<tool_call|>",
	} {
		answer, err := dialect.Parse(text, dialect.Options{Tools: tools})
		if err != nil || len(answer.Calls) != 1 {
			t.Fatalf("%q: %+v, %v", text, answer, err)
		}
		if got := answer.Calls[0].Arguments; !utf8.ValidString(got) {
			t.Errorf("%q: %q", text, got)
		}
	}
}
