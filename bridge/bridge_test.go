package bridge_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"wield/bridge"
	"wield/chat"
	"wield/dialect"
	"wield/prompt"
)

const apology = "I don't have access to that tool..."

// textCall is the fenced call that the tests' models write.
const textCall = "```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n```"

// cases are answers and what the client makes of them. Each is played with its texts whole and in pieces.
var cases = []struct {
	name    string
	o       bridge.Options
	req     *chat.Request
	answers []answer
	want    seen // Raw, IDs and Usage are not compared
}{
	{name: "text only", o: bridge.Options{Mode: bridge.ModeText}, req: ask(weather),
		answers: []answer{{text("Hello there.")}},
		want:    seen{Content: "Hello there.", Finish: chat.FinishStop}},
	{name: "fenced call", o: bridge.Options{Mode: bridge.ModeText}, req: ask(weather),
		answers: []answer{{text("I'll check.\n" + textCall)}},
		want: seen{Content: "I'll check.", Calls: []string{`get_weather({"city": "Paris"})`},
			Finish: chat.FinishCalls}},
	{name: "a key twice, the last value wins", o: bridge.Options{Mode: bridge.ModeText}, req: ask(weather),
		answers: []answer{
			{text(
				"```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Rome\", \"city\": \"Paris\"}}\n```")}},
		want: seen{Calls: []string{`get_weather({"city": "Paris"})`}, Finish: chat.FinishCalls}},
	{name: "native call", o: bridge.Options{Mode: bridge.ModeNative}, req: ask(weather),
		answers: []answer{join(answer{text("I'll check.")}, function("c1", "get_weather", `{"city":`, `"Paris"}`),
			answer{finish(chat.FinishCalls)})},
		want: seen{Content: "I'll check.", Calls: []string{`get_weather({"city":"Paris"})`}, Finish: chat.FinishCalls}},
	{name: "native server leaks a call as text", o: bridge.Options{Mode: bridge.ModeNative}, req: ask(weather),
		answers: []answer{
			{text("<tool_call>\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n</tool_call>")}},
		want: seen{Calls: []string{`get_weather({"city":"Paris"})`}, Finish: chat.FinishCalls}},
	{name: "no tools offered", o: bridge.Options{Mode: bridge.ModeText}, req: ask(),
		answers: []answer{{text(textCall)}},
		want:    seen{Content: textCall, Finish: chat.FinishStop}},
	{name: "choice none", o: bridge.Options{Mode: bridge.ModeText},
		req:     with(ask(weather), func(r *chat.Request) { r.Choice.Mode = chat.ChoiceNone }),
		answers: []answer{{text(textCall)}}, want: seen{Content: textCall, Finish: chat.FinishStop}},
	{name: "choice none, calls are read",
		o: bridge.Options{Mode: bridge.ModeText,
			Bounce: bridge.BounceOptions{Max: 1, On: []chat.Reason{chat.ReasonInvalid}}},
		req: with(ask(weather), func(r *chat.Request) {
			r.Choice = chat.Choice{Mode: chat.ChoiceNone, Read: true}
		}),
		answers: []answer{{text("So far:\n" + textCall)}},
		want:    seen{Content: "So far:", Calls: []string{`get_weather({"city": "Paris"})`}, Finish: chat.FinishCalls}},
	{name: "length stays length", o: bridge.Options{Mode: bridge.ModeText}, req: ask(weather),
		answers: []answer{{text(textCall), finish(chat.FinishLength)}},
		want:    seen{Calls: []string{`get_weather({"city": "Paris"})`}, Finish: chat.FinishLength}},
	{name: "finish of calls without a call", o: bridge.Options{Mode: bridge.ModeNative}, req: ask(weather),
		answers: []answer{{text("no"), finish(chat.FinishCalls)}},
		want:    seen{Content: "no", Finish: chat.FinishStop}},
	{name: "incomplete call", o: bridge.Options{Mode: bridge.ModeText}, req: ask(weather),
		answers: []answer{{text("<tool_call>\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Par"),
			finish(chat.FinishLength)}},
		want: seen{Content: "<tool_call>\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Par",
			Rejected: []string{"incomplete get_weather"}, Finish: chat.FinishLength}},
	{name: "unknown tool, then right", o: bridge.Options{Mode: bridge.ModeText}, req: streamed(ask(weather)),
		answers: []answer{
			{text("Let me see.\n<tool_call>\n{\"name\":\"weather\",\"arguments\":{}}\n</tool_call>\nDone?")},
			{text("Let me see.\n" + textCall)}},
		want: seen{Content: "Let me see.\n", Calls: []string{`get_weather({"city": "Paris"})`},
			Rejected: []string{"unknown_tool weather"},
			Bounces:  []string{"TOOL_ERROR: Unknown tool: weather. Please try again with correct format."},
			Finish:   chat.FinishCalls}},
	{name: "missing parameter, then right", o: bridge.Options{Mode: bridge.ModeText}, req: ask(weather),
		answers: []answer{{text("<TOOL_CALL>\n{\"tool\":\"get_weather\",\"args\":{}}\n</TOOL_CALL>")},
			{text(textCall)}},
		want: seen{Calls: []string{`get_weather({"city": "Paris"})`}, Rejected: []string{"invalid get_weather"},
			Bounces: []string{"TOOL_ERROR: Missing required parameter: city. Please try again with correct format."},
			Finish:  chat.FinishCalls}},
	{name: "missing parameter, spent", o: bridge.Options{Mode: bridge.ModeNative}, req: ask(weather),
		answers: []answer{function("", "get_weather", "{}"),
			join(answer{text("Again:")}, function("", "get_weather", "{}"))},
		want: seen{Content: "Again:\n\nThe model could not call get_weather: missing required parameter: city",
			Rejected: []string{"invalid get_weather", "invalid get_weather"},
			Bounces:  []string{"TOOL_ERROR: Missing required parameter: city. Please try again with correct format."},
			Finish:   chat.FinishStop}},
	{name: "unknown tool, spent, raw stays",
		o: bridge.Options{Mode: bridge.ModeText, Bounce: bridge.BounceOptions{Off: true}}, req: ask(weather),
		answers: []answer{{text("a <tool_call>{\"name\":\"x\",\"arguments\":{}}</tool_call> b")}},
		want: seen{Content: "a <tool_call>{\"name\":\"x\",\"arguments\":{}}</tool_call> b",
			Rejected: []string{"unknown_tool x"}, Finish: chat.FinishStop}},
	{name: "bad call after a good one is not bounced", o: bridge.Options{Mode: bridge.ModeText}, req: ask(weather),
		answers: []answer{{text(textCall + "\n<tool_call>{\"name\":\"x\",\"arguments\":{}}</tool_call>")}},
		want: seen{Content: "\n<tool_call>{\"name\":\"x\",\"arguments\":{}}</tool_call>",
			Calls: []string{`get_weather({"city": "Paris"})`}, Rejected: []string{"unknown_tool x"},
			Finish: chat.FinishCalls}},
	{name: "confused function call in text mode", o: bridge.Options{Mode: bridge.ModeText}, req: ask(weather),
		answers: []answer{join(function("c9", "get_weather", `{"city":"Rome"}`), answer{text(apology)}),
			{text(textCall)}},
		want: seen{Calls: []string{`get_weather({"city": "Paris"})`}, Finish: chat.FinishCalls,
			Bounces: []string{bounced(`{
  "name": "get_weather",
  "arguments": {
    "city": "Rome"
  }
}`)}}},
	{name: "known native passes", o: bridge.Options{Mode: bridge.ModeText}, req: ask(weather),
		answers: []answer{join(native("n1", "web_search", `{"query":"x"}`, `{"results":[]}`), answer{text("Found.")})},
		want:    seen{Content: "Found.", Natives: []string{`web_search({"query":"x"})`}, Finish: chat.FinishStop}},
	{name: "A14 new native passes", o: bridge.Options{Mode: bridge.ModeText}, req: ask(),
		answers: []answer{join(native("n1", "generate_image", `{}`, `{}`), answer{text("Here.")})},
		want:    seen{Content: "Here.", Natives: []string{`generate_image({})`}, Finish: chat.FinishStop}},
	{name: "A14 new native passes beside tools", o: bridge.Options{Mode: bridge.ModeNative}, req: ask(weather),
		answers: []answer{join(native("n1", "generate_image", `{}`, `{}`), answer{text("Here.")})},
		want:    seen{Content: "Here.", Natives: []string{`generate_image({})`}, Finish: chat.FinishStop}},
	{name: "A14 function of the backend in text mode", o: bridge.Options{Mode: bridge.ModeText}, req: ask(weather),
		answers: []answer{join(function("n1", "generate_image", `{}`), answer{text("Here.")})},
		want:    seen{Content: "Here.", Natives: []string{`generate_image({})`}, Finish: chat.FinishStop}},
	{name: "unknown function that was not offered",
		o: bridge.Options{Mode: bridge.ModeNative, Bounce: bridge.BounceOptions{Off: true}}, req: ask(weather),
		answers: []answer{join(answer{text("Hm.")}, function("n1", "generate_image", `{}`))},
		want: seen{Content: "Hm.\n\nThe model could not call generate_image: unknown tool",
			Rejected: []string{"unknown_tool generate_image"}, Finish: chat.FinishStop}},
	{name: "over the limit", o: bridge.Options{Mode: bridge.ModeText, MaxCalls: 1}, req: ask(weather),
		answers: []answer{{text(textCall + "\n" + textCall)}},
		want: seen{Content: "The call of get_weather was not run: only one tool call per response is allowed.",
			Calls: []string{`get_weather({"city": "Paris"})`}, Rejected: []string{"over_limit get_weather"},
			Finish: chat.FinishCalls}},
	{name: "no parallel calls", o: bridge.Options{Mode: bridge.ModeNative},
		req: with(ask(weather), func(r *chat.Request) { r.Parallel = new(bool) }),
		answers: []answer{join(function("a", "get_weather", `{"city":"Paris"}`),
			function("b", "get_weather", `{"city":"Rome"}`))},
		want: seen{Content: "The call of get_weather was not run: only one tool call per response is allowed.",
			Calls: []string{`get_weather({"city":"Paris"})`}, Rejected: []string{"over_limit get_weather"},
			Finish: chat.FinishCalls}},
	{name: "required but not called", o: bridge.Options{Mode: bridge.ModeText},
		req:     with(streamed(ask(weather)), func(r *chat.Request) { r.Choice.Mode = chat.ChoiceRequired }),
		answers: []answer{{text("No.")}, {text(textCall)}},
		want: seen{Content: "No.", Calls: []string{`get_weather({"city": "Paris"})`}, Finish: chat.FinishCalls,
			Bounces: []string{
				"TOOL_ERROR: No tool was called, but one must be. Please try again with correct format."}}},
	{name: "prefix", o: bridge.Options{Mode: bridge.ModeText, Decode: dialect.Options{Prefix: "user:"}},
		req:     ask(weather),
		answers: []answer{{text("```json\n{\"name\":\"user:get_weather\",\"arguments\":{\"city\":\"Paris\"}}\n```")}},
		want:    seen{Calls: []string{`get_weather({"city":"Paris"})`}, Finish: chat.FinishCalls}},
	{name: "glued arguments", o: bridge.Options{Mode: bridge.ModeNative}, req: ask(weather),
		answers: []answer{function("c1", "get_weather", `{}{"city":"Paris"}{"city":"Paris"}`)},
		want:    seen{Calls: []string{`get_weather({"city":"Paris"})`}, Finish: chat.FinishCalls}},
	{name: "no arguments at all", o: bridge.Options{Mode: bridge.ModeNative}, req: ask(live),
		answers: []answer{join(function("c1", "GetLiveContext", ``), function("c2", "GetLiveContext", `null`),
			function("c3", "GetLiveContext", `"{}"`))},
		want: seen{Calls: []string{`GetLiveContext({})`, `GetLiveContext({})`, `GetLiveContext({})`},
			Finish: chat.FinishCalls}},
	{name: "arguments of a function are mended like text", o: bridge.Options{Mode: bridge.ModeNative},
		req: ask(weather), answers: []answer{function("c1", "get_weather", `{'city':'Paris',`, `"days":"3",}`)},
		want: seen{Calls: []string{`get_weather({"city":"Paris","days":3})`}, Finish: chat.FinishCalls}},
	{name: "a tool that is not allowed", o: bridge.Options{Mode: bridge.ModeNative},
		req:     with(ask(weather, live), func(r *chat.Request) { r.Choice.Allowed = []string{"GetLiveContext"} }),
		answers: []answer{function("c1", "get_weather", `{"city":"Paris"}`), function("c1", "GetLiveContext", `{}`)},
		want: seen{Calls: []string{`GetLiveContext({})`}, Rejected: []string{"unknown_tool get_weather"},
			Finish:  chat.FinishCalls,
			Bounces: []string{"TOOL_ERROR: Unknown tool: get_weather. Please try again with correct format."}}},
	{name: "a named tool must be called", o: bridge.Options{Mode: bridge.ModeText},
		req: with(streamed(ask(weather, live)),
			func(r *chat.Request) { r.Choice = chat.Choice{Mode: chat.ChoiceNamed, Name: "get_weather"} }),
		answers: []answer{{text("No.")}, {text("Still no.")}},
		want: seen{Content: "No.\n\nStill no.", Finish: chat.FinishStop,
			Bounces: []string{
				"TOOL_ERROR: No tool was called, but get_weather must be. Please try again with correct format."}}},
	{name: "filtered stays filtered", o: bridge.Options{Mode: bridge.ModeText}, req: ask(weather),
		answers: []answer{{text("<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"ci"),
			finish(chat.FinishFiltered)}},
		want: seen{Content: "<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"ci",
			Rejected: []string{"incomplete get_weather"}, Finish: chat.FinishFiltered}},
	{name: "glued calls", o: bridge.Options{Mode: bridge.ModeNative}, req: ask(weather),
		answers: []answer{function("c1", "get_weather", `{"city":"Paris"}{"city":"Rome"}`)},
		want: seen{Calls: []string{`get_weather({"city":"Paris"})`, `get_weather({"city":"Rome"})`},
			Finish: chat.FinishCalls}},
	{name: "incomplete native call", o: bridge.Options{Mode: bridge.ModeNative}, req: ask(weather),
		answers: []answer{{{Kind: chat.KindCallStart, Origin: chat.OriginFunction, Name: "get_weather"},
			{Kind: chat.KindCallArgs, Text: `{"ci`}, finish(chat.FinishLength)}},
		want: seen{Content: `{"ci`, Rejected: []string{"incomplete get_weather"}, Finish: chat.FinishLength}},
	{name: "call without a name", o: bridge.Options{Mode: bridge.ModeNative, Bounce: bridge.BounceOptions{Off: true}},
		req: ask(weather),
		answers: []answer{{{Kind: chat.KindRejected, Origin: chat.OriginFunction, Index: -1,
			Detail: &chat.RejectedDetail{
				Reason: chat.ReasonMalformed, Raw: `{"a":1}`, Arguments: `{"a":1}`,
				Message: "the server sent a call that has no name"}}}},
		want: seen{Content: "{\"a\":1}\n\nThe model could not call a tool: the server sent a call that has no name",
			Rejected: []string{"malformed"}, Finish: chat.FinishStop}},
	{name: "passive", o: bridge.Options{Passive: true}, req: ask(),
		answers: []answer{{text(`{"tool_request":{"name":"lookup_weather","arguments":{"city":"Lisbon"}}}`)}},
		want:    seen{Calls: []string{`lookup_weather({"city":"Lisbon"})`}, Finish: chat.FinishCalls}},
	{name: "passive text", o: bridge.Options{Passive: true}, req: ask(),
		answers: []answer{{text(`Sure: {"tool_request":{"name":"x","arguments":{}}}`)}},
		want:    seen{Content: `Sure: {"tool_request":{"name":"x","arguments":{}}}`, Finish: chat.FinishStop}},
}

func with(r *chat.Request, f func(*chat.Request)) *chat.Request {
	f(r)
	return r
}

func bounced(shown string) string {
	return "You tried to call a custom tool using your built-in tool system, but custom tools must be called by writing the call " +
		"as text in your response. Please write the tool call as text, like this:\n" + shown
}

func compare(t *testing.T, want, got seen) {
	t.Helper()
	opts := cmp.Options{cmpopts.IgnoreFields(seen{}, "Raw", "IDs", "Usage"), cmpopts.IgnoreUnexported(seen{}),
		cmpopts.EquateEmpty()}
	if diff := cmp.Diff(want, got, opts); diff != "" {
		t.Errorf("the client sees (-want +got):\n%s", diff)
	}
}

func TestBridge(t *testing.T) {
	for _, tc := range cases {
		for _, release := range []bridge.Release{bridge.ReleaseAuto, bridge.ReleaseChecked} {
			t.Run(tc.name+"/"+string(release), func(t *testing.T) {
				o := tc.o
				o.Release = release
				got, _ := play(t, o, tc.req, tc.answers...)
				compare(t, tc.want, got)
				for name, cut := range chunkings() {
					f := &fake{t: t, answers: tc.answers, cut: cut}
					if again := collect(t, bridge.New(f, o).Stream(t.Context(), tc.req)); !cmp.Equal(got, again,
						cmpopts.IgnoreFields(seen{}, "IDs"), cmpopts.IgnoreUnexported(seen{}), cmpopts.EquateEmpty()) {
						t.Errorf("in pieces of %s: %s", name, cmp.Diff(got, again, cmpopts.IgnoreUnexported(seen{})))
					}
				}
			})
		}
	}
}

// TestA6 keeps arguments that are no object from becoming an empty call.
func TestA6(t *testing.T) {
	for _, args := range []string{`"ls -la"`, `[1,2]`, `5`} {
		for _, mode := range []string{"text", "function"} {
			for _, cut := range []func(string) []string{nil, chunkings()["bytes"]} {
				a := answer{text("<tool_call>\n{\"name\":\"get_weather\",\"arguments\":" + args + "}\n</tool_call>")}
				o := bridge.Options{Mode: bridge.ModeText, Bounce: bridge.BounceOptions{Off: true}}
				if mode == "function" {
					a, o.Mode = function("c1", "get_weather", args), bridge.ModeNative
				}
				f := &fake{t: t, answers: []answer{a}, cut: cut}
				s := collect(t, bridge.New(f, o).Stream(t.Context(), ask(weather)))
				if len(s.Calls) > 0 || len(s.Rejected) != 1 || s.Finish != chat.FinishStop || s.Content == "" {
					t.Errorf("%s %s: %+v", mode, args, s)
				}
			}
		}
	}
}

// TestA7 leaves JSON that names no declared tool in the text.
func TestA7(t *testing.T) {
	const explanation = "A package file:\n{\"name\":\"my-package\",\"parameters\":{\"a\":1}}\nThat is all."
	for _, cut := range []func(string) []string{nil, chunkings()["bytes"]} {
		f := &fake{t: t, answers: []answer{{text(explanation)}}, cut: cut}
		s := collect(t, bridge.New(f, bridge.Options{Mode: bridge.ModeText}).Stream(t.Context(), ask(weather)))
		compare(t, seen{Content: explanation, Finish: chat.FinishStop}, s)
	}
}

// TestA10 silences the apology for a confused call as soon as its name is known, also when the call comes in parts.
func TestA10(t *testing.T) {
	parts := answer{text("Let me look. "), {Kind: chat.KindCallStart, Origin: chat.OriginNative,
		Name: "GetLiveContext"}, text(apology)}
	parts = append(parts, chat.Event{Kind: chat.KindCallEnd, Origin: chat.OriginNative,
		Detail: &chat.Call{Name: "GetLiveContext", Arguments: "{}", Complete: true}})
	whole := join(answer{text("Let me look. ")}, native("", "GetLiveContext", "{}", `{"error":true}`),
		native("", "GetLiveContext", "{}", `{"error":true}`), answer{text(apology)})
	second := answer{text("```json\n{\"name\":\"GetLiveContext\",\"arguments\":{}}\n```")}
	for name, first := range map[string]answer{"parts": parts, "whole": whole} {
		for _, cut := range []func(string) []string{nil, chunkings()["bytes"]} {
			f := &fake{t: t, answers: []answer{first, second}, cut: cut}
			s := collect(t, bridge.New(f, bridge.Options{Mode: bridge.ModeText}).Stream(t.Context(),
				streamed(ask(live))))
			compare(t, seen{Content: "Let me look. ", Calls: []string{"GetLiveContext({})"}, Finish: chat.FinishCalls,
				Bounces: []string{bounced("{\n  \"name\": \"GetLiveContext\",\n  \"arguments\": {}\n}")}}, s)
			if want := "Let me look. " + apology; s.Raw[0] != want || s.suppressed[0] != apology {
				t.Errorf("%s: raw %q, suppressed %q", name, s.Raw, s.suppressed)
			}
			msgs := f.requests[1].Messages
			if got := msgs[len(msgs)-2]; got.Role != chat.RoleAssistant || got.Text() != "Let me look. "+apology {
				t.Errorf("%s: the failed answer goes back as %+v", name, got)
			}
		}
	}
}

// TestA11 makes a call of a second confusion, rather than an answer of the apology.
func TestA11(t *testing.T) {
	confused := join(native("n1", "get_weather", `{"city":"Paris"}`, `{"error":true}`), answer{text(apology)})
	s, _ := play(t, bridge.Options{Mode: bridge.ModeText}, ask(weather), confused, confused)
	if diff := cmp.Diff([]string{`get_weather({"city":"Paris"})`}, s.Calls); diff != "" || s.Content != "" ||
		s.converted != 1 || s.Finish != chat.FinishCalls {
		t.Errorf("%+v\n%s", s, diff)
	}
	invalid := join(native("n1", "get_weather", `{}`, `{"error":true}`), answer{text(apology)})
	s, _ = play(t, bridge.Options{Mode: bridge.ModeText}, ask(weather), invalid, invalid)
	if s.Content != "The model could not call get_weather: missing required parameter: city" || len(s.Calls) != 0 ||
		s.Finish != chat.FinishStop {
		t.Errorf("invalid: %+v", s)
	}
}

// TestA12 examines every native call of an answer, also when several come glued together.
func TestA12(t *testing.T) {
	two := join(native("n1", "web_search", `{"query":"x"}`, `{}`),
		native("n2", "GetLiveContext", `{}`, `{"error":true}`), answer{text(apology)})
	glued := join(native("", "",
		`{"name":"web_search","arguments":{"query":"x"}}{"name":"GetLiveContext","parameters":{}}{"name":"GetLiveContext"}`, ""), answer{text(apology)})
	for name, first := range map[string]answer{"two": two, "glued": glued} {
		s, _ := play(t, bridge.Options{Mode: bridge.ModeText}, ask(live), first,
			answer{text("```json\n{\"name\":\"GetLiveContext\",\"arguments\":{}}\n```")})
		if !cmp.Equal(s.Natives, []string{`web_search({"query":"x"})`}) ||
			!cmp.Equal(s.Calls, []string{"GetLiveContext({})"}) || len(s.Bounces) != 1 || s.Content != "" {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestA13 leaves a user's own parameter called parameters alone.
func TestA13(t *testing.T) {
	f := chat.Tool{Name: "f"}
	for _, tc := range []struct{ args, want string }{
		{`{"parameters":{"a":1},"other":2}`, `{"parameters":{"a":1},"other":2}`},
		{`{"parameters":{"a":1}}`, `{"parameters":{"a":1}}`},
		{`{"arguments":null,"name":null,"parameters":{"a":1}}`, `{"a":1}`},
		{`{"arguments":null,"name":"x","parameters":{"a":1}}`, `{"arguments":null,"name":"x","parameters":{"a":1}}`},
	} {
		s, _ := play(t, bridge.Options{Mode: bridge.ModeText, Bounce: bridge.BounceOptions{Off: true}}, ask(f),
			native("", "f", tc.args, ""))
		if !cmp.Equal(s.Calls, []string{"f(" + tc.want + ")"}) {
			t.Errorf("%s gives %v", tc.args, s.Calls)
		}
	}
	for _, cut := range []func(string) []string{nil, chunkings()["bytes"]} {
		m := &fake{t: t, cut: cut,
			answers: []answer{{text(`{"name":"f","arguments":{"parameters":{"a":1},"other":2}}`)}}}
		s := collect(t, bridge.New(m, bridge.Options{Mode: bridge.ModeText}).Stream(t.Context(), ask(f)))
		if !cmp.Equal(s.Calls, []string{`f({"parameters":{"a":1},"other":2})`}) {
			t.Errorf("in text: %+v", s)
		}
	}
}

// TestXE22 never runs a call whose arguments are not JSON, not even with empty ones.
func TestXE22(t *testing.T) {
	s, f := play(t, bridge.Options{Mode: bridge.ModeNative}, ask(weather),
		function("c1", "get_weather", `{bad`), function("c1", "get_weather", `{bad`))
	if len(s.Calls) != 0 || !strings.HasPrefix(s.Content, "The model could not call get_weather: ") ||
		s.Finish != chat.FinishStop {
		t.Errorf("%+v", s)
	}
	m := f.requests[1].Messages[len(f.requests[1].Messages)-1]
	if m.Role != chat.RoleTool || !strings.HasPrefix(m.Text(), "TOOL_ERROR: Malformed call of get_weather: ") ||
		!m.IsError {
		t.Errorf("the model is told %+v", m)
	}
	for _, cut := range []func(string) []string{nil, chunkings()["bytes"]} {
		bad := "<tool_call>{\"name\":\"get_weather\",\"arguments\":{bad</tool_call>"
		m := &fake{t: t, cut: cut, answers: []answer{{text(bad)}}}
		s := collect(t,
			bridge.New(m, bridge.Options{Mode: bridge.ModeText, Bounce: bridge.BounceOptions{Off: true}}).Stream(
				t.Context(), ask(weather)))
		if len(s.Calls) != 0 || s.Content != bad {
			t.Errorf("in text: %+v", s)
		}
	}
}

// TestXE27 keeps a call in a tool's result from becoming a call when the model repeats what it was shown.
func TestXE27(t *testing.T) {
	req := ask(weather)
	page := "Weather.\n```json\n{\"name\":\"get_weather\",\"arguments\":{\"city\":\"X\"}}\n```\n<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"X\"}}</tool_call>"
	req.Messages = append(req.Messages,
		chat.Message{Role: chat.RoleAssistant,
			Calls: []chat.Call{{ID: "c1", Name: "get_weather", Arguments: `{"city":"Paris"}`}}},
		chat.Message{Role: chat.RoleTool, CallID: "c1", Parts: chat.Text(page)})
	for _, d := range []string{"json-fence", "hermes", "tool-call-tag", "qwen3-coder", "pythonic"} {
		f := &fake{t: t, answers: []answer{nil}}
		b := bridge.New(f, bridge.Options{Mode: bridge.ModeText, Decode: dialect.Options{Dialect: d}})
		collect(t, b.Stream(t.Context(), req))
		echo := lastOf(f.requests[0])
		for _, cut := range []func(string) []string{nil, chunkings()["bytes"]} {
			g := &fake{t: t, cut: cut, answers: []answer{{text(echo)}}}
			s := collect(t,
				bridge.New(g, bridge.Options{Mode: bridge.ModeText, Decode: dialect.Options{Dialect: d}}).Stream(
					t.Context(), req))
			compare(t, seen{Content: echo, Finish: chat.FinishStop}, s)
		}
	}
}

func TestAutoMode(t *testing.T) {
	support := new(bridge.Support)
	unsupported := &chat.Error{Kind: chat.ErrBadRequest, Code: chat.CodeToolsUnsupported,
		Message: "m does not support tools"}
	f := &fake{t: t, answers: []answer{{}, {text(textCall)}, {text("fine")}}, errs: []error{unsupported}}
	b := bridge.New(f, bridge.Options{Server: bridge.Server{Support: support}})
	s := collect(t, b.Stream(t.Context(), ask(weather)))
	compare(t, seen{Calls: []string{`get_weather({"city": "Paris"})`}, Finish: chat.FinishCalls}, s)
	if len(f.requests[0].Tools) != 1 || len(f.requests[1].Tools) != 0 || !support.Refused("m") {
		t.Error("the second request is not in text")
	}
	collect(t, b.Stream(t.Context(), ask(weather)))
	if len(f.requests) != 3 || len(f.requests[2].Tools) != 0 {
		t.Error("the refusal is not remembered")
	}

	f = &fake{t: t, answers: []answer{{text("Hel")}}, errs: []error{unsupported}}
	if s := collect(t, bridge.New(f, bridge.Options{}).Stream(t.Context(), ask(weather))); s.Err == "" ||
		s.Content != "Hel" {
		t.Errorf("an error after the first text is no refusal: %+v", s)
	}
}

// TestSetInText: the tools of a set are told, and their calls read, however late a model turns out to take no tools.
func TestSetInText(t *testing.T) {
	set := chat.Tool{Name: "set", Raw: []byte(`{"type":"set"}`), Protocol: chat.ProtocolAnthropic,
		Hosted: chat.HostedRequired, Members: []chat.Tool{weather}}
	server := bridge.Server{Protocol: chat.ProtocolAnthropic, Support: new(bridge.Support)}
	unsupported := &chat.Error{Kind: chat.ErrBadRequest, Code: chat.CodeToolsUnsupported}
	f := &fake{t: t, answers: []answer{{}, {text(textCall)}, {text(textCall)}}, errs: []error{unsupported}}
	b := bridge.New(f, bridge.Options{Server: server})
	for range 2 { // the second time it is known before
		compare(t, seen{Calls: []string{`get_weather({"city": "Paris"})`}, Finish: chat.FinishCalls},
			collect(t, b.Stream(t.Context(), ask(set))))
	}
}

func TestErrors(t *testing.T) {
	down := &chat.Error{Kind: chat.ErrUnavailable, Message: "down"}
	f := &fake{t: t, answers: []answer{{text("Hello <tool_c")}}, errs: []error{down}}
	s := collect(t, bridge.New(f, bridge.Options{Mode: bridge.ModeText}).Stream(t.Context(), ask(weather)))
	if s.Content != "Hello <tool_c" || s.Err != down.Error() {
		t.Errorf("%+v", s)
	}
	for _, req := range []*chat.Request{
		ask(chat.Tool{Name: "x", Parameters: []byte(`{"type":"strin"}`)}),
		with(ask(weather), func(r *chat.Request) { r.Choice = chat.Choice{Mode: chat.ChoiceNamed, Name: "nope"} }),
	} {
		f := &fake{t: t}
		for _, err := range bridge.New(f, bridge.Options{Mode: bridge.ModeText}).Stream(t.Context(), req) {
			if !errors.Is(err, chat.ErrBadRequest) {
				t.Errorf("error is %v", err)
			}
		}
	}
}

// TestBreak ends the request to the model when whoever reads goes away.
func TestBreak(t *testing.T) {
	f := &fake{t: t, answers: []answer{{text("a"), text("b"), text("c")}}}
	for e := range bridge.New(f, bridge.Options{Mode: bridge.ModeText}).Stream(t.Context(), streamed(ask(weather))) {
		if e.Kind == chat.KindText {
			break
		}
	}
	if f.stopped != 1 {
		t.Error("the model was read to its end")
	}
}

func TestIDs(t *testing.T) {
	req := ask(weather)
	req.Messages = append(req.Messages,
		chat.Message{Role: chat.RoleAssistant, Calls: []chat.Call{{ID: "c1", Name: "get_weather", Arguments: "{}"}}},
		chat.Message{Role: chat.RoleTool, CallID: "c1"})
	paris := `{"city":"Paris"}`
	s, _ := play(t, bridge.Options{Mode: bridge.ModeNative}, req,
		join(function("c1", "get_weather", paris), function("c2", "get_weather", paris),
			function("c2", "get_weather", paris), function("", "get_weather", paris), answer{text("\n" + textCall)}))
	used := map[string]bool{"c1": true, "call_0": true, "call_4": true}
	for i, id := range s.IDs {
		if used[id] || id == "" || i != 1 && !strings.HasPrefix(id, "call_") {
			t.Errorf("ids %q", s.IDs)
		}
		used[id] = true
	}
	if len(s.IDs) != 5 || s.IDs[1] != "c2" {
		t.Errorf("ids %q", s.IDs)
	}
}

func TestUsage(t *testing.T) {
	s, _ := play(t, bridge.Options{Mode: bridge.ModeText}, ask(weather),
		answer{text("<tool_call>{\"name\":\"x\",\"arguments\":{}}</tool_call>"), usage(10, 2)},
		answer{text(textCall), usage(20, 3)})
	if want := (chat.Usage{Known: true, In: 30, Out: 5, Requests: 2}); s.Usage != want {
		t.Errorf("usage %+v", s.Usage)
	}
}

// TestRelease looks at when arguments go out.
func TestRelease(t *testing.T) {
	long := `{"city":"` + strings.Repeat("x", 3000) + `"`
	for _, tc := range []struct {
		release bridge.Release
		deltas  []string
		want    int // deltas that the client gets before the call ends
		invalid bool
	}{
		{bridge.ReleaseAuto, []string{`{"city"`, `:"x"`}, 0, false},
		// the first of them joined
		{bridge.ReleaseAuto, []string{long[:500], long[500:800], long[800:1500], long[1500:]}, 2, false},
		{bridge.ReleaseChecked, []string{long[:500], long[500:1500], long[1500:]}, 0, false},
		{bridge.ReleaseEager, []string{`{"city"`, `:"x"`}, 2, false},
	} {
		var a answer
		a = append(a, chat.Event{Kind: chat.KindCallStart, Origin: chat.OriginFunction, Name: "get_weather"})
		for _, d := range tc.deltas {
			a = append(a, chat.Event{Kind: chat.KindCallArgs, Origin: chat.OriginFunction, Text: d})
		}
		mark := chat.Event{Kind: chat.KindIdle}
		a = append(a, mark, chat.Event{Kind: chat.KindCallArgs, Origin: chat.OriginFunction, Text: "}"},
			chat.Event{Kind: chat.KindCallEnd, Origin: chat.OriginFunction,
				Detail: &chat.Call{Name: "get_weather", Arguments: strings.Join(tc.deltas, "") + "}", Complete: true}})
		f := &fake{t: t, answers: []answer{a}}
		n := 0
		for e := range bridge.New(f, bridge.Options{Mode: bridge.ModeNative, Release: tc.release}).Stream(t.Context(),
			streamed(ask(weather))) {
			if e.Kind == chat.KindIdle {
				break
			}
			if e.Kind == chat.KindCallArgs {
				n++
			}
		}
		if n != tc.want {
			t.Errorf("%s: %d deltas before the end, want %d", tc.release, n, tc.want)
		}
	}

	s, _ := play(t, bridge.Options{Mode: bridge.ModeNative, Release: bridge.ReleaseEager}, ask(weather),
		function("", "get_weather", `{"city":"a"}`))
	compare(t, seen{Calls: []string{`get_weather({"city":"a"})`}, Finish: chat.FinishCalls}, s)

	// An eager call that turns out invalid goes to the client as written; a broken one is closed as no call.
	s, _ = play(t, bridge.Options{Mode: bridge.ModeNative, Release: bridge.ReleaseEager}, ask(weather),
		function("", "get_weather", `{"days":`, `1}`))
	compare(t, seen{Calls: []string{`get_weather({"days":1})`}, Finish: chat.FinishCalls}, s)
	s, _ = play(t, bridge.Options{Mode: bridge.ModeNative, Release: bridge.ReleaseEager}, ask(weather),
		function("", "get_weather", `{"days":`, `x`))
	compare(t, seen{Content: `{"days":x`, Rejected: []string{"malformed get_weather"}, Finish: chat.FinishStop}, s)
}

// TestA20 looks at what the client has when the model is in the middle of its text and of a call.
func TestA20(t *testing.T) {
	var got strings.Builder
	content := strings.Repeat("line of a file\\n", 1000)
	pieces := append(every("Let me write that.\n", 4),
		every("<tool_call>\n{\"name\":\"write\",\"arguments\":{\"content\":\""+content+"\"}}\n</tool_call>", 16)...)
	f := &fake{t: t}
	f.answers = []answer{{}}
	sent, behind := 0, 0
	for _, p := range pieces {
		f.answers[0] = append(f.answers[0], text(p), chat.Event{Kind: chat.KindIdle})
	}
	write := chat.Tool{Name: "write",
		Parameters: []byte(`{"type":"object","properties":{"content":{"type":"string"}}}`)}
	for e := range bridge.New(f, bridge.Options{Mode: bridge.ModeText}).Stream(t.Context(), streamed(ask(write))) {
		switch e.Kind {
		case chat.KindText, chat.KindCallArgs:
			got.WriteString(e.Text)
		case chat.KindIdle:
			behind = max(behind, len(strings.Join(pieces[:sent+1], ""))-got.Len())
			if sent++; sent < 4 && behind > 4 {
				t.Fatalf("after %d bytes of text the client is %d behind", sent*4, behind)
			}
		}
	}
	if want := `Let me write that.{"content":"` + content + `"}`; got.String() != want {
		t.Errorf("the client has %d bytes of %d", got.Len(), len(want))
	}
	if behind > 1<<10+128 {
		t.Errorf("the client was %d bytes behind", behind)
	}
}

// TestEcho looks at what is shown of a second answer that repeats the first.
func TestEcho(t *testing.T) {
	for _, tc := range []struct{ first, second, want string }{
		{"Let me look.", "Let me look.", "Let me look."},
		{"Let me look.", "Let me look.\n\n", "Let me look."},
		{"Let me look.", "Let  me", "Let me look."},
		{"Let me look.", "Let me look. Here it is: ", "Let me look. Here it is: "},
		{"Let me look.", "Let me see.", "Let me look.\n\nLet me see."},
		{"Let me look.\n", "Let me see.", "Let me look.\nLet me see."},
		{"Let me look.", " Let me see.", "Let me look. Let me see."},
		{"", "Sure.", "Sure."},
	} {
		for _, cut := range []func(string) []string{nil, chunkings()["bytes"]} {
			f := &fake{t: t, cut: cut, answers: []answer{
				join(answer{text(tc.first)}, native("", "get_weather", "{}", "")),
				join(answer{text(tc.second)}, function("", "web", "{}"))}}
			f.answers[1] = answer{
				text(tc.second +
					"<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Paris\"}}</tool_call>")}
			s := collect(t, bridge.New(f, bridge.Options{Mode: bridge.ModeText}).Stream(t.Context(),
				streamed(ask(weather))))
			if s.Content != tc.want || len(s.Calls) != 1 {
				t.Errorf("%q then %q shows %q, %v", tc.first, tc.second, s.Content, s.Calls)
			}
		}
	}
}

// TestA14: a call of a tool that the backend runs itself passes, whether anybody has heard of it or not, and is no
// reason to ask again, not even where the request has no tools of its own.
func TestA14(t *testing.T) {
	for _, name := range []string{"generate_image", "describe_image", "edit_image", "web_search"} {
		for _, tools := range [][]chat.Tool{{weather}, nil} {
			first := join(native("n1", name, `{"prompt":"a lamp"}`, `{"ok":true}`), answer{text("Here it is.")})
			s, _ := play(t, bridge.Options{Mode: bridge.ModeText}, ask(tools...), first)
			if s.Content != "Here it is." || !cmp.Equal(s.Natives, []string{name + `({"prompt":"a lamp"})`}) ||
				len(s.Bounces) > 0 || len(s.Calls) > 0 {
				t.Errorf("%s with %d tools: %+v", name, len(tools), s)
			}
		}
	}
}

// TestA15: the correction needs no service around it. The options of a Bridge are all there is, and their text is used.
func TestA15(t *testing.T) {
	confused := join(native("n1", "get_weather", `{"city":"Paris"}`, `{"error":true}`), answer{text(apology)})
	o := bridge.Options{Mode: bridge.ModeText, Prompt: prompt.Options{ForToolBounce: "Write it: {toolCall} Thanks."}}
	s, _ := play(t, o, ask(weather), confused, answer{text(textCall)})
	if want := "Write it: {\n  \"name\": \"get_weather\",\n  \"arguments\": {\n    \"city\": \"Paris\"\n  }\n} Thanks."; len(s.Bounces) != 1 || s.Bounces[0] != want {
		t.Errorf("the model is told %q", s.Bounces)
	}
	if len(s.Calls) != 1 || s.Content != "" {
		t.Errorf("%+v", s)
	}
}

// TestGluedConfused: of calls that are glued together every one counts.
func TestGluedConfused(t *testing.T) {
	first := join(native("n1", "get_weather", `{"city":"Paris"}{"city":"Rome"}{"city":"Paris"}`,
		`{"error":true}{"error":true}`), answer{text(apology)})
	s, _ := play(t, bridge.Options{Mode: bridge.ModeText, Bounce: bridge.BounceOptions{Off: true}}, ask(weather), first)
	if want := []string{`get_weather({"city":"Paris"})`, `get_weather({"city":"Rome"})`}; !cmp.Equal(want, s.Calls) ||
		s.Content != "" || s.converted != 2 {
		t.Errorf("%+v", s)
	}
	names := function("c1", "get_weatherGetLiveContext", `{"city":"Paris"}{}`)
	s, _ = play(t, bridge.Options{Mode: bridge.ModeText, Bounce: bridge.BounceOptions{Off: true}}, ask(weather, live),
		join(names, answer{text(apology)}))
	if want := []string{`get_weather({"city":"Paris"})`, `GetLiveContext({})`}; !cmp.Equal(want, s.Calls) {
		t.Errorf("glued names: %+v", s)
	}
}

// TestAR12: a correction repeats the answer that failed, and instructions that go in front of the last message of the
// user go in front of the correction.
func TestAR12(t *testing.T) {
	confused := join(answer{text("One moment. ")}, native("n1", "get_weather", `{"city":"Paris"}`, `{"error":true}`),
		answer{text(apology)})
	for _, where := range []prompt.Inject{prompt.InjectSystem, prompt.InjectFirst, prompt.InjectLast} {
		o := bridge.Options{Mode: bridge.ModeText, Prompt: prompt.Options{InjectInto: where},
			Bounce: bridge.BounceOptions{Max: 2}}
		req := ask(weather)
		req.Messages = append(req.Messages, chat.Message{Role: chat.RoleAssistant, Parts: chat.Text("yes?")},
			chat.Message{Role: chat.RoleUser, Parts: chat.Text("weather")})
		_, f := play(t, o, req, confused, confused, answer{text(textCall)})
		for i, sent := range f.requests {
			var held []int
			for j := range sent.Messages {
				if strings.Contains(sent.Messages[j].Text(), "CUSTOM TOOL PROTOCOL") {
					held = append(held, j)
				}
			}
			want := map[prompt.Inject]int{prompt.InjectSystem: 0, prompt.InjectFirst: 0,
				prompt.InjectLast: len(sent.Messages) - 1}[where]
			if !cmp.Equal(held, []int{want}) {
				t.Errorf("%s, request %d: the instructions stand in the messages %v, want %d", where, i, held, want)
			}
			if n := len(sent.Messages); i > 0 &&
				(sent.Messages[n-2].Role != chat.RoleAssistant || sent.Messages[n-2].Text() != "One moment. "+apology ||
					!strings.Contains(lastOf(sent), "built-in tool system")) {
				t.Errorf("%s, request %d ends with %+v", where, i, sent.Messages[n-2:])
			}
			if want := 3 + 2*i; where != prompt.InjectSystem && len(sent.Messages) != want {
				t.Errorf("%s, request %d has %d messages, want %d", where, i, len(sent.Messages), want)
			}
		}
	}
}

// TestCallBetween has a server report a call between two texts, right after one that ended a broken call: what is read
// of the text behind it must not depend on how the text before was cut.
func TestCallBetween(t *testing.T) {
	broken := `<tool_call>{"name":"get_weather","arguments":{"city":"` + strings.Repeat("long ", 300) +
		`",}]}</tool_call>`
	a := append(append(answer{text(broken)}, function("c1", "elsewhere", `{}`)...), text(textCall))
	for _, n := range []int{1, 2, 3, 7, len(broken)} {
		cut := func(s string) (list []string) {
			for part := range slices.Chunk([]byte(s), n) {
				list = append(list, string(part))
			}
			return list
		}
		got := collect(t, bridge.New(&fake{t: t, answers: []answer{a}, cut: cut},
			bridge.Options{Mode: bridge.ModeText, Release: "eager"}).Stream(t.Context(), ask(weather)))
		if len(got.Calls) != 1 || len(got.Natives) != 1 || len(got.Rejected) != 1 {
			t.Errorf("in pieces of %d: calls %q, of the server %q, rejected %q", n, got.Calls, got.Natives,
				got.Rejected)
		}
	}
}
