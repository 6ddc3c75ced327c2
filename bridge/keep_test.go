package bridge_test

import (
	"strings"
	"testing"

	"wield/bridge"
	"wield/chat"
)

func thought(s string) chat.Event { return chat.Event{Kind: chat.KindReasoning, Text: s} }

// unplaced marks what is said as what came in one piece with calls.
func unplaced(a answer) answer {
	for i := range a {
		if a[i].Kind == chat.KindText || a[i].Kind == chat.KindReasoning {
			a[i].Flags |= chat.FlagUnplaced
		}
	}
	return a
}

// shown returns the text, the reasoning and the calls that a client of m sees, as fronts show them.
func shown(t *testing.T, m chat.Model, req *chat.Request) (content, reasoning, calls string) {
	t.Helper()
	for e, err := range m.Stream(t.Context(), req) {
		switch {
		case err != nil:
			t.Fatal(err)
		case e.Flags&chat.FlagUnplaced != 0:
			t.Errorf("%v goes on with its flag", e.Kind)
		case e.Kind == chat.KindText:
			content += e.Text
		case e.Kind == chat.KindReasoning:
			reasoning += e.Text
		case e.Kind == chat.KindRejected &&
			(e.Flags&chat.FlagSpent != 0 || e.Detail.(*chat.RejectedDetail).Reason == chat.ReasonIncomplete):
			content += e.Detail.(*chat.RejectedDetail).Raw
		case e.Kind == chat.KindCallEnd:
			calls += e.Name + e.Detail.(*chat.Call).Arguments
		}
	}
	return content, reasoning, calls
}

