package gateway

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"sync"

	"wield/chat"
	"wield/wire/jsonbody"
)

// A request can ask for several answers. The model is asked for each of them, at the same time: few servers give more
// than one, and each answer may need a retry of its own.

// newID returns the id of the answer.
func (h head) newID(prefix string) string { return cmp.Or(h.id, newID(prefix)) }

// joiner makes a front's join of what its protocol has.
func joiner[C collector](join func([]byte, ...C) []byte) func([]byte, []collector) []byte {
	return func(dst []byte, all []collector) []byte {
		answers := make([]C, len(all))
		for i, c := range all {
			answers[i] = c.(C)
		}
		return join(dst, answers...)
	}
}

// converseTimes asks for n answers and answers with all of them.
func (x *exchange) converseTimes(n int, of *Model, h head) *failure {
	if of.NeedsKey {
		return oneAnswer()
	}
	if f := x.prepare(h.req); f != nil {
		return f
	}
	req := *h.req
	req.Extra = slices.DeleteFunc(slices.Clone(req.Extra), func(e chat.Extra) bool {
		return e.Key == "n" && e.Protocol == chat.ProtocolOpenAI
	})
	h.id = newID("chatcmpl-")
	heads := make([]head, n)
	for i := range heads {
		heads[i] = h
		heads[i].choice = i
	}
	m := x.traced(of.Model)
	if req.Stream {
		return x.streamTimes(m, &req, heads)
	}
	return x.wholeTimes(m, &req, heads)
}

// oneAnswer refuses to ask for several.
func oneAnswer() *failure {
	return badField("n", jsonbody.CodeUnsupported,
		"this model runs tools, and would run them for each answer, so that it gives one; leave n out or set it to 1")
}

// wholeTimes answers with one body.
func (x *exchange) wholeTimes(m chat.Model, req *chat.Request, heads []head) *failure {
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	answers, all := make([]collectedAnswer, len(heads)), make([]collector, len(heads))
	for i, h := range heads {
		all[i] = x.front.whole(h)
		answers[i] = collectedAnswer{x: x, c: all[i]}
	}
	askTimes(ctx, len(heads), m, req, func(c choiceEvent) bool { return answers[c.choice].take(c.event, c.err) })
	for i := range answers {
		a := &answers[i]
		switch {
		case a.err != nil:
			return x.modelFailure(x.r.Context(), a.err)
		case !a.finished && !slices.ContainsFunc(answers, func(a collectedAnswer) bool { return a.err != nil }):
			return x.modelFailure(x.r.Context(), unfinished())
		}
		x.bounces += a.bounces
		if a.notice != "" {
			x.set("X-Wield-Notice", a.notice)
		}
	}
	x.set("X-Wield-Bounces", strconv.Itoa(x.bounces))
	x.tellDropped()
	x.leave()
	x.body(http.StatusOK, x.front.join(nil, all))
	return nil
}

// streamTimes answers with one stream, in which each frame says whose it is.
func (x *exchange) streamTimes(m chat.Model, req *chat.Request, heads []head) *failure {
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	several := &choicesFramer{left: len(heads)}
	for _, h := range heads {
		several.writers = append(several.writers, x.front.stream(h).(partFramer))
	}
	s := &stream{x: x, framer: x.framed(several, len(heads)), cancel: cancel, buf: takeBuffer(), last: x.start}
	x.live = s
	defer s.close()
	s.watch()
	var f *failure
	askTimes(ctx, len(heads), m, req, func(c choiceEvent) bool {
		if c.err != nil {
			f = x.modelFailure(ctx, c.err)
			return false
		}
		several.choice = c.choice
		if c.event.Kind == chat.KindFinish && several.left > 1 {
			return s.takePart(c.event)
		}
		return s.take(c.event)
	})
	return s.conclude(ctx, f)
}

// takePart takes in the end of an answer beside others that are not done.
func (s *stream) takePart(e chat.Event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.buf = s.framer.Append(*s.buf, e)
	return s.err == nil
}

// A choiceEvent belongs to one of several answers.
type choiceEvent struct {
	choice int
	event  chat.Event
	err    error
}

// askTimes asks a model n times at once and calls take with all that comes, one at a time, until it returns false.
func askTimes(ctx context.Context, n int, m chat.Model, req *chat.Request, take func(choiceEvent) bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events := make(chan choiceEvent)
	var asked sync.WaitGroup
	for i := range n {
		asked.Go(func() {
			for e, err := range m.Stream(ctx, req) {
				select {
				case events <- choiceEvent{i, e, err}:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	go func() {
		asked.Wait()
		close(events)
	}()
	wanted := true
	for c := range events {
		if wanted = wanted && take(c); !wanted {
			cancel()
		}
	}
}

// A partFramer makes the frames of one of several answers.
type partFramer interface {
	framer
	AppendPart(dst []byte, e chat.Event) []byte // like Append, but for the end of the stream
}

// A choicesFramer makes the frames of several answers. Tokens are counted over all of them.
type choicesFramer struct {
	writers []partFramer
	choice  int // whose event comes next
	left    int // answers that are not done
	usage   chat.Usage
}

// Append appends the frames of an event of the current choice.
func (f *choicesFramer) Append(dst []byte, e chat.Event) []byte {
	w := f.writers[f.choice]
	switch e.Kind {
	case chat.KindUsage:
		f.usage.Add(*e.Detail.(*chat.Usage))
		return dst
	case chat.KindFinish:
		if f.left--; f.left == 0 {
			return w.Append(w.Append(dst, chat.Event{Kind: chat.KindUsage, Detail: &f.usage}), e)
		}
	}
	return w.AppendPart(dst, e)
}

// AppendError appends the frame that ends the stream with an error.
func (f *choicesFramer) AppendError(dst []byte, e *chat.Error) []byte {
	for _, w := range f.writers { // one whose answer is done says nothing more
		if out := w.AppendError(dst, e); len(out) > len(dst) {
			return out
		}
	}
	return dst
}
