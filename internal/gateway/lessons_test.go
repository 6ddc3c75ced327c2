package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"wield/bridge"
	"wield/model/openai"
)

// The tests in this file are named after lessons about the protocol that clients and servers have taught, L1 to L24.

// lessonBackend serves, as m, a model whose server's function calling is used. What the server was sent last is in the string.
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

// TestServerDeviations_L01toL17 gives the simplest client the streams of servers that break each rule. It must see right ones.
func TestServerDeviations_L01toL17(t *testing.T) {
	const (
		whole = `{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}`
		start = `{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":""}}`
	)
	calls := func(list ...string) string {
		return delta(`{"role":"assistant","tool_calls":[` + strings.Join(list, ",") + `]}`)
	}
	one := []heardCall{{"", "f", `{"x":1}`, "function"}}
	two := append(one, heardCall{"", "g", `{}`, "function"})
	for _, tt := range []struct {
		name   string
		frames []string
		want   []heardCall
	}{
		{"as it should be", []string{calls(start), calls(`{"index":0,"function":{"arguments":"{\"x\":1}"}}`), reason("tool_calls"), "[DONE]"}, one},
		{"L1 no index", []string{calls(strings.Replace(whole, `"index":0,`, "", 1)), reason("tool_calls"), "[DONE]"}, one},
		{"L2 equal indexes", []string{calls(whole, strings.NewReplacer(`"f"`, `"g"`, "c1", "c2", `{\"x\":1}`, "{}").Replace(whole)), reason("tool_calls"), "[DONE]"}, two},
		{"L3 index of the chunk", []string{calls(whole), calls(strings.NewReplacer(`"f"`, `"g"`, "c1", "c2", `{\"x\":1}`, "{}").Replace(whole)), reason("tool_calls"), "[DONE]"}, two},
		{"L4 name and id in every delta", []string{calls(start), calls(strings.Replace(whole, `{\"x\"`, `{\"x\"`, 1)), reason("tool_calls"), "[DONE]"}, one},
		{"L5 split name", []string{calls(`{"index":0,"id":"c1","function":{"name":"fe"}}`), calls(`{"index":0,"function":{"name":"tch"}}`), calls(`{"index":0,"function":{"arguments":"{}"}}`), reason("tool_calls"), "[DONE]"}, []heardCall{{"", "fetch", "{}", "function"}}},
		{"L6 no id in later deltas", []string{calls(start), calls(`{"index":0,"id":null,"function":{"arguments":"{\"x\""}}`), calls(`{"index":0,"function":{"arguments":":1}"}}`), reason("tool_calls"), "[DONE]"}, one},
		{"L7 empty id", []string{calls(strings.Replace(whole, "c1", "", 1)), reason("tool_calls"), "[DONE]"}, one},
		{"L10 no role", []string{delta(`{"tool_calls":[` + whole + `]}`), reason("tool_calls"), "[DONE]"}, one},
		{"L11 arguments as an object", []string{calls(strings.Replace(whole, `"{\"x\":1}"`, `{"x":1}`, 1)), reason("tool_calls"), "[DONE]"}, one},
		{"L12 no arguments", []string{calls(strings.NewReplacer(`"f"`, `"g"`, `{\"x\":1}`, "").Replace(whole)), reason("tool_calls"), "[DONE]"}, []heardCall{{"", "g", "{}", "function"}}},
		{"L13 two finish reasons", []string{calls(whole), reason("tool_calls"), reason("stop"), "[DONE]"}, one},
		{"L14 stop with calls", []string{calls(whole), reason("stop"), "[DONE]"}, one},
		{"L14 calls announced, and none there", []string{delta(`{"content":"no"}`), reason("tool_calls"), "[DONE]"}, nil},
		{"L15 no reason with calls", []string{calls(whole), "[DONE]"}, one},
		{"L16 an unknown reason", []string{delta(`{"content":"no"}`), reason("eos"), "[DONE]"}, nil},
		{"L17 usage unasked", []string{delta(`{"content":"no"}`), reason("stop"), `{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, "[DONE]"}, nil},
		{"no [DONE]", []string{calls(whole), reason("tool_calls")}, one},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv, _ := lessonBackend(t, bridge.ModeNative, tt.frames...)
			_, body := ask(t, srv, lessonRequest)
			got, _ := listen(t, body)
			ids := map[string]bool{}
			for i := range got {
				if ids[got[i].id] {
					t.Errorf("L7, L8: the id %q twice", got[i].id)
				}
				ids[got[i].id], got[i].id = true, ""
			}
			if fmt.Sprint(got) != fmt.Sprint(tt.want) {
				t.Errorf("the client hears %v, want %v\n%s", got, tt.want, body)
			}
		})
	}
}

// TestL08_IdsOfAConversation: a server that counts its calls from 0 in every answer gives ids that are used already.
func TestL08_IdsOfAConversation(t *testing.T) {
	srv, _ := lessonBackend(t, bridge.ModeNative,
		delta(`{"tool_calls":[{"index":0,"id":"f:0","function":{"name":"f","arguments":"{}"}}]}`), reason("tool_calls"), "[DONE]")
	_, body := ask(t, srv, `{"model":"m","stream":true,`+lessonTools+`,"messages":[{"role":"user","content":"go"},
		{"role":"assistant","content":null,"tool_calls":[{"id":"f:0","type":"function","function":{"name":"f","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"f:0","content":"1"}]}`)
	calls, _ := listen(t, body)
	if len(calls) != 1 || calls[0].id == "f:0" || calls[0].id == "" {
		t.Errorf("%v", calls)
	}
}

// TestL17_UsageWhenAskedFor: the chunk with the counts has an empty list of choices.
func TestL17_UsageWhenAskedFor(t *testing.T) {
	srv, _ := lessonBackend(t, bridge.ModeNative, delta(`{"content":"hi"}`), reason("stop"), `{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, "[DONE]")
	_, body := ask(t, srv, strings.Replace(lessonRequest, `"stream":true`, `"stream":true,"stream_options":{"include_usage":true}`, 1))
	data := frames(body)
	if last := data[len(data)-2]; !strings.Contains(last, `"choices":[]`) || !strings.Contains(last, `"completion_tokens":2`) {
		t.Errorf("%s", last)
	}
}

// TestL18toL24_Requests sends what clients send. No form of it may be refused, and the server must get one that it takes.
func TestL18toL24_Requests(t *testing.T) {
	const call = `"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]`
	for _, tt := range []struct {
		name, body string
		wants      []string // in what the server gets
		wantsNot   []string
	}{
		{"L18 content null", `"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,` + call + `},{"role":"tool","tool_call_id":"c1","content":"r"}]`, []string{`"tool_calls"`}, nil},
		{"L18 content empty", `"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"",` + call + `},{"role":"tool","tool_call_id":"c1","content":"r"}]`, []string{`"tool_calls"`}, nil},
		{"L18 content absent", `"messages":[{"role":"user","content":"a"},{"role":"assistant",` + call + `},{"role":"tool","tool_call_id":"c1","content":"r"}]`, []string{`"tool_calls"`}, nil},
		{"L19 content in parts", `"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant",` + call + `},{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"the result"}]}]`, []string{"the result"}, nil},
		{"L22 unknown keys", `"messages":[{"role":"user","content":"a"}],"keep_alive":"5m","client_metadata":{"a":1},"prompt_cache_key":"k","include":["x"]`, nil, []string{"keep_alive", "client_metadata", "include\""}},
		{"L23 tools and a stream", lessonTools + `,"messages":[{"role":"user","content":"a"}]`, []string{`"stream":true`, `"tools"`}, nil},
		{"L24 entries that are no functions", `"tools":[{"type":"web_search","external_web_access":false},{"type":"namespace","name":"multi","tools":[]},{"type":"function","function":{"name":"f"}}],"messages":[{"role":"user","content":"a"}]`, []string{`"name":"f"`}, []string{"web_search", "namespace"}},
		{"malformed arguments in the history", `"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\": "}}]},{"role":"tool","tool_call_id":"c1","content":"r"}]`, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv, sent := lessonBackend(t, bridge.ModeNative, delta(`{"content":"hi"}`), reason("stop"), "[DONE]")
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

// TestL20_MessagesBlocks: a block of text is closed before a call begins, and begins with an empty text.
func TestL20_MessagesBlocks(t *testing.T) {
	const path = "/v1/messages"
	if found, _ := endpoints.at(path); len(found) == 0 {
		t.Skip(path + " is not served")
	}
	srv, _ := lessonBackend(t, bridge.ModeNative, delta(`{"content":"I look."}`),
		delta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"x\":1}"}}]}`), reason("tool_calls"), "[DONE]")
	_, body := send(t, srv, "POST", path, `{"model":"m","max_tokens":9,"stream":true,"tools":[{"name":"f","input_schema":{"type":"object","properties":{"x":{"type":"integer"}}}}],"messages":[{"role":"user","content":"go"}]}`)
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
	const path = "/v1/responses"
	if found, _ := endpoints.at(path); len(found) == 0 {
		t.Skip(path + " is not served")
	}
	srv, _ := lessonBackend(t, bridge.ModeNative, delta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{\"x\":1}"}}]}`), reason("tool_calls"), "[DONE]")
	_, body := send(t, srv, "POST", path, `{"model":"m","stream":true,"input":"go","tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{"x":{"type":"integer"}}}}]}`)
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
	if o := last.Response.Output[0]; o.Type != "function_call" || o.CallID == "" || o.CallID == o.ID || o.Name != "f" || o.Arguments != `{"x":1}` {
		t.Errorf("%+v", o)
	}
}
