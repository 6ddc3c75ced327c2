package script

import (
	"context"
	"encoding/json"
	"iter"
	"strconv"
	"strings"
	"time"

	"wield/chat"
)

// A Model is a scenario as a chat.Model, in process. Text comes in the chunks that the scenario cuts, with KindIdle
// before every wait; faults that need a connection have no effect here, except that what breaks a stream ends it with
// an error.
type Model struct {
	player *Player
	key    string
}

// New returns a model that answers from s.
func New(s *Scenario, o Options) *Model {
	return NewModel(NewPlayer(func() (*Scenario, error) { return s, nil }, o), o)
}

// NewModel returns a model that answers as p does, of which o only says the isolation key.
func NewModel(p *Player, o Options) *Model { return &Model{player: p, key: o.Key} }

// Player returns what the model answers from, with its journal.
func (m *Model) Player() *Player { return m.player }

// Stream answers req. See Model.
func (m *Model) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(chat.Event{}, chat.AsError(err))
			return
		}
		key := m.key
		if key == "" {
			key = strings.Clone(req.User) // the journal keeps it, and would keep the body of the request with it
		}
		reply, err := m.player.Play(Input{Request: req, Key: key})
		if err != nil {
			yield(chat.Event{}, chat.AsError(err))
			return
		}
		s := &stream{ctx: ctx, yield: yield, reply: reply}
		s.run(req)
	}
}

// stream sends one reply as events.
type stream struct {
	ctx   context.Context
	yield func(chat.Event, error) bool
	reply *Reply

	at      int // bytes of text so far
	calls   int
	natives int // native calls and results so far
	results int
}

func (s *stream) run(req *chat.Request) {
	steps, broken := breakSteps(s.reply.Steps, s.reply.Faults)
	for i := range steps {
		if !s.sleep(steps[i].Wait) || !s.send(&steps[i]) {
			return
		}
	}
	if broken != nil {
		s.yield(chat.Event{}, broken)
		return
	}
	if s.finish(req) {
		s.reply.Sent()
	}
}

// sleep waits, after saying that nothing more is available now. It reports whether to go on.
func (s *stream) sleep(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	if !s.yield(chat.Event{Kind: chat.KindIdle}, nil) {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.ctx.Done():
		s.yield(chat.Event{}, chat.AsError(s.ctx.Err()))
		return false
	}
}

func (s *stream) send(step *Step) bool {
	e := chat.Event{Origin: chat.OriginFunction, Index: step.Index, ID: step.ID, Name: step.Name, Text: step.Text}
	switch step.Kind {
	case StepText, StepRaw:
		return s.text(step.Text)
	case StepThink:
		return s.yield(chat.Event{Kind: chat.KindReasoning, Text: step.Text}, nil)
	case StepTarget:
		return s.target(step)
	case StepCallStart:
		e.Kind = chat.KindCallStart
	case StepCallArgs:
		e.Kind = chat.KindCallArgs
	case StepCallEnd:
		s.calls++
		e.Kind, e.Text = chat.KindCallEnd, ""
		e.Detail = &chat.Call{Index: step.Index, ID: step.ID, Name: step.Name, Arguments: step.Text,
			Complete: true, Origin: chat.OriginFunction}
	default:
		return true
	}
	return s.yield(e, nil)
}

func (s *stream) text(text string) bool {
	at := s.at
	s.at += len(text)
	return s.yield(chat.Event{Kind: chat.KindText, Text: text, At: at, End: s.at}, nil)
}

// target sends an event of a backend with targets. A call's content may hold several objects.
func (s *stream) target(step *Step) bool {
	switch step.Name {
	case "message":
		return s.text(step.Text)
	case "reasoning":
		return s.yield(chat.Event{Kind: chat.KindReasoning, Text: step.Text}, nil)
	case "tool_call":
		for _, object := range splitObjects(step.Text) {
			name, args := nativeCall(object)
			e := chat.Event{Kind: chat.KindNativeCall, Origin: chat.OriginNative, ID: nativeID(s.natives), Name: name,
				Text: args}
			s.natives++
			if !s.yield(e, nil) {
				return false
			}
		}
	case "tool_result":
		for _, object := range splitObjects(step.Text) {
			e := chat.Event{Kind: chat.KindNativeResult, Origin: chat.OriginNative, ID: nativeID(s.results),
				Text: object}
			s.results++
			if !s.yield(e, nil) {
				return false
			}
		}
	}
	return true
}

func nativeID(i int) string { return "native_" + strconv.Itoa(i) }

// splitObjects cuts a text of JSON objects without separators into the objects. What is no object comes out as it is.
func splitObjects(s string) []string {
	var list []string
	depth, start := 0, 0
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}' && depth > 0:
			if depth--; depth == 0 {
				list = append(list, s[start:i+1])
				start = i + 1
			}
		}
	}
	if start < len(s) {
		list = append(list, s[start:])
	}
	return list
}

// nativeCall reads the content of a call: the arguments stand under arguments or parameters.
func nativeCall(object string) (name, args string) {
	var c struct {
		Name       string          `json:"name"`
		Arguments  json.RawMessage `json:"arguments"`
		Parameters json.RawMessage `json:"parameters"`
	}
	if json.Unmarshal([]byte(object), &c) != nil {
		return "", object
	}
	for _, raw := range []json.RawMessage{c.Arguments, c.Parameters} {
		if len(raw) > 0 && string(raw) != "null" {
			return c.Name, string(raw)
		}
	}
	return c.Name, "{}"
}

func (s *stream) finish(req *chat.Request) bool {
	if f := s.reply.Turn.Fail; f != nil {
		failed := *f
		s.yield(chat.Event{}, &failed)
		return true
	}
	usage := s.reply.Turn.Usage
	usage.Requests = 1
	if !s.yield(chat.Event{Kind: chat.KindUsage, Detail: &usage}, nil) {
		return false
	}
	reason := s.reply.Finish
	if reason == "" {
		reason = chat.FinishStop
		if s.calls > 0 {
			reason = chat.FinishCalls
		}
	}
	return s.yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: reason, Model: req.Model}}, nil)
}
