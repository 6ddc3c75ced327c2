package runs

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"wield/agent"
	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool/runner"
)

// mark is how a text names a question and the run that asks it.
func mark(approval, run string) string { return "approval " + approval + " of " + run }

var marked = regexp.MustCompile(`\(approval apr_[0-9a-f]{24} of (run_[0-9a-f]{24})\)`)

// markedRun returns the run that the last answer of a conversation has told to wait for a person, or "".
func markedRun(messages []chat.Message) string {
	for i := len(messages) - 1; i >= 0; i-- {
		if m := &messages[i]; m.Role == chat.RoleAssistant {
			found := marked.FindAllStringSubmatch(m.Text(), -1)
			if len(found) == 0 {
				return ""
			}
			return found[len(found)-1][1]
		}
	}
	return ""
}

// report answers a request behind an answer that told of a question: what became of it, what the run came to, and
// then what the user says now.
func (h *Hub) report(ctx context.Context, a *Agent, run string, req *chat.Request, s *answerStream) error {
	questions, seq, err := h.asked(ctx, run)
	if err != nil {
		return err
	}
	pending := slices.DeleteFunc(slices.Clone(questions),
		func(q runner.Approval) bool { return q.State != runner.ApprovalPending })
	if len(pending) > 0 {
		s.sayWaiting(h, run, pending)
		return nil
	}
	for i := range questions {
		s.say(became(&questions[i]))
	}
	for pause := soon; ; pause = min(2*pause, soonest) {
		var answered []*record.TurnEnd
		l, live, err := h.rebuild(ctx, run, req, false, nil, func(*agent.Run) (err error) {
			answered, err = h.answered(ctx, run, seq)
			return err
		})
		switch {
		case errors.Is(err, ErrHeld): // another process heard of the answer first; its lease ends if it dies
			if err := sleep(ctx, pause); err != nil {
				return err
			}
			continue
		case errors.Is(err, ErrEnded):
			if err := h.sayAnswers(ctx, run, seq, s); err != nil {
				return err
			}
			return h.afterwards(ctx, a, run, req, s)
		case err != nil:
			return err
		case live: // it goes on by itself
			if err := l.wait(ctx); err != nil {
				return err
			}
			continue
		}
		for _, t := range answered { // of one that broke off the model is asked for again
			if text := t.Message.Text(); t.Error == nil && text != "" {
				s.say(text)
			}
		}
		return h.finishRun(ctx, a, l, req, s)
	}
}

// asked returns the questions that a run has put last, and the number of the record in which it stopped for them.
func (h *Hub) asked(ctx context.Context, run string) ([]runner.Approval, int64, error) {
	var ids []string
	var seq int64
	for e, err := range h.store.Read(ctx, journal.Query{Stream: run, Kinds: []record.Kind{record.KindWait}}) {
		if err != nil {
			return nil, 0, err
		}
		if w := e.Record.Wait; w.For == record.WaitApproval {
			ids, seq = w.Approvals, e.Seq
		}
	}
	approvals := journal.Approvals{Store: h.store}
	var list []runner.Approval
	for _, id := range ids {
		q, err := approvals.Get(ctx, id)
		if err != nil {
			return nil, 0, err
		}
		list = append(list, q)
	}
	return list, seq, nil
}

// became says what became of a question.
func became(a *runner.Approval) string {
	state := a.State
	if state == runner.ApprovalConsumed {
		state = a.Answer.State
	}
	text := fmt.Sprintf("The approval of %s is %s", a.Tool, state)
	if a.Answer.By != "" {
		text += " by " + a.Answer.By
	}
	if a.Answer.Reason != "" {
		text += ": " + a.Answer.Reason
	}
	return text + "."
}

// sayAnswers says what a run has written behind a record.
func (h *Hub) sayAnswers(ctx context.Context, run string, seq int64, s *answerStream) error {
	answered, err := h.answered(ctx, run, seq)
	for _, t := range answered {
		if text := t.Message.Text(); text != "" && !s.say(text) {
			return nil
		}
	}
	return err
}

// answered returns what a run has written behind a record.
func (h *Hub) answered(ctx context.Context, run string, seq int64) (list []*record.TurnEnd, err error) {
	for e, err := range h.store.Read(ctx,
		journal.Query{Stream: run, Seq: seq, Kinds: []record.Kind{record.KindTurnEnd}}) {
		if err != nil {
			return nil, err
		}
		list = append(list, e.Record.TurnEnd)
	}
	return list, nil
}

// finishRun carries a run to its end in place of a request, and then answers the request.
func (h *Hub) finishRun(ctx context.Context, a *Agent, l *Live, req *chat.Request, s *answerStream) error {
	s.breaks = true
	if err := h.attend(ctx, a, l, s); err != nil {
		return err
	}
	s.breaks = true
	switch l.outcome.Reason {
	case agent.EndWaiting, agent.EndClient: // the answer has said so
		return nil
	}
	return h.afterwards(ctx, a, l.ID, req, s)
}

// afterwards answers what the user says now, with the conversation as the run knows it.
func (h *Hub) afterwards(ctx context.Context, a *Agent, run string, req *chat.Request, s *answerStream) error {
	before, err := h.loop(a, req.Caller, false).Transcript(ctx, run)
	if err != nil {
		return err
	}
	k, err := h.look(ctx, run)
	if err != nil {
		return err
	}
	next := *req
	next.Conversation = k.run.Session
	next.Messages = append(before, newest(req.Messages)...)
	return h.begin(ctx, a, &next, s)
}

// newest returns what stands behind the last answer.
func newest(messages []chat.Message) []chat.Message {
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == chat.RoleAssistant {
			return messages[i+1:]
		}
	}
	return messages
}
