package tune

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"time"

	"wield/bridge"
	"wield/chat"
	"wield/dialect"
	"wield/schema"
)

// A Candidate is one way to give a model tools.
type Candidate struct {
	Mode    bridge.Mode `json:"mode"`              // native or text
	Dialect string      `json:"dialect,omitempty"` // of text
}

// String returns the candidate as it stands in the table.
func (c Candidate) String() string {
	if c.Mode == bridge.ModeNative {
		return "function calling"
	}
	return c.Dialect
}

// DefaultDialects are those that are tried, behind those of the model's profile, unless others are named: what instructed models follow without having been taught, and the
// formats that most families were taught.
var DefaultDialects = []string{"json-fence", "tool-call-tag", "hermes", "qwen3-coder", "llama3-json", "pythonic", "mistral-array", "react"}

// Options say what is tried.
type Options struct {
	Model    string         // its name in the requests
	Bridge   bridge.Options // what is known of the model; Mode, Dialect, Bounce and Release are the trial's
	Native   bool           // function calling too
	Dialects []string       // of text; nil: those that Bridge prefers, and DefaultDialects. Aliases are resolved
	Rounds   int            // how often the suite is asked of each candidate; 0: 3
	Timeout  time.Duration  // of one trial; 0: two minutes
}

// Candidates returns the ways that o tries, in order, or an error that names an unknown dialect.
func (o *Options) Candidates() ([]Candidate, error) {
	var list []Candidate
	if o.Native {
		list = append(list, Candidate{Mode: bridge.ModeNative})
	}
	names := o.Dialects
	if names == nil {
		names = append(slices.Clone(o.Bridge.Prefer), DefaultDialects...)
	}
	for _, name := range names {
		d, ok := dialect.Lookup(name)
		if !ok {
			return nil, fmt.Errorf("tune: unknown dialect %q; wield dialect list shows them all", name)
		}
		if c := (Candidate{bridge.ModeText, d.Name}); !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("tune: nothing to try: neither function calling nor a dialect")
	}
	return list, nil
}

func (o *Options) rounds() int {
	if o.Rounds > 0 {
		return o.Rounds
	}
	return 3
}

// A Trial is what came out of one probe.
type Trial struct {
	Candidate Candidate     `json:"candidate"`
	Probe     string        `json:"probe"`
	Round     int           `json:"round"`  // from 0
	Wanted    int           `json:"wanted"` // calls that are right
	FirstTry  bool          `json:"first_try"`
	Valid     bool          `json:"valid"`      // as many calls as wanted, each of a declared tool with arguments that fit its schema, maybe mended
	RightTool bool          `json:"right_tool"` // the wanted tools, in any order
	RightArgs bool          `json:"right_args"` // with the wanted arguments
	Tokens    int           `json:"tokens"`     // in and out; 0: the server did not say
	Latency   time.Duration `json:"latency_ns"`
	Failed    string        `json:"failed,omitempty"` // why there was no answer
	Err       error         `json:"-"`                // the same
}

// Trials puts the suite to the model in the way of each candidate, one request at a time, and yields what comes out. A request that
// fails is a trial that failed; only a canceled ctx ends the trials.
func Trials(ctx context.Context, model chat.Model, o Options) (iter.Seq[Trial], error) {
	candidates, err := o.Candidates()
	if err != nil {
		return nil, err
	}
	return func(yield func(Trial) bool) {
		for _, c := range candidates {
			b := bridgeFor(model, c, o.Bridge)
			for round := range o.rounds() {
				for i := range suite {
					t := try(ctx, b, &suite[i], round, o)
					t.Candidate = c
					if ctx.Err() != nil || !yield(t) {
						return
					}
				}
			}
		}
	}, nil
}

// Count returns how many trials o makes.
func Count(o Options) (int, error) {
	candidates, err := o.Candidates()
	return len(candidates) * o.rounds() * len(suite), err
}

// bridgeFor returns a bridge in which the model has one attempt.
func bridgeFor(model chat.Model, c Candidate, o bridge.Options) *bridge.Bridge {
	o.Mode, o.Dialect, o.Prompt.Dialect = c.Mode, c.Dialect, c.Dialect
	o.Release, o.Bounce.Max, o.Passive = bridge.ReleaseChecked, -1, false
	o.Support = nil // a refusal counts for this candidate only
	return bridge.New(model, o)
}

func try(ctx context.Context, b *bridge.Bridge, p *probe, round int, o Options) Trial {
	timeout := o.Timeout
	if timeout <= 0 {
		timeout = 2 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	user, want := p.ask(round)
	t := Trial{Probe: p.name, Round: round, Wanted: len(want)}
	start := time.Now()
	got, err := answer(b.Stream(ctx, &chat.Request{
		Model:    o.Model,
		Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text(user)}},
		Tools:    p.tools,
	}))
	t.Latency, t.Tokens = time.Since(start), got.tokens
	if err != nil {
		t.Failed, t.Err = err.Error(), err
		return t
	}
	got.judge(&t, p, want)
	return t
}

// An outcome is what a response held.
type outcome struct {
	calls   []chat.Call
	mended  bool
	refused bool // an attempt came to nothing
	tokens  int
}

func answer(events iter.Seq2[chat.Event, error]) (outcome, error) {
	var got outcome
	for e, err := range events {
		if err != nil {
			return got, err
		}
		switch e.Kind {
		case chat.KindCallEnd:
			got.calls = append(got.calls, *e.Detail.Call)
			got.refused = got.refused || !e.Detail.Call.Complete
		case chat.KindRejected:
			got.refused = true
		case chat.KindNote:
			got.mended = got.mended || !slices.Contains(noRepairs, e.Detail.Note.Kind)
		case chat.KindUsage:
			got.tokens = e.Detail.Usage.In + e.Detail.Usage.Out
		}
	}
	return got, nil
}

// noRepairs are the notes that say nothing against how a call was written.
var noRepairs = []chat.NoteKind{chat.NoteDropped, chat.NotePositional}

// judge compares what came with what was wanted. Where no call is needed, none is valid and right.
func (got *outcome) judge(t *Trial, p *probe, want []call) {
	t.Valid = !got.refused && len(got.calls) == len(want)
	for i := range got.calls {
		t.Valid = t.Valid && fits(p, &got.calls[i])
	}
	t.FirstTry = t.Valid && !got.mended
	var have []call
	for i := range got.calls {
		have = append(have, call{got.calls[i].Name, got.calls[i].Arguments})
	}
	t.RightTool = matches(have, want, func(a, b call) bool { return a.name == b.name })
	t.RightArgs = matches(have, want, func(a, b call) bool { return a.name == b.name && sameJSON(a.args, b.args) })
}

func fits(p *probe, c *chat.Call) bool {
	for _, tool := range p.tools {
		if tool.Name == c.Name {
			s, err := schema.Compile(tool.Parameters)
			return err == nil && len(s.Validate(c.Arguments)) == 0
		}
	}
	return false
}

// matches reports whether each call of have is one of want, in any order, and none is left.
func matches(have, want []call, same func(a, b call) bool) bool {
	left := slices.Clone(want)
	for _, h := range have {
		i := slices.IndexFunc(left, func(w call) bool { return same(h, w) })
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return len(left) == 0
}

// sameJSON compares values: the order of keys is free, a number counts by its value.
func sameJSON(a, b string) bool {
	var x, y any
	return json.NewDecoder(bytes.NewReader([]byte(a))).Decode(&x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}
