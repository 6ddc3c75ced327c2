package compose

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"wield/internal/config"
	"wield/tool"
	"wield/tool/runner"
)

// toolboxOf makes the tools of a configuration file, with a data directory of its own.
func toolboxOf(t *testing.T, text, data string) *Toolbox {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("wield: config/v1\ndata: "+data+"\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string {
		return map[string]string{"KEY": "s3cret-key", "SHOP": "postgres://clerk:pass@127.0.0.1/shop",
			"NOTES": "sqlite:notes.db"}[name]
	}
	r, err := config.Load(config.Options{File: file, Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	box, err := OpenToolbox(r.Config, ToolEnvironment{Getenv: getenv, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return box
}

func entryOf(t *testing.T, box *Toolbox, name string) *runner.Entry {
	t.Helper()
	e, ok := box.Registry.Lookup(name)
	if !ok {
		t.Fatalf("no tool %s", name)
	}
	return e
}

func TestToolbox(t *testing.T) {
	box := toolboxOf(t, `
timeouts: {tool: 20s, approval: 1h}
sandbox: {level: strict}
backends: {b: {url: "http://127.0.0.1:1/v1", key: env:KEY, headers: {X-Plain: plain-text, X-Secret: env:KEY}}}
models: {m: {backend: b}}
tools:
  builtin:
    get_current_time: {enabled: true, auto: [clock], mode: rw, whitelist: [], timeout: 7s, requires_approval: true}
    get_current_tim: {enabled: true}
  disable: [get_current_date, nothing]
`, t.TempDir())
	e := entryOf(t, box, "get_current_time")
	if e.State != tool.StateAuto || e.Guard.Mode != tool.ModeRW || e.Guard.Whitelist == nil ||
		e.Guard.Timeout != 7*time.Second || !e.Guard.RequiresApproval {
		t.Errorf("state %s, guard %+v", e.State, e.Guard)
	}
	if !e.Tool.Auto.Matches("what says the CLOCK?") {
		t.Error("it is not offered for its word")
	}
	if e := entryOf(t, box, "get_current_date"); e.State != tool.StateDisabled || e.Guard.Mode != tool.ModeRO ||
		e.Guard.Whitelist != nil {
		t.Errorf("state %s, guard %+v", e.State, e.Guard)
	}
	for name, want := range map[string]time.Duration{"file_access": 20 * time.Second, "bash": 20 * time.Second} {
		if got := entryOf(t, box, name).Guard.Timeout; got != want {
			t.Errorf("%s has %s for a run, and timeouts.tool says %s", name, got, want)
		}
	}
	r := box.Runner
	if r.Settings().Limits.Timeout != 20*time.Second || r.Settings().ApprovalTTL != time.Hour ||
		r.Settings().Sandbox.Level != "strict" || !filepath.IsAbs(r.Settings().Root) {
		t.Errorf("runner %+v", r)
	}
	if got := strings.Join(r.Settings().Redact, " "); strings.Count(got, "s3cret-key") != 1 ||
		strings.Count(got, "7333637265742d6b6579") != 1 {
		// once, however many fields name it
		t.Errorf("secrets %q", got)
	}
	var problems []string
	for _, p := range box.Problems {
		problems = append(problems, p.Error())
	}
	want := "tools.builtin.get_current_tim: there is no such tool; did you mean \"get_current_time\"?\ntools.disable: Tool not found: nothing"
	if got := strings.Join(problems, "\n"); got != want {
		t.Errorf("problems\n%s\nwant\n%s", got, want)
	}
}

func TestToolboxRoot(t *testing.T) {
	c := config.Default()
	for _, root := range []string{"missing", "file"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		c.Tools.Root = root
		if _, err := OpenToolbox(c, ToolEnvironment{Dir: dir}); err == nil ||
			!strings.HasPrefix(err.Error(), "tools.root: ") {
			t.Errorf("%s: %v", root, err)
		}
	}
}

func TestToolState(t *testing.T) {
	data := t.TempDir()
	file := filepath.Join(data, ToolStateFile)
	ask := true
	changes := []struct {
		name   string
		change func(*ToolChange) error
	}{
		{"get_current_time", func(c *ToolChange) error {
			c.State, c.Mode, c.Timeout = "enabled", "rw", "9s"
			return nil
		}},
		{"get_current_time", func(c *ToolChange) error {
			c.RequiresApproval, c.Added = &ask, []string{"a", "b"}
			return nil
		}},
		{"get_current_time", func(c *ToolChange) error { c.Removed = []string{"x", "b"}; return nil }},
		{"get_current_date", func(c *ToolChange) error { c.State = "enabled"; return nil }},
		{"gone", func(c *ToolChange) error { c.State = "enabled"; return nil }},
	}
	for _, c := range changes {
		if err := ChangeToolState(file, "", c.name, c.change); err != nil {
			t.Fatal(err)
		}
	}
	box := toolboxOf(t, `tools: {builtin: {get_current_time: {whitelist: [x, y]}}, disable: [get_current_date]}`, data)
	e := entryOf(t, box, "get_current_time")
	if got := strings.Join(e.Guard.Whitelist, " "); got != "y a" || e.State != tool.StateEnabled ||
		e.Guard.Mode != tool.ModeRW || e.Guard.Timeout != 9*time.Second || !e.Guard.RequiresApproval {
		t.Errorf("state %s, guard %+v", e.State, e.Guard)
	}
	if e := entryOf(t, box, "get_current_date"); e.State != tool.StateDisabled {
		t.Error("a command has switched on what the configuration disables")
	}
	if len(box.Problems) != 1 || !strings.Contains(box.Problems[0].Error(), "gone") {
		t.Errorf("problems %v", box.Problems)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("permissions %v, %v", info.Mode(), err)
	}
}

func TestToolStateThatIsBroken(t *testing.T) {
	file := filepath.Join(t.TempDir(), ToolStateFile)
	for _, text := range []string{`{`, `{"version":3}`, `[]`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := ChangeToolState(file, "", "x", func(*ToolChange) error { return nil }); err == nil ||
			!strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", text, err)
		}
		if left, _ := os.ReadFile(file); string(left) != text {
			t.Errorf("%s was overwritten with %s", text, left)
		}
	}
}

// TestToolStateAtOnce changes the file from many sides. No change is lost.
func TestToolStateAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep", ToolStateFile)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if err := ChangeToolState(file, "", "x",
				func(c *ToolChange) error { c.Added = append(c.Added, string(rune('a'+i))); return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	s, err := LoadToolState(file, "")
	if err != nil || len(s.Tools["x"].Added) != 20 {
		t.Errorf("%d changes, %v", len(s.Tools["x"].Added), err)
	}
	left, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(left) != 2 { // the file and its lock
		t.Errorf("%v, %v", left, err)
	}
}

// TestRulesNameTools: a rule of the command line that names no tool would deny nothing, so that it is refused.
func TestRulesNameTools(t *testing.T) {
	box := toolboxOf(t, "", t.TempDir())
	r := &config.Result{Config: config.Default()}
	for rule, want := range map[string]string{
		"comand_exec":              `--deny: there is no tool "comand_exec"; did you mean "command_exec"?`,
		"command_exec":             "",
		"nothing_*":                "",
		"{tool: [whatever]}":       "",
		"{command: [git diff]}":    "",
		"{command: [git, [diff]]}": "--deny",
	} {
		_, err := RunPolicy(r, "", box.Registry.Entries(), RunRules{Deny: []string{rule}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", rule, err, want)
		}
	}
}
