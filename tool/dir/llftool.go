package dir

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"wield/chat"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/sandbox"
)

// Files of a tool directory of LLF.
const (
	configFile     = "config.json"
	definitionFile = "tool_definition.json"
	executeFile    = "execute.py"
)

// toolKeys, metadataKeys and permissionKeys are the keys of an entry. Those that are for people are known so
// that one which is nearly another is not taken for it.
var (
	toolKeys = []string{"name", "display_name", "description", "type", "enabled", "directory", "created_date",
		"last_modified", "metadata"}
	metadataKeys = []string{"category", "requires_approval", "dependencies", "use_case", "whitelist", "mode",
		"root_dir", "permissions", "timeout", "supported_states", "companion_tools", "requires_env_vars", "note",
		"warning", "pricing", "input_format", "output_format", "behavior", "activation", "example_input",
		"example_output"}
	permissionKeys = []string{"max_file_size", "dangerous_paths_require_approval", "max_timeout",
		"dangerous_commands_require_approval", "network"}
)

// An llfEntry holds what a registry, or the configuration of a tool, says of it.
type llfEntry struct {
	name, display, description, kind string
	state                            tool.State

	category, mode, root, activation string
	approval                         bool
	dependencies, whitelist          []string
	states, companions, variables    []string
	timeout                          time.Duration
	fileSize                         int64
	dangerousPaths, dangerousCmds    bool
	network                          bool
	example                          string
}

// readLLF reads an entry.
func readLLF(n *jsonNode) (*llfEntry, error) {
	m := n.get("metadata")
	p := m.get("permissions")
	e := &llfEntry{state: llfState(n.get("enabled"))}
	err := cmp.Or(n.known(toolKeys), m.known(metadataKeys), p.known(permissionKeys),
		read(&e.name, n, "name", (*jsonNode).text), read(&e.display, n, "display_name", (*jsonNode).text),
		read(&e.description, n, "description", (*jsonNode).text), read(&e.kind, n, "type", (*jsonNode).text),
		read(&e.category, m, "category", (*jsonNode).text), read(&e.mode, m, "mode", (*jsonNode).text),
		read(&e.root, m, "root_dir", (*jsonNode).text), read(&e.activation, m, "activation", (*jsonNode).text),
		read(&e.dependencies, m, "dependencies", (*jsonNode).texts),
		read(&e.whitelist, m, "whitelist", (*jsonNode).texts),
		read(&e.states, m, "supported_states", (*jsonNode).states),
		read(&e.companions, m, "companion_tools", (*jsonNode).texts),
		read(&e.variables, m, "requires_env_vars", (*jsonNode).texts),
		read(&e.fileSize, p, "max_file_size", (*jsonNode).size), flag(&e.approval, m, "requires_approval", false),
		flag(&e.network, p, "network", false), flag(&e.dangerousPaths, p, "dangerous_paths_require_approval", true),
		flag(&e.dangerousCmds, p, "dangerous_commands_require_approval", true))
	if err != nil {
		return nil, err
	}
	if e.example = ""; m.get("example_input") != nil {
		e.example = string(m.get("example_input").raw)
	}
	switch e.mode {
	case "":
		e.mode = "ro"
	case "ro", "rw":
	default:
		return nil, m.get("mode").wrong("mode %q: it is ro or rw", e.mode)
	}
	if e.timeout, err = llfTimeout(m, p); err != nil {
		return nil, err
	}
	return e, e.settle(n, m)
}

// settle checks what several keys say together.
func (e *llfEntry) settle(n, m *jsonNode) error {
	if e.whitelist == nil {
		e.whitelist = []string{} // without one nothing is allowed
	}
	if len(e.states) > 0 && !slices.Contains(e.states, llfStateName(e.state)) {
		return n.get("enabled").or(n).wrong("the tool does not support the enabled state %s; supported_states "+
			"are %s", llfStateName(e.state), strings.Join(e.states, ", "))
	}
	if e.activation != "" && !slices.Contains([]string{"automatic_on_pattern", "on_demand", "always"}, e.activation) {
		return m.get("activation").wrong("activation %q: there are automatic_on_pattern, on_demand and always",
			e.activation)
	}
	return nil
}

func (n *jsonNode) or(other *jsonNode) *jsonNode {
	if n == nil {
		return other
	}
	return n
}

// read puts what a member is into place.
func read[T any](place *T, n *jsonNode, name string, get func(*jsonNode, string) (T, error)) error {
	v, err := get(n, name)
	*place = v
	return err
}

func flag(place *bool, n *jsonNode, name string, def bool) error {
	v, err := n.truth(name, def)
	*place = v
	return err
}

