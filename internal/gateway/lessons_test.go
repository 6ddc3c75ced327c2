package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"wield/bridge"
	"wield/model/openai"
	wire "wield/wire/openai"
)

// The tests in this file are named after lessons about the protocol that clients and servers have taught, L1 to L24.

// lessonBackend serves, as m, a model whose server's function calling is used. What the server was sent last is in the
// string.
func lessonBackend(t *testing.T, mode bridge.Mode, frames ...string) (*httptest.Server, *string) {
	t.Helper()
	sent := new(string)
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		*sent = string(body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, f := range frames {
			fmt.Fprintf(w, "data: %s\n\n", f)
		}
	}))
	m := openai.New(openai.Options{URL: backend.URL + "/v1", AlwaysStream: true})
	t.Cleanup(func() {
		m.Close()
		backend.Close()
	})
	return serve(t, one(bridge.New(m, bridge.Options{Mode: mode}))), sent
}

// delta is a frame with this delta, and reason the frame that ends an answer.
func delta(d string) string { return `{"choices":[{"index":0,"delta":` + d + `}]}` }

func reason(r string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + r + `"}]}`
}

const lessonTools = `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"x":{"type":"integer"}}}}},` +
	`{"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{}}}},` +
	`{"type":"function","function":{"name":"fetch"}}]`

const lessonRequest = `{"model":"m","stream":true,` + lessonTools + `,"messages":[{"role":"user","content":"go"}]}`

// A heard call is what the simplest client there is makes of a stream: it appends whatever comes under an index.
type heardCall struct{ id, name, args, kind string }

// listen is that client. Every rule that the lessons have for a stream is checked on the way.
func listen(t *testing.T, body string) (calls []heardCall, finish string) {
	t.Helper()
	data := frames(body)
	if len(data) == 0 || data[len(data)-1] != "[DONE]" {
		t.Fatalf("no end: %s", body)
	}
	for i, d := range data[:len(data)-1] {
		var f struct {
			Choices []struct {
				Delta struct {
					Role      string
					ToolCalls []struct {
						Index    *int
						ID, Type string
						Function struct {
							Name      string
							Arguments json.RawMessage
						}
					} `json:"tool_calls"`
				}
				FinishReason *string `json:"finish_reason"`
			}
			Usage json.RawMessage
		}
		if err := json.Unmarshal([]byte(d), &f); err != nil {
			t.Fatal(err)
		}
		if f.Choices == nil {
			t.Errorf("L17: choices is missing: %s", d)
		}
		if len(f.Usage) > 0 && string(f.Usage) != "null" {
			t.Errorf("L17: usage without being asked for: %s", d)
		}
		for _, c := range f.Choices {
			if i == 0 && c.Delta.Role != "assistant" {
				t.Errorf("L10: the first delta has no role: %s", d)
			}
			if c.FinishReason != nil {
				if finish != "" {
					t.Errorf("L13: a second finish reason, %s", *c.FinishReason)
				}
				finish = *c.FinishReason
			}
			for _, tc := range c.Delta.ToolCalls {
				if tc.Index == nil {
					t.Fatalf("L1: no index: %s", d)
				}
				if *tc.Index < 0 || *tc.Index > len(calls) {
					t.Fatalf("L2, L3: index %d after %d calls: %s", *tc.Index, len(calls), d)
				}
				if *tc.Index == len(calls) {
					calls = append(calls, heardCall{})
					if tc.ID == "" || tc.Type != "function" || tc.Function.Name == "" {
						t.Errorf("L4, L7: the first delta of a call lacks id, type or name: %s", d)
					}
				} else if tc.ID != "" || tc.Function.Name != "" {
					t.Errorf("L4: id or name once more: %s", d)
				}
				h := &calls[*tc.Index]
				h.id += tc.ID
				h.name += tc.Function.Name
				h.kind += tc.Type
				if len(tc.Function.Arguments) > 0 {
					var piece string
					if err := json.Unmarshal(tc.Function.Arguments, &piece); err != nil {
						t.Errorf("L11: arguments are no string: %s", d)
					}
					h.args += piece
				}
			}
		}
	}
	switch {
	case finish == "":
		t.Error("L16: no finish reason")
	case (finish == "tool_calls") != (len(calls) > 0):
		t.Errorf("L14: finish reason %q with %d calls", finish, len(calls))
	}
	return calls, finish
}

