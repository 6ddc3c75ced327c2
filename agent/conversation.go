package agent

import (
	"context"
	"fmt"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
)

// Conversation returns the messages of a session as its last run left them, to continue them in another run. A call
// that has no result there has none here. It takes no lease and writes nothing.
func (a *Agent) Conversation(ctx context.Context, session string) ([]chat.Message, error) {
	if a.o.Journal == nil {
		return nil, ErrNoJournal
	}
	for h, err := range a.o.Journal.Heads(ctx, journal.HeadQuery{Session: session, Opened: record.KindRun, Limit: 1}) {
		if err != nil {
			return nil, err
		}
		return a.recalled(ctx, h.Stream)
	}
	return nil, fmt.Errorf("agent: session %s: %w", session, journal.ErrNotFound)
}

// said returns the conversation with what was sent and has not entered it yet, because the run was cut off before.
func (r *Run) said() []chat.Message {
	list := r.Messages()
	for _, s := range r.inbox.queue {
		list = append(list, s.message)
	}
	return list
}

func (a *Agent) recalled(ctx context.Context, run string) ([]chat.Message, error) {
	l := &runRecorder{store: a.o.Journal, id: run}
	m, err := a.recall(ctx, l)
	if err != nil {
		return nil, err
	}
	r := a.newRun(&chat.Request{Model: m.run.Model, Messages: m.before, Conversation: m.run.Session}, l)
	in := false
	for i := range m.entries {
		rec := &m.entries[i].Record
		in = in || rec.Kind == record.KindTurn
		r.replay(rec, in)
		if t := rec.TurnEnd; t != nil && t.Error != nil && t.Message.Text() != "" {
			// what was said before it broke off was seen
			r.state.Add(chat.Message{Role: chat.RoleAssistant, Parts: chat.Text(t.Message.Text())})
		}
	}
	return r.said(), nil
}
