package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/chat"
	"wield/tool/policy"
)

// TestKeptRules keeps the rules that a policy offers for calls of several kinds, and reads them back: with them, and
// only in their directory, the same calls are allowed.
func TestKeptRules(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state", KeptRulesFile)
	base, err := policy.New(policy.Definition{Default: chat.DecisionAsk})
	if err != nil {
		t.Fatal(err)
	}
	calls := []policy.Action{
		{Tool: "edit", Arguments: `{"path":"a b.txt","edits":"x"}`,
			Paths: []policy.PathUse{{Path: "a b.txt", Op: policy.OpWrite}}, Root: "/work"},
		{Tool: "bash", Arguments: `{"code":"git status"}`, Shell: "git status", Root: "/work"},
		{Tool: "odd", Arguments: `{"text":"it's: {\"#\"}","n":3}`},
	}
	dir := `/srv/it's "odd": #1`
	kept := 0
	for _, c := range calls {
		rules := base.Propose(c)
		if len(rules) == 0 {
			t.Fatalf("no rule is offered for %s", c.Tool)
		}
		kept += len(rules)
		for range 2 { // the second time nothing is added
			if err := KeepRules(file, dir, rules); err != nil {
				t.Fatal(err)
			}
		}
		if err := KeepRules(file, "/srv/other", rules[:1]); err != nil {
			t.Fatal(err)
		}
	}
	rules, err := LoadKeptRules(file, dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(rules) != kept {
		t.Errorf("%d rules are kept, want %d", len(rules), kept)
	}
	with, err := base.With(rules...)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		if d := with.Decide(c).Decision; d != chat.DecisionAllow {
			t.Errorf("%s: %s, though its rule is kept", c.Tool, d)
		}
	}
	if d := with.Decide(policy.Action{Tool: "bash", Arguments: `{"code":"git push"}`, Shell: "git push",
		Root: "/work"}).Decision; d != chat.DecisionAsk {
		t.Errorf("another command: %s", d)
	}
	if rules, err := LoadKeptRules(file, "/work"); err != nil || len(rules) > 0 {
		t.Errorf("the directory above has %d rules (%v)", len(rules), err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("the file can be read by others: %v %v", info.Mode(), err)
	}
}

func TestKeptRulesBroken(t *testing.T) {
	file := filepath.Join(t.TempDir(), KeptRulesFile)
	if rules, err := LoadKeptRules(file, "/w"); err != nil || rules != nil {
		t.Errorf("no file: %v, %v", rules, err)
	}
	for _, text := range []string{"directories:\n  - path: /w\n    rules:\n      - allw: {tool: [x]}\n",
		"directories: 5\n", "\x00"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := LoadKeptRules(file, "/w")
		if err == nil || !strings.Contains(err.Error(), KeptRulesFile) {
			t.Errorf("%q: %v, want an error that names the file", text, err)
		}
		if err := KeepRules(file, "/w", nil); err == nil {
			t.Errorf("%q is written over", text)
		}
	}
}
