package ollama

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"wield/chat"
	"wield/wire/jsonbody"
)

// A StreamReader turns the lines of a stream into events. The zero value is ready for one stream.
//
// Calls are whole when they arrive. They have the origin function; one that the server gave no id is called call_N
// after its place in the answer.
type StreamReader struct {
	at     int // bytes of text and reasoning so far
	calls  int
	model  string
	reason string
	usage  *chat.Usage
	seen   bool // there was a message
	done   bool
	failed error
}

// A lineBody is one line of a stream, or a response.
type lineBody struct {
	Model   string `json:"model"`
	Message *struct {
		Content   string     `json:"content"`
		Thinking  string     `json:"thinking"`
		ToolCalls []callBody `json:"tool_calls"`
	} `json:"message"`
	Response *string         `json:"response"` // of /api/generate
	Done     bool            `json:"done"`
	Reason   string          `json:"done_reason"`
	In       *int            `json:"prompt_eval_count"`
	Out      *int            `json:"eval_count"`
	LogProbs json.RawMessage `json:"logprobs"`
	Error    json.RawMessage `json:"error"`
}

// A callBody is a call in an answer.
type callBody struct {
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

// Feed appends the events of one line. The result does not refer to it. An error is a *chat.Error and final.
func (r *StreamReader) Feed(dst []chat.Event, line []byte) ([]chat.Event, error) {
	line = bytes.TrimSpace(line)
	if r.failed != nil || r.done || len(line) == 0 {
		return dst, r.failed
	}
	var b lineBody
	if err := json.Unmarshal(line, &b); err != nil {
		r.failed = &chat.Error{Kind: chat.ErrProtocol, Message: fmt.Sprintf("%v: %s", err, jsonbody.Excerpt(line)),
			Cause: err}
		return dst, r.failed
	}
	if len(b.Error) > 0 && string(b.Error) != "null" {
		r.failed = DecodeError(0, nil, line)
		return dst, r.failed
	}
	if b.Model != "" {
		r.model = b.Model
	}
	if m := b.Message; m != nil {
		r.seen = true
		dst = r.text(dst, chat.KindReasoning, m.Thinking, nil)
		dst = r.text(dst, chat.KindText, m.Content, b.LogProbs)
		for i := range m.ToolCalls {
			dst = r.call(dst, &m.ToolCalls[i])
		}
	}
	if b.Response != nil {
		r.seen = true
		dst = r.text(dst, chat.KindText, *b.Response, b.LogProbs)
	}
	if b.In != nil || b.Out != nil {
		r.count(b.In, b.Out)
	}
	if b.Done {
		r.done, r.reason = true, b.Reason
	}
	return dst, nil
}

func (r *StreamReader) text(dst []chat.Event, kind chat.Kind, text string, logprobs json.RawMessage) []chat.Event {
	if text == "" {
		return dst
	}
	e := chat.Event{Kind: kind, At: r.at, End: r.at + len(text), Text: text}
	if len(logprobs) > 0 && logprobs[0] == '[' {
		// the same elements as in the OpenAI protocol, without what is around them
		e.Detail = chat.LogProbs(append(append([]byte(`{"content":`), logprobs...), '}'))
	}
	r.at = e.End
	return append(dst, e)
}

// call emits a whole call.
func (r *StreamReader) call(dst []chat.Event, b *callBody) []chat.Event {
	c := &chat.Call{Index: r.calls, ID: b.ID, Name: strings.TrimSpace(b.Function.Name),
		Arguments: argumentsText(b.Function.Arguments), Complete: true, Origin: chat.OriginFunction}
	if c.ID == "" {
		c.ID = fmt.Sprintf("call_%d", c.Index)
	}
	r.calls++
	e := chat.Event{Kind: chat.KindCallStart, Origin: c.Origin, Index: c.Index, ID: c.ID, Name: c.Name, At: r.at,
		End: r.at}
	args, end := e, e
	args.Kind, args.Text = chat.KindCallArgs, c.Arguments
	end.Kind, end.Detail = chat.KindCallEnd, c
	return append(dst, e, args, end)
}

func (r *StreamReader) count(in, out *int) {
	if r.usage == nil {
		r.usage = &chat.Usage{Known: true, Requests: 1}
	}
	if in != nil {
		r.usage.In = max(*in, 0)
	}
	if out != nil {
		r.usage.Out = max(*out, 0)
	}
}

// Done reports whether the last line was read.
func (r *StreamReader) Done() bool { return r.done }

// Finished is Done: nothing can follow the line that says so.
func (r *StreamReader) Finished() bool { return r.done }

// finishReasons translate the reasons of servers; an unknown one is a stop.
var finishReasons = map[string]chat.FinishReason{"length": chat.FinishLength, "content_filter": chat.FinishFiltered}

// Close appends what is left at the end of the stream, Finish last. A stream that broke off before its last line is a
// *chat.Error of the kind ErrProtocol.
func (r *StreamReader) Close(dst []chat.Event) ([]chat.Event, error) {
	switch {
	case r.failed != nil:
		return dst, r.failed
	case !r.done:
		r.failed = &chat.Error{Kind: chat.ErrProtocol, Message: "the stream ended without a line that says done"}
	case !r.seen && r.usage == nil && r.reason == "":
		r.failed = &chat.Error{Kind: chat.ErrProtocol, Message: "the answer holds no message"}
	}
	if r.failed != nil {
		return dst, r.failed
	}
	if r.usage != nil {
		dst = append(dst, chat.Event{Kind: chat.KindUsage, Detail: r.usage})
	}
	reason := finishReasons[r.reason]
	switch {
	case r.calls > 0:
		reason = chat.FinishCalls
	case reason == "":
		reason = chat.FinishStop
	}
	return append(dst, chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: reason, Model: r.model}}), nil
}

// DecodeResponse appends the events of a response's body, Finish last. An error is a *chat.Error.
func DecodeResponse(dst []chat.Event, body []byte) ([]chat.Event, error) {
	var r StreamReader
	at := len(dst)
	dst, err := r.Feed(dst, body)
	if err != nil {
		return dst, err
	}
	if r.calls > 0 { // the protocol does not tell whether text or calls came first
		for i := range dst[at:] {
			if e := &dst[at+i]; e.Kind == chat.KindText || e.Kind == chat.KindReasoning {
				e.Flags |= chat.FlagUnplaced
			}
		}
	}
	r.done = true // a server that answers as a whole need not say so
	if !r.seen {
		return dst,
			&chat.Error{Kind: chat.ErrProtocol, Message: "the answer holds no message: " + jsonbody.Excerpt(body)}
	}
	return r.Close(dst)
}
