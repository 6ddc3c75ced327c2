package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"wield/chat"
	"wield/internal/shorten"
	"wield/prompt"
	"wield/wire/anthropic"
	"wield/wire/jsonbody"
	"wield/wire/responses"
)

// The URLs of the Responses protocol.
const (
	pathResponses     = "/v1/responses"
	pathInputTokens   = pathResponses + "/input_tokens"
	pathCompact       = pathResponses + "/compact"
	pathConversations = "/v1/conversations"
)

// responsesFront is the OpenAI protocol for responses.
var responsesFront = &clientProtocol{
	name: "responses",
	decode: func(body []byte) (*chat.Request, error) {
		req, err := responses.DecodeRequest(body)
		if err != nil {
			return nil, err
		}
		return &req.Request, nil
	},
	whole:       func(h head) collector { return responses.NewResponse(responsesHead(h, nil)) },
	stream:      func(h head) framer { return responses.NewStreamWriter(responsesHead(h, nil)) },
	appendError: responses.AppendError,
	status:      responses.Status,
	messages:    "input",
	form:        "text.format",
	schema:      ".parameters",
	streamType:  []string{"text/event-stream; charset=utf-8"},
	keepAlive:   keepAliveComment,
}

func responsesHead(h head, req *responses.Request) responses.ResponseOptions {
	return responses.ResponseOptions{ID: newID("resp_"), Created: h.now.Unix(), Model: h.model, Request: req,
		Natives: h.annotations}
}

// responseRequest reads a request for a response, puts what it continues in front of it, and finds its model.
func (x *exchange) responseRequest(body []byte) (*Model, storedResponse, *failure) {
	req, err := responses.DecodeRequest(body)
	if err != nil {
		return nil, storedResponse{}, &failure{status: http.StatusBadRequest, err: chat.AsError(err)}
	}
	m, f := x.find(req.Model)
	if f != nil {
		return nil, storedResponse{}, f
	}
	k := storedResponse{x: x, responses: &x.g.responses, owner: x.holder.keyName(), req: req}
	f = k.resume(m.Match || m.FromUser, &room{int(x.g.opts.MaxBody) - len(body), fewer(body, "{", maxObjects)})
	return m, k, f
}

// respond answers POST /v1/responses.
func (x *exchange) respond(body []byte) *failure {
	m, k, f := x.responseRequest(body)
	if f != nil {
		return f
	}
	req := k.req
	if f := x.checkMessages(req.Messages); f != nil {
		return f
	}
	req.Request.Conversation = req.Conversation
	x.recognise(m, &req.Request)
	k.o = responsesHead(head{now: x.start, model: m.Name, annotations: m.Annotations}, req)
	if req.Background {
		return x.background(m, k, len(body))
	}
	if req.Stream {
		return x.stream(m.Model, &req.Request, &keptStream{responses.NewStreamWriter(k.o), k})
	}
	return x.whole(m.Model, &req.Request, &keptResponse{responses.NewResponse(k.o), k})
}

// summaryWords limits the words in the summary of a compacted conversation.
const summaryWords = 600

// compact answers POST /v1/responses/compact: the model writes a summary of the conversation.
func (x *exchange) compact(body []byte) *failure {
	m, k, f := x.responseRequest(body)
	if f != nil {
		return f
	}
	req := k.req
	if f := x.checkMessages(req.Messages); f != nil {
		return f
	}
	k.o = responsesHead(head{now: x.start, model: m.Name}, req)
	asked := req.Request
	ask := chat.Message{Role: chat.RoleUser, Parts: chat.Text(prompt.AskSummary(summaryWords))}
	asked.Messages = append(slices.Clip(asked.Messages), ask)
	asked.Choice, asked.Format, asked.Stream = chat.Choice{Mode: chat.ChoiceNone, Read: true}, nil, false
	return x.whole(nonEmpty{m.Model}, &asked, responses.NewCompaction(k.o))
}

// nonEmpty fails where its model says nothing.
type nonEmpty struct{ chat.Model }