// TestWholeAnswerOfOneAttempt: who waits for a whole answer gets the one that is good, and nothing of those that
// failed.
func TestWholeAnswerOfOneAttempt(t *testing.T) {
	const tool = `get_weather{"city":"Rome"}`
	says := func(s string) answer { return answer{thought("think " + s), text(s)} }
	good := join(says("Rome it is. "), function("g", "get_weather", `{"city":"Rome"}`))
	inText := join(says("Rome it is. "),
		answer{text("\n<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Rome\"}}</tool_call>")})
	confused := func(args string) answer { return function("n", "get_weather", args) }
	required := func(r *chat.Request) { r.Choice.Mode = chat.ChoiceRequired }
	for _, tc := range []struct {
		name      string
		o         bridge.Options
		set       func(*chat.Request)
		answers   []answer
		content   string
		reasoning string
		calls     string
	}{
		{"nothing fails", bridge.Options{Mode: bridge.ModeNative}, nil, []answer{good}, "Rome it is. ",
			"think Rome it is. ", tool},
		{"unknown tool", bridge.Options{Mode: bridge.ModeNative}, nil,
			[]answer{join(says("FAILED"), function("n", "nope", "{}")), good}, "Rome it is. ", "think Rome it is. ",
			tool},
		{"invalid arguments", bridge.Options{Mode: bridge.ModeNative}, nil,
			[]answer{join(says("FAILED"), function("n", "get_weather", `{"town":"x"}`)), good}, "Rome it is. ",
			"think Rome it is. ", tool},
		{"malformed in text", bridge.Options{Mode: bridge.ModeText}, nil,
			[]answer{join(says("FAILED "),
				answer{text("<tool_call>{\"name\":\"get_weather\",\"arguments\":{x]</tool_call>FAILED")}), inText},
			"Rome it is. ", "think Rome it is. ", tool},
		{"confused", bridge.Options{Mode: bridge.ModeText}, nil,
			[]answer{join(says("FAILED"), confused("{}"), says("FAILED")), inText}, "Rome it is. ",
			"think Rome it is. ", tool},
		{"refused at first", bridge.Options{Mode: bridge.ModeNative}, required, []answer{says("FAILED"), good},
			"Rome it is. ", "think Rome it is. ", tool},
		{"broken off and refused", bridge.Options{Mode: bridge.ModeNative}, required,
			[]answer{join(says("FAILED "),
				answer{text("<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"FAILED")}), good},
			"Rome it is. ", "think Rome it is. ", tool},
		{"a reason that is not sent back, then one that is",
			bridge.Options{Mode: bridge.ModeNative,
				Bounce: bridge.BounceOptions{On: []chat.Reason{chat.ReasonInvalid}}}, nil,
			[]answer{join(says("FAILED"), function("n", "FAILED", "{}"), function("n", "get_weather", "{}")), good},
			"Rome it is. ", "think Rome it is. ", tool},
		{"twice", bridge.Options{Mode: bridge.ModeNative, Bounce: bridge.BounceOptions{Max: 2}}, nil,
			[]answer{join(says("FAILED"), function("n", "nope", "{}")),
				join(says("FAILED"), function("n", "get_weather", "{}")), good}, "Rome it is. ", "think Rome it is. ",
			tool},
		{"the second fails too", bridge.Options{Mode: bridge.ModeNative}, nil,
			[]answer{join(says("FAILED"), function("n", "nope", "{}")), join(says("Hm."), function("n", "nope", "{}"))},
			"Hm.\n\nThe model could not call nope: unknown tool", "think Hm.", ""},
		{"taken over", bridge.Options{Mode: bridge.ModeText, Bounce: bridge.BounceOptions{Off: true}}, nil,
			[]answer{join(says("Let me look. "), confused(`{"city":"Rome"}`), says("FAILED"))}, "Let me look. ",
			"think Let me look. ", tool},
		{"taken over, in one piece", bridge.Options{Mode: bridge.ModeText, Bounce: bridge.BounceOptions{Off: true}},
			nil, []answer{unplaced(join(says("FAILED"), confused(`{"city":"Rome"}`)))}, "", "think FAILED", tool},
		{"cannot be taken over, in one piece",
			bridge.Options{Mode: bridge.ModeText, Bounce: bridge.BounceOptions{Off: true}}, nil,
			[]answer{unplaced(join(says("FAILED"), confused(`{}`)))},
			"The model could not call get_weather: missing required parameter: city", "think FAILED", ""},
	} {
		for _, cut := range []func(string) []string{nil, chunkings()["three"]} {
			f := &fake{t: t, answers: tc.answers, cut: cut}
			req := ask(weather)
			if tc.set != nil {
				tc.set(req)
			}
			if cut != nil && tc.answers[0][0].Flags&chat.FlagUnplaced != 0 {
				continue // it comes in one piece
			}
			content, reasoning, calls := shown(t, bridge.New(f, tc.o), req)
			if content != tc.content || reasoning != tc.reasoning || calls != tc.calls {
				t.Errorf("%s: content %q, reasoning %q, calls %s", tc.name, content, reasoning, calls)
			}
			// every byte stands somewhere
			collect(t, bridge.New(&fake{t: t, answers: tc.answers, cut: cut}, tc.o).Stream(t.Context(), req))
		}
	}
}

// TestOnePieceToAStream: a backend that does not stream gives nothing away of an answer that failed, whatever the
// client wants.
func TestOnePieceToAStream(t *testing.T) {
	failed := unplaced(join(answer{thought("FAILED"), text("FAILED")}, function("n", "get_weather", "{}")))
	good := unplaced(join(answer{thought("hm"), text("Rome.")}, function("n", "get_weather", `{"city":"Rome"}`)))
	f := &fake{t: t, answers: []answer{failed, good}}
	content, reasoning, calls := shown(t, bridge.New(f, bridge.Options{Mode: bridge.ModeNative}),
		streamed(ask(weather)))
	if content != "Rome." || reasoning != "hm" || calls != `get_weather{"city":"Rome"}` {
		t.Errorf("content %q, reasoning %q, calls %s", content, reasoning, calls)
	}
}

// TestNothingOfAFailedAnswer: the record of a bounce holds all of the answer, which nobody was shown.
func TestNothingOfAFailedAnswer(t *testing.T) {
	bad := "Let me look.\n<tool_call>{\"name\":\"nope\",\"arguments\":{}}</tool_call>"
	s, f := play(t, bridge.Options{Mode: bridge.ModeText}, ask(weather), answer{text(bad)},
		answer{text("Let me look. Sunny.")})
	if s.Content != "Let me look. Sunny." || s.suppressed[0] != bad || s.Raw[0] != bad {
		t.Errorf("content %q, suppressed %q, raw %q", s.Content, s.suppressed, s.Raw)
	}
	if text := f.requests[1].Messages; !strings.Contains(text[len(text)-2].Text(), bad) {
		t.Errorf("the model is not shown its answer: %v", text)
	}
}
