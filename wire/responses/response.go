package responses

import (
	"encoding/json"
	"strconv"
	"strings"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/internal/freeform"
	"wield/wire/jsonbody"
)

// ResponseOptions hold what a response says about itself.
type ResponseOptions struct {
	ID      string   // such as resp_...; also the stem of the ids of items, and of calls that come without one
	Created int64    // seconds since 1970
	Model   string   // as the client knows it
	Request *Request // what is answered; nil: nothing is repeated of it
	Natives bool     // tools that the backend itself ran are told of in items
}

// The prefixes of ids.
const (
	prefixResponse = "resp_"
	prefixMessage  = "msg_"
	prefixCall     = "fc_"
	prefixThought  = "rs_"
)

// echoed are the fields of a request that its response repeats, with what stands there if the request has none.
var echoed = map[string]string{
	"instructions":         "null",
	"max_output_tokens":    "null",
	"max_tool_calls":       "null",
	"metadata":             "{}",
	"parallel_tool_calls":  "true",
	"previous_response_id": "null",
	"prompt_cache_key":     "null",
	"reasoning":            `{"effort":null,"summary":null}`,
	"safety_identifier":    "null",
	"temperature":          "null",
	"text":                 `{"format":{"type":"text"}}`,
	"tool_choice":          `"auto"`,
	"tools":                "[]",
	"top_logprobs":         "0",
	"top_p":                "null",
	"truncation":           `"disabled"`,
	"user":                 "null",
}

// echoOrder is the order of the repeated fields.
var echoOrder = []string{"instructions", "max_output_tokens", "max_tool_calls", "metadata", "parallel_tool_calls",
	"previous_response_id", "prompt_cache_key", "reasoning", "safety_identifier", "temperature", "text", "tool_choice",
	"tools", "top_logprobs", "top_p", "truncation", "user"}

// The statuses of a response and of an item.
const (
	statusRunning    = "in_progress"
	statusCompleted  = "completed"
	statusIncomplete = "incomplete"
	statusFailed     = "failed"
	statusQueued     = "queued"
	statusCancelled  = "cancelled"
)

// An object writes the response object at any time of its making.
type object struct {
	o       ResponseOptions
	stem    string
	items   []byte // those of the output that are done, with commas between them
	begun   int    // items that have begun
	usage   *chat.Usage
	natives natives
}

func newObject(o ResponseOptions) object {
	return object{o: o, natives: natives{wanted: o.Natives}, stem: strings.TrimPrefix(o.ID, prefixResponse)}
}

// append appends the object. reason says what an incomplete response lacks, err why one has failed.
func (b *object) append(dst []byte, status, reason string, err *chat.Error) []byte {
	dst = append(dst, `{"id":`...)
	dst = shape.AppendQuoted(dst, b.o.ID)
	dst = append(dst, `,"object":"response","created_at":`...)
	dst = strconv.AppendInt(dst, b.o.Created, 10)
	dst = append(dst, `,"status":"`...)
	dst = append(dst, status...)
	dst = append(dst, `","background":`...)
	dst = strconv.AppendBool(dst, b.o.Request != nil && b.o.Request.Background)
	dst = append(dst, `,"error":`...)
	dst = appendFailure(dst, err)
	dst = append(dst, `,"incomplete_details":`...)
	if reason == "" {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, `{"reason":"`...)
		dst = append(dst, reason...)
		dst = append(dst, `"}`...)
	}
	dst = append(dst, `,"model":`...)
	dst = shape.AppendQuoted(dst, b.o.Model)
	dst = append(dst, `,"output":[`...)
	dst = append(dst, b.items...)
	dst = append(dst, ']')
	dst = b.appendEcho(dst)
	dst = append(dst, `,"usage":`...)
	dst = appendUsage(dst, b.usage)
	return append(dst, '}')
}

// appendEcho appends what the response repeats of its request.
func (b *object) appendEcho(dst []byte) []byte {
	var echo map[string]json.RawMessage
	store, conversation := true, ""
	if r := b.o.Request; r != nil {
		echo, store, conversation = r.echo, r.Store, r.Kept
	}
	for _, key := range echoOrder {
		dst = append(dst, ',', '"')
		dst = append(dst, key...)
		dst = append(dst, '"', ':')
		if raw := echo[key]; raw != nil {
			dst = jsonbody.AppendCompact(dst, raw)
		} else {
			dst = append(dst, echoed[key]...)
		}
	}
	dst = append(dst, `,"store":`...)
	dst = strconv.AppendBool(dst, store)
	dst = append(dst, `,"conversation":`...)
	if conversation == "" {
		return append(dst, "null"...)
	}
	dst = append(dst, `{"id":`...)
	dst = shape.AppendQuoted(dst, conversation)
	return append(dst, '}')
}

