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
		{"Race", race}, {"Query", query}, {"Pages", pages}, {"Heads", heads}, {"Sessions", sessions}, {"Rename", rename}, {"Watch", watch},
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

// RunRecord opens a run of a session.
func RunRecord(session string) journal.Record {
	return journal.Record{Kind: journal.KindRun, Run: &journal.RunRecord{Session: session, Model: "m"}}
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
