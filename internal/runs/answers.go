package runs

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"wield/agent"
	"wield/chat"
	"wield/journal/record"
)

// Answers are what an agent answers without anybody waiting for it. Each is a run, or a part of one, that
// goes on when whoever asked has gone, and with the next process when this one ends.
type Answers struct {
	hub  *Hub
	name string
}

// Answers returns the answers of an agent, which is looked up with each of them.
func (h *Hub) Answers(name string) Answers { return Answers{h, name} }

// Begin begins an answer to a request and returns its name, under which it lasts. Without one the request
// continues an answer that belonged to a connection, and only Model answers it.
func (a Answers) Begin(ctx context.Context, req *chat.Request) (string, error) {
	name, err := a.begin(ctx, req)
	if err != nil {
		return "", chatError(err)
	}
	return name, nil
}

func (a Answers) begin(ctx context.Context, req *chat.Request) (string, error) {
	h := a.hub
	agent, err := h.agent(a.name)
	if err != nil {
		return "", err
	}
	like, err := agent.settleTools(req)
	if err != nil {
		return "", err
	}
	if run, results := givenResults(req.Messages); run != "" {
		l, from, err := h.resumeWith(ctx, agent, run, results, like, true)
		if l == nil || err != nil {
			return "", err
		}
		h.carry(l)
		return answerName(run, from.seq), nil
	}
	if markedRun(req.Messages) != "" {
		return "", nil
	}
	own := *like
	own.Model = agent.Name
	with := *agent
	with.Runner, with.Options.Whole = agent.runner(like.Tools), !like.Stream
	l := h.newLive(agent, h.loop(&with, req.Caller, true).Run(&own), req.Caller)
	return answerName(l.ID, 0), h.launch(ctx, l)
}

// An answer's name is that of its run, and the number of the record that it begins behind.
func answerName(run string, from int64) string { return run + "@" + strconv.FormatInt(from, 10) }

func parseAnswerName(name string) (run string, from int64, err error) {
	run, number, _ := strings.Cut(name, "@")
	if from, err = strconv.ParseInt(number, 10, 48); err != nil || from < 0 {
		return "", 0, fmt.Errorf("%w: %q", ErrUnknownRun, name)
	}
	return run, from, nil
}

// Abandon ends an answer for good. One that has ended stays as it is.
func (a Answers) Abandon(ctx context.Context, name string) error {
	run, _, err := parseAnswerName(name)
	if err == nil {
		err = a.hub.Cancel(ctx, run)
	}
	if err != nil && !errors.Is(err, ErrEnded) {
		return chatError(err)
	}
	return nil
}

// Answer returns a model that gives one answer, whatever it is asked: from its beginning on, and up to its
// end, however long that takes. While a person has to decide something, it says nothing.
func (a Answers) Answer(name string) chat.Model { return recordedAnswer{a, name} }

type recordedAnswer struct {
	Answers
	answer string
}

// Stream implements chat.Model.
func (m recordedAnswer) Stream(ctx context.Context, _ *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		s := &answerStream{yield: yield, calls: map[string]string{}}
		agent, err := m.hub.agent(m.name)
		if err == nil {
			s.activity = agent.Activity
			err = m.hub.tellAnswer(ctx, m.answer, s)
		}
		switch {
		case s.stopped:
		case err != nil:
			yield(chat.Event{}, chatError(err))
		default:
			s.finish(m.name)
		}
	}
}

