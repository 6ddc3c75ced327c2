package responses

import (
	"bytes"
	"strings"

	"wield/chat"
	"wield/wire/internal/freeform"
	"wield/wire/jsonbody"
	"wield/wire/openai"
)

// A StreamReader turns the data of a stream's frames into events, for one answer. Calls have the origin function.
// What the server itself did comes as native calls, whole, with the item as the opaque part of the event.
type StreamReader struct {
	out   []chat.Event
	names Names
	at    int // bytes of text and reasoning so far

	open     int64  // output_index of the call that is under way; -1: none is
	openKind string // its type
	index    int    // of the next call
	complete int    // calls that were emitted whole
	args     strings.Builder
	told     map[int64]bool // messages and reasoning whose text came in deltas

	id, model string
	status    string // of the response, once it has ended
	lack      string
	usage     *chat.Usage
	begun     bool
	failed    error
}

// NewStreamReader returns a reader of an answer to a request with tools of these names.
func NewStreamReader(names Names) *StreamReader { return &StreamReader{names: names, open: -1} }

// Feed appends the events of one frame's data. The result does not refer to data. An error is a *chat.Error and final.
func (r *StreamReader) Feed(dst []chat.Event, data []byte) ([]chat.Event, error) {
	if r.failed != nil {
		return dst, r.failed
	}
	data = bytes.TrimSpace(data)
	if r.Done() || len(data) == 0 || string(data) == "[DONE]" {
		return dst, nil
	}
	r.out = dst
	r.failed = r.frame(data)
	dst, r.out = r.out, nil
	return dst, r.failed
}

// Done reports whether the event that ends the response was read.
func (r *StreamReader) Done() bool { return r.status != "" }

// Finished reports the same.
func (r *StreamReader) Finished() bool { return r.Done() }

// Close appends what is left at the end of the stream, Finish last. A stream that broke off is a *chat.Error of the
// kind ErrProtocol.
func (r *StreamReader) Close(dst []chat.Event) ([]chat.Event, error) {
	if r.failed == nil && r.status == "" {
		r.failed = &chat.Error{Kind: chat.ErrProtocol, Message: "the stream ended without response.completed"}
	}
	if r.failed != nil {
		return dst, r.failed
	}
	r.out = dst
	r.finish()
	dst, r.out = r.out, nil
	return dst, nil
}

func (r *StreamReader) emit(e chat.Event) { r.out = append(r.out, e) }

// finish emits the end of the answer.
func (r *StreamReader) finish() {
	reason := chat.FinishStop
	switch {
	case r.complete > 0:
		reason = chat.FinishCalls
	case r.lack == incompleteReasons[chat.FinishFiltered]:
		reason = chat.FinishFiltered
	case r.status == statusIncomplete:
		reason = chat.FinishLength
	}
	if r.usage != nil {
		r.emit(chat.Event{Kind: chat.KindUsage, Detail: r.usage})
	}
	r.emit(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: reason, Model: r.model, ID: r.id}})
}

// DecodeResponse appends the events of a response's body, Finish last. An error is a *chat.Error.
func DecodeResponse(dst []chat.Event, names Names, body []byte) ([]chat.Event, error) {
	r := NewStreamReader(names)
	r.out = dst
	if err := r.response(body, true); err != nil {
		return dst, err
	}
	if !r.begun {
		return dst, &chat.Error{Kind: chat.ErrProtocol, Message: "the answer has no output: " + jsonbody.Excerpt(body)}
	}
	r.finish()
	return r.out, nil
}

// A frame holds the fields of an event that are read.
type frame struct {
	kind           string
	place          int64
	delta          string
	response, item []byte
	logprobs       []byte
}

func (r *StreamReader) frame(data []byte) error {
	var f frame
	s := jsonbody.Scanner{Bytes: data}
	for s.Enter('{'); s.Next('}'); {
		switch string(s.Key()) {
		case "type":
			f.kind = textOf(&s)
		case "output_index":
			f.place, _ = s.Integer()
		case "delta":
			f.delta = textOf(&s)
		case "response":
			f.response = s.Raw()
		case "item":
			f.item = s.Raw()
		case "logprobs":
			f.logprobs = s.Raw()
		default:
			s.Skip()
		}
	}
	s.End()
	if s.Err != nil {
		return &chat.Error{Kind: chat.ErrProtocol, Message: s.Err.Error() + ": " + jsonbody.Excerpt(data), Cause: s.Err}
	}
	switch f.kind {
	case "response.output_text.delta", "response.refusal.delta":
		r.tell(f.place)
		r.text(chat.KindText, f.delta, f.logprobs)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		r.tell(f.place)
		r.text(chat.KindReasoning, f.delta, nil)
	case "response.output_item.added":
		r.added(f.place, f.item)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		if f.place == r.open {
			r.delta(f.delta)
		}
	case "response.output_item.done":
		r.item(f.place, f.item)
	case "response.created", "response.in_progress", "response.completed", "response.incomplete", "response.failed",
		"response.cancelled":
		return r.response(f.response, false)
	case "error":
		return openai.DecodeError(0, nil, errorOf(data))
	}
	return nil
}

