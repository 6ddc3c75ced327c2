package journal_test

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"wield/journal"
	"wield/journal/internal/testrecord"
	"wield/tool/runner"
)

// altered is a store whose entries were changed behind its back.
type altered struct {
	journal.Store
	change func(e *journal.Entry)
}

func (a altered) Read(ctx context.Context, q journal.Query) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		for e, err := range a.Store.Read(ctx, q) {
			if a.change(&e); !yield(e, err) {
				return
			}
		}
	}
}

// TestAltered: whichever part of an entry is changed, Verify says so.
func TestAltered(t *testing.T) {
	s := new(journal.Memory)
	testrecord.Add(t, s, "run_1", 0, testrecord.Run("ses_1"), testrecord.Message("go"))
	var salts [][]byte
	for _, tt := range []struct {
		part   string
		change func(e *journal.Entry)
		want   string
	}{
		{"nothing", func(e *journal.Entry) { salts = append(salts, e.Seal.Salt) }, ""},
		{"body", func(e *journal.Entry) { e.Body = bytes.Replace(e.Body, []byte("kind"), []byte("Kind"), 1) },
			"the entry was changed"},
		{"stream", func(e *journal.Entry) { e.Stream = "run_2" }, "the entry was changed"},
		{"session", func(e *journal.Entry) { e.Session = "ses_2" }, "the entry was changed"},
		{"time", func(e *journal.Entry) { e.At = e.At.Add(time.Second) }, "the entry was changed"},
		{"number", func(e *journal.Entry) { e.Seq += 2 }, "the entry was changed"},
		{"order", func(e *journal.Entry) { e.Seq += 2 },
			`number 3 of session "ses_1" follows number 0 of session "ses_1"`},
		{"salt", func(e *journal.Entry) { e.Seal.Salt = make([]byte, len(e.Seal.Salt)) }, "the entry was changed"},
		{"leaf", func(e *journal.Entry) { e.Seal.Leaf[0]++ }, "the hash does not follow from the entry before it"},
		{"hash", func(e *journal.Entry) { e.Seal.Hash[0]++ }, "the hash does not follow from the entry before it"},
	} {
		r, err := journal.Verify(t.Context(), altered{s, tt.change}, journal.Hash{})
		if err != nil {
			t.Fatal(err)
		}
		says := func(p journal.Problem) bool { return p.What == tt.want }
		if tt.want == "" && len(r.Problems) > 0 || tt.want != "" && !slices.ContainsFunc(r.Problems, says) {
			t.Errorf("%s: %+v, want %q", tt.part, r.Problems, tt.want)
		}
	}
	if len(salts) != 2 || len(salts[0]) != 16 || bytes.Equal(salts[0], salts[1]) {
		t.Errorf("the salts are %x: with one salt, a deleted entry can be guessed", salts)
	}
}

// TestWaitExpires: whoever waits for an answer hears when the question has expired.
func TestWaitExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &journal.Approvals{Store: new(journal.Memory), Session: "ses_1", Run: "run_1"}
		asked, err := a.Ask(t.Context(), runner.Question{Binding: "b", Expires: time.Now().Add(time.Minute)})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := a.Wait(ctx, asked.ID); err != nil || time.Since(began) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
