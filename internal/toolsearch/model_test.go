package toolsearch

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"wield/bridge"
	"wield/chat"
	"wield/dialect"
)

// A backend answers one request after another with texts, and keeps what it was asked.
type backend struct {
	answers []string
	asked   []*chat.Request
}

func (b *backend) Stream(_ context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		text := b.answers[min(len(b.asked), len(b.answers)-1)]
		b.asked = append(b.asked, req)
		for _, e := range []chat.Event{
			{Kind: chat.KindText, Text: text},
			{Kind: chat.KindUsage, Detail: &chat.Usage{Known: true, In: 10, Out: 5, Requests: 1}},
			{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}},
		} {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// many returns tools of services of which one tells the weather.
func many(n int) []chat.Tool {
	tools := []chat.Tool{{Name: "meteo__forecast", Description: "Tells the weather of the next days in a city.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}}
	for i := range n - 1 {
		tools = append(tools, chat.Tool{Name: fmt.Sprintf("service%d__list_%d", i%7, i),
			Description: fmt.Sprintf("Lists the records of register %d.", i),
			Parameters:  json.RawMessage(`{"type":"object","properties":{"limit":{"type":"integer"}}}`)})
	}
	return tools
}

// An answer is the answer that a client gets.
type answer struct {
	text, calls, natives string
	finish               chat.Finish
	usage                chat.Usage
}

func collect(t *testing.T, stream iter.Seq2[chat.Event, error]) (a answer) {
	t.Helper()
	open := -1
	for e, err := range stream {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Kind {
		case chat.KindText:
			a.text += e.Text
		case chat.KindCallStart:
			open = e.Index
		case chat.KindCallEnd:
			if e.Index != open || e.Detail.(*chat.Call).Index != open {
				t.Errorf("a call with the number %d ends as %d", open, e.Index)
			}
			a.calls += fmt.Sprintf("%d %s(%s) ", e.Index, e.Name, e.Detail.(*chat.Call).Arguments)
		case chat.KindNativeCall:
			a.natives += e.Name + e.Text
		case chat.KindUsage:
			a.usage.Add(*e.Detail.(*chat.Usage))
		case chat.KindFinish:
			a.finish = *e.Detail.(*chat.Finish)
		}
	}
	return a
}

func call(name, arguments string) string {
	return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + arguments + "}\n</tool_call>"
}

// TestSearch: a model that only writes text finds a tool among many and calls it. Its client sees the call alone.
func TestSearch(t *testing.T) {
	b := &backend{answers: []string{"I look.\n" + call("search_tools", `{"query": "weather forecast"}`),
		call("meteo__forecast", `{"city": "Ghent"}`), "It rains."}}
	m := New(bridge.New(b, bridge.Options{Mode: bridge.ModeText, Decode: dialect.Options{Dialect: "hermes"}}),
		Options{Above: 20})
	req := &chat.Request{Model: "m", Tools: many(500),
		Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("Rain in Ghent?")}}}
	got := collect(t, m.Stream(t.Context(), req))
	if got.calls != `0 meteo__forecast({"city": "Ghent"}) ` || strings.TrimSpace(got.text) != "I look." ||
		got.finish.Reason != chat.FinishCalls {
		t.Errorf("the client sees %+v", got)
	}
	if got.natives != `search_tools{"query": "weather forecast"}` || got.usage.Requests != 2 {
		t.Errorf("the search is told as %q, and %d requests", got.natives, got.usage.Requests)
	}
	if len(req.Tools) != 500 || len(req.Messages) != 1 {
		t.Error("the request was changed")
	}

	// The whole of the first prompt stands at the front of the second.
	first, second := prompt(b.asked[0]), prompt(b.asked[1])
	if !strings.HasPrefix(second, first) {
		t.Errorf("the second prompt does not begin with the first:\n%s\n---\n%s", first, second)
	}
	all := &backend{answers: []string{"no"}}
	collect(t,
		bridge.New(all, bridge.Options{Mode: bridge.ModeText, Decode: dialect.Options{Dialect: "hermes"}}).Stream(
			t.Context(), req))
	if share := float64(len(second)) / float64(len(prompt(all.asked[0]))); share > 0.05 {
		t.Errorf("the prompt is %.1f %% of that with all tools", 100*share)
	}

	// The tool that was called is described in the requests that follow.
	req.Messages = append(req.Messages,
		chat.Message{Role: chat.RoleAssistant,
			Calls: []chat.Call{{ID: "c1", Name: "meteo__forecast", Arguments: `{"city": "Ghent"}`, Complete: true}}},
		chat.Message{Role: chat.RoleTool, CallID: "c1", Parts: chat.Text("rain")})
	if got := collect(t, m.Stream(t.Context(), req)); got.text != "It rains." || got.finish.Reason != chat.FinishStop {
		t.Errorf("then the client sees %+v", got)
	}
	if last := prompt(b.asked[2]); !strings.HasPrefix(last, first) ||
		!strings.Contains(last, "weather of the next days") {
		t.Errorf("the last prompt is\n%s", last)
	}
}

func prompt(req *chat.Request) string {
	var b strings.Builder
	for i := range req.Messages {
		fmt.Fprintf(&b, "[%s] %s\n", req.Messages[i].Role, req.Messages[i].Text())
	}
	return b.String()
}

// TestNative: a backend with function calling is offered the search tool and what was found, at the end.
func TestNative(t *testing.T) {
	b := &backend{answers: []string{"no"}}
	m := New(b, Options{Above: 20})
	tools := many(30)
	req := &chat.Request{Tools: tools, Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("Rain?")},
		{Role: chat.RoleAssistant,
			Calls: []chat.Call{{ID: "c1", Name: "meteo__forecast", Arguments: "{}", Complete: true}}},
		{Role: chat.RoleTool, CallID: "c1", Parts: chat.Text("rain")}}}
	collect(t, m.Stream(t.Context(), req))
	var names []string
	for _, tool := range shown(b.asked[0]) {
		names = append(names, tool.Name)
	}
	if !slices.Equal(names, []string{"search_tools", "meteo__forecast"}) {
		t.Errorf("the backend is offered %v", names)
	}
	about := b.asked[0].Tools[0].Description
	if !strings.Contains(about, "30 more tools") || !strings.Contains(about, "service0 (5)") ||
		!strings.Contains(about, "meteo (1)") {
		t.Errorf("the search tool is described as %q", about)
	}
}

