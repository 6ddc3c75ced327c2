package script_test

import (
	"context"
	"strings"
	"testing"

	"wield/bridge"
	"wield/chat"
	"wield/dialect"
	"wield/internal/script"
)

// drive runs a scenario against itself behind a bridge.
func drive(t *testing.T, s *script.Scenario, prefix string) *script.DriveOutcome {
	t.Helper()
	m := script.New(s, script.Options{Speed: -1})
	o := bridge.Options{Mode: bridge.ModeText, Decode: dialect.Options{Prefix: prefix}}
	if s.NativeTools {
		o.Mode = bridge.ModeNative
	}
	if s.Client != nil {
		o.Decode.Dialect = s.Client.Dialect
	}
	out, err := script.Drive(context.Background(), bridge.New(m, o), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	out.Requests = len(m.Player().Journal())
	return out
}

// Every scenario of the catalogue loads, has nothing to complain of, expects something, and does what it expects.
func TestCatalogue(t *testing.T) {
	cat := script.Catalogue("")
	names, err := script.CatalogueNames(cat)
	if err != nil {
		t.Fatal(err)
	}
	for _, must := range []string{"demo", "success", "error", "timeout", "rejected", "toolCall", "confusedToolCall",
		"weeklyLimit", "cycle"} {
		if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+must+" ") {
			t.Errorf("%s is missing", must)
		}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			s, err := script.LoadFS(cat, name+script.Suffix)
			if err != nil {
				t.Fatal(err)
			}
			if s.Name != name || s.Summary == "" {
				t.Errorf("name %s, summary %q", s.Name, s.Summary)
			}
			for _, f := range script.Lint(s) {
				t.Error(f)
			}
			if s.Expect == nil {
				t.Fatal("it expects nothing")
			}
			for _, err := range s.Expect.Check(drive(t, s, "")) {
				t.Error(err)
			}
		})
	}
}

// A prefix on the names of tools, as services with tools of their own need it, reaches the confused call's second try.
func TestConfusedWithPrefix(t *testing.T) {
	s, err := script.LoadFS(script.Catalogue(""), "confusedToolCall"+script.Suffix)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range s.Expect.Check(drive(t, s, "user:")) {
		t.Error(err)
	}
}

// The demo model calls for any city and answers with whatever the tool gave.
func TestDemo(t *testing.T) {
	s, err := script.LoadFS(script.Catalogue(""), "demo"+script.Suffix)
	if err != nil {
		t.Fatal(err)
	}
	schema := `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`
	byLocation := strings.ReplaceAll(schema, "city", "location")
	for _, c := range []struct{ ask, parameters, want string }{
		{"What's the weather in Paris?", schema, `{"city": "Paris"}`},
		{"what is the weather like in New York?", schema, `{"city": "New York"}`},
		{"What's the weather in São Paulo?", schema, `{"city": "São Paulo"}`},
		{"What's the weather in 東京?", schema, `{"city": "東京"}`},
		{"What's the weather in L'Aquila?", schema, `{"city": "L'Aquila"}`},
		{"Weather in St. Louis", schema, `{"city": "St. Louis"}`},
		{"Tell me the weather for Zürich, please!", schema, `{"city": "Zürich"}`},
		{"How will the weather be tomorrow in Rio de Janeiro?", schema, `{"city": "Rio de Janeiro"}`},
		{"What's the weather in Oslo today? Use the tool.", schema, `{"city": "Oslo"}`},
		{"Hello.\nWhat's the weather in Saint-Étienne\nBye", schema, `{"city": "Saint-Étienne"}`},
		{`What's the weather in "Quote"?`, schema, `{"city": "\"Quote\""}`},
		{"What's the weather in Paris?", byLocation, `{"location": "Paris"}`},
		{"What's the weather in Paris?", "", `{"city": "Paris"}`},
	} {
		t.Run(c.ask, func(t *testing.T) {
			for _, mode := range []bridge.Mode{bridge.ModeText, bridge.ModeNative} {
				demoRound(t, bridge.New(script.New(s, script.Options{}), bridge.Options{Mode: mode}), c.ask,
					c.parameters, c.want)
			}
		})
	}
	m := script.New(s, script.Options{})
	for _, ask := range []string{"What's the weather in Paris?", "Hello", ""} {
		if got := say(t, m, user(ask)); len(got) < 20 || strings.Contains(got, "```") {
			t.Errorf("without tools, %q: %q", ask, got)
		}
	}
}

// demoRound asks, and gives the result of the call.
func demoRound(t *testing.T, front chat.Model, ask, parameters, want string) {
	t.Helper()
	tools := []chat.Tool{{Name: "get_weather", Description: "The weather.", Parameters: []byte(parameters)}}
	req := &chat.Request{Model: "demo", Tools: tools, Messages: []chat.Message{user(ask)}}
	events, err := collect(front, req)
	if err != nil {
		t.Fatal(err)
	}
	var call *chat.Call
	for _, e := range events {
		if e.Kind == chat.KindCallEnd {
			call = e.Detail.(*chat.Call)
		}
	}
	if call == nil || call.Arguments != want || !strings.HasPrefix(texts(events), "I'll") {
		t.Fatalf("call %+v after %q", call, texts(events))
	}
	const result = "mackerel sky, 17°"
	req.Messages = append(req.Messages, assistant("I'll check the weather for you.", *call),
		chat.Message{Role: chat.RoleTool, CallID: call.ID, Parts: chat.Text(result)})
	events, err = collect(front, req)
	if err != nil || !strings.Contains(strings.ReplaceAll(texts(events), "|", ""), result) {
		t.Errorf("answer %q, %v", texts(events), err)
	}
}

