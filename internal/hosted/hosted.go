package hosted

import (
	"cmp"
	"context"
	"iter"
	"log/slog"
	"slices"

	"wield/chat"
)

// A Host runs some of the tools of requests. Several goroutines may use it at once.
type Host interface {
	// Begin returns how a request is answered, or nil if there is nothing to run. It must not change the request. A
	// preview begins a session, too: no tool is called, though servers may be connected to. The caller ends the session
	// with Close.
	Begin(ctx context.Context, req *chat.Request) (*Session, error)
}

// A Session is the answer to one request.
type Session struct {
	Request chat.Request // that the model is asked first
	Runner  Runner
	Opening []chat.Event // in front of the first event of the answer that is more than a sign of life
	Asked   []chat.Call  // that the model made in an earlier answer, and that are run before it is asked
	Calls   int          // that are run at most; 0: 16
	Close   func()       // ends what the session holds; nil: nothing
}

// A Runner runs the calls of one answer, one after another.
type Runner interface {
	// Runs reports whether calls of a name are run here.
	Runs(name string) bool
	// Shown returns the detail of the event that shows a call to the client before it runs; nil: none.
	Shown(ctx context.Context, c *chat.Call) chat.Detail
	// Run runs a call. A failure that the model can do something about is a result with IsError; an error ends the
	// answer.
	Run(ctx context.Context, c *chat.Call) (Outcome, error)
}

// An Outcome holds the result of a call.
type Outcome struct {
	Result chat.Result // for the model; CallID and Name are set by the caller
	Detail chat.Detail // of the event that shows the result to the client; nil: the Result
	Tools  []chat.Tool // that can be called from now on
	Ends   bool        // nothing ran: the answer ends, since the client has to act first
}

// Options of New.
type Options struct {
	Log *slog.Logger // nil: none
}

const defaultCalls = 16

// New returns a model that asks m and runs the tools of h.
func New(m chat.Model, h Host, o Options) chat.Model {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &model{m, h, o}
}

type model struct {
	next chat.Model
	host Host
	o    Options
}

// Stream implements chat.Model.
func (m *model) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	s, err := m.host.Begin(ctx, req)
	switch {
	case err != nil:
		return chat.Fail(err)
	case s == nil:
		return m.next.Stream(ctx, req)
	}
	return func(yield func(chat.Event, error) bool) {
		defer s.close()
		a := toolLoop{model: m, Session: s, req: s.Request}
		if len(s.Asked) > 0 {
			if !a.open(yield) {
				return
			}
			ends, ok := a.run(ctx, &turn{toolLoop: &a, asked: s.Asked}, yield)
			if ends && ok {
				a.end(nil, yield)
			}
			if ends || !ok {
				return
			}
		}
		for a.turn(ctx, yield) {
		}
	}
}

func (s *Session) close() {
	if s.Close != nil {
		s.Close()
	}
}

// Sent implements chat.Previewer. It returns nil if the model behind it does not tell.
func (m *model) Sent(req *chat.Request) (sent *chat.Request, inText bool, err error) {
	behind, ok := m.next.(chat.Previewer)
	if !ok {
		return nil, false, nil
	}
	s, err := m.host.Begin(context.Background(), req)
	if err != nil {
		return nil, false, err
	}
	if s != nil {
		defer s.close()
		req = &s.Request
	}
	return behind.Sent(req)
}

// A toolLoop makes one answer of one or more turns of the model.
type toolLoop struct {
	*model
	*Session
	req   chat.Request // as the model is asked next
	ran   int          // calls
	turns int          // of the model's before this one
	calls int          // that the client has seen
	pause bool         // the client has to act, and asks again
	usage chat.Usage
}

// open emits the opening, once. It comes late, since another model may still answer until something is shown.
func (a *toolLoop) open(yield func(chat.Event, error) bool) bool {
	opening := a.Opening
	a.Opening = nil
	for _, e := range opening {
		if !yield(e, nil) {
			return false
		}
	}
	return true
}

