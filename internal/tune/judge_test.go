package tune

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wield/bridge"
	"wield/chat"
	"wield/dialect"
)

func TestSameJSON(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		same bool
	}{
		{`{"a": 1, "b": [true, null]}`, `{"b":[true,null],"a":1.0}`, true},
		{`100`, `1e2`, true},
		{`"1"`, `1`, false},
		{`[1, 2]`, `[2, 1]`, false},
		{`{"a": 1}`, `{"a": 1, "b": null}`, false},
		{`9007199254740993`, `9007199254740992`, false},
		{`1e999999999`, `1e999999998`, false},
		{`{"a": 1} {"a": 2}`, `{"a": 1}`, false},
		{`{"a": `, `{"a": 1}`, false},
		{`"\u00fc"`, `"ü"`, true},
	} {
		if got := sameJSON(tc.a, tc.b); got != tc.same {
			t.Errorf("%s and %s: %v", tc.a, tc.b, got)
		}
	}
}

// TestBetter checks the order of candidates whose rates do not decide.
func TestBetter(t *testing.T) {
	row := func(mode bridge.Mode, n, of, tokens int) *Row {
		return &Row{Candidate: Candidate{Mode: mode}, RightArgs: Rate{N: n, Of: of}, Tokens: tokens}
	}
	for _, tc := range []struct {
		name string
		a, b *Row
		want bool
	}{
		{"fewer tokens", row(bridge.ModeText, 3, 5, 10), row(bridge.ModeText, 3, 5, 11), true},
		{"unknown tokens are not few", row(bridge.ModeText, 3, 5, 0), row(bridge.ModeText, 3, 5, 11), false},
		{"nor many", row(bridge.ModeText, 3, 5, 11), row(bridge.ModeText, 3, 5, 0), false},
		{"function calling, whatever it costs", row(bridge.ModeNative, 3, 5, 90), row(bridge.ModeText, 3, 5, 10), true},
		{"the same bound of other numbers", row(bridge.ModeNative, 0, 5, 0), row(bridge.ModeText, 0, 9, 0), true},
		{"the rate first", row(bridge.ModeNative, 3, 5, 1), row(bridge.ModeText, 4, 5, 90), false},
		{"more trials at the same rate", row(bridge.ModeText, 50, 50, 90), row(bridge.ModeNative, 5, 5, 1), true},
	} {
		if got := better(tc.a, tc.b); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

// TestRateJSON checks that a report for programs holds the interval.
func TestRateJSON(t *testing.T) {
	text, err := json.Marshal(Rate{N: 0, Of: 20})
	if err != nil || !strings.HasPrefix(string(text), `{"n":0,"of":20,"low":0,"high":0.161`) {
		t.Errorf("%s, %v", text, err)
	}
}

// slow is a model whose answers take the longer the earlier they were asked for.
type slow struct {
	character
	asked, open, most atomic.Int64
}

func (s *slow) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		now := s.open.Add(1)
		for most := s.most.Load(); now > most && !s.most.CompareAndSwap(most, now); most = s.most.Load() {
		}
		defer s.open.Add(-1)
		time.Sleep(time.Minute / time.Duration(s.asked.Add(1)))
		s.character.Stream(ctx, req)(yield)
	}
}

// TestConcurrent checks that trials come in their order however many are under way, and that none goes on when nobody
// reads.
func TestConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type at struct {
			c     Candidate
			round int
			probe string
		}
		order := func(concurrent int) (list []at) {
			s := &slow{character: character{text: faithful}}
			all, err := Trials(t.Context(), s, Options{Native: true, Dialects: []string{"hermes"}, Rounds: 2,
				Concurrent: concurrent})
			if err != nil {
				t.Fatal(err)
			}
			for trial := range all {
				list = append(list, at{trial.Candidate, trial.Round, trial.Probe})
				if !trial.RightArgs {
					t.Errorf("%d at a time: %+v", concurrent, trial)
				}
			}
			if most := int(s.most.Load()); most != max(concurrent, 1) {
				t.Errorf("%d at a time, allowed are %d", most, concurrent)
			}
			return list
		}
		one := order(0)
		if three := order(3); len(one) != 16 || !slices.Equal(one, three) {
			t.Errorf("one at a time:\n%v\nthree:\n%v", one, three)
		}
		s := &slow{character: character{text: faithful}}
		all, _ := Trials(t.Context(), s, Options{Native: true, Rounds: 2, Concurrent: 3})
		for range all {
			break
		}
		if n := s.open.Load(); n != 0 {
			t.Errorf("%d trials go on", n)
		}
	})
}

