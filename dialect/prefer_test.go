package dialect_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/dialecttest"
	"wield/dialect/internal/note"
	"wield/schema/shape"
)

// likely are the dialects that can be preferred.
func likely() []string {
	return slices.DeleteFunc(dialect.Names(), func(name string) bool {
		d, _ := dialect.Lookup(name)
		return d.ByName
	})
}

// TestPreferClaimsFirst reads texts that several dialects could claim.
func TestPreferClaimsFirst(t *testing.T) {
	tools := []shape.Tool{
		{Name: "spin",
			Args: &shape.Shape{Types: shape.Object,
				Props: []shape.Prop{{Name: "way", Shape: &shape.Shape{Types: shape.String}}}}}}
	const (
		list   = `[{"name":"spin","arguments":{"way":"left"}}]`
		object = `{"name":"spin","arguments":{"way":"left"}}`
		pair   = "<tool_call>spin\n<arg_key>way</arg_key>\n<arg_value>\"left\"</arg_value>\n</tool_call>"
	)
	for _, c := range []struct {
		text    string
		prefer  string // in order, with spaces between
		dialect string // that claims it; "": it is text
		args    string // "": {"way":"left"}
	}{
		{"<tool_call>" + list, "", "hermes", ""},
		{"<tool_call>" + list, "granite3", "granite3", ""},
		{"<tool_call>" + list, "hermes granite3", "hermes", ""},
		{"<tool_call>" + list, "glm granite3", "granite3", ""},
		{"<|tool_call_start|>" + list + "<|tool_call_end|>", "", "pangu", ""},
		{"<|tool_call_start|>" + list + "<|tool_call_end|>", "lfm2", "lfm2", ""},
		{"<|tool_call_start|>" + list + "<|tool_call_end|>", "pangu lfm2", "pangu", ""},
		{pair, "", "glm", `{"way":"\"left\""}`},
		{pair, "hyperclovax-seed", "hyperclovax-seed", ""},
		{pair, "glm hyperclovax-seed", "glm", `{"way":"\"left\""}`},
		{object, "", "raw-json", ""},
		{object, "llama3-json", "llama3-json", ""},
		{object, "mistral-args hyperclovax llama3-json", "hyperclovax", ""},
		{"So: " + object, "", "", ""},
		{"So: " + object, "llama3-json hermes", "llama3-json", ""},
		{"So: " + object, "hermes llama3-json", "", ""},
		{`[{"spin":{"way":"left"}}]`, "", "raw-json", ""},
		{`[{"spin":{"way":"left"}}]`, "apertus", "apertus", ""},
		{`spin{"way":"left"}`, "", "name-json", ""},
		{`spin{"way":"left"}`, "hermes mistral-args", "mistral-args", ""},
	} {
		o := dialect.Options{Tools: tools, Prefer: strings.Fields(c.prefer)}
		if c.args == "" {
			c.args = `{"way":"left"}`
		}
		want := c.dialect + " " + c.args
		if c.dialect == "" {
			want = "text"
		}
		got := "text"
		r, err := dialect.Parse(c.text, o)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Calls) > 0 {
			got = r.Calls[0].Dialect + " " + r.Calls[0].Arguments
		}
		if got != want {
			t.Errorf("%q, preferring %q: %s, want %s", c.text, c.prefer, got, want)
		}
		if err := dialecttest.All(maker(o), c.text); err != nil {
			t.Errorf("%q, preferring %q: %v", c.text, c.prefer, err)
		}
	}
}

// TestPreferTurnsNothingOff reads the example of every dialect while each other one is preferred.
func TestPreferTurnsNothingOff(t *testing.T) {
	tools := []shape.Tool{
		{Name: "N",
			Args: &shape.Shape{Types: shape.Object,
				Props: []shape.Prop{{Name: "k", Shape: &shape.Shape{Types: shape.String}}}}}}
	for _, first := range likely() {
		var cache dialect.Cache
		for _, name := range likely() {
			if underAuto[name] != "" && name != first || underAuto[first] == name && first == "mimo" {
				// whose newlines are part of a value
				continue
			}
			d, _ := dialect.Lookup(name)
			r, err := dialect.Parse(d.Example, dialect.Options{Tools: tools, Prefer: []string{first}, Cache: &cache})
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Calls) != 1 || r.Calls[0].Arguments != `{"k":"v"}` || r.Content() != "" {
				t.Errorf("preferring %s: %q gives %+v and %q", first, d.Example, r.Calls, r.Content())
			} else if first == name && r.Calls[0].Dialect != name {
				t.Errorf("preferring %s: its example is read as %s", first, r.Calls[0].Dialect)
			}
		}
	}
}

