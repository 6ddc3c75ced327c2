package dialect_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"wield/chat"
	"wield/dialect"
	"wield/schema"
	"wield/schema/shape"
)

// places are where the text of a call may stand, "%" in them.
var places = []string{
	"%", "%\n%", "> %", "`%", "x %", "x\n%\ny", " \t%", "json:\n%", "**Tool Call:**\n%",
	"```\n%\n```", "~~~json\n%\n~~~", "```json\n%\n%\n```", "```python\n%\n```", "```text\n\n%", "<think>%</think>%", "<tool_call>%", "[%]", "{%",
}

// TestTaught reads the texts of all cases, each in several places and cut off at several, with a decoder that knows how calls begin and go on from the
// text of the case itself: what comes out is what a decoder makes of it that has read nothing before. What is known of the last call is
// asked wherever the next one may begin, and must not hold where the same bytes mean something else.
func TestTaught(t *testing.T) {
	var cache dialect.Cache
	texts := 0
	for i, c := range allCases(t) {
		if i%sample > 0 || len(c.Text) > 2<<10 {
			continue
		}
		for v, c := range variants(c) {
			if v > 0 && i%4 > 0 {
				continue // it is the same reader, under auto
			}
			o, err := c.Options()
			if err != nil {
				t.Fatal(err)
			}
			o.Cache = &cache
			taught := decoder(t, o)
			check := func(text string, size int) {
				want := feedMerged(decoder(t, o), text, len(text)+1)
				feedMerged(taught, c.Text, size)
				if got := feedMerged(taught, text, size); !reflect.DeepEqual(got, want) {
					t.Fatalf("%s: %q in chunks of %d: %s, of a decoder that read nothing before %s", c.ID, text, size, told(got), told(want))
				}
				texts++
			}
			for k, place := range places {
				size := 4
				if (i+k)%2 > 0 {
					size = 4 << 10
				}
				check(strings.ReplaceAll(place, "%", c.Text), size)
			}
			for n := i % 8; n < min(len(c.Text), 200); n += 8 {
				check(c.Text[:n], 4<<10)
			}
		}
	}
	if texts < 40000/sample {
		t.Errorf("only %d texts", texts)
	}
}

// TestTaughtTypes reads calls behind those of another tool whose arguments have the same names and other types, in every dialect: what is known of
// the ones must not decide what the others are.
func TestTaughtTypes(t *testing.T) {
	var tools []shape.Tool
	for _, def := range []struct{ name, schema string }{
		{"one", `{"path":{"type":"string"},"content":{"type":"string"},"mode":{"type":"integer"}}`},
		{"two", `{"path":{"type":"integer"},"content":{"type":"boolean"},"mode":{"type":"string"}}`},
		{"six", `{"path":{"type":["string","null"]},"content":{"type":"array","items":{"type":"string"}},"mode":{}}`},
	} {
		s, err := schema.Compile(json.RawMessage(`{"type":"object","properties":` + def.schema + `}`))
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, shape.Tool{Name: def.name, Args: s.Shape()})
	}
	var calls []chat.Call
	for _, tool := range tools {
		for _, args := range []string{
			`{"path":"7","content":"true","mode":1}`, `{"path":7,"content":true,"mode":"1"}`, `{"path":"a & b","content":["x","y"],"mode":22}`,
			`{"path":"it's \"b\"","content":"b\nc","mode":"d"}`, `{"path":"1","mode":3}`, `{"mode":"4","path":"true"}`,
		} {
			calls = append(calls, chat.Call{ID: "call_0", Name: tool.Name, Arguments: args})
		}
	}
	var cache dialect.Cache
	for _, name := range dialect.Names() {
		row, _ := dialect.Lookup(name)
		o := dialect.Options{Dialect: name, Tools: tools, Cache: &cache}
		alone := make([][]chat.Event, len(calls))
		texts := make([]string, len(calls))
		for i := range calls {
			text, err := row.AppendCalls(nil, calls[i:i+1])
			if err != nil {
				t.Fatal(err)
			}
			texts[i] = string(text)
			alone[i] = feedMerged(decoder(t, o), texts[i], len(text)+1)
		}
		d := decoder(t, o)
		for i := range calls {
			for k := range calls {
				size := 4
				if (i+k)%2 > 0 {
					size = 1 << 10
				}
				feedMerged(d, texts[i], 1<<10)
				if got := feedMerged(d, texts[k], size); !reflect.DeepEqual(got, alone[k]) {
					t.Fatalf("%s: %q behind %q in chunks of %d: %s, alone %s", name, texts[k], texts[i], size, told(got), told(alone[k]))
				}
				both, err := row.AppendCalls(nil, []chat.Call{calls[i], calls[k]})
				if err != nil {
					continue // one message holds one call
				}
				d := decoder(t, o)
				for _, size := range []int{4, 1 << 10} {
					got := feedMerged(d, string(both), size)
					if got, want := argumentsOf(got), argumentsOf(alone[i])+argumentsOf(alone[k]); got != want {
						t.Fatalf("%s: %q in chunks of %d: %s, alone %s", name, both, size, got, want)
					}
				}
			}
		}
	}
}

// argumentsOf returns the names and the arguments of the calls, and of those that were rejected.
func argumentsOf(events []chat.Event) (s string) {
	for _, e := range events {
		switch e.Kind {
		case chat.KindCallEnd:
			s += e.Name + e.Detail.Call.Arguments + "\n"
		case chat.KindRejected:
			s += e.Name + " rejected: " + e.Detail.Rejected.Message + "\n"
		}
	}
	return s
}
