package policy

import (
	"maps"
	"slices"
	"strings"

	"wield/chat"
)

// Always returns the rules that would have allowed this very call, as lines of a configuration file, for a person who
// is asked about it and does not want to be asked again. It is "" when the call is not asked about, or when no rule
// would have been enough, as with a command whose program is known only when it runs.
func (p *Policy) Always(c Action) string {
	rules := p.Propose(c)
	lines := make([]string, len(rules))
	for i, r := range rules {
		lines[i] = r.String()
	}
	return strings.Join(lines, "\n")
}

// Propose returns the rules that Always shows.
func (p *Policy) Propose(c Action) []Rule {
	v := p.Decide(c)
	if v.Decision != chat.DecisionAsk {
		return nil
	}
	var rules []Rule
	for _, f := range v.Findings {
		if f.Decision == chat.DecisionAllow {
			continue
		}
		if f.Fix == nil {
			return nil
		}
		r := *f.Fix
		r.Tool = []string{c.Tool}
		if !slices.ContainsFunc(rules, func(o Rule) bool { return o.String() == r.String() }) {
			rules = append(rules, r)
		}
	}
	with, err := p.With(rules...)
	if err != nil || with.Decide(c).Decision != chat.DecisionAllow {
		return nil
	}
	return rules
}

// thisCall is the rule that allows a call of the tool with the arguments that it has, and no others.
func (e *eval) thisCall() *Rule {
	r := &Rule{Decision: chat.DecisionAllow, Selector: Selector{Tool: []string{e.call.Tool}}}
	args, err := readArguments(first(e.call.Arguments, "{}"))
	members, ok := args.(map[string]any)
	if err != nil || !ok {
		return nil
	}
	if len(members) == 0 {
		return r
	}
	// The star keeps out arguments that this call does not have.
	r.Args = map[string]Predicate{"*": {}}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name == "" || name == "*" || strings.Contains(name, ".") {
			return nil // no rule can name it
		}
		text := valueText(members[name])
		r.Args[name] = Predicate{In: []string{text}}
		all = append(all, text)
	}
	r.Args["*"] = Predicate{In: all}
	return r
}
