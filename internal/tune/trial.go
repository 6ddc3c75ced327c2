package tune

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"wield/bridge"
	"wield/chat"
	"wield/dialect"
	"wield/schema"
)

// A Candidate is one way to give a model tools.
type Candidate struct {
	Mode     bridge.Mode `json:"mode"`               // native, template or text
	Dialect  string      `json:"dialect,omitempty"`  // of text; "": the model's own
	Required bool        `json:"required,omitempty"` // a call is required
}

// String returns the candidate as it stands in the table.
func (c Candidate) String() string {
	name := cmp.Or(c.Dialect, string(c.Mode))
	switch c.Mode {
	case bridge.ModeNative:
		name = "function calling"
	case bridge.ModeTemplate:
		name = "chat template"
	}
	if c.Required {
		name += ", required"
	}
	return name
}

// DefaultDialects are those that are tried, behind those of the model's profile, unless others are named: what
// instructed models follow without having been taught, and the formats that most families were taught.
var DefaultDialects = []string{"json-fence", "tool-call-tag", "hermes", "qwen3-coder", "llama3-json", "pythonic",
	"mistral-array", "react"}

// Options say what is tried.
type Options struct {
	Model    string         // its name in the requests
	Bridge   bridge.Options // what is known of the model; Mode, Dialect, Bounce and Release are the trial's
	Native   bool           // function calling too
	Template bool           // the model's own chat template too; see [Told]
	Dialects []string       // of text; nil: those that Bridge prefers, and DefaultDialects. Aliases are resolved
	Rounds   int            // how often the suite is asked of each candidate; 0: 3
	Timeout  time.Duration  // of one trial; 0: two minutes

	Concurrent int  // trials at a time; 0: one
	All        bool // ask on even if the answers cannot change the result
}

// Candidates returns the ways that o tries, in order, or an error that names an unknown dialect.
func (o *Options) Candidates() ([]Candidate, error) {
	var list []Candidate
	if o.Native {
		list = append(list, Candidate{Mode: bridge.ModeNative})
	}
	if o.Template {
		list = append(list, Candidate{Mode: bridge.ModeTemplate})
	}
	names := o.Dialects
	if names == nil {
		names = append(slices.Clone(o.Bridge.Decode.Prefer), DefaultDialects...)
	}
	for _, name := range names {
		d, ok := dialect.Lookup(name)
		if !ok {
			return nil, fmt.Errorf("tune: unknown dialect %q; wield dialect list shows them all", name)
		}
		if c := (Candidate{Mode: bridge.ModeText, Dialect: d.Name}); !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("tune: nothing to try: neither function calling, nor a chat template, nor a dialect")
	}
	return list, nil
}

// Told returns why a model cannot be told of tools by its chat template; nil if it can.
func Told(ctx context.Context, t bridge.Template) error {
	if t == nil {
		return errors.New("the backend takes no rendered prompt")
	}
	traits, err := t.Inspect(ctx)
	switch {
	case err != nil:
		return err
	case traits.Rules.NoTools || traits.Rules.NoTool:
		return errors.New("the chat template has no place for tools")
	}
	return nil
}

func (o *Options) rounds() int {
	if o.Rounds > 0 {
		return o.Rounds
	}
	return 3
}

// A Trial holds the result of one probe.
type Trial struct {
	Candidate Candidate `json:"candidate"`
	Probe     string    `json:"probe"`
	Round     int       `json:"round"`  // from 0
	Wanted    int       `json:"wanted"` // calls that are right
	FirstTry  bool      `json:"first_try"`
	// as many calls as wanted, each of a declared tool with arguments that fit its schema, maybe repaired
	Valid     bool          `json:"valid"`
	RightTool bool          `json:"right_tool"` // the wanted tools, in any order
	RightArgs bool          `json:"right_args"` // with the wanted arguments
	Tokens    int           `json:"tokens"`     // in and out; 0: the server did not say
	Latency   time.Duration `json:"latency_ns"`
	Failed    string        `json:"failed,omitempty"` // why there was no answer
	Err       error         `json:"-"`                // the same
	Tried     bool          `json:"tried"`            // there was a call, or an attempt at one
	Left      int           `json:"-"`                // trials that follow at most
}

// bridgeFor returns a bridge in which the model has one attempt. For function calling the dialect stays as it is: it
// decides how calls are read that leak into text, and what is recommended leaves it alone.
func bridgeFor(model chat.Model, c Candidate, o bridge.Options) *bridge.Bridge {
	o.Mode = c.Mode
	if c.Mode == bridge.ModeText {
		o.Decode.Dialect, o.Prompt.Dialect = c.Dialect, c.Dialect
	}
	o.Release, o.Bounce.Off, o.Passive = bridge.ReleaseChecked, true, false
	o.Support = nil // a refusal counts for this candidate only
	return bridge.New(model, o)
}

