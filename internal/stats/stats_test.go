package stats

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wield/agent"
	"wield/bridge"
	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/runner"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

// TestQuantiles compares percentiles with the exact ones, for times of very different spreads.
func TestQuantiles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for name, draw := range map[string]func() float64{
		"even":       func() float64 { return random.Float64() * 1e9 },
		"log normal": func() float64 { return math.Exp(random.NormFloat64()*2 + 15) },
		"two humps": func() float64 {
			if random.IntN(10) == 0 {
				return 30e9 + random.Float64()*1e9
			}
			return 2e6 + random.Float64()*1e5
		},
		"all the same": func() float64 { return 123456789 },
		"days":         func() float64 { return random.Float64() * 1e14 },
	} {
		var h Histogram
		var exact []time.Duration
		for range 10_000 {
			d := time.Duration(draw())
			exact = append(exact, d)
			h.Add(d)
		}
		slices.Sort(exact)
		for _, q := range []float64{0, 0.01, 0.5, 0.95, 0.99, 1} {
			want := exact[max(0, int(math.Ceil(q*float64(len(exact))))-1)]
			got := h.Quantile(q)
			if off := math.Abs(float64(got-want)) / float64(want); off > accuracy+1e-6 && want > time.Microsecond {
				t.Errorf("%s: p%g is %s, and exactly %s: off by %.2f %%", name, q*100, got, want, off*100)
			}
		}
	}
	var none *Histogram
	if none.Quantile(0.5) != 0 || (&Histogram{}).Quantile(0.5) != 0 || none.Sum() != 0 {
		t.Error("no times have a percentile")
	}
}

// A reply is a model that answers with texts, one after the other.
type reply []string

func (r *reply) Stream(_ context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	text := "done"
	if len(*r) > 0 {
		text, *r = (*r)[0], (*r)[1:]
	}
	return func(yield func(chat.Event, error) bool) {
		_ = yield(chat.Event{Kind: chat.KindText, Text: text, End: len(text)}, nil) &&
			yield(chat.Event{Kind: chat.KindUsage, Detail: &chat.Usage{Known: true, In: 10, Out: 5, Requests: 1}},
				nil) &&
			yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}}, nil)
	}
}

const (
	good   = `<tool_call>{"name":"look","arguments":{"at":"x"}}</tool_call>`
	comma  = `<tool_call>{"name":"look","arguments":{"at":"y",}}</tool_call>`
	nobody = `<tool_call>{"name":"fly","arguments":{"at":"x"}}</tool_call>`
)

func definitions() []chat.Tool {
	return []chat.Tool{{Name: "look", Description: "Looks.",
		Parameters: []byte(`{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}`)},
		{Name: "idle", Parameters: []byte(`{"type":"object"}`)}}
}