// Pieces of the streams of servers.
const (
	wholeCall = `{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}`
	startCall = `{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":""}}`
	done      = "[DONE]"
)

func callDeltas(list ...string) string {
	return delta(`{"role":"assistant","tool_calls":[` + strings.Join(list, ",") + `]}`)
}

// otherCall is a whole call of the function g, with another id and the same index.
var otherCall = strings.NewReplacer(`"f"`, `"g"`, "c1", "c2", `{\"x\":1}`, "{}").Replace(wholeCall)

// What the client is to hear of these calls.
var (
	heardF  = heardCall{"", "f", `{"x":1}`, "function"}
	heardG  = heardCall{"", "g", `{}`, "function"}
	oneCall = []heardCall{heardF}
	twoCall = []heardCall{heardF, heardG}
)

// A deviation is the stream of a server that breaks a rule, and what the simplest client must make of what it is sent.
type deviation struct {
	frames []string
	want   []heardCall
}

// hears plays the streams to that client.
func hears(t *testing.T, list map[string]deviation) {
	t.Helper()
	for name, d := range list {
		t.Run(name, func(t *testing.T) {
			srv, _ := lessonBackend(t, bridge.ModeNative, d.frames...)
			_, body := ask(t, srv, lessonRequest)
			got, _ := listen(t, body)
			ids := map[string]bool{}
			for i := range got {
				if ids[got[i].id] {
					t.Errorf("L7, L8: the id %q twice", got[i].id)
				}
				ids[got[i].id], got[i].id = true, ""
			}
			if fmt.Sprint(got) != fmt.Sprint(d.want) {
				t.Errorf("the client hears %v, want %v\n%s", got, d.want, body)
			}
		})
	}
}

// TestL01_Index: the client has an index with every delta of a call, whether the server sent one or not.
func TestL01_Index(t *testing.T) {
	hears(t, map[string]deviation{
		"as it should be": {[]string{callDeltas(startCall),
			callDeltas(`{"index":0,"function":{"arguments":"{\"x\":1}"}}`), reason("tool_calls"), done}, oneCall},
		"no index": {[]string{callDeltas(strings.Replace(wholeCall, `"index":0,`, "", 1)), reason("tool_calls"), done},
			oneCall},
	})
}

// TestL02_IndexPerCall: parallel calls that share an index at the server have their own at the client.
func TestL02_IndexPerCall(t *testing.T) {
	hears(t,
		map[string]deviation{"equal indexes": {[]string{callDeltas(wholeCall, otherCall), reason("tool_calls"), done},
			twoCall}})
}

// TestL03_IndexOfTheStream: a server that counts from 0 in every chunk.
func TestL03_IndexOfTheStream(t *testing.T) {
	hears(t,
		map[string]deviation{
			"index of the chunk": {[]string{callDeltas(wholeCall), callDeltas(otherCall), reason("tool_calls"), done},
				twoCall}})
}

// TestL04_NameOnce: a server that says id, type and name in every delta.
func TestL04_NameOnce(t *testing.T) {
	hears(t, map[string]deviation{
		"name and id again": {[]string{callDeltas(startCall), callDeltas(wholeCall), reason("tool_calls"), done},
			oneCall},
		"in pieces": {[]string{callDeltas(startCall), callDeltas(strings.Replace(wholeCall, `{\"x\":1}`, `{\"x\"`, 1)),
			callDeltas(strings.Replace(wholeCall, `{\"x\":1}`, `:1}`, 1)), reason("tool_calls"), done}, oneCall},
	})
}

