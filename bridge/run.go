package bridge

import (
	"context"
	"slices"
	"time"

	"wield/chat"
	"wield/prompt"
)

// A run is the answering of one request.
type run struct {
	*Bridge
	ctx     context.Context
	req     *chat.Request
	yield   func(chat.Event, error) bool
	stopped bool // whoever reads has gone

	mode        Mode           // never auto
	template    TemplateTraits // in ModeTemplate
	max         int            // calls a response
	tools       []tool
	dec         *decoder
	events      []chat.Event // what the decoder gives, used again and again
	form        form         // that the client wants the answer in
	constrained *chat.Format // form that the backend is held to; nil: none
	must        bool         // the next answer has to be a call

	notes   []chat.NoteDetail // what of the request the backend is not sent, until the client has been told
	bounces int
	said    []chat.Message  // failed answers and corrections
	index   int             // of the next call that is released
	calls   int             // that were released and are complete
	ids     map[string]bool // of all calls of the conversation; nil: not yet gathered
	shown   []byte          // text that the client has
	unsaid  []string        // sentences of our own, which stand behind all that the model wrote
	usage   chat.Usage
	finish  chat.Finish
	turn    turn
}

// A turn is one response of the model.
type turn struct {
	asked
	open      bool             // TurnStart has been sent
	detail    *chat.TurnDetail // of TurnStart and TurnEnd, once it is made
	err       error            // that the model ended with
	raw       []byte           // the text so far
	calls     int              // complete calls of this response
	required  []string         // names and arguments of those, where the answer has to be a call
	muted     mute
	plain     bool // the decoder is closed: text is text
	tried     bool // a call was made or attempted
	over      overrun
	goesOn    bool // its text continues what the client has
	rest      callRest
	counted   bool // the backend said what was used
	failures  []failure
	repeats   repetition
	call      pendingCall
	markup    markup
	logprobs  chat.LogProbs // of text that the decoder still holds
	text      pendingText
	answering bool // a call of answerTool is open
	kept      keptAnswer
	dropped   bool   // the server left the tools out: it is asked again with tools in the text
	opening   string // of a call, which the answer was begun with, until it has been taken in
}

// asked says what the model was asked in a turn.
type asked struct {
	attempt int // 1: first
	sent    *chat.Request
	began   time.Time
}

// A mute marks where nothing more of a response is shown. The offsets are places in its raw text.
type mute struct {
	on      bool
	from    int // where it began
	covered int // where the events ended then
	anew    int // where the decoder began anew, to look for the end of the turn
}

func (r *run) run() error {
	if err := r.prepare(); err != nil {
		return err
	}
	req, err := r.render()
	if err == nil {
		err = r.ctx.Err() // nobody waits for a first answer either
	}
	if err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		err := r.answer(req, attempt)
		if r.stopped {
			return nil
		}
		if err != nil {
			less, ok := r.refusal(err)
			if !ok {
				return err
			}
			if req, err = less, r.newDecoder(); err != nil {
				return err
			}
			attempt--
			continue
		}
		if r.turn.dropped {
			if err = r.toText(); err == nil {
				req, err = r.render()
			}
			if err == nil {
				err = r.newDecoder()
			}
			if err != nil {
				return err
			}
			continue
		}
		if len(r.turn.failures) == 0 {
			break
		}
		if err := r.ctx.Err(); err != nil {
			return err // nobody waits for a second answer
		}
		req = r.kept(r.corrected(req))
	}
	r.end()
	return nil
}

// toText has the tools written into the prompt. Of those that only a server could run, the members of sets are told.
func (r *run) toText() error {
	r.mode = ModeText
	before := r.req
	if err := r.unhost(true); err != nil || r.req == before {
		return err
	}
	hidden := slices.DeleteFunc(slices.Clone(r.tools), func(t tool) bool { return !t.hidden })
	tools, err := r.offered()
	r.tools = append(tools, hidden...)
	return err
}

