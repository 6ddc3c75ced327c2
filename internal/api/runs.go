package api

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strconv"
	"sync"
	"time"

	"wield/chat"
	"wield/internal/shorten"
	"wield/journal"
	"wield/journal/record"
	"wield/tool/runner"
)

// mediaLines is the content type of JSON Lines.
const mediaLines = "application/jsonl"

// errAbort cuts an answer off that has begun, so that nobody takes it for whole.
var errAbort = http.ErrAbortHandler

// A Run is one task on its way to an answer.
type Run struct {
	ID      string         `json:"id"`
	Session string         `json:"session"`
	State   record.State   `json:"state"`
	Status  journal.Status `json:"status" jsonschema:"where it stands, in one word"`
	Agent   string         `json:"agent,omitempty"`
	Model   string         `json:"model,omitempty"`
	Dir     string         `json:"dir,omitempty" jsonschema:"the directory that it works in"`
	By      string         `json:"by,omitempty" jsonschema:"who began it"`
	Begun   time.Time      `json:"begun"`
	Changed time.Time      `json:"changed"`
	Waits   *Waits         `json:"waits,omitempty" jsonschema:"with the state waiting: for what"`
	Ended   *Ended         `json:"ended,omitempty" jsonschema:"with the state ended: how"`
}

// Waits says what a run waits for.
type Waits struct {
	For       record.WaitFor `json:"for" jsonschema:"a decision, results of the client's calls, or somebody who resumes it"`
	Approvals []string       `json:"approvals,omitempty" jsonschema:"ids"`
	Calls     []string       `json:"calls,omitempty" jsonschema:"ids of calls that the client is to run"`
	Note      string         `json:"note,omitempty"`
	Error     *Trouble       `json:"error,omitempty" jsonschema:"what failed, where it can be tried again"`
}

// Ended says how a run ended.
type Ended struct {
	Reason string   `json:"reason" jsonschema:"answer, limit, empty, canceled or error"`
	Detail string   `json:"detail,omitempty" jsonschema:"the limit that was reached"`
	Error  *Trouble `json:"error,omitempty"`
	Usage  Usage    `json:"usage"`
}

// Trouble is why something broke off.
type Trouble struct {
	Kind       string  `json:"kind"`
	Message    string  `json:"message"`
	Status     int     `json:"status,omitempty" jsonschema:"of the server's answer"`
	RetryAfter float64 `json:"retry_after,omitempty" jsonschema:"seconds that the server asks to wait"`
}

func troubleOf(e *chat.Error) *Trouble {
	if e == nil {
		return nil
	}
	return &Trouble{string(e.Kind), e.Message, e.Status, e.RetryAfter.Seconds()}
}

func failureOf(f *record.Failure) *Trouble {
	if f == nil {
		return nil
	}
	return troubleOf(f.Err())
}

// Usage counts tokens.
type Usage struct {
	Known     bool `json:"known" jsonschema:"false: the server counts none"`
	In        int  `json:"input_tokens"`
	Out       int  `json:"output_tokens"`
	Cached    int  `json:"cached_tokens"`
	Reasoning int  `json:"reasoning_tokens"`
	Requests  int  `json:"requests"`
	Uncounted int  `json:"uncounted_requests,omitempty" jsonschema:"requests that were stopped before the server counted them, so that the sums lack them"`
}

func usageOf(u chat.Usage) Usage {
	return Usage{u.Known, u.In, u.Out, u.Cached, u.Reasoning, u.Requests, u.Uncounted}
}

// Runs is a page of runs, those that changed last first.
type Runs struct {
	Items []Run  `json:"items"`
	Next  string `json:"next,omitempty" jsonschema:"the before of the next page; without it there is none"`
}

// told are the records that a Run is made of.
var told = []record.Kind{record.KindRun, record.KindWait, record.KindResume, record.KindEnd}

