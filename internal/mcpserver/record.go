package mcpserver

import (
	"context"

	"wield/journal"
	"wield/tool"
)

// agentName stands in the journal in the place of an agent's name.
const agentName = "mcp"

// A log is where one call is recorded. Nil records nothing.
type log struct{ writer *journal.Writer }

// record opens the run of a call. All calls of a server are in one session.
func (s *Server) record(ctx context.Context) (*log, error) {
	if s.o.Journal == nil {
		return nil, nil
	}
	s.mu.Lock()
	first := s.logged == ""
	if first {
		s.logged = journal.NewID("ses")
	}
	session := s.logged
	s.mu.Unlock()
	w := journal.NewWriter(s.o.Journal, journal.NewID("run"), 0)
	records := []journal.Record{{Kind: journal.KindRun, Run: &journal.RunRecord{Session: session, Agent: agentName, By: s.o.By}}}
	if first {
		records = append(records, journal.Record{Kind: journal.KindSession, Session: &journal.SessionNote{Title: "calls by MCP"}})
	}
	if err := w.Append(ctx, records...); err != nil {
		return nil, err
	}
	return &log{w}, nil
}

// records is where the runner records.
func (l *log) records() tool.Records {
	if l == nil {
		return nil
	}
	return l.writer
}

// note records something beside. That it cannot be is found when the result is recorded.
func (l *log) note(ctx context.Context, r journal.Record) {
	if l != nil {
		_ = l.writer.Append(ctx, r)
	}
}

// end records that the call is over, even if its client has gone.
func (l *log) end(ctx context.Context) {
	if l != nil {
		_ = l.writer.Append(context.WithoutCancel(ctx), journal.Record{Kind: journal.KindEnd, End: &journal.End{Reason: "stop"}})
	}
}
