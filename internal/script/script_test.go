package script_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"wield/chat"
	"wield/internal/script"
)

const head = "wield: scenario/v1\nname: t\n"

func mustParse(t *testing.T, text string) *script.Scenario {
	t.Helper()
	s, err := script.Parse("t.scenario.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func request(messages ...chat.Message) *chat.Request {
	return &chat.Request{Model: "m", Messages: messages}
}

func user(text string) chat.Message {
	return chat.Message{Role: chat.RoleUser, Parts: chat.Text(text)}
}

func assistant(text string, calls ...chat.Call) chat.Message {
	return chat.Message{Role: chat.RoleAssistant, Parts: chat.Text(text), Calls: calls}
}

func tool(id, text string) chat.Message {
	return chat.Message{Role: chat.RoleTool, CallID: id, Parts: chat.Text(text)}
}

// collect runs one request and returns its events and its error.
func collect(m chat.Model, req *chat.Request) ([]chat.Event, error) {
	var events []chat.Event
	for e, err := range m.Stream(context.Background(), req) {
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
	return events, nil
}

// texts joins the text events with bars, so that the chunks show.
func texts(events []chat.Event) string {
	var list []string
	for _, e := range events {
		if e.Kind == chat.KindText {
			list = append(list, e.Text)
		}
	}
	return strings.Join(list, "|")
}

// say returns the chunks of the answer to a request, or the error.
func say(t *testing.T, m chat.Model, messages ...chat.Message) string {
	t.Helper()
	events, err := collect(m, request(messages...))
	if err != nil {
		return "error: " + err.Error()
	}
	return texts(events)
}

func model(t *testing.T, text string) *script.Model {
	t.Helper()
	return script.New(mustParse(t, text), script.Options{Speed: -1})
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "t.scenario.yaml: the file is empty"},
		{"not utf-8", "name: \xff", "t.scenario.yaml: the file is not UTF-8"},
		{"syntax", head + "turns: [", "t.scenario.yaml:3:8:"},
		{"two documents", head + "turns: []\n---\na: 1\n", "t.scenario.yaml:5:1: a second document"},
		{"not a mapping", "- 1\n", "t.scenario.yaml:1:1: a scenario must be a mapping, not a list"},
		{"version", "wield: scenario/v2\nname: t\nturns: []\n", `t.scenario.yaml:1:8: wield is "scenario/v2"`},
		{"no version", "name: t\nturns: []\n", "t.scenario.yaml:1:1: the key wield is missing"},
		{"no name", "wield: scenario/v1\nturns: []\n", "t.scenario.yaml:1:1: the key name is missing"},
		{"no turns", head, "t.scenario.yaml:1:1: the key turns is missing"},
		{"bad name", "wield: scenario/v1\nname: a b\nturns: []\n", "t.scenario.yaml:2:7: name must be letters"},
		{"unknown key", head + "turn: []\n",
			`t.scenario.yaml:3:1: unknown key "turn" in a scenario; did you mean "turns"?`},
		{"unknown key in turn", head + "turns:\n  - id: a\n    wen: {}\n",
			`t.scenario.yaml:5:5: unknown key "wen" in a turn; did you mean "when"?`},
		{"unknown condition", head + "turns:\n  - id: a\n    when: {user_contain: x}\n",
			`t.scenario.yaml:5:12: unknown key "user_contain" in when; did you mean "user_contains"?`},
		{"unknown item", head + "turns:\n  - id: a\n    reply: [{txt: x}]\n",
			`t.scenario.yaml:5:14: unknown key "txt" in a reply item; did you mean "text"?`},
		{"two items in one", head + "turns:\n  - id: a\n    reply: [{text: x, think: y}]\n",
			"t.scenario.yaml:5:13: a reply item has one of"},
		{"no id", head + "turns:\n  - when: {}\n", "t.scenario.yaml:4:5: a turn has no id"},
		{"same id", head + "turns:\n  - id: a\n  - id: a\n", `t.scenario.yaml:5:5: the id "a" is used twice`},
		{"expression", head + "turns:\n  - id: a\n    when: {user: \"/(/\"}\n",
			"t.scenario.yaml:5:18: user: error parsing regexp"},
		{"last", head + "turns:\n  - id: a\n    when: {last: toll}\n", `did you mean "tool"?`},
		{"duration", head + "defaults: {ttft: 3}\nturns: []\n",
			`t.scenario.yaml:3:18: ttft must be a duration such as 150ms or 2s, not "3"`},
		{"percent", head + "defaults: {jitter: 300%}\nturns: []\n", "t.scenario.yaml:3:20: jitter must be a part"},
		{"chunk", head + "defaults: {chunk: -1}\nturns: []\n", "t.scenario.yaml:3:19: chunk must be between"},
		{"speaks", head + "backend: {speaks: opnai}\nturns: []\n", `did you mean "openai"?`},
		{"dialect", head + "turns:\n  - id: a\n    reply: [{call: {name: n, as: herms}}]\n",
			`unknown dialect "herms"; did you mean "hermes"?`},
		{"call without name", head + "turns:\n  - id: a\n    reply: [{call: {args: {}}}]\n", "call has no name"},
		{"fence without call", head + "turns:\n  - id: a\n    reply: [{fence: json, text: x}]\n",
			"fence goes with call"},
		{"fence and as", head + "turns:\n  - id: a\n    reply: [{fence: json, call: {name: n, as: hermes}}]\n",
			"exclude each other"},
		{"split of a pause", head + "turns:\n  - id: a\n    reply: [{pause: 1s, split: every}]\n",
			"split goes with text, raw and call"},
		{"bars", head + "turns:\n  - id: a\n    reply: [{raw: abc, split: \"a|d\"}]\n",
			"split without its bars is not the text"},
		{"bar in a capture", head + "turns:\n  - id: a\n    reply: [{text: \"${ab}\", split: \"${a|b}\"}]\n",
			"a bar of split stands inside"},
		{"offsets", head + "turns:\n  - id: a\n    reply: [{raw: abc, split: [2, 1]}]\n", "offsets of split must grow"},
		{"open capture", head + "turns:\n  - id: a\n    reply: [{text: \"${ab\"}]\n", "without a closing brace"},
		{"bad capture", head + "turns:\n  - id: a\n    reply: [{text: \"${a b}\"}]\n", "is no name of a capture"},
		{"target", head + "turns:\n  - id: a\n    reply: [{target: {mesage: x}}]\n",
			`unknown target "mesage"; did you mean "message"?`},
		{"echo", head + "turns:\n  - id: a\n    reply: [{echo: system}]\n", "echo is"},
		{"base64", head + "turns:\n  - id: a\n    reply: [{raw: !!binary \"*\"}]\n", "not base64"},
		{"finish", head + "turns:\n  - id: a\n    finish: stopp\n", `did you mean "stop"?`},
		{"fault on nothing", head + "turns:\n  - id: first\nfaults: [{on: frist, do: drop_done}]\n",
			`t.scenario.yaml:5:10: a fault on "frist", but there is no such turn; did you mean "first"?`},
		{"unknown fault", head + "turns: []\nfaults: [{do: {statsu: 4}}]\n", `did you mean "status"?`},
		{"unknown fault name", head + "turns: []\nfaults: [{do: drop_don}]\n", `did you mean "drop_done"?`},
		{"fault without value", head + "turns: []\nfaults: [{do: status}]\n", "the fault status needs a value"},
		{"fault without do", head + "turns: []\nfaults: [{on: \"*\"}]\n", "a fault has no do"},
		{"cut", head + "turns: []\nfaults: [{do: {cut_after: 3x}}]\n", "cut_after must be bytes"},
		{"nth", head + "turns: []\nfaults: [{nth: 0, do: reset}]\n", "nth must be between"},
		{"expect", head + "turns: []\nexpect: {call: []}\n", `did you mean "calls"?`},
		{"include without file", head + "include: [x.scenario.yaml]\n",
			"t.scenario.yaml:3:11: include of x.scenario.yaml: include needs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := script.Parse("t.scenario.yaml", []byte(c.text))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v\nwant %s", err, c.want)
			}
		})
	}
}