// llfState reads the three states: true, false and "auto". Whatever else stands there is off.
func llfState(n *jsonNode) tool.State {
	if n == nil {
		return tool.StateDisabled
	}
	switch strings.ToLower(strings.Trim(string(n.raw), `"`)) {
	case "true":
		return tool.StateEnabled
	case "auto":
		return tool.StateAuto
	}
	return tool.StateDisabled
}

var llfStates = map[tool.State]string{tool.StateEnabled: "true", tool.StateAuto: "auto", tool.StateDisabled: "false"}

func llfStateName(s tool.State) string { return llfStates[s] }

// states reads a list of states, as texts or as they stand in enabled.
func (n *jsonNode) states(name string) ([]string, error) {
	m := n.get(name)
	if m == nil {
		return nil, nil
	}
	var list []string
	for _, item := range m.items {
		s := strings.ToLower(strings.Trim(string(item.raw), `"`))
		if s != "true" && s != "false" && s != "auto" {
			return nil, item.wrong("%s: there are \"false\", \"auto\" and \"true\"", name)
		}
		list = append(list, s)
	}
	if m.raw.Kind() != '[' {
		return nil, m.wrong("%s: want a list of texts", name)
	}
	return list, nil
}

// size reads a size such as "10MB"; 0 if it is not there.
func (n *jsonNode) size(name string) (int64, error) {
	m := n.get(name)
	if m == nil {
		return 0, nil
	}
	text := strings.ToUpper(strings.TrimSpace(strings.Trim(string(m.raw), `"`)))
	unit := int64(1)
	for _, u := range []struct {
		name  string
		bytes int64
	}{{"KB", 1 << 10}, {"MB", 1 << 20}, {"GB", 1 << 30}, {"B", 1}} {
		if number, ok := strings.CutSuffix(text, u.name); ok {
			text, unit = strings.TrimSpace(number), u.bytes
			break
		}
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v <= 0 || v > 1<<40/unit {
		return 0, m.wrong("%s: want a size such as \"10MB\"", name)
	}
	return v * unit, nil
}

// llfTimeout reads how long a run may take, by default a minute.
func llfTimeout(metadata, permissions *jsonNode) (time.Duration, error) {
	for _, m := range []*jsonNode{metadata.get("timeout"), permissions.get("max_timeout")} {
		if m == nil {
			continue
		}
		text := strings.TrimSpace(strings.Trim(string(m.raw), `"`))
		if strings.Trim(text, "0123456789.") == "" {
			text += "s"
		}
		d, err := time.ParseDuration(text)
		if err != nil || d < time.Second || d > 300*time.Second {
			return 0, m.wrong("a timeout is from 1 to 300 seconds, such as \"60s\"")
		}
		return d, nil
	}
	return time.Minute, nil
}

// IsLLF reports whether a tool comes from a directory or a registry of LLF.
func IsLLF(t *tool.Tool) bool {
	switch h := t.Handler.(type) {
	case *pyTool:
		return h.result != nil
	case *llfProgram:
		return true
	}
	return t.Handler == nil
}

// llfTool makes the tool of a directory; none if it is no tool but a module. One that no registry lists is off.
func (s *Set) llfTool(dir string, n *jsonNode, reg *registry, listed bool) ([]*tool.Tool, error) {
	e, err := readLLF(n)
	if err != nil {
		return nil, err
	}
	switch {
	case !listed:
		e.state = tool.StateDisabled
	case slices.Contains([]string{"postprocessor", "preprocessor", "compatibility_layer"}, e.kind):
		if e.state == tool.StateDisabled || e.name == "xml_format" {
			// what that one reads, every model's text is read for
			return nil, nil
		}
		return nil, n.wrong("%s is a %s, which sees every message: configure it under modules, and set enabled to "+
			"false here", e.name, e.kind)
	}
	if !slices.Contains([]string{"", "llm_invokable", "function_calling"}, e.kind) {
		return nil, n.get("type").or(n).wrong("type %q: there are llm_invokable, postprocessor and preprocessor",
			e.kind)
	}
	if _, err := os.Stat(dir); err != nil && slices.Contains(s.Builtin, e.name) {
		t := &tool.Tool{Definition: chat.Tool{Name: e.name}, Source: n.file}
		s.allow(t, e, reg)
		return []*tool.Tool{t}, nil
	}
	t, err := e.definition(filepath.Join(dir, definitionFile))
	if err != nil {
		return nil, err
	}
	if err := s.check(e, n); err != nil {
		return nil, err
	}
	s.allow(t, e, reg)
	t.Source, t.Files = dir, dir
	if t.Handler, err = s.execute(dir, e); err != nil {
		return nil, err
	}
	return []*tool.Tool{t}, nil
}

// check looks for what the tool needs.
func (s *Set) check(e *llfEntry, n *jsonNode) error {
	for _, name := range e.variables {
		if s.getenv(name) == "" && e.state != tool.StateDisabled {
			return n.wrong("the tool %s needs the variable %s, which is not set", e.name, name)
		}
	}
	return nil
}

func (o Options) getenv(name string) string {
	if o.Getenv == nil {
		return ""
	}
	return o.Getenv(name)
}

// definition reads what a model is shown.
func (e *llfEntry) definition(file string) (*tool.Tool, error) {
	root, err := readJSON(file)
	if err != nil {
		return nil, err
	}
	f := root.get("function")
	if f == nil {
		f = root
	}
	kind, err := root.text("type")
	name, err1 := f.text("name")
	about, err2 := f.text("description")
	switch err := cmp.Or(err, err1, err2); {
	case err != nil:
		return nil, err
	case f != root && kind != "function":
		return nil, root.wrong(`type %q: it is "function"`, kind)
	case name == "":
		return nil, f.wrong("the function has no name")
	case strings.TrimSpace(cmp.Or(about, e.description)) == "":
		return nil, f.wrong("the function has no description, without which no model knows what it is for")
	}
	t := &tool.Tool{Definition: chat.Tool{Name: name, Description: cmp.Or(about, e.description),
		Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}}
	if p := f.get("parameters"); p != nil {
		if _, err := properties(json.RawMessage(p.raw)); err != nil {
			return nil, p.wrong("parameters: %v", err)
		}
		t.Definition.Parameters = json.RawMessage(p.raw)
	}
	if _, has := tool.Example(t.Definition.Description); !has && strings.HasPrefix(e.example, "{") {
		var tight bytes.Buffer
		if json.Compact(&tight, []byte(e.example)) == nil {
			t.Definition.Description += " Example: " + tight.String()
		}
	}
	if e.name != name && e.name != "" {
		t.Aliases = []string{e.name}
	}
	return t, nil
}

// network are the categories of tools that are of no use without it.
var networkCategories = []string{"internet", "network", "web", "search", "api", "http"}

// allow says how the tool is offered and what it may.
func (s *Set) allow(t *tool.Tool, e *llfEntry, reg *registry) {
	t.State, t.Style, t.Rules = e.state, tool.StyleLLF, reg.file
	for _, name := range e.states {
		for state, known := range llfStates {
			if name == known {
				t.States = append(t.States, state)
			}
		}
	}
	t.Auto = tool.Rule{Always: e.activation == "always", Words: []string{e.name, strings.ReplaceAll(e.name, "_", " ")}}
	if e.display != "" {
		t.Auto.Words = append(t.Auto.Words, e.display)
	}
	g := &tool.Guard{Mode: tool.Mode(e.mode), Whitelist: e.whitelist, RequiresApproval: e.approval || reg.ask,
		Timeout: e.timeout, AskFor: reg.sensitive}
	if e.root != "" {
		g.Root = s.path(e.root)
	}
	if e.dangerousCmds {
		g.DangerousCommands = tool.DangerousCommands()
	}
	if e.dangerousPaths {
		g.DangerousPaths = tool.DangerousPaths(s.getenv("HOME"))
	}
	t.Guard = g
	t.Facts = llfFacts(t.Definition.Parameters, e)
}

// path returns a path of a registry: it is relative to the workspace.
func (s *Set) path(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok && s.getenv("HOME") != "" {
		return filepath.Join(s.getenv("HOME"), rest)
	}
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(s.Root, name)
}

// llfOps maps the operations of a tool to those on its path. One that is not among them may be the worst.
var llfOps = map[string]policy.Op{"read": policy.OpRead, "list": policy.OpList, "write": policy.OpWrite,
	"delete": policy.OpDelete, "exists": policy.OpList, "info": policy.OpList, "search": policy.OpRead}

// llfFacts finds in the schema what a rule looks at: the arguments path, command and url mean that in every tool.
func llfFacts(parameters json.RawMessage, e *llfEntry) tool.Facts {
	var f tool.Facts
	params, err := properties(parameters)
	if err != nil {
		return f
	}
	has := func(name string) bool { return slices.Contains(params, name) }
	if has("path") {
		p := tool.PathFact{Argument: "path"}
		switch {
		case has("operation"):
			f.Operation, f.Ops = "operation", maps.Clone(llfOps)
		case e.mode == "ro":
			p.Op = policy.OpRead // the sandbox sees to it
		}
		f.Paths = append(f.Paths, p)
	}
	switch {
	case has("command") && has("arguments"):
		f.Command, f.Arguments = "command", "arguments"
	case has("command"):
		f.Shell = "command"
	}
	if has("url") {
		f.URLs = []string{"url"}
	}
	f.Network = e.network || has("url") || len(e.variables) > 0 ||
		slices.ContainsFunc(networkCategories,
			func(c string) bool { return strings.Contains(strings.ToLower(e.category), c) })
	return f
}

// defines finds the function that a tool is called by.
var defines = regexp.MustCompile(
	`(?m)^(?:async\s+)?def\s+execute\b|^execute\s*=|^\s*from\s+\S+\s+import\s[^#]*(?:\bexecute\b|\*)|^from\s+\S+\s+import\s*\([^)]*\bexecute\b`)

// execute finds what runs a tool: execute.py, of which execute() is called, or an executable file of that
// name that reads JSON.
func (s *Set) execute(dir string, e *llfEntry) (tool.Handler, error) {
	file := filepath.Join(dir, executeFile)
	text, err := os.ReadFile(file)
	if err == nil {
		if !defines.Match(text) {
			return nil, &Error{File: file, Msg: "it has no function execute(arguments)"}
		}
		if err := s.python.find(context.Background()); err != nil { // within a time of its own
			return nil, &Error{File: file, Msg: err.Error()}
		}
		dirs := []string{filepath.Dir(dir)}
		if checkout := filepath.Join(filepath.Dir(filepath.Dir(dir)), "llf"); isDir(checkout) {
			dirs = append(dirs, checkout) // the package llf beside the directory of tools
		}
		return &pyTool{python: s.python, args: []string{"execute", filepath.Dir(dir), filepath.Base(dir)}, dirs: dirs,
			limits: s.llfCommand(e), result: e.result}, nil
	}
	files, _ := filepath.Glob(filepath.Join(globQuote(dir), "execute*")) // the pattern is sound
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() &&
			strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)) == "execute" {
			if info.Mode()&0o111 == 0 {
				return nil, &Error{File: file, Msg: "it is not executable"}
			}
			return &llfProgram{file, s.llfCommand(e), e}, nil
		}
	}
	return nil, &Error{File: file, Msg: "it is not there, and no other executable execute either"}
}

