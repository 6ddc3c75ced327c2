package ollama

import (
	"strconv"
	"strings"
	"time"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/jsonbody"
)

// ResponseOptions describe an answer.
type ResponseOptions struct {
	ID      string           // of the answer; ids of calls that have none are made of it
	Model   string           // as the client knows it
	Created time.Time        // when the request came
	Now     func() time.Time // nil: time.Now

	// Generate says that it is an answer to a single prompt, whose text stands under response instead of in a message.
	Generate bool
}

func (o *ResponseOptions) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

// appendHead appends the beginning that lines and responses share, up to the value of content.
func (o *ResponseOptions) appendHead(dst []byte) []byte {
	dst = shape.AppendQuoted(append(dst, `{"model":`...), o.Model)
	dst = append(dst, `,"created_at":"`...)
	dst = o.now().UTC().AppendFormat(dst, time.RFC3339Nano)
	if o.Generate {
		return append(dst, `","response":`...)
	}
	return append(dst, `","message":{"role":"assistant","content":`...)
}

// end closes the message, where there is one.
func (o *ResponseOptions) end() string {
	if o.Generate {
		return ""
	}
	return "}"
}

// doneReasons are the protocol's words for why an answer ended. It has none for calls.
var doneReasons = map[chat.FinishReason]string{chat.FinishLength: "length", chat.FinishFiltered: "content_filter"}

// appendEnd appends the last fields of an answer, up to its end. Times other than the whole are not known here, so
// that they are absent rather than nought.
func (o *ResponseOptions) appendEnd(dst []byte, reason chat.FinishReason, usage *chat.Usage) []byte {
	word := doneReasons[reason]
	if word == "" {
		word = "stop"
	}
	dst = shape.AppendQuoted(append(dst, `,"done_reason":`...), word)
	dst = append(dst, `,"done":true,"total_duration":`...)
	dst = strconv.AppendInt(dst, max(int64(o.now().Sub(o.Created)), 0), 10)
	if usage != nil && usage.Known {
		dst = append(dst, `,"prompt_eval_count":`...)
		dst = strconv.AppendInt(dst, int64(usage.In), 10)
		dst = append(dst, `,"eval_count":`...)
		dst = strconv.AppendInt(dst, int64(usage.Out), 10)
	}
	return append(dst, '}')
}

func (o *ResponseOptions) callID(c *chat.Call, n int) string {
	if c.ID != "" {
		return c.ID
	}
	return "call_" + o.ID + "_" + strconv.Itoa(n)
}

// A StreamWriter turns the events of one answer into lines: text and thoughts as they come, each call whole when it
// is complete, and one last line that says done. Text of KindRejected events is shown when they are marked FlagSpent,
// and that of incomplete calls always, since they are not listed.
type StreamWriter struct {
	o     ResponseOptions
	calls int
	usage *chat.Usage
	ended bool
	text  jsonbody.RuneTail
	think jsonbody.RuneTail
}

// NewStreamWriter returns a writer for one answer.
func NewStreamWriter(o ResponseOptions) *StreamWriter { return &StreamWriter{o: o} }

// Append appends the lines that e makes, none for the kinds that the protocol does not show. KindFinish writes the
// last line; nothing may follow it.
func (w *StreamWriter) Append(dst []byte, e chat.Event) []byte {
	if w.ended {
		return dst
	}
	switch e.Kind {
	case chat.KindText:
		return w.appendText(dst, w.text.Take(e.Text), logprobs(nil, e)...)
	case chat.KindReasoning:
		return w.appendThought(dst, w.think.Take(e.Text))
	case chat.KindCallEnd:
		return w.appendCall(dst, e.Detail.(*chat.Call))
	case chat.KindRejected:
		if shown(e) {
			return w.appendText(dst, w.text.Take(e.Detail.(*chat.RejectedDetail).Raw))
		}
	case chat.KindUsage:
		w.usage = e.Detail.(*chat.Usage)
	case chat.KindFinish:
		dst = w.flush(dst)
		w.ended = true
		dst = append(append(w.o.appendHead(dst), `""`...), w.o.end()...)
		return append(w.o.appendEnd(dst, e.Detail.(*chat.Finish).Reason, w.usage), '\n')
	}
	return dst
}

// shown reports whether a rejected attempt stands in the content: when nothing will be done about it any more.
func shown(e chat.Event) bool {
	return e.Flags&chat.FlagSpent != 0 || e.Detail.(*chat.RejectedDetail).Reason == chat.ReasonIncomplete
}

// appendText appends a line with text, and with the logprobs of its tokens, if there are any.
func (w *StreamWriter) appendText(dst []byte, text string, probs ...byte) []byte {
	if text == "" && len(probs) == 0 {
		return dst
	}
	return w.appendTail(shape.AppendQuoted(w.o.appendHead(dst), text), probs...)
}

// logprobs appends the logprobs of a text's tokens, joined by commas. They look the same in this protocol as in
// OpenAI's, but for what is around them.
func logprobs(dst []byte, e chat.Event) []byte {
	probs, ok := e.Detail.(chat.LogProbs)
	if !ok {
		return dst
	}
	s := jsonbody.Scanner{Bytes: probs}
	for s.Enter('{'); s.Next('}'); {
		if string(s.Key()) != "content" || s.Peek() != '[' {
			s.Skip()
			continue
		}
		for s.Enter('['); s.Next(']'); {
			if len(dst) > 0 {
				dst = append(dst, ',')
			}
			dst = jsonbody.AppendCompact(dst, s.Raw())
		}
	}
	return dst
}