// All that is wrong with a file is told at once, each with its place.
func TestParseTellsAll(t *testing.T) {
	_, err := script.Parse("t.scenario.yaml", []byte("wield: x\nname: t\nturn: 1\nturns: 3\n"))
	var at *script.FileError
	if !errors.As(err, &at) || at.Line != 1 || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("got %v", err)
	}
}

func TestMatching(t *testing.T) {
	m := model(t, head+`
turns:
  - {id: exact, when: {user: hello}, reply: [{text: exact}]}
  - {id: expr, when: {user: "/^HEL+O/i"}, reply: [{text: expr}]}
  - {id: contains, when: {user_contains: "needle"}, reply: [{text: contains}]}
  - {id: system, when: {system_contains: "secret", user: x}, reply: [{text: system}]}
  - {id: tool, when: {last: tool, tool: a, result_contains: "18"}, reply: [{text: "a ${result}"}]}
  - {id: tool-b, when: {last: tool, tool: b}, reply: [{text: "b ${result.x.1.y} ${result.n}"}]}
  - {id: offered, when: {tools_offered: [a, b], user: x}, reply: [{text: offered}]}
  - {id: turn, when: {turn: 2}, reply: [{text: "turn ${turn}"}]}
  - {id: temperature, when: {temperature: 0.5}, reply: [{text: warm}]}
  - {id: model, when: {model: "/^big/"}, reply: [{text: "${model}"}]}
  - {id: last, when: {last: assistant}, reply: [{text: prefill}]}
  - {id: none, when: {user: "/^empty$/"}, reply: []}
`)
	half := 0.5
	calls := []chat.Call{{ID: "1", Name: "a"}, {ID: "2", Name: "b"}}
	for _, c := range []struct {
		name string
		req  *chat.Request
		want string
	}{
		{"plain string equals", request(user("hello")), "exact"},
		{"plain string is not part", request(user("say hello")), "no turn"},
		{"expression finds", request(user("Hellllo you")), "expr"},
		{"contains", request(user("hay needle hay")), "contains"},
		{"last user message decides", request(user("needle"), assistant("?"), user("hello")), "exact"},
		{"system", request(chat.Message{Role: chat.RoleDeveloper, Parts: chat.Text("a secret")}, user("x")), "system"},
		{"injected instructions are system", request(user("[Project instructions: a secret]\n\nx")), "system"},
		{"tool by call id", request(user("q"), assistant("", calls...), tool("1", "18 degrees")), "a 18 degrees"},
		{"last result decides", request(user("q"), assistant("", calls...), tool("1", "18"),
			tool("2", `{"x":[0,{"y":"z"}],"n":1.50}`)), "b z 1.50"},
		{"tools natively", &chat.Request{Messages: []chat.Message{user("x")},
			Tools: []chat.Tool{{Name: "b"}, {Name: "a"}}}, "offered"},
		{"tools in the prompt", request(chat.Message{Role: chat.RoleSystem, Parts: chat.Text("- a(x: string)\n- b()")},
			user("x")), "offered"},
		{"half a word is no tool", request(chat.Message{Role: chat.RoleSystem, Parts: chat.Text("ab b_ xb")},
			user("x")), "no turn"},
		{"turn", request(user("1"), assistant("1"), user("2"), assistant("2"), user("3")), "turn 2"},
		{"temperature", &chat.Request{Messages: []chat.Message{user("t")}, Temperature: &half}, "warm"},
		{"model", &chat.Request{Model: "big-1", Messages: []chat.Message{user("t")}}, "big-1"},
		{"prefill", request(user("t"), assistant("I")), "prefill"},
		{"empty reply", request(user("empty")), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, err := collect(m, c.req)
			if c.want == "no turn" {
				var e *chat.Error
				if !errors.As(err, &e) || e.Status != 404 || e.Kind != chat.ErrNotFound {
					t.Fatalf("got %v, want a 404", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := texts(events); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if last := events[len(events)-1]; last.Kind != chat.KindFinish {
				t.Errorf("the last event is %v", last.Kind)
			}
		})
	}
}

func TestUnmatchedSaysWhy(t *testing.T) {
	m := model(t, head+`
turns:
  - {id: far, when: {user: a, turn: 3, last: tool}, reply: []}
  - {id: near, when: {user_contains: weather, turn: 0}, reply: []}
`)
	got := say(t, m, user("hi"))
	for _, want := range []string{"no turn of scenario t matches", `user said "hi"`,
		`turn near (t.scenario.yaml:6): user does not contain "weather"; turn far (t.scenario.yaml:5): user is not a, turn is 0, not 3, last message is from user, not tool`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in %s", want, got)
		}
	}
}

func TestCaptures(t *testing.T) {
	m := model(t, head+`
turns:
  - {id: ask, when: {user: "/weather in (?<city>[^?]+)/", last: user}, reply: [{text: "asked ${city}"}]}
  - {id: unit, when: {user: "/in (?<unit>celsius|kelvin)/", last: user}, reply: [{text: "${unit} for ${city}"}]}
  - {id: answer, when: {last: tool}, reply: [{text: "${result} ${unit} in ${city}"}]}
  - {id: literal, when: {user: literal}, reply: [{text: "$${city} $$ ${user}"}]}
  - {id: undefined, when: {user: undefined}, reply: [{text: "${nobody}"}]}
`)
	history := []chat.Message{user("weather in Oslo?"), assistant("asked"), user("weather in São Paulo?"),
		assistant("?"), user("in kelvin")}
	for _, c := range []struct {
		name     string
		messages []chat.Message
		want     string
	}{
		{"own group", history[:1], "asked Oslo"},
		{"own group over history", history[:3], "asked São Paulo"},
		{"history, later ones win", history, "kelvin for São Paulo"},
		{"last user message counts as history", append(history, assistant(""), tool("", "291")),
			"291 kelvin in São Paulo"},
		{"literal", []chat.Message{user("literal")}, "${city} $$ literal"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := say(t, m, c.messages...); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	t.Run("undefined", func(t *testing.T) {
		_, err := collect(m, request(user("undefined")))
		var e *chat.Error
		if !errors.As(err, &e) || e.Status != 500 || !strings.Contains(e.Message, "t.scenario.yaml:9:") ||
			!strings.Contains(e.Message, "${nobody} is not defined") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("group of an optional part that did not match", func(t *testing.T) {
		if got := say(t, m, user("in kelvin")); !strings.Contains(got, "${city} is not defined") {
			t.Errorf("got %q", got)
		}
	})
}

// TestRepeatsABoundedText asks for answers that repeat a long request: each ends as one that reached its output limit.
func TestRepeatsABoundedText(t *testing.T) {
	const most = 128 << 10
	long := strings.Repeat("Grüße\n", 600_000)
	for _, c := range []struct{ name, items, user, want string }{
		{"echo", `{echo: user}, {text: more}`, long, long[:most]},
		{"capture", `{text: "${user}"}, {text: more}`, long, long[:most]},
		{"split", `{text: "${user}", split: every}`, long, long[:most]},
		{"bars", `{text: "${user}b", split: "${user}|b"}`, long, long[:most] + "b"},
		{"twice", `{text: "a${user}b"}, {text: "${user}c"}`, long[:most-2], "a" + long[:most-2] + "b" + long[:2] + "c"},
		{"no cut rune", `{text: "${user}"}`, "a" + strings.Repeat("ü", most), "a" + strings.Repeat("ü", most/2-1)},
		{"a call that does not fit", `{text: a}, {call: {name: n, args: {q: "${user}"}}}, {text: b}`, long, "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			events, err := collect(model(t, head+"turns: [{id: a, when: {}, reply: ["+c.items+"]}]\n"),
				request(user(c.user)))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.ReplaceAll(texts(events), "|", ""); got != c.want {
				t.Errorf("got %d bytes, want %d: %.80q", len(got), len(c.want), got)
			}
			if f := events[len(events)-1].Detail.(*chat.Finish); f.Reason != chat.FinishLength {
				t.Errorf("finish %q", f.Reason)
			}
		})
	}
}

func TestChunks(t *testing.T) {
	for _, c := range []struct{ name, item, want string }{
		{"whole", `{text: "Grüße"}`, "Grüße"},
		{"every byte", `{text: "aü", split: every}`, "a|\xc3|\xbc"},
		{"offsets", `{raw: "abcdef", split: [1, 4]}`, "a|bcd|ef"},
		{"offsets beyond the end", `{raw: "abc", split: [1, 9]}`, "a|bc"},
		{"bars", `{text: "marker", split: "mark|er"}`, "mark|er"},
		{"bars at the ends", `{text: "ab", split: "|a|b|"}`, "a|b"},
		{"bars in the text", `{raw: "a|b|c", split: "a||b|c"}`, "a||b|c"},
		{"bars around a capture", `{text: "x ${user} y", split: "x |${user}| y"}`, "x |hi| y"},
		{"items stay apart", `{text: a}, {text: b}`, "a|b"},
		{"echo", `{echo: user}`, "hi"},
		{"raw is not expanded", `{raw: "${nobody}"}`, "${nobody}"},
		{"binary", `{raw: !!binary "/wA="}`, "\xff\x00"},
		{"empty text is no chunk", `{text: ""}, {text: x}`, "x"},
		{"fence", `{fence: json, call: {name: get_weather, args: {city: Paris}}}`,
			"```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n```"},
		{"fence begins a line", `{text: "Look:"}, {fence: "", call: {name: n}}`,
			"Look:|\n```\n{\"name\": \"n\", \"arguments\": {}}\n```"},
		{"call is a fence by default", `{call: {name: n, args: '{"a": 1e3}'}}`,
			"```json\n{\"name\": \"n\", \"arguments\": {\"a\": 1e3}}\n```"},
		{"capture inside JSON",
			`{call: {name: n, args: {q: "say \"${user}\"", l: [1.50, true, null, 12345678901234567890]}}}`,
			"```json\n{\"name\": \"n\", \"arguments\": {\"q\": \"say \\\"hi\\\"\", \"l\": [1.50, true, null, 12345678901234567890]}}\n```"},
		{"verbatim arguments need not be JSON", `{fence: json, call: {name: n, args: "{a: ${user}"}}`,
			"```json\n{\"name\": \"n\", \"arguments\": {a: hi}\n```"},
		{"target message", `{target: {message: m}}, {target: {title: x}}`, "m"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := say(t, model(t, head+"turns: [{id: a, when: {}, reply: ["+c.item+"]}]\n"),
				user("hi")); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
	t.Run("chunk counts characters", func(t *testing.T) {
		m := model(t,
			head+
				"defaults: {chunk: 3}\nturns:\n  - {id: a, when: {turn: 0}, reply: [{text: Grüße!}]}\n  - {id: b, when: {}, chunk: 0, reply: [{text: Grüße!}]}\n")
		if got := say(t, m, user("")); got != "Grü|ße!" {
			t.Errorf("got %q", got)
		}
		if got := say(t, m, user(""), assistant("")); got != "Grüße!" {
			t.Errorf("a turn's own chunk: got %q", got)
		}
	})
}
