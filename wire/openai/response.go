package openai

import (
	"strconv"
	"strings"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/internal/freeform"
	"wield/wire/jsonbody"
)

// A Response collects the events of one answer into a body. Text of KindRejected events is shown when they are marked
// FlagSpent, and that of incomplete calls always, since they are not listed.
type Response struct {
	o         ResponseOptions
	text      strings.Builder
	reasoning strings.Builder
	calls     []chat.Call
	logprobs  []byte // the elements of logprobs.content, joined
	counts    *chat.Usage
	reason    chat.FinishReason

	natives     annotations
	annotations []byte // joined
}

// NewResponse returns a collector for one answer.
func NewResponse(o ResponseOptions) *Response {
	return &Response{o: o, natives: annotations{wanted: o.Annotations}}
}

// Add takes in one event.
func (r *Response) Add(e chat.Event) {
	switch e.Kind {
	case chat.KindText:
		r.text.WriteString(e.Text)
		if probs, ok := e.Detail.(chat.LogProbs); ok {
			r.addLogProbs(probs)
		}
	case chat.KindReasoning:
		r.reasoning.WriteString(e.Text)
	case chat.KindCallEnd:
		if call := e.Detail.(*chat.Call); call.Complete {
			r.calls = append(r.calls, *call)
		} else {
			r.text.WriteString(call.Arguments)
		}
	case chat.KindRejected:
		if shown(e) {
			r.text.WriteString(e.Detail.(*chat.RejectedDetail).Raw)
		}
	case chat.KindNativeCall, chat.KindNativeResult:
		r.addAnnotations(e)
	case chat.KindUsage:
		r.counts = e.Detail.(*chat.Usage)
	case chat.KindFinish:
		r.addAnnotations(e)
		r.reason = e.Detail.(*chat.Finish).Reason
	}
}

// addLogProbs takes in {"content":[...]}.
func (r *Response) addLogProbs(raw []byte) {
	s := jsonbody.Scanner{Bytes: raw}
	for s.Enter('{'); s.Next('}'); {
		if string(s.Key()) != "content" || s.Peek() != '[' {
			s.Skip()
			continue
		}
		for s.Enter('['); s.Next(']'); {
			if len(r.logprobs) > 0 {
				r.logprobs = append(r.logprobs, ',')
			}
			r.logprobs = append(r.logprobs, s.Raw()...)
		}
	}
}

// Append appends the body. It is to be called once the stream has ended.
func (r *Response) Append(dst []byte) []byte {
	return AppendChoices(dst, r)
}

// AppendChoices appends the body of several answers to one request.
func AppendChoices(dst []byte, all ...*Response) []byte {
	dst = append(appendHead(dst, all[0].o, "chat.completion"), '[')
	var sum chat.Usage
	for i, r := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = r.appendChoice(dst)
		if r.counts != nil {
			sum.Add(*r.counts)
		}
	}
	dst = append(dst, ']')
	if sum.Known {
		dst = append(dst, `,"usage":`...)
		dst = appendUsage(dst, &sum)
	}
	return append(dst, '}')
}

func (r *Response) appendChoice(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"index":`...), int64(r.o.Choice), 10)
	dst = append(dst, `,"message":{"role":"assistant","content":`...)
	if r.text.Len() == 0 && len(r.calls) > 0 {
		dst = append(dst, "null"...)
	} else {
		dst = shape.AppendQuoted(dst, r.text.String())
	}
	if r.reasoning.Len() > 0 {
		dst = shape.AppendQuoted(append(dst, `,"reasoning_content":`...), r.reasoning.String())
	}
	dst = append(dst, `,"refusal":null`...)
	if len(r.annotations) > 0 {
		dst = append(append(append(dst, `,"annotations":[`...), r.annotations...), ']')
	}
	switch {
	case len(r.calls) == 0:
	case r.o.Legacy:
		dst = append(dst, `,"function_call":`...)
		dst = appendFunctionValue(dst, &r.calls[0])
	default:
		dst = r.appendCalls(dst)
	}
	dst = append(dst, `},"logprobs":`...)
	if len(r.logprobs) > 0 {
		dst = append(dst, `{"content":[`...)
		dst = jsonbody.AppendCompact(dst, r.logprobs)
		dst = append(dst, `],"refusal":null}`...)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"finish_reason":`...)
	dst = shape.AppendQuoted(dst, finishWord(r.reason, len(r.calls) > 0, r.o.Legacy))
	return append(dst, '}')
}

func (r *Response) appendCalls(dst []byte) []byte {
	dst = append(dst, `,"tool_calls":[`...)
	for i := range r.calls {
		if i > 0 {
			dst = append(dst, ',')
		}
		c := &r.calls[i]
		dst = append(dst, `{"id":`...)
		dst = appendCallID(dst, c.ID, r.o.ID, i)
		dst = appendCall(dst, c, r.o.Custom)
	}
	return append(dst, ']')
}

// appendCall appends the rest of a call behind its id; free are the tools that take plain text.
func appendCall(dst []byte, c *chat.Call, free map[string]bool) []byte {
	if free[c.Name] {
		dst = shape.AppendQuoted(append(dst, `,"type":"custom","custom":{"name":`...), c.Name)
		dst = shape.AppendQuoted(append(dst, `,"input":`...), freeform.Input(c.Arguments))
		return append(dst, "}}"...)
	}
	dst = append(dst, `,"type":"function","function":`...)
	dst = appendFunctionValue(dst, c)
	return append(dst, '}')
}

// appendFunctionValue appends name and arguments.
func appendFunctionValue(dst []byte, c *chat.Call) []byte {
	dst = append(dst, `{"name":`...)
	dst = shape.AppendQuoted(dst, c.Name)
	dst = append(dst, `,"arguments":`...)
	dst = shape.AppendQuoted(dst, orEmptyObject(c.Arguments))
	return append(dst, '}')
}
