package lumo

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"wield/chat"
)

func user(text string) chat.Message {
	return chat.Message{Role: chat.RoleUser, Parts: chat.Text(text)}
}

func allNatives() []string { return append([]string{nativeInfo}, webSearch()...) }

func body(t *testing.T, req *chat.Request, o requestOptions) string {
	t.Helper()
	b, err := appendRequest(nil, req, o)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(b) {
		t.Fatalf("not JSON: %s", b)
	}
	return string(b)
}

// TestRequestV1_A08: the envelope, its list of native tools and its targets.
func TestRequestV1_A08(t *testing.T) {
	req := &chat.Request{Model: "lumo",
		Messages: []chat.Message{{Role: chat.RoleDeveloper, Parts: chat.Text("Be brief.")}, user("hi"),
			{Role: chat.RoleAssistant, Parts: chat.Text("Let me."),
				Calls: []chat.Call{{Name: "f", Arguments: `{"a":1}`}, {Name: "g"}}},
			{Role: chat.RoleTool, Parts: chat.Text("done")}}}
	const turns = `{"Prompt":{"type":"generation_request","turns":[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"},` +
		`{"role":"assistant","content":"Let me."},{"role":"tool_call","content":"{\"name\":\"f\",\"parameters\":{\"a\":1}}"},` +
		`{"role":"tool_call","content":"{\"name\":\"g\",\"parameters\":{}}"},{"role":"tool_result","content":"done"}],`
	got := body(t, req, requestOptions{Version: 1, Tools: []string{"proton_info", "web_search"}})
	if want := turns + `"options":{"tools":["proton_info","web_search"]},"targets":["message"]}}`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	got = body(t, req, requestOptions{Version: 1, Title: true})
	if want := turns + `"options":{"tools":[]},"targets":["message","title"]}}`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestRequestV2 has the fields of the second version in their order, and its roles.
func TestRequestV2(t *testing.T) {
	req := &chat.Request{Model: "proton/lumo-max", Effort: "high",
		Messages: []chat.Message{user("[Project instructions: INSTR]\n\nhi"),
			{Role: chat.RoleAssistant, Calls: []chat.Call{{Name: "f"}}},
			{Role: chat.RoleTool, Parts: chat.Text("done")}}}
	const messages = `{"model":"lumo-max","messages":[{"role":"user","content":"[Project instructions: INSTR]\n\nhi"},` +
		`{"role":"lumo_tool_call","content":"{\"name\":\"f\",\"parameters\":{}}"},{"role":"tool","content":"done"}],` +
		`"stream":true,"stream_options":{"include_usage":true},"reasoning_effort":"high",`
	got := body(t, req, requestOptions{Tools: []string{"proton_info"}})
	if want := messages +
		`"lumo":{"client_type":"frontend","target":"message"},"tools":[{"name":"proton_info"}],"tool_choice":"auto"}`; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	got = body(t, req, requestOptions{Title: true, Tools: allNatives()})
	if want := messages + `"lumo":{"client_type":"frontend","target":"title"}}`; got != want {
		t.Errorf("a title: got\n%s\nwant\n%s", got, want)
	}
	for effort, want := range map[string]string{"": "none", "low": "none", "minimal": "none", "none": "none",
		"medium": "high", "max": "high"} {
		req.Effort = effort
		if got := body(t, req, requestOptions{}); !strings.Contains(got, `"reasoning_effort":"`+want+`"`) {
			t.Errorf("effort %q: %s", effort, got)
		}
	}
}

// TestNativeTools_A06: the names of the native tools, of which those that look outside go together (A-17, AR-14).
func TestNativeTools_A06(t *testing.T) {
	if got := strings.Join(allNatives(), " "); got != "proton_info web_search weather stock cryptocurrency" {
		t.Error(got)
	}
	req := &chat.Request{Model: "lumo", Messages: []chat.Message{user("hi")},
		Extra: []chat.Extra{{Protocol: chat.ProtocolLumo, Key: ExtraTools, Value: json.RawMessage(`["weather"]`)}}}
	if got := body(t, req, requestOptions{Tools: allNatives()}); !strings.Contains(got,
		`"tools":[{"name":"weather"}]`) {
		t.Errorf("the request's own list: %s", got)
	}
}

func TestRequestErrors(t *testing.T) {
	for _, c := range []struct {
		name        string
		req         chat.Request
		param, code string
	}{
		{"custom tools", chat.Request{Tools: []chat.Tool{{Name: "f"}}}, "tools", chat.CodeToolsUnsupported},
		{"an image",
			chat.Request{
				Messages: []chat.Message{{Role: chat.RoleUser,
					Parts: []chat.Part{{Kind: chat.PartImage, Data: []byte("x")}}}}},
			"messages[0].content[0]", "unsupported_value"},
	} {
		_, err := appendRequest(nil, &c.req, requestOptions{})
		var e *chat.Error
		if !errors.As(err, &e) || e.Kind != chat.ErrBadRequest || e.Param != c.param || e.Code != c.code {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// read plays the data of frames and writes down what comes out.
func read(frames ...string) (string, error) {
	var r streamReader
	var events []chat.Event
	var err error
	for _, f := range frames {
		if events, err = r.Feed(events, []byte(f)); err != nil {
			return log(events), err
		}
	}
	events, err = r.Close(events)
	return log(events), err
}

func log(events []chat.Event) string {
	var list []string
	for _, e := range events {
		s := e.Kind.String()
		switch e.Kind {
		case chat.KindText, chat.KindReasoning:
			s += fmt.Sprintf("(%s %d-%d)", e.Text, e.At, e.End)
		case chat.KindNativeCall, chat.KindCallStart:
			s += fmt.Sprintf("(%s %s %s)", e.ID, e.Name, e.Text)
		case chat.KindCallEnd:
			call := e.Detail.(*chat.Call)
			s += fmt.Sprintf("(%s %s %s %v)", e.ID, call.Name, call.Arguments, call.Complete)
		case chat.KindNativeResult:
			s += fmt.Sprintf("(%s %s %s", e.ID, e.Name, e.Text)
			if e.Detail.(*chat.Result).IsError {
				s += " failed"
			}
			s += ")"
		case chat.KindUsage:
			usage := e.Detail.(*chat.Usage)
			s += fmt.Sprintf("(%d %d)", usage.In, usage.Out)
		case chat.KindFinish:
			finish := e.Detail.(*chat.Finish)
			s += fmt.Sprintf("(%s %s)", finish.Reason, finish.Model)
		}
		if e.Kind != chat.KindText && e.Kind != chat.KindReasoning && e.Kind != chat.KindUsage &&
			e.Kind != chat.KindFinish && e.Origin != chat.OriginNative {
			s += "!"
		}
		list = append(list, s)
	}
	return strings.Join(list, "\n")
}

func token(target, content string) string {
	b, _ := json.Marshal(map[string]any{"type": "token_data", "target": target, "count": 0, "content": content})
	return string(b)
}

func content(text string) string {
	b, _ := json.Marshal(text)
	return `{"object":"CompletionChunk","model":"lumo-max","choices":[{"index":0,"delta":{"content":` + string(b) +
		`}}]}`
}

const done = `{"type":"done"}`

// TestStream plays answers of both versions. The names are those of the rows that they are about.
func TestStream(t *testing.T) {
	for _, c := range []struct {
		name   string
		frames []string
		want   string
	}{
		{"A-11 events and targets", []string{`{"type":"queued"}`, `{"type":"ingesting","target":"message"}`,
			token("message", "Hello "), token("reasoning", "hm"), token("message", "you"), done},
			"text(Hello  0-6)\nreasoning(hm 6-8)\ntext(you 8-11)\nfinish(stop )"},
		{"A-12 a marker is nothing", []string{`{"type":"ingesting","target":"tool_call"}`, done}, "finish(stop )"},
		{"A-13 parameters and arguments",
			[]string{token("tool_call", `{"name":"web_search","arguments":{"query":"a"}}`),
				token("tool_call", `{"name": "weather", "parameters": {"city": "Rome"}}`), done},
			"native_call(native_0 web_search {\"query\":\"a\"})\nnative_call(native_1 weather {\"city\": \"Rome\"})\nfinish(stop )"},
		{"A-14 A-15 a search in the middle of the answer",
			[]string{token("message", "Let me. "),
				token("tool_call", `{"name":"web_search","parameters":{"query":"a"}}`),
				token("tool_result", `{"results":[{"title":"T","url":"U"}]}`), token("message", "Found."), done},
			"text(Let me.  0-8)\nnative_call(native_0 web_search {\"query\":\"a\"})\nnative_result(native_0 web_search {\"results\":[{\"title\":\"T\",\"url\":\"U\"}]})\ntext(Found. 8-14)\nfinish(stop )"},
		{"A-16 nothing follows done", []string{token("message", "a"), done, token("message", "b")},
			"text(a 0-1)\nfinish(stop )"},
		{"A-39 A-40 AR-16 a confused call and its repetitions",
			[]string{token("tool_call", `{"name":"GetLiveContext","parameters":{}}`),
				token("tool_call", `{"name":"GetLiveContext"}`), token("tool_result", `{"error":true}`),
				token("tool_result", `{"error":true}`), token("message", "I don't have access"), done},
			"native_call(native_0 GetLiveContext {})\nnative_result(native_0 GetLiveContext {\"error\":true} failed)\ntext(I don't have access 0-19)\nfinish(stop )"},
		{"AR-16 glued",
			[]string{token("tool_call", `{"name":"X","arguments":{}}{"name":"X"}{"name":"Y","parameters":{"a":"}{"}}`),
				token("tool_result", `{"error":true}{"error":true}{"a":1}`), done},
			"native_call(native_0 X {})\nnative_call(native_1 Y {\"a\":\"}{\"})\nnative_result(native_0 X {\"error\":true} failed)\n" +
				"native_result(native_1 Y {\"error\":true} failed)\nnative_result(  {\"a\":1})\nfinish(stop )"},
		{"A12 the second of two glued calls",
			[]string{token("tool_call",
				`{"name":"web_search","parameters":{"q":1}}{"name":"GetLiveContext","parameters":{}}`), done},
			"native_call(native_0 web_search {\"q\":1})\nnative_call(native_1 GetLiveContext {})\nfinish(stop )"},
		{"AR-15 the odd layer",
			[]string{token("tool_call",
				`{"name":"f","arguments":{"arguments":null,"name":null,"parameters":{"a":1}}}`), done},
			"native_call(native_0 f {\"a\":1})\nfinish(stop )"},
		{"A13 a parameter called parameters",
			[]string{token("tool_call", `{"name":"f","arguments":{"parameters":{"a":1},"other":2}}`), done},
			"native_call(native_0 f {\"parameters\":{\"a\":1},\"other\":2})\nfinish(stop )"},
		{"A8 large numbers", []string{token("tool_call", `{"name":"f","arguments":{"n":12345678901234567890}}`), done},
			"native_call(native_0 f {\"n\":12345678901234567890})\nfinish(stop )"},
		{"A9 stray braces", []string{token("tool_call", `} "x {"name":"f"}`), done},
			"native_call(native_0 f {})\nfinish(stop )"},
		{"A14 tools that came later", []string{token("tool_call", `{"name":"generate_image","parameters":{}}`),
			`{"type":"image_data","data":"x"}`, done},
			"native_call(native_0 generate_image {})\nfinish(stop )"},
		{"a call that never ends", []string{token("tool_call", `{"name":"f","parameters":{"a":`), done},
			"call_start(native_0 f )\ncall_end(native_0 f {\"name\":\"f\",\"parameters\":{\"a\": false)\nfinish(stop )"},
		{"a call that says nothing", []string{token("tool_call", `{"na`), done}, "native_call(  {\"na)\nfinish(stop )"},
		{"harmful", []string{token("message", "a"), `{"type":"harmful"}`}, "text(a 0-1)\nfinish(content_filter )"},
		{"odd frames", []string{`{"type":"new_thing"}`, `{"type":"token_data","target":"other","content":"x"}`,
			`<oops>`, `7`, `{"type":"token_data","target":"message","content":7}`, token("message", "a"), done},
			"text(a 0-1)\nfinish(stop )"},

		{"v2", []string{`{"choices":[{"delta":{"reasoning_content":"think"}}]}`,
			`{"choices":[{"delta":{"reasoning":" on"}}]}`, content("po"), content("ng"),
			`{"choices":[{"delta":{},"finish_reason":"stop"}]}`,
			`{"model":"lumo-max","choices":[],"usage":{"completion_tokens":2,"applied_limit_category":"max","remaining_limits":null}}`, "[DONE]"},
			"reasoning(think 0-5)\nreasoning( on 5-8)\ntext(po 8-10)\ntext(ng 10-12)\nusage(0 2)\nfinish(stop lumo-max)"},
		{"v2 whole calls",
			[]string{`{"object":"chat.tool_call","tool_call":{"id":"c1","name":"proton_info","arguments":"{}"}}`,
				`{"object":"chat.tool_result","tool_result":{"call_id":"c1","content":"RES"}}`, content("a"), "[DONE]"},
			"native_call(c1 proton_info {})\nnative_result(c1 proton_info RES)\ntext(a 0-1)\nfinish(stop lumo-max)"},
		{"v2 confused, without ids",
			[]string{`{"object":"chat.tool_call","tool_call":{"name":"GetLiveContext","arguments":"{}"}}`,
				`{"object":"chat.tool_call","tool_call":{"name":"GetLiveContext","arguments":"{}"}}`,
				`{"object":"chat.tool_result","tool_result":{"content":"{\"error\":true}"}}`,
				`{"object":"chat.tool_result","tool_result":{"content":"{\"error\":true}"}}`, content("I don't"),
				"[DONE]"},
			"native_call(native_0 GetLiveContext {})\nnative_result(native_0 GetLiveContext {\"error\":true} failed)\ntext(I don't 0-7)\nfinish(stop lumo-max)"},
		{"A10 a call in pieces is told of before the text behind it",
			[]string{`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"GetLiveContext"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]}`,
				content("I don't have access"), `{"choices":[{"delta":{},"finish_reason":"stop"}]}`, "[DONE]"},
			"call_start(native_0 GetLiveContext )\ncall_end(native_0 GetLiveContext {\"a\":1} true)\ntext(I don't have access 0-19)\nfinish(stop lumo-max)"},
		{"v2 two calls in pieces, mixed",
			[]string{
				`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"a"}},{"index":1,"id":"x","function":{"name":"b","arguments":"{"}}]}}]}`,
				`{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":"}"}},{"index":0,"function":{"arguments":"{}"}}]}}]}`, `{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`, "[DONE]"},
			"call_start(native_0 a )\ncall_end(native_0 a {} true)\ncall_start(x b )\ncall_end(x b {} true)\nfinish(stop )"},
		{"v2 target of a delta",
			[]string{`{"choices":[{"delta":{"target":"tool_call","content":"{\"name\":\"f\"}"}}]}`,
				`{"target":"reasoning","choices":[{"delta":{"content":"t"}}]}`, "[DONE]"},
			"native_call(native_0 f {})\nreasoning(t 0-1)\nfinish(stop )"},
		{"v2 content filter", []string{`{"choices":[{"delta":{},"finish_reason":"content_filter"}]}`},
			"finish(content_filter )"},
		{"v2 cut at the limit", []string{content("a"), `{"choices":[{"delta":{},"finish_reason":"length"}]}`},
			"text(a 0-1)\nfinish(length lumo-max)"},
	} {
		got, err := read(c.frames...)
		if err != nil || got != c.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, c.want)
		}
	}
}

// TestCutAnywhere_A53 cuts the text of glued calls at every place: the calls are the same, whatever is told of early.
func TestCutAnywhere_A53(t *testing.T) {
	text := `{"name":"a","parameters":{"s":"}{\"\\"}}  {"parameters":{"x":[1,{}]},"name":"b"}`
	want := `a {"s":"}{\"\\"} b {"x":[1,{}]}`
	for i := range len(text) + 1 {
		for j := i; j <= len(text); j += 5 {
			var r streamReader
			var events []chat.Event
			for _, piece := range []string{text[:i], text[i:j], text[j:]} {
				events, _ = r.Feed(events, []byte(token("tool_call", piece)))
			}
			events, err := r.Feed(events, []byte(done))
			if err != nil {
				t.Fatal(err)
			}
			if events, err = r.Close(events); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range events {
				switch e.Kind {
				case chat.KindNativeCall:
					got = append(got, e.Name, e.Text)
				case chat.KindCallEnd:
					call := e.Detail.(*chat.Call)
					got = append(got, call.Name, call.Arguments)
				}
			}
			if strings.Join(got, " ") != want {
				t.Fatalf("cut at %d and %d: %q", i, j, got)
			}
		}
	}
}

// TestFailures_A19: what ends an answer badly is an error of its own kind, in both versions.
func TestFailures_A19(t *testing.T) {
	for _, c := range []struct {
		frame, message string
		kind           chat.ErrorKind
	}{
		{`{"type":"error","message":"Test error message"}`, "Test error message", chat.ErrUnavailable},
		{`{"type":"timeout","message":"High demand error"}`, "High demand error", chat.ErrTimeout},
		{`{"type":"rejected"}`, "Lumo rejected the request", chat.ErrFiltered},
		{`{"object":"CompletionChunk","error":{"code":"error","message":"m"}}`, "m", chat.ErrUnavailable},
		{`{"object":"CompletionChunk","error":{"code":"timeout","message":"m"}}`, "m", chat.ErrTimeout},
		{`{"object":"CompletionChunk","error":{"code":"rejected","message":"m"}}`, "m", chat.ErrFiltered},
		{`{"error":{"code":"CONTEXT_LENGTH_EXCEEDED","message":"too long"}}`, "too long", chat.ErrContextLength},
		{`{"error":{"code":"SOMETHING","message":"rate limit reached"}}`, "rate limit reached", chat.ErrRateLimit},
		{`{"error":"plain"}`, "plain", chat.ErrUnavailable},
	} {
		got, err := read(token("message", "a"), c.frame)
		var e *chat.Error
		if !errors.As(err, &e) || e.Kind != c.kind || e.Message != c.message || got != "text(a 0-1)" {
			t.Errorf("%s: %s, %v", c.frame, got, err)
		}
	}
	for name, frames := range map[string][]string{
		"broken off": {token("message", "a")}, "nothing": {}, "no JSON": {"<html>"},
		"encrypted": {`{"type":"token_data","target":"message","content":"x","encrypted":true}`, done},
		"AR-38 a part": {`{"type":"token_data","target":"message","content":"c2VjcmV0","encrypted":true}`,
			token("message", "a"), done},
		"AR-38 v2, a part": {content("a"), `{"choices":[{"delta":{"content":"c2VjcmV0","encrypted":true}}]}`,
			`{"object":"lumo.image_data"}`, "[DONE]"},
	} {
		if _, err := read(frames...); !errors.Is(err, chat.ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDecodeError(t *testing.T) {
	header := http.Header{"Retry-After": {"7200"}}
	for _, c := range []struct {
		status      int
		body        string
		kind        chat.ErrorKind
		code, words string
	}{
		{429, `{"Code": 2028, "Error": "Weekly limit reached (Code: 2028)"}`, chat.ErrRateLimit, "2028",
			"Weekly limit reached (Code: 2028)"},
		{422, `{"Code": 2028, "Error": "Enough for this week"}`, chat.ErrRateLimit, "2028",
			"Enough for this week (Code: 2028)"},
		{429, "Weekly limit reached. Code: 2028", chat.ErrRateLimit, "2028", "Weekly limit reached. Code: 2028"},
		{401, `{"Code":401,"Error":"Invalid access token"}`, chat.ErrAuth, "401", "Invalid access token"},
		{500, ``, chat.ErrUnavailable, "", "the server gave no reason"},
	} {
		e := decodeError(c.status, header, []byte(c.body))
		if e.Kind != c.kind || e.Code != c.code || e.Message != c.words || e.RetryAfter != 2*time.Hour {
			t.Errorf("%s: %+v", c.body, e)
		}
	}
	if _, err := decodeResponse(nil, []byte(`{"Code":2028,"Error":"no"}`)); !errors.Is(err, chat.ErrRateLimit) {
		t.Error(err)
	}
}

func TestTitle_AR13(t *testing.T) {
	for in, want := range map[string]string{
		"": "Untitled Conversation", `""`: "Untitled Conversation", ` "A trip to Rome" `: "A trip to Rome",
		strings.Repeat("é", 100): strings.Repeat("é", 100), strings.Repeat("é", 101): strings.Repeat("é", 97) + "...",
	} {
		if got := shortTitle(in); got != want {
			t.Errorf("%q: %q", in, got)
		}
	}
	var r streamReader
	for _, f := range []string{token("title", `"News `), token("message", "a"), token("title", `of AI"`), done} {
		if _, err := r.Feed(nil, []byte(f)); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.Title(); got != "News of AI" {
		t.Errorf("%q", got)
	}
}
