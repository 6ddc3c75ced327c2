package dialect_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/dialecttest"
	"wield/internal/testlevel"
	"wield/schema"
	"wield/schema/shape"
)

// pieces are what random texts are made of: openers and closers, whole and cut, calls, and prose that looks like them.
var pieces = []string{
	"<tool_call>", "</tool_call>", "<tool_call>\n", "<TOOL_CALL>", "</TOOL_CALL>", "<PTK_CALL>", "</PTK_CALL>",
	"<function=", "<function=find>", "</function>", "<parameter=q>", "</parameter>", "<tool name=\"find\">", "</tool>",
	"<arg name=\"q\">", "</arg>", "TOOL: find\n", "ARGS:\n", "  q: x\n", "<think>", "</think>",
	"[THINK]", "[/THINK]", "```", "```json\n", "```python\n", "~~~\n", "`", "``", "\n", "\n\n", "\r\n", " ", "   ",
	"\t", "> ", "- ", "# ", "|",
	"{", "}", "[", "]", "(", ")", "<", ">", "\"", "'", ":", ",", ";", "=", "\\", "/", "&amp;", "\\u00e9", "\\ud83d",
	"\\n", "//", "/*", "*/", "<![CDATA[", "]]>", `{"name":"find","arguments":{"q":"x"}}`, `{"name":"find"`,
	`,"arguments":`, `{"q":"x","n":1}`, `{"arguments":{"q":"x"},"name":"find"}`, `{"function":"find","arguments":{}}`,
	`{"tool":"find","args":{"q":"x"}}`, `{"tool_calls":[`, `{"function":{"name":"find","arguments":"{\"q\":\"x\"}"}}`,
	`{"tool_request":{"name":"find","arguments":{}}}`, "find(q=\"x\")", "find(", "[find(q='x')]", "['find(q=1)']",
	"q=", "user:find", "find", "other", "name", "arguments", "true", "True", "None", "null", "1", "-1.5e3", "007",
	"<tool_calls>", "</tool_calls>", "<TOOLCALL>[", "]</TOOLCALL>", "<|tool_call|>", "<function_call> ", "functools[",
	"<|python_tag|>", "[TOOL_CALLS] ", "[/TOOL_CALLS]", "<|action_start|>", "<|plugin|>", "<|action_end|>",
	"<|message_sep|>\n\n", "function call<|role_sep|>", "<|tools_prefix|>[", `{"find":{"q":"x"}}`, "<|tools_suffix|>",
	"<|START_ACTION|>", "<|END_RESPONSE|>", "-> tool/function_call\n", "**Tool Call:**\n", "Action:", "<response>",
	"</response>", "<0x0A>", "<|im_start|>user", "<|im_start|>assistant\n", "<|start_header_id|>",
	"<|start_header_id|>user<|end_header_id|>", "<|user|>", "[INST]", "</s>[INST]", "User:", "Assistant:", "\nuser\n",
	"\nassistant\n", "\n\nHuman:", "Observation:", "<tool_response>", "</tool_response>", "<|return|>",
	"<|start|>user<|message|>", "Question:", "“", "”", " \"<tool_call>", "</tool_call>\"", "For example ", "e.g. ",
	"<!--", "-->", "<tool_call>" + strings.Repeat(" ", 10) + `{"name":"find","arguments":{"q":"` +
		strings.Repeat("long ", 300),
	"```find\n", "~~~~find x\r\n", "   ```other\n", "\n```\n", "\n~~~~", "=== FILE: a\n", "<|im_end|>", "</s>",
	"<|python_start|>", "<|python_end|>", "\ufeff", "é", "🍜", "\xff", "\xe2\x82", "\x00", "a plain word",
	"two < three", "the end.",
}

var propertyTools = func() []shape.Tool {
	s, err := schema.Compile(
		json.RawMessage(
			`{"type":"object","properties":{"q":{"type":"string"},"n":{"type":"integer"},"o":{"type":"object"},"l":{"type":"array","items":{"type":"string"}}}}`))
	if err != nil {
		panic(err)
	}
	return []shape.Tool{{Name: "find", Args: s.Shape()}, {Name: "other"}}
}()

// propertyCache is shared by all random options, as by all requests of a program.
var propertyCache dialect.Cache

