package policy

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"wield/chat"
)

// A Definition is a policy as it is written.
type Definition struct {
	Name    string        // stands in verdicts that no rule decided
	Default chat.Decision // when no rule fits; "" is ask
	Rules   []Rule

	// Protected lists absolute paths of files and directories that are never written to, whatever a rule says: the
	// configuration, the registry of tools, the records of approvals. They need not exist.
	Protected []string
	// Limits bound the arguments of a call.
	Limits ArgumentLimits
	// HardLinks lets files be used that have a second name, which may stand outside of the root.
	HardLinks bool
}

// A Rule says what becomes of the calls that its selector fits.
type Rule struct {
	Decision chat.Decision
	Selector

	// Match and NotMatch are examples. New checks that the rule fits each of the first and none of the second:
	// commands where the rule is about commands, paths where it is about paths ("write x" names an operation), URLs
	// or hosts where it is about hosts, else names of tools. An example that begins with a brace is the arguments of
	// a call.
	Match, NotMatch []string

	File string // where the rule stands; "" when it comes from no file
	Line int
}

// A Selector says which calls a rule is about. All that is given must fit. Command, Path and Host are about different
// subjects, so that only one of them is given; Op goes with Path.
type Selector struct {
	// Tool lists names of tools; * stands for any characters.
	Tool []string
	// Command lists beginnings of commands, word by word: "git diff". A word may give alternatives, as in "git
	// diff|log". A last word * says that any words may follow, also of a program that the table of programs does not
	// know.
	Command []string
	// Path lists patterns relative to the root: * stands for characters of one name, ** for any number of directories.
	// A pattern that begins with a slash is about paths outside of the root.
	Path []string
	// Op lists what is done with the path. Empty: anything.
	Op []Op
	// Host lists host names and addresses: api.example.com, *.example.com, 10.0.0.0/8, localhost:8080, or * for all.
	Host []string
	// Args are conditions on arguments, by the names that lead to them: "depth", "options.mode", "items.*.name".
	Args map[string]Predicate
}

// An Op is an operation on a path.
type Op string

// The operations. There are no others: an operation of another name is denied.
const (
	OpRead   Op = "read"
	OpList   Op = "list"
	OpWrite  Op = "write"
	OpDelete Op = "delete"
)

var ops = []Op{OpRead, OpList, OpWrite, OpDelete}

// changes reports whether the operation leaves something other than it was.
func (o Op) changes() bool { return o == OpWrite || o == OpDelete }

// A Policy decides about calls. It does not change, and may be used by several goroutines.
type Policy struct {
	def     Definition
	rules   []*rule
	ignored *ignoreCache
}

// A rule is one that has been checked and made ready.
type rule struct {
	Rule
	text     string
	tools    []string
	commands []commandPattern
	paths    []pathPattern
	hosts    []hostPattern
	args     []condition
}

