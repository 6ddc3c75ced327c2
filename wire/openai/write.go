package openai

import (
	"strconv"
	"strings"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/internal/freeform"
	"wield/wire/jsonbody"
)

// ResponseOptions hold what an answer says about itself.
type ResponseOptions struct {
	ID      string // such as chatcmpl-...; also the stem of ids for calls that come without one
	Created int64  // seconds since 1970
	Model   string // as the client knows it
	Usage   bool   // stream only: the client asked for a usage chunk
	Choice  int    // number of the answer, of several to one request
	Legacy  bool   // a call is said in the older form, as function_call; there is only one

	// Custom are the tools whose calls hold plain text in place of arguments.
	Custom map[string]bool

	// Annotations says that the tools which the backend itself ran are told of in annotations of the message.
	Annotations bool
}

// A StreamWriter turns the events of one answer into the frames of a stream: the role first, each call under an index
// that counts over the whole answer with id, type and name once, one finish reason, a usage chunk if it was asked
// for, and [DONE]. Text of KindRejected events is shown when they are marked FlagSpent, and not otherwise.
type StreamWriter struct {
	usage      bool
	legacy     bool
	head, tail []byte // what stands around a delta
	top        []byte // the beginning of a chunk up to its choices
	id         string

	started  bool
	ended    bool
	open     bool // a call is open
	sent     bool // the open call has arguments on the wire
	calls    int  // calls on the wire
	complete int
	counts   *chat.Usage
	custom   map[string]bool
	free     *freeform.Reader // of the open call, if that holds plain text
	freeSent int              // bytes of that text on the wire
	natives  annotations
	rest     [3]jsonbody.RuneTail // of text, reasoning and arguments
}

// NewStreamWriter returns a writer for one answer.
func NewStreamWriter(o ResponseOptions) *StreamWriter {
	w := &StreamWriter{usage: o.Usage, legacy: o.Legacy, custom: o.Custom, id: o.ID,
		natives: annotations{wanted: o.Annotations}}
	b := make([]byte, 0, 256+2*len(o.ID)+2*len(o.Model))
	b = append(b, "data: "...)
	b = appendHead(b, o, "chat.completion.chunk")
	top := len(b)
	b = strconv.AppendInt(append(b, `[{"index":`...), int64(o.Choice), 10)
	b = append(b, `,"delta":`...)
	head := len(b)
	b = append(b, `,"logprobs":null,"finish_reason":null}]`...)
	b = w.appendUsageNull(b)
	b = append(b, "}\n\n"...)
	w.top, w.head, w.tail = b[:top:top], b[:head:head], b[head:]
	return w
}

// appendHead appends the beginning that chunks and responses share, up to the value of choices.
func appendHead(dst []byte, o ResponseOptions, object string) []byte {
	dst = append(dst, `{"id":`...)
	dst = shape.AppendQuoted(dst, o.ID)
	dst = append(dst, `,"object":"`...)
	dst = append(dst, object...)
	dst = append(dst, `","created":`...)
	dst = strconv.AppendInt(dst, o.Created, 10)
	dst = append(dst, `,"model":`...)
	dst = shape.AppendQuoted(dst, o.Model)
	return append(dst, `,"choices":`...)
}

func (w *StreamWriter) appendUsageNull(dst []byte) []byte {
	if w.usage {
		dst = append(dst, `,"usage":null`...)
	}
	return dst
}

// Append appends the frames that e makes, none for the kinds that the protocol does not show. KindFinish writes the
// end of the stream, [DONE] included; nothing may follow it.
func (w *StreamWriter) Append(dst []byte, e chat.Event) []byte {
	if w.ended {
		return dst
	}
	switch e.Kind {
	case chat.KindText:
		if probs, ok := e.Detail.(chat.LogProbs); ok {
			return w.appendLogProbs(w.appendRole(dst), e.Text, probs)
		}
		return w.appendText(dst, restText, `{"content":"`, e.Text)
	case chat.KindReasoning:
		return w.appendText(dst, restReasoning, `{"reasoning_content":"`, e.Text)
	case chat.KindCallStart:
		return w.appendCall(dst, e.ID, e.Name)
	case chat.KindCallArgs:
		return w.appendArgs(dst, e.Text)
	case chat.KindCallEnd:
		return w.appendCallEnd(dst, e)
	case chat.KindRejected:
		return w.appendRejected(dst, e)
	case chat.KindNativeCall, chat.KindNativeResult:
		return w.appendAnnotations(dst, e)
	case chat.KindUsage:
		w.counts = e.Detail.(*chat.Usage)
	case chat.KindFinish:
		return w.appendEnd(w.appendAnnotations(dst, e), e.Detail.(*chat.Finish).Reason)
	}
	return dst
}

// The places in StreamWriter.rest.
const (
	restText = iota
	restReasoning
	restArgs
)