func (s nonEmpty) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		said := false
		for e, err := range s.Model.Stream(ctx, req) {
			said = said || e.Kind == chat.KindText && strings.TrimSpace(e.Text) != ""
			if e.Kind == chat.KindFinish && !said {
				yield(chat.Event{}, chat.Errorf(chat.ErrProtocol, "the model wrote no summary"))
				return
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// countInput answers POST /v1/responses/input_tokens with an estimate. No model is asked.
func (x *exchange) countInput(body []byte) *failure {
	_, k, f := x.responseRequest(body)
	if f != nil {
		return f
	}
	b := strconv.AppendInt([]byte(`{"object":"response.input_tokens","input_tokens":`),
		int64(anthropic.CountTokens(&k.req.Request)), 10)
	x.body(http.StatusOK, append(b, '}'))
	return nil
}

// A storedResponse sees to what is remembered of one response, and what was remembered before it.
type storedResponse struct {
	x         *exchange // nil: none waits for it
	responses *responseStore
	owner     string
	req       *responses.Request
	o         responses.ResponseOptions

	record *stored // of a response that is made in the background: what is kept of it so far
}

// resume puts in front of the input what was said before, and in the place of references what they stand for. With
// named, an id that is not known is a client's own, and begins a conversation. All of it is to have room.
func (k *storedResponse) resume(named bool, left *room) *failure {
	req, ctx := k.req, k.x.r.Context()
	var before []responses.Item
	changed := false
	switch {
	case req.Previous != "":
		found, missing, err := k.responses.chain(ctx, recordKey{k.owner, req.Previous}, left)
		switch {
		case errors.Is(err, errTooLong):
			return k.x.tooLong("previous_response_id")
		case errors.Is(err, errUnfinished):
			return badField("previous_response_id", codeUnfinished,
				"the response "+shorten.Quoted(missing)+" is still being made: ask for it until it is done, or cancel it")
		case err != nil:
			return k.x.storeFailure(err)
		}
		if missing != "" {
			return notKept("previous_response_id", codePrevious, "response", missing)
		}
		before = found
	case req.Kept != "":
		found, known, err := k.responses.said(ctx, recordKey{k.owner, req.Kept})
		if err != nil {
			return k.x.storeFailure(err)
		}
		if !known && !named {
			return notKept("conversation", codeNotKept, "conversation", req.Kept)
		}
		if left.take(found) != nil {
			return k.x.tooLong("conversation")
		}
		before = found
	}
	for i := range req.Input {
		if it := &req.Input[i]; it.Reference() {
			found, ok, err := k.responses.item(ctx, recordKey{k.owner, it.ID})
			if err != nil {
				return k.x.storeFailure(err)
			}
			if !ok {
				return notKept("input["+strconv.Itoa(i)+"].id", responses.CodeUnknownItem, "item", it.ID)
			}
			if left.take([]responses.Item{found}) != nil {
				return k.x.tooLong("input[" + strconv.Itoa(i) + "].id")
			}
			*it, changed = found, true
		}
	}
	if len(before) == 0 && !changed {
		return nil // the messages are those of the input
	}
	// What is kept was taken apart when it was kept, which is as good as any time.
	for i := range before {
		it, err := responses.DecodeItem(before[i].Raw)
		if err != nil {
			return &failure{status: http.StatusBadRequest, err: chat.AsError(err)}
		}
		before[i] = it
	}
	req.Continue(before)
	return nil
}

// A room is how much a conversation may still hold: as much as a request that sends all of it.
type room struct{ bytes, objects int }

// errTooLong says that a conversation has no room.
var errTooLong = errors.New("the conversation is too long")

// take takes room for items.
func (r *room) take(items []responses.Item) error {
	for i := range items {
		r.bytes -= len(items[i].Raw)
		if r.objects = fewer(items[i].Raw, "{", r.objects); r.bytes < 0 || r.objects < 0 {
			return errTooLong
		}
	}
	return nil
}

// tooLong refuses a request that is too large with what a field of it stands for.
func (x *exchange) tooLong(param string) *failure {
	f := refuse(http.StatusRequestEntityTooLarge, chat.ErrBadRequest, codeTooLarge, "with what "+param+
		" stands for, the conversation holds more than the "+strconv.FormatInt(x.g.opts.MaxBody, 10)+
		" bytes (limits.body) or "+strconv.Itoa(maxObjects)+" objects of a request: begin a new one, or send fewer "+
		"items")
	f.err.Param = param
	return f
}

const (
	codePrevious = "previous_response_not_found"
	codeNotKept  = "not_found"
)

// notKept says that something is not remembered. Whether it ever was is not told, since it may be another key's.
func notKept(param, code, what, id string) *failure {
	f := refuse(http.StatusNotFound, chat.ErrNotFound, code, "there is no "+what+" "+shorten.Quoted(id)+
		" here: it was not stored, was deleted or forgotten, or belongs to another key; send the items themselves")
	f.err.Param = param
	return f
}

// key is the response's own.
func (k *storedResponse) key() recordKey { return recordKey{k.owner, k.o.ID} }

// keep remembers a response that has ended: result is its body, items its output.
func (k *storedResponse) keep(ctx context.Context, result []byte, items []json.RawMessage) {
	if !k.req.Store && k.req.Kept == "" {
		return
	}
	input := k.input()
	output, ok := outputOf(items)
	if !ok {
		return // a call whose arguments no client could read either
	}
	if k.req.Kept != "" {
		k.responses.add(ctx, recordKey{k.owner, k.req.Kept}, k.o.Created, slices.Concat(input, output))
	}
	if k.req.Store {
		k.responses.put(ctx, &stored{key: k.key(), kind: keptResponseKind, body: result, previous: k.req.Previous,
			input: input, output: output})
	}
}

// input returns what was asked, as it is kept. It takes the place of what was sent, whose messages have been read, so
// that a large request is not held twice.
func (k *storedResponse) input() []responses.Item {
	stem, input := k.o.ID[len("resp_"):], k.req.Input
	for i := range input {
		input[i] = input[i].Named(stem + "_in" + strconv.Itoa(i))
	}
	return input
}

func outputOf(items []json.RawMessage) ([]responses.Item, bool) {
	output := make([]responses.Item, len(items))
	for i, raw := range items {
		it, err := responses.DecodeItem(raw)
		if err != nil {
			return nil, false
		}
		output[i] = it
	}
	return output, true
}

// A keptStream is remembered before its last event goes out, so that the client can refer to it at once.
type keptStream struct {
	*responses.StreamWriter
	storedResponse
}

func (s *keptStream) Append(dst []byte, e chat.Event) []byte {
	dst = s.StreamWriter.Append(dst, e)
	if e.Kind == chat.KindFinish {
		s.keep(s.x.r.Context(), s.Result(nil), s.Items())
	}
	return dst
}

// A keptResponse is remembered before it goes out.
type keptResponse struct {
	*responses.Response
	storedResponse
}

func (r *keptResponse) Append(dst []byte) []byte {
	r.keep(r.x.r.Context(), r.Response.Append(nil), r.Items())
	return r.Response.Append(dst)
}

// kept finds what the URL names.
func (x *exchange) kept(kind recordKind) (*stored, *failure) {
	if f := x.authenticate(); f != nil {
		return nil, f
	}
	r, err := x.g.responses.get(x.r.Context(), recordKey{x.holder.keyName(), x.arg})
	if err != nil {
		return nil, x.storeFailure(err)
	}
	if r == nil {
		r = x.g.jobs.begun(recordKey{x.holder.keyName(), x.arg})
	}
	if r == nil || r.kind != kind {
		return nil, notKept("", codeNotKept, string(kind), x.arg)
	}
	return r, nil
}

// showResponse answers GET /v1/responses/ID.
func (x *exchange) showResponse() *failure {
	r, f := x.kept(keptResponseKind)
	if f != nil {
		return f
	}
	j, f := x.making(r)
	if f != nil {
		return f
	}
	q := x.r.URL.Query()
	if q.Get("stream") == "true" {
		return x.showStream(r, j, q.Get("starting_after"))
	}
	if j != nil {
		x.body(http.StatusOK, j.body())
		return nil
	}
	x.body(http.StatusOK, r.body)
	return nil
}

// deleteResponse answers DELETE /v1/responses/ID, deleteConversation DELETE /v1/conversations/ID.
func (x *exchange) deleteResponse() *failure { return x.forget(keptResponseKind, "response") }

func (x *exchange) deleteConversation() *failure {
	return x.forget(conversationKind, "conversation.deleted")
}

func (x *exchange) forget(kind recordKind, object string) *failure {
	r, f := x.kept(kind)
	if f != nil {
		return f
	}
	if r.unfinished() {
		if f := x.abandon(r, errForgotten); f != nil {
			return f
		}
	} else if j := x.g.jobs.get(r.key); j != nil { // its end may have been kept this moment
		if err := j.wait(x.r.Context()); err != nil {
			return x.modelFailure(x.r.Context(), err)
		}
	}
	x.g.jobs.forget(r.key)
	if err := x.g.responses.remove(x.r.Context(), r.key); err != nil {
		return x.storeFailure(err)
	}
	x.body(http.StatusOK, appendDeleted(nil, object, x.arg))
	return nil
}

// listInput answers GET /v1/responses/ID/input_items.
func (x *exchange) listInput() *failure {
	r, f := x.kept(keptResponseKind)
	if f != nil {
		return f
	}
	return x.listItems(r.input)
}

// listConversation answers GET /v1/conversations/ID/items.
func (x *exchange) listConversation() *failure {
	r, f := x.kept(conversationKind)
	if f != nil {
		return f
	}
	return x.listItems(r.input)
}

// Bounds of a page.
const (
	defaultPage = 20
	maxPage     = 100
)

// listItems answers with a page of items, as the query wants it.
func (x *exchange) listItems(items []responses.Item) *failure {
	q := x.r.URL.Query()
	limit := defaultPage
	if s := q.Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > maxPage {
			return badField("limit", jsonbody.CodeInvalidValue, "limit: this must be from 1 to "+strconv.Itoa(maxPage))
		}
		limit = n
	}
	order := q.Get("order")
	if order != "" && order != "asc" && order != "desc" {
		return badField("order", jsonbody.CodeInvalidValue, "order: this must be asc or desc")
	}
	var page itemPage
	after := q.Get("after")
	waiting := after != ""
	for i := range items {
		it := &items[i]
		if order != "asc" {
			it = &items[len(items)-1-i]
		}
		switch {
		case waiting:
			waiting = it.ID != after
		case len(page.items) == limit:
			page.more = true
		default:
			page.items = append(page.items, it.Raw)
			page.ids = append(page.ids, it.ID)
		}
	}
	if waiting {
		return badField("after", jsonbody.CodeInvalidValue, "after: there is no item "+shorten.Quoted(after)+" in this list")
	}
	x.body(http.StatusOK, appendPage(nil, page))
	return nil
}

// createConversation answers POST /v1/conversations.
func (x *exchange) createConversation() *failure {
	if f := x.authenticate(); f != nil {
		return f
	}
	items, metadata, f := x.readItems()
	if f != nil {
		return f
	}
	key := recordKey{x.holder.keyName(), newID("conv_")}
	r := &stored{key: key, kind: conversationKind, created: x.start.Unix(), metadata: metadata, input: items}
	x.g.responses.put(x.r.Context(), r)
	return x.describe(r)
}

// describe answers with what describes a conversation.
func (x *exchange) describe(r *stored) *failure {
	x.body(http.StatusOK, appendConversation(nil, r.key.id, r.created, r.metadata))
	return nil
}

// readItems reads a body with items and metadata.
func (x *exchange) readItems() (items []responses.Item, metadata json.RawMessage, f *failure) {
	body, f := x.readBody()
	if f != nil {
		return nil, nil, f
	}
	if len(body) == 0 {
		return nil, nil, nil
	}
	sent, metadata, err := responses.DecodeItems(body)
	if err != nil {
		return nil, nil, &failure{status: http.StatusBadRequest, err: chat.AsError(err)}
	}
	stem := newID("")
	for i := range sent {
		items = append(items, sent[i].Named(stem+"_"+strconv.Itoa(i)))
	}
	return items, append(json.RawMessage(nil), metadata...), nil
}

// showConversation answers GET /v1/conversations/ID.
func (x *exchange) showConversation() *failure {
	r, f := x.kept(conversationKind)
	if f != nil {
		return f
	}
	return x.describe(r)
}

// changeConversation answers POST /v1/conversations/ID, which replaces its metadata.
func (x *exchange) changeConversation() *failure {
	r, f := x.kept(conversationKind)
	if f != nil {
		return f
	}
	_, metadata, f := x.readItems()
	if f != nil {
		return f
	}
	if metadata == nil {
		return badField("metadata", jsonbody.CodeInvalidValue, "metadata: this must be an object")
	}
	return x.describe(x.g.responses.revise(x.r.Context(), r.key, r.created, keptObject{Metadata: metadata}, nil))
}

// conversationItem returns the conversation and the item of a URL below /v1/conversations/ID/items/.
func (x *exchange) conversationItem() (*stored, *responses.Item, *failure) {
	id, item, _ := strings.Cut(x.arg, "/items/")
	x.arg = id
	r, f := x.kept(conversationKind)
	if f != nil {
		return nil, nil, f
	}
	i := slices.IndexFunc(r.input, func(it responses.Item) bool { return it.ID == item })
	if i < 0 {
		return nil, nil, notKept("", codeNotKept, "item", item)
	}
	return r, &r.input[i], nil
}

// showItem answers GET /v1/conversations/ID/items/ITEM.
func (x *exchange) showItem() *failure {
	_, it, f := x.conversationItem()
	if f != nil {
		return f
	}
	x.body(http.StatusOK, it.Raw)
	return nil
}

// deleteItem answers DELETE /v1/conversations/ID/items/ITEM with the conversation.
func (x *exchange) deleteItem() *failure {
	r, it, f := x.conversationItem()
	if f != nil {
		return f
	}
	return x.describe(x.g.responses.revise(x.r.Context(), r.key, r.created, keptObject{Removed: []string{it.ID}}, nil))
}

// extendConversation answers POST /v1/conversations/ID/items.
func (x *exchange) extendConversation() *failure {
	r, f := x.kept(conversationKind)
	if f != nil {
		return f
	}
	items, _, f := x.readItems()
	if f != nil {
		return f
	}
	x.g.responses.add(x.r.Context(), r.key, r.created, items)
	page := itemPage{}
	for i := range items {
		page.items = append(page.items, items[i].Raw)
		page.ids = append(page.ids, items[i].ID)
	}
	x.body(http.StatusOK, appendPage(nil, page))
	return nil
}