// turn asks the model once. It reports whether to ask again, since the model called only tools that are run here.
func (a *toolLoop) turn(ctx context.Context, yield func(chat.Event, error) bool) bool {
	t := turn{toolLoop: a, running: map[int]bool{}}
	req := a.req // nobody changes a request that a model was given
	for e, err := range a.next.Stream(ctx, &req) {
		if err != nil {
			yield(e, err)
			return false
		}
		if e.Kind != chat.KindIdle && e.Kind != chat.KindTurnStart && !a.open(yield) {
			return false
		}
		if t.take(&e) && !yield(e, nil) {
			return false
		}
	}
	if !a.open(yield) { // the model said nothing
		return false
	}
	a.calls, a.turns = a.calls+t.calls, a.turns+t.last+1
	again := len(t.asked) > 0 && t.calls == 0
	if a.ran += len(t.asked); a.ran > cmp.Or(a.Session.Calls, defaultCalls) {
		a.o.Log.Warn("answer ended: too many calls of hosted tools", "calls", a.ran, "tool", t.asked[0].Name)
		again = false
	} else if len(t.asked) > 0 {
		ends, ok := a.run(ctx, &t, yield)
		if !ok {
			return false
		}
		again = again && !ends
	}
	if !again {
		a.end(t.finish, yield)
	}
	return again
}

// run runs the calls of a turn, and adds them and their results to the conversation. It reports whether the answer
// ends with them, and false if the stream has ended.
func (a *toolLoop) run(ctx context.Context, t *turn, yield func(chat.Event, error) bool) (ends, ok bool) {
	said := t.thinking.Message(t.text.String())
	said.Calls = t.asked
	a.req.Messages = append(slices.Clip(a.req.Messages), said)
	for i := range t.asked {
		c := &t.asked[i]
		show := func(kind chat.Kind, text string, detail chat.Detail) bool {
			return yield(chat.Event{Kind: kind, Origin: chat.OriginNative, Turn: max(a.turns-1, 0), ID: c.ID,
				Name: c.Name, Text: text, Detail: detail}, nil)
		}
		if !show(chat.KindNativeCall, c.Arguments, a.Runner.Shown(ctx, c)) ||
			!yield(chat.Event{Kind: chat.KindIdle}, nil) {
			return false, false
		}
		o, err := a.Runner.Run(ctx, c)
		if err != nil {
			yield(chat.Event{}, err)
			return false, false
		}
		o.Result.CallID, o.Result.Name = c.ID, c.Name
		if o.Detail == nil {
			o.Detail = &o.Result
		}
		m := o.Result.Message()
		if !show(chat.KindNativeResult, m.Text(), o.Detail) {
			return false, false
		}
		ends, a.pause = ends || o.Ends, a.pause || o.Ends
		a.req.Messages = append(a.req.Messages, m)
		a.offer(o.Tools)
	}
	if c := &a.req.Choice; c.Mode == chat.ChoiceRequired || c.Mode == chat.ChoiceNamed { // it was met
		a.req.Choice = chat.Choice{Allowed: c.Allowed}
	}
	return ends, true
}

// offer adds tools to those that can be called.
func (a *toolLoop) offer(found []chat.Tool) {
	for _, t := range found {
		if known := a.req.Tool(t.Name); known == nil || known.Hidden {
			others := slices.DeleteFunc(slices.Clone(a.req.Tools), func(o chat.Tool) bool { return o.Name == t.Name })
			a.req.Tools = append(others, t)
		}
	}
}

// end emits the end of the answer.
func (a *toolLoop) end(finish *chat.Finish, yield func(chat.Event, error) bool) {
	last := max(a.turns-1, 0)
	usage := chat.Event{Kind: chat.KindUsage, Turn: last, Detail: &a.usage}
	if a.usage.Known && !yield(usage, nil) {
		return
	}
	f := chat.Finish{Reason: chat.FinishStop}
	if finish != nil {
		f = *finish
	}
	switch {
	case f.Reason == chat.FinishCalls && a.calls > 0:
	case a.pause:
		f.Reason = chat.FinishPause
	case f.Reason == chat.FinishCalls:
		f.Reason = chat.FinishStop
	}
	yield(chat.Event{Kind: chat.KindFinish, Turn: last, Detail: &f}, nil)
}