// appendText appends a frame whose delta has one string.
func (w *StreamWriter) appendText(dst []byte, rest int, key, text string) []byte {
	if text = w.rest[rest].Take(text); text == "" {
		return dst
	}
	dst = w.appendRole(dst)
	dst = append(dst, w.head...)
	dst = append(dst, key...)
	dst = shape.AppendEscaped(dst, text)
	dst = append(dst, `"}`...)
	return append(dst, w.tail...)
}

// appendRole appends the first frame of the stream, which clients expect to have the role.
func (w *StreamWriter) appendRole(dst []byte) []byte {
	if w.started {
		return dst
	}
	w.started = true
	dst = append(dst, w.head...)
	dst = append(dst, `{"role":"assistant","content":""}`...)
	return append(dst, w.tail...)
}

func (w *StreamWriter) appendLogProbs(dst []byte, text string, probs chat.LogProbs) []byte {
	dst = append(dst, w.head...)
	dst = append(dst, `{"content":`...)
	dst = shape.AppendQuoted(dst, w.rest[restText].Take(text))
	dst = append(dst, `},"logprobs":`...)
	dst = jsonbody.AppendCompact(dst, probs)
	dst = append(dst, `,"finish_reason":null}]`...)
	dst = w.appendUsageNull(dst)
	return append(dst, "}\n\n"...)
}

// appendCall appends the frame that opens a call.
func (w *StreamWriter) appendCall(dst []byte, id, name string) []byte {
	if w.legacy && w.calls > 0 {
		return dst // a second one, for which there is no place
	}
	dst = w.flushText(dst)
	dst = append(dst, w.head...)
	dst = append(dst, '{')
	if !w.started {
		w.started = true
		dst = append(dst, `"role":"assistant","content":null,`...)
	}
	w.free, w.freeSent = nil, 0
	if w.legacy {
		dst = append(dst, `"function_call":{"name":`...)
		dst = shape.AppendQuoted(dst, name)
		dst = append(dst, `,"arguments":""}}`...)
	} else {
		kind, empty := `,"type":"function","function":{"name":`, `,"arguments":""}}]}`
		if w.custom[name] {
			kind, empty, w.free = `,"type":"custom","custom":{"name":`, `,"input":""}}]}`, new(freeform.Reader)
		}
		dst = append(dst, `"tool_calls":[{"index":`...)
		dst = strconv.AppendInt(dst, int64(w.calls), 10)
		dst = append(dst, `,"id":`...)
		dst = appendCallID(dst, id, w.id, w.calls)
		dst = append(dst, kind...)
		dst = shape.AppendQuoted(dst, name)
		dst = append(dst, empty...)
	}
	w.open, w.sent = true, false
	w.calls++
	return append(dst, w.tail...)
}

// appendCallID appends the id of call n, which is never empty.
func appendCallID(dst []byte, id, response string, n int) []byte {
	if id != "" {
		return shape.AppendQuoted(dst, id)
	}
	dst = append(dst, `"call_`...)
	dst = shape.AppendEscaped(dst, strings.TrimPrefix(response, "chatcmpl-"))
	dst = append(dst, '_')
	dst = strconv.AppendInt(dst, int64(n), 10)
	return append(dst, '"')
}

// appendArgs appends a frame with arguments of the open call.
func (w *StreamWriter) appendArgs(dst []byte, text string) []byte {
	if !w.open {
		return dst
	}
	if w.free != nil {
		text = w.free.Add(text)
		w.freeSent += len(text)
	}
	if text = w.rest[restArgs].Take(text); text == "" {
		return dst
	}
	return w.appendArgsFrame(dst, text)
}

func (w *StreamWriter) appendArgsFrame(dst []byte, text string) []byte {
	w.sent = true
	dst = append(dst, w.head...)
	if w.legacy {
		dst = append(dst, `{"function_call":{"arguments":`...)
		dst = shape.AppendQuoted(dst, text)
		dst = append(dst, `}}`...)
		return append(dst, w.tail...)
	}
	dst = append(dst, `{"tool_calls":[{"index":`...)
	dst = strconv.AppendInt(dst, int64(w.calls-1), 10)
	if w.free != nil {
		dst = append(dst, `,"custom":{"input":`...)
	} else {
		dst = append(dst, `,"function":{"arguments":`...)
	}
	dst = shape.AppendQuoted(dst, text)
	dst = append(dst, `}}]}`...)
	return append(dst, w.tail...)
}

// appendCallEnd closes the open call. The protocol has no frame for that; what is missing of the arguments is sent,
// since clients fail on a call with empty ones.
func (w *StreamWriter) appendCallEnd(dst []byte, e chat.Event) []byte {
	call := e.Detail.(*chat.Call)
	if !w.open {
		if !call.Complete {
			return dst
		}
		if dst = w.appendCall(dst, call.ID, call.Name); !w.open {
			return dst
		}
	}
	dst = w.flushArgs(dst)
	if call.Complete {
		w.complete++
		if w.free != nil {
			if text := freeform.Input(call.Arguments); len(text) > w.freeSent {
				dst = w.appendArgsFrame(dst, text[w.freeSent:])
			}
		} else if !w.sent {
			dst = w.appendArgsFrame(dst, orEmptyObject(call.Arguments))
		}
	}
	w.open = false
	return dst
}

