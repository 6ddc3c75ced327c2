package prompt_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wield/chat"
	"wield/prompt"
)

func assistant(text string, calls ...chat.Call) chat.Message {
	return chat.Message{Role: chat.RoleAssistant, Parts: chat.Text(text), Calls: calls}
}

func result(id, text string) chat.Message {
	return chat.Message{Role: chat.RoleTool, CallID: id, Parts: chat.Text(text)}
}

func TestHistory(t *testing.T) {
	paris := chat.Call{ID: "c1", Name: "get_weather", Arguments: `{"city":"Paris"}`}
	rome := chat.Call{ID: "c2", Name: "get_weather", Arguments: `{"city":"Rome"}`}
	image := chat.Part{Kind: chat.PartImage, URL: "http://x/i.png"}
	for _, tc := range []struct {
		name string
		o    prompt.Options
		in   []chat.Message
		want string
	}{
		{"A17 text beside a call stays", prompt.Options{Dialect: "hermes"},
			[]chat.Message{user("hi"), assistant("I look.", paris), result("c1", "18")},
			"user: hi\nassistant: I look.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\":\"Paris\"}}\n</tool_call>\n" +
				"user: <tool_response>\n{\"success\":true,\"data\":\"18\",\"error\":null,\"from\":\"get_weather\",\"call_id\":\"c1\"}\n</tool_response>\n"},
		{"several results are one turn", prompt.Options{Dialect: "pythonic"},
			[]chat.Message{user("hi"), assistant("", paris, rome), result("c1", "18"), result("c2", "25")},
			"user: hi\nassistant: [get_weather(city=\"Paris\"), get_weather(city=\"Rome\")]\n" +
				"user: TOOL_RESULT: {\"success\":true,\"data\":\"18\",\"error\":null,\"from\":\"get_weather\",\"call_id\":\"c1\"}\n" +
				"TOOL_RESULT: {\"success\":true,\"data\":\"25\",\"error\":null,\"from\":\"get_weather\",\"call_id\":\"c2\"}\n"},
		{"A16 the prefix is in calls and results", prompt.Options{Dialect: "json-fence", Prefix: "user:"},
			[]chat.Message{user("hi"), assistant("", paris), result("c1", "18")},
			"user: hi\nassistant: ```json\n{\"name\": \"user:get_weather\", \"arguments\": {\"city\":\"Paris\"}}\n```\n" +
				"user: TOOL_RESULT: {\"success\":true,\"data\":\"18\",\"error\":null,\"from\":\"user:get_weather\",\"call_id\":\"c1\"}\n"},
		{"A17 broken arguments", prompt.Options{Dialect: "json-fence"},
			[]chat.Message{user("hi"), assistant("", chat.Call{Name: "f", Arguments: `]`})},
			"user: hi\nassistant: ```json\n{\"name\":\"f\",\"arguments\":\"]\"}\n```\n"},
		{"A17 images stay", prompt.Options{Dialect: "json-fence"},
			[]chat.Message{{Role: chat.RoleUser, Parts: []chat.Part{{Text: "see"}, image}}, assistant("", paris),
				{Role: chat.RoleTool, CallID: "c1", Parts: []chat.Part{{Text: "a"}, image}}},
			"user: see (http://x/i.png)\nassistant: ```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\":\"Paris\"}}\n```\n" +
				"user: TOOL_RESULT: {\"success\":true,\"data\":\"a\\n(image)\",\"error\":null,\"from\":\"get_weather\",\"call_id\":\"c1\"} (http://x/i.png)\n"},
		{"A17 all instructions count", prompt.Options{Dialect: "json-fence"},
			[]chat.Message{system("One."), user("hi"), {Role: chat.RoleDeveloper, Parts: chat.Text("Two.")}},
			"system: One.\n\nTwo.\nuser: hi\n"},
		{"a failed call", prompt.Options{Dialect: "json-fence"}, []chat.Message{user("hi"), assistant("", paris),
			{Role: chat.RoleTool, CallID: "c1", IsError: true, Parts: chat.Text("no")}},
			"user: hi\nassistant: ```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\":\"Paris\"}}\n```\n" +
				"user: TOOL_RESULT: {\"success\":false,\"data\":null,\"error\":\"no\",\"from\":\"get_weather\",\"call_id\":\"c1\"}\n"},
		{"a value that the dialect cannot write", prompt.Options{Dialect: "qwen3-coder"},
			[]chat.Message{user("hi"), assistant("", chat.Call{Name: "f", Arguments: `{"a":"</parameter>"}`},
				chat.Call{Name: "g", Arguments: `{"a":"b"}`})},
			"user: hi\nassistant: ```json\n{\"name\": \"f\", \"arguments\": {\"a\":\"</parameter>\"}}\n```\n" +
				"<tool_call>\n<function=g>\n<parameter=a>\nb\n</parameter>\n</function>\n</tool_call>\n"},
		{"B-26 orphans are left out", prompt.Options{Dialect: "tool-request", DropOrphans: true},
			[]chat.Message{result("x", "early"), user("hi"),
				assistant(`{"tool_request":{"name":"lookup_weather","arguments":{"city":"Lisbon"}}}`),
				{Role: chat.RoleTool, Name: "other", Parts: chat.Text("no")},
				{Role: chat.RoleTool, Name: "lookup_weather", Parts: chat.Text("Lisbon is 18°C and clear.")},
				{Role: chat.RoleTool, Name: "lookup_weather", Parts: chat.Text("again")}, assistant("Fine."),
				{Role: chat.RoleTool, Name: "lookup_weather", Parts: chat.Text("late")}},
			"user: hi\nassistant: {\"tool_request\":{\"name\":\"lookup_weather\",\"arguments\":{\"city\":\"Lisbon\"}}}\n" +
				"user: TOOL_RESULT: {\"content\":\"Lisbon is 18°C and clear.\",\"from\":\"lookup_weather\"}\nassistant: Fine.\n"},
		{"strict turns", prompt.Options{Dialect: "json-fence", Alternate: true},
			[]chat.Message{assistant("Hello."), user("a"), user("b"), assistant("", paris), result("c1", "18"),
				user("And?")},
			"user: (The assistant speaks first.)\nassistant: Hello.\nuser: a\n\nb\nassistant: ```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\":\"Paris\"}}\n```\n" +
				"user: TOOL_RESULT: {\"success\":true,\"data\":\"18\",\"error\":null,\"from\":\"get_weather\",\"call_id\":\"c1\"}\n\nAnd?\n"},
		{"nothing to do", prompt.Options{}, []chat.Message{system("Be kind."), user("hi"), assistant("ho")},
			"system: Be kind.\nuser: hi\nassistant: ho\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out := render(t, &chat.Request{Messages: tc.in}, tc.o)
			if diff := cmp.Diff(tc.want, transcript(out.Messages)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestInstructions(t *testing.T) {
	pattern := func(expr, with string) prompt.Pattern {
		p, err := prompt.NewPattern(expr, with)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	const looking = `(?<=(?:(?:native|custom|internal|external)\s)?)(?=tool)`
	for _, tc := range []struct {
		name     string
		o        prompt.Options
		client   string
		tools    []chat.Tool
		want     string // of the first message
		contains []string
	}{
		{"AR-05 template",
			prompt.Options{
				Template: "A {{prefix}}\n\n\n\n{{#if clientInstructions}}<{{clientInstructions}}>{{else}}none{{/if}} {{#if tools}}T{{else}}-{{/if}} {{unknown}} {{#if x}}", Prefix: "p:"},
			"Say {{tools}}", nil, "system: A p:\n\n<Say {{tools}}> - {{unknown}} {{#if x}}", nil},
		{"AR-05 nested", prompt.Options{Template: "{{#if prefix}}{{#if fallback}}a{{else}}b{{/if}}{{else}}c{{/if}}",
			Prefix: "p"}, "", nil, "system: b", nil},
		{"AR-05 tools apart", prompt.Options{Template: "{{tools}}", Dialect: "function-style"}, "",
			[]chat.Tool{weather}, "system: - get_weather(city: string, days?: integer): Get weather for a city", nil},
		{"A-33 forTools", prompt.Options{ForTools: "Use the tools below to accomplish tasks.",
			Dialect: "function-style"}, "", []chat.Tool{weather},
			"system: Use the tools below to accomplish tasks.\n\n- get_weather(city: string, days?: integer): Get weather for a city", nil},
		{"AR-06 default", prompt.Options{Prefix: "user:"}, "", []chat.Tool{weather}, "",
			[]string{"system: === CUSTOM TOOL PROTOCOL ===\n", "\n=== END PROTOCOL ===",
				`begins with "user:". Do not remove it`, `- {"name":"user:get_weather"`}},
		{"AR-03 names in instructions", prompt.Options{Prefix: "user:"},
			"Call get_weather, not user:get_weather, get_weather2 or my_get_weather.", []chat.Tool{weather}, "",
			[]string{"system: Call user:get_weather, not user:get_weather, get_weather2 or my_get_weather."}},
		{"AR-03 a name that is a word", prompt.Options{Prefix: "user:"},
			"Keep a read-only list; read it, and `read` or read(x), the tool read, \"list\", use list, the list tool.",
			[]chat.Tool{tool("read", "", ""), tool("list", "", "")}, "",
			[]string{
				"system: Keep a read-only list; read it, and `user:read` or user:read(x), the tool user:read, \"user:list\", use user:list, the user:list tool."}},
		{"a bracket at the end", prompt.Options{InjectInto: prompt.InjectFirst}, "Be [very brief]", nil,
			"user: [Project instructions: Be [very brief]]\n\nhi", nil},
		{"AR-03 dots", prompt.Options{Prefix: "ns:v1:"}, "Use get.data (get.data?)",
			[]chat.Tool{tool("get.data", "", "")}, "", []string{"Use ns:v1:get.data (ns:v1:get.data?)"}},
		{"AR-07 patterns",
			prompt.Options{Replace: []prompt.Pattern{pattern(`secret\s*`, ""), pattern(`(K)ind`, "${1}ing")}},
			"Be SECRET kind.", nil, "system: Be king.", nil},
		{"AR-07 default pattern", prompt.Options{Replace: []prompt.Pattern{pattern(looking, "custom ")}},
			"A tool, a custom tool, Native Tools, a toolbox.", nil,
			"system: A custom tool, a custom tool, Native Tools, a toolbox.", nil},
		{"AR-08 fallback", prompt.Options{Fallback: "Plain text."}, "", nil, "system: Plain text.", nil},
		{"AR-08 no fallback", prompt.Options{Fallback: "Plain text."}, "Mine.", nil, "system: Mine.", nil},
		{"AR-09 first", prompt.Options{InjectInto: prompt.InjectFirst}, "Mine.", nil,
			"user: [Project instructions: Mine.]\n\nhi", nil},
		{"the client's come first", prompt.Options{Dialect: "tool-call-tag"}, "Mine.", []chat.Tool{weather}, "",
			[]string{"system: Mine.\n\nYou have access to these tools:\n\nAVAILABLE TOOLS:\n- get_weather("}},
	} {
		messages := []chat.Message{user("hi")}
		if tc.client != "" {
			messages = []chat.Message{system(tc.client), user("hi")}
		}
		out := render(t, &chat.Request{Messages: messages, Tools: tc.tools}, tc.o)
		got := strings.TrimSuffix(transcript(out.Messages[:1]), "\n")
		if tc.want != "" && got != tc.want {
			t.Errorf("%s: %q", tc.name, got)
		}
		for _, s := range tc.contains {
			if !strings.Contains(got, s) {
				t.Errorf("%s: %q is not in\n%s", tc.name, s, got)
			}
		}
	}
	if diff := cmp.Diff([]string{"tools", "fallback"}, prompt.Missing("{{clientInstructions}}")); diff != "" {
		t.Error(diff)
	}
	if got := prompt.Missing("{{ clientInstructions }}{{forTools}}{{fallback}}"); got != nil {
		t.Errorf("missing %q", got)
	}
	if _, err := prompt.NewPattern("(", ""); err == nil {
		t.Error("a broken pattern is taken")
	}
}

func TestChoice(t *testing.T) {
	other := tool("other", "", "")
	for _, tc := range []struct {
		choice   chat.Choice
		has, not []string
	}{
		{chat.Choice{}, []string{"get_weather", "other"}, []string{"MUST contain"}},
		{chat.Choice{Mode: chat.ChoiceRequired},
			[]string{"get_weather", "other", "Your next response MUST contain a tool call."}, nil},
		{chat.Choice{Mode: chat.ChoiceNamed, Name: "other"}, []string{"MUST contain a call of the tool other."},
			[]string{"get_weather"}},
		{chat.Choice{Allowed: []string{"other"}}, []string{"other"}, []string{"get_weather"}},
		{chat.Choice{Mode: chat.ChoiceNone}, nil, []string{"get_weather", "other"}},
	} {
		out := render(t, &chat.Request{Messages: []chat.Message{user("hi")}, Tools: []chat.Tool{weather, other},
			Choice: tc.choice}, prompt.Options{})
		text := transcript(out.Messages)
		for _, s := range tc.has {
			if !strings.Contains(text, s) {
				t.Errorf("%v: %q is missing", tc.choice, s)
			}
		}
		for _, s := range tc.not {
			if strings.Contains(text, s) {
				t.Errorf("%v: %q is there", tc.choice, s)
			}
		}
		if out.Choice.Mode != chat.ChoiceAuto || len(out.Tools) > 0 {
			t.Errorf("%v: still in the request", tc.choice)
		}
	}
	_, err := prompt.Render(t.Context(), &chat.Request{Choice: chat.Choice{Mode: chat.ChoiceNamed, Name: "x"}},
		prompt.Options{})
	if !errors.Is(err, chat.ErrBadRequest) {
		t.Errorf("an unknown choice gives %v", err)
	}
}

// TestBounceText compares the corrective text with both forms of the template (A-49, A-50, AR-11).
func TestBounceText(t *testing.T) {
	calls := []chat.Call{{Name: "GetLiveContext", Arguments: `{"a":{"b":1}}`}}
	const shown = "{\n  \"name\": \"user:GetLiveContext\",\n  \"arguments\": {\n    \"a\": {\n      \"b\": 1\n    }\n  }\n}"
	for _, tc := range []struct{ template, dialect, want string }{
		{"Like this: {toolCall} please", "", "Like this: " + shown + " please"},
		{"Like this:\n", "json-fence", "Like this:\n" + shown},
		{"Like this:", "function-style", "Like this:\nuser:GetLiveContext(a={\"b\": 1})"},
	} {
		o := prompt.Options{ForToolBounce: tc.template, Dialect: tc.dialect, Prefix: "user:"}
		if got := o.Bounce(calls); got != tc.want {
			t.Errorf("%q gives %q", tc.template, got)
		}
	}
}
