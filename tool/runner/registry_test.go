package runner

import (
	"context"
	"errors"
	"strings"
	"testing"

	"wield/chat"
	"wield/tool"
)

// nop returns a tool that does nothing.
func nop(name string) *tool.Tool {
	return tool.Raw(name, "Does nothing.", nil, func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text(""), nil })
}

func names(tools []chat.Tool) string {
	var list []string
	for _, t := range tools {
		list = append(list, t.Name)
	}
	return strings.Join(list, " ")
}

func TestAddRefuses(t *testing.T) {
	broken := nop("broken")
	broken.Definition.Parameters = []byte(`{"type":"objekt"}`)
	aliased := nop("other")
	aliased.Aliases = []string{"Taken"}
	for _, test := range []struct {
		name string
		tool *tool.Tool
		want error
	}{
		{"empty", nop(""), ErrName},
		{"blank", nop("a b"), ErrName},
		{"look-alike", nop("re\u0430d"), ErrName},
		{"zero width", nop("re\u200bad"), ErrName},
		{"newline", nop("read\n"), ErrName},
		{"long", nop(strings.Repeat("a", 129)), ErrName},
		{"javascript", nop("__proto__"), ErrName},
		{"constructor", nop("constructor"), ErrName},
		{"namespace", nop("a__b"), ErrName},
		{"twice", nop("taken"), ErrDuplicate},
		{"other capitals", nop("Taken"), ErrDuplicate},
		{"other sign", nop("two-words"), ErrDuplicate},
		{"alias", aliased, ErrDuplicate},
		{"schema", broken, ErrUnusable},
		{"no handler", &tool.Tool{Definition: chat.Tool{Name: "x"}}, ErrUnusable},
		{"nil", nil, ErrUnusable},
		{"input is no struct", tool.Func("x", "", func(context.Context, int) (int, error) { return 0, nil }), ErrUnusable},
	} {
		t.Run(test.name, func(t *testing.T) {
			var r Registry
			if err := r.Add(nop("taken"), nop("two_words")); err != nil {
				t.Fatal(err)
			}
			if err := r.Add(test.tool); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if got := names(r.Offered("")); got != "taken two_words" {
				t.Errorf("offered %q", got)
			}
		})
	}
}

// TestAliasGivesWay: a tool takes its name from another one that only has it as an alias.
func TestAliasGivesWay(t *testing.T) {
	var r Registry
	search := nop("search")
	search.Aliases = []string{"find", "look_up"}
	if err := errors.Join(r.Add(search, nop("Find")), r.Set("search", tool.StateDisabled),
		r.Replace(nop("look_up"))); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"search": "search", "Find": "Find", "look_up": "look_up", "find": ""} {
		got := ""
		if e, ok := r.Lookup(name); ok {
			got = e.Tool.Name()
		}
		if got != want {
			t.Errorf("%s leads to %q, want %q", name, got, want)
		}
	}
	if got := names(r.Offered("")); got != "Find look_up" {
		t.Errorf("offered %q", got)
	}
	if !r.Remove("search") || names(r.Offered("")) != "Find look_up" {
		t.Errorf("offered %q without search", names(r.Offered("")))
	}
}

func TestStates(t *testing.T) {
	var r Registry
	auto, fixed := nop("auto"), nop("fixed")
	auto.State, auto.Auto = tool.StateAuto, tool.Rule{Words: []string{"Weather"}}
	fixed.States = []tool.State{tool.StateEnabled, tool.StateDisabled}
	if err := r.Add(nop("on"), auto, fixed); err != nil {
		t.Fatal(err)
	}
	s := r.Session()
	steps := []struct {
		do   func() error
		text string
		want string
	}{
		{nil, "", "on fixed"},
		{nil, "how is the weather?", "on auto fixed"},
		{func() error { return s.Set("on", tool.StateDisabled) }, "", "auto fixed"},
		{func() error { return s.Set("auto", tool.StateEnabled) }, "", "auto fixed"},
		{func() error { return r.Set("fixed", tool.StateDisabled) }, "", "auto"},
		{func() error { return s.Set("fixed", tool.StateEnabled) }, "", "auto fixed"},
		{func() error { return s.Set("on", tool.StateDefault) }, "", "on auto fixed"},
		{func() error { s.Reset(); return nil }, "", "on"},
	}
	for i, step := range steps {
		if step.do != nil {
			if err := step.do(); err != nil {
				t.Fatalf("step %d: %v", i, err)
			}
		}
		if got := names(s.Offered(step.text)); got != step.want {
			t.Errorf("step %d: offered %q, want %q", i, got, step.want)
		}
	}
	if err := s.Set("fixed", tool.StateAuto); err == nil {
		t.Error("a state that the tool does not support was set")
	}
	if err := r.Set("none", tool.StateAuto); !errors.Is(err, tool.ErrNotFound) {
		t.Errorf("unknown tool: %v", err)
	}
}

func TestMount(t *testing.T) {
	var r Registry
	if err := errors.Join(r.Add(nop("read")), r.Mount("one", nop("read"), nop("write")),
		r.Mount("two", nop("read"))); err != nil {
		t.Fatal(err)
	}
	if err := r.Set("one__read", tool.StateDisabled); err != nil {
		t.Fatal(err)
	}
	if got := names(r.Offered("")); got != "read one__write two__read" {
		t.Errorf("offered %q", got)
	}
	if err := r.Mount("one", nop("list"), nop("read")); err != nil {
		t.Fatal(err)
	}
	if got := names(r.Offered("")); got != "read two__read one__list" {
		t.Errorf("offered after a second mount %q", got)
	}
	if err := r.SetGuard("one__read", &tool.Guard{Mode: tool.ModeRW}); err != nil {
		t.Fatal(err)
	}
	off := nop("list")
	off.State = tool.StateDisabled // the source itself says so now, and nobody else has said anything
	if err := r.Mount("one", off, nop("read")); err != nil {
		t.Fatal(err)
	}
	if got := names(r.Offered("")); got != "read two__read" {
		t.Errorf("offered after a third mount %q", got)
	}
	if e, _ := r.Lookup("one__read"); e.Guard == nil || e.Guard.Mode != tool.ModeRW {
		t.Errorf("the guard is %+v", e.Guard)
	}
	if err := r.Mount("one__x", nop("y")); !errors.Is(err, ErrName) {
		t.Errorf("a namespace with a separator: %v", err)
	}
	if err := r.Mount("four", nop("x__read")); !errors.Is(err, ErrName) {
		t.Errorf("a name with a separator: %v", err)
	}
}

func TestHash(t *testing.T) {
	d := chat.Tool{Name: "n", Description: "d",
		Parameters: []byte(`{"type":"object","properties":{"a":{"maximum":9007199254740993}}}`)}
	same := d
	same.Parameters = []byte(` {"properties": {"a": {"maximum": 9007199254740993}}, "type": "object"} `)
	if Hash(d) != Hash(same) {
		t.Error("the layout of the schema changes the hash")
	}
	for _, change := range []func(*chat.Tool){
		func(d *chat.Tool) { d.Name = "m" },
		func(d *chat.Tool) { d.Description = "e" },
		func(d *chat.Tool) { d.Name, d.Description = "nd", "" },
		func(d *chat.Tool) {
			d.Parameters = []byte(`{"type":"object","properties":{"a":{"maximum":9007199254740992}}}`)
		},
	} {
		other := d
		change(&other)
		if Hash(d) == Hash(other) {
			t.Errorf("%+v has the hash of another definition", other)
		}
	}
}
