package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"wield/internal/gocache"
	"wield/internal/testlevel"
	"wield/tool/sandbox"
)

// collects is the variable that says how often a process collects garbage.
const collects = "GOGC"

func TestMain(m *testing.M) {
	os.Setenv(collects, "400") // most processes of these tests end before there is anything to collect
	sandbox.Main()
	gocache.Main()
	testscript.Main(m, map[string]func(){"wield": main, "wield-mortal": mainMortal})
}

// TestScripts runs testdata/script: each file is a command line session, with the program as a process of its own.
//
// Besides the commands of testscript there is
//
//	code N PROGRAM ARGS...    the program must end with this exit code
//
// and the condition [all]: everything is asked for.
func TestScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts hundreds of processes")
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("XDG_CONFIG_HOME", "")
			name, value, _ := strings.Cut(quickEnd, "=")
			e.Setenv(name, value)
			e.Setenv(collects, os.Getenv(collects))
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond != "all" {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			return testlevel.All(), nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"code": checkCode},
	})
}

func checkCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N PROGRAM ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("%v", err)
	}
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("%v: exit code %d, want %d", args[1:], got, want)
	}
}
