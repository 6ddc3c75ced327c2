package gateway

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wield/bridge"
	"wield/chat"
)

const (
	helloMessages       = `{"model":"m","max_tokens":100,"messages":[{"role":"user","content":"hello"}]}`
	helloMessagesStream = `{"model":"m","max_tokens":100,"messages":[{"role":"user","content":"hello"}],"stream":true}`
)

// messagesAnswer holds the parts of a Messages answer that are checked.
type messagesAnswer struct {
	ID, Type, Role, Model string
	Content               []struct {
		Type, Text, Thinking, Signature, ID, Name string
		Input                                     json.RawMessage
	}
	StopReason string `json:"stop_reason"`
	Usage      struct {
		In     int `json:"input_tokens"`
		Out    int `json:"output_tokens"`
		Cached int `json:"cache_read_input_tokens"`
	}
	Error struct{ Type, Message string }
	Count *int `json:"input_tokens"`
}

func parseMessage(t *testing.T, body string) (a messagesAnswer) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		t.Fatalf("%v in %q", err, body)
	}
	return a
}

func TestMessages(t *testing.T) {
	usage := chat.Event{Kind: chat.KindUsage, Detail: &chat.Usage{Known: true, In: 10, Cached: 4, Out: 5}}
	signature := chat.Event{Kind: chat.KindReasoning,
		Detail: chat.Opaque{{Protocol: chat.ProtocolAnthropic, Key: "signature", Value: json.RawMessage(`"c2ln"`)}}}
	answer := append([]chat.Event{{Kind: chat.KindReasoning, Text: "hm"}, signature, text("Let me. ")},
		append(call(0, "toolu_1", "f", `{"x"`, `:1}`), usage)...)
	srv := serve(t, one(says(answer...)))
	thinks := strings.Replace(helloMessages, `{`, `{"thinking":{"type":"adaptive"},`, 1)

	resp, body := send(t, srv, "POST", pathMessages, thinks, "Anthropic-Version", "2023-06-01", "X-Api-Key", "any")
	a := parseMessage(t, body)
	if resp.StatusCode != 200 || a.Type != "message" || a.Role != "assistant" || a.Model != "m" ||
		!strings.HasPrefix(a.ID, "msg_") || len(a.Content) != 3 || a.Content[0].Thinking != "hm" ||
		a.Content[0].Signature != "c2ln" || a.Content[1].Text != "Let me. " || a.Content[2].ID != "toolu_1" ||
		string(a.Content[2].Input) != `{"x":1}` || a.StopReason != "tool_use" || a.Usage.In != 6 ||
		a.Usage.Cached != 4 || a.Usage.Out != 5 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if resp.Header.Get("Request-Id") == "" {
		t.Error("there is no request id")
	}
	if _, body := send(t, srv, "POST", pathMessages, helloMessages); parseMessage(t, body).Content[0].Type != "text" {
		t.Errorf("thinking is shown to a client that did not ask for it: %s", body)
	}

	resp, body = send(t, srv, "POST", pathMessages+"?beta=true", helloMessagesStream)
	var names []string
	for _, f := range strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		name, data, _ := strings.Cut(strings.TrimPrefix(f, "event: "), "\ndata: ")
		if got := parseMessage(t, data).Type; got != name {
			t.Errorf("frame %s has the type %s", name, got)
		}
		names = append(names, name)
	}
	want := "message_start content_block_start content_block_delta content_block_stop content_block_start content_block_delta content_block_delta content_block_stop message_delta message_stop"
	if resp.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" || strings.Join(names, " ") != want {
		t.Errorf("%v\n%s", resp.Header, strings.Join(names, " "))
	}
}

// TestMessagesErrors: whatever is wrong has the protocol's form, type and status, and no client's fault is a fault of
// the service.
func TestMessagesErrors(t *testing.T) {
	o := one(says(text("a")))
	o.MaxBody = 1000
	srv := serve(t, o)
	for _, c := range []struct {
		method, path, body string
		status             int
		typ, part          string
	}{
		{"POST", pathMessages, `{"model":`, 400, "invalid_request_error", "not valid JSON"},
		{"POST", pathMessages, ``, 400, "invalid_request_error", "empty"},
		{"POST", pathMessages, `{"model":"m","messages":"x"}`, 400, "invalid_request_error", "messages"},
		{"POST", pathMessages, `{"model":"m","messages":[{"role":"user","content":[{"type":"text"}]}]}`, 400,
			"invalid_request_error", "messages[0].content[0].text"},
		{"POST", pathMessages, `{"model":"m","messages":[{"role":"system","content":"x"}]}`, 400,
			"invalid_request_error", "role user"},
		{"POST", pathMessages, `{"model":"none","messages":[{"role":"user","content":"x"}]}`, 404, "not_found_error",
			"none"},
		{"POST", pathCountTokens, `{"model":"none","messages":[{"role":"user","content":"x"}]}`, 404,
			"not_found_error", "none"},
		{"POST", pathMessages, `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("x", 2000) +
			`"}]}`, 413, "request_too_large", "larger"},
		{"GET", pathMessages, ``, 405, "invalid_request_error", "GET"},
	} {
		resp, body := send(t, srv, c.method, c.path, c.body)
		a := parseMessage(t, body)
		if resp.StatusCode != c.status || a.Type != "error" || a.Error.Type != c.typ ||
			!strings.Contains(a.Error.Message, c.part) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, resp.StatusCode, body)
		}
	}
}

