package config

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"wield/chat"
	"wield/schema/near"
	"wield/tool/policy"
)

// A Policy decides about calls.
type Policy struct {
	Default string `key:"default" enum:"allow|ask|deny" doc:"Decision when no rule matches."`
	Extends string `key:"extends" enum:"everyday" doc:"Adds what a built-in policy allows. everyday: reading, building and testing."`
	Rules   []Rule `key:"rules" doc:"Rules; the strictest match decides."`
}

// A Rule holds exactly one of allow, ask and deny, and examples that it is tested with when the file is read.
type Rule struct {
	Allow    *Selector `key:"allow" doc:"Calls that run."`
	Ask      *Selector `key:"ask" doc:"Calls that need approval."`
	Deny     *Selector `key:"deny" doc:"Calls that never run."`
	Match    []string  `key:"match" doc:"Examples that must match: commands, paths, hosts, tools, or arguments as JSON."`
	NotMatch []string  `key:"not_match" doc:"Examples that must not match."`
}

// A Selector says which calls a rule is about. All that is given must fit.
type Selector struct {
	Tool    []string             `key:"tool" names:"tools" doc:"Tool names; * is a wildcard."`
	Command []string             `key:"command" doc:"Command prefixes, word by word, such as git diff or git diff|log. A final * is any words."`
	Path    []string             `key:"path" doc:"Path patterns relative to the workspace; ** crosses directories."`
	Op      []string             `key:"op" enum:"read|list|write|delete" doc:"Operation on the path. Empty: any."`
	Host    []string             `key:"host" doc:"Hosts: api.example.com, *.example.com, 10.0.0.0/8, localhost:8080, *."`
	Args    map[string]Condition `key:"args" doc:"Conditions on arguments by name; a.b is nested, * is each item."`

	At Place // where it stands in the file; not a key
}

// A Condition is one on the value of an argument. All that is given must hold.
type Condition struct {
	In      []string `key:"in" doc:"Allowed values."`
	NotIn   []string `key:"not_in" doc:"Excluded values."`
	Pattern string   `key:"pattern" doc:"Regular expression (RE2) for the whole value."`
	Min     *int     `key:"min" doc:"Minimum."`
	Max     *int     `key:"max" doc:"Maximum."`
	Present *bool    `key:"present" doc:"Whether the argument is present."`
}

// A Place locates something in a file.
type Place struct {
	File string
	Line int
}

func (p *Policy) setDefaults() { p.Default = "ask" }

func (p *Policy) check(d *decoder, path string) {
	for i := range p.Rules {
		p.Rules[i].check(d, fmt.Sprintf("%s.rules[%d]", path, i))
	}
}

// check finds out what no key tells by itself, with the examples of the rule, and notes where the rule stands.
func (r *Rule) check(d *decoder, path string) {
	n := 0
	for _, s := range r.selectors() {
		if *s.selector == nil {
			continue
		}
		n++
		(*s.selector).At = d.placeOf(path)
	}
	if n != 1 {
		d.at(path, "a rule holds exactly one of allow, ask and deny; this one holds %d", n)
		return
	}
	err := r.rule().Check()
	if err == nil || d.failedBelow(path) {
		return
	}
	message := err.Error()
	if key, rest, ok := strings.Cut(message, ": "); ok && (key == "match" || key == "not_match") {
		path, message = path+"."+key, rest
	}
	d.at(path, "%s", message)
}

// placeOf returns where a key or an item of a list stands.
func (d *decoder) placeOf(path string) Place {
	where, ok := d.places[path]
	if !ok {
		return Place{}
	}
	at := where.key
	if at == nil {
		at = firstToken(where.value)
	}
	if at == nil {
		return Place{}
	}
	return Place{File: d.file, Line: at.Position.Line}
}

// failedBelow reports whether something is wrong with a value below path.
func (d *decoder) failedBelow(path string) bool {
	for _, p := range d.problems {
		if strings.HasPrefix(p.Path, path) && !p.Warning {
			return true
		}
	}
	return false
}

