package anthropic

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/jsonbody"
)

// Thinking says how much of a model's reasoning an answer shows. The protocol gives none to clients that did not ask
// for it: they expect the first block to be text.
type Thinking uint8

// The choices.
const (
	thinkingHidden  Thinking = iota // nothing of it
	thinkingOmitted                 // what a client must hand back, without the text
	thinkingShown                   // all of it
)

// ThinkingOf returns how much reasoning a request asks for.
func ThinkingOf(req *chat.Request) Thinking {
	for _, x := range req.Extra {
		if x.Protocol != chat.ProtocolAnthropic || x.Key != "thinking" {
			continue
		}
		kind, display := "", ""
		s := jsonbody.Scanner{Bytes: x.Value}
		if s.Peek() != '{' {
			return thinkingHidden
		}
		for s.Enter('{'); s.Next('}'); {
			switch key := string(s.Key()); {
			case key == "type" && s.Peek() == '"':
				kind = s.Str()
			case key == "display" && s.Peek() == '"':
				display = s.Str()
			default:
				s.Skip()
			}
		}
		switch {
		case kind == "" || kind == "disabled":
			return thinkingHidden
		case display == "omitted":
			return thinkingOmitted
		}
		return thinkingShown
	}
	return thinkingHidden
}

// ResponseOptions hold what an answer says about itself.
type ResponseOptions struct {
	ID       string // such as msg_...; also the stem of ids for calls that come without one
	Model    string // as the client knows it
	Thinking Thinking
	Request  *chat.Request // that it answers; nil: it declares no sets of tools
}

// blockKind is the type of a block that is written.
type blockKind uint8

const (
	noBlock blockKind = iota
	textBlock
	thinkingBlock
	useBlock
)

// How each kind of block begins and what a delta of it is, up to the value of its text.
var blockStarts = [...]string{
	textBlock:     `{"type":"text","text":""}`,
	thinkingBlock: `{"type":"thinking","thinking":"","signature":""}`,
}

var deltaStarts = [...]string{
	textBlock:     `{"type":"text_delta","text":"`,
	thinkingBlock: `{"type":"thinking_delta","thinking":"`,
	useBlock:      `{"type":"input_json_delta","partial_json":"`,
}

// A StreamWriter turns the events of one answer into the frames of a stream. One block is open at a time, and each
// has an index of its own; a call's arguments are never empty; there is one stop reason. Text of KindRejected events
// is shown when they are marked FlagSpent, and not otherwise.
type StreamWriter struct {
	o ResponseOptions

	started  bool
	ended    bool
	open     blockKind
	head     []byte // the frame of a delta of the open block, up to its text
	index    int    // of the open block, or of the next one
	sent     bool   // the open call has arguments on the wire
	calls    int
	complete int
	counts   *chat.Usage
	tail     jsonbody.RuneTail // of the open block
}

// NewStreamWriter returns a writer for one answer.
func NewStreamWriter(o ResponseOptions) *StreamWriter { return &StreamWriter{o: o} }

// Append appends the frames that e makes, none for the kinds that the protocol does not show. KindFinish writes the
// end of the stream; nothing may follow it.
func (w *StreamWriter) Append(dst []byte, e chat.Event) []byte {
	if w.ended {
		return dst
	}
	switch e.Kind {
	case chat.KindText:
		return w.appendText(dst, textBlock, e.Text)
	case chat.KindReasoning:
		return w.appendReasoning(dst, e)
	case chat.KindCallStart:
		return w.appendCall(dst, e.ID, e.Name)
	case chat.KindCallArgs:
		if w.open == useBlock {
			return w.appendDelta(dst, w.tail.Take(e.Text))
		}
	case chat.KindCallEnd:
		return w.appendCallEnd(dst, e.Detail.(*chat.Call))
	case chat.KindRejected:
		if w.open == useBlock {
			return w.close(dst) // part of it is on the wire as a call
		}
		if shown(e) {
			return w.appendText(dst, textBlock, e.Detail.(*chat.RejectedDetail).Raw)
		}
	case chat.KindNativeCall, chat.KindNativeResult:
		if x := servedBlock(e); x != nil {
			return w.appendOpaque(dst, *x)
		}
	case chat.KindUsage:
		w.counts = e.Detail.(*chat.Usage)
	case chat.KindFinish:
		return w.appendEnd(dst, e.Detail.(*chat.Finish))
	}
	return dst
}

// servedBlock returns the block in which a server of this protocol told of a tool that it ran.
func servedBlock(e chat.Event) *chat.Extra {
	opaque, _ := e.Detail.(chat.Opaque)
	for i := range opaque {
		if x := &opaque[i]; x.Protocol == chat.ProtocolAnthropic {
			return x
		}
	}
	return nil
}

