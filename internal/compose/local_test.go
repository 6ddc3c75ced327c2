package compose

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wield/internal/config"
	"wield/tool"
)

// TestLocalActions offers the local tools as the configuration says.
func TestLocalActions(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		name, text string
		offered    string
		fails      string
	}{
		{"off", "wield: config/v1\n", "read_output", ""},
		{"on", "wield: config/v1\ntools: {localActions: {enabled: true}}\n",
			"read_output read edit create bash python sh", ""},
		{"other executors",
			"wield: config/v1\ntools: {localActions: {enabled: true, executors: {sh: [], bash: [], node: [node, -e]}}}\n", "read_output read edit create node python", ""},
		{"one by itself",
			"wield: config/v1\ntools: {localActions: {enabled: true}, builtin: {bash: {enabled: false}}}\n",
			"read_output read edit create python sh", ""},
		{"a name that is taken", "wield: config/v1\ntools: {localActions: {executors: {edit: [ed]}}}\n", "",
			"tools.localActions.executors.edit: blocks edit have a meaning of their own"},
		{"no program", "wield: config/v1\ntools: {localActions: {executors: {node: [\"\"]}}}\n", "",
			"an executor needs a program"},
		{"too large", "wield: config/v1\ntools: {localActions: {fileReads: {maxFileSize: 1GiB}}}\n", "", "maxFileSize"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(file, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := config.Load(config.Options{File: file, Getenv: func(string) string { return "" }})
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Fatalf("Load = %v, want %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			r.Config.Data = dir
			box, err := OpenToolbox(r.Config, ToolEnvironment{Dir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer box.Close()
			var names []string
			for _, e := range box.Registry.Entries() {
				if e.State == tool.StateEnabled {
					names = append(names, e.Tool.Name())
				}
			}
			want := strings.Fields(tt.offered)
			slices.Sort(names)
			slices.Sort(want)
			if !slices.Equal(names, want) {
				t.Errorf("offered: %v, want %v", names, want)
			}
			if box.Undo == nil || !strings.HasPrefix(box.Undo.Dir, dir) || box.Undo.Keep != 200 {
				t.Errorf("what undoes actions is kept in %+v", box.Undo)
			}
		})
	}
}
