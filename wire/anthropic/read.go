package anthropic

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/jsonbody"
)

// opaqueSignature is the key of the opaque part that is the signature of the thinking before it, a JSON string.
// Thinking that cannot be read is an opaque part under the type of its block.
const opaqueSignature = "signature"

// A StreamReader turns the data of a stream's frames into events. The zero value is ready for one stream.
//
// Blocks are serialised: one is closed before the next one starts, however the server mixes their deltas. Whether the
// answer holds calls is decided by the calls, not by the stop reason. Calls have the origin function.
type StreamReader struct {
	out    []chat.Event
	at     int        // bytes of text and thinking so far
	blocks []*inBlock // that are not closed, in the order of their starts
	calls  int        // that were begun
	whole  int        // that were complete

	id, model string
	reason    string // as the server wrote it; empty: none yet
	stop      string
	usage     *chat.Usage
	started   bool
	done      bool // message_stop was read
	failed    error
}

// An inBlock is a block under way.
type inBlock struct {
	index   int64
	kind    string
	id      string
	name    string
	toolset string          // that the tool of a call belongs to, which was declared as a whole
	number  int             // of a call
	text    strings.Builder // what was read and, unless it is a call, not yet emitted
	initial string          // arguments that stood in the block's start, for when no deltas follow
	sent    int             // bytes of a call's text that were emitted
	opaque  []chat.Extra
	opened  bool // its start was emitted
	stopped bool // its end was read
	checked bool // its arguments were found to be broken
	solid   bool // its text is not all white space
}

// Feed appends the events of one frame's data. The result does not refer to data. An error is a *chat.Error and final.
func (r *StreamReader) Feed(dst []chat.Event, data []byte) ([]chat.Event, error) {
	if r.failed != nil {
		return dst, r.failed
	}
	data = bytes.TrimSpace(data)
	if r.done || len(data) == 0 || string(data) == "[DONE]" { // which some proxies send
		return dst, nil
	}
	r.out = dst
	r.failed = r.frame(data)
	dst, r.out = r.out, nil
	return dst, r.failed
}

// Done reports whether message_stop was read.
func (r *StreamReader) Done() bool { return r.done }

// Finished reports whether a stop reason was read, after which the stream may end without message_stop.
func (r *StreamReader) Finished() bool { return r.reason != "" }

