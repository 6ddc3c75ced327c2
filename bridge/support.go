package bridge

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"wield/chat"
)

// defaultMemory limits how long a Support remembers: a server that was restarted with other flags is noticed that soon.
const defaultMemory = time.Hour

// maxSupport limits the models and forms that a Support remembers at a time.
const maxSupport = 1024

// Support remembers what models have refused, and what probes have found. The zero value is ready, and safe
// for concurrent use.
type Support struct {
	For time.Duration // how long it remembers; 0: one hour. It is not changed once the Support is in use

	mu    sync.Mutex
	seed  maphash.Seed
	known map[supportKey]finding
	rules map[string]chat.Rules // of models' templates, which do not change
}

// A supportKey names what is known: whether a model takes tools, or whether it can be held to a form or to forms of a
// kind.
type supportKey struct {
	model string
	form  uint64 // hash of the form, which is odd; the kind, twice; 0: tools
}

type finding struct {
	refused bool
	dropped bool // the tools, without a word
	takes   bool // tools: prompts are longer with them
	until   time.Time
}

// Refused reports whether it is known that the model of this name takes no tools.
func (s *Support) Refused(model string) bool {
	f, _ := s.find(supportKey{model: model})
	return f.refused
}

// SetRefused remembers that the model of this name takes no tools, or that it does.
func (s *Support) SetRefused(model string, refused bool) { s.set(supportKey{model: model}, refused) }

func (s *Support) find(key supportKey) (finding, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.known[key]
	if ok && !time.Now().Before(f.until) {
		delete(s.known, key)
		return finding{}, false
	}
	return f, ok
}

// takesTools reports whether it is known that the server of this model gives it the tools.
func (s *Support) takesTools(model string) bool {
	f, _ := s.find(supportKey{model: model})
	return f.takes
}

// drops reports whether it is known that the server of this model drops tools without a word.
func (s *Support) drops(model string) bool {
	f, _ := s.find(supportKey{model: model})
	return f.dropped
}

func (s *Support) set(key supportKey, refused bool) { s.learn(key, finding{refused: refused}) }

func (s *Support) learn(key supportKey, f finding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	memory := s.For
	if memory <= 0 {
		memory = defaultMemory
	}
	if s.known == nil {
		s.known = make(map[supportKey]finding)
	}
	if len(s.known) >= maxSupport {
		for k := range s.known { // any one: what is in use is found out again
			delete(s.known, k)
			break
		}
	}
	key.model = strings.Clone(key.model) // else it would keep the body of a request
	f.until = time.Now().Add(memory)
	s.known[key] = f
}

// claim reports whether nothing is known for a key and nobody else is finding out. Until whoever claimed it
// knows more, the model counts as one that takes tools.
func (s *Support) claim(key supportKey) bool {
	if _, known := s.find(key); known {
		return false
	}
	s.set(key, false)
	return true
}

func (s *Support) forget(key supportKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, key)
}

// formKey is the key for holding a model to a form.
func (s *Support) formKey(model string, f *chat.Format) supportKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = make(map[supportKey]finding)
	}
	if s.seed == (maphash.Seed{}) {
		s.seed = maphash.MakeSeed()
	}
	// 0 stands for tools
	return supportKey{model, maphash.Bytes(s.seed, slices.Concat([]byte{byte(f.Kind)}, f.Schema, []byte(f.Grammar))) |
		1}
}

// takes reports whether the model is not known to refuse a form, or all of its kind.
func (s *Support) takes(model string, f *chat.Format) bool {
	form, _ := s.find(s.formKey(model, f))
	return !form.refused && !s.refuses(model, f.Kind)
}

// refuses reports whether the model is known to refuse all forms of a kind.
func (s *Support) refuses(model string, kind chat.FormatKind) bool {
	f, _ := s.find(kindKey(model, kind))
	return f.refused
}

func kindKey(model string, kind chat.FormatKind) supportKey {
	return supportKey{model, 2 * uint64(kind)}
}

// refuse remembers that the model refuses a form, by the code of its refusal.
func (s *Support) refuse(model string, f *chat.Format, code string) {
	key := s.formKey(model, f)
	if code == chat.CodeFormatKindUnsupported && f.Kind != chat.FormatText {
		key = kindKey(model, f.Kind)
	}
	s.set(key, true)
}