// TestL05_NameNotAppended: a name that comes again is the same name, and one that comes in pieces is put together.
func TestL05_NameNotAppended(t *testing.T) {
	fetch := []heardCall{{"", "fetch", "{}", "function"}}
	arguments := callDeltas(`{"index":0,"function":{"arguments":"{}"}}`)
	named := func(name string) string {
		return callDeltas(`{"index":0,"id":"c1","function":{"name":"` + name + `"}}`)
	}
	hears(t, map[string]deviation{
		"split": {[]string{named("fe"), callDeltas(`{"index":0,"function":{"name":"tch"}}`), arguments,
			reason("tool_calls"), done}, fetch},
		"split in three": {[]string{named("f"), callDeltas(`{"index":0,"function":{"name":"et"}}`),
			callDeltas(`{"index":0,"function":{"name":"ch"}}`), arguments, reason("tool_calls"), done}, fetch},
		"again":               {[]string{named("fetch"), named("fetch"), arguments, reason("tool_calls"), done}, fetch},
		"again, with nothing": {[]string{named("fetch"), named(""), arguments, reason("tool_calls"), done}, fetch},
	})
}

// TestL06_ByIndex: deltas without an id belong to the call of their index, also when two calls take turns.
func TestL06_ByIndex(t *testing.T) {
	hears(t, map[string]deviation{
		"no id": {[]string{callDeltas(startCall),
			callDeltas(`{"index":0,"id":null,"function":{"arguments":"{\"x\""}}`),
			callDeltas(`{"index":0,"function":{"arguments":":1}"}}`), reason("tool_calls"), done}, oneCall},
		"taking turns": {
			[]string{callDeltas(startCall, `{"index":1,"id":"c2","function":{"name":"g","arguments":""}}`),
				callDeltas(`{"index":0,"function":{"arguments":"{\"x\""}}`),
				callDeltas(`{"index":1,"function":{"arguments":"{"}}`),
				callDeltas(`{"index":0,"function":{"arguments":":1}"}}`),
				callDeltas(`{"index":1,"function":{"arguments":"}"}}`), reason("tool_calls"), done}, twoCall},
	})
}

// TestL07_ID: a call whose server gives it an empty id has one.
func TestL07_ID(t *testing.T) {
	hears(t,
		map[string]deviation{
			"empty": {[]string{callDeltas(strings.Replace(wholeCall, "c1", "", 1)), reason("tool_calls"), done},
				oneCall}})
}

// TestL08_IdsOfAConversation: a server that counts its calls from 0 in every answer gives ids that are used already.
func TestL08_IdsOfAConversation(t *testing.T) {
	srv, _ := lessonBackend(t, bridge.ModeNative,
		delta(`{"tool_calls":[{"index":0,"id":"f:0","function":{"name":"f","arguments":"{}"}}]}`),
		reason("tool_calls"), "[DONE]")
	_, body := ask(t, srv, `{"model":"m","stream":true,`+lessonTools+`,"messages":[{"role":"user","content":"go"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"f:0","type":"function","function":{"name":"f","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"f:0","content":"1"}]}`)
	calls, _ := listen(t, body)
	if len(calls) != 1 || calls[0].id == "f:0" || calls[0].id == "" {
		t.Errorf("%v", calls)
	}
}

// TestL09_IDsPerTarget: a client of another protocol knows a call under an id of its form, and the server hears its own
// again. A server that takes only nine letters and digits gets them.
func TestL09_IDsPerTarget(t *testing.T) {
	const tools = `"max_tokens":9,"tools":[{"name":"f","input_schema":{"type":"object"}}]`
	srv, sent := lessonBackend(t, bridge.ModeNative, callDeltas(strings.Replace(wholeCall, "c1", "search:0", 1)),
		reason("tool_calls"), done)
	_, body := send(t, srv, "POST", pathMessages, `{"model":"m",`+tools+`,"messages":[{"role":"user","content":"go"}]}`)
	var m struct {
		Content []struct{ Type, ID string }
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil || len(m.Content) != 1 ||
		!regexp.MustCompile(`^toolu_[A-Za-z0-9_-]+$`).MatchString(m.Content[0].ID) {
		t.Fatalf("%v %s", err, body)
	}
	id := m.Content[0].ID
	send(t, srv, "POST", pathMessages,
		`{"model":"m",`+tools+
			`,"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"tool_use","id":"`+id+
			`","name":"f","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"`+id+`","content":"1"}]}]}`)
	if !strings.Contains(*sent, `"tool_call_id":"search:0"`) || !strings.Contains(*sent, `"id":"search:0"`) {
		t.Errorf("the server is sent %s", *sent)
	}

	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		*sent = string(body)
		fmt.Fprint(w, `{"choices":[{"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`)
	}))
	mistral := openai.New(openai.Options{URL: backend.URL + "/v1", Request: wire.RequestOptions{CallIDs: wire.CallIDsNine}})
	t.Cleanup(func() {
		mistral.Close()
		backend.Close()
	})
	ask(t, serve(t, one(bridge.New(mistral, bridge.Options{Mode: bridge.ModeNative}))),
		`{"model":"m",`+lessonTools+`,"messages":[{"role":"user","content":"go"},
		{"role":"assistant","tool_calls":[{"id":"`+id+
			`","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"`+id+
			`","content":"1"}]}`)
	found := regexp.MustCompile(`"(?:id|tool_call_id)":"([A-Za-z0-9]{9})"`).FindAllStringSubmatch(*sent, -1)
	if len(found) != 2 || found[0][1] != found[1][1] {
		t.Errorf("the server is sent %s", *sent)
	}
}

