package agent

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool"
)

// Asked holds the request of a turn, put together again from the journal.
type Asked struct {
	Request chat.Request
	Pruned  int // results in whose place, or behind whose beginning, there is a note
	Dropped int // messages that are not there
	Match   Match
}

// A Match compares a request that was put together again with the one that was sent.
type Match string

// The matches.
const (
	MatchSame    Match = "same"    // to the byte: its digest is that of the journal
	MatchOther   Match = "other"   // it depends on what the journal does not have, such as how results are written
	MatchUnknown Match = "unknown" // the journal has no digest
)

// Asked returns what the model was asked at the n-th time in a run, from 0. It looks at the records alone, and at how
// the agent's tools write their results.
func (a *Agent) Asked(ctx context.Context, id string, n int) (*Asked, error) {
	if a.o.Journal == nil {
		return nil, ErrNoJournal
	}
	l := &runRecorder{store: a.o.Journal, id: id, opened: true}
	m, err := a.recall(ctx, l)
	if err != nil {
		return nil, err
	}
	at := m.turn(n)
	if at < 0 {
		return nil, fmt.Errorf("agent: run %s was not asked %d times: %w", id, n+1, journal.ErrNotFound)
	}
	turn, position := m.entries[at].Record.Turn, m.entries[at].Position
	m.entries = m.entries[:at]
	r := a.replayed(m, l, nil)
	if r.shown.summary.Messages == 0 {
		if r.shown.summary, err = a.lastSummary(ctx, l.session, m.before, position); err != nil {
			return nil, err
		}
	}
	return r.asked(m.run, turn), nil
}

// turn returns which entry says that the model is about to be asked for the n-th time; -1: none.
func (m *memory) turn(n int) int {
	return slices.IndexFunc(m.entries, func(e journal.Entry) bool {
		if e.Record.Kind == record.KindTurn {
			n--
		}
		return n < 0
	})
}

// asked returns the request of a turn that comes next.
func (r *Run) asked(run *record.Run, turn *record.Turn) *Asked {
	req := *r.req
	req.Tools = append(fromClient(run.Offered), fromClient(run.Client)...)
	if turn.Tools != nil {
		req.Tools = fromClient(*turn.Tools)
	}
	if turn.Model != "" {
		req.Model = turn.Model
	}
	if last := len(r.state.Messages) - 1; last >= 0 && r.state.Messages[last].Role == chat.RoleUser &&
		isLast(r.state.Messages[last].Text()) {
		req.Choice = chat.Choice{Mode: chat.ChoiceNone}
	}
	f := Fitting{Budget: turn.Room, Summary: r.shown.summary, Reader: reader(req.Tools)}
	v := f.Fit(r.state.Messages)
	req.Messages = v.Messages
	out := &Asked{Request: req, Pruned: v.Pruned + v.Cut, Dropped: v.Dropped, Match: MatchUnknown}
	switch turn.Digest {
	case "":
	case digestOf(&req):
		out.Match = MatchSame
	default:
		out.Match = MatchOther
	}
	return out
}

// describe notes what it takes to put a request together again.
func (r *Run) describe(t *record.Turn, req *chat.Request) {
	t.Room, t.Digest = r.fitting(req.Tools).Budget, digestOf(req)
	now := record.Definitions(req.Tools)
	if r.offered == nil || !slices.EqualFunc(now, r.offered, sameDefinition) {
		t.Tools = &now
	}
}

func sameDefinition(a, b record.Definition) bool {
	return a.Name == b.Name && a.Description == b.Description && string(a.Parameters) == string(b.Parameters)
}

// reader returns the name of the tool that reads results again; empty: it is not among them.
func reader(tools []chat.Tool) string {
	for i := range tools {
		if tools[i].Name == tool.ReadOutputName {
			return tool.ReadOutputName
		}
	}
	return ""
}

// digestOf returns the digest of what a model is asked: the messages and the tools. What the journal gives back
// otherwise, such as ids that were not there, is no part of it.
func digestOf(req *chat.Request) string {
	h := sha256.New()
	d := digester{bufio.NewWriter(h)} // a hash takes everything
	for i := range req.Messages {
		d.message(&req.Messages[i])
	}
	for i := range req.Tools {
		d.text("tool", req.Tools[i].Name, req.Tools[i].Description, d.plain(req.Tools[i].Parameters))
	}
	_ = d.w.Flush()
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// A digester takes in texts, each with its length, so that no two lists of texts are the same to it.
type digester struct{ w *bufio.Writer }

func (d digester) text(list ...string) {
	var size [8]byte
	for _, s := range list {
		binary.LittleEndian.PutUint64(size[:], uint64(len(s)))
		_, _ = d.w.Write(size[:])
		_, _ = d.w.WriteString(s)
	}
}

// plain returns JSON as a journal gives it back, without the white space between its parts.
func (d digester) plain(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

func (d digester) message(m *chat.Message) {
	d.text("message", string(m.Role), m.Name, m.Reasoning, m.CallID)
	for i := range m.Parts {
		p := &m.Parts[i]
		d.text("part", p.Text, p.MediaType, p.URL, string(p.Data), p.Name, d.plain(p.Raw))
	}
	for i := range m.Calls {
		d.text("call", m.Calls[i].ID, m.Calls[i].Name, m.Calls[i].Arguments)
	}
}
