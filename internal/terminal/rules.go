package terminal

import (
	"errors"
	"sync"

	"wield/tool/policy"
)

// Rules are a policy to which a person adds rules while the conversation goes on. They last as long as it does, or
// for good if Lasting keeps them. Several goroutines may use one at once.
type Rules struct {
	// Lasting keeps rules for later conversations in the same directory; nil: nobody does.
	Lasting func(rules []policy.Rule) error

	mu      sync.Mutex
	policy  *policy.Policy
	offered map[string][]policy.Rule // by their text
}

// NewRules returns rules that are those of p.
func NewRules(p *policy.Policy) *Rules { return &Rules{policy: p, offered: map[string][]policy.Rule{}} }

func (r *Rules) now() *policy.Policy {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.policy
}

// Decide decides whether a call may run.
func (r *Rules) Decide(c policy.Action) policy.Verdict { return r.now().Decide(c) }

// Hides reports whether every call of a tool is denied.
func (r *Rules) Hides(tool string) bool { return r.now().Hides(tool) }

// Egress lets calls of a tool out to the network, as far as the rules allow.
func (r *Rules) Egress(tool string, o policy.EgressOptions) *policy.Egress {
	return r.now().Egress(tool, o)
}

// Always returns the rules that would have allowed a call, as text.
func (r *Rules) Always(c policy.Action) string {
	p := r.now()
	text := p.Always(c)
	if text != "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.offered[text] = p.Propose(c)
	}
	return text
}

// errNotOffered is the failure of Keep for a rule that comes from somewhere else.
var errNotOffered = errors.New("this rule was not offered in this conversation")

// errNoPlace is the failure of Keep where nothing keeps rules for later.
var errNoPlace = errors.New("there is no place for rules of later conversations")

// Keep makes a rule that was offered one of the policy, and of later conversations in the same directory if it is to
// last.
func (r *Rules) Keep(text string, lasting bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	rules, ok := r.offered[text]
	if !ok {
		return errNotOffered
	}
	with, err := r.policy.With(rules...)
	switch {
	case err != nil:
		return err
	case lasting && r.Lasting == nil:
		return errNoPlace
	case lasting:
		err = r.Lasting(rules)
	}
	if err == nil {
		r.policy = with
	}
	return err
}

// Lasts reports whether rules can be kept for later conversations.
func (r *Rules) Lasts() bool { return r.Lasting != nil }
