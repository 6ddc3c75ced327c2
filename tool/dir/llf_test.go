package dir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"wield/tool"
	"wield/tool/runner"
	"wield/tool/sandbox"
)

// python is looked for once for all tests.
var python interpreter

// needPython skips a test on a machine without it.
func needPython(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("SKIPPED: there is no python3 on this machine")
	}
}

// tree writes files below a directory.
func tree(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		mode := os.FileMode(0o644)
		if cut, ok := strings.CutSuffix(name, "+"); ok {
			name, mode = cut, 0o755
		}
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
			os.WriteFile(file, []byte(text), mode)); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	notesDefinition = `{"type":"function","function":{"name":"notes","description":"Reads and writes notes.","parameters":{"type":"object","properties":{` +
		`"operation":{"type":"string","enum":["read","write","list","delete"]},"path":{"type":"string"},"content":{"type":"string"}},"required":["operation","path"]}}}`
	notesImpl = `import os

def execute(arguments):
    print("this is no result")
    path = arguments["path"]
    if arguments["operation"] == "write":
        with open(path, "w") as f:
            f.write(arguments["content"])
        return {"success": True, "bytes_written": len(arguments["content"])}
    if arguments["operation"] == "list":
        return sorted(os.listdir(path))
    with open(path) as f:
        content = f.read()
    return {"success": True, "content": content, "size": len(content), "encoding": "utf-8"}
`
	cityDefinition = `{"type":"function","function":{"name":"city","description":"Tells of a city.","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}`
)

// registryOf writes a registry with entries.
func registryOf(global string, entries ...string) string {
	return `{"version": "1.1", "last_updated": "2025-01-06T00:00:00", "global_config": ` + cmp.Or(global, "{}") +
		`, "tools": [` + "\n" + strings.Join(entries, ",\n") + "\n" + `], "metadata": {"schema_version": "1.1"}}`
}

// An llfWorld is a directory of tools of LLF and a workspace.
type llfWorld struct {
	dir, root string
	set       *Set
	registry  runner.Registry
	runner    *runner.Runner
}

func newLLF(t *testing.T, files map[string]string) *llfWorld {
	t.Helper()
	w := &llfWorld{dir: t.TempDir(), root: t.TempDir()}
	tree(t, w.dir, files)
	w.set = &Set{python: &python, Dirs: []string{w.dir},
		Options: Options{Level: sandbox.None, Root: w.root, Getenv: func(name string) string {
			return map[string]string{"HOME": "/home/ann", "CITY_KEY": "k3y"}[name]
		}}}
	w.runner = runner.New(runner.Settings{Tools: &w.registry, Root: w.root, Temp: t.TempDir(),
		Limits: tool.CallLimits{Timeout: time.Minute}})
	w.runner = w.runner.With(func(s *runner.Settings) { s.Sandbox.Level = sandbox.None })
	return w
}

// load loads the tools, which must all be sound.
func (w *llfWorld) load(t *testing.T) []*tool.Tool {
	t.Helper()
	tools, errs := w.set.Load(t.Context())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, one := range tools {
		if err := w.registry.Replace(one); err != nil {
			t.Fatal(err)
		}
	}
	return tools
}

// call runs a call and returns what a model reads.
func (w *llfWorld) call(t *testing.T, name, args string) string {
	t.Helper()
	res, err := w.runner.Call(t.Context(), name, args)
	if err != nil {
		t.Fatal(err)
	}
	return string(res.Append(nil, tool.StyleLLF))
}