// shown returns the tools that the model is shown.
func shown(req *chat.Request) []chat.Tool {
	return slices.DeleteFunc(slices.Clone(req.Tools), func(t chat.Tool) bool { return t.Hidden })
}

// TestUnsearched: a call of a tool that the client offers counts, also if the model has not found it first; whatever it
// looks like, and whatever the search found. Its arguments are checked like any others.
func TestUnsearched(t *testing.T) {
	fence := func(name, arguments string) string {
		return "```json\n{\"name\": \"" + name + "\", \"arguments\": " + arguments + "}\n```"
	}
	own := chat.Tool{Name: searchName, Description: "Finds hammers.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"size":{"type":"integer"}},"required":["size"]}`)}
	for name, tt := range map[string]struct {
		answers []string
		calls   string
		asked   int
	}{
		"a tag": {[]string{call("service1__list_1", `{"limit": 3}`)}, `0 service1__list_1({"limit": 3}) `,
			1},
		"a fence": {[]string{fence("service1__list_1", `{"limit": 3}`)}, `0 service1__list_1({"limit": 3}) `,
			1},
		"another was found": {[]string{call("search_tools_", `{"query": "weather"}`), fence("service1__list_1", "{}")},
			"0 service1__list_1({}) ", 2},
		"wrong arguments": {[]string{call("meteo__forecast", "{}"), call("meteo__forecast", `{"city": "Ghent"}`)},
			`0 meteo__forecast({"city": "Ghent"}) `, 2},
		"the client's own": {[]string{call(searchName, `{"size": 2}`)}, `0 search_tools({"size": 2}) `, 1},
	} {
		for _, mode := range []bridge.Mode{bridge.ModeText, bridge.ModeNative} {
			b := &backend{answers: tt.answers}
			m := New(bridge.New(b, bridge.Options{Mode: mode}), Options{Above: 20})
			got := collect(t, m.Stream(t.Context(), &chat.Request{Model: "m", Tools: append(many(50), own),
				Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("Rain?")}}}))
			if got.calls != tt.calls || got.finish.Reason != chat.FinishCalls || len(b.asked) != tt.asked {
				t.Errorf("%s, %s: after %d requests the client sees %+v", name, mode, len(b.asked), got)
			}
			if n := len(b.asked[0].Tools); mode == bridge.ModeNative && n != 1 {
				t.Errorf("%s: the server is first sent %d tools", name, n)
			}
		}
	}
}

