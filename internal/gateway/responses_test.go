package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"wield/chat"
	"wield/prompt"
	"wield/wire/responses"
)

// responded holds the parts of a Responses answer that are checked.
type responded struct {
	ID     string
	Object string
	Status string
	Model  string
	Output []struct {
		ID        string
		Type      string
		CallID    string `json:"call_id"`
		Name      string
		Arguments string
		Content   []struct{ Text string }
	}
	Previous     *string `json:"previous_response_id"`
	Conversation *struct{ ID string }
	Store        bool
	Deleted      bool
	Data         []struct {
		ID   string
		Type string
	}
	FirstID *string `json:"first_id"`
	HasMore bool    `json:"has_more"`
	Error   *struct {
		Message string
		Param   string
		Code    string
	}
}

func readResponse(t *testing.T, body string) (r responded) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatalf("answer is no JSON: %v\n%s", err, body)
	}
	return r
}

// respond sends a request for a response and returns the answer, which must have the status.
func respond(t *testing.T, srv *httptest.Server, status int, body string, header ...string) responded {
	t.Helper()
	resp, text := send(t, srv, "POST", pathResponses, body, header...)
	if resp.StatusCode != status {
		t.Fatalf("status %d, want %d: %s", resp.StatusCode, status, text)
	}
	return readResponse(t, text)
}

// A recorder is a model that remembers what it was asked, and answers each question in turn.
type recorder struct {
	mu      sync.Mutex
	asked   []string
	answers [][]chat.Event
}

func (r *recorder) model() fake {
	return func(_ context.Context, req *chat.Request, emit func(chat.Event) bool) error {
		var b strings.Builder
		for i := range req.Messages {
			m := &req.Messages[i]
			fmt.Fprintf(&b, "%s:%s%s", m.Role, m.CallID, m.Text())
			for _, c := range m.Calls {
				fmt.Fprintf(&b, " %s=%s(%s)", c.ID, c.Name, c.Arguments)
			}
			b.WriteByte('|')
		}
		r.mu.Lock()
		n := len(r.asked)
		r.asked = append(r.asked, strings.TrimSuffix(b.String(), "|"))
		r.mu.Unlock()
		events := []chat.Event{text(fmt.Sprintf("answer %d", n))}
		if n < len(r.answers) {
			events = r.answers[n]
		}
		return says(events...)(context.Background(), req, emit)
	}
}

func (r *recorder) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked[len(r.asked)-1]
}

// testResponses: one round with a call, streamed and whole; the next request continues by id.
func testResponses(t *testing.T, serve serving) {
	rec := &recorder{
		answers: [][]chat.Event{append([]chat.Event{text("I look.")}, call(0, "call_a", "f", `{"a":1}`)...)}}
	srv := serve(t, one(rec.model()))
	first := respond(t, srv, 200,
		`{"model":"m","input":"go","instructions":"Be brief.","tools":[{"type":"function","name":"f"}]}`)
	if first.Object != "response" || first.Status != "completed" || first.Model != "m" || !first.Store ||
		len(first.Output) != 2 {
		t.Fatalf("first answer %+v", first)
	}
	if c := first.Output[1]; c.Type != "function_call" || c.CallID != "call_a" || c.Name != "f" ||
		c.Arguments != `{"a":1}` {
		t.Errorf("call %+v", c)
	}
	resp, body := send(t, srv, "POST", pathResponses, `{"model":"m","stream":true,"previous_response_id":"`+first.ID+
		`","input":[{"type":"function_call_output","call_id":"call_a","output":"42"}]}`)
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || ct != "text/event-stream; charset=utf-8" {
		t.Fatalf("status %d, type %s: %s", resp.StatusCode, ct, body)
	}
	if want := "user:go|assistant:I look. call_a=f({\"a\":1})|tool:call_a42"; rec.last() != want {
		t.Errorf("the model was asked\n%s\nwant\n%s", rec.last(), want)
	}
	if strings.Contains(body, "[DONE]") || !strings.Contains(body, "event: response.completed\n") ||
		!strings.HasSuffix(body, "\n\n") {
		t.Errorf("stream ends wrongly:\n%s", body)
	}
	_, last, _ := strings.Cut(body, "event: response.completed\ndata: ")
	var completed struct{ Response responded }
	if err := json.Unmarshal([]byte(last), &completed); err != nil {
		t.Fatal(err)
	}
	// What was kept is what was sent, and a third request sees both.
	second := completed.Response
	_, kept := send(t, srv, "GET", pathResponses+"/"+second.ID, "")
	if got := readResponse(t, kept); got.ID != second.ID || len(got.Output) != 1 ||
		got.Output[0].ID != second.Output[0].ID || got.Previous == nil || *got.Previous != first.ID {
		t.Errorf("kept response %s", kept)
	}
	respond(t, srv, 200, `{"model":"m","previous_response_id":"`+second.ID+`","input":"and now?"}`)
	if want := "user:go|assistant:I look. call_a=f({\"a\":1})|tool:call_a42|assistant:answer 1|user:and now?"; rec.last() != want {
		t.Errorf("the model was asked\n%s\nwant\n%s", rec.last(), want)
	}
}

