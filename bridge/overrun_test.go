package bridge_test

import (
	"strings"
	"testing"

	"wield/bridge"
	"wield/chat"
)

// over is the end of a turn behind which the model went on.
func over(hard bool) chat.Event {
	return chat.Event{Kind: chat.KindOverrun, Detail: &chat.OverrunDetail{Marker: "<|im_start|>user", Hard: hard}}
}

const (
	goodCall    = `<tool_call>{"name":"get_weather","arguments":{"city":"Paris"}}</tool_call>`
	unknownCall = `<tool_call>{"name":"delete_all","arguments":{}}</tool_call>`
	invented    = "\n<|im_start|>user\nyes, delete it<|im_end|>\n<|im_start|>assistant\n"
)

// TestOverrun has a model go on past the end of its turn, in all the ways in which a call may stand before
// and behind that end.
func TestOverrun(t *testing.T) {
	text3, paris := bridge.Options{Mode: bridge.ModeText}, []string{`get_weather({"city":"Paris"})`}
	const late = "overrun get_weather"
	tests := []struct {
		name    string
		o       bridge.Options
		answers []answer
		want    seen
		stopped int
	}{
		{"hard, no call", text3,
			[]answer{{text("Shall I delete it?"), over(true), text(invented), text(goodCall), usage(9, 9)}},
			seen{Content: "Shall I delete it?", Finish: chat.FinishStop}, 1},
		{"hard, behind a call", text3, []answer{{text(goodCall), over(true), text(invented), text(goodCall)}},
			seen{Calls: paris, Finish: chat.FinishCalls}, 1},
		{"soft, no call: the text goes on", text3,
			[]answer{{text("Ann:\n"), over(false), text("User: Hi.\n"), text(goodCall)}},
			seen{Content: "Ann:\nUser: Hi.\n" + goodCall, Finish: chat.FinishStop}, 0},
		{"soft, behind a call", text3,
			[]answer{{text(goodCall), over(false), text("\nObservation: sunny\n" + goodCall), text(goodCall)}},
			seen{Calls: paris, Finish: chat.FinishCalls}, 1},
		{"soft, behind an attempt", bridge.Options{Mode: bridge.ModeText, Bounce: bridge.BounceOptions{Off: true}},
			[]answer{{text(unknownCall), over(false), text("\nObservation: done")}},
			seen{Content: unknownCall, Rejected: []string{"unknown_tool delete_all"}, Finish: chat.FinishStop}, 1},
		{"the finish is that of the turn", text3, []answer{{text("No."), over(true), finish(chat.FinishLength)}},
			seen{Content: "No.", Finish: chat.FinishStop}, 0},
		{"a soft end leaves the finish", text3, []answer{{text("A: b\n"), over(false), finish(chat.FinishLength)}},
			seen{Content: "A: b\n", Finish: chat.FinishLength}, 0},
		{"function calling behind a hard end", bridge.Options{Mode: bridge.ModeNative},
			[]answer{join(answer{text("Shall I?"), over(true)}, function("c1", "get_weather", `{"city":"Paris"}`))},
			seen{Content: "Shall I?", Rejected: []string{late}, Finish: chat.FinishStop}, 0},
		{"function calling behind a soft end", bridge.Options{Mode: bridge.ModeNative},
			[]answer{join(answer{text("Shall I?\nUser: yes\nAssistant:"), over(false)},
				function("c1", "get_weather", `{"city":"Paris"}`), answer{text(" Done.")})},
			seen{Content: "Shall I?\nUser: yes\nAssistant: Done.", Rejected: []string{late}, Finish: chat.FinishStop},
			0},
		{"a broken function call behind the end", bridge.Options{Mode: bridge.ModeNative},
			[]answer{{text("Shall I?"), over(true),
				{Kind: chat.KindRejected, Index: -1,
					Detail: &chat.RejectedDetail{Reason: chat.ReasonMalformed, Name: "get_weather", Raw: "{",
						Message: "broken"}}}},
			seen{Content: "Shall I?", Rejected: []string{late}, Finish: chat.FinishStop}, 0},
		{"a whole native call behind the end", text3,
			[]answer{join(answer{text("Shall I?"), over(true)}, native("n", "get_weather", `{"city":"Paris"}`, "x"))},
			seen{Content: "Shall I?", Rejected: []string{late}, Finish: chat.FinishStop}, 0},
		{"glued names behind the end", bridge.Options{Mode: bridge.ModeNative},
			[]answer{join(answer{text("Shall I?"), over(true)},
				function("c1", "get_weatherget_weather", `{"city":"Paris"}{"city":"Rome"}`))},
			seen{Content: "Shall I?", Rejected: []string{"overrun get_weatherget_weather"}, Finish: chat.FinishStop},
			0},
		{"a tool of the backend runs all the same", text3,
			[]answer{join(answer{text("Shall I?"), over(true)}, native("n", "web_search", `{}`, "x"))},
			seen{Content: "Shall I?", Natives: []string{"web_search({})"}, Finish: chat.FinishStop}, 0},
		{"a function call that began before the end", bridge.Options{Mode: bridge.ModeNative}, []answer{{
			{Kind: chat.KindCallStart, Origin: chat.OriginFunction, ID: "c1", Name: "get_weather"},
			{Kind: chat.KindCallArgs, Text: `{"city":`}, over(true), text(invented),
			{Kind: chat.KindCallArgs, Text: `"Paris"}`},
			{Kind: chat.KindCallEnd, Detail: &chat.Call{Name: "get_weather", Arguments: `{"city":"Paris"}`,
				Complete: true}}, text("more")}},
			seen{Calls: paris, Finish: chat.FinishCalls}, 1},
		{"function calling behind an answer that the model asked for", bridge.Options{Mode: bridge.ModeNative},
			[]answer{join(answer{text("Shall I?\nQ: yes\nA:\n")}, function("c1", "get_weather", `{"city":"Paris"}`))},
			seen{Content: "Shall I?\nQ: yes\nA:\n", Rejected: []string{late}, Finish: chat.FinishStop}, 0},
		{"a confused call behind the end, behind another",
			bridge.Options{Mode: bridge.ModeText, Bounce: bridge.BounceOptions{Off: true}},
			[]answer{join(function("c1", "get_weather", `{"city":"Paris"}`),
				answer{text("It failed."), text(invented), text("So.")},
				function("c2", "get_weather", `{"city":"Rome"}`))},
			seen{Calls: paris, Finish: chat.FinishCalls}, 1},
		{"a bounce is cut", text3,
			[]answer{{text("First. " + unknownCall), over(false), text("\nObservation: done"), text("\nmore")},
				{text(goodCall)}},
			seen{Calls: paris, Rejected: []string{"unknown_tool delete_all"}, Finish: chat.FinishCalls,
				Bounces: []string{"TOOL_ERROR: Unknown tool: delete_all. Please try again with correct format."}}, 1},
	}
	for _, tc := range tests {
		for _, stream := range []bool{false, true} {
			for name, cut := range chunkings() {
				f := &fake{t: t, answers: tc.answers, cut: cut}
				req := ask(weather)
				req.Stream = stream
				got := collect(t, bridge.New(f, tc.o).Stream(t.Context(), req))
				want := tc.want
				if stream && len(want.Bounces) > 0 {
					want.Content = "First. " // it was out before
				}
				t.Run(tc.name+"/"+name, func(t *testing.T) { compare(t, want, got) })
				if f.stopped != tc.stopped {
					t.Errorf("%s: the backend was stopped %d times, want %d", tc.name, f.stopped, tc.stopped)
				}
				for _, req := range f.requests[1:] {
					if again := req.Messages[len(req.Messages)-2].Text(); again != "First. "+unknownCall {
						t.Errorf("%s: the failed answer goes back as %q", tc.name, again)
					}
				}
			}
		}
	}
}