// TestMessagesModelErrors: a model's error has the protocol's status and its wait, or is the last frame of a stream
// that had begun.
func TestMessagesModelErrors(t *testing.T) {
	for _, c := range []struct {
		kind   chat.ErrorKind
		status int
		typ    string
	}{
		{chat.ErrRateLimit, 429, "rate_limit_error"},
		{chat.ErrOverloaded, 529, "overloaded_error"},
		{chat.ErrTimeout, 504, "timeout_error"},
		{chat.ErrContextLength, 400, "invalid_request_error"},
		{chat.ErrAuth, 502, "api_error"}, // the client's own key is not to blame
		{chat.ErrUnavailable, 502, "api_error"},
	} {
		e := &chat.Error{Kind: c.kind, Message: "no", RetryAfter: time.Minute}
		srv := serve(t, one(fails(e)))
		for _, body := range []string{helloMessages, helloMessagesStream} {
			resp, body := send(t, srv, "POST", pathMessages, body)
			a := parseMessage(t, body)
			if resp.StatusCode != c.status || a.Type != "error" || a.Error.Type != c.typ ||
				!strings.Contains(a.Error.Message, "no") || resp.Header.Get("Retry-After") != "60" {
				t.Errorf("%s: %d %v %s", c.kind, resp.StatusCode, resp.Header, body)
			}
		}
		_, body := send(t, serve(t, one(fails(e, text("half")))), "POST", pathMessages, helloMessagesStream)
		last := body[strings.LastIndex(strings.TrimSuffix(body, "\n\n"), "\n\n")+2:]
		if !strings.HasPrefix(last, "event: error\ndata: {\"type\":\"error\"") || !strings.Contains(last, c.typ) ||
			strings.Contains(body, "message_stop") {
			t.Errorf("%s: the stream ends with %q", c.kind, last)
		}
	}
}

func TestMessagesKeys(t *testing.T) {
	o := one(says(text("a")))
	o.Keys = []Key{{Name: "k", Hash: HashKey("secret"), Role: RoleClient}}
	srv := serve(t, o)
	for _, c := range []struct {
		header, value string
		status        int
	}{{"X-Api-Key", "secret", 200}, {"Authorization", "Bearer secret", 200}, {"X-Api-Key", "wrong", 401},
		{"Anthropic-Version", "2023-06-01", 401}} {
		for _, path := range []string{pathMessages, pathCountTokens} {
			resp, body := send(t, srv, "POST", path, helloMessages, c.header, c.value)
			if resp.StatusCode != c.status ||
				c.status == 401 && parseMessage(t, body).Error.Type != "authentication_error" {
				t.Errorf("%s with %s %s: %d %s", path, c.header, c.value, resp.StatusCode, body)
			}
		}
	}
}

