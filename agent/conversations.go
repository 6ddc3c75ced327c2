package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool"
)

// conversations are those of whoever asks, as the journal has them.
type conversations struct {
	store journal.Store
	by    string
	alike []string // other names of whoever asks
}

// mostSearched limits the sessions that are looked through, the latest first.
const mostSearched = 500

// own reports whether a run was asked for by whoever asks now. What nobody is known to have asked for is nobody's.
func (c *conversations) own(by string) bool {
	return by != "" && (by == c.by || slices.Contains(c.alike, by) && slices.Contains(c.alike, c.by))
}

// Search implements [tool.Conversations].
func (c *conversations) Search(ctx context.Context, words []string, limit int) ([]tool.Passage, error) {
	var list []tool.Passage
	n := 0
	for session, err := range journal.Sessions(ctx, c.store, 0) {
		if err != nil {
			return nil, fmt.Errorf("agent: %w", err)
		}
		said, err := c.said(ctx, &session)
		if err != nil && !errors.Is(err, tool.ErrNoConversation) {
			return nil, err
		}
		for _, p := range said {
			if holds(p.Text, words) {
				list = append(list, p)
			}
			if len(list) == limit {
				return list, nil
			}
		}
		if n++; n == mostSearched {
			break
		}
	}
	return list, nil
}

// holds reports whether a text has all words, in upper or lower case.
func holds(text string, words []string) bool {
	text = strings.ToLower(text)
	for _, w := range words {
		if !strings.Contains(text, strings.ToLower(w)) {
			return false
		}
	}
	return true
}

// Read implements [tool.Conversations].
func (c *conversations) Read(ctx context.Context, id string, from, limit int) ([]tool.Passage, int, error) {
	session, err := journal.LookUp(ctx, c.store, id)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil, 0, tool.ErrNoConversation
	case err != nil:
		return nil, 0, fmt.Errorf("agent: session %s: %w", id, err)
	}
	said, err := c.said(ctx, &session)
	if err != nil {
		return nil, 0, err
	}
	first := min(max(from-1, 0), len(said))
	return said[first:min(first+limit, len(said))], len(said), nil
}

// said returns what people and models said in a session: in its last run, which holds what was said before it too. A
// session in which anybody else asked for a run is not shown.
func (c *conversations) said(ctx context.Context, session *journal.Session) ([]tool.Passage, error) {
	last := ""
	for i := range session.Streams {
		if h := &session.Streams[i]; h.Opened == record.KindRun && last == "" {
			last = h.Stream
		}
	}
	var list []tool.Passage
	runs := 0
	q := journal.Query{Session: session.ID,
		Kinds: []record.Kind{record.KindRun, record.KindMessage, record.KindTurnEnd}}
	for e, err := range c.store.Read(ctx, q) {
		if err != nil {
			return nil, fmt.Errorf("agent: session %s: %w", session.ID, err)
		}
		p := tool.Passage{Session: session.ID, Title: session.Title, At: e.At}
		switch r := &e.Record; {
		case r.Kind == record.KindRun:
			if runs++; !c.own(r.Run.By) {
				return nil, tool.ErrNoConversation
			}
			continue
		case e.Stream != last:
			continue
		case r.Kind == record.KindMessage && (r.Message.Role == chat.RoleUser || r.Message.Role == chat.RoleAssistant):
			p.Role, p.Text = string(r.Message.Role), r.Message.Text()
		case r.Kind == record.KindTurnEnd && r.TurnEnd.Error == nil:
			p.Role, p.Text = string(chat.RoleAssistant), r.TurnEnd.Message.Text()
		}
		if p.Text != "" {
			p.Number = len(list) + 1
			list = append(list, p)
		}
	}
	if runs == 0 {
		return nil, tool.ErrNoConversation
	}
	return list, nil
}