// shown reports whether a rejected attempt stands in the content: when nothing will be done about it any more.
func shown(e chat.Event) bool {
	return e.Flags&chat.FlagSpent != 0 || e.Detail.(*chat.RejectedDetail).Reason == chat.ReasonIncomplete
}

// appendStart appends the first frame of the stream.
func (w *StreamWriter) appendStart(dst []byte) []byte {
	if w.started {
		return dst
	}
	w.started = true
	dst = append(dst, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":"...)
	dst = appendHead(dst, w.o)
	return append(dst, `],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}}}`+
		"\n\n"...)
}

// appendHead appends a message up to its first block.
func appendHead(dst []byte, o ResponseOptions) []byte {
	dst = append(dst, `{"id":`...)
	dst = shape.AppendQuoted(dst, o.ID)
	dst = append(dst, `,"type":"message","role":"assistant","model":`...)
	dst = shape.AppendQuoted(dst, o.Model)
	return append(dst, `,"content":[`...)
}

// begin opens a block of a kind, and closes another that is open.
func (w *StreamWriter) begin(dst []byte, kind blockKind) []byte {
	dst = w.close(w.appendStart(dst))
	dst = append(dst, "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":"...)
	dst = strconv.AppendInt(dst, int64(w.index), 10)
	dst = append(dst, `,"content_block":`...)
	w.open = kind
	w.head = append(w.head[:0], "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":"...)
	w.head = strconv.AppendInt(w.head, int64(w.index), 10)
	w.head = append(w.head, `,"delta":`...)
	w.head = append(w.head, deltaStarts[kind]...)
	if kind == useBlock {
		return dst
	}
	dst = append(dst, blockStarts[kind]...)
	return append(dst, "}\n\n"...)
}

// close closes the block that is open.
func (w *StreamWriter) close(dst []byte) []byte {
	if w.open == noBlock {
		return dst
	}
	if w.tail.Pending() {
		dst = w.appendDelta(dst, w.tail.Flush())
	}
	dst = append(dst, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":"...)
	dst = strconv.AppendInt(dst, int64(w.index), 10)
	w.open = noBlock
	w.index++
	return append(dst, "}\n\n"...)
}

// appendText appends a delta of text or thinking, in a block that it opens if need be.
func (w *StreamWriter) appendText(dst []byte, kind blockKind, text string) []byte {
	if text == "" {
		return dst
	}
	if w.open != kind {
		dst = w.begin(dst, kind)
	}
	return w.appendDelta(dst, w.tail.Take(text))
}

// appendDelta appends a delta of the open block.
func (w *StreamWriter) appendDelta(dst []byte, text string) []byte {
	if text == "" {
		return dst
	}
	w.sent = true
	dst = append(dst, w.head...)
	dst = shape.AppendEscaped(dst, text)
	return append(dst, "\"}}\n\n"...)
}

func (w *StreamWriter) appendReasoning(dst []byte, e chat.Event) []byte {
	if w.o.Thinking == thinkingHidden {
		return dst
	}
	if w.o.Thinking == thinkingShown {
		dst = w.appendText(dst, thinkingBlock, e.Text)
	}
	opaque, _ := e.Detail.(chat.Opaque)
	for _, x := range opaque {
		if x.Protocol == chat.ProtocolAnthropic {
			dst = w.appendOpaque(dst, x)
		}
	}
	return dst
}

// appendOpaque ends a block of thinking with its signature, or appends one that cannot be read.
func (w *StreamWriter) appendOpaque(dst []byte, x chat.Extra) []byte {
	if x.Key == opaqueSignature {
		if w.open != thinkingBlock {
			dst = w.begin(dst, thinkingBlock)
		}
		if w.tail.Pending() {
			dst = w.appendDelta(dst, w.tail.Flush())
		}
		dst = append(dst, w.head[:len(w.head)-len(deltaStarts[thinkingBlock])]...)
		dst = append(dst, `{"type":"signature_delta","signature":`...)
		dst = append(dst, x.Value...)
		dst = append(dst, "}}\n\n"...)
		return w.close(dst)
	}
	dst = w.begin(dst, useBlock)
	block, input := x.Value, json.RawMessage(nil)
	if strings.HasSuffix(x.Key, "tool_use") {
		block, input = parted(block)
	}
	if x.Key == "tool_use" { // of a toolset: the client runs it
		w.complete++
	}
	dst = append(jsonbody.AppendCompact(dst, block), "}\n\n"...)
	return w.close(w.appendDelta(dst, string(input)))
}

// parted takes the input out of the block of a call, since streams send it behind the block's start.
func parted(block json.RawMessage) (rest, input json.RawMessage) {
	s := jsonbody.Scanner{Bytes: block}
	for s.Enter('{'); s.Next('}'); {
		key, start := string(s.Key()), s.Pos
		raw := s.Raw()
		if key == "input" {
			return slices.Concat(block[:start], []byte("{}"), block[s.Pos:]), raw
		}
	}
	return block, nil
}

// appendCall appends the frame that opens a call.
func (w *StreamWriter) appendCall(dst []byte, id, name string) []byte {
	dst = w.begin(dst, useBlock)
	dst = append(dst, `{"type":"tool_use","id":`...)
	dst = appendCallID(dst, id, w.o.ID, w.calls)
	dst = appendName(dst, w.o.Request, name)
	dst = append(dst, `,"input":{}}}`+"\n\n"...)
	w.calls++
	w.sent = false
	return dst
}

// appendCallID appends the id of call n, which is never empty.
func appendCallID(dst []byte, id, response string, n int) []byte {
	if id == "" {
		id = response + "_" + strconv.Itoa(n)
	}
	return shape.AppendQuoted(dst, clientID(id))
}

// appendCallEnd closes the open call. What is missing of its arguments is sent, since clients fail on a call with
// empty ones.
func (w *StreamWriter) appendCallEnd(dst []byte, call *chat.Call) []byte {
	if w.open != useBlock {
		if !call.Complete {
			return dst
		}
		dst = w.appendCall(dst, call.ID, call.Name)
	}
	if call.Complete {
		w.complete++
		if !w.sent && !w.tail.Pending() {
			dst = w.appendDelta(dst, orEmptyObject(call.Arguments))
		}
	}
	return w.close(dst)
}

func orEmptyObject(args string) string {
	if args == "" {
		return "{}"
	}
	return args
}

// appendEnd appends the stop reason and the usage, and the last frame.
func (w *StreamWriter) appendEnd(dst []byte, f *chat.Finish) []byte {
	dst = w.close(w.appendStart(dst))
	w.ended = true
	dst = append(dst, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{"...)
	dst = appendStop(dst, f, w.complete > 0)
	dst = append(dst, `},"usage":`...)
	dst = appendUsage(dst, w.counts, false)
	dst = append(dst, "}\n\n"...)
	return append(dst, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"...)
}

// AppendError appends the frame that ends a stream which failed after it had begun. No message_stop follows it, so
// that no client takes the answer for a whole one.
func (w *StreamWriter) AppendError(dst []byte, err *chat.Error) []byte {
	if w.ended {
		return dst
	}
	w.ended = true
	if w.tail.Pending() {
		dst = w.appendDelta(dst, w.tail.Flush())
	}
	dst = append(dst, "event: error\ndata: "...)
	dst = AppendError(dst, err)
	return append(dst, "\n\n"...)
}

// stopReasons are the protocol's words for the ends of an answer.
var stopReasons = map[chat.FinishReason]string{chat.FinishLength: "max_tokens", chat.FinishFiltered: "refusal",
	chat.FinishPause: "pause_turn"}

// appendStop appends the stop reason, which is tool_use exactly when there is a complete call, and the stop sequence.
func appendStop(dst []byte, f *chat.Finish, calls bool) []byte {
	reason, stop := stopReasons[f.Reason], ""
	switch {
	case calls:
		reason = "tool_use"
	case reason != "":
	case f.Stop != "":
		reason, stop = "stop_sequence", f.Stop
	default:
		reason = "end_turn"
	}
	dst = append(dst, `"stop_reason":"`...)
	dst = append(dst, reason...)
	dst = append(dst, `","stop_sequence":`...)
	if stop == "" {
		return append(dst, "null"...)
	}
	return shape.AppendQuoted(dst, stop)
}

// appendUsage appends token counts. The protocol has no way to say that they are not known: then they are 0. What was
// read from the cache or written to it is not part of input_tokens here.
func appendUsage(dst []byte, u *chat.Usage, whole bool) []byte {
	if u == nil || !u.Known {
		if whole {
			return append(dst, `{"input_tokens":0,"output_tokens":0}`...)
		}
		return append(dst, `{"output_tokens":0}`...)
	}
	for _, c := range [...]struct {
		key   string
		count int
	}{
		{`{"input_tokens":`, max(u.In-u.Cached-u.Written, 0)},
		{`,"cache_creation_input_tokens":`, u.Written},
		{`,"cache_read_input_tokens":`, u.Cached},
		{`,"output_tokens":`, u.Out},
	} {
		dst = append(dst, c.key...)
		dst = strconv.AppendInt(dst, int64(c.count), 10)
	}
	return append(dst, '}')
}

// KeepAlive is a frame that says nothing, which every client passes over.
const KeepAlive = "event: ping\ndata: {\"type\":\"ping\"}\n\n"

// A Response collects the events of one answer into a message. Text of KindRejected events is shown when they are
// marked FlagSpent, and that of incomplete calls always, since they are not listed.
type Response struct {
	o        ResponseOptions
	content  []byte // whole blocks, joined by commas
	kind     blockKind
	text     []byte // of the block under way, if it is text or thinking
	calls    int
	counts   *chat.Usage
	finished chat.Finish
}

// NewResponse returns a collector for one answer.
func NewResponse(o ResponseOptions) *Response { return &Response{o: o} }

// Add takes in one event.
func (r *Response) Add(e chat.Event) {
	switch e.Kind {
	case chat.KindText:
		r.add(textBlock, e.Text)
	case chat.KindReasoning:
		r.addReasoning(e)
	case chat.KindCallEnd:
		if call := e.Detail.(*chat.Call); call.Complete {
			r.addCall(call)
		} else {
			r.add(textBlock, call.Arguments)
		}
	case chat.KindRejected:
		if shown(e) {
			r.add(textBlock, e.Detail.(*chat.RejectedDetail).Raw)
		}
	case chat.KindNativeCall, chat.KindNativeResult:
		if x := servedBlock(e); x != nil {
			r.close(nil)
			r.next()
			r.content = append(r.content, x.Value...)
			if x.Key == "tool_use" { // of a toolset: the client runs it
				r.calls++
			}
		}
	case chat.KindUsage:
		r.counts = e.Detail.(*chat.Usage)
	case chat.KindFinish:
		r.finished = *e.Detail.(*chat.Finish)
	}
}

// add adds text to the block under way, or begins another.
func (r *Response) add(kind blockKind, text string) {
	if text == "" {
		return
	}
	if r.kind != kind {
		r.close(nil)
		r.kind = kind
	}
	r.text = append(r.text, text...)
}

// next makes room for a block.
func (r *Response) next() {
	if len(r.content) > 0 {
		r.content = append(r.content, ',')
	}
}

// close ends the block under way. The signature, if there is one, is a JSON string.
func (r *Response) close(signature []byte) {
	switch r.kind {
	case textBlock:
		r.next()
		r.content = append(r.content, `{"type":"text","text":`...)
		r.content = shape.AppendQuoted(r.content, string(r.text))
		r.content = append(r.content, '}')
	case thinkingBlock:
		if signature == nil {
			signature = []byte(`""`)
		}
		r.next()
		r.content = append(r.content, `{"type":"thinking","thinking":`...)
		r.content = shape.AppendQuoted(r.content, string(r.text))
		r.content = append(r.content, `,"signature":`...)
		r.content = append(r.content, signature...)
		r.content = append(r.content, '}')
	}
	r.kind, r.text = noBlock, r.text[:0]
}

func (r *Response) addReasoning(e chat.Event) {
	if r.o.Thinking == thinkingHidden {
		return
	}
	if r.o.Thinking == thinkingShown {
		r.add(thinkingBlock, e.Text)
	}
	opaque, _ := e.Detail.(chat.Opaque)
	for _, x := range opaque {
		switch {
		case x.Protocol != chat.ProtocolAnthropic:
		case x.Key == opaqueSignature:
			if r.kind != thinkingBlock {
				r.close(nil)
				r.kind = thinkingBlock
			}
			r.close(x.Value)
		default:
			r.close(nil)
			r.next()
			r.content = append(r.content, x.Value...)
		}
	}
}

func (r *Response) addCall(c *chat.Call) {
	r.close(nil)
	r.next()
	r.content = append(r.content, `{"type":"tool_use","id":`...)
	r.content = appendCallID(r.content, c.ID, r.o.ID, r.calls)
	r.content = appendName(r.content, r.o.Request, c.Name)
	r.content = append(r.content, `,"input":`...)
	r.content = appendInput(r.content, c.Arguments)
	r.content = append(r.content, '}')
	r.calls++
}

// Append appends the body. It is to be called once the stream has ended.
func (r *Response) Append(dst []byte) []byte {
	r.close(nil)
	dst = slices.Grow(dst, len(r.content)+512)
	dst = appendHead(dst, r.o)
	dst = append(dst, r.content...)
	dst = append(dst, "],"...)
	dst = appendStop(dst, &r.finished, r.calls > 0)
	dst = append(dst, `,"usage":`...)
	dst = appendUsage(dst, r.counts, true)
	return append(dst, '}')
}