func TestCountTokens(t *testing.T) {
	srv := serve(t, one(fake(func(context.Context, *chat.Request, func(chat.Event) bool) error {
		t.Error("the model was asked")
		return nil
	})))
	count := func(content string) int {
		resp, body := send(t, srv, "POST", pathCountTokens, `{"model":"m","messages":[{"role":"user","content":"`+
			content+`"}]}`)
		a := parseMessage(t, body)
		if resp.StatusCode != 200 || a.Count == nil {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
		return *a.Count
	}
	empty := count("")
	for text, want := range map[string]int{"a": 1, "abcd": 1, "abcde": 2, strings.Repeat("abcd", 100): 100, "文件": 2} {
		if got := count(text) - empty; got != want {
			t.Errorf("%q counts %d, want %d", text, got, want)
		}
	}
}

// TestMessagesRound: a model that only writes text calls the tool of a client of this protocol, is given its result,
// and sees both in the next request as it would have written and read them.
func TestMessagesRound(t *testing.T) {
	var got *chat.Request
	m := fake(func(_ context.Context, req *chat.Request, emit func(chat.Event) bool) error {
		got = req
		if len(req.Messages) < 4 {
			emit(
				text(
					"I look.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>"))
		} else {
			emit(text("Sunny."))
		}
		emit(finish(chat.FinishStop))
		return nil
	})
	srv := serve(t, one(bridge.New(m, bridge.Options{Mode: bridge.ModeText})))
	head := `{"model":"m","max_tokens":100,"system":[{"type":"text","text":"Be short.","cache_control":{"type":"ephemeral"}}],` +
		`"tools":[{"name":"get_weather","input_schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}],"messages":[{"role":"user","content":"weather?"}`
	_, body := send(t, srv, "POST", pathMessages, head+"]}")
	a := parseMessage(t, body)
	if len(a.Content) != 2 || a.Content[0].Text == "" || a.Content[1].Name != "get_weather" ||
		string(a.Content[1].Input) != `{"city": "Paris"}` {
		t.Fatal(body)
	}
	content := body[strings.Index(body, `"content":`):strings.Index(body, `,"stop_reason"`)]
	_, body = send(t, srv, "POST", pathMessages, head+`,{"role":"assistant",`+content+
		`},{"role":"user","content":[{"type":"tool_result","tool_use_id":"`+a.Content[1].ID+
		`","content":"22 degrees","is_error":false}]}]}`)
	if a := parseMessage(t, body); len(a.Content) != 1 || a.Content[0].Text != "Sunny." || a.StopReason != "end_turn" {
		t.Error(body)
	}
	if n := len(got.Messages); n != 4 || !strings.Contains(got.Messages[2].Text(), "get_weather") ||
		!strings.Contains(got.Messages[3].Text(), "22 degrees") {
		t.Errorf("the model was asked with %d messages: %+v", n, got.Messages)
	}
}

// TestSignaturesThroughBridge: thinking and its signature come through the bridge to the client, and what the client
// hands back reaches a model with function calling as it was, cache marks included.
func TestSignaturesThroughBridge(t *testing.T) {
	var got *chat.Request
	signature := chat.Event{Kind: chat.KindReasoning,
		Detail: chat.Opaque{{Protocol: chat.ProtocolAnthropic, Key: "signature", Value: json.RawMessage(`"c2ln"`)}}}
	m := fake(func(_ context.Context, req *chat.Request, emit func(chat.Event) bool) error {
		got = req
		emit(chat.Event{Kind: chat.KindReasoning, Text: "hm"})
		emit(signature)
		emit(text("ok"))
		emit(finish(chat.FinishStop))
		return nil
	})
	srv := serve(t, one(bridge.New(m, bridge.Options{Mode: bridge.ModeNative})))
	thinking := `{"type":"thinking","thinking":"hm","signature":"c2ln"}`
	for _, stream := range []string{"false", "true"} {
		_, body := send(t, srv, "POST", pathMessages,
			`{"model":"m","stream":`+stream+
				`,"thinking":{"type":"adaptive"},"tools":[{"name":"f","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],`+
				`"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[`+thinking+
				`,{"type":"tool_use","id":"toolu_1","name":"f","input":{}}]},`+
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"1","cache_control":{"type":"ephemeral"}}]}]}`)
		if !strings.Contains(body, `"signature":"c2ln"`) {
			t.Errorf("the client gets no signature: %s", body)
		}
	}
	said := got.Messages[1]
	if len(said.Parts) != 1 || string(said.Parts[0].Raw) != thinking || said.Calls[0].ID != "toolu_1" {
		t.Errorf("the model was told that it had said %+v", said)
	}
	if len(got.Tools[0].Opaque) != 1 || len(got.Messages[2].Opaque) != 1 {
		t.Errorf("cache marks are lost: %+v, %+v", got.Tools[0].Opaque, got.Messages[2].Opaque)
	}
}

// TestMessagesModels: clients that say the version of this protocol get the list of models in its form.
func TestMessagesModels(t *testing.T) {
	o := one(says(text("a")))
	o.Models[0].Created = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	srv := serve(t, o)
	const m = `{"type":"model","id":"m","display_name":"m","created_at":"2026-01-02T03:04:05Z"}`
	for path, want := range map[string]string{
		pathModels:           `{"data":[` + m + `],"has_more":false,"first_id":"m","last_id":"m"}`,
		pathModels + "/m":    m,
		pathModels + "/none": `{"type":"error","error":{"type":"not_found_error"`,
	} {
		if _, body := send(t, srv, "GET", path, "", "Anthropic-Version", "2023-06-01"); !strings.HasPrefix(body, want) {
			t.Errorf("%s: %s, want %s", path, body, want)
		}
		if _, body := send(t, srv, "GET", path, ""); strings.HasPrefix(body, want) {
			t.Errorf("%s: a client of another protocol gets %s", path, body)
		}
	}
}

// TestMessagesKeepAlive: while a model thinks, its stream gets pings, after which an error is a frame of the stream.
func TestMessagesKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error)
		g := New(one(fake(func(context.Context, *chat.Request, func(chat.Event) bool) error {
			time.Sleep(40 * time.Second)
			return chat.Errorf(chat.ErrOverloaded, "no room")
		})))
		go func() { served <- g.Serve(ctx, l, time.Second) }()
		c := l.client()
		resp, err := c.Post("http://localhost"+pathMessages, "application/json", strings.NewReader(helloMessagesStream))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		ping := "event: ping\ndata: {\"type\":\"ping\"}\n\n"
		if want := ping + ping +
			"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"no room\"}}\n\n"; resp.StatusCode != 200 || string(body) != want {
			t.Errorf("status %d, %s", resp.StatusCode, body)
		}
		c.CloseIdleConnections()
		stop()
		<-served
	})
}
