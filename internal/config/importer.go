package config

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/goccy/go-yaml"
)

// A Source is a program whose configuration can be read.
type Source string

// The sources.
const (
	LumoTamer Source = "lumo-tamer"
	LLF       Source = "llf"
)

// Import returns a configuration that says what a file of another program says, as far as there is something
// like it here, and notes of what has to be done by hand. Secrets are never copied.
func Import(from Source, data []byte) (text string, notes []string, err error) {
	var root any
	if err := yaml.Unmarshal(data, &root); err != nil { // JSON is YAML
		return "", nil, fmt.Errorf("the file cannot be read: %w", err)
	}
	m, ok := root.(map[string]any)
	if !ok {
		return "", nil, errors.New("the file holds no keys")
	}
	i := importer{from: flatten(m), to: map[string]any{"wield": Version}, used: map[string]bool{}}
	switch from {
	case LumoTamer:
		i.lumoTamer()
	case LLF:
		i.llf(m)
	default:
		return "", nil, fmt.Errorf("%q is none of %s, %s", from, LumoTamer, LLF)
	}
	i.rest()
	body, err := yaml.MarshalWithOptions(i.to, yaml.Indent(2), yaml.IndentSequence(true))
	if err != nil {
		return "", nil, err
	}
	text = "# Made from a configuration of " + string(from) + ".\n"
	for _, n := range i.notes {
		text += "# " + n + "\n"
	}
	text += string(body)
	if _, err := Parse("imported", []byte(text), Options{Getenv: func(string) string { return "" }}); err != nil {
		return text, i.notes, fmt.Errorf("what came out of it has problems: %w", err)
	}
	return text, i.notes, nil
}

// An importer carries values from one tree of keys to another.
type importer struct {
	from  map[string]any  // by path
	to    map[string]any  // a tree
	used  map[string]bool // paths of from
	notes []string
}

// flatten returns the values of a tree by their paths; lists are values.
func flatten(m map[string]any) map[string]any {
	flat := map[string]any{}
	for k, v := range m {
		if below, ok := v.(map[string]any); ok {
			for path, v := range flatten(below) {
				flat[k+"."+path] = v
			}
			continue
		}
		flat[k] = v
	}
	return flat
}

// take returns the first of the values at paths, which counts as read.
func (i *importer) take(paths ...string) (v any, ok bool) {
	for _, p := range paths {
		if got, there := i.from[p]; there {
			i.used[p] = true
			if !ok {
				v, ok = got, true
			}
		}
	}
	return v, ok && v != nil
}

// put sets a value in the tree that is made.
func (i *importer) put(v any, path ...string) {
	m := i.to
	for _, p := range path[:len(path)-1] {
		below, ok := m[p].(map[string]any)
		if !ok {
			below = map[string]any{}
			m[p] = below
		}
		m = below
	}
	m[path[len(path)-1]] = v
}

func (i *importer) note(format string, args ...any) {
	i.notes = append(i.notes, fmt.Sprintf(format, args...))
}

// rest notes what was not read.
func (i *importer) rest() {
	var left []string
	for p := range i.from {
		if !i.used[p] {
			left = append(left, p)
		}
	}
	sort.Strings(left)
	for _, p := range left {
		i.note("not taken over: %s", p)
	}
}