// TestPreferBesideNamed checks that a preference orders what a named dialect leaves on, behind that one, and
// adds nothing.
func TestPreferBesideNamed(t *testing.T) {
	tools := []shape.Tool{{Name: "spin"}}
	for _, c := range []struct {
		text string
		o    dialect.Options
		want string
	}{
		{`<tool_call>[{"name":"spin"}]`, dialect.Options{Dialect: "hermes", Prefer: []string{"granite3"}}, "hermes"},
		{"<TOOLCALL>[{\"name\":\"spin\"}]</TOOLCALL>",
			dialect.Options{Dialect: "hermes", Prefer: []string{"nemotron"}}, ""},
		{`{"name":"spin"}`, dialect.Options{Dialect: "hermes", Prefer: []string{"openai-envelope"}}, "openai-envelope"},
		{`{"name":"spin"}`, dialect.Options{Dialect: "hermes", Only: true, Prefer: []string{"openai-envelope"}}, ""},
	} {
		c.o.Tools = tools
		r, err := dialect.Parse(c.text, c.o)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if len(r.Calls) > 0 {
			got = r.Calls[0].Dialect
		}
		if got != c.want {
			t.Errorf("%q under %s, preferring %q: read as %q, want %q", c.text, c.o.Dialect, c.o.Prefer, got, c.want)
		}
	}
}

func TestBadOptions(t *testing.T) {
	for want, o := range map[string]dialect.Options{
		`unknown dialect "hermse"`:  {Prefer: []string{"hermes", "hermse"}},
		"tool-request can be named": {Prefer: []string{"tool-request"}},
		"nothing closes":            {Thinking: dialect.Thinking{Opener: "<plan>"}},
		"an empty token":            {Drop: []string{""}},
		"an empty header":           {Headers: dialect.Headers{Own: []string{" "}}},
	} {
		if _, err := dialect.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one with %q", o, err, want)
		}
	}
}

// TestCache checks that what a Cache keeps is kept apart by all it depends on, and that making a decoder with
// one costs little.
func TestCache(t *testing.T) {
	var cache dialect.Cache
	tools := []shape.Tool{{Name: "spin"}}
	const text = `<plan>a</plan><tool_call>[{"name":"spin"}]</tool_call><|stop|>b`
	show := func(o dialect.Options) string {
		r, err := dialect.Parse(text, o)
		if err != nil {
			t.Error(err)
		}
		s := fmt.Sprintf("%q %q", r.Reasoning(), r.Content())
		for _, c := range r.Calls {
			s += " " + c.Dialect
		}
		return s
	}
	all := []dialect.Options{
		{}, {Tools: tools}, {Tools: tools, Drop: []string{"<|stop|>"}}, {Drop: []string{"<|stop|>"}},
		{Tools: tools, Prefer: []string{"granite3"}}, {Tools: tools, Prefer: []string{"hermes", "granite3"}},
		{Tools: tools, Dialect: "granite3"}, {Tools: tools, Dialect: "glm", Only: true},
		{Tools: tools, Dialect: "glm"}, {Tools: tools, Thinking: dialect.Thinking{Off: true}},
		{Tools: tools, Thinking: dialect.Thinking{Opener: "<plan>", Closer: "</plan>"}},
		{Tools: tools, Thinking: dialect.Thinking{Closer: "</plan>"}},
		{Tools: tools, Thinking: dialect.Thinking{Closer: "</plan>", Open: true}},
	}
	for i := range 80 { // more than a Cache holds
		all = append(all, dialect.Options{Tools: tools, Drop: []string{strings.Repeat("x", i+1)}})
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, o := range all {
				cached := o
				cached.Cache = &cache
				if got, want := show(cached), show(o); got != want {
					t.Errorf("%+v: %s with a cache, %s without", o, got, want)
				}
			}
		})
	}
	wg.Wait()
	o := dialect.Options{Tools: tools, Prefer: []string{"granite3"}, Drop: []string{"<|stop|>"}, Cache: &cache}
	if n := testing.AllocsPerRun(100, func() { _, _ = dialect.New(o) }); n > 20 {
		t.Errorf("%v allocations for a decoder whose automaton is kept", n)
	}
}

