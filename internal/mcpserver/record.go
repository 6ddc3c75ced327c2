package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/runner"
)

// agentName stands in the journal in the place of an agent's name.
const agentName = "mcp"

// Why the run of a call ended.
const (
	endStop      = "stop"
	endCancelled = "canceled"
	endError     = "error"
)

// A log records one call. Nil records nothing.
type log struct {
	store   journal.Store
	session string
	writer  *journal.Writer
	lease   journal.Lease // of a task
	free    func()        // gives the lease of a call under way back
	call    string        // id of the call that waited for an approval; empty: none did
	waits   bool          // for an approval
}

// record opens the run of a call, or continues the one that waits for the approval which the request's state names.
// All new calls of a server are in one session.
func (s *Server) record(ctx context.Context, state string) (*log, error) {
	if s.o.Journal == nil {
		return nil, nil
	}
	if id, ok := strings.CutPrefix(state, approvalState); ok {
		return s.reopen(ctx, id)
	}
	s.mu.Lock()
	first := s.logged == ""
	if first {
		s.logged = journal.NewID("ses")
	}
	session := s.logged
	s.mu.Unlock()
	w := journal.NewWriter(s.o.Journal, journal.NewID("run"), 0)
	run := &record.Run{Session: session, Agent: agentName, By: s.o.By}
	records := []record.Record{{Kind: record.KindRun, Run: run}}
	if first {
		note := &record.Session{Title: "calls by MCP"}
		records = append(records, record.Record{Kind: record.KindSession, Session: note})
	}
	if err := w.Append(ctx, records...); err != nil {
		return nil, err
	}
	return &log{store: s.o.Journal, session: session, writer: w}, nil
}

// reopen continues the run of a call that waits for an approval. Nobody else's will do: who asks for one by its id
// could answer it.
func (s *Server) reopen(ctx context.Context, approval string) (*log, error) {
	store := journal.Approvals{Store: s.o.Journal}
	p, err := store.Find(ctx, approval)
	if errors.Is(err, runner.ErrNoApproval) {
		return nil, refused("the approval cannot be answered: %v", err)
	}
	if err != nil {
		return nil, err
	}
	r, err := read(ctx, s.o.Journal, p.Run)
	switch {
	case err != nil && !errors.Is(err, journal.ErrNotFound):
		return nil, err
	case err != nil, r.run == nil, r.run.Agent != agentName, r.run.By != s.o.By:
		return nil, refused("the approval cannot be answered: %v", runner.ErrNoApproval)
	case r.end != nil:
		return nil, refused("the approval cannot be answered: its call is over")
	}
	l := &log{store: s.o.Journal, session: p.Session, writer: journal.NewWriter(s.o.Journal, p.Run, r.seq),
		call: p.CallID, waits: true}
	return l, l.resume(ctx)
}

// wait records that the call waits for an approval.
func (l *log) wait(ctx context.Context, approval string) {
	if l != nil {
		l.waits = true
		l.note(ctx, record.Record{Kind: record.KindWait, Wait: &record.Wait{For: record.WaitApproval,
			Approvals: []string{approval}}})
	}
}

// resume records that the call goes on, if it waited.
func (l *log) resume(ctx context.Context) error {
	if l == nil || !l.waits {
		return nil
	}
	l.waits = false
	return l.writer.Append(ctx, record.Record{Kind: record.KindResume, Resume: &record.Resume{}})
}

// id returns the id of the run.
func (l *log) id() string {
	if l == nil {
		return journal.NewID("task")
	}
	return l.writer.Stream()
}

// records is where the runner records.
func (l *log) records() runner.Records {
	if l == nil {
		return nil
	}
	return l.writer
}

// note records something beside. That it cannot be is found when the result is recorded.
func (l *log) note(ctx context.Context, r record.Record) {
	if l != nil {
		_ = l.writer.Append(ctx, r)
	}
}

// end records that the call is over, even if its client has gone. One that waits for an approval is not.
func (l *log) end(ctx context.Context, reason string, err error) {
	if l == nil || l.waits {
		return
	}
	end := &record.End{Reason: reason}
	if err != nil {
		end.Error = &record.Failure{Message: err.Error()}
	}
	_ = l.writer.Append(context.WithoutCancel(ctx), record.Record{Kind: record.KindEnd, End: end})
}

// hold makes the process with a name the one that carries out a call which may become a task, and records the call.
func (l *log) hold(ctx context.Context, owner string, call *chat.Call) error {
	if l == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	if err := l.claim(ctx, l.id(), owner); err != nil {
		return err
	}
	if l.call != "" {
		return nil // it is recorded
	}
	said := chat.Message{Role: chat.RoleAssistant, Calls: []chat.Call{*call}}
	return l.writer.Append(ctx, record.Record{Kind: record.KindMessage, Message: &record.Message{Message: said}})
}

