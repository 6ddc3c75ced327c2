package responses

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"wield/chat"
)

func textEvent(s string) chat.Event { return chat.Event{Kind: chat.KindText, Text: s} }

func thoughtEvent(s string) chat.Event { return chat.Event{Kind: chat.KindReasoning, Text: s} }

func finishEvent(r chat.FinishReason) chat.Event {
	return chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: r}}
}

func usageEvent(u chat.Usage) chat.Event {
	return chat.Event{Kind: chat.KindUsage, Detail: &u}
}

// callEvents gives the events of a whole call, its arguments in the pieces given.
func callEvents(id, name string, args ...string) []chat.Event {
	events := []chat.Event{{Kind: chat.KindCallStart, ID: id, Name: name}}
	for _, a := range args {
		events = append(events, chat.Event{Kind: chat.KindCallArgs, Text: a})
	}
	whole := &chat.Call{ID: id, Name: name, Arguments: strings.Join(args, ""), Complete: true}
	return append(events, chat.Event{Kind: chat.KindCallEnd, ID: id, Name: name, Detail: whole})
}

func rejectedEvent(raw string, reason chat.Reason, flags chat.Flags) chat.Event {
	return chat.Event{Kind: chat.KindRejected, Index: -1, Flags: flags,
		Detail: &chat.RejectedDetail{Reason: reason, Raw: raw}}
}

func joinEvents(lists ...[]chat.Event) (all []chat.Event) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

var plainOptions = ResponseOptions{ID: "resp_1", Created: 7, Model: "m"}

// streamed writes events and returns the frames, of which those with the whole response are shortened to its status and
// output.
func streamed(t *testing.T, o ResponseOptions, events []chat.Event) []string {
	t.Helper()
	w := NewStreamWriter(o)
	var b []byte
	for _, e := range events {
		b = w.Append(b, e)
	}
	return shorten(t, b)
}

