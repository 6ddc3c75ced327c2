package playback

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"wield/agent"
	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/runner"
)

// A Difference describes what changed when a recording was played again.
type Difference struct {
	Turn     int    `json:"turn"`
	What     string `json:"what"` // call, text, reasoning, bounces, repairs, turns, result, ending
	Recorded string `json:"recorded"`
	Now      string `json:"now"`
}

// Player plays recordings again.
type Player struct {
	Model  chat.Model   // a bridge over Recording.Model, or over another model
	Limits agent.Limits // as those of the recorded run
	Style  func(name string) tool.Style
	From   int // differences of turns before this one are not told
}

// Play carries out the recorded task once more with p.Model. Tools give what they gave then, to the same calls in the
// same order. It returns what was otherwise, and fails when it cannot be told.
func (p *Player) Play(ctx context.Context, r *Recording) ([]Difference, error) {
	stage := newStage(r)
	shared := new(runner.Shared)
	defer shared.Close() // what is left of it are files that the system removes one day
	runner := runner.New(runner.Settings{Tools: stage.registry(p.Style), Shared: shared})
	var store journal.Memory
	run := agent.New(p.Model, runner, agent.Options{Journal: &store, Limits: p.Limits}).
		Run(&chat.Request{Model: r.Run.Model, Messages: r.Messages()})
	later := r.later()
	for e := range run.Events(ctx) { // how it ended stands in the outcome
		if e.Kind == chat.KindTurnEnd || e.Kind == chat.KindResult {
			later = sendDue(run, later, e.Turn)
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	again, err := Load(ctx, &store, run.ID())
	if err != nil {
		return nil, err
	}
	list := slices.Concat(compare(r, again[0]), stage.missed())
	if o := run.Outcome(); o.Err != nil && r.End != nil {
		list = append(list, Difference{Turn: len(again[0].whole()), What: "ending", Recorded: r.End.Reason,
			Now: o.Err.Error()})
	}
	list = slices.DeleteFunc(list, func(d Difference) bool { return d.Turn < p.From })
	slices.SortStableFunc(list, func(a, b Difference) int { return cmp.Compare(a.Turn, b.Turn) })
	return list, nil
}

// A due is a message that was sent while the run was busy.
type due struct {
	turn    int // that was asked next
	message chat.Message
}

// later returns what entered the conversation while the run was under way, but for what wield itself said.
func (r *Recording) later() []due {
	var list []due
	for i, t := range r.whole() {
		for _, m := range t.Said {
			if i > 0 && m.By != "wield" {
				list = append(list, due{t.Number, m.Message})
			}
		}
	}
	return list
}

// sendDue sends what entered before the turn after this one.
func sendDue(run *agent.Run, list []due, turn int) []due {
	for len(list) > 0 && list[0].turn <= turn+1 {
		run.Send(list[0].message)
		list = list[1:]
	}
	return list
}

// A stage stands in for the tools of a recording.
type stage struct {
	rec *Recording

	mu      sync.Mutex
	results map[string][]*RecordedCall // by name and arguments, in order
	turn    map[string]int             // of the last call of this key
	strange []Difference
}

func newStage(r *Recording) *stage {
	s := &stage{rec: r, results: map[string][]*RecordedCall{}, turn: map[string]int{}}
	for _, t := range r.whole() {
		for _, c := range t.Calls {
			if c.Result != nil {
				s.results[callKey(c.Name, c.Arguments)] = append(s.results[callKey(c.Name, c.Arguments)], c)
			}
		}
	}
	return s
}

// callKey tells calls apart by what they do.
func callKey(name, arguments string) string { return name + " " + string(runner.Canonical(arguments)) }

// registry returns the recorded tools, whose handlers look their results up.
func (s *stage) registry(style func(string) tool.Style) *runner.Registry {
	reg := new(runner.Registry)
	for _, d := range s.rec.Run.Offered {
		t := tool.Raw(d.Name, d.Description, d.Parameters, func(_ context.Context, c *tool.Call) (tool.Result, error) {
			return s.result(d.Name, string(c.Arguments)), nil
		})
		if style != nil {
			t.Style = style(d.Name)
		}
		if err := reg.Add(t); err != nil {
			s.strange = append(s.strange, Difference{What: "tools", Recorded: d.Name, Now: err.Error()})
		}
	}
	return reg
}

// result returns what a call gave then.
func (s *stage) result(name, arguments string) tool.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := callKey(name, arguments)
	list := s.results[key]
	if len(list) == 0 {
		return tool.Failure(&tool.Error{Kind: tool.ErrTool, Tool: name,
			Message: "the recording holds no result of this call"})
	}
	if len(list) > 1 {
		s.results[key] = list[1:]
	}
	return list[0].Result.Result
}

func (s *stage) missed() []Difference { return s.strange }

// compare tells how two runs of one task differ, turn by turn.
func compare(was, now *Recording) []Difference {
	var list []Difference
	before, after := was.whole(), now.whole()
	for i := range min(len(before), len(after)) {
		list = append(list, compareTurns(before[i], after[i])...)
	}
	if len(before) != len(after) {
		list = append(list, Difference{Turn: min(len(before), len(after)), What: "turns",
			Recorded: fmt.Sprint(len(before)), Now: fmt.Sprint(len(after))})
	}
	return list
}

// compareTurns tells how two answers differ.
func compareTurns(was, now *Turn) []Difference {
	var list []Difference
	add := func(what, a, b string) {
		if a != b {
			list = append(list, Difference{was.Number, what, a, b})
		}
	}
	a, b := &was.End.Message, &now.End.Message
	add("text", strings.TrimSpace(a.Text()), strings.TrimSpace(b.Text()))
	add("reasoning", strings.TrimSpace(a.Reasoning), strings.TrimSpace(b.Reasoning))
	for i := range max(len(a.Calls), len(b.Calls)) {
		add("call", written(a.Calls, i), written(b.Calls, i))
	}
	add("bounces", reasons(was.Bounces), reasons(now.Bounces))
	add("repairs", repairs(was.Repairs), repairs(now.Repairs))
	return list
}

// written returns the i-th call as text; empty: there is none.
func written(calls []chat.Call, i int) string {
	if i >= len(calls) {
		return ""
	}
	return callKey(calls[i].Name, calls[i].Arguments)
}

func reasons(list []*chat.BounceDetail) string {
	var b []string
	for _, d := range list {
		b = append(b, string(d.Reason))
	}
	return strings.Join(b, ", ")
}

func repairs(list []*record.Repair) string {
	var b []string
	for _, d := range list {
		b = append(b, string(d.Kind))
	}
	return strings.Join(b, ", ")
}

// JSON returns the difference in one line.
func (d *Difference) JSON() []byte {
	raw, _ := json.Marshal(d) // texts can always be written
	return raw
}