// TestL10_Role: the first delta has the role, whether the server sent it or not.
func TestL10_Role(t *testing.T) {
	hears(t,
		map[string]deviation{"no role": {[]string{delta(`{"tool_calls":[` + wholeCall + `]}`), reason("tool_calls"),
			done}, oneCall}})
}

// TestL11_ArgumentsAreAString: a server that sends an object.
func TestL11_ArgumentsAreAString(t *testing.T) {
	hears(t,
		map[string]deviation{
			"an object": {[]string{callDeltas(strings.Replace(wholeCall, `"{\"x\":1}"`, `{"x":1}`, 1)),
				reason("tool_calls"), done}, oneCall}})
}

// TestL12_NoArguments: a call without arguments has an empty object.
func TestL12_NoArguments(t *testing.T) {
	none := strings.Replace(otherCall, `"{}"`, `""`, 1)
	hears(t, map[string]deviation{
		"empty": {[]string{callDeltas(none), reason("tool_calls"), done}, []heardCall{heardG}},
		"absent": {[]string{callDeltas(`{"index":0,"id":"c2","type":"function","function":{"name":"g"}}`),
			reason("tool_calls"), done}, []heardCall{heardG}},
		"empty, and then": {[]string{callDeltas(startCall), callDeltas(`{"index":0,"function":{"arguments":""}}`),
			callDeltas(`{"index":0,"function":{"arguments":"{\"x\":1}"}}`), reason("tool_calls"), done}, oneCall},
	})
}

// TestL13_OneFinishReason: never tool_calls and then stop.
func TestL13_OneFinishReason(t *testing.T) {
	hears(t,
		map[string]deviation{"two": {[]string{callDeltas(wholeCall), reason("tool_calls"), reason("stop"), done},
			oneCall}})
}

// TestL14_ReasonOfCalls: tool_calls when there are calls, and only then.
func TestL14_ReasonOfCalls(t *testing.T) {
	hears(t, map[string]deviation{
		"stop with calls":               {[]string{callDeltas(wholeCall), reason("stop"), done}, oneCall},
		"announced, and none there":     {[]string{delta(`{"content":"no"}`), reason("tool_calls"), done}, nil},
		"announced in another spelling": {[]string{callDeltas(wholeCall), reason("tool_call"), done}, oneCall},
	})
}

// TestL15_CallsDecide: what a server calls the end of an answer with calls does not matter.
func TestL15_CallsDecide(t *testing.T) {
	hears(t, map[string]deviation{
		"no reason":         {[]string{callDeltas(wholeCall), done}, oneCall},
		"an unknown reason": {[]string{callDeltas(wholeCall), reason("eos"), done}, oneCall},
	})
}

// TestL16_AlwaysAReason: every answer ends with a reason of the protocol.
func TestL16_AlwaysAReason(t *testing.T) {
	hears(t, map[string]deviation{
		"unknown": {[]string{delta(`{"content":"no"}`), reason("eos"), done}, nil},
		"none":    {[]string{delta(`{"content":"no"}`), done}, nil},
		"no end":  {[]string{callDeltas(wholeCall), reason("tool_calls")}, oneCall},
	})
}