func shorten(t *testing.T, b []byte) (frames []string) {
	t.Helper()
	for i, frame := range strings.Split(strings.TrimSuffix(string(b), "\n\n"), "\n\n") {
		name, data, ok := strings.Cut(strings.TrimPrefix(frame, "event: "), "\ndata: ")
		if !ok || strings.Contains(data, "\n") {
			t.Fatalf("frame is not an event and a line of data: %q", frame)
		}
		head := fmt.Sprintf(`{"type":%q,"sequence_number":%d,`, name, i)
		if !strings.HasPrefix(data, head) {
			t.Fatalf("frame %d begins with %.80s, want %s", i, data, head)
		}
		if !json.Valid([]byte(data)) {
			t.Fatalf("data is no JSON: %s", data)
		}
		var whole struct {
			Response *struct {
				Status     string
				Output     json.RawMessage
				Incomplete json.RawMessage `json:"incomplete_details"`
				Error      json.RawMessage
				Usage      json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(data), &whole); err == nil && whole.Response != nil {
			r := whole.Response
			frames = append(frames, fmt.Sprintf("%s %s %s %s %s %s", name, r.Status, r.Output, r.Incomplete, r.Error,
				r.Usage))
			continue
		}
		frames = append(frames, name+" {"+strings.TrimPrefix(data, head))
	}
	return frames
}

const (
	created = "response.created in_progress [] null null null"
	running = "response.in_progress in_progress [] null null null"
)

// TestStreams: the exact events, in the exact order, that clients were found to accept.
func TestStreams(t *testing.T) {
	spaces := ResponseOptions{ID: "resp_1", Model: "m", Request: &Request{spaced: map[string]spaced{"f": {"crm", "f"}}}}
	for _, tt := range []struct {
		name   string
		o      ResponseOptions
		events []chat.Event
		want   []string
	}{
		{"text", plainOptions, []chat.Event{textEvent("Hel"), {Kind: chat.KindIdle}, textEvent("lo"),
			usageEvent(chat.Usage{Known: true, In: 10, Out: 5, Cached: 2}), finishEvent(chat.FinishStop)}, []string{
			created, running,
			`response.output_item.added {"output_index":0,"item":{"id":"msg_1_0","type":"message","role":"assistant","status":"in_progress","content":[]}}`,
			`response.content_part.added {"item_id":"msg_1_0","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"text":"","logprobs":[]}}`,
			`response.output_text.delta {"item_id":"msg_1_0","output_index":0,"content_index":0,"delta":"Hel","logprobs":[]}`,
			`response.output_text.delta {"item_id":"msg_1_0","output_index":0,"content_index":0,"delta":"lo","logprobs":[]}`,
			`response.output_text.done {"item_id":"msg_1_0","output_index":0,"content_index":0,"text":"Hello","logprobs":[]}`,
			`response.content_part.done {"item_id":"msg_1_0","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"text":"Hello","logprobs":[]}}`,
			`response.output_item.done {"output_index":0,"item":{"id":"msg_1_0","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","annotations":[],"text":"Hello","logprobs":[]}]}}`,
			`response.completed completed [{"id":"msg_1_0","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","annotations":[],"text":"Hello","logprobs":[]}]}] null null ` +
				`{"input_tokens":10,"input_tokens_details":{"cached_tokens":2},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":15}`,
		}},
		{"reasoning, text, two calls", plainOptions,
			joinEvents([]chat.Event{thoughtEvent("Hm."), textEvent("I look.")},
				callEvents("call_a", "f", `{"a":`, `1}`), callEvents("", "g"),
				[]chat.Event{finishEvent(chat.FinishCalls)}), []string{
				created, running,
				`response.output_item.added {"output_index":0,"item":{"id":"rs_1_0","type":"reasoning","summary":[]}}`,
				`response.reasoning_summary_part.added {"item_id":"rs_1_0","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}`,
				`response.reasoning_summary_text.delta {"item_id":"rs_1_0","output_index":0,"summary_index":0,"delta":"Hm."}`,
				`response.reasoning_summary_text.done {"item_id":"rs_1_0","output_index":0,"summary_index":0,"text":"Hm."}`,
				`response.reasoning_summary_part.done {"item_id":"rs_1_0","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":"Hm."}}`,
				`response.output_item.done {"output_index":0,"item":{"id":"rs_1_0","type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}]}}`,
				`response.output_item.added {"output_index":1,"item":{"id":"msg_1_1","type":"message","role":"assistant","status":"in_progress","content":[]}}`,
				`response.content_part.added {"item_id":"msg_1_1","output_index":1,"content_index":0,"part":{"type":"output_text","annotations":[],"text":"","logprobs":[]}}`,
				`response.output_text.delta {"item_id":"msg_1_1","output_index":1,"content_index":0,"delta":"I look.","logprobs":[]}`,
				`response.output_text.done {"item_id":"msg_1_1","output_index":1,"content_index":0,"text":"I look.","logprobs":[]}`,
				`response.content_part.done {"item_id":"msg_1_1","output_index":1,"content_index":0,"part":{"type":"output_text","annotations":[],"text":"I look.","logprobs":[]}}`,
				`response.output_item.done {"output_index":1,"item":{"id":"msg_1_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","annotations":[],"text":"I look.","logprobs":[]}]}}`,
				`response.output_item.added {"output_index":2,"item":{"id":"fc_1_2","type":"function_call","status":"in_progress","call_id":"call_a","name":"f","arguments":""}}`,
				`response.function_call_arguments.delta {"item_id":"fc_1_2","output_index":2,"delta":"{\"a\":"}`,
				`response.function_call_arguments.delta {"item_id":"fc_1_2","output_index":2,"delta":"1}"}`,
				`response.function_call_arguments.done {"item_id":"fc_1_2","output_index":2,"arguments":"{\"a\":1}"}`,
				`response.output_item.done {"output_index":2,"item":{"id":"fc_1_2","type":"function_call","status":"completed","call_id":"call_a","name":"f","arguments":"{\"a\":1}"}}`,
				`response.output_item.added {"output_index":3,"item":{"id":"fc_1_3","type":"function_call","status":"in_progress","call_id":"call_1_3","name":"g","arguments":""}}`,
				`response.function_call_arguments.delta {"item_id":"fc_1_3","output_index":3,"delta":"{}"}`,
				`response.function_call_arguments.done {"item_id":"fc_1_3","output_index":3,"arguments":"{}"}`,
				`response.output_item.done {"output_index":3,"item":{"id":"fc_1_3","type":"function_call","status":"completed","call_id":"call_1_3","name":"g","arguments":"{}"}}`,
				`response.completed completed [{"id":"rs_1_0","type":"reasoning","summary":[{"type":"summary_text","text":"Hm."}]},` +
					`{"id":"msg_1_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","annotations":[],"text":"I look.","logprobs":[]}]},` +
					`{"id":"fc_1_2","type":"function_call","status":"completed","call_id":"call_a","name":"f","arguments":"{\"a\":1}"},` +
					`{"id":"fc_1_3","type":"function_call","status":"completed","call_id":"call_1_3","name":"g","arguments":"{}"}] null null null`,
			}},
		{"a tool of a namespace", spaces,
			joinEvents(callEvents("c", "f", `{}`), []chat.Event{finishEvent(chat.FinishCalls)}), []string{
				created, running,
				`response.output_item.added {"output_index":0,"item":{"id":"fc_1_0","type":"function_call","status":"in_progress","call_id":"c","namespace":"crm","name":"f","arguments":""}}`,
				`response.function_call_arguments.delta {"item_id":"fc_1_0","output_index":0,"delta":"{}"}`,
				`response.function_call_arguments.done {"item_id":"fc_1_0","output_index":0,"arguments":"{}"}`,
				`response.output_item.done {"output_index":0,"item":{"id":"fc_1_0","type":"function_call","status":"completed","call_id":"c","namespace":"crm","name":"f","arguments":"{}"}}`,
				`response.completed completed [{"id":"fc_1_0","type":"function_call","status":"completed","call_id":"c","namespace":"crm","name":"f","arguments":"{}"}] null null null`,
			}},
		{"cut off", plainOptions, []chat.Event{textEvent("Hel"), finishEvent(chat.FinishLength)}, []string{
			created, running,
			`response.output_item.added {"output_index":0,"item":{"id":"msg_1_0","type":"message","role":"assistant","status":"in_progress","content":[]}}`,
			`response.content_part.added {"item_id":"msg_1_0","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"text":"","logprobs":[]}}`,
			`response.output_text.delta {"item_id":"msg_1_0","output_index":0,"content_index":0,"delta":"Hel","logprobs":[]}`,
			`response.output_text.done {"item_id":"msg_1_0","output_index":0,"content_index":0,"text":"Hel","logprobs":[]}`,
			`response.content_part.done {"item_id":"msg_1_0","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"text":"Hel","logprobs":[]}}`,
			`response.output_item.done {"output_index":0,"item":{"id":"msg_1_0","type":"message","role":"assistant","status":"incomplete","content":[{"type":"output_text","annotations":[],"text":"Hel","logprobs":[]}]}}`,
			`response.incomplete incomplete [{"id":"msg_1_0","type":"message","role":"assistant","status":"incomplete","content":[{"type":"output_text","annotations":[],"text":"Hel","logprobs":[]}]}] {"reason":"max_output_tokens"} null null`,
		}},
		{"nothing, filtered", plainOptions, []chat.Event{finishEvent(chat.FinishFiltered)}, []string{
			created, running, `response.incomplete incomplete [] {"reason":"content_filter"} null null`,
		}},
		{"nothing", plainOptions, []chat.Event{finishEvent(chat.FinishStop)}, []string{
			created, running,
			`response.output_item.added {"output_index":0,"item":{"id":"msg_1_0","type":"message","role":"assistant","status":"in_progress","content":[]}}`,
			`response.content_part.added {"item_id":"msg_1_0","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"text":"","logprobs":[]}}`,
			`response.output_text.done {"item_id":"msg_1_0","output_index":0,"content_index":0,"text":"","logprobs":[]}`,
			`response.content_part.done {"item_id":"msg_1_0","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"text":"","logprobs":[]}}`,
			`response.output_item.done {"output_index":0,"item":{"id":"msg_1_0","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","annotations":[],"text":"","logprobs":[]}]}}`,
			`response.completed completed [{"id":"msg_1_0","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","annotations":[],"text":"","logprobs":[]}]}] null null null`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, streamed(t, tt.o, tt.events)); diff != "" {
				t.Errorf("events differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNativeCalls: tools that the backend itself ran are items, where they are wanted.
func TestNativeCalls(t *testing.T) {
	events := []chat.Event{
		textEvent("I search."),
		{Kind: chat.KindNativeCall, ID: "n1", Name: "web_search", Text: `{"query":"tea"}`},
		{Kind: chat.KindNativeCall, ID: "n2", Name: "weather", Text: `{"city":"Rome"}`},
		{Kind: chat.KindNativeResult, ID: "n1", Name: "web_search", Text: `{"results":[]}`},
		{Kind: chat.KindNativeResult, ID: "n2", Name: "weather", Text: "no", Detail: &chat.Result{IsError: true}},
		{Kind: chat.KindNativeCall, ID: "n3", Name: "stock", Text: `{}`},
		textEvent("Found."), finishEvent(chat.FinishStop),
	}
	o := plainOptions
	o.Natives = true
	w, r := NewStreamWriter(o), NewResponse(o)
	var b []byte
	for _, e := range events {
		b = w.Append(b, e)
		r.Add(e)
	}
	const text = `{"id":"msg_1_%d","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","annotations":[],"text":%q,"logprobs":[]}]}`
	want := []string{fmt.Sprintf(text, 0, "I search."),
		`{"id":"ws_1_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"tea"}}`,
		`{"id":"mcp_1_2","type":"mcp_call","server_label":"native","status":"completed","name":"weather","arguments":"{\"city\":\"Rome\"}","output":null,"error":"no"}`,
		fmt.Sprintf(text, 3, "Found."),
		`{"id":"mcp_1_4","type":"mcp_call","server_label":"native","status":"completed","name":"stock","arguments":"{}","output":null,"error":null}`}
	for name, items := range map[string][]json.RawMessage{"stream": w.Items(), "whole": r.Items()} {
		var got []string
		for _, raw := range items {
			got = append(got, string(raw))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: items differ (-want +got):\n%s", name, diff)
		}
	}
	if frames := strings.Join(shorten(t, b), "\n"); strings.Count(frames, `"type":"web_search_call"`) != 3 ||
		strings.Count(frames, "output_item.added") != 5 {
		t.Errorf("frames:\n%s", frames)
	}
	if frames := strings.Join(streamed(t, plainOptions, events), "\n"); strings.Contains(frames, "web_search") ||
		strings.Contains(frames, "mcp_call") {
		t.Errorf("they are told of unasked:\n%s", frames)
	}
}

// TestBrokenCall: a call that the client knows of and that never became whole is closed as incomplete; without a
// stream its text is in the message.
func TestBrokenCall(t *testing.T) {
	raw := `{"name":"f","arguments":{"a":`
	events := []chat.Event{{Kind: chat.KindCallStart, ID: "c", Name: "f"}, {Kind: chat.KindCallArgs, Text: `{"a":`},
		rejectedEvent(raw, chat.ReasonIncomplete, 0), finishEvent(chat.FinishLength)}
	frames := streamed(t, plainOptions, events)
	want := `response.incomplete incomplete [{"id":"fc_1_0","type":"function_call","status":"incomplete","call_id":"c","name":"f","arguments":"{\"a\":"}] {"reason":"max_output_tokens"} null null`
	if got := frames[len(frames)-1]; got != want {
		t.Errorf("stream ends with\n%s\nwant\n%s", got, want)
	}
	r := NewResponse(plainOptions)
	for _, e := range events {
		r.Add(e)
	}
	if body := string(r.Append(nil)); strings.Contains(body, "function_call") ||
		!strings.Contains(body, `"text":"{\"name\":\"f\",\"arguments\":{\"a\":"`) {
		t.Errorf("the whole answer is %s", body)
	}
}

func TestRejectedText(t *testing.T) {
	frames := strings.Join(streamed(t, plainOptions, []chat.Event{rejectedEvent("hidden", chat.ReasonMalformed, 0),
		rejectedEvent("seen", chat.ReasonMalformed, chat.FlagSpent), finishEvent(chat.FinishStop)}), "\n")
	if strings.Contains(frames, "hidden") || !strings.Contains(frames, `"delta":"seen"`) {
		t.Errorf("frames:\n%s", frames)
	}
}

func TestStreamFails(t *testing.T) {
	failure := &chat.Error{Kind: chat.ErrUnavailable, Message: "it broke\noff"}
	item := `{"id":"msg_1_0","type":"message","role":"assistant","status":"incomplete","content":[{"type":"output_text","annotations":[],"text":"Hel","logprobs":[]}]}`
	w := NewStreamWriter(plainOptions)
	b := w.Append(nil, textEvent("Hel"))
	b = w.AppendError(b, failure)
	got := shorten(t, b)
	want := []string{`error {"code":"server_error","message":"it broke\noff","param":null}`,
		`response.failed failed [` + item + `] null {"code":"server_error","message":"it broke\noff"} null`}
	if diff := cmp.Diff(want, got[len(got)-2:]); diff != "" {
		t.Errorf("the end differs (-want +got):\n%s", diff)
	}
	for _, name := range []string{"output_item.done", "output_text.done"} {
		if strings.Contains(strings.Join(got, "\n"), name) {
			t.Errorf("the item under way was closed with %s", name)
		}
	}
	if more := w.Append(nil, finishEvent(chat.FinishStop)); len(more) > 0 {
		t.Errorf("something follows the error: %s", more)
	}
	// Before anything was said the stream still begins as streams do.
	w = NewStreamWriter(plainOptions)
	got = shorten(t, w.AppendError(nil, &chat.Error{Kind: chat.ErrContextLength, Message: "too long", Param: "input"}))
	want = []string{created, running, `error {"code":"context_length_exceeded","message":"too long","param":"input"}`,
		`response.failed failed [] null {"code":"context_length_exceeded","message":"too long"} null`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a failure at once differs (-want +got):\n%s", diff)
	}
}

func TestErrorBody(t *testing.T) {
	got := string(AppendError(nil, &chat.Error{Kind: chat.ErrBadRequest, Message: "no", Param: "input",
		Code: CodeMissingInput}))
	if want := `{"error":{"message":"no","type":"invalid_request_error","param":"input","code":"missing_input"}}`; got != want {
		t.Errorf("error is %s, want %s", got, want)
	}
	if s := Status(chat.ErrRateLimit); s != 429 {
		t.Errorf("status %d", s)
	}
}

// TestWholeFields: the response has every field that clients read, and repeats what it was asked.
func TestWholeFields(t *testing.T) {
	req, err := DecodeRequest(
		[]byte(
			`{"model":"m","input":"hi","instructions":"Be brief.","metadata":{"a":"b"},"tools":[{"type":"function","name":"f"}],
		"tool_choice":{"type":"function","name":"f"},"text":{"verbosity":"low"},"temperature":0.5,"store":false,"max_output_tokens":9,
		"conversation":{"id":"conv_1"},"user":"u","reasoning":{"effort":"low"}}`))
	if err != nil {
		t.Fatal(err)
	}
	r := NewResponse(ResponseOptions{ID: "resp_x", Created: 7, Model: "m", Request: req})
	r.Add(textEvent("ok"))
	r.Add(finishEvent(chat.FinishStop))
	want := `{"id":"resp_x","object":"response","created_at":7,"status":"completed","background":false,"error":null,"incomplete_details":null,"model":"m",` +
		`"output":[{"id":"msg_x_0","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","annotations":[],"text":"ok","logprobs":[]}]}],` +
		`"instructions":"Be brief.","max_output_tokens":9,"max_tool_calls":null,"metadata":{"a":"b"},"parallel_tool_calls":true,"previous_response_id":null,"prompt_cache_key":null,` +
		`"reasoning":{"effort":"low"},"safety_identifier":null,"temperature":0.5,"text":{"format":{"type":"text"},"verbosity":"low"},"tool_choice":{"type":"function","name":"f"},` +
		`"tools":[{"type":"function","name":"f"}],"top_logprobs":0,"top_p":null,"truncation":"disabled","user":"u","store":false,"conversation":{"id":"conv_1"},"usage":null}`
	if got := string(r.Append(nil)); got != want {
		t.Errorf("response is\n%s\nwant\n%s", got, want)
	}
	if items := r.Items(); len(items) != 1 || !strings.HasPrefix(string(items[0]), `{"id":"msg_x_0"`) {
		t.Errorf("items %s", items)
	}
}

func TestLogProbs(t *testing.T) {
	e := textEvent("Hi")
	e.Detail = chat.LogProbs(
		json.RawMessage(`{"content":[{"token":"Hi","logprob":-0.1,"top_logprobs":[]}],"refusal":null}`))
	got := strings.Join(streamed(t, plainOptions, []chat.Event{e, finishEvent(chat.FinishStop)}), "\n")
	if n := strings.Count(got, `"logprobs":[{"token":"Hi","logprob":-0.1,"top_logprobs":[]}]`); n != 5 {
		t.Errorf("log probabilities stand %d times, want 5:\n%s", n, got)
	}
}

// TestOneIDPerItem: for any answer, cut anywhere, the items of the stream are those of its last event and of the whole
// response: ids, indexes and text. Numbers count without a gap.
func TestOneIDPerItem(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "é", "\xc3", "\xa9", "\"", "\n", "", "{}", "€"})
	rapid.Check(t, func(rt *rapid.T) {
		var events []chat.Event
		for range rapid.IntRange(0, 8).Draw(rt, "parts") {
			var pieces []string
			for range rapid.IntRange(0, 4).Draw(rt, "pieces") {
				pieces = append(pieces, piece.Draw(rt, "piece"))
			}
			switch rapid.IntRange(0, 2).Draw(rt, "kind") {
			case 0:
				for _, p := range pieces {
					events = append(events, textEvent(p))
				}
			case 1:
				for _, p := range pieces {
					events = append(events, thoughtEvent(p))
				}
			case 2:
				events = append(events, callEvents(rapid.SampledFrom([]string{"", "call_x"}).Draw(rt, "id"), "f",
					pieces...)...)
			}
		}
		events = append(events, finishEvent(chat.FinishStop))
		w, r := NewStreamWriter(plainOptions), NewResponse(plainOptions)
		var b []byte
		for _, e := range events {
			b = w.Append(b, e)
			r.Add(e)
		}
		checkStream(rt, b, r.Append(nil))
		if got, want := string(w.Result(nil)), string(r.Append(nil)); got != want {
			rt.Fatalf("the stream's response is\n%s\nthe whole one\n%s", got, want)
		}
	})
}

func checkStream(t *rapid.T, b, whole []byte) {
	texts := map[string]string{}
	order := []string{}
	var last json.RawMessage
	for i, frame := range strings.Split(strings.TrimSuffix(string(b), "\n\n"), "\n\n") {
		var e struct {
			Type     string
			Sequence int    `json:"sequence_number"`
			Index    int    `json:"output_index"`
			ItemID   string `json:"item_id"`
			Delta    string
			Item     struct{ ID string }
			Response json.RawMessage
		}
		_, data, _ := strings.Cut(frame, "\ndata: ")
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%v: %s", err, data)
		}
		if e.Sequence != i {
			t.Fatalf("event %d has the number %d", i, e.Sequence)
		}
		if e.Type == "response.output_item.added" {
			order = append(order, e.Item.ID)
		}
		id := e.ItemID + e.Item.ID
		if id != "" && order[e.Index] != id {
			t.Fatalf("%s is about %s, and the item of that index is %s", e.Type, id, order[e.Index])
		}
		texts[id] += e.Delta
		last = e.Response
	}
	if string(last) != string(whole) {
		t.Fatalf("the last event holds\n%s\nthe whole response is\n%s", last, whole)
	}
	var resp struct {
		Output []struct {
			ID        string
			Arguments string
			Content   []struct{ Text string }
			Summary   []struct{ Text string }
		}
	}
	if err := json.Unmarshal(whole, &resp); err != nil {
		t.Fatal(err)
	}
	if len(resp.Output) != len(order) {
		t.Fatalf("%d items, %d in the stream", len(resp.Output), len(order))
	}
	for i, it := range resp.Output {
		text := it.Arguments
		for _, c := range it.Content {
			text += c.Text
		}
		for _, c := range it.Summary {
			text += c.Text
		}
		if it.ID != order[i] || texts[it.ID] != text {
			t.Fatalf("item %d is %s with %q, in the stream %s with %q", i, it.ID, text, order[i], texts[order[i]])
		}
	}
}