// look returns a run of the journal, as it was with its head: what came behind that would not fit the state.
// ok is false where the stream is none of a run, or deleted.
func (s *Server) look(ctx context.Context, h *journal.Head) (run Run, ok bool, err error) {
	run = Run{ID: h.Stream, Session: h.Session, State: h.State, Status: journal.StatusOf(h.State, nil), Begun: h.Begun,
		Changed: h.Changed}
	for e, err := range s.o.Journal.Read(ctx, journal.Query{Stream: h.Stream, Kinds: told}) {
		if err != nil {
			return run, false, err
		}
		if e.Seq > h.Seq {
			break
		}
		if e.Record.Wait != nil || e.Record.End != nil {
			run.Status = journal.StatusOf(h.State, &e.Record)
		}
		switch r := &e.Record; r.Kind {
		case record.KindRun:
			ok = true
			run.Agent, run.Model, run.Dir, run.By = r.Run.Agent, r.Run.Model, r.Run.Dir, r.Run.By
		case record.KindWait:
			run.Waits = &Waits{r.Wait.For, r.Wait.Approvals, r.Wait.Calls, r.Wait.Note, failureOf(r.Wait.Error)}
		case record.KindResume:
			run.Waits = nil
		case record.KindEnd:
			run.Waits = nil
			run.Ended = &Ended{Reason: r.End.Reason, Detail: r.End.Detail, Usage: usageOf(r.End.Usage),
				Error: failureOf(r.End.Error)}
		}
	}
	return run, ok, nil
}

// head returns the run of an id, or ErrNotFound.
func (s *Server) head(ctx context.Context, id string) (Run, error) {
	for h, err := range s.o.Journal.Heads(ctx, journal.HeadQuery{Stream: id, Opened: record.KindRun, Limit: 1}) {
		if err != nil {
			return Run{}, err
		}
		run, ok, err := s.look(ctx, &h)
		if err == nil && !ok {
			err = journal.ErrNotFound
		}
		return run, err
	}
	return Run{}, journal.ErrNotFound
}

// owners knows who began runs, so that following many does not ask the journal for each of their records.
type owners struct {
	mu  sync.Mutex
	all map[string]string
}

// maxOwners limits the owners that are remembered.
const maxOwners = 10_000

// owner returns who began a run. One that is not known is nobody's.
func (s *Server) owner(ctx context.Context, run string) (by string, known bool, err error) {
	s.owners.mu.Lock()
	by, known = s.owners.all[run]
	s.owners.mu.Unlock()
	if known || run == "" {
		return by, known, nil
	}
	for e, err := range s.o.Journal.Read(ctx, journal.Query{Stream: run, Kinds: []record.Kind{record.KindRun},
		Limit: 1}) {
		if err != nil {
			return "", false, err
		}
		by, known = e.Record.Run.By, true
	}
	if !known {
		return "", false, nil
	}
	s.owners.mu.Lock()
	defer s.owners.mu.Unlock()
	if s.owners.all == nil || len(s.owners.all) >= maxOwners {
		s.owners.all = map[string]string{}
	}
	s.owners.all[run] = by
	return by, true, nil
}

// ownsRun reports whether a run is there for the caller.
func (x *exchange) ownsRun(ctx context.Context, run string) (bool, error) {
	if x.caller.Role != RoleClient {
		return true, nil
	}
	by, known, err := x.s.owner(ctx, run)
	return known && x.caller.owns(by), err
}

// listRuns answers GET /runs.
func (x *exchange) listRuns() (any, error) {
	ctx := x.r.Context()
	page := &Runs{Items: []Run{}}
	q := journal.HeadQuery{Opened: record.KindRun, Session: x.query("session"), Before: x.number("before", 0)}
	if state := x.query("state"); state != "" {
		q.States = []record.State{record.State(state)}
	}
	b := x.bound()
	for h, err := range x.s.o.Journal.Heads(ctx, q) {
		if err != nil {
			return nil, err
		}
		if b.reached(len(page.Items), h.Last) {
			page.Next = b.next()
			break
		}
		run, ok, err := x.s.look(ctx, &h)
		if err != nil {
			return nil, err
		}
		if ok && x.caller.owns(run.By) {
			page.Items = append(page.Items, run)
		}
	}
	return page, nil
}

// run returns the run that the path names, if it is there for the caller.
func (x *exchange) run() (Run, error) {
	id := x.arg("run")
	run, err := x.s.head(x.r.Context(), id)
	if errors.Is(err, journal.ErrNotFound) || err == nil && !x.caller.owns(run.By) {
		return run, notFound("run", id)
	}
	return run, err
}

// showRun answers GET /runs/{run}.
func (x *exchange) showRun() (any, error) {
	run, err := x.run()
	if err != nil {
		return nil, err
	}
	return &run, nil
}

// An Entry is one record of the journal.
type Entry struct {
	Position int64           `json:"position" jsonschema:"among all records"`
	Stream   string          `json:"stream" jsonschema:"the run, approval or other thing that it is of"`
	Seq      int64           `json:"seq" jsonschema:"within the stream"`
	Session  string          `json:"session,omitempty"`
	At       time.Time       `json:"at"`
	Kind     record.Kind     `json:"kind"`
	Record   json.RawMessage `json:"record,omitempty" jsonschema:"as it is stored; what it holds is named by its kind"`
	Left     int             `json:"left,omitempty" jsonschema:"bytes of the record, which was left out as larger than asked for; /runs/{run}/records has it behind seq - 1"`
}

