package builtin

import (
	"strings"
	"testing"

	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
)

// runner makes a runner of all tools, switched on, that may write, under a policy that allows all but secrets.
func newRunner(t *testing.T, dir string) *runner.Runner {
	t.Helper()
	p, err := policy.New(policy.Definition{
		Default: "allow",
		Rules: []policy.Rule{
			{Decision: "deny", Selector: policy.Selector{Path: []string{"secret/**"}}},
			{Decision: "allow", Selector: policy.Selector{Path: []string{"**"}}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var r runner.Registry
	for _, b := range Tools(Options{}) {
		b.State = tool.StateEnabled
		if b.Guard != nil {
			b.Guard.Mode = tool.ModeRW
		}
		if err := r.Add(b); err != nil {
			t.Fatal(err)
		}
	}
	return runner.New(runner.Settings{Tools: &r, Policy: p, Root: dir})
}

// TestProtected: what the policy protects is out of reach for every tool, however the call names it.
func TestProtected(t *testing.T) {
	dir := tree(t, map[string]string{"open.txt": "needle\n", "secret/key.txt": "needle\n"})
	r := newRunner(t, dir)
	res, err := r.Call(t.Context(), "search_code", `{"query":"needle"}`)
	if want := `{"matches":[{"path":"open.txt","line":1,"text":"needle"}],"count":1,"withheld":1}`; err != nil ||
		string(res.Data) != want {
		t.Errorf("%s %s, %v; want %s", res.Data, res.Error, err, want)
	}
	for _, call := range [][2]string{
		{"search_code", `{"query":"needle","options":{"path":"secret"}}`},
		{"search_code", `{"query":"needle","options":{"path":"secret/key.txt"}}`},
		{"read_file", `{"path":"secret/key.txt"}`},
		{"file_access", `{"operation":"read","path":"./secret/../secret/key.txt"}`},
		{"edit_file", `{"path":"secret/key.txt","old_string":"needle","new_string":"x"}`},
		{"edit_file", `{"edits":"=== FILE: secret/key.txt\n<<<<<<< SEARCH\nneedle\n=======\nx\n>>>>>>> REPLACE\n"}`},
		{"edit_file", `{"edits":"*** Begin Patch\n*** Delete File: secret/key.txt\n*** End Patch"}`},
		{"edit_file", `{"edits":"--- a/open.txt\n+++ b/secret/new.txt\n@@ -1 +1 @@\n-needle\n+x\n"}`},
		{"edit_file",
			`{"path":"open.txt","edits":"--- a/secret/key.txt\n+++ b/secret/key.txt\n@@ -1 +1 @@\n-needle\n+x\n"}`},
	} {
		res, err := r.Call(t.Context(), call[0], call[1])
		if err != nil || res.OK || res.ErrorType != tool.ErrSecurity {
			t.Errorf("%s %s: %+v, %v", call[0], call[1], res, err)
		}
	}
	if res, err := r.Call(t.Context(), "edit_file",
		`{"path":"open.txt","old_string":"needle","new_string":"pin"}`); err != nil || !res.OK {
		t.Errorf("%+v, %v", res, err)
	}
	if res, _ := r.Call(t.Context(), "read_file", `{"path":"open.txt"}`); !strings.Contains(string(res.Data), "pin") {
		t.Errorf("%+v", res)
	}
}
