package runs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"wield/chat"
	"wield/journal"
	"wield/tool"
	"wield/tool/policy"
)

// ErrNoRule says that there is no kept rule of an id.
var ErrNoRule = errors.New("runs: no such rule is kept")

// A KeptRule is one that a person let stand when a question was answered: the call that was asked about, and what is
// like it, is not asked about again. It lasts until it is taken back, or as long as the hub.
type KeptRule struct {
	ID       string
	Agent    string // whose calls it is about
	Text     string // as a line of a configuration file, or several
	Approval string // that it was offered with
	By       string // who kept it
	At       time.Time
}

// kept are the rules that people let stand for one agent. They outlive a change of the configuration.
type kept struct {
	mu      sync.Mutex
	list    []keptRule
	version int // of list
}

type keptRule struct {
	KeptRule
	rules []policy.Rule
}

func (k *kept) now() (rules []policy.Rule, version int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range k.list {
		rules = append(rules, k.list[i].rules...)
	}
	return rules, k.version
}

// change sets the list to what f makes of it.
func (k *kept) change(f func([]keptRule) []keptRule) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = f(k.list)
	k.version++
}

// A ruled policy decides by the policy of an agent with the rules that were kept on top. The strictest rule still
// decides.
type ruled struct {
	base *policy.Policy
	kept *kept

	mu      sync.Mutex
	policy  *policy.Policy // with the rules of version
	version int
}

func (k *ruled) now() *policy.Policy {
	rules, version := k.kept.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.policy != nil && k.version == version {
		return k.policy
	}
	with, err := k.base.With(rules...)
	if err != nil { // a rule of another configuration: what is not understood allows nothing
		with = k.base
	}
	k.policy, k.version = with, version
	return with
}

// Decide implements tool.Decider.
func (k *ruled) Decide(c policy.Action) policy.Verdict { return k.now().Decide(c) }

// Always implements tool.Decider.
func (k *ruled) Always(c policy.Action) string { return k.now().Always(c) }

// Hides implements tool.Decider.
func (k *ruled) Hides(name string) bool { return k.now().Hides(name) }

// keeps makes an agent one whose policy takes rules. h.mu is held.
func (h *Hub) keeps(a *Agent) {
	if a.Runner == nil {
		return
	}
	base, ok := a.Runner.Settings().Policy.(*policy.Policy)
	if !ok || base == nil {
		return
	}
	k := h.rules[a.Name]
	if k == nil {
		k = new(kept)
		h.rules[a.Name] = k
	}
	a.Runner = a.Runner.With(func(s *tool.Settings) { s.Policy = &ruled{base: base, kept: k} })
}

// Rules returns the rules that are kept, in no order of agents.
func (h *Hub) Rules() []KeptRule {
	var all []KeptRule
	for _, k := range h.allKept() {
		k.mu.Lock()
		for i := range k.list {
			all = append(all, k.list[i].KeptRule)
		}
		k.mu.Unlock()
	}
	slices.SortFunc(all, func(a, b KeptRule) int { return a.At.Compare(b.At) })
	return all
}

func (h *Hub) allKept() []*kept {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []*kept
	for _, k := range h.rules {
		all = append(all, k)
	}
	return all
}

// Forget takes a rule back. Calls that it has allowed are not undone.
func (h *Hub) Forget(id string) error {
	for _, k := range h.allKept() {
		found := false
		k.change(func(list []keptRule) []keptRule {
			return slices.DeleteFunc(list, func(r keptRule) bool {
				found = found || r.ID == id
				return r.ID == id
			})
		})
		if found {
			return nil
		}
	}
	return fmt.Errorf("%w: %s", ErrNoRule, id)
}

// An offer is what is kept when a question is answered so.
type offer struct {
	kept *kept
	rule keptRule
}

// offered returns the rules that a question offers, read again from its call, so that nothing but what would have
// allowed it is kept.
func (h *Hub) offered(ctx context.Context, id, by string) (*offer, error) {
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
		return nil, tool.ErrAlways
	}
	e, err := a.Runner.Explain(ctx, chat.Call{ID: p.CallID, Name: p.Tool, Arguments: string(p.Arguments), Complete: true})
	if err != nil || e.Always != p.Always {
		return nil, fmt.Errorf("%w: the rules have changed since the question was put", tool.ErrAlways)
	}
	var random [12]byte
	rand.Read(random[:]) // never fails
	return &offer{keeps.kept, keptRule{
		KeptRule: KeptRule{ID: "rul_" + hex.EncodeToString(random[:]), Agent: a.Name, Text: p.Always, Approval: id, By: by, At: time.Now()},
		rules:    keeps.now().Propose(e.Facts),
	}}, nil
}

// maxKept bounds the rules of one agent. Each is decided by for every call.
const maxKept = 500

// with returns a decision with which the rule is kept. Whoever hears of the decision before it returns, such as the
// run that continues it, finds the rule in force: until then nobody is told which rules are.
func (o *offer) with(decide func() (tool.Approval, error)) func() (tool.Approval, error) {
	return func() (a tool.Approval, err error) {
		o.kept.change(func(list []keptRule) []keptRule {
			if a, err = decide(); err != nil {
				return list
			}
			list = slices.DeleteFunc(list, func(r keptRule) bool { return r.Text == o.rule.Text })
			if len(list) >= maxKept {
				list = slices.Delete(list, 0, 1)
			}
			return append(list, o.rule)
		})
		return a, err
	}
}
