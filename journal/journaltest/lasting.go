package journaltest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"wield/chat"
	"wield/journal"
	"wield/journal/internal/testrecord"
	"wield/journal/record"
	"wield/tool/runner"
	"wield/tool/runner/approvaltest"
)

func remove(t *testing.T, s journal.Store) {
	fill(t, s, 4, "ses_a", "ses_b")
	before := Whole(t, s)
	approvals := &journal.Approvals{Store: s, Session: "ses_a", Run: "run_00"}
	q, err := approvals.Ask(t.Context(), approvaltest.Question("binding"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "ses_a", record.ReasonAsked); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ses_a", "ses_z", ""} {
		if err := s.Delete(t.Context(), want, record.ReasonAsked); !errors.Is(err, journal.ErrNotFound) {
			t.Errorf("session %q: %v", want, err)
		}
	}
	if _, err := approvals.Get(t.Context(), q.ID); !errors.Is(err, runner.ErrNoApproval) {
		t.Errorf("the approval: %v", err)
	}
	if got := positions(List(t, s.Read(t.Context(), journal.Query{}))); !slices.Equal(got,
		[]int64{4, 5, 6, 10, 11, 12, 14}) {
		t.Errorf("what is left: %v", got)
	}
	if n := len(List(t, s.Read(t.Context(), journal.Query{Session: "ses_a"}))) +
		len(List(t, s.Heads(t.Context(), journal.HeadQuery{Session: "ses_a"}))); n != 0 {
		t.Errorf("%d entries and heads are left", n)
	}
	if _, err := s.Append(t.Context(), "run_00", 3, testrecord.End()); !errors.Is(err, journal.ErrConflict) {
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
	if err := s.Delete(t.Context(), "ses", record.ReasonAsked); !errors.Is(err, journal.ErrHeld) {
		t.Errorf("while it is driven: %v", err)
	}
	if n := len(List(t, s.Read(t.Context(), journal.Query{}))); n != 7 {
		t.Errorf("%d entries, want 7", n)
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
	if _, err := s.Append(ctx, "run_1", 0, testrecord.Run("ses")); !errors.Is(err, context.Canceled) {
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
	if _, err := s.Append(t.Context(), "run_1", 0, testrecord.Run("ses")); !errors.Is(err, journal.ErrClosed) {
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

// prune checks that sessions go by age and by size, the oldest first, and that one that waits goes last, and none
// that is driven.
func prune(t *testing.T, s journal.Store) {
	fill(t, s, 4, "ses_0", "ses_1", "ses_2", "ses_3")
	testrecord.Add(t, s, "run_w", 0, testrecord.Run("ses_0")) // a run that is not over
	testrecord.Add(t, s, "run_d", 0, testrecord.Run("ses_d")) // one that is driven
	lease, err := s.Claim(t.Context(), "run_d", "own", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, test := range []struct {
		keep journal.Retention
		want string
	}{
		{journal.Retention{}, ""},
		{journal.Retention{Age: time.Hour, Now: now}, ""},
		{journal.Retention{Bytes: 1 << 20}, ""},
		{journal.Retention{Bytes: bytesOf(t, s) - 1}, "ses_1"},
		{journal.Retention{Bytes: bytesOf(t, s) / 4}, "ses_2 ses_3"},
		{journal.Retention{Bytes: 1, Now: now.Add(8 * 24 * time.Hour)}, "ses_0"},
	} {
		got, err := journal.Prune(t.Context(), s, test.keep)
		if err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("%+v: %v, %v, want %s", test.keep, got, err, test.want)
		}
	}
	if err := s.Release(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	if got, err := journal.Prune(t.Context(), s,
		journal.Retention{Age: time.Hour, Now: now.Add(2 * time.Hour)}); err != nil ||
		strings.Join(got, " ") != "ses_d" {
		t.Errorf("what nobody drives any more: %v, %v", got, err)
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
	raw := record.Text(strings.Repeat("a\x00\xff\u2028", 1<<15))
	testrecord.Add(t, s, "run_1", 0, testrecord.Run("ses"),
		record.Record{Kind: record.KindTurnEnd, TurnEnd: &record.TurnEnd{Raw: raw}})
	list := List(t, s.Read(t.Context(), journal.Query{Stream: "run_1", Seq: 1}))
	if len(list) != 1 || list[0].Record.TurnEnd.Raw != raw {
		t.Error("the text is another one")
	}
	Whole(t, s)
}

// long appends as many records at once as a long history has.
func long(t *testing.T, s journal.Store) {
	records := []record.Record{testrecord.Run("ses")}
	for i := range 299 {
		records = append(records, testrecord.Message(strconv.Itoa(i)))
	}
	if p := testrecord.Add(t, s, "run_1", 0, records...); p != 300 {
		t.Errorf("position %d, want 300", p)
	}
	for i, e := range List(t, s.Read(t.Context(), journal.Query{Stream: "run_1", Seq: 1})) {
		if e.Seq != int64(i+2) || e.Record.Message.Text() != strconv.Itoa(i) {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
	if r := Whole(t, s); r.Entries != 300 {
		t.Errorf("%d entries, want 300", r.Entries)
	}
}

// mask checks that a secret is nowhere in the store, however it is written, and that what is stored can still be read.
func mask(t *testing.T, open Open) {
	const secret = `hunter"2`
	s := open(t,
		journal.Options{Mask: func(text string) string { return strings.ReplaceAll(text, secret, "[masked]") }})
	call := chat.Call{ID: "call_1", Name: "login", Arguments: `{"password":"hunter\"2"}`}
	testrecord.Add(t, s, "run_1", 0, testrecord.Run("ses"), testrecord.Message("it is "+secret),
		record.Record{Kind: record.KindTurnEnd,
			TurnEnd: &record.TurnEnd{Message: chat.Message{Role: chat.RoleAssistant, Calls: []chat.Call{call}},
				Raw: secret + "\xff"}})
	testrecord.Add(t, s, "run_1", 3,
		record.Record{Kind: record.KindObject,
			Object: &record.Object{Session: "ses", Type: secret, Data: json.RawMessage(`["hunter\"2"]`)}})
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
