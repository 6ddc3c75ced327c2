// Package journaltest holds what every journal.Store has to do, as one function to call in a test:
//
//	func TestStore(t *testing.T) {
//		journaltest.Run(t, func(t *testing.T, o journal.Options) journal.Store { return open(t, o) })
//	}
//
// Words are those of package journal. A store that is kept outside of the process is tested beside that with Share.
package journaltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wield/chat"
	"wield/journal"
	"wield/tool"
	"wield/tool/approvaltest"
)

// Open makes a store that is empty and ends with the test.
type Open func(t *testing.T, o journal.Options) journal.Store

// Run checks a store.
func Run(t *testing.T, open Open) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s journal.Store)
	}{
		{"Append", appendReads}, {"Conflict", conflict}, {"Refused", refused}, {"AllOrNothing", allOrNothing}, {"Duplicate", duplicate},
		{"Race", race}, {"Query", query}, {"Pages", pages}, {"Heads", heads}, {"Sessions", sessions}, {"Watch", watch},
		{"WatchAtOnce", watchAtOnce}, {"Claim", claim}, {"ClaimAtOnce", claimAtOnce}, {"Fence", fence}, {"Delete", remove}, {"DeleteHeld", removeHeld},
		{"Writer", writer}, {"Calls", calls}, {"Chain", chain}, {"Canceled", canceled}, {"Closed", closed}, {"Prune", prune}, {"Large", large},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t, journal.Options{})) })
	}
	t.Run("Lease", func(t *testing.T) { lease(t, open) })
	t.Run("ClockJump", func(t *testing.T) { clockJump(t, open) })
	t.Run("Mask", func(t *testing.T) { mask(t, open) })
	approvaltest.Run(t, func(t *testing.T) tool.Approvals {
		return &journal.Approvals{Store: open(t, journal.Options{}), Session: "ses", Run: "run"}
	})
}

// Share checks a store that several processes can have open. Each test gets one that is empty, opened twice.
func Share(t *testing.T, open func(t *testing.T) (a, b journal.Store)) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, a, b journal.Store)
	}{{"Seen", shareSeen}, {"Race", shareRace}, {"Lease", shareLease}, {"Answer", shareAnswer}, {"Deleted", shareDeleted}} {
		t.Run("Share"+test.name, func(t *testing.T) {
			a, b := open(t)
			test.run(t, a, b)
			Whole(t, a)
			Whole(t, b)
		})
	}
}

func shareSeen(t *testing.T, a, b journal.Store) {
	Add(t, a, "run_1", 0, RunRecord("ses"))
	next := int64(1)
	for e, err := range b.Watch(t.Context(), journal.Query{}) {
		if err != nil || e.Position != next {
			t.Fatalf("position %d, want %d: %v", e.Position, next, err)
		}
		if next++; next > 5 {
			break
		}
		Add(t, a, "run_1", e.Seq, MessageRecord("a"))
	}
	if _, err := b.Append(t.Context(), "run_1", 4, EndRecord()); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("after an entry that the other one has followed: %v", err)
	}
	Add(t, b, "run_1", 5, EndRecord())
}

func shareRace(t *testing.T, a, b journal.Store) {
	Add(t, a, "run_1", 0, RunRecord("ses"))
	stores := []journal.Store{a, b, a, b}
	for seq := int64(1); seq <= 10; seq++ {
		var won atomic.Int32
		atOnce(len(stores), func(i int) {
			switch _, err := stores[i].Append(context.Background(), "run_1", seq, StartRecord(fmt.Sprint("call_", seq))); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, journal.ErrConflict):
				t.Error(err)
			}
		})
		if won.Load() != 1 {
			t.Fatalf("%d appends after number %d passed", won.Load(), seq)
		}
	}
}

func shareLease(t *testing.T, a, b journal.Store) {
	Add(t, a, "run_1", 0, RunRecord("ses"))
	l, err := a.Claim(t.Context(), "run_1", "own_a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Claim(t.Context(), "run_1", "own_b", time.Minute); !errors.Is(err, journal.ErrHeld) {
		t.Errorf("from elsewhere: %v", err)
	}
	if err := b.Delete(t.Context(), "ses", journal.ReasonAsked); !errors.Is(err, journal.ErrHeld) {
		t.Errorf("deleted from elsewhere: %v", err)
	}
	if err := a.Release(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Claim(t.Context(), "run_1", "own_b", time.Minute); err != nil {
		t.Error(err)
	}
	if _, err := a.Append(t.Context(), "run_1", l.Seq, StartRecord("call_1")); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("the owner before: %v", err)
	}
}