// testItemReferences stand for items of earlier responses.
func testItemReferences(t *testing.T, serve serving) {
	rec := &recorder{answers: [][]chat.Event{call(0, "call_a", "f", `{}`)}}
	srv := serve(t, one(rec.model()))
	first := respond(t, srv, 200, `{"model":"m","input":"go","tools":[{"type":"function","name":"f"}]}`)
	respond(t, srv, 200, `{"model":"m","input":[{"role":"user","content":"go"},{"type":"item_reference","id":"`+
		first.Output[0].ID+`"},{"type":"function_call_output","call_id":"call_a","output":"1"}]}`)
	if want := "user:go|assistant: call_a=f({})|tool:call_a1"; rec.last() != want {
		t.Errorf("the model was asked\n%s\nwant\n%s", rec.last(), want)
	}
	if got := respond(t, srv, 404,
		`{"model":"m","input":[{"type":"item_reference","id":"fc_none"}]}`); got.Error.Code != responses.CodeUnknownItem || got.Error.Param != "input[0].id" {
		t.Errorf("error %+v", got.Error)
	}
}

// testStoreFalse keeps nothing.
func testStoreFalse(t *testing.T, serve serving) {
	srv := serve(t, one(says(text("hi"))))
	for _, stream := range []string{"false", "true"} {
		_, body := send(t, srv, "POST", pathResponses, `{"model":"m","input":"go","store":false,"stream":`+stream+`}`)
		at := strings.Index(body, `"id":"resp_`)
		id, _, _ := strings.Cut(body[at+len(`"id":"`):], `"`)
		if resp, text := send(t, srv, "GET", pathResponses+"/"+id, ""); resp.StatusCode != 404 ||
			!strings.Contains(text, codeNotKept) {
			t.Errorf("status %d: %s", resp.StatusCode, text)
		}
		got := respond(t, srv, 404, `{"model":"m","input":"go","previous_response_id":"`+id+`"}`)
		if got.Error.Code != codePrevious || got.Error.Param != "previous_response_id" {
			t.Errorf("error %+v", got.Error)
		}
	}
}

