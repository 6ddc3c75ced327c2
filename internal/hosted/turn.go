package hosted

import (
	"strings"

	"wield/chat"
)

// A turn is one stream of the model.
type turn struct {
	*toolLoop
	running  map[int]bool // whether the call of an index is run here
	asked    []chat.Call  // that are run here
	calls    int          // that are not
	text     strings.Builder
	thinking chat.Thinking
	last     int // turn of the model's own
	finish   *chat.Finish
}

// take takes in an event and makes it one of the whole answer. It reports false for one that the client does not see.
func (t *turn) take(e *chat.Event) bool {
	t.last = max(t.last, e.Turn)
	e.Turn += t.toolLoop.turns
	switch e.Kind {
	case chat.KindText:
		t.text.WriteString(e.Text)
	case chat.KindReasoning:
		t.thinking.Take(e)
	case chat.KindCallStart:
		t.running[e.Index] = t.Runner.Runs(e.Name)
		return t.number(e)
	case chat.KindCallArgs:
		return t.number(e)
	case chat.KindCallEnd:
		return t.end(e)
	case chat.KindRejected:
		if e.Index < 0 {
			return true
		}
		if !t.number(e) {
			return false
		}
		t.calls++
	case chat.KindUsage:
		t.usage.Add(*e.Detail.(*chat.Usage))
		return false
	case chat.KindFinish:
		t.finish = e.Detail.(*chat.Finish)
		return false
	}
	return true
}

// number gives the event of a call the number that the call has in the answer. It reports false for a call that is
// run here.
func (t *turn) number(e *chat.Event) bool {
	if t.running[e.Index] {
		return false
	}
	e.Index = t.toolLoop.calls + t.calls
	return true
}

func (t *turn) end(e *chat.Event) bool {
	c := *e.Detail.(*chat.Call)
	if !t.number(e) {
		if c.Complete {
			t.asked = append(t.asked, c)
		}
		return false
	}
	c.Index = e.Index
	e.Detail = &c
	t.calls++
	return true
}
