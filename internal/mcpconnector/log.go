package mcpconnector

import (
	"context"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/runner"
)

// agentName stands in the journal in the place of an agent's name, as for calls of MCP clients.
const agentName = "mcp"

// A log is the run in the journal of a call that waits for an approval. Nil records nothing.
type log struct {
	store        journal.Store
	by           string
	session, run string
	call         *runningCall
	writer       *journal.Writer // nil: nothing is recorded yet
}

// questions keeps the questions of one call. Before the first one the call gets a run.
type questions struct {
	journal.Approvals
	log      *log
	approved string // binding of the call that was approved, about which alone is asked; empty: any
}

var errOther = tool.Errorf(tool.ErrApproval,
	"there is nobody to ask in the middle of a call, or about another one than was approved")

// Ask implements [runner.Approvals].
func (q *questions) Ask(ctx context.Context, question runner.Question) (runner.Approval, error) {
	if q.approved != "" && question.Binding != q.approved {
		return runner.Approval{}, errOther
	}
	if err := q.log.open(ctx); err != nil {
		return runner.Approval{}, err
	}
	question.Always = "" // a policy is shared by all clients
	return q.Approvals.Ask(ctx, question)
}

// open records that the call was made.
func (l *log) open(ctx context.Context) error {
	if l.writer != nil {
		return nil
	}
	l.writer = journal.NewWriter(l.store, l.run, 0)
	c := chat.Call{ID: l.call.callID, Name: l.call.by.name, Arguments: l.call.arguments, Complete: true}
	said := chat.Message{Role: chat.RoleAssistant, Calls: []chat.Call{c}}
	return l.writer.Append(ctx,
		record.Record{Kind: record.KindRun, Run: &record.Run{Session: l.session, Agent: agentName, By: l.by}},
		record.Record{Kind: record.KindSession, Session: &record.Session{Title: "calls of MCP servers in " +
			"requests"}},
		record.Record{Kind: record.KindMessage, Message: &record.Message{Message: said}})
}

// wait records that the call waits for an approval.
func (l *log) wait(ctx context.Context, approval string) error {
	return l.writer.Append(ctx, record.Record{Kind: record.KindWait,
		Wait: &record.Wait{For: record.WaitApproval, Approvals: []string{approval}}})
}

// resume records that the call goes on.
func (l *log) resume(ctx context.Context) error {
	return l.writer.Append(ctx, record.Record{Kind: record.KindResume, Resume: &record.Resume{}})
}

// end records that the call is over.
func (l *log) end(ctx context.Context) {
	if l != nil {
		end := record.Record{Kind: record.KindEnd, End: &record.End{Reason: "stop"}}
		_ = l.writer.Append(context.WithoutCancel(ctx), end) // the result is recorded
	}
}

// result returns the recorded result of the call; nil: there is none.
func (l *log) result(ctx context.Context) (*chat.Result, error) {
	calls, err := journal.Calls(l.store.Read(ctx, journal.Query{Stream: l.run}))
	if err != nil || len(calls) == 0 || calls[len(calls)-1].Result == nil {
		return nil, err
	}
	c := chat.Call{ID: l.call.callID, Name: l.call.by.name}
	r := calls[len(calls)-1].Result.Result.Chat(&c, tool.StylePlain)
	return &r, nil
}

// reopen returns the log of a call that waits for an approval. Nobody else's will do: who asks for one by its id could
// answer it.
func (s *session) reopen(ctx context.Context, approval string) (*log, error) {
	store := journal.Approvals{Store: s.o.Journal}
	p, err := store.Find(ctx, approval)
	if err != nil {
		return nil, err
	}
	l := &log{store: s.o.Journal, by: s.req.Caller, session: p.Session, run: p.Run}
	var last int64
	mine := false
	for e, err := range s.o.Journal.Read(ctx, journal.Query{Stream: p.Run}) {
		if err != nil {
			return nil, err
		}
		if r := e.Record.Run; r != nil {
			mine = r.Agent == agentName && r.By == s.req.Caller
		}
		last = e.Seq
	}
	if !mine {
		return nil, runner.ErrNoApproval
	}
	l.writer = journal.NewWriter(s.o.Journal, p.Run, last)
	return l, nil
}