// errorOf returns an error event in the shape of an error's body.
func errorOf(data []byte) []byte {
	if memberRaw(data, "error") != nil {
		return data
	}
	return append(append([]byte(`{"error":`), data...), '}')
}

func memberRaw(object []byte, key string) (raw []byte) {
	s := jsonbody.Scanner{Bytes: object}
	if s.Peek() != '{' {
		return nil
	}
	for s.Enter('{'); s.Next('}'); {
		if string(s.Key()) == key && s.Peek() != 'n' {
			raw = s.Raw()
		} else {
			s.Skip()
		}
	}
	return raw
}

// textOf reads a string; anything else is "".
func textOf(s *jsonbody.Scanner) string {
	if s.Peek() == '"' {
		return s.Str()
	}
	s.Skip()
	return ""
}

// tell notes that the text of an item comes in deltas.
func (r *StreamReader) tell(place int64) {
	if r.told == nil {
		r.told = make(map[int64]bool)
	}
	r.told[place] = true
}

func (r *StreamReader) text(kind chat.Kind, text string, logprobs []byte) {
	if text == "" {
		return
	}
	e := chat.Event{Kind: kind, At: r.at, End: r.at + len(text), Text: text}
	if len(logprobs) > len("[]") {
		e.Detail = chat.LogProbs(append(append([]byte(`{"content":`), logprobs...), '}'))
	}
	r.at = e.End
	r.emit(e)
}

// response reads what a response says of itself. with says that its output is read as well.
func (r *StreamReader) response(raw []byte, with bool) error {
	var failure []byte
	status := ""
	s := jsonbody.Scanner{Bytes: raw}
	if s.Peek() == '{' {
		for s.Enter('{'); s.Next('}'); {
			switch string(s.Key()) {
			case "id":
				r.id = textOf(&s)
			case "model":
				r.model = textOf(&s)
			case "status":
				status = textOf(&s)
			case "error":
				failure = s.Raw()
			case "incomplete_details":
				r.lack = memberOf(s.Raw(), "reason")
			case "usage":
				r.readUsage(s.Raw())
			case "output":
				if !with || s.Peek() != '[' {
					s.Skip()
					continue
				}
				r.begun = true
				for s.Enter('['); s.Next(']'); {
					r.item(int64(r.index), s.Raw())
				}
			default:
				s.Skip()
			}
		}
	}
	if s.Err != nil {
		return &chat.Error{Kind: chat.ErrProtocol, Message: s.Err.Error() + ": " + jsonbody.Excerpt(raw), Cause: s.Err}
	}
	if len(failure) > 0 && failure[0] == '{' {
		return openai.DecodeError(0, nil, errorOf(failure))
	}
	switch status {
	case statusCompleted, statusIncomplete:
		r.status = status
	case statusFailed, statusCancelled:
		return &chat.Error{Kind: chat.ErrUnavailable, Message: "the server's response is " + status}
	}
	return nil
}

func (r *StreamReader) readUsage(raw []byte) {
	if len(raw) == 0 || raw[0] != '{' {
		return
	}
	u := chat.Usage{Known: true, Requests: 1}
	s := jsonbody.Scanner{Bytes: raw}
	for s.Enter('{'); s.Next('}'); {
		switch string(s.Key()) {
		case "input_tokens":
			u.In = countOf(&s)
		case "output_tokens":
			u.Out = countOf(&s)
		case "input_tokens_details":
			u.Cached = countIn(s.Raw(), "cached_tokens")
		case "output_tokens_details":
			u.Reasoning = countIn(s.Raw(), "reasoning_tokens")
		default:
			s.Skip()
		}
	}
	r.usage = &u
}

func countOf(s *jsonbody.Scanner) int {
	n, _ := s.Integer()
	return max(int(n), 0)
}

func countIn(object []byte, key string) int {
	s := jsonbody.Scanner{Bytes: memberRaw(object, key)}
	if len(s.Bytes) == 0 {
		return 0
	}
	return countOf(&s)
}

// An outItem is an item of the output, as far as any is read.
type outItem struct {
	kind, id, callID, name, space string
	raw                           []byte
}

func readItem(raw []byte) outItem {
	it := outItem{raw: raw}
	s := jsonbody.Scanner{Bytes: raw}
	if s.Peek() != '{' {
		return it
	}
	for s.Enter('{'); s.Next('}'); {
		switch string(s.Key()) {
		case "type":
			it.kind = textOf(&s)
		case "id":
			it.id = textOf(&s)
		case "call_id":
			it.callID = textOf(&s)
		case "name":
			it.name = textOf(&s)
		case "namespace":
			it.space = textOf(&s)
		default:
			s.Skip()
		}
	}
	if it.callID == "" {
		it.callID = it.id
	}
	return it
}

// calls reports whether the client runs what an item calls.
func (it *outItem) calls() bool {
	if it.kind == "tool_search_call" {
		return memberOf(it.raw, "execution") == "client"
	}
	return it.kind == "function_call" || formOfCall(it.kind) != nil
}

