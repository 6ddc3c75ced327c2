package playback

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"

	"wield/chat"
)

// A Split says how recorded texts are cut into pieces.
type Split struct {
	Size int    // bytes of a piece; 0: the whole text at once
	Seed uint64 // with Size below 0: pieces of random lengths
}

// A model answers as the model of a recording did, request for request.
type model struct {
	answers []recordedAnswer
	split   Split

	mu   sync.Mutex
	next int
}

// A recordedAnswer is one that a model gave.
type recordedAnswer struct {
	turn      int
	text      string
	reasoning string
	calls     []chat.Call // of function calling: those in the text are read from it
	usage     chat.Usage
	finish    chat.FinishReason
	confused  bool // it only called through a channel that could not run it
}

// Model returns a model that gives the recorded answers, bounced ones too, in the order in which they were given.
func (r *Recording) Model(s Split) chat.Model {
	return &model{answers: r.answers(), split: s}
}

// answers returns what the model said, request for request.
func (r *Recording) answers() []recordedAnswer {
	var list []recordedAnswer
	for _, t := range r.whole() {
		list = append(list, t.bounced()...)
		list = append(list, t.answer())
	}
	return list
}

// bounced returns the answers that came before the one that was taken.
func (t *Turn) bounced() []recordedAnswer {
	var list []recordedAnswer
	first := t.Number - len(t.End.Before)
	for i, raw := range t.End.Before {
		list = append(list, recordedAnswer{turn: first + i, text: string(raw), finish: chat.FinishStop})
	}
	i := 0
	for _, b := range t.Bounces {
		if b.Sent == "" || i == len(list) { // a call that was taken over is in the answer itself
			continue
		}
		if c := b.Call; c != nil && c.Origin != chat.OriginText && c.Name != "" {
			again := *c
			again.Index = 0
			list[i].calls, list[i].finish = []chat.Call{again}, chat.FinishCalls
			list[i].confused = b.Reason == chat.ReasonConfused
		}
		i++
	}
	return list
}

func (t *Turn) answer() recordedAnswer {
	m := &t.End.Message
	a := recordedAnswer{turn: t.Number, text: string(t.End.Raw), usage: t.End.Usage, finish: chat.FinishStop}
	if a.text == "" {
		a.text = m.Text()
	}
	if !strings.Contains(a.text, strings.TrimSpace(m.Reasoning)) {
		a.reasoning = m.Reasoning
	}
	for _, c := range m.Calls {
		if c.Origin != chat.OriginText {
			c.Index = len(a.calls)
			a.calls = append(a.calls, c)
		}
	}
	switch {
	case len(a.calls) > 0:
		a.finish = chat.FinishCalls
	case t.End.Finish != nil && t.End.Finish.Reason != chat.FinishCalls:
		a.finish = t.End.Finish.Reason
	}
	return a
}

// Stream implements chat.Model.
func (m *model) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		m.mu.Lock()
		n := m.next
		m.next++
		m.mu.Unlock()
		if n >= len(m.answers) {
			yield(chat.Event{}, &chat.Error{Kind: chat.ErrBadRequest, Status: 404,
				Message: fmt.Sprintf("the recording holds %d answers, and this is request %d", len(m.answers), n+1)})
			return
		}
		a := &m.answers[n]
		_ = a.said(m.split, uint64(n), yield) && a.called(yield) && a.ended(req.Model, yield) && ctx.Err() == nil
	}
}

func (a *recordedAnswer) said(s Split, n uint64, yield func(chat.Event, error) bool) bool {
	if a.reasoning != "" && !yield(chat.Event{Kind: chat.KindReasoning, Text: a.reasoning}, nil) {
		return false
	}
	for rest, at, random := a.text, 0, rand.New(rand.NewPCG(s.Seed, n)); rest != ""; {
		size := len(rest)
		switch {
		case s.Size > 0:
			size = s.Size
		case s.Size < 0:
			size = 1 + random.IntN(16)
		}
		size = min(size, len(rest))
		if !yield(chat.Event{Kind: chat.KindText, Text: rest[:size], At: at, End: at + size}, nil) {
			return false
		}
		rest, at = rest[size:], at+size
	}
	return true
}

func (a *recordedAnswer) called(yield func(chat.Event, error) bool) bool {
	for i := range a.calls {
		c := &a.calls[i]
		c.At, c.End = 0, 0
		if !yield(chat.Event{Kind: chat.KindCallStart, Origin: c.Origin, Index: i, ID: c.ID, Name: c.Name}, nil) ||
			!yield(chat.Event{Kind: chat.KindCallArgs, Origin: c.Origin, Index: i, Text: c.Arguments}, nil) ||
			!yield(chat.Event{Kind: chat.KindCallEnd, Origin: c.Origin, Index: i, ID: c.ID, Name: c.Name,
				Detail: c}, nil) {
			return false
		}
	}
	return true
}

func (a *recordedAnswer) ended(model string, yield func(chat.Event, error) bool) bool {
	if a.usage.Known && !yield(chat.Event{Kind: chat.KindUsage, Detail: &a.usage}, nil) {
		return false
	}
	return yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: a.finish, Model: model}}, nil)
}
