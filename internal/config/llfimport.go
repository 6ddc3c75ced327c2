package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"wield/chat"
	"wield/tool/atomicfile"
	"wield/tool/policy"
)

// llfRules are the rules that allow what a registry of LLF let its tools do without asking. Those that it asks about,
// and those that are off, have none.
func llfRules(registry map[string]any) []policy.Rule {
	global := flatten(registry)
	if global["global_config.require_approval"] == true {
		return nil
	}
	asks, _ := global["global_config.sensitive_operations"].([]any)
	list, _ := registry["tools"].([]any)
	var rules []policy.Rule
	for _, t := range list {
		entry, ok := t.(map[string]any)
		if !ok {
			continue
		}
		if s, ok := llfSelector(flatten(entry), asks); ok {
			rules = append(rules, policy.Rule{Decision: chat.DecisionAllow, Selector: s})
		}
	}
	return rules
}

// llfSelector says which calls of a tool ran without a question. Without a whitelist, the tools that touch what a call
// names could do nothing.
func llfSelector(t map[string]any, asks []any) (s policy.Selector, ok bool) {
	name, _ := t["name"].(string)
	kind, _ := t["type"].(string)
	off := t["enabled"] == nil || t["enabled"] == false || t["enabled"] == "false"
	if name == "" || kind != "" && kind != "llm_invokable" && kind != "function_calling" || off ||
		t["metadata.requires_approval"] == true {
		return s, false
	}
	s.Tool = []string{name}
	switch patterns := llfPatterns(name, t); name {
	case "file_access":
		s.Path = patterns
		for _, op := range []policy.Op{policy.OpRead, policy.OpList, policy.OpWrite, policy.OpDelete} {
			changes := op == policy.OpWrite || op == policy.OpDelete
			if slices.Contains(asks, any("file_"+string(op))) || changes && t["metadata.mode"] != "rw" {
				continue
			}
			s.Op = append(s.Op, op)
		}
		return s, len(patterns) > 0 && len(s.Op) > 0
	case "command_exec":
		s.Command = patterns
		return s, len(patterns) > 0 && !slices.Contains(asks, any("command_exec"))
	}
	return s, true
}

// llfPatterns is the whitelist of a tool as rules have it.
func llfPatterns(name string, t map[string]any) (patterns []string) {
	list, _ := t["metadata.whitelist"].([]any)
	root, _ := t["metadata.root_dir"].(string)
	for _, p := range list {
		text, ok := p.(string)
		switch {
		case !ok || text == "":
			continue
		case name != "file_access":
		case !strings.Contains(text, "/"):
			text = "**/" + text // it is about the name alone
			fallthrough
		default:
			if filepath.IsAbs(root) && !filepath.IsAbs(text) {
				text = filepath.ToSlash(filepath.Join(root, text))
			}
		}
		patterns = append(patterns, text)
	}
	return patterns
}

// An LLFImport describes what was written into a configuration.
type LLFImport struct {
	Dir      string // of the tools; empty: the configuration named it already
	Registry string // the same, of a registry that does not lie there
	Rules    []policy.Rule
}