// lumoModelKeys are keys of lumo-tamer, in the documented form and in that of its repository, and where they
// belong in a model.
var lumoModelKeys = []struct {
	from []string
	to   []string
}{
	{[]string{"server.customTools.enabled", "customTools.enabled", "tools.customTools.enabled"},
		[]string{"calls", "enabled"}},
	{[]string{"server.customTools.prefix", "customTools.prefix", "tools.customTools.prefix"},
		[]string{"calls", "prefix"}},
	{[]string{"server.instructions.template", "instructions.template"}, []string{"instructions", "template"}},
	{[]string{"server.instructions.forTools", "instructions.forTools"}, []string{"instructions", "forTools"}},
	{[]string{"server.instructions.forToolBounce", "instructions.forToolBounce"},
		[]string{"instructions", "forToolBounce"}},
	{[]string{"server.instructions.fallback", "instructions.fallback"}, []string{"instructions", "fallback"}},
	{[]string{"server.instructions.injectInto", "instructions.injectInto"}, []string{"instructions", "injectInto"}},
	{[]string{"server.instructions.replacePatterns", "instructions.replacePatterns"},
		[]string{"instructions", "replacePatterns"}},
	{[]string{"server.surfaceThinking", "surfaceThinking"}, []string{"surfaceThinking"}},
	{[]string{"server.conversations.deriveIdFromUser", "conversations.deriveIdFromUser"},
		[]string{"conversations", "deriveIdFromUser"}},
	{[]string{"server.commands.enabled", "commands.enabled"}, []string{"commands", "enabled"}},
	{[]string{"server.commands.wakeword", "commands.wakeword"}, []string{"commands", "wakeword"}},
}

func (i *importer) lumoTamer() {
	i.put("lumo", "backends", "lumo", "kind")
	i.put(Kinds["lumo"].example, "backends", "lumo", "url")
	i.note("put the address of your Lumo service under backends.lumo.url, and what it asks for under key or headers, " +
		"as env:NAME")
	if v, ok := i.take("server.enableWebSearch", "tools.enableWebSearch", "enableWebSearch"); ok {
		i.put(v, "backends", "lumo", "lumo", "enableWebSearch")
	}
	if v, ok := i.take("server.port", "port"); ok {
		i.put(fmt.Sprintf("127.0.0.1:%v", v), "listen")
	}
	if v, ok := i.take("server.bodyLimit", "bodyLimit"); ok {
		i.put(sizeOf(v), "limits", "body")
	}
	i.localActions()
	if _, ok := i.take("server.apiKey", "apiKey"); ok {
		i.put([]any{map[string]any{"name": "client", "secret": "env:WIELD_KEY"}}, "keys")
		i.note("the key of the clients was not copied: put it into the variable WIELD_KEY")
	}
	i.lumoNames()
}

// lumoNames takes over the models, and what is set for all of them.
func (i *importer) lumoNames() {
	names := lumoModels
	if v, ok := i.take("server.apiModelName", "apiModelName"); ok && !slices.Contains(names, fmt.Sprint(v)) {
		name := fmt.Sprint(v)
		i.put("lumo", "models", name, "model")
		names = append(slices.Clone(names), name)
	}
	for _, name := range names {
		i.put("lumo", "models", name, "backend")
	}
	for _, k := range lumoModelKeys {
		if v, ok := i.take(k.from...); ok {
			for _, name := range names {
				i.put(v, append([]string{"models", name}, k.to...)...)
			}
		}
	}
}

// localActions takes over what the terminal may do by itself.
func (i *importer) localActions() {
	const there = "cli.localActions."
	for _, key := range []string{"enabled", "fileReads.enabled"} {
		if v, ok := i.take(there + key); ok {
			i.put(v, append([]string{"tools", "localActions"}, strings.Split(key, ".")...)...)
		}
	}
	if v, ok := i.take(there + "fileReads.maxFileSize"); ok {
		i.put(sizeOf(v), "tools", "localActions", "fileReads", "maxFileSize")
	}
	for path, v := range i.from {
		if name, ok := strings.CutPrefix(path, there+"executors."); ok {
			i.used[path] = true
			i.put(v, "tools", "localActions", "executors", name)
		}
	}
	if i.from[there+"enabled"] == true {
		i.terminalModel()
	}
}

// terminalModel adds the model of the terminal, which writes blocks in place of calls in JSON.
func (i *importer) terminalModel() {
	const name = "terminal"
	for key, v := range map[string]string{"backend": "lumo", "model": "lumo", "dialect": "cli-block"} {
		i.put(v, "models", name, key)
	}
	for _, key := range []string{"template", "forTools", "forToolBounce", "fallback", "injectInto", "replacePatterns"} {
		if v, ok := i.take("cli.instructions." + key); ok {
			i.put(v, "models", name, "instructions", key)
		}
	}
	i.note("the terminal is: wield chat --model " + name)
}