// prepare settles what holds for the whole request.
func (r *run) prepare() error {
	if r.o.NoTools && len(r.req.Tools) > 0 {
		if err := r.leaveToolsOut(); err != nil {
			return err
		}
	}
	r.max = r.o.MaxCalls
	if r.req.Parallel != nil && !*r.req.Parallel {
		r.max = 1
	}
	if err := r.unhost(r.o.Mode == ModeText); err != nil {
		return err
	}
	if r.o.Protocol != chat.ProtocolAnthropic {
		r.req = r.steady(r.req)
	}
	tools, err := r.offered()
	if err != nil {
		return err
	}
	r.tools = tools
	r.hide()
	if err := r.prepareTemplate(); err != nil {
		return err
	}
	if r.mode = r.modeOf(); r.mode == ModeText {
		if err := r.toText(); err != nil {
			return err
		}
	}
	if !r.inText() { // the server is sent the schemas as they are
		r.notes = slices.DeleteFunc(r.notes, isOpen)
	}
	if err := r.prepareForm(); err != nil {
		return err
	}
	return r.newDecoder()
}

// modeOf returns the mode of this request.
func (r *run) modeOf() Mode {
	switch {
	case r.o.Mode == ModeTemplate && r.omitsTools():
		return ModeText
	case r.o.Mode != ModeAuto:
		return r.o.Mode
	}
	if r.o.Probe && len(r.tools) > 0 {
		r.probe()
	}
	if rules := r.o.Support.Rules(r.req.Model); rules.NoTool && (len(r.tools) > 0 || usesTools(r.req)) {
		return ModeText
	}
	if r.o.Support.Refused(r.req.Model) || r.required() && constraints[r.o.Constraint].calls {
		return ModeText
	}
	return ModeNative
}

// newDecoder gets the decoder for the mode.
func (r *run) newDecoder() error {
	d, err := r.decoder(r.mode, r.reads(), r.opens(), r.tools)
	if err == nil {
		r.dec = d
	}
	return err
}

// render returns the request for the model.
func (r *run) render() (*chat.Request, error) {
	r.must = r.required()
	r.constrained = r.plan(r.must)
	req := r.req
	if r.o.NoImages {
		req = described(req)
	}
	var err error
	switch r.mode {
	case ModeText:
		o := r.o.Prompt
		o.Prefix, o.MaxCalls, o.OnlyCalls = r.o.Decode.Prefix, r.max, ""
		if listed(r.constrained) {
			o.OnlyCalls = r.listExample()
		}
		req, err = prompt.Render(r.ctx, req, o)
	case ModeTemplate:
		req, err = r.offering(wholeHistory(req))
	default:
		req = wholeHistory(req)
	}
	if err != nil {
		return nil, err
	}
	return r.kept(r.ended(r.formed(req))), nil
}

// usesTools reports whether a conversation holds calls or results.
func usesTools(req *chat.Request) bool {
	return slices.ContainsFunc(req.Messages, func(m chat.Message) bool {
		return m.Role == chat.RoleTool || len(m.Calls) > 0
	})
}

// kept returns req with messages in an order that the model's template takes, as far as its rules are known.
func (r *run) kept(req *chat.Request) *chat.Request {
	rules := r.rules()
	if rules == (chat.Rules{}) {
		return req
	}
	out := *req
	out.Messages = prompt.Keep(req.Messages, rules)
	return &out
}

// ended returns req with stop sequences at which a model that goes on behind its turn is stopped: what begins a result
// in its dialect, and the headers of others' turns. A client's own sequences leave room for them or not: protocols
// allow four.
func (r *run) ended(req *chat.Request) *chat.Request {
	if !r.o.Stops || !r.inText() || len(r.tools) == 0 && r.mode == ModeText {
		return req
	}
	out := *req
	out.Stop = slices.Clip(out.Stop)
	add := func(stop string) {
		if stop != "" && len(out.Stop) < maxStops && !slices.Contains(out.Stop, stop) {
			out.Stop = append(out.Stop, stop)
		}
	}
	if len(r.tools) > 0 {
		o := r.o.Prompt
		o.Dialect = r.taught()
		add(o.ResultOpener())
	}
	for _, header := range slices.Concat(r.template.Stop, r.o.Decode.Headers.Others) {
		add(header)
	}
	if r.must && r.mode == ModeText {
		add("\nUser:") // the example's; an answer that may be prose can hold such a line
	}
	return &out
}

// maxStops counts the stop sequences that every server takes.
const maxStops = 4