func orEmptyObject(args string) string {
	if args == "" {
		return "{}"
	}
	return args
}

// appendRejected shows the text of an attempt at a call, unless part of it is on the wire as a call.
func (w *StreamWriter) appendRejected(dst []byte, e chat.Event) []byte {
	if w.open {
		w.open = false
		return w.flushArgs(dst)
	}
	if !shown(e) {
		return dst
	}
	return w.appendText(dst, restText, `{"content":"`, e.Detail.(*chat.RejectedDetail).Raw)
}

// shown reports whether a rejected attempt stands in the content: when nothing will be done about it any more.
func shown(e chat.Event) bool {
	return e.Flags&chat.FlagSpent != 0 || e.Detail.(*chat.RejectedDetail).Reason == chat.ReasonIncomplete
}

// appendEnd appends the finish reason, the usage and the terminator.
func (w *StreamWriter) appendEnd(dst []byte, reason chat.FinishReason) []byte {
	dst = w.appendReason(dst, reason)
	if w.usage && w.counts != nil && w.counts.Known {
		dst = append(dst, w.top...)
		dst = append(dst, `[],"usage":`...)
		dst = appendUsage(dst, w.counts)
		dst = append(dst, "}\n\n"...)
	}
	return append(dst, "data: [DONE]\n\n"...)
}

// appendReason appends the finish reason.
func (w *StreamWriter) appendReason(dst []byte, reason chat.FinishReason) []byte {
	w.ended = true
	dst = w.flushArgs(w.flushText(dst))
	dst = w.appendRole(dst)
	dst = append(dst, w.head...)
	dst = append(dst, `{},"logprobs":null,"finish_reason":`...)
	dst = shape.AppendQuoted(dst, finishWord(reason, w.complete > 0, w.legacy))
	dst = append(dst, `}]`...)
	dst = w.appendUsageNull(dst)
	return append(dst, "}\n\n"...)
}

// AppendPart is Append for an answer beside others that are not done: its end is not that of the stream.
func (w *StreamWriter) AppendPart(dst []byte, e chat.Event) []byte {
	if e.Kind != chat.KindFinish || w.ended {
		return w.Append(dst, e)
	}
	return w.appendReason(w.appendAnnotations(dst, e), e.Detail.(*chat.Finish).Reason)
}

// finishWord is the finish reason as the client knows it.
func finishWord(reason chat.FinishReason, calls, legacy bool) string {
	if calls && legacy {
		return "function_call"
	}
	return string(shownReason(reason, calls))
}

// AppendError appends the frame that ends a stream which failed after it had begun. No [DONE] follows it, so that no
// client takes the answer for a whole one.
func (w *StreamWriter) AppendError(dst []byte, err *chat.Error) []byte {
	if w.ended {
		return dst
	}
	w.ended = true
	dst = w.flushArgs(w.flushText(dst))
	dst = append(dst, "data: "...)
	dst = AppendError(dst, err)
	return append(dst, "\n\n"...)
}

// flushText and flushArgs write what is left of a character that never became whole.
func (w *StreamWriter) flushText(dst []byte) []byte {
	if w.rest[restReasoning].Pending() {
		dst = w.appendText(dst, restReasoning, `{"reasoning_content":"`, w.rest[restReasoning].Flush())
	}
	if w.rest[restText].Pending() {
		dst = w.appendText(dst, restText, `{"content":"`, w.rest[restText].Flush())
	}
	return dst
}

func (w *StreamWriter) flushArgs(dst []byte) []byte {
	if w.rest[restArgs].Pending() {
		dst = w.appendArgsFrame(dst, w.rest[restArgs].Flush())
	}
	return dst
}

// appendUsage appends token counts.
func appendUsage(dst []byte, u *chat.Usage) []byte {
	dst = append(dst, `{"prompt_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.In), 10)
	dst = append(dst, `,"completion_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.Out), 10)
	dst = append(dst, `,"total_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.In)+int64(u.Out), 10)
	if u.Cached > 0 {
		dst = append(dst, `,"prompt_tokens_details":{"cached_tokens":`...)
		dst = strconv.AppendInt(dst, int64(u.Cached), 10)
		dst = append(dst, '}')
	}
	if u.Reasoning > 0 {
		dst = append(dst, `,"completion_tokens_details":{"reasoning_tokens":`...)
		dst = strconv.AppendInt(dst, int64(u.Reasoning), 10)
		dst = append(dst, '}')
	}
	return append(dst, '}')
}
