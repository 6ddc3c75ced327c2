package scriptserver

import (
	"bytes"
	"time"

	"wield/chat"
	"wield/internal/script"
	"wield/schema/shape"
	wire "wield/wire/responses"
)

// responses writes the Responses protocol.
type responses struct{}

func (responses) framing(stream bool) framing { return sseIf(stream) }

func (responses) contentType(stream bool) string { return openAI{}.contentType(stream) }

func (responses) errorBody(status int, code, message string) []byte {
	return openAI{}.errorBody(status, code, message)
}

// A timedEvent is an event with the wait before it.
type timedEvent struct {
	chat.Event
	wait time.Duration
}

func (responses) write(in *incoming, r *script.Reply) frames {
	o := wire.ResponseOptions{ID: "resp_" + in.id, Created: 1700000000, Model: in.req.Model, Request: in.response}
	events := replyEvents(r)
	var f frames
	if !in.stream {
		whole := wire.NewResponse(o)
		var wait time.Duration
		for _, e := range events {
			wait += e.wait
			whole.Add(e.Event)
		}
		f.add(wait, string(whole.Append(nil))).chunk = true
		return f
	}
	f.framing = framingSSE
	w := wire.NewStreamWriter(o)
	for _, e := range events {
		f.wait += e.wait
		data := w.Append(nil, e.Event)
		if len(data) == 0 {
			continue
		}
		fr := f.add(0, string(data))
		fr.done = e.Kind == chat.KindFinish
		if fr.chunk = e.Text != ""; fr.chunk {
			quoted := shape.AppendQuoted(nil, e.Text)
			fr.text = bytes.LastIndex(fr.data, quoted) + len(quoted) - 1
		}
	}
	if fail := r.Turn.Fail; fail != nil {
		f.add(0, string(w.AppendError(nil, fail)))
	}
	return f
}

// replyEvents returns a reply in the vocabulary, Finish last unless it fails.
func replyEvents(r *script.Reply) []timedEvent {
	var events []timedEvent
	calls := 0
	for _, s := range wholeCharacters(r.Steps) {
		e := timedEvent{chat.Event{Index: s.Index, ID: s.ID, Name: s.Name, Text: s.Text, Origin: chat.OriginFunction},
			s.Wait}
		switch kind := textKind(&s); {
		case kind == "text":
			e.Kind = chat.KindText
		case kind == "think":
			e.Kind = chat.KindReasoning
		case s.Kind == script.StepCallStart:
			e.Kind = chat.KindCallStart
		case s.Kind == script.StepCallArgs:
			e.Kind = chat.KindCallArgs
		case s.Kind == script.StepCallEnd:
			calls++
			e.Kind, e.Text = chat.KindCallEnd, ""
			e.Detail = &chat.Call{Index: s.Index, ID: s.ID, Name: s.Name, Arguments: s.Text, Complete: true,
				Origin: chat.OriginFunction}
		default:
			e.Kind = chat.KindIdle
		}
		events = append(events, e)
	}
	if r.Turn.Fail != nil {
		return events
	}
	usage := r.Turn.Usage
	return append(events, timedEvent{Event: chat.Event{Kind: chat.KindUsage, Detail: &usage}},
		timedEvent{Event: chat.Event{Kind: chat.KindFinish,
			Detail: &chat.Finish{Reason: chat.FinishReason(finishReason(r, calls))}}})
}
