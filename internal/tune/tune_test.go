package tune

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"wield/bridge"
	"wield/chat"
	"wield/dialect"
	"wield/schema"
	"wield/schema/shape"
)

// A character is a model with a habit. It knows the answers of the suite; how it gives them is the habit.
type character struct {
	native func(want []chat.Call) ([]chat.Event, error) // asked with tools; nil: as a good server does
	text   func(d *dialect.Dialect, want []chat.Call) string
	usage  int
}

func (c *character) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		events, err := c.answer(req)
		events = append(events,
			chat.Event{Kind: chat.KindUsage, Detail: &chat.Usage{Known: true, In: c.usage, Requests: 1}})
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(chat.Event{}, err)
			return
		}
		yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}}, nil)
	}
}

func (c *character) answer(req *chat.Request) ([]chat.Event, error) {
	var prompt strings.Builder
	for _, m := range req.Messages {
		prompt.WriteString(m.Text() + "\n")
	}
	want := known(prompt.String())
	if len(req.Tools) > 0 {
		if c.native != nil {
			return c.native(want)
		}
		return functionCalls(want), nil
	}
	return []chat.Event{{Kind: chat.KindText, Text: c.text(taught(prompt.String()), want)}}, nil
}

// known returns the calls that the question in the prompt wants.
func known(prompt string) []chat.Call {
	for i := range suite {
		for round := range 8 {
			user, want := suite[i].ask(round)
			if !strings.Contains(prompt, user) {
				continue
			}
			var calls []chat.Call
			for _, w := range want {
				calls = append(calls, chat.Call{Name: w.name, Arguments: w.args})
			}
			return calls
		}
	}
	panic("an unknown question: " + prompt)
}

// taught returns the dialect of the example that stands in the prompt.
func taught(prompt string) *dialect.Dialect {
	_, example, _ := strings.Cut(prompt, "\nYou:")
	example, _, _ = strings.Cut(example, "\n\nSystem: ")
	var tools []shape.Tool
	for _, tool := range []chat.Tool{harbour, tide, note, booking} {
		tools = append(tools, shape.Tool{Name: tool.Name, Args: schema.ShapeOf(tool.Parameters)})
	}
	out, err := dialect.Parse(strings.TrimLeft(example, " "), dialect.Options{Tools: tools})
	if err != nil || len(out.Calls) != 1 {
		panic("no example in the prompt:\n" + prompt)
	}
	d, _ := dialect.Lookup(out.Calls[0].Dialect)
	return d
}

func functionCalls(want []chat.Call) (events []chat.Event) {
	for i, c := range want {
		c.Index, c.ID, c.Complete, c.Origin = i, fmt.Sprint("c", i), true, chat.OriginFunction
		events = append(events,
			chat.Event{Kind: chat.KindCallStart, Origin: c.Origin, Index: i, ID: c.ID, Name: c.Name},
			chat.Event{Kind: chat.KindCallArgs, Origin: c.Origin, Index: i, Text: c.Arguments},
			chat.Event{Kind: chat.KindCallEnd, Origin: c.Origin, Index: i, ID: c.ID, Name: c.Name, Detail: &c})
	}
	if len(want) == 0 {
		events = append(events, chat.Event{Kind: chat.KindText, Text: "That is a number."})
	}
	return events
}

// faithful writes calls as it was taught.
func faithful(d *dialect.Dialect, want []chat.Call) string {
	if len(want) == 0 {
		return "That is a number."
	}
	text, err := d.AppendCalls(nil, want)
	if err != nil { // the dialect cannot hold it
		fence, _ := dialect.Lookup("json-fence")
		text, _ = fence.AppendCalls(nil, want)
	}
	return string(text)
}

func prose(*dialect.Dialect, []chat.Call) string { return "I would look that up for you." }

