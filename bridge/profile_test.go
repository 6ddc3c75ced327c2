package bridge_test

import (
	"slices"
	"strings"
	"testing"

	"wield/bridge"
	"wield/chat"
	"wield/dialect"
	"wield/dialect/profile"
)

func reasoning(s string) chat.Event { return chat.Event{Kind: chat.KindReasoning, Text: s} }

func TestSetProfile(t *testing.T) {
	p := profile.Profile{Dialects: []string{"glm", "hermes"},
		Thinking: dialect.Thinking{Open: true, Calls: dialect.CallsNever}, Drop: []string{"<x>"},
		Headers: dialect.Headers{Others: []string{"<p>"}}, Native: []string{"search"}, Role: chat.RoleSystem}
	var o bridge.Options
	o.SetProfile(&p)
	if !slices.Equal(o.Decode.Prefer, p.Dialects) || o.Decode.Dialect != "" || o.Decode.Thinking != p.Thinking ||
		!slices.Equal(o.Decode.Drop, p.Drop) || len(o.Decode.Headers.Others) != 1 ||
		!slices.Equal(o.Native, p.Native) || o.Bounce.Role != chat.RoleSystem || o.Prompt.Dialect != "glm" {
		t.Errorf("empty options became %+v", o)
	}
	named := bridge.Options{Decode: dialect.Options{Dialect: "yaml-style"},
		Bounce: bridge.BounceOptions{Role: chat.RoleUser}}
	named.SetProfile(&p)
	if named.Decode.Prefer != nil || named.Decode.Dialect != "yaml-style" || named.Prompt.Dialect != "" ||
		named.Bounce.Role != chat.RoleUser || len(named.Decode.Drop) != 1 {
		t.Errorf("options with a dialect became %+v", named)
	}
	passive := bridge.Options{Passive: true}
	passive.SetProfile(&p)
	if passive.Decode.Prefer != nil || passive.Decode.Drop != nil || passive.Prompt.Dialect != "" ||
		passive.Decode.Thinking != (dialect.Thinking{}) {
		t.Errorf("passive options became %+v", passive)
	}
}

// TestProfileTeachesAndReads checks what a profile does to a request: the model is taught the dialect of its
// family, an answer in it is read as that dialect, one in another is read as well, and the message that
// corrects has the profile's role.
func TestProfileTeachesAndReads(t *testing.T) {
	p := profile.Profile{Dialects: []string{"glm"}, Role: chat.RoleSystem, Drop: []string{"<|stop|>"}}
	o := bridge.Options{Mode: bridge.ModeText}
	o.SetProfile(&p)
	const glm = "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Lund</arg_value>\n</tool_call>"
	for _, said := range []string{glm + "<|stop|>",
		"```json\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Lund\"}}\n```<|stop|>"} {
		s, f := play(t, o, ask(weather), answer{text(said)})
		if len(s.Calls) != 1 || !strings.Contains(s.Calls[0], "Lund") || s.Content != "" {
			t.Errorf("%q: calls %q, content %q", said, s.Calls, s.Content)
		}
		if prompt := f.requests[0].Messages[0].Text(); !strings.Contains(prompt, "<arg_key>") {
			t.Errorf("the prompt teaches another dialect: %s", prompt)
		}
	}
	_, f := play(t, o, ask(weather), answer{text(strings.Replace(glm, "get_weather", "get_wether", 1))},
		answer{text(glm)})
	if m := f.requests[1].Messages; m[len(m)-1].Role != chat.RoleSystem {
		t.Errorf("the correction has the role %s", m[len(m)-1].Role)
	}
}

// TestOpensOnlyInText checks that the text of a model whose prompt ends in reasoning begins in it, unless the
// backend sends reasoning apart. Once it has, no later text does.
func TestOpensOnlyInText(t *testing.T) {
	o := bridge.Options{Mode: bridge.ModeNative}
	o.SetProfile(&profile.Profile{Thinking: dialect.Thinking{Open: true}})
	f := &fake{t: t, answers: []answer{
		{text("let me think</think>Lund.")},
		{reasoning("let me think"), text("Lund.")},
		{text("Lund again.")},
		{text("let me think</think>Lund.")},
	}}
	b := bridge.New(f, o)
	for i, want := range []string{"let me think|Lund.", "let me think|Lund.", "|Lund again.", "let me think|Lund."} {
		req := ask(weather)
		req.InReasoning = i == 3 // the client knows that its own messages end there
		thought, said := "", ""
		for e, err := range b.Stream(t.Context(), req) {
			if err != nil {
				t.Fatal(err)
			}
			switch e.Kind {
			case chat.KindReasoning:
				thought += e.Text
			case chat.KindText:
				said += e.Text
			}
		}
		if got := thought + "|" + said; got != want {
			t.Errorf("answer %d: %q, want %q", i, got, want)
		}
	}
}