// TestConfused checks that a call of the backend's own pipeline is not one that was valid at first try.
func TestConfused(t *testing.T) {
	c := &character{native: func(want []chat.Call) (events []chat.Event, err error) {
		for _, w := range want {
			events = append(events, chat.Event{Kind: chat.KindNativeCall, Origin: chat.OriginNative, Name: w.Name,
				Text: w.Arguments})
		}
		return events, nil
	}}
	got := run(t, c, Options{Native: true, Dialects: []string{}, Rounds: 1}).Rows[0]
	if got.RightArgs.N != len(suite) || got.FirstTry.N != 1 {
		t.Errorf("%d right, %d at first try; want all, and only the one without a call", got.RightArgs.N,
			got.FirstTry.N)
	}
}

// asks keeps the requests that a model gets.
type asks struct {
	character
	requests []*chat.Request
}

func (a *asks) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	a.requests = append(a.requests, req)
	return a.character.Stream(ctx, req)
}

// TestRequests checks that the model is left free to call or not, and that function calling gets the question as it is.
func TestRequests(t *testing.T) {
	a := &asks{character: character{text: faithful}}
	all, err := Trials(t.Context(), a, Options{Model: "boat", Native: true, Dialects: []string{"hermes"}, Rounds: 1,
		All: true, Bridge: bridge.Options{Decode: dialect.Options{Dialect: "react"},
			Bounce: bridge.BounceOptions{Max: 3}}})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(slices.Collect(all)); n != len(a.requests) {
		t.Errorf("%d requests for %d trials", len(a.requests), n)
	}
	for i, req := range a.requests {
		if req.Choice.Mode != chat.ChoiceAuto || req.Model != "boat" {
			t.Errorf("request %d: choice %v, model %q", i, req.Choice.Mode, req.Model)
		}
		native := i < screened || i >= 2*screened && i < screened+len(suite) // first both are asked two questions each
		if native != (len(req.Tools) > 0) || native && len(req.Messages) != 1 {
			t.Errorf("request %d: %d tools, %d messages", i, len(req.Tools), len(req.Messages))
		}
	}
}

// TestDropped: a way is asked as long as it may win, or may be told apart from the best.
func TestDropped(t *testing.T) {
	half := func(d *dialect.Dialect, want []chat.Call) string {
		if d.Name == "hermes" || len(want) == 1 && want[0].Name == "water_depth" {
			return faithful(d, want)
		}
		return prose(d, want)
	}
	for _, order := range [][]string{{"hermes", "json-fence"}, {"json-fence", "hermes"}} {
		r := run(t, &character{text: half}, Options{Dialects: order, Rounds: 8})
		if best, other := row(t, r, "hermes").RightArgs, row(t, r, "json-fence").RightArgs; best.N != 40 ||
			other.Of != 8 || other.N != 3 || r.Tie {
			t.Errorf("%v: %+v and %+v, tie %v", order, best, other, r.Tie)
		}
	}
}

// TestRequired: a model that calls nothing by itself is asked again with a call required, and what is recommended is
// said to be for that.
func TestRequired(t *testing.T) {
	c := &obedient{}
	for _, tc := range []struct {
		hold  bridge.Constraint
		rows  int
		patch string
	}{
		{bridge.ConstraintNone, 4, "models:\n  boat:\n    mode: text\n    dialect: hermes\n"},
		{bridge.ConstraintAuto, 3, "models:\n  boat:\n    mode: text\n"}, // a list in whatever dialect
	} {
		c.asked = 0
		all, err := Trials(t.Context(), c, Options{Dialects: []string{"hermes", "json-fence"}, Rounds: 2,
			Bridge: bridge.Options{Server: bridge.Server{Constraint: tc.hold}}})
		if err != nil {
			t.Fatal(err)
		}
		trials := slices.Collect(all)
		r := Summarise("boat", trials)
		if len(trials) != c.asked {
			t.Errorf("%s: %d requests for %d trials", tc.hold, c.asked, len(trials))
		}
		if best := r.Rows[r.Best]; len(r.Rows) != tc.rows || !best.Candidate.Required ||
			best.RightArgs != (Rate{N: 8, Of: 8}) || r.Rows[0].RightArgs.Of != screened {
			t.Errorf("%s: %+v", tc.hold, r.Rows)
		}
		if got := r.Patch(); got != tc.patch {
			t.Errorf("%s: %s", tc.hold, got)
		}
	}
}

// obedient is a model that calls only if its instructions say that it has to, and never in json-fence.
type obedient struct{ asked int }

func (o *obedient) Stream(_ context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	o.asked++
	system, question := req.Messages[0].Text(), req.Messages[len(req.Messages)-1].Text()
	text := prose(nil, nil)
	if strings.Contains(system, "MUST contain") && !strings.Contains(system, "```json") {
		d, _ := dialect.Lookup("hermes")
		text = faithful(d, known(question))
	}
	return func(yield func(chat.Event, error) bool) {
		_ = yield(chat.Event{Kind: chat.KindText, Text: text}, nil) &&
			yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}}, nil)
	}
}
