package compose

import (
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"wield/internal/gateway"
)

// manyFields returns n fields that nobody knows, firstFields the names of the first n.
func manyFields(n int) (s string) {
	for i := range n {
		s += fmt.Sprintf(`,"k%02d":1`, i)
	}
	return s
}

func firstFields(n int) string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("k%02d", i))
	}
	return strings.Join(names, ", ")
}

// TestDropped: what a request holds and a backend of another protocol has no place for is told or refused, wherever it
// stands.
func TestDropped(t *testing.T) {
	srv := newServer(t, "hi")
	s, err := compose(t, `
backends: {s: {url: "URL"}}
models:
  text: {backend: s, mode: text, bounce: {max: 0}}
  native: {backend: s, mode: native}
`, srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(gateway.New(s.Gateway))
	t.Cleanup(front.Close)
	const (
		chats    = "/v1/chat/completions {MODEL,%}"
		hi       = `"messages":[{"role":"user","content":"hi"}]`
		messages = `/v1/messages {MODEL,"max_tokens":9,%}`
		answers  = "/v1/responses {MODEL,%}"
		ollama   = `/api/chat {MODEL,"stream":false,%}`
		generate = `/api/generate {MODEL,"stream":false,%}`
		gemini   = "/v1beta/models/NAME:generateContent {%}"
		google   = `"contents":[{"role":"user","parts":[{"text":"hi"}]}]`
	)
	for _, tt := range []struct {
		name, form, body string
		text, native     string // the header
	}{
		{"a field", chats, hi + `,"logit_bias":{"1":2}`, "logit_bias", "logit_bias"},
		{"a member of an option", chats, hi + `,"stream":true,"stream_options":{"include_usage":true,"zz":1}`,
			"stream_options.zz", "stream_options.zz"},
		{"more fields than are named", chats, hi + manyFields(70), firstFields(64) + ", 6_more_fields",
			firstFields(64) + ", 6_more_fields"},
		{"a field that says nothing", chats, hi + `,"logit_bias":null`, "", ""},
		{"a tool's field", chats,
			hi + `,"tools":[{"type":"function","function":{"name":"f","examples":[1]},"cache_control":{"a":1}}]`,
			"tools.function.examples", "tools.function.examples"},
		{"a tool of the server", chats, hi + `,"tools":[{"type":"web_search"}]`, "tools[0]=web_search",
			"tools=web_search"},
		{"such a tool that is demanded", chats,
			hi + `,"tools":[{"type":"web_search"}],"tool_choice":{"type":"web_search"}`, "400 tool_choice",
			"400 tool_choice"},
		{"such a tool where any call is demanded", chats,
			hi + `,"tools":[{"type":"web_search"}],"tool_choice":"required"`, "400 tool_choice", "400 tool_choice"},
		{"a tool of plain text", chats, hi + `,"tools":[{"type":"custom","custom":{"name":"p"}}]`, "", ""},
		{"a message's field", chats, `"messages":[{"role":"user","content":"hi","mood":"glad"}]`, "messages.mood",
			"messages.mood"},
		{"a part's field", chats,
			`"messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"a":1}}]}]`,
			"", ""},
		{"a call's field", chats,
			`"messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","index":0,` +
				`"function":{"name":"f","arguments":"{}"},"extra_content":{"a":1}}]},{"role":"tool","tool_call_id":"a","content":"x"}]`,
			"messages.tool_calls.extra_content", "messages.tool_calls.extra_content"},
		{"what only answers have", chats,
			`"messages":[{"role":"user","content":"hi","reasoning_content":"a","refusal":"b","tool_call_id":"c",` +
				`"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}]`,
			"messages.tool_calls, messages.reasoning_content, messages.refusal, messages.tool_call_id",
			"messages.tool_calls, messages.reasoning_content, messages.refusal, messages.tool_call_id"},
		{"what only answers have", messages,
			`"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"t","name":"f","input":{}}]}]`,
			"messages.content=tool_use", "messages.content=tool_use"},
		{"what only answers have", ollama,
			`"messages":[{"role":"user","content":"hi","thinking":"a","tool_calls":[{"function":{"name":"f","arguments":{}}}]}]`,
			"messages.tool_calls, messages.thinking", "messages.tool_calls, messages.thinking"},
		{"what only answers have", gemini,
			`"contents":[{"role":"user","parts":[{"text":"a"},{"functionCall":{"name":"f","args":{}}}]}]`,
			"contents.parts.functionCall", "contents.parts.functionCall"},
		{"a part", chats, `"messages":[{"role":"user","content":[{"type":"video_url","video_url":{}}]}]`,
			"400 messages[0].content[0]", "400 messages[0].content[0]"},
		{"a format's field", chats, hi + `,"response_format":{"type":"text","mood":1}`, "response_format.mood",
			"response_format.mood"},

		{"a tool's field", messages,
			hi + `,"tools":[{"name":"f","input_schema":{"type":"object"},"cache_control":{"a":1}}]`, "", ""},
		{"a tool that is searched for", messages,
			hi + `,"tools":[{"name":"f","input_schema":{"type":"object"},"defer_loading":true}]`, "", ""},
		{"a schema that takes anything", messages, hi + `,"tools":[{"name":"f","input_schema":true}]`, "", ""},
		{"tools that only a server of the protocol runs", messages,
			hi + `,"tools":[{"type":"code_execution_20250825","name":"code_execution"}]`, "400 tools[0]", "400 tools[0]"},
		{"tools that the client runs", messages, hi + `,"tools":[{"type":"computer_toolset_20260801"}]`, "", ""},
		{"the state of a browser", messages, `"messages":[{"role":"user","content":[{"type":"text","text":"hi"},` +
			`{"type":"browser_state","tabs":[]}]}]`, "", ""},
		{"a part's fields", messages, `"messages":[{"role":"user","content":[{"type":"text","text":"hi",` +
			`"citations":[{"a":1}],"cache_control":{"a":1}}]}]`,
			"messages.content.citations", "messages.content.citations"},
		{"what a server did", messages,
			`"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"b"},` +
				`{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"text","text":"a"}]},{"role":"user","content":"hi"}]`,
			"messages.content=server_tool_use", "messages.content=server_tool_use"},
		{"a choice's field", messages,
			hi + `,"tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":"auto","mood":1}`,
			"tool_choice.mood", "tool_choice.mood"},
		{"edits of the context", messages,
			hi + `,"context_management":{"edits":[{"type":"clear_tool_uses_20250919"}]},"diagnostics":{"a":1},` +
				`"fallback_credit_token":"x","betas":["a-1"],"metadata":{"user_id":"u"}`,
			"context_management, diagnostics, fallback_credit_token",
			"context_management, diagnostics, fallback_credit_token"},
		{"no edits of the context", messages, hi + `,"context_management":{"edits":[]}`, "", ""},
		{"a name of a feature that is none", messages, hi + `,"betas":["a b"]`, "400 betas", "400 betas"},
		{"the older format", messages, hi + `,"output_format":{"type":"json_schema","schema":{"type":"string"}}`, "",
			""},
		{"an effort", messages, hi + `,"output_config":{"effort":"low"}`, "output_config.effort",
			"output_config.effort"},
		{"two formats", messages, hi + `,"output_format":{"type":"json_schema","schema":{"type":"string"}},` +
			`"output_config":{"format":{"type":"json_schema","schema":{"type":"string"}}}`, "output_format",
			"output_format"},
		{"a format without a schema", messages, hi + `,"output_format":{"type":"json_schema"}`, "400 output_format",
			"400 output_format"},
		{"servers of tools", messages, hi + `,"mcp_servers":[{"type":"url","url":"http://a","name":"a"}]`,
			"400 mcp_servers", "400 mcp_servers"},

		{"a tool's field", answers, `"input":"hi","tools":[{"type":"function","name":"f","allowed_callers":["a"]}]`,
			"tools.allowed_callers", "tools.allowed_callers"},
		{"an item's and a part's fields", answers,
			`"input":[{"role":"user","content":[{"type":"input_text","text":"hi","mood":1}],"mood":1}]`,
			"input.mood, input.content.mood", "input.mood, input.content.mood"},
		{"an answer that is sent back", answers,
			`"input":[{"role":"user","content":"a"},{"type":"message","id":"m","status":"completed","role":"assistant",` +
				`"content":[{"type":"output_text","text":"hi","annotations":[],"logprobs":[]}]},{"role":"user","content":"b"}]`, "", ""},

		{"a function's fields", gemini,
			google + `,"tools":[{"functionDeclarations":[{"name":"f","behavior":"BLOCKING"}]}]`,
			"tools.functionDeclarations.behavior", "tools.functionDeclarations.behavior"},
		{"a part's field", gemini, `"contents":[{"role":"user","parts":[{"text":"hi","videoMetadata":{"fps":1}}]}]`,
			"contents.parts.videoMetadata", "contents.parts.videoMetadata"},
		{"a tool of the server", gemini, google + `,"tools":[{"googleSearch":{}}]`, "400 tools[0]", "400 tools[0]"},

		{"a function that is demanded", gemini, google + `,"tools":[{"functionDeclarations":[{"name":"f"}]}],` +
			`"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["g"]}}`,
			"400 allowedFunctionNames", "400 allowedFunctionNames"},
		{"one of two functions that are demanded", gemini,
			google + `,"tools":[{"functionDeclarations":[{"name":"f"}]}],` +
				`"toolConfig":{"functionCallingConfig":{"mode":"AUTO","allowedFunctionNames":["f","g"]}}`,
			"toolConfig.functionCallingConfig.allowedFunctionNames=g",
			"toolConfig.functionCallingConfig.allowedFunctionNames=g"},
		{"a call without functions", gemini, google + `,"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}`,
			"400 mode", "400 mode"},
		{"a tool of the server that is demanded", answers,
			`"input":"hi","tools":[{"type":"web_search"},{"type":"function","name":"f"}],` +
				`"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"web_search"}]}`,
			"400 web_search", "400 web_search"},
		{"a tool of the server that is demanded", chats,
			hi + `,"tools":[{"type":"zork"},{"type":"function","function":{"name":"f"}}],` +
				`"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"zork"}]}}`,
			"400 zork", "400 zork"},

		{"a message's field", ollama, `"messages":[{"role":"user","content":"hi","mood":1}]`, "messages.mood",
			"messages.mood"},
		{"options", ollama, hi + `,"options":{"num_ctx":1,"temperature":0,"zork":2}`, "options.num_ctx, options.zork",
			"options.num_ctx, options.zork"},
		{"an effort", ollama, hi + `,"think":"high"`, "", ""},
		{"no effort", ollama, hi + `,"think":false`, "think", "think"},
		{"a prompt as it is", generate, `"prompt":"x","raw":true`, "400 raw", "400 raw"},
		{"a template", generate, `"prompt":"x","template":"x"`, "400 template", "400 template"},
		{"a context", generate, `"prompt":"x","context":[1]`, "400 context", "400 context"},
		{"a schema elsewhere", chats,
			hi + `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object",` +
				`"properties":{"a":{"$ref":"https://example.com/a"}}}}}]`, "tools.f=/properties/a/$ref", ""},
		{"a tool of the server", ollama, hi + `,"tools":[{"type":"web_search"}]`, "tools[0]=web_search",
			"tools[0]=web_search"},
	} {
		for name, want := range map[string]string{"text": tt.text, "native": tt.native} {
			path, body, _ := strings.Cut(strings.Replace(tt.form, "%", tt.body, 1), " ")
			body = strings.Replace(body, "MODEL", `"model":"`+name+`"`, 1)
			resp, err := front.Client().Post(front.URL+strings.Replace(path, "NAME", name, 1), "application/json",
				strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			got := resp.Header.Get("X-Wield-Dropped")
			if field, refused := strings.CutPrefix(want, "400 "); refused {
				if resp.StatusCode != 400 || !strings.Contains(string(answer), field) {
					t.Errorf("%s at %s, %s: %d %s, want an error about %s", tt.name, path, name, resp.StatusCode,
						answer, field)
				}
			} else if resp.StatusCode != 200 || got != want {
				t.Errorf("%s at %s, %s: %d, dropped %q, want %q\n%s", tt.name, path, name, resp.StatusCode, got, want,
					answer)
			}
		}
	}
}