// TestRegistry_E12_E13_E14_E15: a registry of version 1.1 and the directories beside it are tools as they are.
func TestRegistry_E12_E13_E14_E15(t *testing.T) {
	needPython(t)
	w := newLLF(t, map[string]string{
		registryFile: registryOf("",
			`{"name": "notes", "display_name": "Notes", "description": "d", "type": "llm_invokable", "enabled": true, "directory": "notes",
  "created_date": "2025-01-01", "last_modified": "2025-01-02", "metadata": {"category": "files", "requires_approval": false, "dependencies": [], "mode": "rw", "whitelist": ["**/*.json", "*.md"]}}`),
		"notes/__init__.py": `"""Notes."""`, "notes/impl.py": notesImpl,
		"notes/execute.py": "from .impl import execute\n", "notes/" + definitionFile: notesDefinition,
	})
	tools := w.load(t)
	if len(tools) != 1 || tools[0].Name() != "notes" || tools[0].State != tool.StateEnabled ||
		tools[0].Style != tool.StyleLLF || tools[0].Guard.Timeout != time.Minute {
		t.Fatalf("%+v", tools)
	}
	tree(t, w.root, map[string]string{"config.json": `{"a": 1}`, "sub/x.json": "{}"})
	for _, tt := range []struct{ args, want string }{
		// E-21, E-25
		{`{"operation":"read","path":"config.json"}`,
			`{"success":true,"content":"{\"a\": 1}","size":8,"encoding":"utf-8"}`},
		{`{"operation":"read","path":"sub/x.json"}`, `{"success":true,"content":"{}","size":2,"encoding":"utf-8"}`},
		{`{"operation":"write","path":"n.md","content":"hi"}`, `{"success":true,"bytes_written":2}`}, // E-32
		{`{"operation":"read","path":"n.txt"}`,
			`{"success":false,"error":"Not whitelisted: n.txt","error_type":"SecurityViolationError"}`},
		{`{"operation":"read","path":"none.md"}`,
			`{"success":false,"error":"Unexpected error: [Errno 2] No such file or directory: 'none.md'","error_type":"FileNotFoundError"}`},
		{`{"operation":"copy","path":"n.md"}`, ""},
		{`{"path":"n.md"}`, ""},
		{`{bad`, ""},
	} {
		got := w.call(t, "notes", tt.args)
		if tt.want != "" && got != tt.want || tt.want == "" && !strings.Contains(got, "InvalidArgumentsError") {
			t.Errorf("%s: %s; want %s", tt.args, got, tt.want)
		}
	}
}

// TestResults_E30_E56_E67: what execute() gives and raises comes out in the form of LLF.
func TestResults_E30_E56_E67(t *testing.T) {
	needPython(t)
	w := newLLF(t, map[string]string{
		registryFile: registryOf("",
			`{"name": "city", "enabled": "TRUE", "metadata": {"dependencies": ["no_such_module"]}}`),
		"city/" + definitionFile: cityDefinition,
		"city/execute.py": `import tools.city.data as data

async def execute(arguments):
    c = arguments["city"]
    if c == "list": return [{"title": "a"}]
    if c == "text": return "plain"
    if c == "none": return None
    if c == "fail": return {"success": False, "error": "it sank", "error_code": 7, "details": {"deep": True}}
    if c == "raise": raise KeyError("x")
    if c == "exit": raise SystemExit(3)
    if c == "module": import no_such_module
    if c == "hard":
        import os, sys
        sys.stderr.write("gone\n"); os._exit(5)
    if c == "nan": return {"high": float("nan")}
    return {"success": True, "city": data.NAME}
`,
		"city/data.py": "NAME = 'Oslo'\n",
	})
	w.load(t)
	for _, tt := range []struct{ city, want string }{
		{"", `{"success":true,"city":"Oslo"}`},
		{"list", `[{"title": "a"}]`},
		{"text", `{"success":true,"result":"plain"}`},
		{"none", `{"success":true}`},
		{"fail",
			`{"success":false,"error":"it sank","error_type":"ToolError","error_code":7,"details":{"deep": true}}`},
		{"raise", `{"success":false,"error":"Unexpected error: 'x'","error_type":"KeyError"}`},
		{"exit", `{"success":false,"error":"Unexpected error: 3","error_type":"SystemExit"}`},
		{"module",
			`{"success":false,"error":"Unexpected error: No module named 'no_such_module'; the tool needs no_such_module","error_type":"ModuleNotFoundError"}`},
		{"hard", `{"success":false,"error":"gone","error_type":"ToolError"}`},
		{"nan", ""},
	} {
		got := w.call(t, "city", `{"city":"`+tt.city+`"}`)
		if tt.want != "" && got != tt.want || tt.want == "" && !strings.Contains(got, `"error_type":"ValueError"`) {
			t.Errorf("%s: %s; want %s", tt.city, got, tt.want)
		}
	}
}