// ImportLLF writes into a configuration file where tools of LLF are, and the rules for what their registry let run
// without asking, so far as they are not there yet. A file that is not there is made. The rest of it stays as it is,
// byte for byte, and means the same.
func ImportLLF(file, dir, registry string, getenv func(string) string) (out LLFImport, err error) {
	data, err := os.ReadFile(registry)
	if err != nil {
		return out, err
	}
	var root map[string]any
	if err := yaml.Unmarshal(data, &root); err != nil || root["tools"] == nil { // JSON is YAML
		return out, fmt.Errorf("%s is no registry of LLF: there are no tools in it", registry)
	}
	old, err := os.ReadFile(file)
	fresh := errors.Is(err, os.ErrNotExist)
	if fresh {
		old, err = []byte("wield: "+Version+"\n"), os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err != nil {
		return out, err
	}
	text, err := importLLF(file, string(old), dir, registry, llfRules(root), getenv, &out)
	switch {
	case err != nil || out.Dir == "" && len(out.Rules) == 0:
		return out, err
	case fresh:
		return out, atomicfile.Write(file, []byte(text), 0o600)
	}
	return out, ReplaceFile(file, []byte(text))
}

func importLLF(file, old, dir, registry string, rules []policy.Rule, getenv func(string) string,
	out *LLFImport) (string, error) {
	o := Options{File: file, Getenv: getenv}
	was, err := Parse(file, []byte(old), o)
	if err != nil {
		return "", err
	}
	text := old
	add := func(line string, path ...string) {
		if err == nil {
			text, err = addLine(text, path, line)
		}
	}
	switch at := was.Tools.LLF; {
	case at.Dir == "" && at.Registry == "":
		out.Dir = dir
		add("dir: "+strconv.Quote(dir), "tools", "llf")
		if filepath.Dir(registry) != dir || filepath.Base(registry) != "tools_registry.json" {
			out.Registry = registry
			add("registry: "+strconv.Quote(registry), "tools", "llf")
		}
	case at.Dir != dir && at.Registry != registry:
		return "", fmt.Errorf("%s names other tools of LLF under tools.llf; to have both, add %s to tools.dirs", file,
			dir)
	}
	known := was.Policies["default"]
	for _, r := range rules {
		if slices.ContainsFunc(known.Rules, func(k Rule) bool { return k.rule().String() == r.String() }) {
			continue
		}
		out.Rules = append(out.Rules, r)
	}
	for _, r := range slices.Backward(out.Rules) { // each goes before the one that is there
		add("- "+r.String(), "policies", "default", "rules")
	}
	if err == nil {
		var is *Result
		if is, err = Parse(file, []byte(text), o); err == nil {
			err = onlyAdded(was.Config, is.Config, out)
		}
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w; write this into it yourself:\n\n%s", ErrNotWritten, file, err, out)
	}
	return text, nil
}

// String returns what is written as a configuration has it.
func (l *LLFImport) String() string {
	var b strings.Builder
	if l.Dir != "" {
		fmt.Fprintf(&b, "tools:\n  llf:\n    dir: %s\n", strconv.Quote(l.Dir))
		if l.Registry != "" {
			fmt.Fprintf(&b, "    registry: %s\n", strconv.Quote(l.Registry))
		}
	}
	if len(l.Rules) > 0 {
		b.WriteString("policies:\n  default:\n    rules:\n")
		for _, r := range l.Rules {
			fmt.Fprintf(&b, "      - %s\n", r)
		}
	}
	return b.String()
}

// onlyAdded checks that a configuration means what another one did and what was added, no more.
func onlyAdded(was, is *Config, added *LLFImport) error {
	want := was.ruleLines("default")
	for _, r := range added.Rules {
		want = append(want, r.String())
	}
	slices.Sort(want)
	llf := was.Tools.LLF
	if added.Dir != "" {
		llf = LLFTools{Dir: added.Dir, Registry: added.Registry}
	}
	if !slices.Equal(is.ruleLines("default"), want) || is.Tools.LLF != llf ||
		!reflect.DeepEqual(was.withoutLLF(), is.withoutLLF()) {
		return errors.New("the change would mean something else")
	}
	return nil
}

// ruleLines returns the rules of a policy as text, in order of the alphabet.
func (c *Config) ruleLines(name string) (lines []string) {
	for _, r := range c.Policies[name].Rules {
		lines = append(lines, r.rule().String())
	}
	slices.Sort(lines)
	return lines
}

// withoutLLF returns what an import leaves as it is.
func (c *Config) withoutLLF() Config {
	rest := c.placeless()
	rest.Tools.LLF = LLFTools{}
	p := rest.Policies["default"]
	p.Rules = nil
	rest.Policies["default"] = p
	if p.Default == "ask" || p.Default == "" { // as if it were not there
		delete(rest.Policies, "default")
	}
	return rest
}