// shareAnswer has one question answered from two sides at once.
func shareAnswer(t *testing.T, a, b journal.Store) {
	both := []*journal.Approvals{{Store: a, Session: "ses", Run: "run_1"}, {Store: b}}
	q, err := both[0].Ask(t.Context(), approvaltest.Question("binding"))
	if err != nil {
		t.Fatal(err)
	}
	waiting := List(t, both[1].Waiting(t.Context()))
	if len(waiting) != 1 || waiting[0].ID != q.ID || waiting[0].Run != "run_1" || waiting[0].Session != "ses" {
		t.Fatalf("%+v", waiting)
	}
	states := []chat.ApprovalState{chat.ApprovalApproved, chat.ApprovalDenied}
	got := make([]chat.ApprovalState, 2)
	var won atomic.Int32
	atOnce(2, func(i int) {
		decided, err := both[i].Decide(context.Background(), q.ID, tool.Answer{State: states[i], By: fmt.Sprint("side ", i)})
		switch got[i] = decided.State; {
		case err == nil:
			won.Add(1)
		case !errors.Is(err, tool.ErrDecided):
			t.Error(err)
		}
	})
	if won.Load() != 1 || got[0] != got[1] {
		t.Errorf("%d answers passed, and the sides were told %v", won.Load(), got)
	}
	if waiting := List(t, both[1].Waiting(t.Context())); len(waiting) != 0 {
		t.Errorf("still waiting: %+v", waiting)
	}
}

func shareDeleted(t *testing.T, a, b journal.Store) {
	fill(t, a, 2, "ses_a", "ses_b")
	if err := b.Delete(t.Context(), "ses_a", journal.ReasonAsked); err != nil {
		t.Fatal(err)
	}
	if n := len(List(t, a.Read(t.Context(), journal.Query{Session: "ses_a"}))); n != 0 {
		t.Errorf("%d entries can still be read", n)
	}
	if _, err := a.Append(t.Context(), "run_00", 3, MessageRecord("a")); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("a run that was deleted elsewhere: %v", err)
	}
}

// Records of runs, for tests.

// RunRecord opens a run of a session.
func RunRecord(session string) journal.Record {
	return journal.Record{Kind: journal.KindRun, Run: &journal.Run{Session: session, Model: "m"}}
}

// StartRecord says that a call is about to run.
func StartRecord(id string) journal.Record {
	return journal.Record{Kind: journal.KindStart, Start: &tool.StartRecord{CallID: id, Tool: "command_exec", Arguments: json.RawMessage(`{}`)}}
}

// ResultRecord says what came of it.
func ResultRecord(id string) journal.Record {
	return journal.Record{Kind: journal.KindResult, Result: &tool.FinishRecord{CallID: id, Tool: "command_exec", Started: true, Result: tool.Text("done")}}
}

// MessageRecord is a message of a person.
func MessageRecord(text string) journal.Record {
	return journal.Record{Kind: journal.KindMessage, Message: &journal.Message{Message: chat.Message{Role: chat.RoleUser, Parts: chat.Text(text)}}}
}

// EndRecord ends a run.
func EndRecord() journal.Record {
	return journal.Record{Kind: journal.KindEnd, End: &journal.End{Reason: "stop"}}
}