func appendUsage(dst []byte, u *chat.Usage) []byte {
	if u == nil || !u.Known {
		return append(dst, "null"...)
	}
	dst = append(dst, `{"input_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.In), 10)
	dst = append(dst, `,"input_tokens_details":{"cached_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.Cached), 10)
	dst = append(dst, `},"output_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.Out), 10)
	dst = append(dst, `,"output_tokens_details":{"reasoning_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.Reasoning), 10)
	dst = append(dst, `},"total_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.In)+int64(u.Out), 10)
	return append(dst, '}')
}

// An item under way. There is at most one.
type openItem struct {
	kind     *itemKind // nil: there is none
	id       string
	text     []byte // of the message, the reasoning or the arguments
	logprobs []byte // the elements, with commas between them
	callID   string
	name     string
	rest     jsonbody.RuneTail
	input    freeform.Reader // of a custom tool's call
	sealed   []byte          // reasoning that only the server can read, which clients send back to it
}

// An itemKind holds the text around that of an item, and the names of its events.
type itemKind struct {
	prefix string // of ids
	head   string // of the item, behind its id
	part   string // the part that holds the text, as far as the text itself; "": there is no part
	key    string // of the text in the event that ends it
	place  string // of the part in the item, in events
	form   string // type of the calls of a tool that is no function; "": it is none such

	added, delta, done, partDone string // names of events
}

var (
	messageKind = &itemKind{
		prefix: prefixMessage,
		head:   `"type":"message","role":"assistant"`,
		part:   `{"type":"output_text","annotations":[],"text":`,
		key:    `,"text":`,
		place:  `,"content_index":0`,
		added:  "response.content_part.added", delta: "response.output_text.delta",
		done: "response.output_text.done", partDone: "response.content_part.done",
	}
	thoughtKind = &itemKind{
		prefix: prefixThought,
		head:   `"type":"reasoning"`,
		part:   `{"type":"summary_text","text":`,
		key:    `,"text":`,
		place:  `,"summary_index":0`,
		added:  "response.reasoning_summary_part.added", delta: "response.reasoning_summary_text.delta",
		done: "response.reasoning_summary_text.done", partDone: "response.reasoning_summary_part.done",
	}
	callKind = &itemKind{
		prefix: prefixCall,
		head:   `"type":"function_call"`,
		key:    `,"arguments":`,
		delta:  "response.function_call_arguments.delta", done: "response.function_call_arguments.done",
	}
	customKind = &itemKind{
		prefix: "ctc_",
		head:   `"type":"custom_tool_call"`,
		key:    `,"input":`,
		form:   "custom_tool_call",
		delta:  "response.custom_tool_call_input.delta", done: "response.custom_tool_call_input.done",
	}
	toolSearchKind = &itemKind{prefix: "tsc_", head: `"type":"tool_search_call","execution":"client"`,
		form: "tool_search_call"}
	localShellKind = &itemKind{prefix: "lsh_", head: `"type":"local_shell_call"`, form: "local_shell_call"}
	shellKind      = &itemKind{prefix: "sh_", head: `"type":"shell_call"`, form: "shell_call"}
	patchKind      = &itemKind{prefix: "apc_", head: `"type":"apply_patch_call"`, form: "apply_patch_call"}
)

// isCall reports whether items of a kind are calls that the client runs.
func (k *itemKind) isCall() bool { return k != nil && (k == callKind || k.form != "") }

// callKind returns the kind of the items that call a tool.
func (b *object) callKind(name string) *itemKind {
	if b.o.Request != nil {
		if f := b.o.Request.forms[name]; f != nil {
			return f.kind
		}
	}
	return callKind
}

// begin opens item number b.begun.
func (b *object) begin(kind *itemKind) openItem {
	it := openItem{kind: kind, id: kind.prefix + b.stem + "_" + strconv.Itoa(b.begun)}
	b.begun++
	return it
}

// appendItem appends an item. One that has only begun has no content.
func (b *object) appendItem(dst []byte, it *openItem, status string) []byte {
	if it.kind == servedKind {
		return jsonbody.AppendCompact(dst, it.text)
	}
	dst = append(dst, `{"id":`...)
	dst = shape.AppendQuoted(dst, it.id)
	dst = append(dst, ',')
	dst = append(dst, it.kind.head...)
	if it.kind != thoughtKind {
		dst = append(dst, `,"status":"`...)
		dst = append(dst, status...)
		dst = append(dst, '"')
	}
	begun := status == statusRunning
	switch it.kind {
	case searchKind, serverKind:
		dst = append(dst, it.text...)
	case callKind, customKind:
		dst = append(dst, `,"call_id":`...)
		dst = shape.AppendQuoted(dst, it.callID)
		dst = b.appendName(dst, it.name)
		dst = append(dst, it.kind.key...)
		dst = shape.AppendQuoted(dst, string(it.text))
	case toolSearchKind, localShellKind, shellKind, patchKind:
		dst = append(dst, `,"call_id":`...)
		dst = shape.AppendQuoted(dst, it.callID)
		dst = formOfCall(it.kind.form).appendHeld(dst, string(it.text))
	case thoughtKind:
		dst = append(dst, `,"summary":[`...)
		if !begun && len(it.text) > 0 {
			dst = it.appendPart(dst, string(it.text))
		}
		dst = append(dst, ']')
		if it.sealed != nil {
			dst = append(append(dst, `,"encrypted_content":`...), it.sealed...)
		}
	default:
		dst = append(dst, `,"content":[`...)
		if !begun {
			dst = it.appendPart(dst, string(it.text))
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// appendName appends the name of a called tool, as the client knows it.
func (b *object) appendName(dst []byte, name string) []byte {
	if b.o.Request != nil {
		if s, ok := b.o.Request.spaced[name]; ok {
			dst = append(dst, `,"namespace":`...)
			dst = shape.AppendQuoted(dst, s.space)
			name = s.name
		}
	}
	dst = append(dst, `,"name":`...)
	return shape.AppendQuoted(dst, name)
}

// appendPart appends the part that holds an item's text.
func (it *openItem) appendPart(dst []byte, text string) []byte {
	dst = append(dst, it.kind.part...)
	dst = shape.AppendQuoted(dst, text)
	if it.kind == messageKind {
		dst = append(dst, `,"logprobs":[`...)
		dst = append(dst, it.logprobs...)
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// end takes the open item into the output.
func (b *object) end(it *openItem, status string) {
	if len(b.items) > 0 {
		b.items = append(b.items, ',')
	}
	b.items = b.appendItem(b.items, it, status)
	*it = openItem{}
}

// addLogProbs takes in {"content":[...]} and returns its elements, with commas between them.
func addLogProbs(raw []byte) (elements []byte) {
	s := jsonbody.Scanner{Bytes: raw}
	for s.Enter('{'); s.Next('}'); {
		if string(s.Key()) != "content" || s.Peek() != '[' {
			s.Skip()
			continue
		}
		for s.Enter('['); s.Next(']'); {
			if len(elements) > 0 {
				elements = append(elements, ',')
			}
			elements = jsonbody.AppendCompact(elements, s.Raw())
		}
	}
	return elements
}

// incompleteReasons are the words for answers that are not whole.
var incompleteReasons = map[chat.FinishReason]string{chat.FinishLength: "max_output_tokens",
	chat.FinishFiltered: "content_filter"}

// ended is the status of a response that ended for a reason, and what it lacks.
func ended(reason chat.FinishReason) (status, lack string) {
	if lack = incompleteReasons[reason]; lack != "" {
		return statusIncomplete, lack
	}
	return statusCompleted, ""
}

// A Response collects the events of one answer into a body. Text of KindRejected events is shown when they are marked
// FlagSpent, and that of incomplete calls always, since they are not listed. Its ids are those that a StreamWriter
// with the same options gives.
type Response struct {
	object
	open   openItem
	reason chat.FinishReason
}

// NewResponse returns a collector for one answer.
func NewResponse(o ResponseOptions) *Response { return &Response{object: newObject(o)} }

// Add takes in one event.
func (r *Response) Add(e chat.Event) {
	switch e.Kind {
	case chat.KindText:
		r.show(messageKind, e.Text)
		if probs, ok := e.Detail.(chat.LogProbs); ok {
			r.open.addLogProbs(addLogProbs(probs))
		}
	case chat.KindReasoning:
		r.show(thoughtKind, e.Text)
		if sealed := sealedOf(e); sealed != nil {
			if r.open.kind != thoughtKind {
				r.close(statusCompleted)
				r.open = r.begin(thoughtKind)
			}
			r.open.sealed = sealed
			r.close(statusCompleted)
		}
	case chat.KindCallEnd:
		r.call(e.Detail.(*chat.Call))
	case chat.KindRejected:
		if shown(e) {
			r.show(messageKind, e.Detail.(*chat.RejectedDetail).Raw)
		}
	case chat.KindUsage:
		r.usage = e.Detail.(*chat.Usage)
	case chat.KindNativeCall, chat.KindNativeResult:
		r.nativeItems(e)
	case chat.KindFinish:
		r.nativeItems(e)
		r.finish(e.Detail.(*chat.Finish).Reason)
	}
}

// sealedOf returns reasoning that only a server of this protocol can read.
func sealedOf(e chat.Event) []byte {
	opaque, _ := e.Detail.(chat.Opaque)
	if i := indexOpaque(opaque, keySealed); i >= 0 {
		return opaque[i].Value
	}
	return nil
}

func (it *openItem) addLogProbs(elements []byte) {
	if len(elements) == 0 || it.kind == nil {
		return
	}
	if len(it.logprobs) > 0 {
		it.logprobs = append(it.logprobs, ',')
	}
	it.logprobs = append(it.logprobs, elements...)
}

func (r *Response) show(kind *itemKind, text string) {
	if text == "" {
		return
	}
	if r.open.kind != kind {
		r.close(statusCompleted)
		r.open = r.begin(kind)
	}
	r.open.text = append(r.open.text, text...)
}

func (r *Response) close(status string) {
	if r.open.kind != nil {
		r.end(&r.open, status)
	}
}

func (r *Response) call(c *chat.Call) {
	if !c.Complete {
		r.show(messageKind, c.Arguments)
		return
	}
	r.close(statusCompleted)
	it := r.begin(r.callKind(c.Name))
	it.callID, it.name = r.callID(c.ID), c.Name
	it.text = append(it.text, it.kind.shown(c.Arguments)...)
	r.end(&it, statusCompleted)
}

// callID returns the id of the call that has just begun, which is never empty.
func (b *object) callID(id string) string {
	if id != "" {
		return id
	}
	return "call_" + b.stem + "_" + strconv.Itoa(b.begun-1)
}

// shown returns what an item shows of a call's arguments.
func (k *itemKind) shown(args string) string {
	if k == customKind {
		return freeform.Input(args)
	}
	return orEmptyObject(args)
}

func orEmptyObject(args string) string {
	if args == "" {
		return "{}"
	}
	return args
}

// shown reports whether a rejected attempt stands in the text: when nothing will be done about it any more.
func shown(e chat.Event) bool {
	return e.Flags&chat.FlagSpent != 0 || e.Detail.(*chat.RejectedDetail).Reason == chat.ReasonIncomplete
}

func (r *Response) finish(reason chat.FinishReason) {
	r.reason = reason
	status, _ := ended(reason)
	r.close(status)
	if r.emptyAnswer(status) {
		it := r.begin(messageKind)
		r.end(&it, status)
	}
}

// emptyAnswer reports whether an answer that is whole has nothing in it. It gets an empty message, since clients look
// for one.
func (b *object) emptyAnswer(status string) bool { return b.begun == 0 && status == statusCompleted }

// Append appends the body. It is to be called once the stream has ended.
func (r *Response) Append(dst []byte) []byte {
	status, lack := ended(r.reason)
	return r.object.append(dst, status, lack, nil)
}

// Items returns the items of the output, each as it is in the response.
func (b *object) Items() []json.RawMessage {
	var all []json.RawMessage
	s := jsonbody.Scanner{Bytes: append(append([]byte{'['}, b.items...), ']')}
	for s.Enter('['); s.Next(']'); {
		all = append(all, s.Raw())
	}
	return all
}
