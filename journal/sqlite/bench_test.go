package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"wield/journal"
	"wield/journal/internal/testrecord"
	"wield/journal/record"
	"wield/journal/sqlite"
)

// BenchmarkCall records calls, a start and a result each, and in the same run writes and syncs a file of its own as
// often. The metric is how many such syncs one durable record takes the time of.
func BenchmarkCall(b *testing.B) {
	dir := b.TempDir()
	s := open(b, filepath.Join(dir, "journal.db"), sqlite.Options{})
	w := journal.NewWriter(s, "run_1", 0)
	if err := w.Append(b.Context(), testrecord.Run("ses")); err != nil {
		b.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "raw"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var records, syncs time.Duration
	page := make([]byte, 4096)
	for n := 0; b.Loop(); n++ {
		id := fmt.Sprint("call_", n)
		for _, r := range []record.Record{testrecord.Start(id), testrecord.Result(id)} {
			begin := time.Now()
			if err := w.Append(b.Context(), r); err != nil {
				b.Fatal(err)
			}
			middle := time.Now()
			if _, err := f.Write(page); err != nil {
				b.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
			records, syncs = records+middle.Sub(begin), syncs+time.Since(middle)
		}
	}
	b.ReportMetric(float64(records.Nanoseconds())/float64(b.N)/2, "ns/record")
	b.ReportMetric(float64(syncs.Nanoseconds())/float64(b.N)/2, "ns/sync")
	b.ReportMetric(float64(records)/float64(syncs), "syncs/record")
}

// BenchmarkRuns records calls of many runs at once, which share syncs.
func BenchmarkRuns(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "journal.db"), sqlite.Options{})
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		w := journal.NewWriter(s, journal.NewID("run"), 0)
		if err := w.Append(b.Context(), testrecord.Run("ses")); err != nil {
			b.Error(err)
			return
		}
		for n := 0; pb.Next(); n++ {
			id := fmt.Sprint("call_", n)
			if err := w.Append(b.Context(), testrecord.Start(id)); err != nil {
				b.Error(err)
			}
			if err := w.Append(b.Context(), testrecord.Result(id)); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkTurn records what outlives the process without a sync.
func BenchmarkTurn(b *testing.B) {
	s := open(b, filepath.Join(b.TempDir(), "journal.db"), sqlite.Options{})
	w := journal.NewWriter(s, "run_1", 0)
	if err := w.Append(b.Context(), testrecord.Run("ses")); err != nil {
		b.Fatal(err)
	}
	r := testrecord.Message("What stands in the file?")
	for b.Loop() {
		if err := w.Append(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}