// TestThinkingTags reads blocks between tags of a model's own.
func TestThinkingTags(t *testing.T) {
	plan := dialect.Thinking{Opener: "<plan>", Closer: "</plan>"}
	open := plan
	open.Open = true
	for _, c := range []struct {
		text               string
		thinking           dialect.Thinking
		reasoning, content string
	}{
		{"<plan>a</plan>b", plan, "a", "b"},
		{"<plan>a</think>b</plan>c", plan, "a</think>b", "c"},
		{"<think>a</think>b", plan, "a", "b"},
		{"see <plan> and </plan>", plan, "", "see <plan> and </plan>"},
		{"a</plan>b", open, "a", "b"},
		{"a</think>b", open, "a", "b"},
		{"<plan>a</plan>b", open, "a", "b"},
		{"a</plan>b", dialect.Thinking{Closer: "</plan>", Open: true}, "a", "b"},
		{"a</think>b", dialect.Thinking{Open: true}, "a", "b"},
		{"<plan>a</plan>b", dialect.Thinking{Opener: "<plan>", Closer: "</plan>", Off: true}, "", "<plan>a</plan>b"},
		{"x [THINK]a[/THINK]b", dialect.Thinking{Opener: "[THINK]", Closer: "[/THINK]"}, "a", "x b"},
		{"<think>a</done>b", dialect.Thinking{Opener: "<think>", Closer: "</done>"}, "a", "b"},
	} {
		o := dialect.Options{Tools: []shape.Tool{{Name: "spin"}}, Thinking: c.thinking}
		r, err := dialect.Parse(c.text, o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Reasoning() != c.reasoning || r.Content() != c.content {
			t.Errorf("%q under %+v: %q and %q, want %q and %q", c.text, c.thinking, r.Reasoning(), r.Content(),
				c.reasoning, c.content)
		}
		if err := dialecttest.All(maker(o), c.text); err != nil {
			t.Errorf("%q under %+v: %v", c.text, c.thinking, err)
		}
	}
}

// TestThinkingCalls reads calls in reasoning that is closed and in reasoning that is not.
func TestThinkingCalls(t *testing.T) {
	const call = `<tool_call>{"name":"spin"}</tool_call>`
	for _, c := range []struct {
		text  string
		calls dialect.ThinkingCalls
		want  int
	}{
		{"<think>a" + call + "b", dialect.CallsUnclosed, 1},
		{"<think>a" + call + "b</think>c", dialect.CallsUnclosed, 0},
		{"<think>a" + call + "b</think>c" + call, dialect.CallsUnclosed, 1},
		{"<think>a" + call + "b", dialect.CallsNever, 0},
		{"<think>a" + call + "b</think>" + call, dialect.CallsNever, 1},
		{"<think>a" + call + "b", dialect.CallsAlways, 1},
		{"<think>a" + call + "b</think>c", dialect.CallsAlways, 1},
		{"<think>" + call + "</think>c" + call + "<think>" + call + call + "</think>", dialect.CallsAlways, 4},
		{"<think><tool_call>{\"name\":\"spin\"</think>", dialect.CallsAlways, 0},
	} {
		o := dialect.Options{Tools: []shape.Tool{{Name: "spin"}}, Thinking: dialect.Thinking{Calls: c.calls}}
		r, err := dialect.Parse(c.text, o)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Calls) != c.want {
			t.Errorf("%q, calls in reasoning %v: %d calls, want %d", c.text, c.calls, len(r.Calls), c.want)
		}
		for i, call := range r.Calls {
			if call.Index != i || call.ID != fmt.Sprint("call_", i) {
				t.Errorf("%q: call %d has index %d and id %s", c.text, i, call.Index, call.ID)
			}
		}
		if notes := slices.ContainsFunc(r.Notes,
			func(n chat.NoteDetail) bool { return n.Kind == note.Promoted }); notes != strings.Contains(r.Reasoning(),
			call) && c.want > 0 && c.calls == dialect.CallsAlways {
			t.Errorf("%q: notes %+v", c.text, r.Notes)
		}
		if err := dialecttest.All(maker(o), c.text); err != nil {
			t.Errorf("%q, calls in reasoning %v: %v", c.text, c.calls, err)
		}
		if got, ok := dialect.ParseThinkingCalls(c.calls.String()); !ok || got != c.calls {
			t.Errorf("%v is read as %v", c.calls, got)
		}
	}
}
