package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool/policy"
	"wield/tool/runner"
)

// ErrNoRule says that there is no kept rule of an id.
var ErrNoRule = errors.New("runs: no such rule is kept")

// errNotKept says that a call was allowed, but not those like it.
var errNotKept = errors.New("runs: the call is allowed, but its rule could not be kept")

// A KeptRule is one that a person let stand when a question was answered: the call that was asked about, and what is
// like it, is not asked about again. It lasts until it is taken back, at all hubs of the journal.
type KeptRule struct {
	ID       string
	Agent    string // whose calls it is about
	Text     string // as a line of a configuration file, or several
	Approval string // that it was offered with
	By       string // who kept it
	At       time.Time
}

// keptRules are the rules that people let stand. They are those of the last record of their stream.
type keptRules struct {
	mu      sync.Mutex
	list    []keptRule
	seq     int64 // of the record that the list is
	changed int   // how often the list has
}

type keptRule struct {
	KeptRule
	Rules []policy.Rule
}

// rulesStream is the stream of the kept rules of all agents.
const rulesStream = "rules"

func (k *keptRules) now(agent string) (rules []policy.Rule, changed int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.list {
		if k.list[i].Agent == agent {
			rules = append(rules, k.list[i].Rules...)
		}
	}
	return rules, k.changed
}

// set takes the list of a record. Whoever calls it holds mu.
func (k *keptRules) set(seq int64, list []keptRule) {
	k.list, k.seq, k.changed = list, seq, k.changed+1
}

// take takes the list that a record holds, if it is a later one. What cannot be read allows nothing.
func (k *keptRules) take(e *journal.Entry) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e.Seq <= k.seq {
		return nil
	}
	var list []keptRule
	if err := json.Unmarshal(e.Record.Object.Data, &list); err != nil {
		k.set(e.Seq, nil)
		return fmt.Errorf("the kept rules cannot be read, and none is in force: %w", err)
	}
	k.set(e.Seq, list)
	return nil
}

// change writes what f makes of the list into the journal, from where every hub takes it. Whoever calls it holds mu.
func (k *keptRules) change(ctx context.Context, store journal.Store, f func([]keptRule) ([]keptRule, error)) error {
	for {
		list, err := f(slices.Clone(k.list))
		if err != nil {
			return err
		}
		data, err := json.Marshal(list)
		if err != nil {
			return err
		}
		_, err = store.Append(ctx, rulesStream, k.seq,
			record.Record{Kind: record.KindRules, Object: &record.Object{Type: rulesStream, Data: data}})
		switch {
		case err == nil:
			k.set(k.seq+1, list)
			return nil
		case !errors.Is(err, journal.ErrConflict):
			return err
		}
		k.mu.Unlock() // another hub was faster
		err = loadRules(ctx, store, k)
		k.mu.Lock()
		if err != nil {
			return err
		}
	}
}

