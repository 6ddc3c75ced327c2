package compose

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/internal/config"
	"wield/tool"
)

func TestShTools(t *testing.T) {
	c := config.Default()
	c.Tools.Root = t.TempDir()
	file := filepath.Join(t.TempDir(), "config.yaml")
	load := func(text string) (*config.Result, error) {
		if err := os.WriteFile(file, []byte("wield: config/v1\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		return config.Load(config.Options{File: file, Getenv: func(string) string { return "" }})
	}
	r, err := load(`
tools:
  root: ` + c.Tools.Root + `
  sh:
    find_text:
      description: Finds a text
      command: grep -rn -- {text} {where:path}
      params: {text: {description: what to find, required: true}}
      read_only: true
      enabled: true
      timeout: 5s
`)
	if err != nil {
		t.Fatal(err)
	}
	box, err := OpenToolbox(r.Config, ToolEnvironment{Sh: []string{"disk: df -h # Shows the free space"}})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	e := entryOf(t, box, "find_text")
	if e.State != tool.StateEnabled || e.Guard.Timeout.Seconds() != 5 || !e.Tool.Facts.ReadOnly ||
		e.Tool.Facts.Paths[0].Argument != "where" ||
		!strings.Contains(string(e.Tool.Definition.Parameters), `"required":["text","where"]`) {
		t.Errorf("%+v %s", e.Tool, e.Tool.Definition.Parameters)
	}
	if e := entryOf(t, box, "disk"); e.State != tool.StateEnabled ||
		e.Tool.Definition.Description != "Shows the free space" || e.Guard.Mode != tool.ModeRO {
		t.Errorf("%+v", e.Tool)
	}
	if _, err := OpenToolbox(r.Config, ToolEnvironment{Sh: []string{"df"}}); err == nil ||
		!strings.Contains(err.Error(), "--sh: ") {
		t.Error(err)
	}
	_, err = load("tools:\n  sh:\n    bad:\n      description: d\n      command: sh -c \"grep {x}\"\n")
	if err == nil || !strings.Contains(err.Error(), ":6:16") || !strings.Contains(err.Error(), "tools.sh.bad.command") {
		t.Errorf("%v", err)
	}
}