func run(t *testing.T, c *character, o Options) *Report {
	t.Helper()
	all, err := Trials(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	trials := slices.Collect(all)
	r := Summarise("boat", trials)
	for i := range trials {
		if left := len(trials) - i - 1; trials[i].Left < left && !trials[len(trials)-1].Candidate.Required {
			t.Errorf("%d trials follow the %d., which said at most %d", left, i+1, trials[i].Left)
		}
	}
	candidates, _ := o.Candidates()
	if most := len(candidates) * o.rounds() * len(suite); len(trials) > most &&
		!trials[len(trials)-1].Candidate.Required || o.All && len(trials) < most {
		t.Errorf("%d trials of at most %d", len(trials), most)
	}
	return r
}

func row(t *testing.T, r *Report, name string) *Row {
	t.Helper()
	for i := range r.Rows {
		if r.Rows[i].Candidate.String() == name {
			return &r.Rows[i]
		}
	}
	t.Fatalf("no row %s", name)
	return nil
}

const rounds = 4

// TestCharacters asks models with known habits, and compares the figures and what is recommended.
func TestCharacters(t *testing.T) {
	const all = rounds * 5 // trials of a candidate
	refused := chat.Errorf(chat.ErrBadRequest, "no tools here")
	for _, tc := range []struct {
		name  string
		model character
		want  map[string][4]int // candidate: at first try, valid, right tool, right arguments
		patch string
	}{
		{
			name:  "a good one",
			model: character{text: faithful},
			want: map[string][4]int{"function calling": {all, all, all, all}, "hermes": {all, all, all, all},
				"json-fence": {all, all, all, all}},
			patch: "models:\n  boat:\n    mode: native\n",
		},
		{
			name: "one that forgets closers",
			model: character{
				native: func([]chat.Call) ([]chat.Event, error) { return nil, refused },
				text: func(d *dialect.Dialect, want []chat.Call) string {
					return strings.TrimSuffix(strings.TrimSuffix(faithful(d, want), "\n</tool_call>"), "\n</TOOL_CALL>")
				},
			},
			// Only the last of several calls lacks its closer. The question without a call has none to forget.
			want: map[string][4]int{"function calling": {0, 0, 0, 0}, "hermes": {rounds, all, all, all},
				"json-fence": {all, all, all, all}},
			patch: "models:\n  boat:\n    mode: text\n    dialect: json-fence\n",
		},
		{
			name: "one that writes arguments first",
			model: character{
				native: func([]chat.Call) ([]chat.Event, error) { return nil, refused },
				text: func(d *dialect.Dialect, want []chat.Call) string {
					if d.Name != "hermes" || len(want) == 0 {
						return faithful(d, nil)
					}
					var b strings.Builder
					for _, c := range want {
						fmt.Fprintf(&b, "<tool_call>{\"arguments\": %s, \"name\": %q}</tool_call>\n", c.Arguments,
							c.Name)
					}
					return b.String()
				},
			},
			want:  map[string][4]int{"hermes": {all, all, all, all}, "json-fence": {rounds, rounds, rounds, rounds}},
			patch: "models:\n  boat:\n    mode: text\n    dialect: hermes\n",
		},
		{
			name: "one that speaks one dialect only",
			model: character{
				native: func([]chat.Call) ([]chat.Event, error) {
					return []chat.Event{{Kind: chat.KindText, Text: "I have no tools."}}, nil
				},
				text: func(d *dialect.Dialect, want []chat.Call) string {
					if d.Name == "react" && len(want) > 0 {
						return faithful(d, want)
					}
					return prose(d, want)
				},
			},
			want: map[string][4]int{"function calling": {rounds, rounds, rounds, rounds},
				"hermes": {rounds, rounds, rounds, rounds}, "react": {all, all, all, all}},
			patch: "models:\n  boat:\n    mode: text\n    dialect: react\n",
		},
		{
			name: "one whose function calling is broken",
			model: character{
				native: func(want []chat.Call) ([]chat.Event, error) {
					for i := range want {
						want[i].Arguments = `{"berth": "bow`
					}
					return functionCalls(want), nil
				},
				text: faithful,
			},
			want: map[string][4]int{"function calling": {rounds, rounds, rounds, rounds},
				"tool-call-tag": {all, all, all, all}},
			patch: "models:\n  boat:\n    mode: text\n    dialect: json-fence\n",
		},
		{
			name: "one that always calls",
			model: character{text: func(d *dialect.Dialect, want []chat.Call) string {
				if len(want) == 0 {
					want = []chat.Call{{Name: "next_tide", Arguments: "{}"}}
				}
				return faithful(d, want)
			}, native: func([]chat.Call) ([]chat.Event, error) { return nil, refused }},
			want:  map[string][4]int{"hermes": {all - rounds, all - rounds, all - rounds, all - rounds}},
			patch: "models:\n  boat:\n    mode: text\n    dialect: json-fence\n",
		},
		{
			name: "one that gets numbers wrong",
			model: character{text: func(d *dialect.Dialect, want []chat.Call) string {
				for i := range want {
					want[i].Arguments = strings.NewReplacer("1", "8", "2", "8", "3", "8", "4", "8", "5",
						"8").Replace(want[i].Arguments)
				}
				return faithful(d, want)
			}},
			// only the question without a call has no number
			want:  map[string][4]int{"hermes": {all, all, all, rounds}},
			patch: "models:\n  boat:\n    mode: native\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := run(t, &tc.model, Options{Model: "boat", Native: true, Rounds: rounds, All: true})
			for name, want := range tc.want {
				got := row(t, r, name)
				if have := [4]int{got.FirstTry.N, got.Valid.N, got.RightTool.N, got.RightArgs.N}; have != want ||
					got.RightArgs.Of != all {
					t.Errorf("%s: %v of %d, want %v; lost %v, %s", name, have, got.RightArgs.Of, want, got.Lost,
						got.Why)
				}
			}
			if got := r.Patch(); got != tc.patch || !r.Useful() {
				t.Errorf("recommends\n%s, want\n%s", got, tc.patch)
			}
			short := run(t, &tc.model, Options{Model: "boat", Native: true, Rounds: rounds})
			if got := short.Patch(); got != tc.patch || short.Tie != r.Tie {
				t.Errorf("in fewer questions it recommends\n%s, tie %v; in all\n%s, tie %v", got, short.Tie, tc.patch,
					r.Tie)
			}
		})
	}
}

