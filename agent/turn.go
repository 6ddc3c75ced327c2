package agent

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"wield/chat"
)

// An answerCollector gathers one answer of the model while it goes by, and makes of its events those of the whole run.
type answerCollector struct {
	run   *Run
	state *state
	model string // that was asked
	turn  int    // number of the first turn of this answer in the run. A bridge may make several
	index int    // number of its first call in the run

	framed   bool           // the model says itself where its turns begin
	last     int            // number of the last turn within the answer
	offered  []chat.Tool    // that the model was told of
	ids      map[int]string // of the calls that the answer numbers, by that number
	numbers  map[int]int    // of them in the run
	made     int            // calls in all
	text     strings.Builder
	thinking chat.Thinking
	calls    []chat.Call
	notes    []note
	placed   int // of notes: those that belong to a call, or to text that was none
	usage    chat.Usage
	finish   *chat.Finish
	loose    int      // attempts that the answer does not number, counted downwards from 0
	raw      []string // what the model wrote, of each turn within the answer
}

// A note is something about the answer that is kept in the record.
type note struct {
	turn   int
	callID string
	event  chat.Event
}

// take takes the next event, and returns it as one of the run. It reports false for one that does not go on.
func (t *answerCollector) take(e chat.Event) (chat.Event, bool) {
	if e.Kind == chat.KindTurnStart && t.framed { // after a bounce
		t.last++
	}
	e.Turn = t.turn + t.last
	switch e.Kind {
	case chat.KindTurnStart:
		t.framed = true
	case chat.KindText:
		t.text.WriteString(e.Text)
	case chat.KindReasoning:
		t.thinking.Take(&e)
	case chat.KindCallStart, chat.KindCallArgs:
		t.number(&e)
	case chat.KindCallEnd:
		t.call(&e)
	case chat.KindRaw:
		for len(t.raw) <= t.last {
			t.raw = append(t.raw, "")
		}
		t.raw[t.last] += e.Text
	case chat.KindNote, chat.KindBounce, chat.KindConverted, chat.KindOverrun:
		t.notes = append(t.notes, note{turn: e.Turn, event: e})
	case chat.KindUsage:
		t.usage = *e.Detail.(*chat.Usage)
		return e, false
	case chat.KindFinish:
		t.finish = e.Detail.(*chat.Finish)
		return e, false
	}
	return e, true
}

// number gives an event of a call the number and the id that the call has in the run.
func (t *answerCollector) number(e *chat.Event) {
	id, ok := t.ids[e.Index]
	if !ok {
		if t.ids == nil {
			t.ids, t.numbers = map[int]string{}, map[int]int{}
		}
		n := t.index + t.made
		if id = e.ID; t.run.client.runs(e.Name) {
			id = t.run.clientID(n) // the result comes back from outside, and has to find its run
		}
		id = t.state.newID(id, n)
		t.ids[e.Index], t.numbers[e.Index] = id, n
		t.made++
	}
	e.ID, e.Index = id, t.numbers[e.Index]
}

func (t *answerCollector) call(e *chat.Event) {
	t.number(e)
	c := *e.Detail.(*chat.Call)
	c.ID, c.Index = e.ID, e.Index
	e.Detail = &c
	for ; t.placed < len(t.notes); t.placed++ { // what was repaired since the call before stood in this one
		if n := &t.notes[t.placed]; n.event.Kind == chat.KindNote {
			n.callID = c.ID
		}
	}
	if c.Complete {
		t.calls = append(t.calls, c)
	}
}

// attempt makes a call of an attempt at one, which gets an error for a result, and returns its events. What
// stands behind the end of the model's turn is only recorded.
func (t *answerCollector) attempt(e chat.Event) []chat.Event {
	d := e.Detail.(*chat.RejectedDetail)
	e.Turn = t.turn + t.last
	if d.Reason == chat.ReasonOverrun {
		t.notes = append(t.notes, note{turn: e.Turn, event: e})
		return []chat.Event{e}
	}
	if said := strings.TrimRight(t.text.String(), " \t\r\n"); d.Raw != "" && strings.HasSuffix(said, d.Raw) {
		// it was taken for text at first
		t.text.Reset()
		t.text.WriteString(strings.TrimSuffix(said, d.Raw))
	}
	opened := e.Index >= 0
	if !opened {
		t.loose-- // a number that no call of the answer has
		e.Index, e.ID = t.loose, ""
	}
	e.Flags, e.Name = e.Flags&^chat.FlagSpent, t.nameOf(d.Name)
	c := chat.Call{Name: e.Name, Arguments: d.Arguments, Complete: true, Origin: e.Origin, Dialect: d.Dialect,
		At: d.At, End: d.End, Reason: d.Reason}
	switch {
	case d.Reason == chat.ReasonInvalid && !t.run.client.runs(c.Name):
		c.Reason = "" // the tools here say themselves what they want
	default:
		c.Problem = t.problem(d)
	}
	if c.Arguments == "" && d.Reason == chat.ReasonMalformed {
		c.Arguments = d.Raw
	}
	start, args, end := e, e, e
	start.Kind, start.Detail = chat.KindCallStart, nil
	t.number(&start)
	args.Kind, args.Detail, args.Text, args.ID, args.Index = chat.KindCallArgs, nil, c.Arguments, start.ID, start.Index
	end.Kind, end.Detail = chat.KindCallEnd, &c
	t.call(&end)
	t.notes = append(t.notes, note{turn: e.Turn, callID: end.ID, event: e})
	t.placed = len(t.notes)
	if opened {
		return []chat.Event{end}
	}
	return []chat.Event{start, args, end}
}

// problem tells the model what was wrong with an attempt.
func (t *answerCollector) problem(d *chat.RejectedDetail) string {
	if d.Reason != chat.ReasonUnknownTool {
		return "The call was not run: " + d.Message
	}
	text := "Tool " + d.Name + " not found."
	if why := t.run.runner.Settings().Tools.Missing(d.Name); why != nil {
		text = "Tool " + d.Name + " is not available: " + why.Error() + "."
	}
	for i := range t.offered {
		switch {
		case i == 0:
			text += " Available: " + t.offered[i].Name
		case i == mostNamed:
			return text + fmt.Sprintf(" and %d more", len(t.offered)-i)
		default:
			text += ", " + t.offered[i].Name
		}
	}
	return text
}

const (
	mostNamed   = 64 // tools that an error names
	longestName = 64 // characters of a name that the model made up
)

// nameOf returns the name under which an attempt stands in the history. One that the model made up may be
// none that a server takes.
func (t *answerCollector) nameOf(name string) string {
	if slices.ContainsFunc(t.offered, func(o chat.Tool) bool { return o.Name == name }) {
		return name
	}
	if name == "" {
		return "unknown"
	}
	name = strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-') {
			return r
		}
		return '_'
	}, name)
	return name[:min(len(name), longestName)]
}

// message returns the answer as the message that enters the conversation. Of one that broke off the calls are
// left out: none of them runs.
func (t *answerCollector) message(broken bool) chat.Message {
	m := t.thinking.Message(t.text.String())
	if !broken {
		m.Calls = t.calls
	}
	return m
}

// silent reports whether nothing of the answer was shown.
func (t *answerCollector) silent() bool { return t.empty() && t.thinking.Empty() && len(t.ids) == 0 }

// empty reports whether the model said nothing at all.
func (t *answerCollector) empty() bool { return t.text.Len() == 0 && len(t.calls) == 0 }