// Close appends what is left at the end of the stream, Finish last. A stream that broke off before a stop reason or
// message_stop is a *chat.Error of the kind ErrProtocol.
func (r *StreamReader) Close(dst []chat.Event) ([]chat.Event, error) {
	if r.failed == nil && !r.done && r.reason == "" {
		r.failed = &chat.Error{Kind: chat.ErrProtocol,
			Message: "the stream ended without a stop reason and without message_stop"}
	}
	if r.failed == nil && !r.started {
		r.failed = &chat.Error{Kind: chat.ErrProtocol, Message: "the stream ended without an answer"}
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
	for _, b := range r.blocks {
		b.stopped = true
	}
	r.advance()
	if r.usage != nil {
		r.emit(chat.Event{Kind: chat.KindUsage, Detail: r.usage})
	}
	end := &chat.Finish{Reason: r.finishReason(), Model: r.model, ID: r.id, Stop: r.stop}
	r.emit(chat.Event{Kind: chat.KindFinish, Detail: end})
}

// finishReasons translates the protocol's stop reasons; any other is a stop.
var finishReasons = map[string]chat.FinishReason{"max_tokens": chat.FinishLength,
	"model_context_window_exceeded": chat.FinishLength, "refusal": chat.FinishFiltered}

func (r *StreamReader) finishReason() chat.FinishReason {
	reason := finishReasons[r.reason]
	switch {
	case r.whole > 0:
		return chat.FinishCalls
	case reason == "":
		return chat.FinishStop
	}
	return reason
}

// cut reports whether the answer ended before the model wanted it to.
func (r *StreamReader) cut() bool { return finishReasons[r.reason] != "" }

// DecodeResponse appends the events of a response's body, Finish last. An error is a *chat.Error.
func DecodeResponse(dst []chat.Event, body []byte) ([]chat.Event, error) {
	r := StreamReader{out: dst}
	s := jsonbody.Scanner{Bytes: body}
	content, failed := false, false
	for s.Enter('{'); s.Next('}'); {
		switch key := string(s.Key()); key {
		case "content":
			content = s.Peek() == '['
			if !content {
				s.Skip()
				continue
			}
			for s.Enter('['); s.Next(']'); {
				r.start(int64(len(r.blocks)), s.Raw())
			}
		case "error":
			failed = s.Peek() == '{'
			s.Skip()
		default:
			r.messageField(&s, key)
		}
	}
	s.End()
	switch {
	case s.Err != nil:
		return dst, &chat.Error{Kind: chat.ErrProtocol, Message: s.Err.Error() + ": " + jsonbody.Excerpt(body),
			Cause: s.Err}
	case failed && !content:
		return dst, DecodeError(0, nil, body)
	case !content:
		return dst, &chat.Error{Kind: chat.ErrProtocol, Message: "the answer has no content: " + jsonbody.Excerpt(body)}
	}
	r.finish()
	return r.out, nil
}

// A frame is one frame's data.
type frame struct {
	kind                         string
	index                        int64
	message, block, delta, usage []byte
}

func (r *StreamReader) frame(data []byte) error {
	var f frame
	s := jsonbody.Scanner{Bytes: data}
	for s.Enter('{'); s.Next('}'); {
		switch string(s.Key()) {
		case "type":
			f.kind = text(&s)
		case "index":
			f.index, _ = s.Integer()
		case "message":
			f.message = s.Raw()
		case "content_block":
			f.block = s.Raw()
		case "delta":
			f.delta = s.Raw()
		case "usage":
			f.usage = s.Raw()
		case "error":
			if f.kind == "" {
				f.kind = "error"
			}
			s.Skip()
		default:
			s.Skip()
		}
	}
	s.End()
	if s.Err != nil {
		return &chat.Error{Kind: chat.ErrProtocol, Message: s.Err.Error() + ": " + jsonbody.Excerpt(data), Cause: s.Err}
	}
	switch f.kind {
	case "error":
		return DecodeError(0, nil, data)
	case "message_start":
		r.started = true
		m := jsonbody.Scanner{Bytes: f.message}
		if m.Peek() == '{' {
			for m.Enter('{'); m.Next('}'); {
				r.messageField(&m, string(m.Key()))
			}
		}
	case "content_block_start":
		r.started = true
		r.start(f.index, f.block)
	case "content_block_delta":
		r.started = true
		r.delta(f.index, f.delta)
	case "content_block_stop":
		if b := r.find(f.index); b != nil {
			b.stopped = true
		}
	case "message_delta":
		r.messageDelta(&f)
	case "message_stop":
		r.done = true
	} // a ping, or what nobody knows yet
	r.advance()
	return nil
}

// text reads a string; anything else is "".
func text(s *jsonbody.Scanner) string {
	if s.Peek() == '"' {
		return s.Str()
	}
	s.Skip()
	return ""
}

// messageField reads a member of a message.
func (r *StreamReader) messageField(s *jsonbody.Scanner, key string) {
	switch key {
	case "id":
		r.id = text(s)
	case "model":
		r.model = text(s)
	case "stop_reason":
		r.reason = text(s)
	case "stop_sequence":
		r.stop = text(s)
	case "usage":
		r.readUsage(s.Raw())
	default:
		s.Skip()
	}
}

func (r *StreamReader) messageDelta(f *frame) {
	s := jsonbody.Scanner{Bytes: f.delta}
	if s.Peek() == '{' {
		for s.Enter('{'); s.Next('}'); {
			switch string(s.Key()) {
			case "stop_reason":
				if reason := text(&s); reason != "" {
					r.reason = reason
				}
			case "stop_sequence":
				r.stop = text(&s)
			default:
				s.Skip()
			}
		}
	}
	r.readUsage(f.usage)
}

// readUsage reads token counts. Those of a stream's end are sums, and leave out what the stream's start said.
func (r *StreamReader) readUsage(raw []byte) {
	if len(raw) == 0 || raw[0] != '{' {
		return
	}
	in, out, read, written := int64(-1), int64(-1), int64(-1), int64(-1)
	s := jsonbody.Scanner{Bytes: raw}
	for s.Enter('{'); s.Next('}'); {
		switch string(s.Key()) {
		case "input_tokens":
			in = count(&s)
		case "output_tokens":
			out = count(&s)
		case "cache_read_input_tokens":
			read = count(&s)
		case "cache_creation_input_tokens":
			written = count(&s)
		default:
			s.Skip()
		}
	}
	if r.usage == nil {
		r.usage = &chat.Usage{Known: true, Requests: 1}
	}
	u := r.usage
	fresh := u.In - u.Cached - u.Written
	if in >= 0 {
		fresh = max(fresh, int(in)) // some servers repeat it as 0
	}
	if read >= 0 {
		u.Cached = max(u.Cached, int(read))
	}
	if written >= 0 {
		u.Written = max(u.Written, int(written))
	}
	u.In = fresh + u.Cached + u.Written
	if out >= 0 {
		u.Out = max(u.Out, int(out))
	}
}

// count reads a number of tokens; what is none is -1.
func count(s *jsonbody.Scanner) int64 {
	if n, ok := s.Integer(); ok && n >= 0 {
		return n
	}
	return -1
}

// find returns the last block of an index.
func (r *StreamReader) find(index int64) *inBlock {
	for i := len(r.blocks) - 1; i >= 0; i-- {
		if r.blocks[i].index == index {
			return r.blocks[i]
		}
	}
	return nil
}

// start takes in the start of a block, or all of one.
func (r *StreamReader) start(index int64, raw []byte) {
	if b := r.find(index); b != nil && !b.stopped && b.kind == typeOf(raw) && b.text.Len() == 0 {
		return // said twice
	}
	b := &inBlock{index: index}
	s := jsonbody.Scanner{Bytes: raw}
	if s.Peek() != '{' {
		return
	}
	for s.Enter('{'); s.Next('}'); {
		switch string(s.Key()) {
		case "type":
			b.kind = text(&s)
		case "text", "thinking":
			b.text.WriteString(text(&s))
		case "signature":
			b.sign(text(&s))
		case "id":
			b.id = text(&s)
		case "tool_use_id":
			b.id = text(&s)
		case "name":
			b.name = text(&s)
		case keyToolset:
			b.toolset = text(&s)
		case "input":
			if s.Peek() == '"' {
				b.initial = s.Str()
			} else {
				b.initial = string(s.Raw())
			}
		default:
			s.Skip()
		}
	}
	switch {
	case b.kind == "redacted_thinking":
		b.opaque = append(b.opaque, chat.Extra{Protocol: chat.ProtocolAnthropic, Key: b.kind, Value: bytes.Clone(raw)})
	case strings.HasSuffix(b.kind, "_tool_result"):
		b.text.Write(raw)
	}
	r.blocks = append(r.blocks, b)
}

// sign takes in a signature.
func (b *inBlock) sign(signature string) {
	if signature != "" {
		b.opaque = append(b.opaque, chat.Extra{Protocol: chat.ProtocolAnthropic, Key: opaqueSignature,
			Value: shape.AppendQuoted(nil, signature)})
	}
}

// kindOfDelta says what block a delta belongs to.
var kindOfDelta = map[string]string{"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "thinking",
	"input_json_delta": "tool_use"}

// delta takes in a delta. One of a block that was never started starts a block, unless it would be a call without a
// name.
func (r *StreamReader) delta(index int64, raw []byte) {
	kind, piece, signature := "", "", ""
	s := jsonbody.Scanner{Bytes: raw}
	if s.Peek() != '{' {
		return
	}
	for s.Enter('{'); s.Next('}'); {
		switch string(s.Key()) {
		case "type":
			kind = text(&s)
		case "text", "thinking", "partial_json":
			piece = text(&s)
		case "signature":
			signature = text(&s)
		default:
			s.Skip()
		}
	}
	want, known := kindOfDelta[kind]
	if !known {
		return
	}
	b := r.find(index)
	if b == nil || b.stopped || want != "tool_use" && b.kind != want {
		if b != nil {
			b.stopped = true
		}
		b = &inBlock{index: index, kind: want}
		r.blocks = append(r.blocks, b)
	}
	b.sign(signature)
	if b == r.blocks[0] && want != "tool_use" && b.text.Len() == 0 { // as it mostly is: nothing waits
		r.say(b, piece)
		return
	}
	b.text.WriteString(piece)
	b.solid = b.solid || strings.TrimSpace(piece) != ""
}

// say emits a piece of text or thinking.
func (r *StreamReader) say(b *inBlock, piece string) {
	if piece == "" {
		return
	}
	kind := chat.KindText
	if b.kind == "thinking" {
		kind = chat.KindReasoning
	}
	r.emit(chat.Event{Kind: kind, At: r.at, End: r.at + len(piece), Text: piece})
	r.at += len(piece)
}

// advance emits what is known of the block that is next, and of those behind it once it is closed.
func (r *StreamReader) advance() {
	for len(r.blocks) > 0 {
		b := r.blocks[0]
		r.show(b)
		if !b.stopped && !r.overtaken(b) || r.undecided(b) {
			return
		}
		b.stopped = true
		r.end(b)
		r.blocks = slices.Delete(r.blocks, 0, 1)
	}
}

// maxOpen limits the blocks that are open at a time; the first of more is closed.
const maxOpen = 64

// overtaken reports whether a block of text or thinking can only have ended, because another has started: servers
// that forget to close one do not go back to it.
func (r *StreamReader) overtaken(b *inBlock) bool {
	return len(r.blocks) > 1 && (b.kind == "text" || b.kind == "thinking") || len(r.blocks) > maxOpen
}

// undecided reports whether only the stop reason will tell if a call is broken or cut off.
func (r *StreamReader) undecided(b *inBlock) bool {
	if b.kind != "tool_use" || r.reason != "" || r.done || len(r.blocks) > maxOpen {
		return false
	}
	if !b.checked {
		args := strings.TrimSpace(b.text.String())
		b.checked = args != "" && !json.Valid([]byte(args))
	}
	return b.checked
}

// show emits what is new of a block.
func (r *StreamReader) show(b *inBlock) {
	switch b.kind {
	case "text", "thinking":
		r.say(b, b.text.String())
		b.text.Reset()
	case "tool_use":
		r.showCall(b)
	}
}

// showCall emits what is new of a call. White space before the arguments, and arguments that are none, do not open it.
func (r *StreamReader) showCall(b *inBlock) {
	if b.name == "" || b.toolset != "" {
		return
	}
	if !b.opened {
		b.opened = true
		b.number = r.calls
		r.calls++
		if b.id == "" {
			b.id = "call_" + strconv.Itoa(b.number)
		}
		r.emit(chat.Event{Kind: chat.KindCallStart, Origin: chat.OriginFunction, Index: b.number, ID: b.id,
			Name: b.name})
	}
	if !b.solid {
		return
	}
	if piece := b.text.String()[b.sent:]; piece != "" {
		b.sent += len(piece)
		r.emit(chat.Event{Kind: chat.KindCallArgs, Origin: chat.OriginFunction, Index: b.number, Text: piece})
	}
}

// end emits the end of a block.
func (r *StreamReader) end(b *inBlock) {
	switch {
	case b.kind == "tool_use" && b.toolset == "":
		r.endCall(b)
	case strings.HasSuffix(b.kind, "tool_use"): // of a tool that the server runs, or knows
		b.setArguments()
		block := shape.AppendQuoted([]byte(`{"type":`), b.kind)
		block = shape.AppendQuoted(append(block, `,"id":`...), b.id)
		block = shape.AppendQuoted(append(block, `,"name":`...), b.name)
		if b.toolset != "" {
			block = shape.AppendQuoted(append(block, `,"toolset_name":`...), b.toolset)
		}
		block = append(appendInput(append(block, `,"input":`...), b.text.String()), '}')
		r.emit(chat.Event{Kind: chat.KindNativeCall, Origin: chat.OriginNative, ID: b.id, Name: b.name,
			Text: b.text.String(), Detail: served(b.kind, block)})
	case strings.HasSuffix(b.kind, "_tool_result"):
		r.emit(chat.Event{Kind: chat.KindNativeResult, Origin: chat.OriginNative, ID: b.id,
			Name: strings.TrimSuffix(b.kind, "_tool_result"), Text: b.text.String(),
			Detail: served(b.kind, []byte(b.text.String()))})
	case len(b.opaque) > 0:
		r.emit(chat.Event{Kind: chat.KindReasoning, At: r.at, End: r.at, Detail: chat.Opaque(b.opaque)})
	}
}

// served keeps the block of a tool that the server ran, for clients of the same protocol.
func served(kind string, block []byte) chat.Detail {
	return chat.Opaque{{Protocol: chat.ProtocolAnthropic, Key: kind, Value: block}}
}

// setArguments gives a call the arguments that stood in its start if no others came, and {} if there are none at all.
func (b *inBlock) setArguments() {
	if b.solid {
		return
	}
	b.text.Reset()
	b.text.WriteString(orEmptyObject(strings.TrimSpace(b.initial)))
	b.sent, b.solid = 0, true
}

// endCall closes a call. One without a name is none.
func (r *StreamReader) endCall(b *inBlock) {
	if b.name == "" {
		if b.text.Len() > 0 {
			r.emit(chat.Event{Kind: chat.KindRejected, Origin: chat.OriginFunction, Index: -1,
				Detail: &chat.RejectedDetail{Reason: chat.ReasonMalformed, Raw: b.text.String(),
					Arguments: b.text.String(), Message: "the server sent a call that has no name"}})
		}
		return
	}
	b.setArguments()
	r.showCall(b)
	args := b.text.String()
	call := &chat.Call{Index: b.number, ID: b.id, Name: b.name, Arguments: args, Origin: chat.OriginFunction}
	call.Complete = !b.checked && json.Valid([]byte(args)) || !r.cut()
	if call.Complete {
		r.whole++
	}
	r.emit(chat.Event{Kind: chat.KindCallEnd, Origin: chat.OriginFunction, Index: b.number, ID: b.id, Name: b.name,
		Detail: call})
}