// answer passes one response on. Afterwards turn.failures says what has to be corrected.
func (r *run) answer(req *chat.Request, attempt int) error {
	r.turn = r.turn.empty()
	req, err := r.prompted(req)
	if err != nil {
		return err
	}
	r.turn.attempt, r.turn.sent, r.turn.began, r.turn.goesOn = attempt, req, time.Now(), attempt == 1
	if attempt > 1 {
		r.turn.repeats.begin(r.shown)
		r.dec.Reset()
	}
	// a loop would need memory for every variable that its body shares with what is around it
	r.model.Stream(r.ctx, req)(r.receive)
	switch {
	case r.stopped:
		return nil
	case r.turn.err != nil:
		if r.turn.open {
			r.flush()
			r.flushText()
			r.flushAnswer()
			r.speak()
		}
		return r.turn.err
	}
	r.begin()
	r.flush()
	r.cutShort()
	if err := r.endForm(); err != nil {
		return err
	}
	r.conclude()
	if len(r.turn.failures) == 0 {
		r.speak()
	}
	if r.stopped {
		return nil
	}
	r.emit(chat.Event{Kind: chat.KindRaw, End: len(r.turn.raw), Text: string(r.turn.raw)})
	r.emit(chat.Event{Kind: chat.KindTurnEnd, Detail: r.turnDetail()})
	return nil
}

// receive takes in one event of the model, or its failure.
func (r *run) receive(e chat.Event, err error) bool {
	if r.turn.err = err; err != nil {
		return false
	}
	if r.stopsBackend(e.Kind) {
		return false
	}
	if e.Kind != chat.KindIdle {
		r.begin()
		r.open()
	}
	r.take(e)
	return !r.stopped
}

// begin announces the turn when the first sign of it arrives.
func (r *run) begin() {
	if !r.turn.open {
		r.turn.open = true
		r.emit(chat.Event{Kind: chat.KindTurnStart, Detail: r.turnDetail()})
		for i := range r.notes {
			r.emit(chat.Event{Kind: chat.KindNote, Detail: &r.notes[i]})
		}
		r.notes = nil
		if !r.req.Stream {
			r.keep()
		}
	}
}

// turnDetail describes the turn, for its start and its end.
func (r *run) turnDetail() *chat.TurnDetail {
	if r.turn.detail == nil {
		d := &chat.TurnDetail{Model: r.req.Model, Backend: r.o.Backend, Attempt: r.turn.attempt, Began: r.turn.began,
			Sent: r.turn.sent, Notice: r.o.Notice}
		switch {
		case r.mode == ModeTemplate:
			d.Dialect = r.taught()
		case r.mode == ModeText:
			d.Dialect = r.o.Prompt.Dialect
			if r.o.Mode == ModeAuto && r.o.Support.drops(r.req.Model) {
				d.Notice = noticeDropped
			} else if r.o.Mode == ModeAuto && r.modeOf() == ModeNative {
				d.Notice = noticeDeaf
			}
			if r.o.Mode == ModeTemplate {
				d.Notice = noticeNoTools
			}
		}
		r.turn.detail = d
	}
	return r.turn.detail
}

// emit hands an event on.
func (r *run) emit(e chat.Event) {
	if k := &r.turn.kept; k.on && e.Kind != chat.KindIdle {
		k.held.add(e, 0) // nobody notices in an answer that goes out whole
		return
	}
	if !r.stopped && !r.yield(e, nil) {
		r.stopped = true
	}
}

// take handles one event of the model.
func (r *run) take(e chat.Event) {
	if r.asTool() && !r.answered(&e) {
		return
	}
	if e.Flags&chat.FlagUnplaced != 0 {
		e.Flags &^= chat.FlagUnplaced
		r.keep()
		r.turn.kept.unplaced = r.turn.kept.on
	}
	switch e.Kind {
	case chat.KindText:
		at := len(r.turn.raw)
		r.turn.raw = append(r.turn.raw, e.Text...)
		switch {
		case r.turn.muted.on:
			r.readMuted(e.Text)
			return
		case r.turn.plain:
			e.At, e.End = at, len(r.turn.raw)
			if r.turn.over.cut {
				r.behind(e)
			} else {
				r.text(e)
			}
			return
		}
		if probs, ok := e.Detail.(chat.LogProbs); ok {
			r.turn.logprobs = probs
		}
		r.events = r.dec.Feed(r.events[:0], e.Text)
		r.decoded()
		r.endIdle()
		if r.turn.over.reported {
			r.closeText() // there are no more calls in it
		}
	case chat.KindOverrun: // from a model that knows
		r.closeText()
		d := *e.Detail.(*chat.OverrunDetail)
		d.At = len(r.turn.raw)
		e.At, e.End, e.Detail = d.At, d.At, &d
		r.overran(e)
	case chat.KindCallStart:
		r.backendStart(e)
	case chat.KindCallArgs:
		r.backendArgs(e)
	case chat.KindCallEnd:
		r.backendEnd(e)
	case chat.KindRejected:
		e.At, e.End = len(r.turn.raw), len(r.turn.raw)
		r.rejected(e)
	case chat.KindNativeCall:
		r.nativeCall(e)
	case chat.KindUsage:
		u := *e.Detail.(*chat.Usage)
		if u.Requests == 0 {
			u.Requests = 1
		}
		r.turn.counted = true
		r.usage.Add(u)
	case chat.KindFinish:
		if r.finish = *e.Detail.(*chat.Finish); r.cutByLength() {
			r.dec.Truncated()
		}
	case chat.KindIdle:
		r.emit(e)
	default:
		if e.Kind == chat.KindReasoning {
			r.split()
		}
		if !r.turn.muted.on {
			e.At, e.End = len(r.turn.raw), len(r.turn.raw)
			r.pass(e)
		}
	}
}

