package runs

import (
	"fmt"
	"strings"

	"wield/agent"
	"wield/chat"
	"wield/internal/shorten"
	"wield/tool/policy"
	"wield/tool/runner"
)

// An answerStream makes one answer of the turns of a run: what the model writes, without the calls that run here.
type answerStream struct {
	yield    func(chat.Event, error) bool
	activity Activity

	stopped bool
	turn    int  // of the last text
	said    bool // there is text
	breaks  bool // the next text begins a paragraph
	line    bool // the last text ended with a line break

	usage  chat.Usage
	last   chat.Finish       // of the run that ended last
	calls  map[string]string // arguments by id, of calls that run here
	called bool
}

// emit passes an event on.
func (s *answerStream) emit(e chat.Event) bool {
	s.stopped = s.stopped || !s.yield(e, nil)
	return !s.stopped
}

// event takes an event of a run. It reports false when nobody listens any more.
func (s *answerStream) event(e chat.Event) bool {
	switch e.Kind {
	case chat.KindText:
		return s.text(e)
	case chat.KindRejected:
		if e.Text = shown(&e); e.Text != "" {
			return s.text(e)
		}
	case chat.KindReasoning:
		if e.Text != "" { // without its signature: it would stand beside thinking of other turns
			return s.emit(chat.Event{Kind: chat.KindReasoning, Turn: e.Turn, Text: e.Text})
		}
	case chat.KindTurnStart, chat.KindTurnEnd, chat.KindIdle, chat.KindBounce, chat.KindConverted, chat.KindNativeCall,
		chat.KindNativeResult:
		return s.emit(e)
	case chat.KindCallEnd:
		s.calls[e.ID] = e.Detail.(*chat.Call).Arguments
	case chat.KindToolState:
		if e.Detail.(*runner.StateDetail).State == runner.CallRunning {
			return s.begins(&e) && s.emit(chat.Event{Kind: chat.KindIdle}) // what was said shall not wait for a tool
		}
	case chat.KindResult:
		return s.ends(&e)
	case chat.KindFinish:
		s.last = *e.Detail.(*chat.Finish)
	}
	return !s.stopped
}

// text passes text on. Texts of different turns are paragraphs.
func (s *answerStream) text(e chat.Event) bool {
	if e.Text == "" {
		return !s.stopped
	}
	if s.said && (e.Turn != s.turn || s.breaks) {
		gap := "\n\n"
		if s.line {
			gap = "\n"
		}
		if !s.emit(chat.Event{Kind: chat.KindText, Turn: e.Turn, Text: gap}) {
			return false
		}
	}
	s.said, s.turn, s.breaks, s.line = true, e.Turn, false, strings.HasSuffix(e.Text, "\n")
	return s.emit(chat.Event{Kind: chat.KindText, Turn: e.Turn, Text: e.Text, At: e.At, End: e.End, Detail: e.Detail})
}

// say adds a paragraph of wield's own.
func (s *answerStream) say(text string) bool {
	s.breaks = true
	ok := s.text(chat.Event{Kind: chat.KindText, Turn: s.turn, Text: text})
	s.breaks = true
	return ok
}

// longestLine bounds what is shown of a call or a result in a line.
const longestLine = 200

// begins tells that a call begins to run.
func (s *answerStream) begins(e *chat.Event) bool {
	switch s.activity {
	case ActivityReasoning:
		return s.emit(chat.Event{Kind: chat.KindReasoning, Turn: e.Turn,
			Text: "[" + e.Name + " " + short(s.calls[e.ID]) + "]\n"})
	case ActivityItems:
		return s.emit(chat.Event{Kind: chat.KindNativeCall, Turn: e.Turn, ID: e.ID, Name: e.Name, Text: s.calls[e.ID]})
	}
	return true
}

// ends tells what came out of a call.
func (s *answerStream) ends(e *chat.Event) bool {
	m := e.Detail.(*chat.Result).Message()
	switch s.activity {
	case ActivityReasoning:
		word := "gave"
		if m.IsError {
			word = "failed:"
		}
		return s.emit(chat.Event{Kind: chat.KindReasoning, Turn: e.Turn,
			Text: "[" + e.Name + " " + word + " " + short(m.Text()) + "]\n"})
	case ActivityItems:
		return s.emit(chat.Event{Kind: chat.KindNativeResult, Turn: e.Turn, ID: e.ID, Name: e.Name, Text: m.Text()})
	}
	return !s.stopped
}

// short returns text as part of a line.
func short(text string) string {
	return policy.Visible(shorten.Text(strings.Join(strings.Fields(text), " "), longestLine))
}

// add counts what a run has used.
func (s *answerStream) add(o *agent.Outcome) { s.usage.Add(o.Usage) }

// call ends the answer with calls that the client is to run.
func (s *answerStream) call(calls []chat.Call) {
	for i, c := range calls {
		c.Index = i
		for _, e := range []chat.Event{
			{Kind: chat.KindCallStart, Origin: c.Origin, Index: i, ID: c.ID, Name: c.Name},
			{Kind: chat.KindCallArgs, Origin: c.Origin, Index: i, Text: c.Arguments},
			{Kind: chat.KindCallEnd, Origin: c.Origin, Index: i, ID: c.ID, Name: c.Name, Detail: &c},
		} {
			if e.Turn = s.turn; !s.emit(e) {
				return
			}
		}
	}
	s.called = len(calls) > 0
}

// sayWaiting says which questions a run waits for, in a form that the next request is recognised by.
func (s *answerStream) sayWaiting(h *Hub, run string, waiting []runner.Approval) {
	for i := range waiting {
		a := &waiting[i]
		text := fmt.Sprintf("%s needs an approval before it runs (%s).", policy.Visible(a.Tool), mark(a.ID, run))
		if where := h.where(a.ID); where != "" {
			text += " It can be given at " + where + " ."
		}
		s.say(text + " After that, send another message.")
	}
}

// sayLimit ends an answer that the model did not write in time, so that nobody takes an empty one for what the model
// had to say.
func (s *answerStream) sayLimit(l agent.LimitKind) {
	s.say(fmt.Sprintf("The limit on %s was reached before the model had answered.", l))
}

// finish ends the answer.
func (s *answerStream) finish(model string) {
	if s.usage.Known && !s.emit(chat.Event{Kind: chat.KindUsage, Detail: &s.usage}) {
		return
	}
	f := s.last
	switch {
	case s.called:
		f.Reason = chat.FinishCalls
	case f.Reason == "" || f.Reason == chat.FinishCalls:
		f.Reason = chat.FinishStop
	}
	if f.Model == "" {
		f.Model = model
	}
	s.emit(chat.Event{Kind: chat.KindFinish, Detail: &f})
}