// Records is a page of records of a run.
type Records struct {
	Items []Entry `json:"items"`
	Next  string  `json:"next,omitempty" jsonschema:"the after of the next page; without it there is none now"`
}

func entryOf(e *journal.Entry) Entry {
	return Entry{Position: e.Position, Stream: e.Stream, Seq: e.Seq, Session: e.Session, At: e.At, Kind: e.Record.Kind,
		Record: json.RawMessage(e.Body)}
}

// readRecords answers GET /runs/{run}/records.
func (x *exchange) readRecords() (any, error) {
	run, err := x.run()
	if err != nil {
		return nil, err
	}
	page := &Records{Items: []Entry{}}
	q := journal.Query{Stream: run.ID, Seq: x.number("after", 0), Limit: x.limit() + 1}
	for e, err := range x.s.o.Journal.Read(x.r.Context(), q) {
		if err != nil {
			return nil, err
		}
		if len(page.Items) == x.limit() {
			page.Next = strconv.FormatInt(page.Items[len(page.Items)-1].Seq, 10)
			break
		}
		page.Items = append(page.Items, entryOf(&e))
	}
	return page, nil
}

// tail answers GET /events: what is recorded of all runs, as it happens.
func (x *exchange) tail() error {
	after, err := x.lastEvent()
	if err != nil {
		return err
	}
	if after < 0 {
		if after, err = x.s.end(x.r.Context()); err != nil {
			return err
		}
	}
	s := x.stream()
	s.end(x.follow(s, x.number("largest", largestRecord),
		x.s.o.Journal.Watch(s.ctx, journal.Query{Session: x.query("session"), After: after})))
	return nil
}

// largestRecord is more than any record has.
const largestRecord = 1<<53 - 1

// follow sends entries that are there for the caller, without those parts of them that are larger than a
// number of bytes: a page that follows everything would otherwise be sent every picture.
func (x *exchange) follow(s *stream, largest int64, entries iter.Seq2[journal.Entry, error]) error {
	for e, err := range entries {
		if err != nil {
			return err
		}
		if e.Record.Kind == record.KindObject || e.Deleted() {
			continue
		}
		mine, err := x.mayFollow(s.ctx, &e)
		if err != nil {
			return err
		}
		if !mine {
			continue
		}
		out := entryOf(&e)
		if int64(len(out.Record)) > largest {
			out.Record, out.Left = nil, len(out.Record)
		}
		data, err := encode(&out)
		if err != nil {
			return err
		}
		if !s.send(strconv.FormatInt(e.Position, 10), string(e.Record.Kind), data) {
			return nil
		}
	}
	return nil
}

// approving are the records that somebody sees who decides approvals and nothing else.
var approving = map[record.Kind]bool{record.KindQuestion: true, record.KindAnswer: true, record.KindConsumed: true}

// mayFollow reports whether an entry is there for the caller.
func (x *exchange) mayFollow(ctx context.Context, e *journal.Entry) (bool, error) {
	switch {
	case x.caller.Role == RoleAdmin:
		return true, nil
	case x.caller.Role == RoleApprover:
		return approving[e.Record.Kind], nil
	case !approving[e.Record.Kind]:
		return x.ownsRun(ctx, e.Stream)
	}
	p, err := x.s.lookUp(ctx, e.Stream)
	if errors.Is(err, runner.ErrNoApproval) { // it was deleted meanwhile
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return x.ownsRun(ctx, p.Run)
}

// lastEvent returns the position that a client goes on behind, negative if it wants what comes from now on.
func (x *exchange) lastEvent() (int64, error) {
	id, field := x.r.Header.Get("Last-Event-ID"), "Last-Event-ID"
	if id == "" {
		id, field = x.query("after"), "after"
	}
	if id == "" {
		return -1, nil
	}
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n < 0 {
		return 0, invalid(field, "%s is no id of an event", shorten.Quoted(id)).
			with("send the id of the last event that was seen, or none")
	}
	return n, nil
}

// end returns the position of the last entry.
func (s *Server) end(ctx context.Context) (int64, error) {
	for h, err := range s.o.Journal.Heads(ctx, journal.HeadQuery{Limit: 1}) {
		return h.Last, err
	}
	return 0, nil
}
