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

	"wield/journal"
	"wield/journal/internal/testrecord"
	"wield/journal/record"
	"wield/tool/runner"
	"wield/tool/runner/approvaltest"
)

// Open makes a store that is empty and ends with the test.
type Open func(t *testing.T, o journal.Options) journal.Store

// Run checks a store.
func Run(t *testing.T, open Open) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s journal.Store)
	}{
		{"Append", appendReads}, {"Conflict", conflict}, {"Refused", refused}, {"AllOrNothing", allOrNothing},
		{"Duplicate", duplicate}, {"Race", race}, {"Query", query}, {"Pages", pages}, {"Heads", heads},
		{"Sessions", sessions}, {"Rename", rename}, {"Watch", watch}, {"WatchAtOnce", watchAtOnce}, {"Claim", claim},
		{"ClaimAtOnce", claimAtOnce}, {"Fence", fence}, {"Delete", remove}, {"DeleteHeld", removeHeld},
		{"Writer", writer}, {"Calls", calls}, {"Chain", chain}, {"Canceled", canceled}, {"Closed", closed},
		{"Prune", prune}, {"Large", large}, {"Long", long},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t, journal.Options{})) })
	}
	t.Run("Lease", func(t *testing.T) { lease(t, open) })
	t.Run("ClockJump", func(t *testing.T) { clockJump(t, open) })
	t.Run("Mask", func(t *testing.T) { mask(t, open) })
	approvaltest.Run(t, func(t *testing.T) runner.Approvals {
		return &journal.Approvals{Store: open(t, journal.Options{}), Session: "ses", Run: "run"}
	})
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
	if p := testrecord.Add(t, s, "run_1", 0, testrecord.Run("ses_1"), testrecord.Message("Tür <&>")); p != 2 {
		t.Errorf("position %d, want 2", p)
	}
	testrecord.Add(t, s, "run_2", 0, testrecord.Run("ses_2"))
	if p := testrecord.Add(t, s, "run_1", 2, testrecord.End()); p != 4 {
		t.Errorf("position %d, want 4", p)
	}
	list := List(t, s.Read(t.Context(), journal.Query{Stream: "run_1"}))
	if len(list) != 3 {
		t.Fatalf("%d entries, want 3", len(list))
	}
	for i, want := range []struct {
		kind     record.Kind
		position int64
	}{{record.KindRun, 1}, {record.KindMessage, 2}, {record.KindEnd, 4}} {
		e := list[i]
		if e.Record.Kind != want.kind || e.Position != want.position || e.Seq != int64(i+1) || e.Stream != "run_1" ||
			e.Session != "ses_1" || e.At.Before(before) || e.Deleted() {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
	if text := list[1].Record.Message.Text(); text != "Tür <&>" {
		t.Errorf("the message says %q", text)
	}
	Whole(t, s)
}

func conflict(t *testing.T, s journal.Store) {
	testrecord.Add(t, s, "run_1", 0, testrecord.Run("ses"), testrecord.Message("a"))
	for _, after := range []int64{0, 1, 3} {
		records := []record.Record{testrecord.Message("b")}
		if after == 0 {
			records[0] = testrecord.Run("ses")
		}
		_, err := s.Append(t.Context(), "run_1", after, records...)
		var c *journal.ConflictError
		if !errors.Is(err, journal.ErrConflict) || !errors.As(err, &c) || c.After != after || c.Last != 2 {
			t.Errorf("after %d: %v", after, err)
		}
	}
	if _, err := s.Append(t.Context(), "run_2", 1, testrecord.Message("b")); !errors.Is(err, journal.ErrConflict) {
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
		records []record.Record
	}{
		{"no stream", "", 0, []record.Record{testrecord.Run("s")}},
		{"a stream with a zero byte", "run\x001", 0, []record.Record{testrecord.Run("s")}},
		{"a stream that is no text", "run\xff", 0, []record.Record{testrecord.Run("s")}},
		{"a stream that is too long", strings.Repeat("r", 257), 0, []record.Record{testrecord.Run("s")}},
		{"no session", "run_1", 0, []record.Record{testrecord.Run("")}},
		{"a session with a zero byte", "run_1", 0, []record.Record{testrecord.Run("s\x00")}},
		{"no records", "run_1", 0, nil},
		{"a number below 0", "run_1", -1, []record.Record{testrecord.Run("s")}},
		{"no kind", "run_1", 0, []record.Record{{}}},
		{"no part", "run_1", 0, []record.Record{{Kind: record.KindRun}}},
		{"does not open", "run_1", 0, []record.Record{testrecord.Message("a")}},
		{"opens twice", "run_1", 0, []record.Record{testrecord.Run("s"), testrecord.Run("s")}},
		{"only stores write it", "run_1", 0, []record.Record{testrecord.Run("s"), {Kind: record.KindClaimed,
			StoreOnly: record.StoreOnly{Claimed: &record.Claimed{Owner: "o"}}}}},
		{"no id of a call", "run_1", 0, []record.Record{testrecord.Run("s"), testrecord.Start("")}},
		{"broken JSON", "run_1", 0,
			[]record.Record{{Kind: record.KindObject,
				Object: &record.Object{Session: "s", Type: "t", Data: json.RawMessage(`{`)}}}},
	} {
		if _, err := s.Append(t.Context(), test.stream, test.after, test.records...); !errors.Is(err,
			record.ErrInvalid) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	if n := len(List(t, s.Read(t.Context(), journal.Query{}))); n != 0 {
		t.Errorf("%d entries, want none", n)
	}
}

func allOrNothing(t *testing.T, s journal.Store) {
	testrecord.Add(t, s, "run_1", 0, testrecord.Run("ses"), testrecord.Start("call_1"))
	if _, err := s.Append(t.Context(), "run_1", 2, testrecord.Message("a"), testrecord.Result("call_1"),
		testrecord.Start("call_1")); !errors.Is(err, journal.ErrDuplicate) {
		t.Fatal(err)
	}
	if n := len(List(t, s.Read(t.Context(), journal.Query{}))); n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
	testrecord.Add(t, s, "run_1", 2, testrecord.Message("a"), testrecord.Result("call_1"))
	Whole(t, s)
}

func duplicate(t *testing.T, s journal.Store) {
	testrecord.Add(t, s, "run_1", 0, testrecord.Run("ses"), testrecord.Start("call_1"),
		testrecord.Result("call_1"), testrecord.Result("call_2"))
	for _, r := range []record.Record{testrecord.Start("call_1"), testrecord.Result("call_1"),
		testrecord.Result("call_2")} {
		if _, err := s.Append(t.Context(), "run_1", 4, r); !errors.Is(err, journal.ErrDuplicate) {
			t.Errorf("a second %s: %v", r.Kind, err)
		}
	}
	if _, err := s.Append(t.Context(), "run_1", 4, testrecord.Start("call_3"), testrecord.Start("call_3")); !errors.Is(
		err, journal.ErrDuplicate) {
		t.Errorf("two starts at once: %v", err)
	}
	// another run has ids of its own
	testrecord.Add(t, s, "run_2", 0, testrecord.Run("ses"), testrecord.Start("call_1"), testrecord.Result("call_1"))
	odd := "a\x00b" + strings.Repeat("c", 1000) // a model writes ids, and anything into them
	testrecord.Add(t, s, "run_2", 3, testrecord.Start(odd), testrecord.Result(odd))
	if _, err := s.Append(t.Context(), "run_2", 5, testrecord.Result(odd)); !errors.Is(err, journal.ErrDuplicate) {
		t.Errorf("a second result of a call with an odd id: %v", err)
	}
	if r := Whole(t, s); r.Calls != 3 || r.Open != 0 {
		t.Errorf("%+v", r)
	}
}

// race lets many append after the same entry.
func race(t *testing.T, s journal.Store) {
	const writers, rounds = 6, 5
	testrecord.Add(t, s, "run_1", 0, testrecord.Run("ses"))
	for seq := int64(1); seq <= rounds; seq++ {
		var won atomic.Int32
		atOnce(writers, func(i int) {
			stream := fmt.Sprintf("run_%d_%d", seq, i) // streams of their own are in nobody's way
			if _, err := s.Append(context.Background(), stream, 0, testrecord.Run("ses")); err != nil {
				t.Error(err)
			}
			switch _, err := s.Append(context.Background(), "run_1", seq, testrecord.Start(fmt.Sprint("call_", seq))); {
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
	if err := w.Append(t.Context(), testrecord.Run("ses")); err != nil {
		t.Fatal(err)
	}
	atOnce(8, func(i int) { // calls of one turn
		id := fmt.Sprint("call_", i)
		if err := w.Start(context.Background(), *testrecord.Start(id).Start); err != nil {
			t.Error(err)
		}
		if err := w.Finish(context.Background(), *testrecord.Result(id).Result); err != nil {
			t.Error(err)
		}
	})
	if w.Seq() != 17 || w.Position() != 17 || w.Stream() != "run_1" {
		t.Errorf("number %d at %d", w.Seq(), w.Position())
	}
	if err := w.Start(t.Context(), *testrecord.Start("call_1").Start); !errors.Is(err, journal.ErrDuplicate) {
		t.Errorf("a second start: %v", err)
	}
	testrecord.Add(t, s, "run_1", 17, testrecord.Message("somebody else"))
	for range 2 {
		if err := w.Append(t.Context(), testrecord.Message("a")); !errors.Is(err, journal.ErrConflict) {
			t.Errorf("after somebody else wrote: %v", err)
		}
	}
}

// calls checks what a run that was killed knows of its calls.
func calls(t *testing.T, s journal.Store) {
	w := journal.NewWriter(s, "run_1", 0)
	if err := w.Append(t.Context(), testrecord.Run("ses"), testrecord.Start("done"), testrecord.Result("done"),
		testrecord.Result("refused"), testrecord.Start("lost")); err != nil {
		t.Fatal(err)
	}
	idempotent := *testrecord.Start("again").Start
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
	if got, want := read(),
		"done:false:false:1 refused:false:false:0 lost:true:false:1 again:true:true:2"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if got, want := read(),
		"done:false:false:1 refused:false:false:0 lost:false:false:1 again:true:true:2"; got != want {
		t.Errorf("after what is unknown was said: %s\nwant %s", got, want)
	}
	if err := w.Finish(t.Context(), *testrecord.Result("again").Result); err != nil {
		t.Fatal(err)
	}
	if err := w.Start(t.Context(), idempotent); !errors.Is(err, journal.ErrDuplicate) {
		t.Errorf("an idempotent call that has a result: %v", err)
	}
	Whole(t, s)
}