func try(ctx context.Context, b *bridge.Bridge, c Candidate, p *probe, round int, o *Options) Trial {
	timeout := o.Timeout
	if timeout <= 0 {
		timeout = 2 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	user, want := p.ask(round)
	t := Trial{Candidate: c, Probe: p.name, Round: round, Wanted: len(want)}
	req := &chat.Request{
		Model:    o.Model,
		Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text(user)}},
		Tools:    tools,
		Stream:   true, // an answer that is too long ends early

		Temperature: new(float64), // chance would only widen the bounds
		MaxTokens:   maxAnswer,
	}
	if c.Required {
		req.Choice.Mode = chat.ChoiceRequired
	}
	start := time.Now()
	got, err := answer(b.Stream(ctx, req))
	t.Latency, t.Tokens = time.Since(start), got.tokens
	if err != nil {
		t.Failed, t.Err = err.Error(), err
		return t
	}
	got.judge(&t, want)
	return t
}

// maxAnswer is how many tokens an answer may have: enough for the longest that is wanted, and an end for a model that
// finds none.
const maxAnswer = 400

// maxProse is how many bytes an answer may have without a call: a model that writes more to questions like these makes
// none.
const maxProse = 300

// An outcome holds the content of a response.
type outcome struct {
	calls    []chat.Call
	repaired bool
	refused  bool // an attempt failed
	tokens   int
}

func answer(events iter.Seq2[chat.Event, error]) (outcome, error) {
	var got outcome
	prose := 0
	for e, err := range events {
		if err != nil {
			return got, err
		}
		if e.Kind == chat.KindText {
			prose += len(e.Text)
		}
		if prose > maxProse && len(got.calls) == 0 && !got.refused {
			break
		}
		switch e.Kind {
		case chat.KindCallEnd:
			got.calls = append(got.calls, *e.Detail.(*chat.Call))
			got.refused = got.refused || !e.Detail.(*chat.Call).Complete
		case chat.KindRejected:
			got.refused = true
		case chat.KindNote:
			got.repaired = got.repaired || !slices.Contains(noRepairs, e.Detail.(*chat.NoteDetail).Kind)
		case chat.KindConverted: // it came through a channel that cannot run it
			got.repaired = true
		case chat.KindUsage:
			usage := e.Detail.(*chat.Usage)
			got.tokens = usage.In + usage.Out
		}
	}
	return got, nil
}

// noRepairs are the notes that say nothing against how a call was written.
var noRepairs = []chat.NoteKind{chat.NoteDropped, chat.NotePositional}

// judge compares what came with what was wanted. Where no call is needed, none is valid and right.
func (got *outcome) judge(t *Trial, want []wantedCall) {
	t.Tried = got.refused || len(got.calls) > 0
	t.Valid = !got.refused && len(got.calls) == len(want)
	for i := range got.calls {
		t.Valid = t.Valid && fits(&got.calls[i])
	}
	t.FirstTry = t.Valid && !got.repaired
	var have []wantedCall
	for i := range got.calls {
		have = append(have, wantedCall{got.calls[i].Name, got.calls[i].Arguments})
	}
	t.RightTool = matches(have, want, func(a, b wantedCall) bool { return a.name == b.name })
	t.RightArgs = matches(have, want, func(a, b wantedCall) bool {
		return a.name == b.name && sameJSON(a.args, b.args)
	})
}

func fits(c *chat.Call) bool {
	for _, tool := range tools {
		if tool.Name == c.Name {
			s, err := schema.Compile(tool.Parameters)
			return err == nil && len(s.Validate(c.Arguments)) == 0
		}
	}
	return false
}

// matches reports whether each call of have is one of want, in any order, and none is left.
func matches(have, want []wantedCall, same func(a, b wantedCall) bool) bool {
	left := slices.Clone(want)
	for _, h := range have {
		i := slices.IndexFunc(left, func(w wantedCall) bool { return same(h, w) })
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return len(left) == 0
}

// sameJSON compares values: the order of keys is free, a number counts by its value.
func sameJSON(a, b string) bool {
	x, err := value(a)
	y, err2 := value(b)
	return err == nil && err2 == nil && sameValue(x, y)
}

func value(text string) (v any, err error) {
	if !json.Valid([]byte(text)) { // a decoder does not look at what follows the value
		return nil, errors.New("not JSON")
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

func sameValue(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, sameValue)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, sameValue)
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(string(a), string(b))
	}
	return a == b
}

// sameNumber compares exactly: 1e2 is 100, and no digit of a long number is left out. An exponent that would make too
// many digits is compared as it is written.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	const short = 400
	if len(a) > short || len(b) > short || longExponent(a) || longExponent(b) {
		return false
	}
	x, ok := new(big.Rat).SetString(a)
	y, ok2 := new(big.Rat).SetString(b)
	return ok && ok2 && x.Cmp(y) == 0
}

func longExponent(n string) bool {
	i := strings.IndexAny(n, "eE")
	return i >= 0 && len(strings.TrimLeft(n[i+1:], "+-0")) > 3
}