// TestStates_ER03: true, false and "auto" in any case; whatever else stands there is off.
func TestStates_ER03(t *testing.T) {
	needPython(t)
	for enabled, want := range map[string]tool.State{
		"true": tool.StateEnabled, `"true"`: tool.StateEnabled, `"True"`: tool.StateEnabled, `"auto"`: tool.StateAuto,
		`"AUTO"`: tool.StateAuto, "false": tool.StateDisabled, `"yes"`: tool.StateDisabled, "1": tool.StateDisabled,
		"null": tool.StateDisabled, `["true"]`: tool.StateDisabled,
	} {
		w := newLLF(t, map[string]string{
			registryFile:      registryOf("", `{"name": "city", "enabled": `+enabled+`}`),
			"city/execute.py": "def execute(arguments): return 1\n", "city/" + definitionFile: cityDefinition,
		})
		if got := w.load(t)[0].State; got != want {
			t.Errorf("enabled %s is %s, want %s", enabled, got, want)
		}
	}
}

// TestKeys_ER02: what each key of an entry does.
func TestKeys_ER02(t *testing.T) {
	needPython(t)
	const definition = `{"type":"function","function":{"name":"fetch_city","description":"d","parameters":{"type":"object","properties":{"url":{"type":"string"},"command":{"type":"string"},"path":{"type":"string"}}}}}`
	w := newLLF(t, map[string]string{
		registryFile: registryOf(`{"require_approval": false, "sensitive_operations": ["file_write", "command_exec"]}`,
			`{"name": "city_page", "display_name": "City pages", "description": "d", "type": "function_calling", "enabled": "auto", "directory": "pages",
  "metadata": {"category": "internet", "requires_approval": true, "dependencies": ["x"], "use_case": "u", "whitelist": ["*.md"], "mode": "rw", "root_dir": "notes",
    "permissions": {"max_file_size": "10MB", "dangerous_paths_require_approval": false, "max_timeout": "300s", "dangerous_commands_require_approval": true},
    "supported_states": ["false", "auto"], "companion_tools": ["city"], "requires_env_vars": ["CITY_KEY"], "note": "n", "warning": "w", "pricing": "free",
    "input_format": "i", "output_format": "o", "behavior": "b", "activation": "on_demand", "example_input": {"path": "a.md"}, "example_output": {}}}`),
		"pages/" + definitionFile: definition,
		"pages/execute.py":        "import os\ndef execute(arguments):\n    return {'key': os.environ['CITY_KEY'], 'dir': os.getcwd()}\n",
	})
	w.runner = w.runner.With(func(s *runner.Settings) { s.Approvals = &runner.MemoryApprovals{} })
	if err := os.Mkdir(filepath.Join(w.root, "notes"), 0o755); err != nil {
		t.Fatal(err)
	}
	got := w.load(t)[0]
	g := got.Guard
	states := fmt.Sprint(got.States)
	if got.Name() != "fetch_city" || !slices.Equal(got.Aliases, []string{"city_page"}) ||
		got.State != tool.StateAuto || !got.Auto.Matches("show the city pages") || got.Auto.Matches("hello") ||
		strings.Contains(states, "enabled") && !strings.Contains(states, "disabled") || len(got.States) != 2 {
		t.Errorf("%s %v %s %+v %v", got.Name(), got.Aliases, got.State, got.Auto, got.States)
	}
	if !g.RequiresApproval || g.Mode != tool.ModeRW || !slices.Equal(g.Whitelist, []string{"*.md"}) ||
		g.Root != filepath.Join(w.root, "notes") || g.Timeout != 300*time.Second || len(g.DangerousPaths) != 0 ||
		len(g.DangerousCommands) == 0 || !slices.Equal(g.AskFor, []string{"file_write", "command_exec"}) {
		t.Errorf("%+v", g)
	}
	if f := got.Facts; !f.Network || len(f.URLs) != 1 || f.Shell != "command" || len(f.Paths) != 1 {
		t.Errorf("%+v", f)
	}
	if !strings.HasSuffix(got.Definition.Description, `Example: {"path":"a.md"}`) {
		t.Errorf("%q", got.Definition.Description)
	}
	relaxed := *g
	relaxed.RequiresApproval, relaxed.AskFor = false, nil
	if err := errors.Join(w.registry.SetGuard("fetch_city", &relaxed),
		w.registry.Set("fetch_city", tool.StateAuto)); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(g.Root)
	if err != nil {
		t.Fatal(err)
	}
	if res := w.call(t, "city_page", `{"path":"a.md"}`); res != `{"success":true,"key": "k3y","dir": "`+real+`"}` &&
		res != `{"success":true,"key":"k3y","dir":"`+real+`"}` {
		t.Errorf("%s", res)
	}
}