// claim takes the lease of a run.
func (l *log) claim(ctx context.Context, run, owner string) (err error) {
	if l.lease, err = l.store.Claim(ctx, run, owner, taskLease); err == nil {
		l.writer = journal.NewWriter(l.store, run, l.lease.Seq)
	}
	return err
}

// keep renews the lease until the call is over. It calls lost when the call is another process's.
func (l *log) keep(ctx context.Context, lost func()) {
	if l != nil {
		l.free = l.lease.Hold(ctx, l.store, taskLease, lost)
	}
}

// release lets another process have the run, which is over.
func (l *log) release() {
	if l != nil {
		l.free()
	}
}

// A recorded holds what the journal knows of a call that may have become a task.
type recorded struct {
	began, ended time.Time
	run          *record.Run
	call         *chat.Call
	last         *journal.CallProgress // of the call, as often as it was made; nil: it has not begun
	waits        bool                  // for an approval
	end          *record.End
	seq          int64 // of the last entry
}

// read reads the run of a call.
func read(ctx context.Context, store journal.Store, id string) (r recorded, err error) {
	calls, err := journal.Calls(func(yield func(journal.Entry, error) bool) {
		for e, err := range store.Read(ctx, journal.Query{Stream: id}) {
			r.seq = e.Seq
			switch rec := &e.Record; rec.Kind {
			case record.KindRun:
				r.run, r.began = rec.Run, e.At
			case record.KindWait:
				r.waits = true
			case record.KindResume:
				r.waits = false
			case record.KindMessage:
				if len(rec.Message.Calls) == 1 {
					r.call = &rec.Message.Calls[0]
				}
			case record.KindEnd:
				r.end, r.ended = rec.End, e.At
			}
			if !yield(e, err) {
				return
			}
		}
	})
	if len(calls) > 0 {
		r.last = calls[len(calls)-1]
	}
	return r, err
}

// recall returns a task that the journal knows. One that nobody carries out any more, since its service was killed, is
// carried out here, for a client that says of itself what meta holds. If it is not known whether its call took effect,
// that is its result.
func (s *Server) recall(ctx context.Context, id string, meta sdk.Meta) (*task, error) {
	if s.o.Journal == nil {
		return nil, noTask(id)
	}
	r, err := read(ctx, s.o.Journal, id)
	switch {
	case err != nil && !errors.Is(err, journal.ErrNotFound):
		return nil, err
	case err != nil, r.run == nil, r.call == nil, r.run.Agent != agentName, r.run.By != s.o.By,
		r.end != nil && time.Since(r.ended) > s.o.Tasks.ttl():
		return nil, noTask(id)
	}
	t := newTask(s, id, r.began.UTC())
	t.polled = true
	if r.end != nil {
		t.recorded(&r)
		return t, nil
	}
	t.log = &log{store: s.o.Journal, session: r.run.Session, waits: r.waits}
	switch err := t.log.claim(ctx, id, s.o.tasks.owner); {
	case errors.Is(err, journal.ErrHeld):
		return t, nil // another process carries it out
	case err != nil:
		return nil, err
	}
	if err := t.log.resume(ctx); err != nil {
		return nil, err
	}
	call := *r.call
	if r.last != nil && r.last.Interrupted() && !r.last.Repeatable() {
		unknown := r.last.Unknown(time.Now())
		if err := t.log.writer.Finish(ctx, unknown); err != nil {
			return nil, err
		}
		r.last.Result = &unknown
	}
	if r.last != nil && r.last.Result != nil {
		r.end, r.ended = &record.End{Reason: endStop}, time.Now()
		t.log.end(ctx, endStop, nil)
		_ = s.o.Journal.Release(context.WithoutCancel(ctx), t.log.lease) // it ends by itself
		t.recorded(&r)
		return t, nil
	}
	if r.last != nil {
		call.ID = r.last.ID // the journal knows a call that runs again by its id
	}
	ctx, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
	params := &sdk.CallToolParamsRaw{Meta: meta, Name: call.Name, Arguments: json.RawMessage(call.Arguments)}
	s.o.tasks.all.Go(func() { t.run(ctx, &sdk.CallToolRequest{Params: params}, call) })
	return t, nil
}

// recorded takes over what the journal says of a task that is over.
func (t *task) recorded(r *recorded) {
	t.updated = r.ended.UTC()
	switch {
	case r.end.Reason == endCancelled:
		t.status = taskCancelled
	case r.end.Error != nil:
		t.status, t.message, t.err = taskFailed, r.end.Error.Message, errors.New(r.end.Error.Message)
	case r.last == nil, r.last.Result == nil:
		t.status, t.err = taskFailed, errors.New("the call ended without a result")
	default:
		style := tool.StylePlain
		if e, ok := t.server.o.Runner.Settings().Tools.Lookup(r.call.Name); ok {
			style = e.Tool.Style
		}
		result := r.last.Result.Result.Chat(r.call, style)
		t.status, t.result = taskCompleted, content(&result)
	}
}