// TestL17_UsageUnasked: counts that nobody asked for are not sent on.
func TestL17_UsageUnasked(t *testing.T) {
	hears(t,
		map[string]deviation{
			"unasked": {[]string{delta(`{"content":"no"}`), reason("stop"),
				`{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, done}, nil}})
}

// TestL17_UsageWhenAskedFor: the chunk with the counts has an empty list of choices.
func TestL17_UsageWhenAskedFor(t *testing.T) {
	srv, _ := lessonBackend(t, bridge.ModeNative, delta(`{"content":"hi"}`), reason("stop"),
		`{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, "[DONE]")
	_, body := ask(t, srv,
		strings.Replace(lessonRequest, `"stream":true`, `"stream":true,"stream_options":{"include_usage":true}`, 1))
	data := frames(body)
	if last := data[len(data)-2]; !strings.Contains(last, `"choices":[]`) ||
		!strings.Contains(last, `"completion_tokens":2`) {
		t.Errorf("%s", last)
	}
}

// A sent request is what a client sends beside the model, and what the server must and must not get.
type sentRequest struct {
	body            string
	wants, wantsNot []string
}

// accepts sends the requests. No form of them may be refused, and the server must get one that it takes.
func accepts(t *testing.T, list map[string]sentRequest) {
	t.Helper()
	for name, tt := range list {
		t.Run(name, func(t *testing.T) {
			srv, sent := lessonBackend(t, bridge.ModeNative, delta(`{"content":"hi"}`), reason("stop"), done)
			resp, body := ask(t, srv, `{"model":"m","stream":true,`+tt.body+`}`)
			if resp.StatusCode != 200 {
				t.Fatalf("status %d: %s", resp.StatusCode, body)
			}
			listen(t, body)
			for _, w := range tt.wants {
				if !strings.Contains(*sent, w) {
					t.Errorf("the server does not get %s: %s", w, *sent)
				}
			}
			for _, w := range tt.wantsNot {
				if strings.Contains(*sent, w) {
					t.Errorf("the server gets %s: %s", w, *sent)
				}
			}
		})
	}
}

const earlierCall = `"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]`

// TestL18_ContentBesideCalls: null, empty and absent are all the same.
func TestL18_ContentBesideCalls(t *testing.T) {
	list := map[string]sentRequest{}
	for _, content := range []string{`"content":null,`, `"content":"",`, ``} {
		list["with "+content] = sentRequest{body: `"messages":[{"role":"user","content":"a"},{"role":"assistant",` +
			content + earlierCall + `},{"role":"tool","tool_call_id":"c1","content":"r"}]`,
			wants: []string{`"tool_calls"`, `"tool_call_id":"c1"`}}
	}
	accepts(t, list)
}

// TestL19_ContentOfResults is a string or a list of parts.
func TestL19_ContentOfResults(t *testing.T) {
	const before = `"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant",` +
		earlierCall + `},{"role":"tool","tool_call_id":"c1","content":`
	accepts(t, map[string]sentRequest{
		"parts":    {body: before + `[{"type":"text","text":"the result"}]}]`, wants: []string{`"the result"`}},
		"a string": {body: before + `"the result"}]`, wants: []string{`"the result"`}},
	})
}

// TestL22_UnknownKeys are ignored, and do not reach the server.
func TestL22_UnknownKeys(t *testing.T) {
	accepts(t,
		map[string]sentRequest{
			"": {
				body: `"messages":[{"role":"user","content":"a"}],"keep_alive":"5m","client_metadata":{"a":1},"prompt_cache_key":"k","include":["x"],"context_management":{}`,
				wantsNot: []string{"keep_alive", "client_metadata", "prompt_cache_key", `"include"`,
					"context_management"}}})
}

// TestL23_ToolsAndStream go together, and results without a call do not reach a server as such.
func TestL23_ToolsAndStream(t *testing.T) {
	accepts(t, map[string]sentRequest{
		"tools and a stream": {body: lessonTools + `,"messages":[{"role":"user","content":"a"}]`,
			wants: []string{`"stream":true`, `"tools"`}},
		"an orphan": {
			body: lessonTools +
				`,"messages":[{"role":"user","content":"a"},{"role":"tool","tool_call_id":"gone","content":"the result"}]`, wants: []string{"the result"}, wantsNot: []string{`"role":"tool"`}},
		"no result": {body: `"messages":[{"role":"user","content":"a"},{"role":"assistant",` + earlierCall +
			`},{"role":"user","content":"stop"}]`,
			wants: []string{`"role":"tool","tool_call_id":"c1","content":"There is no result of this call."`}},
		"a late result": {body: `"messages":[{"role":"user","content":"a"},{"role":"assistant",` + earlierCall +
			`},{"role":"user","content":"wait"},{"role":"tool","tool_call_id":"c1","content":"r"}]`,
			wants: []string{`"tool_call_id":"c1","content":"r"},{"role":"user","content":"wait"}]`}},
		"broken arguments": {
			body:  `"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\": "}}]},{"role":"tool","tool_call_id":"c1","content":"r"}]`,
			wants: []string{`"tool_call_id":"c1"`}},
	})
}

// TestL24_OtherTools: entries that are no functions are skipped.
func TestL24_OtherTools(t *testing.T) {
	accepts(t,
		map[string]sentRequest{
			"": {
				body:  `"tools":[{"type":"web_search","external_web_access":false},{"type":"namespace","name":"multi","tools":[]},{"type":"function","function":{"name":"f"}}],"messages":[{"role":"user","content":"a"}]`,
				wants: []string{`"name":"f"`}, wantsNot: []string{"web_search", "namespace"}}})
}

// TestL20_MessagesBlocks: a block of text is closed before a call begins, and begins with an empty text.
func TestL20_MessagesBlocks(t *testing.T) {
	srv, _ := lessonBackend(t, bridge.ModeNative, delta(`{"content":"I look."}`),
		delta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"x\":1}"}}]}`),
		reason("tool_calls"), "[DONE]")
	_, body := send(t, srv, "POST", pathMessages,
		`{"model":"m","max_tokens":9,"stream":true,"tools":[{"name":"f","input_schema":{"type":"object","properties":{"x":{"type":"integer"}}}}],"messages":[{"role":"user","content":"go"}]}`)
	if _, failed, err := messagesStream(body); err != nil || failed {
		t.Fatalf("%v %s", err, body)
	}
	events, err := eventData(body)
	if err != nil {
		t.Fatal(err)
	}
	open, starts := -1, 0
	for _, e := range events {
		var f struct {
			Type  string
			Index int
			Block map[string]any `json:"content_block"`
		}
		if err := json.Unmarshal([]byte(e), &f); err != nil {
			t.Fatal(err)
		}
		switch f.Type {
		case "content_block_start":
			if starts++; open >= 0 {
				t.Errorf("block %d begins inside block %d", f.Index, open)
			}
			open = f.Index
			if text, ok := f.Block["text"]; f.Block["type"] == "text" && (!ok || text != "") {
				t.Errorf("a block of text begins with %v", text)
			}
		case "content_block_stop":
			open = -1
		case "content_block_delta":
			if f.Index != open {
				t.Errorf("a delta of block %d while %d is open", f.Index, open)
			}
		}
	}
	if starts != 2 {
		t.Errorf("%d blocks", starts)
	}
}

// TestL21_ResponsesCompleted: a stream ends with response.completed, and the id of a call is not that of its item.
func TestL21_ResponsesCompleted(t *testing.T) {
	srv, _ := lessonBackend(t, bridge.ModeNative,
		delta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"x\":1}"}}]}`),
		reason("tool_calls"), "[DONE]")
	_, body := send(t, srv, "POST", pathResponses,
		`{"model":"m","stream":true,"input":"go","tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{"x":{"type":"integer"}}}}]}`)
	events, err := eventData(body)
	if err != nil {
		t.Fatal(err)
	}
	var last struct {
		Type     string
		Response struct {
			Output []struct {
				Type, ID, Name, Arguments string
				CallID                    string `json:"call_id"`
			}
		}
	}
	if err := json.Unmarshal([]byte(events[len(events)-1]), &last); err != nil {
		t.Fatal(err)
	}
	if last.Type != "response.completed" || len(last.Response.Output) != 1 {
		t.Fatalf("%s", events[len(events)-1])
	}
	if o := last.Response.Output[0]; o.Type != "function_call" || o.CallID == "" || o.CallID == o.ID ||
		o.Name != "f" || o.Arguments != `{"x":1}` {
		t.Errorf("%+v", o)
	}
}