// decoded handles what the decoder made of the text.
func (r *run) decoded() {
	for i := range r.events {
		e := &r.events[i]
		if r.turn.over.cut {
			r.behind(*e)
			continue
		}
		if r.remains(e) {
			continue
		}
		switch e.Kind {
		case chat.KindOverrun:
			r.endBlanks()
			r.overran(*e)
		case chat.KindText:
			r.endBlanks()
			r.text(*e)
		case chat.KindCallStart:
			r.start(*e, r.find(e.Name))
		case chat.KindCallArgs:
			r.args(*e)
		case chat.KindCallEnd:
			r.complete(*e, *e.Detail.(*chat.Call))
		case chat.KindRejected:
			r.rejected(*e)
		default:
			switch {
			case r.turn.muted.on:
			case r.turn.call.pending():
				r.turn.call.add(*e)
			case e.Kind == chat.KindMarkup:
				r.markup(*e)
			default:
				if e.Kind == chat.KindReasoning {
					r.endBlanks()
				}
				if !r.turn.repeats.keep(*e) {
					r.pass(*e)
				}
			}
		}
		if r.stopped {
			return
		}
	}
}

// text shows a delta of the answer, unless it repeats what the client already has.
func (r *run) text(e chat.Event) {
	if r.turn.muted.on {
		return
	}
	if r.turn.repeats.active {
		r.compared(e)
		return
	}
	if r.turn.logprobs != nil {
		e.Detail, r.turn.logprobs = r.turn.logprobs, nil
	}
	if r.bufferText(e) || r.bufferFence(e) {
		return
	}
	r.part(e.Text, e.At)
	r.shown = append(r.shown, e.Text...)
	r.emit(e)
}

// part keeps the text of a second answer, which begins at an offset, apart from that of the first, which
// seldom ends with white space.
func (r *run) part(text string, at int) {
	if r.turn.goesOn || text == "" {
		return
	}
	r.turn.goesOn = true
	if n := len(r.shown); n > 0 && !isSpace(r.shown[n-1]) && !isSpace(text[0]) {
		r.shown = append(r.shown, paragraph...)
		r.emit(chat.Event{Kind: chat.KindText, Text: paragraph, At: at, End: at})
	}
}

// paragraph stands between texts that were not written in one go.
const paragraph = "\n\n"

// speak shows the sentences about failed calls, now that all that the model wrote has been
// shown. Anywhere else they would stand in the middle of it.
func (r *run) speak() {
	for _, s := range r.unsaid {
		r.say(s)
	}
	r.unsaid = r.unsaid[:0]
}

// say shows a sentence of our own.
func (r *run) say(sentence string) {
	if len(r.shown) > 0 {
		sentence = paragraph + sentence
	}
	r.shown = append(r.shown, sentence...)
	at := len(r.turn.raw)
	r.emit(chat.Event{Kind: chat.KindText, Text: sentence, At: at, End: at})
}

// flush ends the text and the call that is open.
func (r *run) flush() {
	r.closeText()
	if c := &r.turn.call; c.open { // the backend never ended it
		e := c.start
		e.Kind, e.Detail = chat.KindCallEnd, &chat.Call{ID: e.ID, Name: e.Name, Arguments: string(c.raw),
			Origin: e.Origin}
		r.backendEnd(e)
	}
	r.dropRepetition() // what still repeats at the end
}