func drain(t *testing.T, m chat.Model, req *chat.Request) {
	t.Helper()
	for _, err := range m.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func one(t *testing.T, s *Store, q Query) *Row {
	t.Helper()
	rows, err := s.Query(t.Context(), q)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	return rows[0]
}

func wants(t *testing.T, what string, r *Row, want map[Counter]int64) {
	t.Helper()
	for c := range numCounters {
		if got := r.Count(c); got != want[c] {
			t.Errorf("%s: %s is %d, want %d", what, c, got, want[c])
		}
	}
}

// TestResults shows which tools results count for.
func TestResults(t *testing.T) {
	call := func(calls ...chat.Call) chat.Message { return chat.Message{Role: chat.RoleAssistant, Calls: calls} }
	result := func(id, name string) chat.Message { return chat.Message{Role: chat.RoleTool, CallID: id, Name: name} }
	for _, c := range []struct {
		name     string
		messages []chat.Message
		want     []string
	}{
		{"no call", []chat.Message{result("1", "")}, []string{otherName}},
		{"its own name", []chat.Message{call(chat.Call{ID: "1", Name: "a"}), result("1", "b")}, []string{"b"}},
		{"the last call of an id", []chat.Message{call(chat.Call{ID: "1", Name: "a"}), call(chat.Call{ID: "1", Name: "b"}),
			result("1", "")}, []string{"b"}},
		{"the first of a message", []chat.Message{call(chat.Call{ID: "1"}, chat.Call{ID: "1", Name: "a"},
			chat.Call{ID: "1", Name: "b"}), result("1", "")}, []string{"a"}},
		{"one of two", []chat.Message{call(chat.Call{ID: "1", Name: "a"}), result("1", ""), result("2", "")},
			[]string{"a", otherName}},
		{"only those at the end", []chat.Message{call(chat.Call{ID: "1", Name: "a"}), result("1", ""),
			call(chat.Call{ID: "2", Name: "b"}), result("2", "")}, []string{"b"}},
	} {
		s := New("", Options{Now: at(noon)})
		drain(t, s.Model("m", agent.Prices{}, &reply{"text"}), &chat.Request{Messages: c.messages})
		rows, err := s.Query(t.Context(), Query{By: []Dim{ByTool}})
		var got []string
		for _, r := range rows {
			if r.Count(Done) > 0 {
				got = append(got, r.Tool)
			}
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", c.name, got, err, c.want)
		}
	}
}

func TestModel(t *testing.T) {
	s := New("", Options{Now: at(noon)})
	back := &reply{good, comma, nobody, good, nobody, nobody, "no call", good + good}
	m := s.Model("m", agent.Prices{In: 1, Out: 2, Known: true},
		bridge.New(back, bridge.Options{Mode: bridge.ModeText, Bounce: bridge.BounceOptions{Max: 1}}))
	ask := func(messages ...chat.Message) {
		drain(t, m, &chat.Request{Model: "m", Caller: "ann", Tools: definitions(),
			Messages: append([]chat.Message{{Role: chat.RoleUser, Parts: chat.Text("go")}}, messages...)})
	}
	ask() // right at once
	ask() // repaired
	ask() // bounced, and right then
	ask() // bounced, and wrong again
	ask() // text
	called := chat.Message{Role: chat.RoleAssistant,
		Calls: []chat.Call{{ID: "1", Name: "look", Arguments: `{"at":"x"}`}, {ID: "2", Name: "idle", Arguments: "{}"}}}
	// the same call twice more
	ask(called, chat.Message{Role: chat.RoleTool, CallID: "1"},
		chat.Message{Role: chat.RoleTool, CallID: "2", IsError: true})

	size := func(i int) int64 {
		d := definitions()[i]
		return int64(len(d.Name) + len(d.Description) + len(d.Parameters))
	}
	wants(t, "all", one(t, s, Query{}), map[Counter]int64{Answers: 6, Bounced: 2, Recovered: 1, Bounces: 2,
		Requests: 8, TokensIn: 80, TokensOut: 40, Cost: 6*10 + 2*10 + 8*10, Calls: 5, FirstTry: 3, Repaired: 1,
		Repairs: 1, UnknownTool: 3, Duplicate: 2, Done: 1, ToolError: 1, Offered: 12,
		OfferedSize: 6 * (size(0) + size(1))})
	look := one(t, s, Query{By: []Dim{ByTool, ByDialect, ByModel, ByClient}, Only: Dims{Tool: "look"}})
	if look.Dims != (Dims{Model: "m", Client: "ann", Dialect: "hermes", Tool: "look"}) || look.Attempts() != 5 {
		t.Errorf("%+v, %d attempts", look.Dims, look.Attempts())
	}
	rows, err := s.Query(t.Context(), Query{By: []Dim{ByTool}})
	var tools []string
	for _, r := range rows {
		tools = append(tools, r.Tool)
	}
	if want := []string{"idle", "look", otherName}; err != nil || !slices.Equal(tools, want) {
		t.Errorf("%v, %v", tools, err)
	}
	if r := one(t, s, Query{}); r.Times(AnswerTime).N() != 6 || r.Times(FirstTime).N() != 6 {
		t.Errorf("%d answers and %d first events have times", r.Times(AnswerTime).N(), r.Times(FirstTime).N())
	}
}

// TestFiguresAddUp draws what models write, and holds what is counted to what was drawn: each attempt and
// each answer is one thing and no other.
func TestFiguresAddUp(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 7))
	texts := []string{good, comma, nobody, "<tool_call>{\"name\":\"look\",\"arguments\":{}}</tool_call>", "in words"}
	counters := []Counter{FirstTry, Repaired, UnknownTool, Invalid, Answers}
	for round := range 300 {
		s, most := New("", Options{Now: at(noon)}), random.IntN(3)
		want := map[Counter]int64{}
		var again int64 // calls after a bounce in which nothing was repaired
		for range 1 + random.IntN(6) {
			back := &reply{}
			right := false
			for bounces := 0; ; bounces++ {
				what := random.IntN(len(texts))
				*back = append(*back, texts[what])
				c := counters[what]
				called := c == FirstTry || c == Repaired
				if right = called && bounces > 0; called {
					want[Calls]++
				}
				if c == FirstTry && bounces > 0 {
					again++
				} else if c != Answers {
					want[c]++
				}
				if called || c == Answers || bounces == most {
					if want[Bounces] += int64(bounces); bounces > 0 {
						want[Bounced]++
					}
					break
				}
			}
			if want[Answers]++; right {
				want[Recovered]++
			}
			drain(t,
				s.Model("m", agent.Prices{},
					bridge.New(back,
						bridge.Options{Mode: bridge.ModeText,
							Bounce: bridge.BounceOptions{Off: most == 0, Max: most}})),
				&chat.Request{Model: "m", Tools: definitions(),
					Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("go")}}})
		}
		r := one(t, s, Query{})
		for _, c := range []Counter{Answers, Bounced, Recovered, Bounces, Calls, FirstTry, Repaired, UnknownTool,
			Invalid, Malformed} {
			if got := r.Count(c); got != want[c] {
				t.Errorf("round %d: %s is %d, want %d", round, c, got, want[c])
			}
		}
		if sum := r.Sum(FirstTry, Repaired) + again; sum != r.Count(Calls) ||
			r.Attempts() != sum+r.Sum(UnknownTool, Invalid) {
			t.Errorf("round %d: %d calls and %d attempts, of which %d are told apart", round, r.Count(Calls),
				r.Attempts(), sum)
		}
		if t.Failed() {
			return
		}
	}
}

