package compose

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"wield/chat"
	"wield/dialect"
	"wield/internal/config"
	"wield/internal/metrics"
	"wield/internal/script"
	"wield/model/route"
	"wield/schema/near"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
)

// An AgentModel is a model as an agent asks it: with the bridge and what it falls back on, and without what
// is there for clients. Its reasoning stays, which has to go back to some servers.
type AgentModel struct {
	Model   chat.Model
	Name    string // as configured
	closers []func()
}

// Close gives back the connections to servers.
func (m *AgentModel) Close() {
	for _, f := range m.closers {
		f()
	}
}

// NewAgentModel builds one model for an agent. What wield itself runs is repaired no more than safely, and emitted
// when it is complete.
func NewAgentModel(c *config.Config, name string, env Environment) (*AgentModel, error) {
	if env.Log == nil {
		env.Log = slog.New(slog.DiscardHandler)
	}
	if env.Catalogue == nil {
		env.Catalogue = script.Catalogue("")
	}
	if env.Metrics == nil {
		env.Metrics = metrics.New("")
	}
	own := *c
	own.Models = maps.Clone(c.Models)
	for name, m := range own.Models {
		if m.Repair == dialect.RepairFull.String() {
			m.Repair = dialect.RepairSafe.String()
		}
		m.Release = "checked"
		own.Models[name] = m
	}
	w := newBuilder(&own, env)
	chain := []chat.Model{}
	for _, next := range append([]string{name}, c.Models[name].Fallback...) {
		b, err := w.bridge(next)
		if err != nil {
			return nil, err
		}
		chain = append(chain, b)
	}
	m := &AgentModel{Model: chain[0], Name: name, closers: w.closers}
	if len(chain) > 1 {
		m.Model = route.Fallback(chain...)
	}
	return m, nil
}

// RunRules are rules that somebody gives for one run: selectors in YAML, such as {command: [git diff]}, or
// names of tools.
type RunRules struct {
	Allow, Deny []string
}

// RunPolicy returns the policy of a run: the one of the given name with the rules on top, of which the
// strictest decides. Where none is configured, what changes nothing and stays on this machine is allowed, and
// all else asked about.
func RunPolicy(r *config.Result, name string, tools []*runner.Entry, rules RunRules,
	protect ...string) (policy.Definition, error) {
	return runPolicy(r.Config, name, tools, rules, append([]string{r.File}, protect...)...)
}

func runPolicy(c *config.Config, name string, tools []*runner.Entry, rules RunRules,
	protect ...string) (policy.Definition, error) {
	if name == "" {
		name = "default"
	}
	def, err := c.PolicyDefinition(name, protect...)
	if err != nil {
		return policy.Definition{}, err
	}
	if len(c.Policies) == 0 {
		var harmless []string
		for _, e := range tools {
			if e.State != tool.StateDisabled && e.Tool.Facts.ReadOnly && !e.Tool.Facts.Network {
				harmless = append(harmless, e.Tool.Name())
			}
		}
		if harmless = append(harmless, trusted(c)...); len(harmless) > 0 { // a rule without tools would be one for all
			def.Rules = append(def.Rules, policy.Rule{Decision: chat.DecisionAllow,
				Selector: policy.Selector{Tool: harmless}})
		}
		def.Rules = append(def.Rules, policy.Rule{Decision: chat.DecisionAllow,
			Selector: policy.Selector{Op: []policy.Op{policy.OpRead, policy.OpList}}})
	}
	for _, side := range []struct {
		flag     string
		texts    []string
		decision chat.Decision
	}{{"--allow", rules.Allow, chat.DecisionAllow}, {"--deny", rules.Deny, chat.DecisionDeny}} {
		for _, text := range side.texts {
			s, err := config.ParseSelector(side.flag, text)
			if err == nil {
				err = namesTools(c, side.flag, text, tools)
			}
			if err != nil {
				return policy.Definition{}, err
			}
			def.Rules = append(def.Rules, policy.Rule{Decision: side.decision, Selector: s})
		}
	}
	return def, nil
}

// trusted returns patterns of the names of tools of MCP servers and workers that run without a question.
func trusted(c *config.Config) (patterns []string) {
	for _, name := range slices.Sorted(maps.Keys(c.MCP.Servers)) {
		for _, pattern := range c.MCP.Servers[name].Trust {
			patterns = append(patterns, name+tool.Separator+pattern)
		}
	}
	for name, p := range c.Workers.Pools {
		for _, pattern := range p.Trust {
			patterns = append(patterns, name+tool.Separator+pattern)
		}
	}
	slices.Sort(patterns)
	return patterns
}

// namesTools reports a rule that is the name of a tool that there is not: mistyped, it would deny nothing. A
// pattern may match none, and the tools of a server that is not connected are not known.
func namesTools(c *config.Config, flag, text string, tools []*runner.Entry) error {
	if !config.ToolName.MatchString(text) || strings.Contains(text, "*") {
		return nil
	}
	var names []string
	for _, e := range tools {
		if e.Tool.Name() == text {
			return nil
		}
		names = append(names, e.Tool.Name())
	}
	server, _, _ := strings.Cut(text, tool.Separator)
	of := func(name string) bool { return strings.HasPrefix(name, server+tool.Separator) }
	if _, ok := c.MCP.Servers[server]; ok && !slices.ContainsFunc(names, of) {
		return nil
	}
	return fmt.Errorf("%s: there is no tool %q%s", flag, text, near.Hint(text, names))
}