// TestWhole: which requests are left alone.
func TestWhole(t *testing.T) {
	search := chat.Tool{Name: "tool_search", Hosted: chat.HostedOptional, Protocol: chat.ProtocolAnthropic,
		Raw: json.RawMessage(`{"type":"tool_search_tool_bm25_20251119"}`)}
	later := many(3)
	later[2].Opaque = []chat.Extra{{Protocol: chat.ProtocolAnthropic, Key: "defer_loading",
		Value: json.RawMessage("true")}}
	for name, tt := range map[string]struct {
		req  chat.Request
		o    Options
		want int // tools that the model is offered
	}{
		"few":        {chat.Request{Tools: many(20)}, Options{Above: 20}, 20},
		"not wanted": {chat.Request{Tools: many(50)}, Options{}, 50},
		"named": {chat.Request{Tools: many(50),
			Choice: chat.Choice{Mode: chat.ChoiceNamed, Name: "meteo__forecast"}}, Options{Above: 20}, 50},
		"some allowed": {chat.Request{Tools: many(50),
			Choice: chat.Choice{Allowed: []string{"meteo__forecast"}}}, Options{Above: 20}, 50},
		"many":                   {chat.Request{Tools: many(50)}, Options{Above: 20}, 1},
		"deferred by the client": {chat.Request{Tools: append(slices.Clone(later), search)}, Options{}, 3},
		"a server that searches": {chat.Request{Tools: append(slices.Clone(later), search)},
			Options{Protocol: chat.ProtocolAnthropic}, 4},
		"deferred, but nothing to ask": {chat.Request{Tools: later}, Options{}, 3},
	} {
		b := &backend{answers: []string{"no"}}
		collect(t, New(b, tt.o).Stream(t.Context(), &tt.req))
		if got := len(shown(b.asked[0])); got != tt.want {
			t.Errorf("%s: the model is offered %d tools, not %d", name, got, tt.want)
		}
	}
}

// TestEndless: a model that does nothing but search is stopped.
func TestEndless(t *testing.T) {
	b := &backend{answers: []string{call("search_tools", `{"query": "weather"}`)}}
	m := New(bridge.New(b, bridge.Options{Mode: bridge.ModeText, Decode: dialect.Options{Dialect: "hermes"}}),
		Options{Above: 2})
	got := collect(t,
		m.Stream(t.Context(),
			&chat.Request{Model: "m", Tools: many(9),
				Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("Rain?")}}}))
	if len(b.asked) != maxSearches+1 || got.finish.Reason != chat.FinishStop || got.calls != "" {
		t.Errorf("after %d requests the client sees %+v", len(b.asked), got)
	}
}

// A teller is a model that tells what it would be sent.
type teller struct{ chat.Model }

func (teller) Sent(req *chat.Request) (*chat.Request, bool, error) { return req, true, nil }

func TestSent(t *testing.T) {
	req := &chat.Request{Tools: []chat.Tool{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	for above, want := range map[int]int{2: 1, 3: 3} { // the search alone, or all
		tells := New(teller{}, Options{Above: above}).(chat.Previewer)
		sent, inText, err := tells.Sent(req)
		if err != nil || !inText || len(shown(sent)) != want {
			t.Errorf("above %d: %d tools are sent (%v, %v), want %d", above, len(shown(sent)), inText, err, want)
		}
	}
}