// TestBounceForm: where the form of a text was wrong, the text that comes then is what was asked for.
func TestBounceForm(t *testing.T) {
	s := New("", Options{Now: at(noon)})
	back := &reply{"no JSON", `{"a":1}`}
	drain(t, s.Model("m", agent.Prices{}, bridge.New(back, bridge.Options{Mode: bridge.ModeText})),
		&chat.Request{Model: "m", Format: &chat.Format{Kind: chat.FormatJSON},
			Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("go")}}})
	wants(t, "a form", one(t, s, Query{}), map[Counter]int64{Answers: 1, Bounced: 1, Recovered: 1, Bounces: 1,
		Requests: 2, TokensIn: 20, TokensOut: 10})
}

type failing struct{ err error }

func (f failing) Stream(context.Context, *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		if yield(chat.Event{Kind: chat.KindText, Text: "x"}, nil) && f.err != nil {
			yield(chat.Event{}, f.err)
		}
	}
}

func TestAnswersThatFail(t *testing.T) {
	s := New("", Options{Now: at(noon)})
	for range s.Model("m", agent.Prices{}, failing{&chat.Error{Kind: chat.ErrOverloaded}}).Stream(t.Context(),
		&chat.Request{}) {
	}
	for range s.Model("m", agent.Prices{}, failing{}).Stream(t.Context(), &chat.Request{}) {
		break // the client goes away
	}
	r := one(t, s, Query{By: []Dim{ByClient}})
	wants(t, "all", r, map[Counter]int64{Answers: 2, Failed: 1, Canceled: 1})
	if r.Client != Nobody || r.Times(AnswerTime) != nil {
		t.Errorf("%q, %d times", r.Client, r.Times(AnswerTime).N())
	}
}

