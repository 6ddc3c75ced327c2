package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"wield/agent"
	"wield/bridge"
	"wield/chat"
	"wield/tool"
	"wield/tool/runner"
)

// stretchIn has the parameters of the guide's tool: one is required, one is optional.
type stretchIn struct {
	Word  string `json:"word" jsonschema:"what to stretch"`
	Times int    `json:"times,omitempty" jsonschema:"how often; 2 if nothing is said"`
}

// stretch is the tool's logic.
func stretch(_ context.Context, in stretchIn) (string, error) {
	switch {
	case in.Times == 0:
		in.Times = 2
	case in.Times < 0:
		return "", errors.New("times is below 0")
	}
	return strings.Repeat(in.Word, in.Times), nil
}

func stretchTool() *tool.Tool {
	return tool.Func("stretch_word", `Stretches a word. Example: {"word": "ha", "times": 3}`, stretch)
}

// TestGuide_D24_D34 writes a tool step by step as the guide of Cara says, from its module to its tests.
func TestGuide_D24_D34(t *testing.T) {
	// The tool: a unique name, a description with an example, typed parameters of which one is required (D-24 to D-27).
	made := stretchTool()
	schema := string(made.Definition.Parameters)
	for _, part := range []string{`"word"`, `"times"`, `"type":"integer"`, `"required":["word"]`, "what to stretch"} {
		if !strings.Contains(schema, part) {
			t.Errorf("the schema lacks %s: %s", part, schema)
		}
	}

	// Registered with the tools of a session; a second one of its name is refused (D-25, D-31).
	reg := new(runner.Registry)
	if err := reg.Add(reads("calculator", says("5535")), made); err != nil {
		t.Fatal(err)
	}
	if err := reg.Add(stretchTool()); err == nil {
		t.Error("two tools have one name")
	}

	// Its logic alone (D-33), and through all that a call goes through: keys as text, errors as results, bad input
	// (D-28 to D-30).
	if got, err := stretch(t.Context(), stretchIn{Word: "ha"}); err != nil || got != "haha" {
		t.Errorf("%q, %v", got, err)
	}
	runner := runner.New(runner.Settings{Tools: reg})
	for args, want := range map[string]string{
		`{"word":"ha","times":3}`:    "hahaha",
		`{"word":"ha"}`:              "haha",
		`{"word":"ha","times":"3"}`:  "hahaha",
		`{"word":"ha","times":-1}`:   "times is below 0",
		`{"times":3}`:                "word",
		`{"word":"ha","times":"no"}`: "times",
		`[]`:                         "must be a JSON object",
	} {
		r, err := runner.Call(t.Context(), "stretch_word", args)
		if err != nil {
			t.Errorf("%s: the program got %v", args, err)
		}
		if got := string(r.Append(nil, tool.StylePlain)); !strings.Contains(got, want) {
			t.Errorf("%s gave %s, want %s", args, got, want)
		}
	}

	// A question that needs the tool: it is called, and its result is in the answer, which comes piece by piece (D-34,
	// D-23). Nothing of the conversation had to be changed for it (D-32).
	model := &fakeModel{answers: []answer{
		{text: `<tool_call>{"name": "stretch_word", "arguments": {"word": "ho", "times": 3}}</tool_call>`},
		{text: "It is hohoho."},
	}}
	run := agent.New(bridge.New(model, bridge.Options{Mode: bridge.ModeText}), runner,
		agent.Options{}).Run(ask("Stretch ho to three times its length"))
	events := play(t, run)
	if got := texts(events); got != "It is hohoho." {
		t.Errorf("the answer is %q", got)
	}
	pieces, results := 0, 0
	for _, e := range events {
		switch e.Kind {
		case chat.KindText:
			pieces++
		case chat.KindResult:
			m := e.Detail.(*chat.Result).Message()
			if results++; m.Text() != "hohoho" {
				t.Errorf("the result is %q", m.Text())
			}
		}
	}
	if pieces < 2 || results != 1 {
		t.Errorf("%d pieces of text and %d results", pieces, results)
	}
	if last := fmt.Sprint(model.requests[1].Messages); !strings.Contains(last, "hohoho") {
		t.Errorf("the model never saw the result: %s", last)
	}
}