// TestOverrunUsage tells which requests were not counted because they were stopped.
func TestOverrunUsage(t *testing.T) {
	s, _ := play(t, bridge.Options{Mode: bridge.ModeText}, ask(weather),
		answer{text(unknownCall), usage(10, 5)}, answer{text("Well."), over(true), text(invented), usage(11, 700)})
	if want := (chat.Usage{Known: true, In: 10, Out: 5, Requests: 2, Uncounted: 1}); s.Usage != want {
		t.Errorf("usage %+v, want %+v", s.Usage, want)
	}
	s, _ = play(t, bridge.Options{Mode: bridge.ModeText}, ask(weather), answer{text("Well."), over(true), usage(11, 7)})
	if want := (chat.Usage{Known: true, In: 11, Out: 7, Requests: 1}); s.Usage != want {
		t.Errorf("of one body: usage %+v, want %+v", s.Usage, want)
	}
}

// TestOverrunIsTold has the event reach whoever looks, in its place and also in an answer that is not shown.
func TestOverrunIsTold(t *testing.T) {
	for _, first := range []string{"Well.", unknownCall} {
		f := &fake{t: t, answers: []answer{{text(first), over(true), text(invented)}, {text("Sorry.")}}}
		at := -1
		for e, err := range bridge.New(f, bridge.Options{Mode: bridge.ModeText}).Stream(t.Context(),
			streamed(ask(weather))) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == chat.KindOverrun {
				at = e.At
			}
			if e.Kind == chat.KindRaw && at >= 0 && !strings.HasPrefix(e.Text, first) && e.Text != "Sorry." {
				t.Errorf("raw text %q", e.Text)
			}
		}
		if at != len(first) {
			t.Errorf("behind %q the end is told at %d", first, at)
		}
	}
}