// llfCommand returns what is special about the processes of a tool.
func (s *Set) llfCommand(e *llfEntry) func(*sandbox.Command, *tool.Call) {
	return func(cmd *sandbox.Command, c *tool.Call) {
		for _, name := range e.variables {
			if v := s.getenv(name); v != "" {
				cmd.Env = append(cmd.Env, name+"="+v)
			}
		}
		if e.fileSize > 0 {
			cmd.Limits.FileSize = e.fileSize
		}
		if c.Guard == nil || c.Guard.Root == "" {
			return
		}
		cmd.Dir = c.Guard.Root
		if c.Guard.Mode == tool.ModeRW {
			cmd.Writable = append(cmd.Writable, c.Guard.Root)
		}
	}
}

// result makes of an answer what LLF hands to a model.
func (e *llfEntry) result(a *pyAnswer) (tool.Result, error) {
	if a.Error == nil {
		return llfResult(a.Value), nil
	}
	r := tool.Result{Error: "Unexpected error: " + cmp.Or(*a.Error, a.Type), ErrorType: tool.ErrorKind(a.Type)}
	if a.Type == "ModuleNotFoundError" && len(e.dependencies) > 0 {
		r.Error += "; the tool needs " + strings.Join(e.dependencies, ", ")
	}
	return r, nil
}

