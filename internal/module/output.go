package module

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"wield/chat"
)

// An output changes the texts of one answer.
type output struct {
	ctx   context.Context
	x     *Exchange
	o     *Options
	yield func(chat.Event, error) bool

	kind   chat.Kind    // of the segment that is open: text or reasoning; 0: none
	stages []stage      // of its modules, in the order in which they see it
	last   chat.Event   // of the segment
	from   int          // where the span of what was not emitted yet begins
	asIs   bool         // nothing of the segment waits, so that an event that nobody changes can pass as it is
	queue  []chat.Event // what came while text waited, and stands behind it
	spans  bool         // from is set
}

// event takes the next event of the model, and reports whether the reader wants more.
func (o *output) event(e chat.Event) bool {
	switch e.Kind {
	case chat.KindText, chat.KindReasoning:
		return o.text(e)
	case chat.KindIdle, chat.KindUsage:
		return o.yield(e, nil)
	case chat.KindMarkup, chat.KindNote, chat.KindCandidate, chat.KindOverrun:
		if o.kind != 0 && !o.asIs { // they are shown nowhere and part no text, but stand behind what waits
			o.queue = append(o.queue, e)
			return true
		}
		return o.yield(e, nil)
	case chat.KindRejected:
		if e.Flags&chat.FlagSpent != 0 {
			return o.spent(e)
		}
	}
	return o.end() && o.yield(e, nil)
}

// text takes a delta of text or of reasoning.
func (o *output) text(e chat.Event) bool {
	if o.kind != e.Kind {
		if !o.end() {
			return false
		}
		o.begin(e.Kind)
	}
	if len(o.stages) == 0 {
		return o.yield(e, nil)
	}
	if !o.spans {
		o.from, o.spans = e.At, true
	}
	o.last = e
	was := o.asIs
	out := o.pass(e.Text, false)
	o.asIs = o.idle()
	if was && o.asIs && out == e.Text {
		o.spans = false
		return o.yield(e, nil)
	}
	to := e.End
	if waits := len(o.stages[0].pending); waits > 0 {
		to = max(o.from, to-waits)
	}
	return o.emit(out, to) && o.release()
}

// begin opens a segment.
func (o *output) begin(kind chat.Kind) {
	o.kind, o.stages, o.asIs, o.spans = kind, o.stages[:0], true, false
	for i := len(o.o.Modules) - 1; i >= 0; i-- {
		m := &o.o.Modules[i]
		if m.Output != nil && (kind == chat.KindText || m.Reasoning) {
			o.stages = append(o.stages, stage{module: m, t: m.Output(o.x)})
		}
	}
}

// end closes the open segment, if there is one.
func (o *output) end() bool {
	if o.kind == 0 {
		return true
	}
	more := true
	if len(o.stages) > 0 {
		if !o.spans {
			o.from = o.last.End
		}
		if more = o.emit(o.pass("", true), o.last.End); more && o.from < o.last.End { // all of it was left out
			more = o.yield(chat.Event{Kind: chat.KindMarkup, Turn: o.last.Turn, At: o.from, End: o.last.End}, nil)
		}
	}
	o.close()
	return more && o.release()
}

// close ends the segment, whether it came to its end or not.
func (o *output) close() {
	for i := range o.stages {
		if c, ok := o.stages[i].t.(io.Closer); ok {
			_ = c.Close()
		}
	}
	o.kind, o.stages, o.asIs = 0, o.stages[:0], true
}

// release emits what waited behind text that has gone out.
func (o *output) release() bool {
	if o.kind != 0 && !o.asIs {
		return true
	}
	for _, e := range o.queue {
		if !o.yield(e, nil) {
			return false
		}
	}
	o.queue = o.queue[:0]
	return true
}

// emit emits a changed text whose span ends at the offset to.
func (o *output) emit(text string, to int) bool {
	if text == "" {
		return true
	}
	e := o.last
	e.Text, e.At, e.End, e.Detail = text, o.from, to, nil
	if o.kind == chat.KindText {
		e.Flags |= chat.FlagDecoded
	}
	o.from = to
	return o.yield(e, nil)
}

// spent changes the text of an attempt that is shown as content.
func (o *output) spent(e chat.Event) bool {
	if !o.end() {
		return false
	}
	r := *e.Detail.(*chat.RejectedDetail)
	o.begin(chat.KindText)
	r.Raw = o.pass(r.Raw, true)
	o.close()
	e.Detail = &r
	return o.yield(e, nil)
}

// pass gives text to all modules of the segment, one after the other.
func (o *output) pass(text string, final bool) string {
	for i := range o.stages {
		text = o.stages[i].feed(o, text, final)
	}
	return text
}

// idle reports whether no module keeps text back.
func (o *output) idle() bool {
	for i := range o.stages {
		if len(o.stages[i].pending) > 0 {
			return false
		}
	}
	return true
}

// A stage is one module at work on a segment.
type stage struct {
	module  *Module
	t       Transformer
	pending []byte // what it did not use yet
	skipped bool   // it failed
}

// feed gives the stage more text and returns what comes out of it.
func (s *stage) feed(o *output, text string, final bool) string {
	s.pending = append(s.pending, text...)
	give := len(s.pending)
	switch {
	case s.skipped:
		return s.take(give)
	case final:
	case s.module.Buffer == Whole:
		give = 0
	case s.module.Buffer == Line:
		give = bytes.LastIndexByte(s.pending, '\n') + 1
	}
	out := ""
	if give > 0 || final {
		given := string(s.pending[:give])
		var used int
		var err error
		out, used, err = s.t.Transform(o.ctx, given, final)
		switch {
		case used < 0 || used > len(given):
			out, used, err = "", 0, fmt.Errorf("it used %d of %d bytes", used, len(given))
		case err == nil && final && used < len(given):
			err = fmt.Errorf("it left %d bytes of the end", len(given)-used)
		}
		s.take(used)
		if err != nil {
			return out + s.skip(o, err)
		}
	}
	if len(s.pending) > o.o.MaxPending {
		return out + s.skip(o, fmt.Errorf("%d bytes of text wait for it", len(s.pending)))
	}
	return out
}

// skip lets the rest of the segment pass unchanged.
func (s *stage) skip(o *output, err error) string {
	s.skipped = true
	o.o.Log.WarnContext(o.ctx, "module skipped", "module", s.module.Name, "on", "output", "error", err)
	return s.take(len(s.pending))
}

// take removes the first n bytes that wait.
func (s *stage) take(n int) string {
	text := string(s.pending[:n])
	s.pending = s.pending[:copy(s.pending, s.pending[n:])]
	return text
}
