package dir

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"wield/chat"
	"wield/tool"
	"wield/tool/runner"
)

// TestBatch: calls of one turn run as one run of a program that says so, and each has its own result.
func TestBatch(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program is a shell script")
	}
	dir := t.TempDir()
	script := `#!/bin/sh
# description: Adds numbers. Example: {"a": 1}
# param a integer required: a number
# batch: yes
echo run >> "` + dir + `/runs"
[ "$1" = batch ] && echo '["one", {"error": "no two"}, {"n": 3}]'
cat > "` + dir + `/input"
`
	if err := os.WriteFile(filepath.Join(dir, "sums"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	tools, err := Load(t.Context(), dir, Options{Level: "none"})
	if err != nil || len(tools) != 1 {
		t.Fatalf("%v, %v", tools, err)
	}
	one := *tools[0]
	one.State, one.Guard = tool.StateEnabled, &tool.Guard{Mode: tool.ModeRW}
	reg := new(runner.Registry)
	if err := reg.Add(&one); err != nil {
		t.Fatal(err)
	}
	r := runner.New(runner.Settings{Tools: reg, Root: dir, Temp: t.TempDir(), Sandbox: runner.Box{Level: "none"}})
	var got []string
	for e, err := range r.RunAll(t.Context(), []chat.Call{
		{ID: "1", Name: "sums", Arguments: `{"a":1}`, Complete: true},
		{ID: "2", Name: "sums", Arguments: `{"a":2}`, Complete: true},
		{ID: "3", Name: "sums", Arguments: `{"a":3}`, Complete: true},
	}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == chat.KindResult {
			m := e.Detail.(*chat.Result).Message()
			got = append(got, m.Text())
		}
	}
	if want := `one|Error: no two|{"n": 3}`; strings.Join(got, "|") != want {
		t.Errorf("%q; want %s", got, want)
	}
	if runs, _ := os.ReadFile(filepath.Join(dir, "runs")); string(runs) != "run\n" {
		t.Errorf("it ran %q", runs)
	}
	if input, _ := os.ReadFile(filepath.Join(dir, "input")); string(input) != `[{"a":1},{"a":2},{"a":3}]` {
		t.Errorf("it read %s", input)
	}
}