func drawOptions(t *rapid.T) dialect.Options {
	o := dialect.Options{Tools: propertyTools}
	o.Dialect = rapid.SampledFrom(append([]string{"", ""}, dialect.Names()...)).Draw(t, "dialect")
	o.Only = rapid.Bool().Draw(t, "only")
	o.Repair = dialect.Repair(rapid.IntRange(0, 2).Draw(t, "repair"))
	o.Thinking.Open = rapid.IntRange(0, 5).Draw(t, "open") == 0
	o.Thinking.Calls = dialect.ThinkingCalls(rapid.IntRange(0, 2).Draw(t, "calls"))
	if rapid.IntRange(0, 5).Draw(t, "closer") == 0 {
		o.Thinking.Closer = "</think>"
	}
	if rapid.IntRange(0, 2).Draw(t, "preferring") == 0 {
		likely := slices.DeleteFunc(dialect.Names(),
			func(n string) bool { return n == "tool-request" || n == "cli-block" })
		o.Prefer = rapid.SliceOfN(rapid.SampledFrom(likely), 1, 3).Draw(t, "prefer")
		o.Cache = &propertyCache
	}
	if rapid.IntRange(0, 5).Draw(t, "prefix") == 0 {
		o.Prefix = "user:"
	}
	return o
}

func maker(o dialect.Options) dialecttest.Maker {
	return func() dialecttest.Decoder {
		d, err := dialect.New(o)
		if err != nil {
			panic(err)
		}
		return d
	}
}

// TestAnyText checks what must hold for every text over random mixtures of what confuses decoders.
func TestAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 14).Draw(t, "pieces"), "")
		if err := dialecttest.All(maker(drawOptions(t)), text); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	})
}

// TestWholeCharacters cuts texts in the middle of characters: no event of a text that is valid holds a part of one,
// since what is made of an event, such as JSON, cannot carry it.
func TestWholeCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawOptions(t)
		text := strings.ToValidUTF8(
			strings.Join(
				rapid.SliceOfN(rapid.SampledFrom(append([]string{"naïve ", "crêpes — ", "€", "日本\n"}, pieces...)), 0,
					14).Draw(t, "pieces"), ""), "")
		d, err := dialect.New(o)
		if err != nil {
			t.Fatal(err)
		}
		size := rapid.IntRange(1, 5).Draw(t, "size")
		var events []chat.Event
		for i := 0; i < len(text); i += size {
			events = d.Feed(events, text[i:min(i+size, len(text))])
		}
		for _, e := range d.Close(events) {
			if !utf8.ValidString(e.Text) {
				t.Fatalf("%q in chunks of %d bytes: a %s event holds %q", text, size, e.Kind, e.Text)
			}
		}
	})
}

// TestMutatedCases cuts, repeats and swaps bytes of the case files' texts.
func TestMutatedCases(t *testing.T) {
	cases := allCases(t)
	rapid.Check(t, func(t *rapid.T) {
		c := cases[rapid.IntRange(0, len(cases)-1).Draw(t, "case")]
		o, err := c.Options()
		if err != nil {
			t.Fatal(err)
		}
		text := c.Text
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			if text == "" {
				break
			}
			i := rapid.IntRange(0, len(text)-1).Draw(t, "at")
			j := min(len(text), i+rapid.IntRange(0, 9).Draw(t, "size"))
			switch rapid.IntRange(0, 3).Draw(t, "change") {
			case 0:
				text = text[:i] + text[j:]
			case 1:
				text = text[:i] + text[i:j] + text[i:]
			case 2:
				text = text[:i] + rapid.SampledFrom(pieces).Draw(t, "piece") + text[j:]
			case 3:
				text = text[:i]
			}
		}
		if err := dialecttest.All(maker(o), text); err != nil {
			t.Fatalf("%s, %q: %v", c.ID, text, err)
		}
	})
}

// TestTraceChangesNothing compares what is read with and without candidates being reported.
func TestTraceChangesNothing(t *testing.T) {
	for i, c := range allCases(t) {
		if i%testlevel.Every(4) > 0 {
			continue
		}
		o, err := c.Options()
		if err != nil {
			t.Fatal(err)
		}
		o.Cache = compiled
		plain, err := dialect.Parse(c.Text, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Trace = true
		if err := dialecttest.Quick(maker(o), c.Text); err != nil {
			t.Errorf("%s: traced: %v", c.ID, err)
		}
		traced, err := dialect.Parse(c.Text, o)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := fmt.Sprint(plain.Content(), plain.Reasoning(), plain.Calls),
			fmt.Sprint(traced.Content(), traced.Reasoning(), traced.Calls); a != b {
			t.Errorf("%s: traced %s, else %s", c.ID, b, a)
		}
	}
}