// TestGlobal_ER01: what the registry says for all tools is enforced.
func TestGlobal_ER01(t *testing.T) {
	needPython(t)
	for _, tt := range []struct{ global, call, want string }{
		{`{"require_approval": true}`, `{"operation":"read","path":"n.md"}`, "User denied approval"},
		{`{"require_approval": false, "sensitive_operations": ["file_write"]}`,
			`{"operation":"write","path":"n.md","content":"x"}`, "User denied approval"},
		{`{"require_approval": false, "sensitive_operations": ["file_write"]}`, `{"operation":"read","path":"n.md"}`,
			`"success":true`},
		{`{"sensitive_operations": []}`, `{"operation":"write","path":"n.md","content":"x"}`, `"bytes_written"`},
	} {
		w := newLLF(t, map[string]string{
			registryFile: registryOf(tt.global,
				`{"name": "notes", "enabled": true, "metadata": {"mode": "rw", "whitelist": ["*"]}}`),
			"notes/execute.py": notesImpl, "notes/" + definitionFile: notesDefinition,
		})
		tree(t, w.root, map[string]string{"n.md": "text"})
		w.load(t)
		if got := w.call(t, "notes", tt.call); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s: %s; want %s", tt.global, tt.call, got, tt.want)
		}
	}
}

// TestGuard_E57_E58_E59_ER12_ER13_ER14: a tool may do nothing that its entry does not say, and what is dangerous
// needs a person.
func TestGuard_E57_E58_E59_ER12_ER13_ER14(t *testing.T) {
	needPython(t)
	const execDefinition = `{"type":"function","function":{"name":"sh_exec","description":"d","parameters":{"type":"object","properties":{"command":{"type":"string"},"arguments":{"type":"array","items":{"type":"string"}}},"required":["command"]}}}`
	for _, tt := range []struct{ metadata, tool, call, want string }{
		{`{}`, "notes", `{"operation":"read","path":"n.md"}`, "Not whitelisted: n.md"},
		{`{"whitelist": ["*"]}`, "notes", `{"operation":"write","path":"n.md","content":"x"}`,
			"Operation write not allowed in read-only mode"},
		{`{"whitelist": ["*"]}`, "notes", `{"operation":"delete","path":"n.md"}`,
			"Operation delete not allowed in read-only mode"},
		{`{"whitelist": ["/**"]}`, "notes", `{"operation":"read","path":"/etc/passwd"}`,
			"Dangerous operation requires approval"},
		{`{"whitelist": ["/**"]}`, "notes", `{"operation":"read","path":"/project/../../../etc/passwd"}`,
			"Dangerous operation requires approval"},
		{`{"whitelist": ["/**"]}`, "notes", `{"operation":"read","path":"/home/ann/.ssh/config"}`,
			"Dangerous operation requires approval"},
		{`{"whitelist": ["**"]}`, "notes", `{"operation":"read","path":"keys/tls.pem"}`,
			"Dangerous operation requires approval"},
		{`{"whitelist": ["/**"], "requires_approval": true}`, "notes", `{"operation":"read","path":"/etc/passwd"}`,
			"User denied approval"},
		{`{}`, "sh_exec", `{"command":"ls"}`, "Command not whitelisted"},
		{`{"whitelist": ["*"]}`, "sh_exec", `{"command":"rm","arguments":["x"]}`,
			"Dangerous operation requires approval"},
		{`{"whitelist": ["*"]}`, "sh_exec", `{"command":"/sbin/mkfs.ext4"}`, "Dangerous operation requires approval"},
		{`{"whitelist": ["ls"]}`, "sh_exec", `{"command":"ls"}`, `"ran"`},
	} {
		w := newLLF(t, map[string]string{
			registryFile: registryOf("", `{"name": "notes", "enabled": true, "metadata": `+tt.metadata+`}`,
				`{"name": "sh_exec", "enabled": true, "metadata": `+tt.metadata+`}`),
			"notes/execute.py": notesImpl, "notes/" + definitionFile: notesDefinition,
			"sh_exec/execute.py":        "def execute(a):\n    return {'ran': a['command']}\n",
			"sh_exec/" + definitionFile: execDefinition,
		})
		w.load(t)
		if got := w.call(t, tt.tool, tt.call); !strings.Contains(got, tt.want) {
			t.Errorf("%s %s: %s; want %s", tt.metadata, tt.call, got, tt.want)
		}
	}
}