// TestJournal counts a run of an agent by what it records.
func TestJournal(t *testing.T) {
	s := New("", Options{})
	store := s.Journal(&journal.Memory{})
	tools := new(runner.Registry)
	look := tool.Func("look", "Looks.", func(_ context.Context, in struct {
		At string `json:"at"`
	}) (string, error) {
		if in.At == "y" {
			return "", tool.Errorf(tool.ErrTimeout, "too long")
		}
		return "seen", nil
	})
	if err := tools.Add(look); err != nil {
		t.Fatal(err)
	}
	back := &reply{good + comma, nobody, good, "done"}
	a := agent.New(bridge.New(back, bridge.Options{Mode: bridge.ModeText, Bounce: bridge.BounceOptions{Max: 1}}),
		runner.New(runner.Settings{Tools: tools}), agent.Options{Name: "helper", Journal: store})
	run := a.Run(&chat.Request{Caller: "ann", Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("go")}}})
	for _, err := range run.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	r := one(t, s, Query{By: []Dim{ByTool}, Only: Dims{Tool: "look"}})
	for c, want := range map[Counter]int64{Calls: 3, FirstTry: 2, Repaired: 1, Repairs: 1, Done: 2, Timeout: 1,
		Duplicate: 1, Offered: 4} {
		if got := r.Count(c); got != want {
			t.Errorf("%s is %d, want %d", c, got, want)
		}
	}
	if n := r.Times(RunTime).N(); n != 3 {
		t.Errorf("%d times of runs", n)
	}
	all := one(t, s, Query{})
	for c, want := range map[Counter]int64{Answers: 4, Calls: 3, Requests: 4, TokensIn: 40, UnknownTool: 1,
		NotFound: 1, Runs: 1, Limited: 0} {
		if got := all.Count(c); got != want {
			t.Errorf("%s is %d, want %d", c, got, want)
		}
	}
	if rows, err := s.Query(t.Context(), Query{By: []Dim{ByModel}}); err != nil || len(rows) != 1 ||
		rows[0].Model != "helper" {
		t.Errorf("%+v, %v", rows, err)
	}
}

// TestJournalBounce: an agent that answers in words when asked for a call again was not right then.
func TestJournalBounce(t *testing.T) {
	for _, tt := range []struct {
		name   string
		bounce chat.BounceDetail
		calls  []chat.Call
		mended int64
	}{
		{"in words", chat.BounceDetail{Reason: chat.ReasonInvalid, Sent: "again"}, nil, 0},
		{"with a call", chat.BounceDetail{Reason: chat.ReasonInvalid, Sent: "again"},
			[]chat.Call{{ID: "1", Name: "look", Arguments: "{}", Complete: true}}, 1},
		{"of a form", chat.BounceDetail{Reason: bridge.ReasonFormat, Sent: "again"}, nil, 1},
	} {
		s := New("", Options{})
		_, err := s.Journal(&journal.Memory{}).Append(t.Context(), "run", 0,
			record.Record{Kind: record.KindRun, Run: &record.Run{Session: "s", Agent: "helper", By: "ann"}},
			record.Record{Kind: record.KindTurn, Turn: &record.Turn{Model: "m"}},
			record.Record{Kind: record.KindBounce, Bounce: &tt.bounce},
			record.Record{Kind: record.KindTurnEnd,
				TurnEnd: &record.TurnEnd{Message: chat.Message{Role: chat.RoleAssistant, Calls: tt.calls}}})
		if err != nil {
			t.Fatal(err)
		}
		if r := one(t, s, Query{}); r.Count(Bounced) != 1 || r.Count(Recovered) != tt.mended {
			t.Errorf("%s: %d answers were sent back, and %d right then, want %d", tt.name, r.Count(Bounced),
				r.Count(Recovered), tt.mended)
		}
	}
}