// Rules returns what is known of the template of this model.
func (s *Support) Rules(model string) chat.Rules {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rules[model]
}

// SetRules remembers the rules of a model's template.
func (s *Support) SetRules(model string, rules chat.Rules) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rules == nil || len(s.rules) >= maxSupport {
		s.rules = make(map[string]chat.Rules)
	}
	s.rules[strings.Clone(model)] = rules
}

// learnRules adds what a refusal tells of a template's rules. It reports whether that is anything new: the second
// refusal leaves nothing but the strictest rules.
func (s *Support) learnRules(model, refusal string) bool {
	old := s.Rules(model)
	rules := old
	refusal = strings.ToLower(refusal)
	switch {
	case strings.Contains(refusal, "system") && !strings.Contains(refusal, "alternate") &&
		!strings.Contains(refusal, "user/assistant"):
		rules.SystemFirst = true
		rules.NoSystem = rules.NoSystem || old.SystemFirst || strings.Contains(refusal, "not supported")
	default:
		rules.Alternate, rules.SystemFirst, rules.UserFirst, rules.NoTool, rules.NoCalls = true, true, true, true, true
		rules.NoSystem = rules.NoSystem || old.Alternate
	}
	s.SetRules(model, rules)
	return rules != old
}

// The probe asks for a call that any model which is shown its tools makes.
const (
	probeTool   = "ping"
	probeText   = "Call the function ping now. Do not answer in words."
	probeTokens = 512 // room for a model that thinks first
)

// probe finds out whether a model takes tools: whether it calls one that it is told to call. A server that
// drops tools without a word, or hands on a model's call as text, fails it like one that refuses. Of any
// other error nothing is learned.
func (r *run) probe() {
	key := supportKey{model: r.req.Model}
	if !r.o.Support.claim(key) {
		return
	}
	called, err := false, error(nil)
	r.model.Stream(r.ctx, &chat.Request{
		Model:    r.req.Model,
		Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text(probeText)}},
		Tools: []chat.Tool{{Name: probeTool, Description: "Answers pong.",
			Parameters: []byte(`{"type":"object","properties":{}}`)}},
		Choice:    chat.Choice{Mode: chat.ChoiceRequired},
		MaxTokens: probeTokens,
	})(func(e chat.Event, failed error) bool {
		err = failed
		called = called || e.Kind == chat.KindCallStart && e.Name == probeTool
		return err == nil && !called
	})
	switch e := chat.AsError(err); {
	case called:
		r.o.Support.learn(key, finding{takes: true})
	case e == nil, e.Code == chat.CodeToolsUnsupported:
		r.o.Support.SetRefused(r.req.Model, true)
	default:
		r.o.Support.forget(key)
	}
}

// refusal handles an error that came before the answer, where a request that asks for less may do: one
// without tools, or without a form that the backend is held to. It reports whether there is such a request.
func (r *run) refusal(err error) (*chat.Request, bool) {
	e := chat.AsError(err)
	switch {
	case r.turn.open:
		return nil, false
	case e.Code == chat.CodeRolesRefused && r.o.Support.learnRules(r.req.Model, e.Message):
		if r.turn.attempt != 1 {
			return r.kept(r.turn.sent), true
		}
		r.mode = r.modeOf()
	case (e.Code == chat.CodeFormatUnsupported || e.Code == chat.CodeFormatKindUnsupported) && r.constrained != nil:
		r.o.Support.refuse(r.req.Model, r.constrained, e.Code)
		if r.turn.attempt != 1 {
			again := *r.turn.sent
			again.Format, r.constrained = nil, nil
			return &again, true
		}
	case r.turn.attempt != 1:
		return nil, false
	case e.Code == chat.CodeToolsUnsupported && r.mode == ModeNative && r.o.Mode == ModeAuto:
		r.o.Support.SetRefused(r.req.Model, true)
		if r.toText() != nil {
			return nil, false
		}
	case e.Code == chat.CodeToolsUnsupported && r.asTool():
		r.form.onlyTold = true
	default:
		return nil, false
	}
	req, err := r.render()
	return req, err == nil // what cannot be rendered otherwise fails with the error that there is
}