func appendLogProbs(dst, probs []byte) []byte {
	if len(probs) == 0 {
		return dst
	}
	return append(append(append(dst, `,"logprobs":[`...), probs...), ']')
}

func (w *StreamWriter) appendThought(dst []byte, text string) []byte {
	if text == "" {
		return dst
	}
	dst = append(w.o.appendHead(dst), `"","thinking":`...)
	return w.appendTail(shape.AppendQuoted(dst, text))
}

// appendTail ends a line that is not the last.
func (w *StreamWriter) appendTail(dst []byte, probs ...byte) []byte {
	dst = appendLogProbs(append(dst, w.o.end()...), probs)
	return append(dst, ",\"done\":false}\n"...)
}

// appendCall appends a line with a call. What is none in this protocol, because it is incomplete or its arguments are
// no object, is text.
func (w *StreamWriter) appendCall(dst []byte, c *chat.Call) []byte {
	args := object(c.Arguments)
	if !c.Complete || args == "" {
		return w.appendText(dst, w.text.Take(c.Arguments))
	}
	dst = w.flush(dst)
	dst = append(w.o.appendHead(dst), `"","tool_calls":[`...)
	dst = appendShownCall(dst, c, w.o.callID(c, w.calls), w.calls, args)
	w.calls++
	return w.appendTail(append(dst, ']'))
}

// appendShownCall appends a call for a client. Its index also stands where some clients look for it, who take all calls
// of a stream for one without it.
func appendShownCall(dst []byte, c *chat.Call, id string, index int, arguments string) []byte {
	dst = appendCall(dst, c, id, index, arguments)
	dst = append(dst[:len(dst)-1], `,"index":`...)
	return append(strconv.AppendInt(dst, int64(index), 10), '}')
}

// flush writes what is left of a character that never became whole.
func (w *StreamWriter) flush(dst []byte) []byte {
	if w.think.Pending() {
		dst = w.appendThought(dst, w.think.Flush())
	}
	if w.text.Pending() {
		dst = w.appendText(dst, w.text.Flush())
	}
	return dst
}

// AppendError appends the line that ends a stream which failed after it had begun.
func (w *StreamWriter) AppendError(dst []byte, err *chat.Error) []byte {
	if w.ended {
		return dst
	}
	dst = w.flush(dst)
	w.ended = true
	return append(AppendError(dst, err), '\n')
}

// A Response collects the events of one answer into a body, by the rules of a StreamWriter.
type Response struct {
	o      ResponseOptions
	text   strings.Builder
	think  strings.Builder
	calls  []chat.Call
	probs  []byte // of the tokens of the text, joined
	usage  *chat.Usage
	reason chat.FinishReason
}

// NewResponse returns a collector for one answer.
func NewResponse(o ResponseOptions) *Response { return &Response{o: o} }

// Add takes in one event.
func (r *Response) Add(e chat.Event) {
	switch e.Kind {
	case chat.KindText:
		r.text.WriteString(e.Text)
		r.probs = logprobs(r.probs, e)
	case chat.KindReasoning:
		r.think.WriteString(e.Text)
	case chat.KindCallEnd:
		if c := e.Detail.(*chat.Call); c.Complete && object(c.Arguments) != "" {
			r.calls = append(r.calls, *c)
		} else {
			r.text.WriteString(c.Arguments)
		}
	case chat.KindRejected:
		if shown(e) {
			r.text.WriteString(e.Detail.(*chat.RejectedDetail).Raw)
		}
	case chat.KindUsage:
		r.usage = e.Detail.(*chat.Usage)
	case chat.KindFinish:
		r.reason = e.Detail.(*chat.Finish).Reason
	}
}

// Append appends the body. It is to be called once the stream has ended.
func (r *Response) Append(dst []byte) []byte {
	dst = shape.AppendQuoted(r.o.appendHead(dst), r.text.String())
	if r.think.Len() > 0 {
		dst = shape.AppendQuoted(append(dst, `,"thinking":`...), r.think.String())
	}
	for i := range r.calls {
		if i == 0 {
			dst = append(dst, `,"tool_calls":[`...)
		} else {
			dst = append(dst, ',')
		}
		c := &r.calls[i]
		dst = appendShownCall(dst, c, r.o.callID(c, i), i, object(c.Arguments))
	}
	if len(r.calls) > 0 {
		dst = append(dst, ']')
	}
	return r.o.appendEnd(appendLogProbs(append(dst, r.o.end()...), r.probs), r.reason, r.usage)
}

// Unloads reports whether a request without messages asks to unload the model rather than to load it.
func Unloads(req *chat.Request) bool {
	for _, x := range req.Extra {
		if x.Protocol == chat.ProtocolOllama && x.Key == "keep_alive" {
			return strings.Trim(string(x.Value), `"smh`) == "0"
		}
	}
	return false
}

// AppendLoaded appends the answer to a request without messages, which is one to load the model, or to unload it.
func AppendLoaded(dst []byte, o ResponseOptions, unload bool) []byte {
	reason := "load"
	if unload {
		reason = "unload"
	}
	dst = append(append(o.appendHead(dst), `""`...), o.end()...)
	dst = append(append(dst, `,"done_reason":"`...), reason...)
	return append(dst, `","done":true}`...)
}
