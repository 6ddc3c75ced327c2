package servertools

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"wield/chat"
)

// written writes a conversation in short: roles, texts, calls.
func written(messages []chat.Message) string {
	var b strings.Builder
	for i := range messages {
		m := &messages[i]
		b.WriteString(string(m.Role[:1]) + "(" + m.Text())
		for _, c := range m.Calls {
			b.WriteString(" " + c.Name + c.Arguments + "#" + c.ID)
		}
		if m.CallID != "" {
			b.WriteString(" #" + m.CallID)
		}
		if m.IsError {
			b.WriteString(" bad")
		}
		b.WriteString(") ")
	}
	return strings.TrimSpace(b.String())
}

func part(p chat.Protocol, name, raw string) chat.Part {
	return chat.Part{Kind: chat.PartOpaque, Protocol: p, Name: name, Raw: json.RawMessage(raw)}
}

func TestRecall(t *testing.T) {
	use := func(id string) chat.Part {
		return part(chat.ProtocolAnthropic, "server_tool_use",
			`{"type":"server_tool_use","id":"`+id+`","name":"web_search","input":{"query":"x"}}`)
	}
	found := func(id, content string) chat.Part {
		return part(chat.ProtocolAnthropic, "web_search_tool_result", `{"tool_use_id":"`+id+`","content":`+content+`}`)
	}
	code := part(chat.ProtocolGemini, "executableCode", `{"executableCode":{"code":"1"}}`)
	ran := part(chat.ProtocolGemini, "codeExecutionResult",
		`{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"2"}}`)
	const (
		rain = `[{"type":"web_search_result","encrypted_content":"cmFpbg=="},` +
			`{"type":"web_search_result","encrypted_content":""}]`
		call1 = `web_search{"query":"x"}#srvtoolu_w_1`
		call2 = `web_search{"query":"x"}#srvtoolu_w_2`
	)
	text := func(s string) chat.Part { return chat.Part{Text: s} }
	type parts = []chat.Part
	for name, tt := range map[string]struct {
		parts parts
		calls []chat.Call
		want  string
	}{
		"nothing":   {parts{text("hi")}, nil, "a(hi)"},
		"another's": {parts{use("srvtoolu_1"), found("srvtoolu_1", rain)}, nil, "a()"},
		"one": {parts{text("so"), use("srvtoolu_w_1"), found("srvtoolu_w_1", rain), text("wet")}, nil,
			"a(so " + call1 + ") t(rain #srvtoolu_w_1) a(wet)"},
		"two": {parts{use("srvtoolu_w_1"), found("srvtoolu_w_1", rain),
			use("srvtoolu_w_2"), found("srvtoolu_w_2", rain)}, nil,
			"a( " + call1 + ") t(rain #srvtoolu_w_1) a( " + call2 + ") t(rain #srvtoolu_w_2)"},
		"failed": {parts{use("srvtoolu_w_1"), found("srvtoolu_w_1", `{"error_code":"unavailable"}`)}, nil,
			"a( " + call1 + ") t(Error: unavailable #srvtoolu_w_1 bad)"},
		"cut off": {parts{use("srvtoolu_w_1")}, nil,
			"a( " + call1 + ") t(Error: no result is known #srvtoolu_w_1 bad)"},
		"with a call": {parts{use("srvtoolu_w_1"), found("srvtoolu_w_1", rain)},
			[]chat.Call{{ID: "c", Name: "f", Arguments: "{}"}}, "a( " + call1 + ") t(rain #srvtoolu_w_1) a( f{}#c)"},
		"a page": {parts{use("srvtoolu_w_1"), found("srvtoolu_w_1", `{"content":{"source":{"data":"page"}}}`)}, nil,
			"a( " + call1 + ") t(page #srvtoolu_w_1)"},
		"Gemini's code": {parts{code, ran, text("2")}, nil,
			`a( code_execution{"code":"1"}#hosted_1_0) t(2 #hosted_1_0) a(2)`},
	} {
		before := []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("q")},
			{Role: chat.RoleAssistant, Parts: tt.parts, Calls: tt.calls}}
		got, changed := recall(before)
		if w := written(got); w != "u(q) "+tt.want || changed != (len(got) != 2) {
			t.Errorf("%s: %s", name, w)
		}
	}
}

func TestPages(t *testing.T) {
	for text, want := range map[string][]searchHit{
		`{"a":[{"url":"https://a.example/1","title":"A"},{"link":"http://b.example","name":"B"}],"n":1}`: {
			{"https://a.example/1", "A"}, {"http://b.example", "B"}},
		"1. [Weather](https://a.example/w)\n2. see https://b.example/x?y=1. Twice: https://b.example/x?y=1": {
			{"https://a.example/w", "Weather"}, {"https://b.example/x?y=1", "b.example"}},
		`"text with https://c.example"`:  {{"https://c.example", "c.example"}},
		`{"url":"javascript:alert(1)"}`:  nil,
		"no address, ftp://x.example/ a": nil,
	} {
		if got := pagesOf(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestKinds(t *testing.T) {
	for name, want := range map[string]Kind{
		"web_search": WebSearch, "web_search_preview_2025_03_11": WebSearch, "web_search_20260209": WebSearch,
		"googleSearch": WebSearch, "code_interpreter": CodeExecution, "urlContext": WebFetch,
		"web_searcher": "", "image_generation": "", "": "",
	} {
		if got := kindOf(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for schema, want := range map[string]string{
		`{"properties":{"query":{"type":"string"},"n":{"type":"integer"}}}`:                  "query",
		`{"properties":{"q":{"type":"string"},"lang":{"type":"string"}},"required":["q"]}`:   "q",
		`{"properties":{"q":{"type":"string"},"n":{"type":"integer"}}}`:                      "q",
		`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"]}`:  "",
		`{"properties":{"q":{"type":"string"},"n":{"type":"integer"}},"required":["q","n"]}`: "",
		`{"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`:                       "",
	} {
		if got := parameterFor(json.RawMessage(schema), "query"); got != want {
			t.Errorf("%s: %q, want %q", schema, got, want)
		}
	}
}

func TestDomains(t *testing.T) {
	for address, want := range map[string]bool{
		"https://a.example/x": true, "https://www.a.example/": true, "https://nota.example/": false,
		"https://b.example/docs/1": true, "https://b.example/other": false, "https://bad.a.example/": false, "%": false,
	} {
		l := limits{Allowed: []string{"a.example", "b.example/docs"}, Blocked: []string{"bad.a.example"}}
		if got := l.permits(address); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}