// TestApprovals counts questions and answers, also those that another process put.
func TestApprovals(t *testing.T) {
	s := New("", Options{})
	under := &journal.Memory{}
	asker, answerer := s.Journal(under), s.Journal(under)
	put := func(store journal.Store, stream string, after int64, r record.Record) {
		t.Helper()
		if _, err := store.Append(t.Context(), stream, after, r); err != nil {
			t.Fatal(err)
		}
	}
	asked := time.Now().Add(-90 * time.Second)
	put(asker, "run", 0,
		record.Record{Kind: record.KindRun, Run: &record.Run{Session: "s", Agent: "helper", By: "ann"}})
	for i, state := range []runner.ApprovalState{runner.ApprovalApproved, runner.ApprovalDenied, runner.ApprovalExpired} {
		id := fmt.Sprintf("q%d", i)
		put(asker, id, 0,
			record.Record{Kind: record.KindQuestion,
				Question: &record.Question{ID: id, Session: "s", Run: "run", Asked: asked,
					Question: runner.Question{Tool: "write"}}})
		put(answerer, id, 1,
			record.Record{Kind: record.KindAnswer,
				Answer: &record.Answer{At: asked.Add(time.Minute), Answer: runner.Answer{State: state}}})
	}
	r := one(t, s, Query{By: []Dim{ByModel, ByClient, ByTool}})
	wants(t, "questions", r, map[Counter]int64{Asked: 3, Approved: 1, Refused: 1, Unanswered: 1})
	wait := r.Times(WaitTime)
	if off := wait.Quantile(0.5) - time.Minute; r.Model != "helper" || r.Client != "ann" || wait.N() != 2 ||
		off.Abs() > time.Second {
		t.Errorf("%+v, %d waits, the middle one off by %s", r.Dims, wait.N(), off)
	}
}

// TestFiles has several programs count at once, some of them cut off, and compares with one that counted all.
func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "stats")
	whole := New("", Options{Now: at(noon)})
	var wg sync.WaitGroup
	for n := range 4 {
		s := New(dir, Options{Now: at(noon)})
		wg.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(n)))
			for i := range 300 {
				d := Dims{Model: []string{"a", "b\tc", "100%"}[random.IntN(3)], Client: "x",
					Tool: []string{"t", "u"}[random.IntN(2)], Dialect: "hermes"}
				counts, times := []count{{d, Calls, 1}, {d, Repairs, random.Int64N(3)}},
					[]took{{d, RunTime, time.Duration(random.Int64N(1e10))}}
				when := noon.Add(-time.Duration(random.IntN(20)) * time.Hour)
				s.add(when, counts, times)
				whole.add(when, counts, times)
				if i%50 == 0 {
					if err := s.Flush(); err != nil {
						t.Error(err)
					}
				}
				if i%70 == 0 { // a program that is killed while it writes
					if err := appendTo(filepath.Join(dir, "2026-03-04.stats"),
						[]byte("492372\ta\tx\thermes\tt\tcalls=12")); err != nil {
						t.Error(err)
					}
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	read := New(dir, Options{})
	same := func(what string, asked ...Query) {
		t.Helper()
		for _, q := range append(asked, Query{}, Query{By: []Dim{ByModel, ByTool}},
			Query{Step: 24 * time.Hour, By: []Dim{ByTool}}) {
			a, err := whole.Query(t.Context(), q)
			b, err2 := read.Query(t.Context(), q)
			if err != nil || err2 != nil || !slices.EqualFunc(a, b, equal) || len(a) == 0 {
				t.Errorf("%s: %+v: %d rows and %d, %v, %v", what, q, len(a), len(b), err, err2)
			}
		}
	}
	byHour := []Query{{Step: time.Hour, By: []Dim{ByTool}}, {From: noon.Add(-5 * time.Hour), To: noon.Add(-time.Hour)},
		{Only: Dims{Model: "b\tc"}, Step: 6 * time.Hour}}
	same("as written", byHour...)
	for _, tt := range []struct {
		days  int
		head  string
		asked []Query
	}{{5, compacted, byHour}, {12, daily, nil}, {13, daily, nil}} {
		if err := read.tidy(noon.AddDate(0, 0, tt.days)); err != nil {
			t.Fatal(err)
		}
		for _, day := range []string{"2026-03-03.stats", "2026-03-04.stats"} {
			text, err := os.ReadFile(filepath.Join(dir, day))
			if err != nil || !strings.HasPrefix(string(text), tt.head) {
				t.Errorf("%s after %d days begins with %.40q: %v", day, tt.days, text, err)
			}
		}
		same(fmt.Sprint("after ", tt.days, " days"), tt.asked...)
	}
	old := New(dir, Options{Now: at(noon.AddDate(2, 0, 0))})
	if err := old.tidy(old.o.Now()); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%d files are left after two years, %v", len(left), err)
	}
}