// testKeptApart: a response, its items and a conversation are another key's affair, and it is not told that they exist.
func testKeptApart(t *testing.T, serve serving) {
	o := one(says(text("hi")))
	o.Keys = []Key{{Name: "a", Hash: HashKey("secret-a")}, {Name: "b", Hash: HashKey("secret-b")}}
	srv := serve(t, o)
	a, b := []string{"Authorization", "Bearer secret-a"}, []string{"Authorization", "Bearer secret-b"}
	_, body := send(t, srv, "POST", pathConversations, `{}`, a...)
	conversation := readResponse(t, body).ID
	first := respond(t, srv, 200, `{"model":"m","input":"go","conversation":"`+conversation+`"}`, a...)
	respond(t, srv, 404, `{"model":"m","input":"go","conversation":"`+conversation+`"}`, b...)
	for _, path := range []string{pathResponses + "/" + first.ID, pathResponses + "/" + first.ID + "/input_items",
		pathConversations + "/" + conversation} {
		if resp, _ := send(t, srv, "GET", path, "", a...); resp.StatusCode != 200 {
			t.Errorf("%s: the owner gets %d", path, resp.StatusCode)
		}
		if resp, _ := send(t, srv, "GET", path, "", b...); resp.StatusCode != 404 {
			t.Errorf("%s: another gets %d", path, resp.StatusCode)
		}
		if resp, _ := send(t, srv, "GET", path, ""); resp.StatusCode != 401 {
			t.Errorf("%s: nobody gets %d", path, resp.StatusCode)
		}
	}
	respond(t, srv, 404, `{"model":"m","input":"go","previous_response_id":"`+first.ID+`"}`, b...)
	respond(t, srv, 404, `{"model":"m","input":[{"type":"item_reference","id":"`+first.Output[0].ID+`"}]}`, b...)
	if resp, _ := send(t, srv, "DELETE", pathResponses+"/"+first.ID, "", b...); resp.StatusCode != 404 {
		t.Errorf("another may delete: %d", resp.StatusCode)
	}
	if resp, body := send(t, srv, "DELETE", pathResponses+"/"+first.ID, "", a...); resp.StatusCode != 200 ||
		!readResponse(t, body).Deleted {
		t.Errorf("the owner may not delete: %d %s", resp.StatusCode, body)
	}
	if resp, _ := send(t, srv, "GET", pathResponses+"/"+first.ID, "", a...); resp.StatusCode != 404 {
		t.Errorf("it is still there: %d", resp.StatusCode)
	}
}

// testInputItems lists what was sent, page by page.
func testInputItems(t *testing.T, serve serving) {
	srv := serve(t, one(says(text("hi"))))
	first := respond(t, srv, 200,
		`{"model":"m","input":[{"role":"user","content":"a"},{"role":"assistant","content":"b","id":"msg_own"},{"role":"user","content":"c"}]}`)
	list := func(query string) responded {
		_, body := send(t, srv, "GET", pathResponses+"/"+first.ID+"/input_items"+query, "")
		return readResponse(t, body)
	}
	all := list("")
	if all.Object != "list" || len(all.Data) != 3 || all.HasMore || all.Data[1].ID != "msg_own" ||
		all.Data[0].Type != "message" || *all.FirstID != all.Data[0].ID {
		t.Fatalf("list %+v", all)
	}
	page := list("?order=asc&limit=1")
	if len(page.Data) != 1 || !page.HasMore || page.Data[0].ID != all.Data[2].ID {
		t.Errorf("page %+v", page)
	}
	page = list("?order=asc&limit=2&after=" + page.Data[0].ID)
	if len(page.Data) != 2 || page.HasMore || page.Data[0].ID != "msg_own" {
		t.Errorf("next page %+v", page)
	}
	for query, param := range map[string]string{"?limit=0": "limit", "?order=up": "order", "?after=nothing": "after"} {
		if got := list(query); got.Error == nil || got.Error.Param != param {
			t.Errorf("%s: %+v", query, got.Error)
		}
	}
}

