package stats

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// BenchmarkMillionCalls asks what the page asks, of a month with a million calls of 20 tools by 4 models in 2 dialects
// each for 3 clients, written by a program that adds to its files each minute and tidies up.
func BenchmarkMillionCalls(b *testing.B) {
	dir := b.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	begin := noon.AddDate(0, 0, -30)
	s := New(dir, Options{})
	const calls = 1_000_000
	for i := range calls {
		when := begin.Add(time.Duration(i) * (30 * 24 * time.Hour / calls))
		d := Dims{Model: fmt.Sprint("model-", random.IntN(4)), Client: fmt.Sprint("client-", random.IntN(3)),
			Dialect: fmt.Sprint("dialect-", random.IntN(2)), Tool: fmt.Sprint("some_tool_", random.IntN(20))}
		s.add(when, []count{{d, Calls, 1}, {d, FirstTry, 1}, {d, Done, 1}},
			[]took{{d, RunTime, time.Duration(random.ExpFloat64() * 1e8)}})
		if i%23 == 0 { // 23 calls a minute
			if err := s.Flush(); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := s.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := s.tidy(noon); err != nil {
		b.Fatal(err)
	}
	b.Run("overview", func(b *testing.B) {
		for b.Loop() {
			if all, err := s.Queries(b.Context(), overview()...); err != nil || all[0][0].Count(Calls) != calls {
				b.Fatal(err)
			}
		}
	})
	for _, q := range []Query{{}, {By: []Dim{ByTool}}, {From: noon.Add(-24 * time.Hour), Step: time.Hour}} {
		b.Run(fmt.Sprint(q.By, q.Step), func(b *testing.B) {
			for b.Loop() {
				rows, err := s.Query(b.Context(), q)
				if err != nil {
					b.Fatal(err)
				}
				var n int64
				for _, r := range rows {
					n += r.Count(Calls)
				}
				if n == 0 || q.From.IsZero() && n != calls {
					b.Fatalf("%d calls", n)
				}
			}
		})
	}
}

// overview returns the queries of one view of the page.
func overview() []Query {
	return []Query{{}, {Step: 24 * time.Hour}, {By: []Dim{ByModel}}, {By: []Dim{ByClient}},
		{By: []Dim{ByModel, ByDialect}}, {By: []Dim{ByTool}}}
}

// BenchmarkAdd counts one answer with a call.
func BenchmarkAdd(b *testing.B) {
	s := New("", Options{})
	d := Dims{Model: "m", Client: "c", Dialect: "hermes", Tool: "t"}
	counts, times := []count{{d, Calls, 1}, {d, FirstTry, 1}, {Dims{Model: "m"}, Answers, 1}},
		[]took{{d, RunTime, time.Millisecond}}
	b.ReportAllocs()
	for b.Loop() {
		s.add(noon, counts, times)
	}
}