// TestWrongRegistry: what is wrong is told with the file and the line, and the other tools work.
func TestWrongRegistry(t *testing.T) {
	needPython(t)
	good := `{"name": "good", "enabled": true}`
	for _, tt := range []struct {
		text string
		line int
		says string
	}{
		{`{"version": "1.1", "tools": [` + "\n" + good + ",\n{\"name\": \"bad\", \"name\": \"x\"}]}", 3, "duplicate"},
		{`{"version": "1.1",` + "\n" + `"tools": [`, 2, "ends in the middle"},
		{`{"version": "2.0",` + "\n" + `"tools": []}`, 1, "version 2.0"},
		{`[]`, 1, "no registry"},
		{registryOf("{\"require_aproval\": true}", good), 1, `did you mean "require_approval"`},
		{registryOf(`{"sensitive_operations": ["format"]}`, good), 1, `no "format"`},
		{registryOf("", good, `{"display_name": "x"}`), 3, "no name"},
		{registryOf("", good, `{"name": "x", "directory": "../x"}`), 3, "beside the registry"},
		{registryOf("", good, `{"name": "bad", "metadata": {"mode": "rx"}}`), 3, "it is ro or rw"},
		{registryOf("", good, `{"name": "bad", "metadata": {"whitelst": []}}`), 3, `did you mean "whitelist"`},
		{registryOf("", good, `{"name": "bad", "metadata": {"whitelist": "*"}}`), 3, "a list of texts"},
		{registryOf("", good, `{"name": "bad", "metadata": {"permissions": {`+"\n"+`"max_timeout": "301s"}}}`), 4,
			"from 1 to 300 seconds"},
		{registryOf("", good, `{"name": "bad", "metadata": {"timeout": 0}}`), 3, "from 1 to 300 seconds"},
		{registryOf("", good, `{"name": "bad", "enabled": true, "metadata": {"supported_states": ["false"]}}`), 3,
			"does not support the enabled state true"},
		{registryOf("", good, `{"name": "bad", "metadata": {"activation": "sometimes"}}`), 3, "on_demand"},
		{registryOf("", good, `{"name": "bad", "enabled": true, "metadata": {"requires_env_vars": ["NOT_SET"]}}`), 3,
			"NOT_SET, which is not set"},
		{registryOf("", good, `{"name": "bad", "type": "postprocessor", "enabled": true}`), 3, "sees every message"},
		{registryOf("", good, `{"name": "bad", "type": "thing", "enabled": true}`), 3, "there are llm_invokable"},
	} {
		w := newLLF(t, map[string]string{
			registryFile:             tt.text,
			"good/execute.py":        "def execute(a): return 1\n",
			"good/" + definitionFile: strings.ReplaceAll(cityDefinition, `"city","desc`, `"good","desc`),
			"bad/execute.py":         "def execute(a): return 1\n",
			"bad/" + definitionFile:  strings.ReplaceAll(cityDefinition, `"city","desc`, `"bad","desc`),
		})
		tools, errs := w.set.Load(t.Context())
		var e *Error
		if err := errors.Join(errs...); !errors.As(err, &e) || e.Line != tt.line ||
			!strings.HasSuffix(e.File, registryFile) || !strings.Contains(e.Msg, tt.says) {
			t.Errorf("%s: %v; want line %d, %q", tt.text, err, tt.line, tt.says)
		}
		if want := strings.Contains(tt.text, good+",") && tt.line > 2 &&
			tt.says != "duplicate"; want != (len(tools) == 1) {
			t.Errorf("%s: %d tools", tt.text, len(tools))
		}
	}
}