// List reads all that a sequence yields, and ends the test on an error.
func List[T any](t *testing.T, seq iter.Seq2[T, error]) []T {
	t.Helper()
	var list []T
	for v, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

// Add appends records and ends the test on an error.
func Add(t *testing.T, s journal.Store, stream string, after int64, records ...journal.Record) int64 {
	t.Helper()
	p, err := s.Append(t.Context(), stream, after, records...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Whole checks that Verify finds nothing.
func Whole(t *testing.T, s journal.Store) journal.Report {
	t.Helper()
	r, err := journal.Verify(context.Background(), s, journal.Hash{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Problems {
		t.Errorf("position %d, stream %s: %s", p.Position, p.Stream, p.What)
	}
	return r
}

func appendReads(t *testing.T, s journal.Store) {
	before := time.Now().Add(-time.Second)
	if p := Add(t, s, "run_1", 0, RunRecord("ses_1"), MessageRecord("Tür <&>")); p != 2 {
		t.Errorf("position %d, want 2", p)
	}
	Add(t, s, "run_2", 0, RunRecord("ses_2"))
	if p := Add(t, s, "run_1", 2, EndRecord()); p != 4 {
		t.Errorf("position %d, want 4", p)
	}
	list := List(t, s.Read(t.Context(), journal.Query{Stream: "run_1"}))
	if len(list) != 3 {
		t.Fatalf("%d entries, want 3", len(list))
	}
	for i, want := range []struct {
		kind     journal.Kind
		position int64
	}{{journal.KindRun, 1}, {journal.KindMessage, 2}, {journal.KindEnd, 4}} {
		e := list[i]
		if e.Record.Kind != want.kind || e.Position != want.position || e.Seq != int64(i+1) || e.Stream != "run_1" || e.Session != "ses_1" ||
			e.At.Before(before) || e.Deleted() {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
	if text := list[1].Record.Message.Text(); text != "Tür <&>" {
		t.Errorf("the message says %q", text)
	}
	Whole(t, s)
}

func conflict(t *testing.T, s journal.Store) {
	Add(t, s, "run_1", 0, RunRecord("ses"), MessageRecord("a"))
	for _, after := range []int64{0, 1, 3} {
		records := []journal.Record{MessageRecord("b")}
		if after == 0 {
			records[0] = RunRecord("ses")
		}
		_, err := s.Append(t.Context(), "run_1", after, records...)
		var c *journal.ConflictError
		if !errors.Is(err, journal.ErrConflict) || !errors.As(err, &c) || c.After != after || c.Last != 2 {
			t.Errorf("after %d: %v", after, err)
		}
	}
	if _, err := s.Append(t.Context(), "run_2", 1, MessageRecord("b")); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("a stream that does not exist: %v", err)
	}
	if n := len(List(t, s.Read(t.Context(), journal.Query{}))); n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
}

func refused(t *testing.T, s journal.Store) {
	for _, test := range []struct {
		name    string
		stream  string
		after   int64
		records []journal.Record
	}{
		{"no stream", "", 0, []journal.Record{RunRecord("s")}},
		{"a stream with a zero byte", "run\x001", 0, []journal.Record{RunRecord("s")}},
		{"a stream that is no text", "run\xff", 0, []journal.Record{RunRecord("s")}},
		{"a stream that is too long", strings.Repeat("r", 257), 0, []journal.Record{RunRecord("s")}},
		{"no session", "run_1", 0, []journal.Record{RunRecord("")}},
		{"a session with a zero byte", "run_1", 0, []journal.Record{RunRecord("s\x00")}},
		{"no records", "run_1", 0, nil},
		{"a number below 0", "run_1", -1, []journal.Record{RunRecord("s")}},
		{"no kind", "run_1", 0, []journal.Record{{}}},
		{"no part", "run_1", 0, []journal.Record{{Kind: journal.KindRun}}},
		{"does not open", "run_1", 0, []journal.Record{MessageRecord("a")}},
		{"opens twice", "run_1", 0, []journal.Record{RunRecord("s"), RunRecord("s")}},
		{"only stores write it", "run_1", 0, []journal.Record{RunRecord("s"), {Kind: journal.KindClaimed, Claimed: &journal.Claimed{Owner: "o"}}}},
		{"no id of a call", "run_1", 0, []journal.Record{RunRecord("s"), StartRecord("")}},
		{"broken JSON", "run_1", 0, []journal.Record{{Kind: journal.KindObject, Object: &journal.Object{Session: "s", Type: "t", Data: json.RawMessage(`{`)}}}},
	} {
		if _, err := s.Append(t.Context(), test.stream, test.after, test.records...); !errors.Is(err, journal.ErrRecord) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if n := len(List(t, s.Read(t.Context(), journal.Query{}))); n != 0 {
		t.Errorf("%d entries, want none", n)
	}
}

func allOrNothing(t *testing.T, s journal.Store) {
	Add(t, s, "run_1", 0, RunRecord("ses"), StartRecord("call_1"))
	if _, err := s.Append(t.Context(), "run_1", 2, MessageRecord("a"), ResultRecord("call_1"), StartRecord("call_1")); !errors.Is(err, journal.ErrDuplicate) {
		t.Fatal(err)
	}
	if n := len(List(t, s.Read(t.Context(), journal.Query{}))); n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
	Add(t, s, "run_1", 2, MessageRecord("a"), ResultRecord("call_1"))
	Whole(t, s)
}

func duplicate(t *testing.T, s journal.Store) {
	Add(t, s, "run_1", 0, RunRecord("ses"), StartRecord("call_1"), ResultRecord("call_1"), ResultRecord("call_2"))
	for _, r := range []journal.Record{StartRecord("call_1"), ResultRecord("call_1"), ResultRecord("call_2")} {
		if _, err := s.Append(t.Context(), "run_1", 4, r); !errors.Is(err, journal.ErrDuplicate) {
			t.Errorf("a second %s: %v", r.Kind, err)
		}
	}
	if _, err := s.Append(t.Context(), "run_1", 4, StartRecord("call_3"), StartRecord("call_3")); !errors.Is(err, journal.ErrDuplicate) {
		t.Errorf("two starts at once: %v", err)
	}
	Add(t, s, "run_2", 0, RunRecord("ses"), StartRecord("call_1"), ResultRecord("call_1")) // another run has ids of its own
	odd := "a\x00b" + strings.Repeat("c", 1000)                                            // a model writes ids, and anything into them
	Add(t, s, "run_2", 3, StartRecord(odd), ResultRecord(odd))
	if _, err := s.Append(t.Context(), "run_2", 5, ResultRecord(odd)); !errors.Is(err, journal.ErrDuplicate) {
		t.Errorf("a second result of a call with an odd id: %v", err)
	}
	if r := Whole(t, s); r.Calls != 3 || r.Open != 0 {
		t.Errorf("%+v", r)
	}
}

// race lets many append after the same entry.
func race(t *testing.T, s journal.Store) {
	const writers, rounds = 6, 5
	Add(t, s, "run_1", 0, RunRecord("ses"))
	for seq := int64(1); seq <= rounds; seq++ {
		var won atomic.Int32
		atOnce(writers, func(i int) {
			stream := fmt.Sprintf("run_%d_%d", seq, i) // streams of their own are in nobody's way
			if _, err := s.Append(context.Background(), stream, 0, RunRecord("ses")); err != nil {
				t.Error(err)
			}
			switch _, err := s.Append(context.Background(), "run_1", seq, StartRecord(fmt.Sprint("call_", seq))); {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, journal.ErrConflict):
				t.Error(err)
			}
		})
		if won.Load() != 1 {
			t.Fatalf("%d of %d appends after number %d passed", won.Load(), writers, seq)
		}
	}
	if r := Whole(t, s); r.Entries != 1+rounds+writers*rounds || r.Calls != rounds {
		t.Errorf("%+v", r)
	}
}

// atOnce calls f n times at the same time.
func atOnce(n int, f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() { <-start; f(i) })
	}
	close(start)
	wg.Wait()
}

// fill makes runs of three entries each, in turns of the sessions given.
func fill(t *testing.T, s journal.Store, runs int, sessions ...string) {
	t.Helper()
	for i := range runs {
		stream := fmt.Sprintf("run_%02d", i)
		Add(t, s, stream, 0, RunRecord(sessions[i%len(sessions)]))
		Add(t, s, stream, 1, MessageRecord(stream), EndRecord())
	}
}

func positions(list []journal.Entry) []int64 {
	var p []int64
	for i := range list {
		p = append(p, list[i].Position)
	}
	return p
}

func query(t *testing.T, s journal.Store) {
	fill(t, s, 4, "ses_a", "ses_b")
	for _, test := range []struct {
		q    journal.Query
		want []int64
	}{
		{journal.Query{}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{journal.Query{Stream: "run_01"}, []int64{4, 5, 6}},
		{journal.Query{Stream: "run_01", Seq: 1}, []int64{5, 6}},
		{journal.Query{Stream: "run_01", After: 5}, []int64{6}},
		{journal.Query{Stream: "run_01", After: 6}, nil},
		{journal.Query{Stream: "run_09"}, nil},
		{journal.Query{Session: "ses_b"}, []int64{4, 5, 6, 10, 11, 12}},
		{journal.Query{Session: "ses_b", After: 4, Kinds: []journal.Kind{journal.KindRun, journal.KindEnd}}, []int64{6, 10, 12}},
		{journal.Query{Kinds: []journal.Kind{journal.KindMessage}, Limit: 2}, []int64{2, 5}},
		{journal.Query{After: 9, Limit: 2}, []int64{10, 11}},
		{journal.Query{After: 12}, nil},
	} {
		if got := positions(List(t, s.Read(t.Context(), test.q))); !slices.Equal(got, test.want) {
			t.Errorf("%+v: %v, want %v", test.q, got, test.want)
		}
	}
	for e, err := range s.Read(t.Context(), journal.Query{}) { // the reader may stop, and use the store meanwhile
		if err != nil {
			t.Fatal(err)
		}
		Add(t, s, "run_00", 3, MessageRecord("more"))
		if e.Position == 1 {
			break
		}
	}
	Whole(t, s)
}

func pages(t *testing.T, s journal.Store) {
	const runs = 250 // more than a store reads at once
	for i := range runs {
		Add(t, s, fmt.Sprint("run_", i), 0, RunRecord("ses"), MessageRecord("a"))
	}
	var got []int64
	for after := int64(0); ; {
		page := List(t, s.Read(t.Context(), journal.Query{After: after, Limit: 7}))
		if len(page) == 0 {
			break
		}
		got = append(got, positions(page)...)
		after = page[len(page)-1].Position
	}
	for i, p := range got {
		if p != int64(i+1) {
			t.Fatalf("the entry at %d has position %d", i, p)
		}
	}
	if all := List(t, s.Read(t.Context(), journal.Query{})); len(got) != 2*runs || len(all) != 2*runs {
		t.Errorf("%d entries in pages, %d at once, want %d", len(got), len(all), 2*runs)
	}
	if n := len(List(t, s.Heads(t.Context(), journal.HeadQuery{}))); n != runs {
		t.Errorf("%d heads, want %d", n, runs)
	}
}

func streams(list []journal.Head) string {
	var names []string
	for _, h := range list {
		names = append(names, h.Stream)
	}
	return strings.Join(names, " ")
}

func heads(t *testing.T, s journal.Store) {
	fill(t, s, 3, "ses_a", "ses_b")
	Add(t, s, "run_03", 0, RunRecord("ses_a"))
	Add(t, s, "run_03", 1, journal.Record{Kind: journal.KindWait, Wait: &journal.Wait{For: journal.WaitClient}})
	Add(t, s, "run_04", 0, RunRecord("ses_b"))
	Add(t, s, "obj_1", 0, journal.Record{Kind: journal.KindObject, Object: &journal.Object{Session: "ses_b", Type: "t"}})
	for _, test := range []struct {
		q    journal.HeadQuery
		want string
	}{
		{journal.HeadQuery{}, "obj_1 run_04 run_03 run_02 run_01 run_00"},
		{journal.HeadQuery{Limit: 2}, "obj_1 run_04"},
		{journal.HeadQuery{Before: 12, Limit: 2}, "run_03 run_02"},
		{journal.HeadQuery{Session: "ses_b"}, "obj_1 run_04 run_01"},
		{journal.HeadQuery{Session: "ses_b", Opened: journal.KindRun}, "run_04 run_01"},
		{journal.HeadQuery{Opened: journal.KindRun, States: []journal.State{journal.StateOpen, journal.StateWaiting}}, "run_04 run_03"},
		{journal.HeadQuery{Stream: "run_02"}, "run_02"},
		{journal.HeadQuery{Stream: "run_09"}, ""},
	} {
		if got := streams(List(t, s.Heads(t.Context(), test.q))); got != test.want {
			t.Errorf("%+v: %s, want %s", test.q, got, test.want)
		}
	}
	h := List(t, s.Heads(t.Context(), journal.HeadQuery{Stream: "run_03"}))[0]
	if h.Session != "ses_a" || h.Opened != journal.KindRun || h.State != journal.StateWaiting || h.Seq != 2 || h.First != 10 || h.Last != 11 ||
		h.Bytes == 0 || h.Begun.IsZero() || h.Changed.Before(h.Begun) {
		t.Errorf("%+v", h)
	}
}

func sessions(t *testing.T, s journal.Store) {
	fill(t, s, 6, "ses_a", "ses_b", "ses_c")
	Add(t, s, "run_00", 3, journal.Record{Kind: journal.KindSession, Session: &journal.SessionNote{Title: "Files"}})
	ids := func(before int64, n int) (list []string, last int64) {
		for session, err := range journal.Sessions(t.Context(), s, before) {
			if err != nil {
				t.Fatal(err)
			}
			if list, last = append(list, session.ID), session.Last; len(list) == n {
				break
			}
		}
		return list, last
	}
	first, last := ids(0, 2)
	rest, _ := ids(last, 0)
	if got := strings.Join(append(first, rest...), " "); got != "ses_a ses_c ses_b" {
		t.Errorf("sessions %s", got)
	}
	a, err := journal.LookUp(t.Context(), s, "ses_a")
	if err != nil || a.Title != "Files" || a.Runs != 2 || a.State != journal.StateEnded || a.Model != "m" || a.Last != 19 {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := journal.LookUp(t.Context(), s, "ses_z"); !errors.Is(err, journal.ErrNotFound) {
		t.Error(err)
	}
}

func watch(t *testing.T, s journal.Store) {
	fill(t, s, 2, "ses_a", "ses_b")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []int64
	var last error
	for e, err := range s.Watch(ctx, journal.Query{Session: "ses_a", After: 1}) {
		if last = err; err != nil {
			break
		}
		switch got = append(got, e.Position); e.Position {
		case 3: // all that there was: more comes while somebody waits
			Add(t, s, "run_b", 0, RunRecord("ses_b"))
			Add(t, s, "run_a", 0, RunRecord("ses_a"))
		case 8:
			Add(t, s, "run_a", 1, MessageRecord("a"))
		case 9:
			cancel()
		}
	}
	if want := []int64{2, 3, 8, 9}; !slices.Equal(got, want) || !errors.Is(last, context.Canceled) {
		t.Errorf("%v with %v, want %v", got, last, want)
	}
}

// watchAtOnce checks that everyone who watches sees every entry once and in order while many write.
func watchAtOnce(t *testing.T, s journal.Store) {
	const writers, each, watchers = 4, 10, 3
	var wg sync.WaitGroup
	for range watchers {
		wg.Go(func() {
			next := int64(1)
			for e, err := range s.Watch(context.Background(), journal.Query{}) {
				if err != nil || e.Position != next {
					t.Errorf("position %d, want %d: %v", e.Position, next, err)
					return
				}
				if next++; next > writers*each {
					return
				}
			}
		})
	}
	atOnce(writers, func(i int) {
		for n := range int64(each) {
			r := MessageRecord("a")
			if n == 0 {
				r = RunRecord("ses")
			}
			if _, err := s.Append(context.Background(), fmt.Sprint("run_", i), n, r); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
}

func claim(t *testing.T, s journal.Store) {
	if _, err := s.Claim(t.Context(), "run_1", "own_a", time.Minute); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("a stream that does not exist: %v", err)
	}
	Add(t, s, "run_1", 0, RunRecord("ses"))
	a, err := s.Claim(t.Context(), "run_1", "own_a", time.Minute)
	if err != nil || a.Seq != 2 || a.Token == 0 || a.Owner != "own_a" || a.Stream != "run_1" || !a.Until.After(time.Now()) {
		t.Fatalf("%+v, %v", a, err)
	}
	var held *journal.HeldError
	if _, err := s.Claim(t.Context(), "run_1", "own_b", time.Minute); !errors.Is(err, journal.ErrHeld) || !errors.As(err, &held) || held.Owner != "own_a" {
		t.Errorf("a second owner: %v", err)
	}
	Add(t, s, "run_1", 2, MessageRecord("a"))
	more, err := s.Claim(t.Context(), "run_1", "own_a", 2*time.Minute)
	if err != nil || more.Token != a.Token || more.Seq != 3 || !more.Until.After(a.Until) {
		t.Errorf("more time: %+v, %v", more, err)
	}
	if err := s.Release(t.Context(), journal.Lease{Stream: "run_1", Owner: "own_b", Token: a.Token}); err != nil {
		t.Error(err)
	}
	if _, err := s.Claim(t.Context(), "run_1", "own_b", time.Minute); !errors.Is(err, journal.ErrHeld) {
		t.Errorf("after somebody else's release: %v", err)
	}
	if err := s.Release(t.Context(), more); err != nil {
		t.Error(err)
	}
	b, err := s.Claim(t.Context(), "run_1", "own_b", time.Minute)
	if err != nil || b.Token <= a.Token || b.Seq != 4 {
		t.Errorf("after the release: %+v, %v", b, err)
	}
	if err := s.Release(t.Context(), a); err != nil { // long lost
		t.Error(err)
	}
	if _, err := s.Claim(t.Context(), "run_1", "own_c", time.Minute); !errors.Is(err, journal.ErrHeld) {
		t.Errorf("after the release of a lease that was lost: %v", err)
	}
	Whole(t, s)
}

func claimAtOnce(t *testing.T, s journal.Store) {
	Add(t, s, "run_1", 0, RunRecord("ses"))
	var won atomic.Int32
	atOnce(8, func(i int) {
		switch _, err := s.Claim(context.Background(), "run_1", fmt.Sprint("own_", i), time.Minute); {
		case err == nil:
			won.Add(1)
		case !errors.Is(err, journal.ErrHeld):
			t.Error(err)
		}
	})
	if won.Load() != 1 {
		t.Errorf("%d have the lease", won.Load())
	}
}

// fence checks that an owner that lost its lease cannot write, whatever it thinks.
func fence(t *testing.T, s journal.Store) {
	Add(t, s, "run_1", 0, RunRecord("ses"))
	a, err := s.Claim(t.Context(), "run_1", "own_a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Release(t.Context(), a); err != nil { // as if its time were over
		t.Fatal(err)
	}
	b, err := s.Claim(t.Context(), "run_1", "own_b", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	old, now := journal.NewWriter(s, "run_1", a.Seq), journal.NewWriter(s, "run_1", b.Seq)
	if err := old.Append(t.Context(), StartRecord("call_1")); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("the owner that lost the run: %v", err)
	}
	if err := now.Append(t.Context(), StartRecord("call_1")); err != nil {
		t.Error(err)
	}
	if err := old.Append(t.Context(), ResultRecord("call_1")); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("the owner that lost the run, again: %v", err)
	}
	if err := now.Append(t.Context(), ResultRecord("call_1")); err != nil {
		t.Error(err)
	}
}

// A clock is one that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func lease(t *testing.T, open Open) {
	c := newClock()
	s := open(t, journal.Options{Now: c.Now})
	Add(t, s, "run_1", 0, RunRecord("ses"))
	for _, step := range []struct {
		after time.Duration
		owner string
		want  error
	}{
		{0, "own_a", nil}, {59 * time.Second, "own_b", journal.ErrHeld}, {0, "own_a", nil}, {59 * time.Second, "own_b", journal.ErrHeld},
		{time.Second, "own_b", nil}, {0, "own_a", journal.ErrHeld}, {time.Hour, "own_b", nil}, {0, "own_a", journal.ErrHeld},
	} {
		c.Add(step.after)
		if _, err := s.Claim(t.Context(), "run_1", step.owner, time.Minute); !errors.Is(err, step.want) {
			t.Errorf("%v: %v, want %v", step, err, step.want)
		}
	}
}

// clockJump sets the clock back by a year and forth by ten. Order stays, nothing is refused, and a lease from the future does
// not hold for a year.
func clockJump(t *testing.T, open Open) {
	c := newClock()
	s := open(t, journal.Options{Now: c.Now})
	Add(t, s, "run_1", 0, RunRecord("ses"))
	a, err := s.Claim(t.Context(), "run_1", "own_a", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	c.Add(-365 * 24 * time.Hour)
	Add(t, s, "run_1", a.Seq, MessageRecord("a year ago"))
	b, err := s.Claim(t.Context(), "run_1", "own_b", time.Minute)
	if err != nil {
		t.Fatalf("a lease of a clock that was ahead: %v", err)
	}
	c.Add(10 * 365 * 24 * time.Hour)
	Add(t, s, "run_1", b.Seq, MessageRecord("in years"))
	list := List(t, s.Read(t.Context(), journal.Query{}))
	for i := range list {
		if list[i].Position != int64(i+1) || list[i].Seq != int64(i+1) {
			t.Errorf("entry %d: %+v", i, list[i])
		}
	}
	Whole(t, s)
}

func remove(t *testing.T, s journal.Store) {
	fill(t, s, 4, "ses_a", "ses_b")
	before := Whole(t, s)
	approvals := &journal.Approvals{Store: s, Session: "ses_a", Run: "run_00"}
	q, err := approvals.Ask(t.Context(), approvaltest.Question("binding"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "ses_a", journal.ReasonAsked); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ses_a", "ses_z", ""} {
		if err := s.Delete(t.Context(), want, journal.ReasonAsked); !errors.Is(err, journal.ErrNotFound) {
			t.Errorf("session %q: %v", want, err)
		}
	}
	if _, err := approvals.Get(t.Context(), q.ID); !errors.Is(err, tool.ErrNoApproval) {
		t.Errorf("the approval: %v", err)
	}
	if got := positions(List(t, s.Read(t.Context(), journal.Query{}))); !slices.Equal(got, []int64{4, 5, 6, 10, 11, 12, 14}) {
		t.Errorf("what is left: %v", got)
	}
	if n := len(List(t, s.Read(t.Context(), journal.Query{Session: "ses_a"}))) + len(List(t, s.Heads(t.Context(), journal.HeadQuery{Session: "ses_a"}))); n != 0 {
		t.Errorf("%d entries and heads are left", n)
	}
	if _, err := s.Append(t.Context(), "run_00", 3, EndRecord()); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("a run that was deleted: %v", err)
	}
	r := Whole(t, s)
	if r.Entries != 14 || r.Deleted != 7 {
		t.Errorf("%+v", r)
	}
	if again, err := journal.Verify(t.Context(), s, before.Head); err != nil || len(again.Problems) > 0 {
		t.Errorf("the head of before is not found: %+v, %v", again, err)
	}
	for e := range s.Read(t.Context(), journal.Query{Deleted: true, Limit: 1}) {
		if !e.Deleted() || e.Stream != "" || e.Session != "" || len(e.Seal.Salt) > 0 {
			t.Errorf("what is left of an entry: %+v", e)
		}
	}
}

func removeHeld(t *testing.T, s journal.Store) {
	fill(t, s, 2, "ses")
	if _, err := s.Claim(t.Context(), "run_01", "own_a", time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "ses", journal.ReasonAsked); !errors.Is(err, journal.ErrHeld) {
		t.Errorf("while it is driven: %v", err)
	}
	if n := len(List(t, s.Read(t.Context(), journal.Query{}))); n != 7 {
		t.Errorf("%d entries, want 7", n)
	}
	Whole(t, s)
}

func writer(t *testing.T, s journal.Store) {
	w := journal.NewWriter(s, "run_1", 0)
	if err := w.Append(t.Context(), RunRecord("ses")); err != nil {
		t.Fatal(err)
	}
	atOnce(8, func(i int) { // calls of one turn
		id := fmt.Sprint("call_", i)
		if err := w.Start(context.Background(), *StartRecord(id).Start); err != nil {
			t.Error(err)
		}
		if err := w.Finish(context.Background(), *ResultRecord(id).Result); err != nil {
			t.Error(err)
		}
	})
	if w.Seq() != 17 || w.Position() != 17 || w.Stream() != "run_1" {
		t.Errorf("number %d at %d", w.Seq(), w.Position())
	}
	if err := w.Start(t.Context(), *StartRecord("call_1").Start); !errors.Is(err, journal.ErrDuplicate) {
		t.Errorf("a second start: %v", err)
	}
	Add(t, s, "run_1", 17, MessageRecord("somebody else"))
	for range 2 {
		if err := w.Append(t.Context(), MessageRecord("a")); !errors.Is(err, journal.ErrConflict) {
			t.Errorf("after somebody else wrote: %v", err)
		}
	}
}

// calls checks what a run that was killed knows of its calls.
func calls(t *testing.T, s journal.Store) {
	w := journal.NewWriter(s, "run_1", 0)
	if err := w.Append(t.Context(), RunRecord("ses"), StartRecord("done"), ResultRecord("done"), ResultRecord("refused"), StartRecord("lost")); err != nil {
		t.Fatal(err)
	}
	idempotent := *StartRecord("again").Start
	idempotent.Idempotent = true
	for range 2 {
		if err := w.Start(t.Context(), idempotent); err != nil {
			t.Fatal(err)
		}
	}
	read := func() string {
		list, err := journal.Calls(s.Read(t.Context(), journal.Query{Stream: "run_1"}))
		if err != nil {
			t.Fatal(err)
		}
		var text []string
		for _, c := range list {
			text = append(text, fmt.Sprintf("%s:%t:%t:%d", c.ID, c.Interrupted(), c.Repeatable(), c.Runs))
			if c.Interrupted() && !c.Repeatable() {
				if err := w.Finish(t.Context(), c.Unknown(time.Now())); err != nil {
					t.Error(err)
				}
			}
		}
		return strings.Join(text, " ")
	}
	if got, want := read(), "done:false:false:1 refused:false:false:0 lost:true:false:1 again:true:true:2"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := read(), "done:false:false:1 refused:false:false:0 lost:false:false:1 again:true:true:2"; got != want {
		t.Errorf("after what is unknown was said: %s\nwant %s", got, want)
	}
	if err := w.Finish(t.Context(), *ResultRecord("again").Result); err != nil {
		t.Fatal(err)
	}
	if err := w.Start(t.Context(), idempotent); !errors.Is(err, journal.ErrDuplicate) {
		t.Errorf("an idempotent call that has a result: %v", err)
	}
	Whole(t, s)
}

func chain(t *testing.T, s journal.Store) {
	if r := Whole(t, s); r.Entries != 0 || r.Head != (journal.Hash{}) {
		t.Errorf("empty: %+v", r)
	}
	fill(t, s, 3, "ses")
	r := Whole(t, s)
	if r.Entries != 9 || r.Streams != 3 || r.Head == (journal.Hash{}) {
		t.Errorf("%+v", r)
	}
	other, err := journal.Verify(t.Context(), s, journal.Hash{1})
	if err != nil || len(other.Problems) != 1 {
		t.Errorf("a head that was never there: %+v, %v", other, err)
	}
}

func canceled(t *testing.T, s journal.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Append(ctx, "run_1", 0, RunRecord("ses")); !errors.Is(err, context.Canceled) {
		t.Errorf("Append: %v", err)
	}
	fill(t, s, 1, "ses")
	for _, err := range s.Read(ctx, journal.Query{}) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Read: %v", err)
		}
	}
	for _, err := range s.Watch(ctx, journal.Query{After: 3}) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Watch: %v", err)
		}
	}
	if _, err := s.Claim(ctx, "run_00", "own", time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("Claim: %v", err)
	}
}

func closed(t *testing.T, s journal.Store) {
	fill(t, s, 1, "ses")
	watched := make(chan error)
	go func() {
		var last error
		for _, err := range s.Watch(context.Background(), journal.Query{After: 3}) {
			last = err
		}
		watched <- last
	}()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-watched; !errors.Is(err, journal.ErrClosed) {
		t.Errorf("Watch: %v", err)
	}
	if _, err := s.Append(t.Context(), "run_1", 0, RunRecord("ses")); !errors.Is(err, journal.ErrClosed) {
		t.Errorf("Append: %v", err)
	}
	for _, err := range s.Read(t.Context(), journal.Query{}) {
		if !errors.Is(err, journal.ErrClosed) {
			t.Errorf("Read: %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

// prune checks that sessions go by age and by size, the oldest first, and that none goes that waits for something.
func prune(t *testing.T, s journal.Store) {
	fill(t, s, 4, "ses_0", "ses_1", "ses_2", "ses_3")
	Add(t, s, "run_w", 0, RunRecord("ses_0")) // a run that is not over: its session stays
	now := time.Now()
	for _, test := range []struct {
		keep journal.Keep
		want string
	}{
		{journal.Keep{}, ""},
		{journal.Keep{Age: time.Hour, Now: now}, ""},
		{journal.Keep{Bytes: 1 << 20}, ""},
		{journal.Keep{Bytes: bytesOf(t, s) - 1}, "ses_1"},
		{journal.Keep{Age: time.Hour, Now: now.Add(2 * time.Hour)}, "ses_2 ses_3"},
	} {
		got, err := journal.Prune(t.Context(), s, test.keep)
		if err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("%+v: %v, %v, want %s", test.keep, got, err, test.want)
		}
	}
	Whole(t, s)
}

func bytesOf(t *testing.T, s journal.Store) int64 {
	n := int64(0)
	for _, h := range List(t, s.Heads(t.Context(), journal.HeadQuery{})) {
		n += h.Bytes
	}
	return n
}

// large stores what a turn may hold, and bytes that are no text.
func large(t *testing.T, s journal.Store) {
	raw := journal.Text(strings.Repeat("a\x00\xff\u2028", 1<<15))
	Add(t, s, "run_1", 0, RunRecord("ses"), journal.Record{Kind: journal.KindTurnEnd, TurnEnd: &journal.TurnEnd{Raw: raw}})
	list := List(t, s.Read(t.Context(), journal.Query{Stream: "run_1", Seq: 1}))
	if len(list) != 1 || list[0].Record.TurnEnd.Raw != raw {
		t.Error("the text is another one")
	}
	Whole(t, s)
}

// mask checks that a secret is nowhere in the store, however it is written, and that what is stored can still be read.
func mask(t *testing.T, open Open) {
	const secret = `hunter"2`
	s := open(t, journal.Options{Mask: func(text string) string { return strings.ReplaceAll(text, secret, "[masked]") }})
	call := chat.Call{ID: "call_1", Name: "login", Arguments: `{"password":"hunter\"2"}`}
	Add(t, s, "run_1", 0, RunRecord("ses"), MessageRecord("it is "+secret),
		journal.Record{Kind: journal.KindTurnEnd, TurnEnd: &journal.TurnEnd{Message: chat.Message{Role: chat.RoleAssistant, Calls: []chat.Call{call}}, Raw: secret + "\xff"}})
	Add(t, s, "run_1", 3, journal.Record{Kind: journal.KindObject, Object: &journal.Object{Session: "ses", Type: secret, Data: json.RawMessage(`["hunter\"2"]`)}})
	masked := 0
	for _, e := range List(t, s.Read(t.Context(), journal.Query{})) {
		if strings.Contains(string(e.Body), "hunter") {
			t.Errorf("%s", e.Body)
		}
		if end := e.Record.TurnEnd; end != nil && end.Raw != "[masked]\xff" {
			t.Errorf("the raw text is %q", end.Raw)
		}
		masked += strings.Count(string(e.Body), "[masked]")
	}
	if masked != 4 {
		t.Errorf("masked in %d places, want 4", masked)
	}
	Whole(t, s)
}
