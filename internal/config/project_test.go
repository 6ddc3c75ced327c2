package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestTighten(t *testing.T) {
	file := filepath.Join(t.TempDir(), ProjectFile)
	if err := os.WriteFile(file, []byte("deny: [{command: [rm]}]\nask: [{host: ['*']}]\ntools: {disable: [fetch]}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	p, warnings, err := LoadProject(file)
	if err != nil || len(warnings) != 0 {
		t.Fatalf("%v, %d warnings", err, len(warnings))
	}
	deny := Rule{Deny: &Selector{Command: []string{"rm"}}}
	ask := Rule{Ask: &Selector{Host: []string{"*"}}}
	allow := Rule{Allow: &Selector{Tool: []string{"x"}}}

	c := Default()
	c.Tools.Disable = []string{"write"}
	c.Policies = map[string]Policy{"a": {Default: "allow", Rules: []Rule{allow}}, "b": {Default: "deny"}}
	c.Tighten(p)
	want := map[string]Policy{"a": {Default: "allow", Rules: []Rule{deny, ask, allow}},
		"b": {Default: "deny", Rules: []Rule{deny, ask}}}
	if diff := cmp.Diff(want, c.Policies, cmpopts.IgnoreFields(Selector{}, "At")); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"write", "fetch"}, c.Tools.Disable); diff != "" {
		t.Errorf("disabled (-want +got):\n%s", diff)
	}

	c = Default()
	c.Tighten(p)
	want = map[string]Policy{"default": {Default: "ask", Rules: []Rule{deny, ask}}}
	if diff := cmp.Diff(want, c.Policies, cmpopts.IgnoreFields(Selector{}, "At")); diff != "" {
		t.Errorf("without policies (-want +got):\n%s", diff)
	}
}

// TestProjectIsOnlyStricter checks that no key of the main file that is not in the list is taken from a project.
func TestProjectIsOnlyStricter(t *testing.T) {
	example, err := os.ReadFile("testdata/example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), ProjectFile)
	if err := os.WriteFile(file, example, 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err = LoadProject(file)
	if err == nil {
		t.Fatal("was accepted")
	}
	for _, key := range []string{"listen", "hosts", "origins", "keys", "backends", "models", "tools.dirs",
		"tools.builtin", "policies", "sandbox", "capture"} {
		if !strings.Contains(err.Error(),
			": "+key+": unknown key; a project's file holds deny, ask and tools.disable, nothing else") {
			t.Errorf("%s is not refused:\n%v", key, err)
		}
	}
}