// New checks a definition, its examples included, and returns the policy. The error names all rules that cannot be
// used.
func New(def Definition) (*Policy, error) {
	if def.Default == "" {
		def.Default = chat.DecisionAsk
	}
	p := &Policy{def: def, ignored: &ignoreCache{}}
	var errs []error
	if !isDecision(def.Default) {
		errs = append(errs, fmt.Errorf("policy: the default is allow, ask or deny, not %q", def.Default))
	}
	for _, d := range def.Rules {
		r, err := ready(d)
		if err != nil {
			errs = append(errs, &RuleError{Rule: d, Err: err})
			continue
		}
		p.rules = append(p.rules, r)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return p, nil
}

// With returns a policy that has more rules.
func (p *Policy) With(rules ...Rule) (*Policy, error) {
	def := p.def
	def.Rules = append(slices.Clip(def.Rules), rules...)
	q, err := New(def)
	if err != nil {
		return nil, err
	}
	q.ignored = p.ignored
	return q, nil
}

// Rules returns the rules of the policy.
func (p *Policy) Rules() []Rule { return slices.Clone(p.def.Rules) }

// Hides reports whether every call of a tool is denied whatever its arguments, so that there is no use in offering it.
func (p *Policy) Hides(tool string) bool {
	for _, r := range p.rules {
		if r.Decision == chat.DecisionDeny && len(r.Tool) > 0 && r.subject() == SubjectTool && len(r.args) == 0 &&
			r.fitsTool(tool) {
			return true
		}
	}
	return false
}

// A RuleError is a rule that cannot be used.
type RuleError struct {
	Rule Rule
	Err  error
}

// Error tells where the rule stands, what it says and what is wrong with it.
func (e *RuleError) Error() string {
	return strings.TrimSpace(e.Rule.where()+" "+e.Rule.String()) + ": " + e.Err.Error()
}

// Unwrap returns what is wrong with the rule.
func (e *RuleError) Unwrap() error { return e.Err }

func (r Rule) where() string {
	if r.File == "" {
		return ""
	}
	return r.File + ":" + strconv.Itoa(r.Line) + ":"
}

func isDecision(d chat.Decision) bool { return strictness(d) >= 0 }

// strictness orders decisions; -1 is none.
func strictness(d chat.Decision) int {
	switch d {
	case chat.DecisionAllow:
		return 0
	case chat.DecisionAsk:
		return 1
	case chat.DecisionDeny:
		return 2
	}
	return -1
}

// unjudged is the decision about what cannot be judged: to ask, or to deny where that is the default.
func (p *Policy) unjudged() chat.Decision {
	if p.def.Default == chat.DecisionDeny {
		return chat.DecisionDeny
	}
	return chat.DecisionAsk
}

// Check reports whether the rule can be used and its examples are right.
func (r Rule) Check() error {
	_, err := ready(r)
	return err
}

// ready makes a rule ready, and checks its examples.
func ready(d Rule) (*rule, error) {
	r, err := compile(d)
	if err != nil {
		return nil, err
	}
	return r, r.examples()
}

// compile makes a rule ready, without its examples.
func compile(d Rule) (*rule, error) {
	r := &rule{Rule: d, text: d.String()}
	if !isDecision(d.Decision) {
		return nil, fmt.Errorf("a decision is allow, ask or deny, not %q", d.Decision)
	}
	if n := count(d.Command, d.Path, d.Host); n > 1 {
		return nil, errors.New("command, path and host are about different things: write a rule for each")
	} else if n == 0 && len(d.Tool) == 0 && len(d.Args) == 0 && len(d.Op) == 0 {
		return nil, errors.New("says nothing about which calls are meant: give one of tool, command, path, op, host, " +
			"args")
	}
	if len(d.Op) > 0 && (len(d.Command) > 0 || len(d.Host) > 0) {
		return nil, errors.New("op is about paths: it does not go with command or host")
	}
	for _, o := range d.Op {
		if !slices.Contains(ops, o) {
			return nil, fmt.Errorf("no operation %q: there are read, list, write and delete", o)
		}
	}
	for _, t := range d.Tool {
		if _, err := path.Match(t, ""); err != nil || t == "" {
			return nil, fmt.Errorf("%q is no name of a tool", t)
		}
		r.tools = append(r.tools, t)
	}
	for _, text := range d.Command {
		c, err := compileCommand(text, d.Decision)
		if err != nil {
			return nil, err
		}
		r.commands = append(r.commands, c)
	}
	for _, text := range d.Path {
		c, err := compilePath(text)
		if err != nil {
			return nil, err
		}
		r.paths = append(r.paths, c)
	}
	for _, text := range d.Host {
		h, err := compileHost(text)
		if err != nil {
			return nil, err
		}
		r.hosts = append(r.hosts, h)
	}
	for _, name := range slices.Sorted(maps.Keys(d.Args)) {
		c, err := compileCondition(name, d.Args[name])
		if err != nil {
			return nil, fmt.Errorf("args.%s: %w", name, err)
		}
		r.args = append(r.args, c)
	}
	return r, nil
}

func count(lists ...[]string) (n int) {
	for _, l := range lists {
		if len(l) > 0 {
			n++
		}
	}
	return n
}

// subject says what kind of subject the rule is about; SubjectTool means any.
func (r *rule) subject() Subject {
	switch {
	case len(r.commands) > 0:
		return SubjectCommand
	case len(r.paths) > 0 || len(r.Op) > 0:
		return SubjectPath
	case len(r.hosts) > 0:
		return SubjectHost
	}
	return SubjectTool
}

func (r *rule) fitsTool(name string) bool {
	if len(r.tools) == 0 {
		return true
	}
	return slices.ContainsFunc(r.tools, func(glob string) bool {
		ok, _ := path.Match(glob, name) // checked by compile
		return ok
	})
}

// String returns the rule as a line of a configuration file, without its examples.
func (r Rule) String() string {
	var parts []string
	list := func(key string, words []string) {
		if len(words) > 0 {
			quoted := make([]string, len(words))
			for i, w := range words {
				quoted[i] = yamlWord(w)
			}
			parts = append(parts, key+": ["+strings.Join(quoted, ", ")+"]")
		}
	}
	list("tool", r.Tool)
	list("command", r.Command)
	list("path", r.Path)
	words := make([]string, len(r.Op))
	for i, o := range r.Op {
		words[i] = string(o)
	}
	list("op", words)
	list("host", r.Host)
	if len(r.Args) > 0 {
		var args []string
		for _, name := range slices.Sorted(maps.Keys(r.Args)) {
			args = append(args, fmt.Sprintf("%s: %s", yamlWord(name), r.Args[name]))
		}
		parts = append(parts, "args: {"+strings.Join(args, ", ")+"}")
	}
	return fmt.Sprintf("%s: {%s}", r.Decision, strings.Join(parts, ", "))
}

// yamlWord writes text so that YAML reads it back as the same text inside of a flow list.
func yamlWord(s string) string {
	for i, c := range s {
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
			i > 0 && (c >= '0' && c <= '9' || c == '.' || c == '/' || c == '-' || c == '_')
		if !plain {
			return strconv.Quote(s)
		}
	}
	switch strings.ToLower(s) {
	case "", "true", "false", "yes", "no", "on", "off", "null", "y", "n":
		return strconv.Quote(s)
	}
	return s
}