// tellAnswer says an answer, and continues its run if nobody does.
func (h *Hub) tellAnswer(ctx context.Context, name string, s *answerStream) error {
	run, from, err := parseAnswerName(name)
	if err != nil {
		return err
	}
	k, err := h.look(ctx, run)
	if err != nil {
		return err
	}
	if err := h.ensure(ctx, k); err != nil {
		return err
	}
	t := telling{answerStream: s, runs: map[string]bool{}}
	r := reading{hub: h, run: run, agent: k.run.Agent, place: position{seq: from}, calls: map[string]int{}, every: true,
		yield: t.take}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.base, cancel)() // nobody drives it here any more
	err = r.follow(inner)
	if inner.Err() != nil && ctx.Err() == nil && !t.over {
		if err = r.read(ctx, 0, 0); err == nil { // what was recorded last
			err = ErrDraining
		}
	}
	switch {
	case err == errStopped:
		err = nil
	case err == nil && !t.over:
		err = chat.Errorf(chat.ErrNotFound, "run %s was deleted before its end", run)
	}
	return errors.Join(err, t.err)
}

// ensure has a run driven that can go on by itself and that nobody drives.
func (h *Hub) ensure(ctx context.Context, k known) error {
	w, err := h.waits(ctx, k)
	if err != nil || k.head.State == record.StateEnded || w != nil && w.For != record.WaitDrain ||
		h.lookUp(k.head.Stream) != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.draining {
		h.around.Go(func() { h.resumeWhenFree(k.head.Stream) })
	}
	return nil
}

// A telling makes an answer of the records of a run, and of what is said between them.
type telling struct {
	*answerStream
	runs map[string]bool // calls that ran here, by id
	turn *record.TurnEnd
	held []chat.Event // of a turn that broke off: they count unless the model is asked again
	over bool         // the answer is whole
	err  error        // what it broke off with
}

// take takes what was followed. It reports false when the answer is over.
func (t *telling) take(n Numbered) bool {
	e := &n.Event
	if n.Record == nil {
		switch e.Kind {
		case chat.KindText, chat.KindReasoning, chat.KindNativeCall, chat.KindNativeResult:
			return t.event(*e)
		}
		return true // it is told again when it is recorded
	}
	switch e.Kind {
	case chat.KindTurnStart:
		t.held = nil
	case chat.KindText, chat.KindReasoning:
		if n.Record.TurnEnd.Error != nil {
			t.held = append(t.held, *e)
			return true
		}
		return t.event(*e)
	case chat.KindCallEnd, chat.KindBounce:
		return t.event(*e)
	case chat.KindToolState:
		t.runs[e.ID] = true
		return t.event(*e)
	case chat.KindResult:
		return !t.runs[e.ID] || t.event(*e)
	case chat.KindTurnEnd:
		t.turn = n.Record.TurnEnd
		t.usage.Add(t.turn.Usage)
		if t.turn.Finish != nil {
			t.last = *t.turn.Finish
		}
	case 0:
		return t.record(n.Record)
	}
	return !t.stopped
}

// record takes a record once its events were told.
func (t *telling) record(rec *record.Record) bool {
	switch rec.Kind {
	case record.KindWait:
		switch rec.Wait.For {
		case record.WaitClient:
			if t.turn == nil {
				t.turn = new(record.TurnEnd)
			}
			t.call(slices.DeleteFunc(slices.Clone(t.turn.Message.Calls),
				func(c chat.Call) bool { return !slices.Contains(rec.Wait.Calls, c.ID) }))
			t.over = true
		case record.WaitRetry:
			t.release()
			t.err, t.over = brokenOff(t.turn, rec.Wait), true
		}
	case record.KindEnd:
		t.over = true
		switch agent.EndReason(rec.End.Reason) {
		case agent.EndCancel:
			t.release()
			t.err = chat.Errorf(chat.ErrCanceled, "the answer was cancelled")
		case agent.EndLimit:
			t.sayLimit(agent.LimitKind(rec.End.Detail))
		}
	}
	return !t.over
}

// release says what was held.
func (t *telling) release() {
	for _, e := range t.held {
		t.event(e)
	}
	t.held = nil
}

// brokenOff is why a run waits for somebody to try again.
func brokenOff(turn *record.TurnEnd, w *record.Wait) error {
	if turn != nil && turn.Error != nil {
		return turn.Error.Err()
	}
	return chat.Errorf(chat.ErrUnavailable, "%s", w.Note)
}
