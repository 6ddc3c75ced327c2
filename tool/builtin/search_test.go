package builtin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
	"wield/tool/sandbox"
)

// An engine is a way of searching.
type engine struct {
	name  string
	after int
	log   string // what ripgrep was asked; empty: it is not
}

// engines are those that are here. The ripgrep of the second one writes down what it is asked.
func engines(t *testing.T) []engine {
	t.Helper()
	list := []engine{{name: "walk", after: -1}}
	rg, err := exec.LookPath("rg")
	if err != nil || runtime.GOOS == "windows" {
		t.Run("ripgrep", func(t *testing.T) {
			t.Skip("there is no ripgrep here that search_code would use: only the own search is tested")
		})
		return list
	}
	bin := t.TempDir()
	log := filepath.Join(bin, "log")
	script := fmt.Sprintf("#!/bin/sh\nprintf '%%s\\n' \"$@\" >>'%s'\nexec '%s' \"$@\"\n", log, rg)
	if err := os.WriteFile(filepath.Join(bin, "rg"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return append(list, engine{name: "ripgrep", after: 1, log: log})
}

// searching makes a runner of search_code with an engine, under a policy that protects secret/.
func searching(t *testing.T, e engine, dir string) *runner.Runner {
	t.Helper()
	p, err := policy.New(policy.Definition{Default: "allow", Rules: []policy.Rule{
		{Decision: "deny", Selector: policy.Selector{Path: []string{"secret/**"}}},
		{Decision: "allow", Selector: policy.Selector{Path: []string{"**"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var reg runner.Registry
	for _, b := range Tools(Options{grepAfter: e.after}) {
		if b.State = tool.StateDisabled; b.Name() == "search_code" {
			b.State = tool.StateEnabled
		}
		if err := reg.Add(b); err != nil {
			t.Fatal(err)
		}
	}
	return runner.New(runner.Settings{Tools: &reg, Policy: p, Root: dir, Sandbox: runner.Box{Level: sandbox.None}})
}

// corpus is a workspace with what engines could see differently.
var corpus = map[string]string{
	"a.txt":              "needle in a.txt\nNEEDLE\nnothing\n",
	"b/one.go":           "package b\n\nfunc Needle() int { return 1 } // needle\n",
	"b/two.go":           "package b\r\n\r\nvar x = \"needle\"\r\n",
	"b/deep/er/c.md":     "# Needles\n\na needle, a needle and a needle\n",
	"-dash.txt":          "needle -n\n",
	"name with space.go": "needle\n",
	"späße.txt":          "Straße, STRASSE, ſtraße; Kelvin: \u212a; É and é\n",
	"latin1.txt":         "caf\xe9 needle\n",
	"utf16.txt":          "\xff\xfen\x00e\x00e\x00d\x00l\x00e\x00\n\x00",
	"binary.bin":         "needle\x00needle\n",
	"late.txt":           strings.Repeat("a line of a text\n", 600) + "late\xff\n",
	"late.bin":           strings.Repeat("line\n", 3000) + "needle\x00\nneedle\n",
	"noend.txt":          "x\nneedle",
	"empty.txt":          "",
	"long.txt":           strings.Repeat("x", 3000) + "needle" + strings.Repeat("y", 3000) + "\n",
	".big/toolong.txt":   strings.Repeat("x", longLine+10) + "needle\n",
	".hidden/h.txt":      "needle\n",
	".gitignore":         "ignored/\n*.log\n!keep.log\n",
	"ignored/i.txt":      "needle\n",
	"x.log":              "needle\n",
	"keep.log":           "needle\n",
	"secret/key.txt":     "needle\n",
	"sub/.gitignore":     "local.txt\n",
	"sub/local.txt":      "needle\n",
	"sub/global.txt":     "needle\n",
	"sub/secret/x.txt":   "needle\n",
}

// corpusQueries are asked of every engine, which must all find what the first one does, in the same order. want says
// how many lines that are.
var corpusQueries = []struct {
	args string
	want int
}{
	{`{"query":"needle"}`, 12},
	{`{"query":"needle","options":{"ignore_case":true}}`, 14},
	{`{"query":"Needle"}`, 2},
	{`{"query":"needle","options":{"max_results":3}}`, 3},
	{`{"query":"needle","options":{"glob":"*.go"}}`, 3},
	{`{"query":"needle","options":{"glob":"b/**"}}`, 3},
	{`{"query":"needle","options":{"path":"b"}}`, 3},
	{`{"query":"needle","options":{"path":"b/deep/er/c.md"}}`, 1},
	{`{"query":"needle","options":{"path":"sub"}}`, 1},
	{`{"query":"-n"}`, 1},
	{`{"query":"--pre=touch x"}`, 0},
	{`{"query":"needle$","options":{"regex":true}}`, 7},
	{`{"query":"\"needle\"$","options":{"regex":true}}`, 1},
	{`{"query":"^needle","options":{"regex":true}}`, 8},
	{`{"query":"\\bneedle\\b","options":{"regex":true}}`, 11},
	{`{"query":"needle|package","options":{"regex":true}}`, 14},
	{`{"query":"(need|pack)(le|age) ?","options":{"regex":true}}`, 14},
	{`{"query":"ne{2,3}dle","options":{"regex":true}}`, 12},
	{`{"query":"(needle){0}package","options":{"regex":true}}`, 2},
	{`{"query":"n.*l","options":{"regex":true}}`, 12},
	{`{"query":"[[:upper:]]{6}","options":{"regex":true}}`, 2},
	{`{"query":"\\w+ß\\w","options":{"regex":true}}`, 1},
	{`{"query":"traße"}`, 1},
	{`{"query":"STRAßE","options":{"ignore_case":true}}`, 1},
	{`{"query":"k","options":{"ignore_case":true,"path":"."}}`, 3},
	{`{"query":"kelvin: k","options":{"ignore_case":true}}`, 1},
	{`{"query":"s","options":{"ignore_case":true,"glob":"sp*"}}`, 1},
	{`{"query":"é","options":{"ignore_case":true}}`, 1},
	{`{"query":"late\ufffd"}`, 1},
	{`{"query":"a\nb"}`, 0},
	{`{"query":"needle\\s","options":{"regex":true}}`, 3},
	{`{"query":"(?s)needle.package","options":{"regex":true}}`, 0},
	{`{"query":"x{100}needle","options":{"regex":true}}`, 1},
	{`{"query":"needle","options":{"path":".big"}}`, 0},
	{`{"query":"nowhere at all"}`, 0},
}

func TestSearchEngines(t *testing.T) {
	dir := tree(t, corpus)
	outside := tree(t, map[string]string{"o.txt": "needle\n"})
	for name, target := range map[string]string{"out": outside, "out.txt": filepath.Join(outside, "o.txt"),
		"in.txt": "a.txt"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	first := make(map[string]string)
	for _, e := range engines(t) {
		t.Run(e.name, func(t *testing.T) {
			r := searching(t, e, dir)
			for _, q := range corpusQueries {
				res, err := r.Call(t.Context(), "search_code", q.args)
				if err != nil || !res.OK {
					t.Errorf("%s: %s, %v", q.args, res.Error, err)
					continue
				}
				got := string(res.Data)
				if n := strings.Count(got, `"line":`); n != q.want {
					t.Errorf("%s: %d lines, want %d: %.2000s", q.args, n, q.want, got)
				}
				if want, ok := first[q.args]; ok && got != want {
					t.Errorf("%s: -first +%s\n%s", q.args, e.name, cmp.Diff(want, got))
				}
				first[q.args] = got
			}
			asked(t, e)
		})
	}
}

// asked checks that ripgrep was asked, and about nothing that may not be read.
func asked(t *testing.T, e engine) {
	t.Helper()
	if e.log == "" {
		return
	}
	log, err := os.ReadFile(e.log)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(log), "\n")
	seen := make(map[string]bool)
	for _, l := range lines {
		seen[l] = true
	}
	for _, name := range []string{"./a.txt", "./-dash.txt", "./sub/global.txt", "./keep.log"} {
		if !seen[name] {
			t.Errorf("ripgrep was not asked about %s", name)
		}
	}
	for _, l := range lines {
		for _, bad := range []string{"./secret", "./.hidden", "./ignored", "./x.log", "./sub/local", "./sub/secret",
			"./out", "./in.txt"} {
			if strings.HasPrefix(l, bad) {
				t.Errorf("ripgrep was asked about %s", l)
			}
		}
	}
}

// TestSearchWithoutRipgrep: a ripgrep that fails, or lies about files that were not named, changes nothing.
func TestSearchWithoutRipgrep(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("ripgrep is not used here")
	}
	dir := tree(t, corpus)
	want, err := searching(t, engine{after: -1}, dir).Call(t.Context(), "search_code", `{"query":"needle"}`)
	if err != nil {
		t.Fatal(err)
	}
	for name, script := range map[string]string{
		"fails": "exit 2", "is killed": "kill -9 $$", "writes much": "yes",
		"says more": `printf 'secret/key.txt\0ignored/i.txt\0'; for f; do printf '%s\0' "$f"; done`,
	} {
		bin := t.TempDir()
		if err := os.WriteFile(filepath.Join(bin, "rg"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", bin+":/usr/bin:/bin")
		got, err := searching(t, engine{after: 1}, dir).Call(t.Context(), "search_code", `{"query":"needle"}`)
		if err != nil || string(got.Data) != string(want.Data) {
			t.Errorf("ripgrep %s: %s, %v; want %s", name, got.Data, err, want.Data)
		}
	}
}

// BenchmarkSearch looks for a text that is in none of 5000 files.
func BenchmarkSearch(b *testing.B) {
	dir := b.TempDir()
	text := []byte(strings.Repeat("a line of a program that is not what is looked for\n", 160))
	for i := range 5_000 {
		sub := filepath.Join(dir, fmt.Sprint(i/100))
		if i%100 == 0 {
			if err := os.Mkdir(sub, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprint(i)), text, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for _, e := range []engine{{name: "walk", after: -1}, {name: "ripgrep", after: 1}} {
		b.Run(e.name, func(b *testing.B) {
			if _, err := exec.LookPath("rg"); err != nil && e.after > 0 {
				b.Skip("there is no ripgrep here")
			}
			var reg runner.Registry
			for _, t := range Tools(Options{grepAfter: e.after}) {
				if t.Name() == "search_code" {
					t.State = tool.StateEnabled
					if err := reg.Add(t); err != nil {
						b.Fatal(err)
					}
				}
			}
			r := runner.New(runner.Settings{Tools: &reg, Root: dir})
			for b.Loop() {
				if res, err := r.Call(b.Context(), "search_code", `{"query":"needle"}`); err != nil || !res.OK {
					b.Fatal(res.Error, err)
				}
			}
		})
	}
}