// sizeOf returns a number of bytes as it is written here.
func sizeOf(v any) any {
	s, ok := v.(string)
	if !ok {
		return v
	}
	s = strings.ToLower(s)
	if n, ok := strings.CutSuffix(s, "kb"); ok {
		return n + "kB"
	}
	return strings.Replace(s, "mb", "MB", 1)
}

// llf reads a main configuration, a registry of tools, or the configuration of one tool.
func (i *importer) llf(root map[string]any) {
	if list, ok := root["tools"].([]any); ok {
		i.used["tools"] = true
		i.take("global_config.require_approval")
		i.take("global_config.sensitive_operations")
		for _, t := range list {
			if tool, ok := t.(map[string]any); ok {
				i.llfTool(flatten(tool))
			}
		}
		var rules []any
		for _, r := range llfRules(root) {
			var rule any
			if yaml.Unmarshal([]byte(r.String()), &rule) == nil {
				rules = append(rules, rule)
			}
		}
		if len(rules) > 0 {
			i.put(rules, "policies", "default", "rules")
			i.note("the registry let %d tools run without asking: policies.default allows what it did, and "+
				"everything else asks; take away what you do not want", len(rules))
		}
		i.note("for tools that are not built in, name their directory under tools.llf.dir")
	}
	if _, ok := i.from["metadata.mode"]; ok || i.from["type"] == "llm_invokable" {
		for p := range i.from {
			i.used[p] = true
		}
		i.llfTool(i.from)
	}
	url, ok := i.take("llm_endpoint.api_base_url", "llm_endpoint.base_url", "llm_endpoint.url")
	if !ok {
		return
	}
	i.put(url, "backends", "llf", "url")
	name := "llf"
	if v, ok := i.take("llm_endpoint.model_name", "llm_endpoint.model"); ok {
		name = fmt.Sprint(v)
	}
	i.put("llf", "models", name, "backend")
	if _, ok := i.take("llm_endpoint.api_key"); ok {
		i.note("the key of the backend was not copied: put it under backends.llf.key, as env:NAME")
	}
	switch mode, _ := i.take("llm_endpoint.tool_execution_mode"); mode {
	case nil, "single_pass": // what wield does
	case "dual_pass_write_only", "dual_pass_all":
		i.note("not taken over: tool_execution_mode %s. It asks the model twice and throws the second answer away, "+
			"so that tools act on what nobody reads; "+
			"wield runs tools in the turn that is shown, as single_pass does", mode)
	default:
		i.note("not taken over: tool_execution_mode %v, which is none of single_pass, dual_pass_write_only and "+
			"dual_pass_all", mode)
	}
}

// llfTool takes over one tool. A tool that was on by itself when its rule matched is on.
func (i *importer) llfTool(t map[string]any) {
	name, _ := t["name"].(string)
	if name == "" {
		return
	}
	switch kind, _ := t["type"].(string); kind {
	case "", "llm_invokable", "function_calling":
	case "input_processor", "output_processor", "preprocessor", "postprocessor":
		i.note("not taken over: %s, which is a %s; write it as a module of kind exec", name, kind)
		return
	default:
		i.note("not taken over: the tool %s, which is a %s", name, kind)
		return
	}
	at := []string{"tools", "builtin", name}
	put := func(v any, key string) { i.put(v, append(slices.Clone(at), key)...) }
	put(t["enabled"] == true || t["enabled"] == "auto" || t["enabled"] == "true", "enabled")
	for _, key := range []string{"mode", "whitelist", "requires_approval"} {
		if v, ok := t["metadata."+key]; ok && v != nil {
			put(v, key)
		}
	}
	if v, ok := t["metadata.permissions.max_timeout"]; ok {
		put(v, "timeout")
	}
	if t["enabled"] == "auto" {
		i.note("the tool %s was offered only when its rule matched; here it is always offered", name)
	}
}
