package compose

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wield/internal/config"
	"wield/tool"
)

// putTool writes an executable file, with a time of its own however coarse the clock of the file system is.
func putTool(t *testing.T, file, text string, version int) {
	t.Helper()
	when := time.Unix(1_700_000_000+int64(version), 0)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o755),
		os.Chtimes(file, when, when)); err != nil {
		t.Fatal(err)
	}
}

// TestRefresh: tools come, change and go while wield runs; commands that switch them work at once; what is
// broken stays.
func TestRefresh(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	box := toolboxOf(t, "tools: {dirs: ["+dir+"], builtin: {one: {enabled: true}}}\n", data)
	if len(box.Problems) != 1 || !strings.Contains(box.Problems[0].Error(), "tools.builtin.one") {
		t.Fatal(box.Problems)
	}
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	script := func(says string) string { return "#!/bin/sh\n# description: " + says + "\n" }
	hash := ""
	for i, step := range []struct {
		do                      func()
		added, changed, removed string
		problem                 string
		state                   tool.State
	}{
		{do: func() { putTool(t, one, script("first"), 1) }, added: "one", state: tool.StateEnabled},
		{do: func() {}, state: tool.StateEnabled},
		{do: func() { putTool(t, one, script("second"), 2); putTool(t, two, script("other"), 3) }, added: "two",
			changed: "one", state: tool.StateEnabled},
		{do: func() { putTool(t, one, "#!/bin/sh\n# tmeout: 5s\n", 4) }, problem: "one:2: ", state: tool.StateEnabled},
		{do: func() { putTool(t, one, "#!/bin/sh\n# description: d\n# tool: get_current_date\n", 5) }, removed: "one",
			problem: "taken by a built-in"},
		{do: func() { putTool(t, one, script("third"), 6) }, added: "one", state: tool.StateEnabled},
		{do: func() {
			err := ChangeToolState(box.State, "", "one", func(c *ToolChange) error { c.State = "disabled"; return nil })
			if err != nil {
				t.Fatal(err)
			}
		}, state: tool.StateDisabled},
		{do: func() { putTool(t, one, script("fourth"), 7) }, changed: "one", state: tool.StateDisabled},
		{do: func() { os.Remove(one) }, removed: "one"},
	} {
		step.do()
		news, errs := box.Refresh(t.Context())
		if strings.Join(news.Added, " ") != step.added || strings.Join(news.Changed, " ") != step.changed ||
			strings.Join(news.Removed, " ") != step.removed {
			t.Errorf("step %d: %+v", i, news)
		}
		if err := errors.Join(errs...); (err != nil) != (step.problem != "") ||
			err != nil && !strings.Contains(err.Error(), step.problem) {
			t.Errorf("step %d: %v; want %q", i, err, step.problem)
		}
		e, ok := box.Registry.Lookup("one")
		if ok != (step.state != tool.StateDefault) || ok && e.State != step.state {
			t.Errorf("step %d: %t %+v", i, ok, e)
		}
		if ok && step.changed == "one" && e.Hash == hash {
			t.Errorf("step %d: the hash of the definition is the same", i)
		}
		if ok {
			hash = e.Hash
		}
	}
}

// TestFollow: changes are told in the log, and a fault once.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	box := toolboxOf(t, "tools: {dirs: ["+dir+"]}\n", t.TempDir())
	putTool(t, filepath.Join(dir, "one"), "#!/bin/sh\n# description: d\n", 1)
	putTool(t, filepath.Join(dir, "bad"), "#!/bin/sh\n# desciption: d\n", 1)
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		go box.Follow(ctx, slog.New(slog.NewTextHandler(&log, nil)))
		time.Sleep(7 * time.Second)
		cancel()
		synctest.Wait()
		if got := log.String(); strings.Count(got, "added=[one]") != 1 || strings.Count(got, "bad:2:") != 1 {
			t.Error(got)
		}
	})
}

// TestLLF_ER14: the variables of LLF lead to its tools; those in a registry take the place of built-in ones,
// and an entry without a directory says how the built-in one is offered.
func TestLLF_ER14(t *testing.T) {
	dir := t.TempDir()
	const registry = `{"version": "1.1", "global_config": {"sensitive_operations": ["file_write"]}, "tools": [
{"name": "file_access", "enabled": true, "directory": "file_access", "metadata": {"mode": "rw", "whitelist": ["*.md"]}},
{"name": "search_internet", "enabled": true}]}`
	putTool(t, filepath.Join(dir, "r", "reg.json"), registry, 1)
	putTool(t, filepath.Join(dir, "search_internet", "tool_definition.json"),
		`{"type": "function", "function": {"name": "search_internet", "description": "d"}}`, 1)
	putTool(t, filepath.Join(dir, "search_internet", "execute.sh"), "#!/bin/sh\n", 1)
	for _, tt := range []struct {
		keys string
		env  map[string]string
	}{
		{"", map[string]string{"LLF_TOOLS_DIR": dir, "LLF_TOOLS_REGISTRY": filepath.Join(dir, "r", "reg.json")}},
		{"{dir: " + dir + ", registry: " + filepath.Join(dir, "r", "reg.json") + "}",
			map[string]string{"LLF_TOOLS_DIR": "/nowhere"}},
	} {
		c := config.Default()
		if tt.keys != "" {
			c.Tools.LLF = config.LLFTools{Dir: dir, Registry: filepath.Join(dir, "r", "reg.json")}
		}
		c.Tools.Root = t.TempDir()
		box, err := OpenToolbox(c, ToolEnvironment{Getenv: func(name string) string { return tt.env[name] }})
		if err != nil {
			t.Fatal(err)
		}
		if len(box.Problems) > 0 {
			t.Error(box.Problems)
		}
		e := entryOf(t, box, "file_access")
		if e.State != tool.StateEnabled || e.Guard.Mode != tool.ModeRW ||
			strings.Join(e.Guard.Whitelist, " ") != "*.md" || strings.Join(e.Guard.AskFor, " ") != "file_write" ||
			e.Tool.Source != "builtin" {
			t.Errorf("%+v %+v", e.Tool, e.Guard)
		}
		if e := entryOf(t, box, "search_internet"); e.State != tool.StateEnabled ||
			e.Tool.Source != filepath.Join(dir, "search_internet") {
			t.Errorf("%+v", e.Tool)
		}
		if !strings.Contains(strings.Join(box.Dirs, " "), "reg.json") {
			t.Errorf("tools may write to the registry: %v", box.Dirs)
		}
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	}
}
