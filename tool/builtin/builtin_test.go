package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wield/chat"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
)

// run runs one tool in a workspace, past all checks, and returns its data.
func run(t *testing.T, dir, name, arguments string, o Options) (string, error) {
	t.Helper()
	var r runner.Registry
	all := Tools(o)
	if err := r.Add(all...); err != nil {
		t.Fatal(err)
	}
	i := slices.Index(toolNames(), name)
	if i < 0 {
		t.Fatalf("no tool %s", name)
	}
	res, err := all[i].Handler.Run(t.Context(), &tool.Call{Call: chat.Call{Name: name, Arguments: arguments},
		Tool: all[i], Root: dir})
	return string(res.Data), err
}

// tree makes a workspace.
func tree(t testing.TB, content map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range content {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestOff: nothing is offered, and nothing may write, until somebody says so.
func TestOff(t *testing.T) {
	for _, b := range Tools(Options{}) {
		if b.State != tool.StateDisabled || b.Source != "builtin" {
			t.Errorf("%s is %s", b.Name(), b.State)
		}
		writes := b.Facts.Operation != ""
		for _, p := range b.Facts.Paths {
			writes = writes || p.Op == policy.OpWrite || p.Op == policy.OpDelete
		}
		if writes && (b.Guard == nil || b.Guard.Mode != tool.ModeRO) {
			t.Errorf("%s writes and is not read-only from the start", b.Name())
		}
		if !strings.Contains(b.Definition.Description, "Example: {") {
			t.Errorf("%s: its description has no example", b.Name())
		}
	}
}

func TestTools(t *testing.T) {
	files := map[string]string{
		"a.txt": "one\ntwo\nthree\n", "src/main.go": "package main\n\nfunc main() {}\n",
		"src/sub/x.go": "package sub // main\n", ".hidden/y.go": "package main\n", "bin": "a\x00b",
		"node_modules/z.js": "main\n", ".gitignore": "node_modules/\n*.log\n!keep.log\n", "a.log": "main\n",
		"keep.log": "main\n", "empty": "",
	}
	for _, tt := range []struct{ name, tool, args, want, fails string }{
		{"a file", "read_file", `{"path":"a.txt"}`, `"one\ntwo\nthree\n"`, ""},
		{"a window", "read_file", `{"path":"a.txt","offset":2,"limit":1}`,
			`"two\n\n[lines 2 to 2 of a.txt, which goes on; read on with \"offset\": 3]"`, ""},
		{"its end", "read_file", `{"path":"a.txt","offset":3}`, `"three\n\n[lines 3 to 3 of a.txt, its end]"`, ""},
		{"behind its end", "read_file", `{"path":"a.txt","offset":9}`, "", "has only 3 lines"},
		{"an empty file", "read_file", `{"path":"empty"}`, `""`, ""},
		{"no file", "read_file", `{"path":"b.txt"}`, "", "File not found: b.txt"},
		{"a directory", "read_file", `{"path":"src"}`, "", "a directory"},
		{"outside", "read_file", `{"path":"../x"}`, "", "outside the root"},
		{"binary", "read_file", `{"path":"bin"}`, "", "binary file of 3 bytes"},
		{"dots in a name", "read_file", `{"path":"a..b.txt"}`, "", "File not found"},

		{"a new file", "write_file", `{"path":"new/c.txt","content":"c"}`, `{"path":"new/c.txt","bytes_written":1}`,
			""},
		{"writing outside", "write_file", `{"path":"/etc/x","content":"c"}`, "", "outside the root"},

		{"a directory", "list_files", `{}`,
			`{"files":["a.log","a.txt","bin","empty","keep.log","node_modules/","src/"],"count":7}`, ""},
		{"hidden", "list_files", `{"hidden":true,"pattern":"**/*.go"}`,
			`{"files":[".hidden/y.go","src/main.go","src/sub/x.go"],"count":3}`, ""},
		{"a pattern", "list_files", `{"path":"src","pattern":"**/*.go"}`, `{"files":["main.go","sub/x.go"],"count":2}`,
			""},
		{"a star is one directory", "list_files", `{"pattern":"*/*.go"}`, `{"files":["src/main.go"],"count":1}`, ""},
		{"too many", "list_files", `{"max_results":1}`, `{"files":["a.log"],"count":1,"truncated":true}`, ""},
		{"no directory", "list_files", `{"path":"a.txt"}`, "", "not a directory"},
		{"no glob", "list_files", `{"pattern":"[a"}`, "", "is no glob"},

		{"a word", "search_code", `{"query":"main"}`,
			`{"matches":[{"path":"keep.log","line":1,"text":"main"},{"path":"src/main.go","line":1,"text":"package main"},{"path":"src/main.go","line":3,"text":"func main() {}"},{"path":"src/sub/x.go","line":1,"text":"package sub // main"}],"count":4}`, ""},
		{"a regular expression", "search_code", `{"query":"^func \\w+","options":{"regex":true}}`,
			`{"matches":[{"path":"src/main.go","line":3,"text":"func main() {}"}],"count":1}`, ""},
		{"a text is no expression", "search_code", `{"query":"main()"}`,
			`{"matches":[{"path":"src/main.go","line":3,"text":"func main() {}"}],"count":1}`, ""},
		{"names of files", "search_code", `{"query":"package","options":{"glob":"x.*"}}`,
			`{"matches":[{"path":"src/sub/x.go","line":1,"text":"package sub // main"}],"count":1}`, ""},
		{"one directory", "search_code", `{"query":"PACKAGE","options":{"path":"src/sub","ignore_case":true}}`,
			`{"matches":[{"path":"src/sub/x.go","line":1,"text":"package sub // main"}],"count":1}`, ""},
		{"one file", "search_code", `{"query":"t","options":{"path":"a.txt","max_results":1}}`,
			`{"matches":[{"path":"a.txt","line":2,"text":"two"}],"count":1,"truncated":true}`, ""},
		{"nothing", "search_code", `{"query":"nowhere"}`, `{"matches":[],"count":0}`, ""},
		{"no expression", "search_code", `{"query":"(","options":{"regex":true}}`, "", "no regular expression"},

		{"reading", "file_access", `{"operation":"read","path":"a.txt"}`,
			`{"content":"one\ntwo\nthree\n","size":14,"encoding":"utf-8"}`, ""},
		{"reading bytes", "file_access", `{"operation":"read","path":"bin"}`,
			`{"content":"YQBi","size":3,"encoding":"base64"}`, ""},
		{"writing", "file_access", `{"operation":"write","path":"d","content":"AAE=","encoding":"base64"}`,
			`{"bytes_written":2}`, ""},
		{"writing nonsense", "file_access", `{"operation":"write","path":"d","content":"!","encoding":"base64"}`, "",
			"no base64"},
		{"listing", "file_access", `{"operation":"list","path":"src"}`, `{"files":["main.go","sub/"],"count":2}`, ""},
		{"deleting", "file_access", `{"operation":"delete","path":"a.txt"}`, `{"deleted":"a.txt"}`, ""},
		{"deleting the workspace", "file_access", `{"operation":"delete","path":"."}`, "", "the root itself stays"},

		{"an edit", "edit_file", `{"path":"a.txt","old_string":"two","new_string":"2"}`,
			`{"files":[{"path":"a.txt","summary":"[edit: a.txt (−1 +1)]","diff":"--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"}]}`, ""},
		{"an edit of what is not there", "edit_file", `{"path":"a.txt","old_string":"zwei","new_string":"2"}`, "",
			"search text not found"},
		{"blocks for a path", "edit_file", `{"path":"empty","edits":"<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE\n"}`,
			`{"files":[{"path":"empty","summary":"[edit: empty (−0 +1)]","diff":"--- a/empty\n+++ b/empty\n@@ -0,0 +1 @@\n+x\n"}]}`, ""},
		{"both", "edit_file", `{"path":"a.txt","old_string":"a","edits":"x"}`, "", "not both"},
	} {
		t.Run(tt.tool+"/"+tt.name, func(t *testing.T) {
			got, err := run(t, tree(t, files), tt.tool, tt.args, Options{})
			switch {
			case tt.fails != "":
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("%s, %v; want an error that says %q", got, err, tt.fails)
				}
			case err != nil:
				t.Error(err)
			case got != tt.want:
				t.Errorf("-want +got\n%s", cmp.Diff(tt.want, got))
			}
		})
	}
}

func TestCalculator(t *testing.T) {
	for _, tt := range []struct{ expr, want, fails string }{
		{"123 * 45", "5535", ""},
		{"((10 + 5) * 2) - 8", "22", ""},
		{"2+2", "4", ""},
		{"0.1 + 0.2", "0.3", ""},
		{"1/3", "0.3333333333333333333333333333333333333333", ""},
		{"2/3", "0.6666666666666666666666666666666666666667", ""},
		{"1/8", "0.125", ""},
		{"2^10", "1024", ""},
		{"2**3**2", "512", ""},
		{"-2^2", "-4", ""},
		{"(-2)^3", "-8", ""},
		{"2^-2", "0.25", ""},
		{"2^0", "1", ""},
		{"(-1)^1000001", "-1", ""},
		{"1^99999999999999999999", "1", ""},
		{"0^0", "1", ""},
		{"-7 % 3", "2", ""},
		{"7.5 % 2", "1.5", ""},
		{"1e3 + 1_000", "2000", ""},
		{"6 × 7 ÷ 2 − 1", "20", ""},
		{"99999999999999999999 + 1", "100000000000000000000", ""},
		{"--3", "3", ""},
		{"1/0", "", "division by zero"},
		{"0^-1", "", "division by zero"},
		{"9^9^9^9", "", "more than"},
		{"2^99999999", "", "more than"},
		{"2^0.5", "1.4142135623731", ""},
		{"2 +", "", "ends where a number should stand"},
		{"(1", "", "ends where a closing bracket should stand"},
		{"1 2", "", "'2' at position 3"},
		{"import os", "", "no \"import\" at position 1"},
		{"1.2.3", "", "is no number"},
		{strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200), "", "nested deeper"},
		{strings.Repeat("1+", 3000) + "1", "", "longer than"},
		{"", "", "Missing 'expression' parameter"},
	} {
		args, _ := json.Marshal(map[string]string{"expression": tt.expr})
		got, err := run(t, "", "calculator", string(args), Options{})
		if tt.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fails) {
				t.Errorf("%q: %s, %v; want an error that says %q", tt.expr, got, err, tt.fails)
			}
			continue
		}
		if want := fmt.Sprintf("%q", tt.want); err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", tt.expr, got, err, want)
		}
	}
}

// TestStopped: a search that nobody waits for ends.
func TestStopped(t *testing.T) {
	dir := tree(t, map[string]string{"a": strings.Repeat("x\n", 10_000)})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	all := Tools(Options{})
	i := slices.Index(toolNames(), "search_code")
	_, err := all[i].Handler.Run(ctx, &tool.Call{Call: chat.Call{Arguments: `{"query":"y"}`}, Root: dir})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