// selectors lists the selectors of a rule with what they decide.
func (r *Rule) selectors() []struct {
	decision chat.Decision
	selector **Selector
} {
	return []struct {
		decision chat.Decision
		selector **Selector
	}{{chat.DecisionAllow, &r.Allow}, {chat.DecisionAsk, &r.Ask}, {chat.DecisionDeny, &r.Deny}}
}

// rule returns the rule as package policy has it.
func (r *Rule) rule() policy.Rule {
	out := policy.Rule{Match: r.Match, NotMatch: r.NotMatch}
	for _, s := range r.selectors() {
		if sel := *s.selector; sel != nil {
			out.Decision, out.File, out.Line = s.decision, sel.At.File, sel.At.Line
			out.Selector = sel.selector()
		}
	}
	return out
}

func (s *Selector) selector() policy.Selector {
	out := policy.Selector{Tool: s.Tool, Command: s.Command, Path: s.Path, Host: s.Host}
	for _, o := range s.Op {
		out.Op = append(out.Op, policy.Op(o))
	}
	for name, c := range s.Args {
		if out.Args == nil {
			out.Args = map[string]policy.Predicate{}
		}
		out.Args[name] = policy.Predicate(c)
	}
	return out
}

// ErrNoPolicy says that no policy has the name.
var ErrNoPolicy = errors.New("no policy of that name")

// PolicyDefinition returns the policy of a name. The default one is there even if the file has none: it asks about
// everything. The files of the configuration itself, and those of protect, are never written to.
func (r *Result) PolicyDefinition(name string, protect ...string) (policy.Definition, error) {
	return r.Config.PolicyDefinition(name, append([]string{r.File}, protect...)...)
}

func (c *Config) PolicyDefinition(name string, protect ...string) (policy.Definition, error) {
	p, ok := c.Policies[name]
	if !ok {
		if name != "default" || len(c.Policies) > 0 {
			return policy.Definition{},
				fmt.Errorf("%w: %q%s", ErrNoPolicy, name, near.Hint(name, slices.Sorted(maps.Keys(c.Policies))))
		}
		p.setDefaults()
	}
	def := policy.Definition{Name: name, Default: chat.Decision(p.Default)}
	rules := p.Rules
	if p.Extends == everyday {
		allowed, err := everydayRules()
		if err != nil {
			return policy.Definition{}, err
		}
		rules = slices.Concat(rules, allowed)
	}
	for i := range rules {
		def.Rules = append(def.Rules, rules[i].rule())
	}
	for _, file := range protect {
		if file == "" {
			continue
		}
		abs, err := filepath.Abs(file)
		if err != nil {
			return policy.Definition{}, err
		}
		def.Protected = append(def.Protected, abs)
	}
	return def, nil
}

const everyday = "everyday"

// everydayRules returns what the everyday policy allows and asks about. What it denies is for a file to say, since
// nothing can allow it again.
func everydayRules() ([]Rule, error) {
	r, err := Parse(everyday, []byte(policy.Everyday()), Options{Getenv: func(string) string { return "" }})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(r.Policies["default"].Rules, func(r Rule) bool { return r.Deny != nil }), nil
}

var ToolName = regexp.MustCompile(`^[A-Za-z0-9_.*-]+$`)

// ParseSelector reads a rule of the command line.
func ParseSelector(flag, text string) (policy.Selector, error) {
	if ToolName.MatchString(text) {
		return policy.Selector{Tool: []string{text}}, nil
	}
	var s Selector
	d := newDecoder(flag)
	d.decode([]byte(text), &s)
	if errs, _ := d.done().split(); len(errs) > 0 {
		return policy.Selector{}, fmt.Errorf("%w\nA rule is the name of a tool, or a mapping such as {command: [git "+
			"diff]}, {path: [\"docs/**\"], op: [write]}, {host: [example.com]}", errs)
	}
	rule := policy.Rule{Decision: chat.DecisionAllow, Selector: s.selector()}
	return rule.Selector, rule.Check()
}