// seen returns the name under which the tool that an item calls was offered.
func (r *StreamReader) seen(it *outItem) string {
	name := it.name
	if f := formOfCall(it.kind); f != nil && name == "" {
		name = f.name
	}
	if seen, ok := r.names.in[spaced{it.space, name}]; ok {
		return seen
	}
	return name
}

// added opens a call. One that is interleaved with another is emitted when it is complete.
func (r *StreamReader) added(place int64, raw []byte) {
	it := readItem(raw)
	if r.open >= 0 || !it.calls() || it.callID == "" {
		return
	}
	r.open, r.openKind = place, it.kind
	r.args.Reset()
	r.start(&it)
}

func (r *StreamReader) start(it *outItem) {
	r.emit(chat.Event{Kind: chat.KindCallStart, Origin: chat.OriginFunction, Index: r.index, ID: it.callID,
		Name: r.seen(it)})
}

// delta adds to the arguments of the open call. The text of a custom tool's is written as the argument that it is.
func (r *StreamReader) delta(text string) {
	if text == "" {
		return
	}
	if r.openKind == customForm.call {
		text = freeform.Piece(text, r.args.Len() == 0)
	}
	r.args.WriteString(text)
	r.emit(chat.Event{Kind: chat.KindCallArgs, Origin: chat.OriginFunction, Index: r.index, Text: text})
}

// item takes in an item that is done.
func (r *StreamReader) item(place int64, raw []byte) {
	it := readItem(raw)
	switch {
	case it.calls():
		r.call(place, &it)
	case it.kind == "message":
		if !r.told[place] {
			r.text(chat.KindText, partsOf(raw, "content"), nil)
		}
	case it.kind == "reasoning":
		if !r.told[place] {
			words := partsOf(raw, "content")
			if words == "" {
				words = partsOf(raw, "summary")
			}
			r.text(chat.KindReasoning, words, nil)
		}
		if sealed := memberRaw(raw, keySealed); sealed != nil {
			r.emit(chat.Event{Kind: chat.KindReasoning, At: r.at, End: r.at, Detail: chat.Opaque{
				{Protocol: chat.ProtocolResponses, Key: keySealed, Value: bytes.Clone(sealed)}}})
		}
	case it.kind != "":
		r.emit(chat.Event{Kind: chat.KindNativeCall, Origin: chat.OriginNative, ID: it.id,
			Name: strings.TrimSuffix(it.kind, "_call"), At: r.at, End: r.at,
			Detail: chat.Opaque{{Protocol: chat.ProtocolResponses, Key: keyItem, Value: bytes.Clone(raw)}}})
	}
}

// call emits the end of a call, and its beginning if that was not told.
func (r *StreamReader) call(place int64, it *outItem) {
	open := r.open == place
	if !open {
		if r.open >= 0 { // the one under way is not closed yet: its end comes with its own item
			return
		}
		r.args.Reset()
		r.start(it)
	}
	args, sent := argumentsOf(it), r.args.String()
	if rest, ok := strings.CutPrefix(args, sent); ok && rest != "" {
		r.emit(chat.Event{Kind: chat.KindCallArgs, Origin: chat.OriginFunction, Index: r.index, Text: rest})
	} else if !ok { // the same in other words; what was told stands
		if args = sent; r.openKind == customForm.call {
			args += freeform.End
			r.emit(chat.Event{Kind: chat.KindCallArgs, Origin: chat.OriginFunction, Index: r.index, Text: freeform.End})
		}
	}
	complete := memberOf(it.raw, "status") != statusIncomplete
	r.emit(chat.Event{Kind: chat.KindCallEnd, Origin: chat.OriginFunction, Index: r.index, ID: it.callID,
		Name: r.seen(it), Detail: &chat.Call{Index: r.index, ID: it.callID, Name: r.seen(it), Arguments: args,
			Complete: complete, Origin: chat.OriginFunction}})
	r.index++
	if complete {
		r.complete++
	}
	r.open = -1
}

// argumentsOf returns the arguments of a call.
func argumentsOf(it *outItem) string {
	f := formOfCall(it.kind)
	switch {
	case f == nil:
		return orEmptyObject(memberOf(it.raw, "arguments"))
	case f == customForm:
		return freeform.Arguments(memberOf(it.raw, f.holds))
	}
	d := requestReader{req: &Request{}}
	held := memberRaw(it.raw, f.holds)
	if len(held) == 0 || held[0] != '{' || d.Init(held) != nil {
		return orEmptyObject(memberOf(it.raw, f.holds))
	}
	return d.formArguments(f)
}

// partsOf joins the texts of the parts of an item.
func partsOf(raw []byte, key string) string {
	s := jsonbody.Scanner{Bytes: memberRaw(raw, key)}
	if len(s.Bytes) == 0 || s.Peek() != '[' {
		return ""
	}
	var all []string
	for s.Enter('['); s.Next(']'); {
		part := s.Raw()
		if text := memberOf(part, "text") + memberOf(part, "refusal"); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n")
}
