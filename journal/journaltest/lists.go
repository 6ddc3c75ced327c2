package journaltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"wield/journal"
	"wield/journal/internal/testrecord"
	"wield/journal/record"
)

// fill makes runs of three entries each, in turns of the sessions given.
func fill(t *testing.T, s journal.Store, runs int, sessions ...string) {
	t.Helper()
	for i := range runs {
		stream := fmt.Sprintf("run_%02d", i)
		testrecord.Add(t, s, stream, 0, testrecord.Run(sessions[i%len(sessions)]))
		testrecord.Add(t, s, stream, 1, testrecord.Message(stream), testrecord.End())
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
		{journal.Query{Session: "ses_b", After: 4, Kinds: []record.Kind{record.KindRun, record.KindEnd}},
			[]int64{6, 10, 12}},
		{journal.Query{Kinds: []record.Kind{record.KindMessage}, Limit: 2}, []int64{2, 5}},
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
		testrecord.Add(t, s, "run_00", 3, testrecord.Message("more"))
		if e.Position == 1 {
			break
		}
	}
	Whole(t, s)
}

func pages(t *testing.T, s journal.Store) {
	const runs = 250 // more than a store reads at once
	for i := range runs {
		testrecord.Add(t, s, fmt.Sprint("run_", i), 0, testrecord.Run("ses"), testrecord.Message("a"))
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
	testrecord.Add(t, s, "run_03", 0, testrecord.Run("ses_a"))
	testrecord.Add(t, s, "run_03", 1,
		record.Record{Kind: record.KindWait, Wait: &record.Wait{For: record.WaitClient}})
	testrecord.Add(t, s, "run_04", 0, testrecord.Run("ses_b"))
	testrecord.Add(t, s, "obj_1", 0,
		record.Record{Kind: record.KindObject, Object: &record.Object{Session: "ses_b", Type: "t"}})
	for _, test := range []struct {
		q    journal.HeadQuery
		want string
	}{
		{journal.HeadQuery{}, "obj_1 run_04 run_03 run_02 run_01 run_00"},
		{journal.HeadQuery{Limit: 2}, "obj_1 run_04"},
		{journal.HeadQuery{Before: 12, Limit: 2}, "run_03 run_02"},
		{journal.HeadQuery{Session: "ses_b"}, "obj_1 run_04 run_01"},
		{journal.HeadQuery{Session: "ses_b", Opened: record.KindRun}, "run_04 run_01"},
		{journal.HeadQuery{Opened: record.KindRun, States: []record.State{record.StateOpen, record.StateWaiting}},
			"run_04 run_03"},
		{journal.HeadQuery{Stream: "run_02"}, "run_02"},
		{journal.HeadQuery{Stream: "run_09"}, ""},
	} {
		if got := streams(List(t, s.Heads(t.Context(), test.q))); got != test.want {
			t.Errorf("%+v: %s, want %s", test.q, got, test.want)
		}
	}
	h := List(t, s.Heads(t.Context(), journal.HeadQuery{Stream: "run_03"}))[0]
	if h.Session != "ses_a" || h.Opened != record.KindRun || h.State != record.StateWaiting || h.Seq != 2 ||
		h.First != 10 || h.Last != 11 || h.Bytes == 0 || h.Begun.IsZero() || h.Changed.Before(h.Begun) {
		t.Errorf("%+v", h)
	}
}

func sessions(t *testing.T, s journal.Store) {
	fill(t, s, 6, "ses_a", "ses_b", "ses_c")
	testrecord.Add(t, s, "run_00", 3,
		record.Record{Kind: record.KindSession, Session: &record.Session{Title: "Files"}})
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
	if err != nil || a.Title != "Files" || a.Runs != 2 || a.State != record.StateEnded || a.Model != "m" ||
		a.Last != 19 {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := journal.LookUp(t.Context(), s, "ses_z"); !errors.Is(err, journal.ErrNotFound) {
		t.Error(err)
	}
	var left []string // while one is looked at, another is deleted
	for session, err := range journal.Sessions(t.Context(), s, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if left = append(left, session.ID); len(left) == 1 {
			if err := s.Delete(t.Context(), "ses_c", record.ReasonAsked); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := strings.Join(left, " "); got != "ses_a ses_b" {
		t.Errorf("sessions %s", got)
	}
}

func rename(t *testing.T, s journal.Store) {
	if err := journal.Rename(t.Context(), s, "ses_a", "other"); !errors.Is(err, journal.ErrNotFound) {
		t.Fatalf("a session that is not there: %v", err)
	}
	run := testrecord.Run("ses_a")
	run.Run.By = "somebody"
	testrecord.Add(t, s, "run_1", 0, run,
		record.Record{Kind: record.KindSession, Session: &record.Session{Title: "first"}})
	for _, title := range []string{"second", "third \u2014 \"<b>\""} {
		if err := journal.Rename(t.Context(), s, "ses_a", title); err != nil {
			t.Fatal(err)
		}
		got, err := journal.LookUp(t.Context(), s, "ses_a")
		if err != nil || got.Title != title || got.By != "somebody" || got.Runs != 1 {
			t.Fatalf("%+v, %v; want the title %q", got, err, title)
		}
	}
	testrecord.Add(t, s, "run_1", 2, testrecord.Message("its owner goes on")) // the run was not touched
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
			testrecord.Add(t, s, "run_b", 0, testrecord.Run("ses_b"))
			testrecord.Add(t, s, "run_a", 0, testrecord.Run("ses_a"))
		case 8:
			testrecord.Add(t, s, "run_a", 1, testrecord.Message("a"))
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
			r := testrecord.Message("a")
			if n == 0 {
				r = testrecord.Run("ses")
			}
			if _, err := s.Append(context.Background(), fmt.Sprint("run_", i), n, r); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
}