// llfResult reads an object that says by "success" whether it is a failure. Anything else is a success.
func llfResult(value json.RawMessage) tool.Result {
	var says struct {
		Success *bool  `json:"success"`
		Error   string `json:"error"`
		Type    string `json:"error_type"`
	}
	if json.Unmarshal(value, &says) != nil || says.Success == nil || *says.Success {
		return tool.Result{OK: true, Data: value}
	}
	return tool.Result{Data: value, Error: cmp.Or(says.Error, "the tool failed and does not say why"),
		ErrorType: tool.ErrorKind(says.Type)}
}

// An llfProgram is a tool in another language.
type llfProgram struct {
	file   string
	limits func(*sandbox.Command, *tool.Call)
	entry  *llfEntry
}

// Run hands the arguments to the program as JSON.
func (p *llfProgram) Run(ctx context.Context, c *tool.Call) (tool.Result, error) {
	cmd := c.Command(p.file)
	cmd.Env = append(cmd.Env, c.Variables(ctx)...)
	cmd.Readable = append(cmd.Readable, filepath.Dir(p.file))
	cmd.Stdin = strings.NewReader(c.Arguments)
	p.limits(&cmd, c)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	exit, err := c.Ask(ctx, cmd)
	if err != nil {
		return tool.Result{}, err
	}
	if exit.Code != 0 {
		return failed(exit, stdout.Bytes(), stderr.String())
	}
	r := answer(stdout.Bytes())
	if len(r.Data) > 0 && r.Data[0] == '{' {
		return llfResult(r.Data), nil
	}
	return r, nil
}