// A scenario that says nothing of its client is driven by what its turns ask for.
func TestDerivedClient(t *testing.T) {
	s := mustParse(t, `
wield: scenario/v1
name: weather-confused-call
seed: 7
backend: {speaks: lumo, native_tools: false}
defaults: {chunk: 6, ttft: 150ms, tps: 60, jitter: 10%}
turns:
  - id: first
    when: {user: "/weather in (?<city>\\w+)/i", turn: 0}
    reply:
      - think: "Need the tool."
      - text: "Let me check.\n"
      - target: {tool_call: '{"name":"get_weather","arguments":{}}'}
      - target: {tool_result: '{"error":true}'}
      - text: "I don't have access to that."
      - pause: 2s
    usage: {in: 40, out: 12}
  - id: bounced
    when: {user_contains: "built-in tool system"}
    reply: [{fence: json, call: {name: get_weather, args: {city: "${city}"}}}]
  - id: answer
    when: {last: tool, tool: get_weather, result_contains: "18"}
    reply: [{text: "It is ${result.temp} degrees in ${city}."}]
  - id: anything
    when: {}
    reply: [{echo: user}]
expect:
  calls: [{name: get_weather, args: {city: Paris}}]
  events_include: [bounced]
  final: "/18 degrees in Paris/"
  max_turns: 3
  client_never_sees: "I don't have access"
`)
	for _, err := range s.Expect.Check(drive(t, s, "")) {
		t.Error(err)
	}
}

// Each expectation can fail.
func TestExpectFails(t *testing.T) {
	const scenario = head + `
backend: {native_tools: true}
turns:
  - {id: call, when: {last: user}, reply: [{text: "shown "}, {call: {name: f, args: {a: 1, b: [x, 1.0]}}}, {call: {name: g}}]}
  - {id: answer, when: {}, reply: [{text: "the end"}]}
client: {user: go, tools: [f, g], results: {f: "1", g: "2"}}
expect: `
	for _, c := range []struct{ expect, want string }{
		{`{calls: [{name: f, args: {a: 1.0, b: ["/^x$/", 1]}}, {name: g, args: {}}], final: the end, max_turns: 2, events_include: [call_end, finished], client_never_sees: nothing}`, ""},
		{`{calls: [{name: g}], calls_subset: true}`, ""},
		{`{calls: [{name: f}]}`, "a call too many: g"},
		{`{calls: [{name: f}, {name: f}]}`, "call 2: the tool is g, not f"},
		{`{calls: [{name: g}, {name: f}], calls_subset: true}`, "call 2, of f, is missing"},
		{`{calls: [{name: f}, {name: g}, {name: h}]}`, "call 3, of h, is missing"},
		{`{calls: [{name: f, args: {a: 2, b: [x, 1]}}, {name: g}]}`,
			`the arguments of f are {"a": 1, "b": ["x", 1.0]}`},
		{`{calls: [{name: f, args: {a: 1}}, {name: g}]}`, "the arguments of f are"},
		{`{calls: []}`, "a call too many: f"},
		{`{events_include: [bounced]}`, "no event bounced; there were"},
		{`{final: the}`, `"the end" is not the`},
		{`{final: /^end/}`, `is not /^end/`},
		{`{max_turns: 1}`, "2 requests reached the backend"},
		{`{client_never_sees: [nothing, shown]}`, "the client saw shown"},
		{`{client_never_sees: /sho.n/}`, "the client saw /sho.n/"},
	} {
		t.Run(c.expect, func(t *testing.T) {
			s := mustParse(t, scenario+c.expect+"\n")
			var all []string
			for _, err := range s.Expect.Check(drive(t, s, "")) {
				all = append(all, err.Error())
			}
			got := strings.Join(all, "; ")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestLint(t *testing.T) {
	s := mustParse(t, head+`
turns:
  - {id: a, when: {user: "/(?<city>.*)/", last: user}, reply: [{text: "${city} ${result.x} ${turn}"}]}
  - {id: b, when: {user: "/(?<city>.*)/", last: user, turn: 3}, reply: [{text: "${town}"}]}
  - {id: c, when: {}, reply: [{target: {message: x}}, {call: {name: "${city.x}"}}]}
  - {id: d, when: {last: tool}, need_state: never, reply: []}
`)
	var got []string
	for _, f := range script.Lint(s) {
		got = append(got, f.String())
	}
	want := []string{
		"t.scenario.yaml:6:5: turn b is never reached: turn a before it matches whatever it matches",
		"t.scenario.yaml:8:5: turn d is never reached: turn c before it",
		"t.scenario.yaml:6:73: ${town} is defined by no group",
		"t.scenario.yaml:7:31: target items need speaks: lumo, but this scenario speaks openai",
		"t.scenario.yaml:7:55: ${city.x}: only result has paths",
		`turn d needs the state "never", which no turn sets`,
	}
	for _, w := range want {
		found := false
		for _, g := range got {
			found = found || strings.Contains(g, w)
		}
		if !found {
			t.Errorf("missing: %s\ngot: %s", w, strings.Join(got, "\n     "))
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %d findings: %s", len(got), strings.Join(got, "\n"))
	}
}