// TestFails asks servers that give no answer.
func TestFails(t *testing.T) {
	broken := errors.New("the wire is cut")
	r := run(t, &character{native: func([]chat.Call) ([]chat.Event, error) { return nil, broken }, text: prose},
		Options{Native: true, Dialects: []string{}, Rounds: 1})
	if got := r.Rows[0]; got.Failed != screened || !strings.Contains(got.Why, "the wire is cut") || r.Useful() {
		t.Errorf("%+v", got)
	}
	synctest.Test(t, func(t *testing.T) {
		r := run(t, nil2(), Options{Native: true, Dialects: []string{}, Rounds: 1, Timeout: time.Minute})
		if got := r.Rows[0]; got.Failed != screened || got.Why == "" {
			t.Errorf("a server that is silent: %+v", got)
		}
	})
	asked := 0
	late := &character{native: func(want []chat.Call) ([]chat.Event, error) {
		if asked++; asked == 2 {
			return functionCalls(want), nil
		}
		return nil, broken
	}}
	if got := run(t, late, Options{Native: true, Dialects: []string{}, Rounds: 3}).Rows[0]; got.RightArgs != (Rate{
		N: 1, Of: 15}) || got.Failed != 14 {
		t.Errorf("a server that answers once in the first round: %+v", got)
	}
	if got := run(t, &character{native: func([]chat.Call) ([]chat.Event, error) { return nil, broken }},
		Options{Native: true, Dialects: []string{}, Rounds: 3, Concurrent: 4}).Rows[0]; got.RightArgs != (Rate{N: 0,
		Of: screened}) {
		t.Errorf("a server that answers nothing: %+v", got)
	}
	if r := run(t, &character{text: prose}, Options{Dialects: []string{"hermes"}, Rounds: 1}); r.Useful() ||
		len(r.Rows) != 2 || !r.Rows[1].Candidate.Required {
		t.Errorf("a model that never calls is of use: %+v", r.Rows)
	}
	o := Options{Bridge: bridge.Options{Decode: dialect.Options{Prefer: []string{"kimi-k2", "hermes"}}}}
	if c, err := o.Candidates(); err != nil || c[0].Dialect != "kimi-k2" || len(c) != len(DefaultDialects)+1 {
		t.Errorf("the dialects of the profile do not come first: %v, %v", c, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	all, err := Trials(ctx, &character{text: faithful}, Options{Native: true})
	if n := len(slices.Collect(all)); err != nil || n != 0 {
		t.Errorf("%d trials behind the end, %v", n, err)
	}
	if _, err := Trials(ctx, nil, Options{Dialects: []string{"latin"}}); err == nil ||
		!strings.Contains(err.Error(), `"latin"`) {
		t.Errorf("an unknown dialect: %v", err)
	}
	if _, err := Trials(ctx, nil, Options{Dialects: []string{}}); err == nil {
		t.Error("nothing to try is no error")
	}
}

// nil2 returns a model that waits for the end of its request.
func nil2() *character {
	return &character{native: func([]chat.Call) ([]chat.Event, error) {
		time.Sleep(time.Hour)
		return nil, context.DeadlineExceeded
	}}
}

// TestTies checks who comes first among equals.
func TestTies(t *testing.T) {
	trial := func(mode bridge.Mode, dialect string, tokens int, right bool) Trial {
		return Trial{Candidate: Candidate{Mode: mode, Dialect: dialect}, Probe: "p", RightArgs: right, Tokens: tokens,
			Latency: time.Second}
	}
	for _, tc := range []struct {
		trials []Trial
		best   int
		tie    bool
	}{
		{[]Trial{trial(bridge.ModeText, "hermes", 10, true), trial(bridge.ModeNative, "", 90, true)}, 1, true},
		{[]Trial{trial(bridge.ModeText, "hermes", 10, true), trial(bridge.ModeText, "react", 9, true)}, 1, true},
		{[]Trial{trial(bridge.ModeNative, "", 1, false), trial(bridge.ModeText, "react", 9, true)}, 1, true},
		{[]Trial{{Candidate: Candidate{Mode: bridge.ModeNative}, Probe: "p", Failed: "refused"},
			trial(bridge.ModeText, "react", 9, true)}, 1, false},
		{append(slices.Repeat([]Trial{trial(bridge.ModeNative, "", 1, false)}, 20),
			slices.Repeat([]Trial{trial(bridge.ModeText, "react", 9, true)}, 20)...), 1, false},
	} {
		if r := Summarise("m", tc.trials); r.Best != tc.best || r.Tie != tc.tie {
			t.Errorf("%v: best %d, tie %v; want %d, %v", tc.trials, r.Best, r.Tie, tc.best, tc.tie)
		}
	}
}

// TestInterval compares with published values of Wilson's interval (Newcombe 1998, table I, method 3).
func TestInterval(t *testing.T) {
	for _, tc := range []struct {
		n, of     int
		low, high float64
	}{{81, 263, 0.2553, 0.3662}, {15, 148, 0.0624, 0.1605}, {0, 20, 0, 0.1611}, {1, 29, 0.0061, 0.1718}} {
		if low, high := (Rate{N: tc.n, Of: tc.of}).Interval(); math.Abs(low-tc.low) > 6e-5 ||
			math.Abs(high-tc.high) > 6e-5 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", tc.n, tc.of, low, high, tc.low, tc.high)
		}
	}
	if low, high := (Rate{}).Interval(); low != 0 || high != 1 {
		t.Errorf("nothing known: %v to %v", low, high)
	}
}

// TestText checks the table, and the quoting of names.
func TestText(t *testing.T) {
	r := Summarise("org/boat:7b", []Trial{
		{Candidate: Candidate{Mode: bridge.ModeNative}, Probe: "one call", Failed: "refused"},
		{Candidate: Candidate{Mode: bridge.ModeText, Dialect: "hermes"}, Probe: "one call", Wanted: 1, FirstTry: true,
			Valid: true, RightTool: true, RightArgs: true, Tokens: 120, Latency: 1500 * time.Millisecond},
	})
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := `% of trials (95 %)  at first try  repaired      right tool    right arguments  tokens  latency  errors in
function calling    0 (0-79)      0 (0-79)      0 (0-79)      0 (0-79)         -       0s       one call
hermes *            100 (21-100)  100 (21-100)  100 (21-100)  100 (21-100)     120     1.5s     
function calling: 1 of 1 requests failed, the first with: refused
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
	if got, want := r.Patch(), "models:\n  \"org/boat:7b\":\n    mode: text\n    dialect: hermes\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestRounds checks that no round repeats a question of another.
func TestRounds(t *testing.T) {
	for i := range suite {
		seen := map[string]int{}
		for round := range 100 {
			user, want := suite[i].ask(round)
			if first, again := seen[user]; again {
				t.Errorf("%s: round %d is like round %d: %s", suite[i].name, round, first, user)
			}
			seen[user] = round
			for _, w := range want {
				if !fits(&chat.Call{Name: w.name, Arguments: w.args}) {
					t.Errorf("%s, round %d: what is wanted does not fit: %s %s", suite[i].name, round, w.name, w.args)
				}
			}
		}
	}
}