// closeText ends the decoding of this response's text.
func (r *run) closeText() {
	if r.turn.plain {
		return
	}
	r.turn.plain = true
	r.events = r.dec.Close(r.events[:0])
	if r.turn.muted.on {
		r.noteOverruns()
		return
	}
	r.decoded()
	r.endTail()
	if !r.turn.muted.on {
		r.endBlanks()
	}
}

// conclude decides what becomes of a response that has ended.
func (r *run) conclude() {
	t := &r.turn
	switch {
	case !t.muted.on:
		t.muted.from = len(t.raw)
	case t.muted.covered < len(t.raw):
		text := string(t.raw[t.muted.covered:])
		r.emit(chat.Event{Kind: chat.KindMarkup, At: t.muted.covered, End: len(t.raw), Text: text})
	}
	if r.serverIgnoresTools() || r.deaf() {
		t.dropped = true
		r.disown()
		return
	}
	if len(t.failures) == 0 && t.calls == 0 {
		r.lookalike()
	}
	r.showFence()
	if len(t.failures) == 0 && r.calls == 0 && r.required() && !(r.req.Attempts && t.tried) && !r.cutByLength() &&
		r.bounceable(reasonNoCall) {
		t.failures = []failure{{reason: reasonNoCall, call: chat.Call{Name: r.req.Choice.Name}}}
	}
	r.logFailures()
	if len(t.failures) == 0 {
		r.flushAnswer()
		return
	}
	if !r.bounceable(t.failures[0].reason) {
		if t.kept.unplaced && t.failures[0].reason == chat.ReasonConfused {
			r.withdraw() // it may be the apology
			t.muted.from = 0
		}
		r.flushAnswer()
		t.muted.on = false
		for i := range t.failures {
			r.convert(&t.failures[i])
		}
		if t.failures[0].reason == chat.ReasonConfused {
			r.callsBehind()
		}
		t.failures = nil
		return
	}
	if t.kept.on {
		t.muted.from = 0
	}
	r.disown()
	r.bounces++
	f := &t.failures[0]
	call := f.call
	var confused []chat.Call
	for _, more := range t.failures[1:] {
		if more.reason == chat.ReasonConfused {
			confused = append(confused, more.call)
		}
	}
	r.emit(chat.Event{Kind: chat.KindBounce, Detail: &chat.BounceDetail{
		Reason: f.reason, Call: &call, Confused: confused, Suppressed: string(t.raw[t.muted.from:]),
		Sent: r.correction(), Left: r.left()}})
}

// left returns how often the model may still be asked again.
func (r *run) left() int {
	if r.o.Bounce.Off {
		return 0
	}
	return r.o.Bounce.Max - r.bounces
}

// required reports whether the request demands a call.
func (r *run) required() bool {
	m := r.req.Choice.Mode
	return len(r.tools) > 0 && (m == chat.ChoiceRequired || m == chat.ChoiceNamed)
}

// cutByLength reports whether the answer ended at its limit, at which another one would end as well.
func (r *run) cutByLength() bool { return r.finish.Reason == chat.FinishLength }

// bounceable reports whether an answer that failed for this reason may be asked for again: not when the
// client has been told of a call, which would then be made twice, nor when calls are unwanted, so that a
// corrected one would be no better.
func (r *run) bounceable(reason chat.Reason) bool {
	if r.req.Choice.Mode == chat.ChoiceNone && reason != ReasonFormat {
		return false
	}
	if r.req.Attempts && reason != reasonNoCall && reason != ReasonFormat {
		return false // the error that it gets is its second chance
	}
	return r.left() > 0 && r.index == 0 && !r.turn.call.released &&
		(reason == reasonNoCall || reason == ReasonFormat || slices.Contains(r.o.Bounce.On, reason))
}

// end sums up.
func (r *run) end() {
	if r.usage.Requests > 0 {
		sum := r.usage
		r.emit(chat.Event{Kind: chat.KindUsage, Detail: &sum})
	}
	f := r.finish
	f.Bounces = r.bounces
	switch {
	case f.Reason == chat.FinishLength || f.Reason == chat.FinishFiltered:
	case r.calls > 0:
		f.Reason = chat.FinishCalls
	default:
		f.Reason = chat.FinishStop
	}
	r.emit(chat.Event{Kind: chat.KindFinish, Detail: &f})
}
