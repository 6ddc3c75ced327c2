package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTally plays commands that say what go test says, and end with a status.
func TestTally(t *testing.T) {
	const (
		ok = `{"Action":"run","Package":"wield/a","Test":"TestOne"}` + "\n" +
			`{"Action":"pass","Package":"wield/a","Test":"TestOne","Elapsed":11}` + "\n"
		fails = `{"Action":"output","Package":"wield/a","Test":"TestTwo","Output":"    a_test.go:1: late\n"}` + "\n" +
			`{"Action":"fail","Package":"wield/a","Test":"TestTwo/part"}` + "\n" +
			`{"Action":"fail","Package":"wield/a","Test":"TestTwo"}` + "\n" + `{"Action":"fail","Package":"wield/a"}` +
			"\n"
		beside = `{"Action":"fail","Package":"wield/a"}` + "\n"
		hangs  = `{"Action":"run","Package":"wield/a","Test":"TestOne"}` + "\n"
		build  = `{"Action":"build-fail","ImportPath":"wield/b [wield/b.test]"}` + "\n" +
			`{"Action":"fail","Package":"wield/b","FailedBuild":"wield/b [wield/b.test]"}` + "\n"
		skips = `{"Action":"output","Package":"wield/a","Test":"TestOne","Output":"    a_test.go:7: there is no x\n"}` + "\n" + `{"Action":"skip","Package":"wield/a","Test":"TestOne"}` + "\n"
	)
	for _, tt := range []struct {
		name, said, status              string // of the command
		passed, failed, broken, skipped int
		told                            string
	}{
		{name: "all passes", said: ok, status: "0", passed: 1},
		{name: "one fails", said: ok + fails, status: "1", passed: 1, failed: 2,
			told: "--- FAIL a: TestTwo\n    a_test.go:1: late\n"},
		{name: "a package fails beside its tests", said: ok + beside, status: "1", passed: 1, broken: 1},
		{name: "one never ends", said: hangs, status: "1", failed: 1, told: "--- FAIL a: TestOne\nit never ended\n"},
		{name: "a package does not build", said: ok + build, status: "1", passed: 1, broken: 1},
		{name: "the command fails without a word", said: ok, status: "2", passed: 1, broken: 1},
		{name: "go speaks", said: "go: no such thing\n" + ok, status: "0", passed: 1, told: "go: no such thing\n"},
		{name: "one is skipped", said: ok + skips, status: "0", passed: 1, skipped: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{"said": tt.said,
				"go": "#!/bin/sh\ncat " + dir + "/said\nexit " + tt.status + "\n"} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			var out strings.Builder
			all := run([]string{filepath.Join(dir, "go"), "test", "-json"}, &out, time.Second)
			if all.passed != tt.passed || all.failed != tt.failed || len(all.broken) != tt.broken ||
				all.skipped != tt.skipped {
				t.Errorf("%d passed, %d failed, broken %q, %d skipped", all.passed, all.failed, all.broken, all.skipped)
			}
			if !strings.Contains(out.String(), tt.told) {
				t.Errorf("told: %q", out.String())
			}
			if failing := all.told(); tt.failed > 0 && !strings.Contains(failing, tt.told) ||
				(tt.failed+tt.broken > 0) != (failing != "") {
				t.Errorf("told at the end: %q", failing)
			}
			if tt.skipped > 0 && all.skips[0] != "a: TestOne: there is no x" || len(all.slows) != tt.passed {
				t.Errorf("skips %q, slow %q", all.skips, all.slows)
			}
		})
	}
}

// TestToldMuch: of a test that said much the end is told once more, after its name.
func TestToldMuch(t *testing.T) {
	var all tally
	all.open, all.blame = map[string]*test{}, map[string]bool{}
	all.fail(&test{pack: "wield/a", name: "TestOne",
		output: []string{strings.Repeat("early\n", 10_000), "the reason\n"}}, io.Discard)
	if told := all.told(); !strings.HasPrefix(told, "--- FAIL a: TestOne\n") ||
		!strings.HasSuffix(told, "the reason\n") || len(told) > 10<<10 {
		t.Errorf("told %d bytes: %.100q", len(told), told)
	}
}