// loadRules takes the rules that the journal has.
func loadRules(ctx context.Context, store journal.Store, k *keptRules) error {
	for head, err := range store.Heads(ctx, journal.HeadQuery{Stream: rulesStream}) {
		if err != nil {
			return err
		}
		for e, err := range store.Read(ctx, journal.Query{Stream: rulesStream, Seq: head.Seq - 1}) {
			if err == nil {
				err = k.take(&e)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// A ruled policy decides by the policy of an agent with the rules that were kept on top. The strictest rule still
// decides.
type ruled struct {
	base  *policy.Policy
	agent string
	kept  *keptRules

	mu      sync.Mutex
	policy  *policy.Policy // with the rules as they were when they had changed so often
	changed int
}

func (k *ruled) now() *policy.Policy {
	rules, changed := k.kept.now(k.agent)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.policy != nil && k.changed == changed {
		return k.policy
	}
	with, err := k.base.With(rules...)
	if err != nil { // a rule of another configuration: what is not understood allows nothing
		with = k.base
	}
	k.policy, k.changed = with, changed
	return with
}

// Decide implements runner.Decider.
func (k *ruled) Decide(c policy.Action) policy.Verdict { return k.now().Decide(c) }

// Always implements runner.Decider.
func (k *ruled) Always(c policy.Action) string { return k.now().Always(c) }

// Hides implements runner.Decider.
func (k *ruled) Hides(name string) bool { return k.now().Hides(name) }

// Egress implements runner.Decider.
func (k *ruled) Egress(name string, o policy.EgressOptions) *policy.Egress {
	return k.now().Egress(name, o)
}

// keeps makes an agent one whose policy takes rules.
func (h *Hub) keeps(a *Agent) {
	if a.Runner == nil {
		return
	}
	base, ok := a.Runner.Settings().Policy.(*policy.Policy)
	if !ok || base == nil {
		return
	}
	name := a.Name
	a.Runner = a.Runner.With(func(s *runner.Settings) { s.Policy = &ruled{base: base, agent: name, kept: &h.rules} })
}

// Rules returns the rules that are kept, the oldest first.
func (h *Hub) Rules() []KeptRule {
	h.rules.mu.Lock()
	defer h.rules.mu.Unlock()
	var all []KeptRule
	for i := range h.rules.list {
		all = append(all, h.rules.list[i].KeptRule)
	}
	return all
}

// Forget takes a rule back, at all hubs of the journal. Calls that it has allowed are not undone.
func (h *Hub) Forget(ctx context.Context, id string) error {
	h.rules.mu.Lock()
	defer h.rules.mu.Unlock()
	return h.rules.change(ctx, h.store, func(list []keptRule) ([]keptRule, error) {
		less := slices.DeleteFunc(list, func(r keptRule) bool { return r.ID == id })
		if len(less) == len(list) {
			return nil, fmt.Errorf("%w: %s", ErrNoRule, id)
		}
		return less, nil
	})
}

// offered returns the rules that a question offers, read again from its call, so that nothing but what would have
// allowed it is kept.
func (h *Hub) offered(ctx context.Context, id, by string) (*keptRule, error) {
	approvals := journal.Approvals{Store: h.store}
	p, err := approvals.Find(ctx, id)
	if err != nil {
		return nil, err
	}
	k, err := h.look(ctx, p.Run)
	if err != nil {
		return nil, err
	}
	a, err := h.agent(k.run.Agent)
	if err != nil {
		return nil, err
	}
	keeps, ok := a.Runner.Settings().Policy.(*ruled)
	if !ok || p.Always == "" {
		return nil, runner.ErrAlways
	}
	e, err := a.Runner.Explain(ctx, chat.Call{ID: p.CallID, Name: p.Tool, Arguments: string(p.Arguments),
		Complete: true})
	if err != nil || e.Always != p.Always {
		return nil, fmt.Errorf("%w: the rules have changed since the question was put", runner.ErrAlways)
	}
	return &keptRule{
		KeptRule: KeptRule{ID: journal.NewID("rul"), Agent: a.Name, Text: p.Always, Approval: id, By: by,
			At: time.Now()},
		Rules: keeps.now().Propose(e.Facts),
	}, nil
}

// maxKept bounds the rules of one agent. Each is decided by for every call.
const maxKept = 500

// keep decides and keeps a rule. Whoever hears of the decision before it returns, such as the run that continues it,
// finds the rule in force here: until then nobody is told which rules are.
func (h *Hub) keep(ctx context.Context, rule *keptRule,
	decide func() (runner.Approval, error)) (runner.Approval, error) {
	h.rules.mu.Lock()
	defer h.rules.mu.Unlock()
	a, err := decide()
	if err != nil {
		return a, err
	}
	err = h.rules.change(ctx, h.store, func(list []keptRule) ([]keptRule, error) {
		list = slices.DeleteFunc(list, func(r keptRule) bool { return r.Agent == rule.Agent && r.Text == rule.Text })
		own := 0
		for i := range list {
			if list[i].Agent == rule.Agent {
				own++
			}
		}
		if own >= maxKept {
			first := slices.IndexFunc(list, func(r keptRule) bool { return r.Agent == rule.Agent })
			list = slices.Delete(list, first, first+1)
		}
		return append(list, *rule), nil
	})
	if err != nil {
		err = fmt.Errorf("%w: %w", errNotKept, err)
	}
	return a, err
}