// testConversations: what belongs to one is said again with each request.
func testConversations(t *testing.T, serve serving) {
	rec := &recorder{}
	srv := serve(t,
		Options{Models: []Model{{Name: "m", Model: rec.model()}, {Name: "matching", Model: rec.model(), Match: true}}})
	_, body := send(t, srv, "POST", pathConversations,
		`{"items":[{"role":"developer","content":"Be brief."}],"metadata":{"a":"b"}}`)
	conv := readResponse(t, body)
	if conv.Object != "conversation" || !strings.HasPrefix(conv.ID, "conv_") ||
		!strings.Contains(body, `"metadata":{"a":"b"}`) {
		t.Fatalf("conversation %s", body)
	}
	first := respond(t, srv, 200, `{"model":"m","input":"one","conversation":"`+conv.ID+`","store":false}`)
	if first.Conversation == nil || first.Conversation.ID != conv.ID {
		t.Errorf("the response names the conversation %+v", first.Conversation)
	}
	send(t, srv, "POST", pathConversations+"/"+conv.ID+"/items", `{"items":[{"role":"user","content":"aside"}]}`)
	respond(t, srv, 200, `{"model":"m","input":"two","conversation":{"id":"`+conv.ID+`"}}`)
	if want := "developer:Be brief.|user:one|assistant:answer 0|user:aside|user:two"; rec.last() != want {
		t.Errorf("the model was asked\n%s\nwant\n%s", rec.last(), want)
	}
	_, body = send(t, srv, "GET", pathConversations+"/"+conv.ID+"/items?order=asc", "")
	if got := readResponse(t, body); len(got.Data) != 6 {
		t.Errorf("items %s", body)
	}
	// Items can be looked at and taken out, and the metadata replaced.
	item := readResponse(t, body).Data[3].ID
	base := pathConversations + "/" + conv.ID
	if _, body = send(t, srv, "GET", base+"/items/"+item, ""); !strings.Contains(body, `"aside"`) ||
		!strings.Contains(body, item) {
		t.Errorf("the item %s: %s", item, body)
	}
	if _, body = send(t, srv, "DELETE", base+"/items/"+item, ""); !strings.Contains(body, `"id":"`+conv.ID+`"`) {
		t.Errorf("without an item: %s", body)
	}
	for _, method := range []string{"GET", "DELETE"} {
		if resp, _ := send(t, srv, method, base+"/items/"+item, ""); resp.StatusCode != 404 {
			t.Errorf("%s of an item that is gone: %d", method, resp.StatusCode)
		}
	}
	if _, body = send(t, srv, "POST", base, `{"metadata":{"c":"d"}}`); !strings.Contains(body, `"metadata":{"c":"d"}`) {
		t.Errorf("with other metadata: %s", body)
	}
	if resp, _ := send(t, srv, "POST", base, `{}`); resp.StatusCode != 400 {
		t.Errorf("without metadata: %d", resp.StatusCode)
	}
	respond(t, srv, 200, `{"model":"m","input":"three","conversation":"`+conv.ID+`"}`)
	if want := "developer:Be brief.|user:one|assistant:answer 0|user:two|assistant:answer 1|user:three"; rec.last() != want {
		t.Errorf("the model was asked\n%s\nwant\n%s", rec.last(), want)
	}
	if _, body = send(t, srv, "GET", base, ""); !strings.Contains(body, `"metadata":{"c":"d"}`) {
		t.Errorf("the conversation: %s", body)
	}
	// An id that is not known begins a conversation only where the client's own ids count.
	respond(t, srv, 404, `{"model":"m","input":"hello","conversation":"mine"}`)
	respond(t, srv, 200, `{"model":"matching","input":"hello","conversation":"mine"}`)
	respond(t, srv, 200, `{"model":"matching","input":"again","conversation":"mine"}`)
	if want := "user:hello|assistant:answer 3|user:again"; rec.last() != want {
		t.Errorf("the model was asked\n%s\nwant\n%s", rec.last(), want)
	}
	if _, body = send(t, srv, "DELETE", pathConversations+"/mine", ""); !strings.Contains(body, `"deleted":true`) {
		t.Errorf("deleted: %s", body)
	}
	if resp, _ := send(t, srv, "GET", pathConversations+"/mine", ""); resp.StatusCode != 404 {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// TestCompact: a conversation becomes the user's messages and a summary, with which it goes on.
// TestLongConversation: what was said before counts as if the request sent it, in bytes and in objects, however it is
// named.
func TestLongConversation(t *testing.T) {
	srv := serve(t,
		Options{MaxBody: 4000, Models: []Model{{Name: "m", Model: says(text("ok"), finish(chat.FinishStop))}}})
	filled := strings.Repeat("a", 900)
	last, links := "", 0
	for ; links < 10; links++ {
		resp, body := send(t, srv, "POST", pathResponses, `{"model":"m","previous_response_id":"`+last+`","input":"`+
			filled+`"}`)
		if last == "" {
			resp, body = send(t, srv, "POST", pathResponses, `{"model":"m","input":"`+filled+`"}`)
		}
		var made struct{ ID string }
		if err := json.Unmarshal([]byte(body), &made); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != 200 {
			break
		}
		last = made.ID
	}
	if links < 2 || links > 4 {
		t.Errorf("%d responses of 1000 bytes each follow one another within 4000 bytes", links)
	}
	refused := func(path, field, body string) {
		t.Helper()
		if resp, got := send(t, srv, "POST", path, body); resp.StatusCode != 413 ||
			!strings.Contains(got, `"param":"`+field+`"`) || !strings.Contains(got, "limits.body") {
			t.Errorf("%s %s: status %d, %s", path, field, resp.StatusCode, got)
		}
	}
	reference := `{"type":"item_reference","id":"msg_` + strings.TrimPrefix(last, "resp_") + `_in0"}`
	refused(pathResponses, "previous_response_id", `{"model":"m","previous_response_id":"`+last+`","input":"`+filled+
		`"}`)
	refused(pathInputTokens, "previous_response_id", `{"model":"m","previous_response_id":"`+last+`","input":"`+filled+
		`"}`)
	refused(pathResponses, "input[3].id", `{"model":"m","input":[`+strings.Repeat(reference+",", 9)+reference+`]}`)

	_, body := send(t, srv, "POST", pathConversations, `{}`)
	var kept struct{ ID string }
	if err := json.Unmarshal([]byte(body), &kept); err != nil {
		t.Fatal(err)
	}
	for range 4 {
		send(t, srv, "POST", pathConversations+"/"+kept.ID+"/items", `{"items":[{"role":"user","content":"`+filled+
			`"}]}`)
	}
	refused(pathResponses, "conversation", `{"model":"m","conversation":"`+kept.ID+`","input":"`+filled+`"}`)

	left := &room{1 << 20, 3}
	if err := left.take([]responses.Item{{Raw: json.RawMessage(`{"a":{}}`)},
		{Raw: json.RawMessage(`{"b":{}}`)}}); !errors.Is(err, errTooLong) {
		t.Errorf("four objects have the room of three: %v", err)
	}
}

func TestCompact(t *testing.T) {
	rec := &recorder{}
	srv := serve(t,
		Options{Models: []Model{{Name: "m", Model: rec.model()}, {Name: "mute", Model: says(finish(chat.FinishStop))}}})
	first := respond(t, srv, 200, `{"model":"m","instructions":"Be brief.","input":"one"}`)
	resp, body := send(t, srv, "POST", pathCompact, `{"model":"m","previous_response_id":"`+first.ID+
		`","input":[{"role":"user","content":"two"},{"role":"assistant","content":"aside"}]}`)
	if want := "user:one|assistant:answer 0|user:two|assistant:aside|user:" +
		prompt.AskSummary(summaryWords); rec.last() != want {
		t.Errorf("the model was asked\n%s\nwant\n%s", rec.last(), want)
	}
	var got struct {
		Object string
		Output []json.RawMessage
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || resp.StatusCode != 200 ||
		got.Object != "response.compaction" || len(got.Output) != 3 {
		t.Fatalf("%d %s, %v", resp.StatusCode, body, err)
	}
	items := string(bytes.Join([][]byte{got.Output[0], got.Output[1], got.Output[2]}, []byte(",")))
	respond(t, srv, 200, `{"model":"m","input":[`+items+`,{"role":"user","content":"three"}]}`)
	if want := "user:one|user:two|user:Summary of the conversation so far:\n\nanswer 1|user:three"; rec.last() != want {
		t.Errorf("the model was asked\n%s\nwant\n%s", rec.last(), want)
	}
	if resp, body := send(t, srv, "POST", pathCompact, `{"model":"mute","input":"one"}`); resp.StatusCode != 502 ||
		!strings.Contains(body, "no summary") {
		t.Errorf("a model that says nothing: %d %s", resp.StatusCode, body)
	}
	if resp, _ := send(t, srv, "POST", pathCompact, `{"model":"m","input":[]}`); resp.StatusCode != 400 {
		t.Errorf("nothing to compact: %d", resp.StatusCode)
	}
}

// testResponsesErrors: before the first byte an error has a status, and after it ends the stream in the protocol's own
// way.
func TestResponsesErrors(t *testing.T) {
	broken := &chat.Error{Kind: chat.ErrUnavailable, Message: "it broke off"}
	srv := serve(t,
		Options{Models: []Model{{Name: "m", Model: fails(broken, text("Hel"), idle())},
			{Name: "down", Model: fails(broken)}}})
	_, body := send(t, srv, "POST", pathResponses, `{"model":"m","input":"go","stream":true}`)
	for _, want := range []string{"event: response.created\n", "event: response.output_text.delta\n",
		"event: error\ndata: {\"type\":\"error\",\"sequence_number\":5,", "event: response.failed\n",
		`"status":"failed"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the stream lacks %q:\n%s", want, body)
		}
	}
	if strings.Contains(body, "response.completed") {
		t.Errorf("a broken answer is called whole:\n%s", body)
	}
	for _, stream := range []string{"true", "false"} {
		if got := respond(t, srv, 502, `{"model":"down","input":"go","stream":`+stream+`}`); got.Error == nil ||
			got.Error.Message != "it broke off" {
			t.Errorf("error %+v", got.Error)
		}
	}
	for _, tt := range []struct {
		status            int
		body, code, param string
	}{
		{400, `{"model":"m"}`, responses.CodeMissingInput, "input"},
		{400, `{"model":"m","input":[{"role":"developer","content":"x"}]}`, codeUserTurn, "input"},
		{400, `{"model":"m","input":"x","background":true,"store":false}`, "mutually_exclusive_fields", "background"},
		{400, `{"model":"m","input":"x","conversation":"c","previous_response_id":"r"}`, responses.CodeExclusive,
			"previous_response_id"},
		{404, `{"model":"nobody","input":"x"}`, codeModel, "model"},
		{404, `{"model":"m","input":"x","previous_response_id":"resp_none"}`, codePrevious, "previous_response_id"},
		{404, `{"model":"m","input":"x","conversation":"conv_none"}`, codeNotKept, "conversation"},
		{404, `{"model":"m","input":"x","stream":true,"conversation":{"id":"conv_none"}}`, codeNotKept, "conversation"},
	} {
		if got := respond(t, srv, tt.status, tt.body); got.Error == nil || got.Error.Code != tt.code ||
			got.Error.Param != tt.param {
			t.Errorf("%s: %+v", tt.body, got.Error)
		}
	}
}

// TestResponseStoreBounds: what was used last stays, whatever comes, and its memory is accounted for to the byte.
func TestResponseStoreBounds(t *testing.T) {
	var a responseStore
	ample := &room{1 << 40, 1 << 40}
	item := func(id string, n int) []responses.Item {
		return []responses.Item{{Type: "message", ID: id,
			Raw: json.RawMessage(`{"id":"` + id + `","type":"message","role":"user","content":"` +
				strings.Repeat("x", n) + `"}`)}}
	}
	a.cache(&stored{key: recordKey{"o", "first"}, kind: keptResponseKind, input: item("i_first", 10)})
	for i := range maxRecords + 10 {
		id := fmt.Sprint("r", i)
		a.cache(&stored{key: recordKey{"o", id}, kind: keptResponseKind, previous: "first", input: item("i"+id, 10)})
		if _, missing, _ := a.chain(t.Context(), recordKey{"o", id}, ample); missing != "" {
			t.Fatalf("after %d, %s is gone although it was just used", i, missing)
		}
	}
	if n := a.order.Len(); n != maxRecords || len(a.byKey) != n || len(a.items) != n {
		t.Errorf("%d records, %d keys, %d items, want %d", n, len(a.byKey), len(a.items), maxRecords)
	}
	if _, missing, _ := a.chain(t.Context(), recordKey{"o", "r0"}, ample); missing != "r0" {
		t.Errorf("the oldest is still there: %q", missing)
	}
	for i := range 10 {
		a.reviseCached(recordKey{"o", "conv"}, 0, &keptObject{}, item(fmt.Sprint("big", i), maxRecordBytes/8))
	}
	if a.bytes > maxRecordBytes {
		t.Errorf("%d bytes are kept", a.bytes)
	}
	for key := range a.byKey {
		a.uncache(key)
	}
	if a.bytes != 0 || len(a.items) != 0 || a.order.Len() != 0 {
		t.Errorf("%d bytes, %d items, %d records are left", a.bytes, len(a.items), a.order.Len())
	}
}