func equal(a, b *Row) bool {
	if a.Time != b.Time || a.Dims != b.Dims || a.counts != b.counts {
		return false
	}
	for i := range a.times {
		x, y := a.times[i], b.times[i]
		if x.N() != y.N() || x.N() > 0 && x.counts != y.counts {
			return false
		}
	}
	return true
}

// TestDiskFull keeps what cannot be written.
func TestNoPlace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := New(filepath.Join(file, "stats"), Options{Now: at(noon)})
	for range 2 {
		s.add(noon, []count{{Dims{Model: "m"}, Answers, 1}}, []took{{Dims{Model: "m"}, AnswerTime, time.Second}})
		if s.Flush() == nil {
			t.Fatal("it was written into a file's directory")
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if r := one(t, s, Query{}); r.Count(Answers) != 2 || r.Times(AnswerTime).N() != 2 {
		t.Errorf("%d answers, %d times", r.Count(Answers), r.Times(AnswerTime).N())
	}
}

// TestClockJumps: what is kept in memory stays bounded when the clock was wrong for a while.
func TestClockJumps(t *testing.T) {
	for _, wrong := range []time.Time{time.Unix(0, 0), noon.Add(-time.Hour), noon.Add(time.Hour),
		noon.AddDate(0, 0, 1), noon.AddDate(30, 0, 0)} {
		s := New("", Options{Now: at(noon)})
		s.add(wrong, []count{{Dims{Model: "m"}, Answers, 1}}, nil)
		for i := range 3 * maxInMemory {
			s.add(noon.Add(time.Duration(i)*time.Hour), []count{{Dims{Model: "m"}, Answers, 1}}, nil)
		}
		if n := len(s.pending); n != maxInMemory {
			t.Errorf("%v: %d cells are kept", wrong, n)
		}
	}
}

func TestBounds(t *testing.T) {
	s := New("", Options{})
	for i := range 2 * maxTools {
		s.add(noon.Add(time.Duration(i)*time.Hour), []count{{Dims{Tool: fmt.Sprint("t", i)}, Calls, 1}}, nil)
	}
	s.add(noon.Add(2*maxTools*time.Hour), []count{{Dims{Tool: strings.Repeat("x", 100)}, Calls, 1}}, nil)
	if len(s.tools) > maxTools || len(s.pending) > maxInMemory+1 {
		t.Errorf("%d names of tools and %d cells are kept", len(s.tools), len(s.pending))
	}
	for _, q := range []Query{{By: []Dim{"day"}}, {Step: time.Minute}, {Step: -time.Hour}, {From: noon, To: noon}} {
		if _, err := s.Query(t.Context(), q); err == nil {
			t.Errorf("%+v is answered", q)
		}
	}
	var none *Store
	none.add(noon, nil, nil)
	if rows, err := none.Query(t.Context(), Query{}); err != nil || rows != nil || none.Close() != nil {
		t.Error("a store that there is not counts")
	}
}