// TestWrongDirectory: a tool whose files are wrong is left out, and the file is named.
func TestWrongDirectory(t *testing.T) {
	needPython(t)
	for _, tt := range []struct {
		files     map[string]string
		file, say string
	}{
		{map[string]string{"execute.py": "x = 1\n", definitionFile: cityDefinition}, executeFile,
			"no function execute"},
		{map[string]string{definitionFile: cityDefinition}, executeFile, "not there"},
		{map[string]string{"execute.sh": "#!/bin/sh\n", definitionFile: cityDefinition}, "execute.sh",
			"not executable"},
		{map[string]string{"execute.py": "def execute(a): pass\n"}, definitionFile, "no such file"},
		{map[string]string{"execute.py": "def execute(a): pass\n",
			definitionFile: "{\n\"type\": \"thing\", \"function\": {}}"}, definitionFile + ":1", "type"},
		{map[string]string{"execute.py": "def execute(a): pass\n",
			definitionFile: "{\"type\": \"function\",\n\"function\": {\"name\": \"x\"}}"}, definitionFile + ":2",
			"no description"},
	} {
		files := map[string]string{registryFile: registryOf("", `{"name": "city", "enabled": true}`)}
		for name, text := range tt.files {
			files["city/"+name] = text
		}
		w := newLLF(t, files)
		tools, errs := w.set.Load(t.Context())
		if err := errors.Join(errs...); len(tools) > 0 || err == nil || !strings.Contains(err.Error(), tt.file) ||
			!strings.Contains(err.Error(), tt.say) {
			t.Errorf("%v: %d tools, %v; want %s: %s", tt.files, len(tools), err, tt.file, tt.say)
		}
	}
}

// TestExecuteInShell: execute may be any program that reads JSON.
func TestExecuteInShell(t *testing.T) {
	w := newLLF(t, map[string]string{
		registryFile:             registryOf("", `{"name": "city", "enabled": true}`),
		"city/execute.sh+":       "#!/bin/sh\nread line; case $line in *Nowhere*) echo '{\"success\":false,\"error\":\"none\"}';; *) echo \"{\\\"success\\\":true,\\\"got\\\":$line}\";; esac\n",
		"city/" + definitionFile: cityDefinition,
	})
	w.load(t)
	if got := w.call(t, "city", `{"city":"Oslo"}`); got != `{"success":true,"got":{"city":"Oslo"}}` {
		t.Error(got)
	}
	if got := w.call(t, "city",
		`{"city":"Nowhere"}`); got != `{"success":false,"error":"none","error_type":"ToolError"}` {
		t.Error(got)
	}
}

// TestReload_ER06: tools come and go with the registry, one that it does not list is off, and a registry that is
// broken stays what it was.
func TestReload_ER06(t *testing.T) {
	needPython(t)
	w := newLLF(t, map[string]string{
		"city/execute.py": "def execute(a): return 1\n", "city/" + definitionFile: cityDefinition,
		"city/" + configFile: `{"name": "city", "type": "llm_invokable", "enabled": true}`, "_hidden/execute.py": "x",
		"_hidden/" + definitionFile: cityDefinition, "_hidden/" + configFile: `{}`,
	})
	file := filepath.Join(w.dir, registryFile)
	state := func() string {
		tools, errs := w.set.Load(context.Background())
		var b strings.Builder
		for _, one := range tools {
			fmt.Fprintf(&b, "%s %s; ", one.Name(), one.State)
		}
		if err := errors.Join(errs...); err != nil {
			b.WriteString(strings.ReplaceAll(err.Error(), w.dir+"/", ""))
		}
		return b.String()
	}
	for i, step := range []struct{ registry, want string }{
		{"", "city disabled; "},
		{registryOf("", `{"name": "city", "enabled": true}`), "city enabled; "},
		{"{",
			"city enabled; " + registryFile +
				":1: no JSON: the file ends in the middle; what it was before stays in force"},
		{registryOf("", `{"name": "city", "enabled": "auto"}`), "city auto; "},
		{registryOf(""), "city disabled; "},
	} {
		if step.registry != "" {
			change(t, file, step.registry, 0o600, i)
		}
		if got := state(); got != step.want {
			t.Fatalf("step %d: %q; want %q", i, got, step.want)
		}
	}
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	if got := state(); !strings.Contains(got, "chmod 600") {
		t.Errorf("%q", got)
	}
}
