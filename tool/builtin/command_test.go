package builtin

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"wield/internal/testlevel"
	"wield/tool"
	"wield/tool/runner"
	"wield/tool/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	memoryMain()
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("internal/poll.runtime_pollWait"),
		goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"))
}

// unheld makes a runner whose processes are only kept together, with a temporary directory.
func unheld(t *testing.T, dir string) *runner.Runner {
	r := newRunner(t, dir)
	r = r.With(func(s *runner.Settings) { s.Policy, s.Sandbox.Level = nil, sandbox.None })
	// Without a temporary directory programs keep what they keep where they always do: to compile Go's own packages
	// anew takes long.
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	r = r.With(func(s *runner.Settings) {
		s.Env = []string{"GOCACHE=" + strings.TrimSpace(string(out)), "GOTOOLCHAIN=local"}
	})
	return r
}

func TestCommandExec(t *testing.T) {
	r := unheld(t, tree(t, map[string]string{"a b.txt": "hello\n", "sub/x": ""}))
	for _, tt := range []struct{ args, want, fails string }{
		{`{"command":"cat","arguments":["a b.txt"]}`, `{"stdout":"hello\n","stderr":"","return_code":0}`, ""},
		{`{"command":"echo","arguments":["*","$HOME",";","id"]}`,
			`{"stdout":"* $HOME ; id\n","stderr":"","return_code":0}`, ""},
		{`{"shell":"echo out; echo err >&2; exit 3"}`, `{"stdout":"out\n","stderr":"err\n","return_code":3}`, ""},
		{`{"command":"ls","cwd":"sub"}`, `{"stdout":"x\n","stderr":"","return_code":0}`, ""},
		{`{"command":"echo","arguments":"-e a b"}`, `{"stdout":"-e a b\n","stderr":"","return_code":0}`, ""},
		{`{"command":"echo","arguments":""}`, `{"stdout":"\n","stderr":"","return_code":0}`, ""},
		{`{"command":"no-such-program"}`, "", "Command not found: no-such-program"},
		{`{"command":"sleep","arguments":["30"],"timeout":1}`, "", "Command timed out after 1 seconds"},
		{`{"command":"sleep","arguments":["30"],"timeout":-5}`, "", "Command timed out after 1 seconds"},
		{`{"command":"ls","cwd":"sub","timeout":1e12}`, `{"stdout":"x\n","stderr":"","return_code":0}`, ""},
		{`{"command":"ls","timeout":"soon"}`, "", "timeout"},
		{`{"command":"ls","shell":"ls"}`, "", "more than one of the forms"},
		{`{}`, "", "none of the 2 forms"},
	} {
		res, err := r.Call(t.Context(), "command_exec", tt.args)
		switch {
		case err != nil:
			t.Error(err)
		case tt.fails != "":
			if res.OK || !strings.Contains(res.Error, tt.fails) {
				t.Errorf("%s: %s %s; want an error that says %q", tt.args, res.Data, res.Error, tt.fails)
			}
		case string(res.Data) != tt.want:
			t.Errorf("%s: %s %s, want %s", tt.args, res.Data, res.Error, tt.want)
		}
	}
}

// TestCommandTimeout: what a command wrote until its time was over is kept (ER-10, E-66).
func TestCommandTimeout(t *testing.T) {
	r := unheld(t, t.TempDir())
	res, err := r.Call(t.Context(), "command_exec", `{"shell":"echo half; echo why >&2; sleep 30","timeout":1}`)
	want := `{"success":false,"error":"Command timed out after 1 seconds","error_type":"TimeoutError",` +
		`"details":{"timed_out":true,"stdout":"half\n","stderr":"why\n"},"timeout":1}`
	if got := string(res.Append(nil, tool.StyleLLF)); err != nil || got != want {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
}

func TestRunTests(t *testing.T) {
	r := unheld(t, tree(t, map[string]string{
		"go.mod":    "module m\n",
		"m_test.go": "package m\n\nimport \"testing\"\n\nfunc TestGood(*testing.T) {}\n\nfunc TestBad(t *testing.T) { t.Fatal(\"no\") }\n",
		"none/x":    "",
	}))
	res, err := r.Call(t.Context(), "run_tests", `{"filter":"TestGood"}`)
	if err != nil || !strings.HasPrefix(string(res.Data), `{"suite":"go","passed":true,"stdout":"ok`) {
		t.Errorf("%s %s, %v", res.Data, res.Error, err)
	}
	res, err = r.Call(t.Context(), "run_tests", `{}`)
	if err != nil || !strings.HasPrefix(string(res.Data), `{"suite":"go","passed":false,"stdout":"--- FAIL: TestBad`) {
		t.Errorf("%s %s, %v", res.Data, res.Error, err)
	}
	for args, fails := range map[string]string{`{"filter":"-exec=sh"}`: "not picked by",
		`{"cwd":"none"}`: "no way of testing is known"} {
		if res, err := r.Call(t.Context(), "run_tests", args); err != nil || !strings.Contains(res.Error, fails) {
			t.Errorf("%s: %s %s, %v", args, res.Data, res.Error, err)
		}
	}
}

func TestGitStatus(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := tree(t, map[string]string{"kept": "a\n", "moved": "some text to be told by\n", "gone": "c\n"})
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-C", dir},
			args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %s", args, out)
		}
	}
	r := unheld(t, dir)
	if res, err := r.Call(t.Context(), "git_status", `{}`); err != nil ||
		!strings.Contains(res.Error, "not a git repository") {
		t.Errorf("%s %s, %v", res.Data, res.Error, err)
	}
	git("init", "-q", "-b", "trunk")
	git("add", ".")
	git("commit", "-q", "-m", "one")
	if res, _ := r.Call(t.Context(), "git_status",
		`{}`); string(res.Data) != `{"branch":"trunk","files":[],"clean":true}` {
		t.Errorf("%s %s", res.Data, res.Error)
	}
	git("mv", "moved", "to")
	git("rm", "-q", "gone")
	for name, text := range map[string]string{"kept": "b\n", "new file": "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// A repository may say what git runs for a status; it is not run.
	git("config", "core.fsmonitor", "touch "+filepath.Join(dir, "ran"))
	res, err := r.Call(t.Context(), "git_status", `{}`)
	want := `{"branch":"trunk","files":[{"path":"gone","staged":"deleted"},{"path":"kept","change":"modified"},` +
		`{"path":"to","from":"moved","staged":"renamed"},{"path":"new file","change":"untracked"}],"clean":false}`
	if err != nil || string(res.Data) != want {
		t.Errorf("%s %s, %v; want %s", res.Data, res.Error, err, want)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("the repository's own program was run")
	}
}

func TestDiagnostics(t *testing.T) {
	r := unheld(t, tree(t, map[string]string{
		"go.mod": "module m\n", "m.go": "package m\n\nimport \"fmt\"\n\nfunc f() { fmt.Printf(\"%d\\n\", \"x\") }\n",
		"broken/b.go": "package broken\n\nfunc f() int { return \"x\" }\n", "none/x": "",
	}))
	res, err := r.Call(t.Context(), "get_diagnostics", `{}`)
	if err != nil || !strings.Contains(string(res.Data), `{"file":"m.go","line":5,`) ||
		!strings.Contains(string(res.Data), `"broken/b.go"`) ||
		!strings.Contains(string(res.Data), `"checkers":["go vet"`) {
		t.Errorf("%s %s, %v", res.Data, res.Error, err)
	}
	if res, err := r.Call(t.Context(), "get_diagnostics", `{"cwd":"none"}`); err != nil ||
		!strings.Contains(res.Error, "no checker fits") {
		t.Errorf("%s %s, %v", res.Data, res.Error, err)
	}
	tsc := readTSC("tsc", "/p", "src/a.ts(3,7): error TS2322: Type 'x' is not assignable.\nFound 1 error.\n", "")
	if len(tsc) != 1 ||
		tsc[0] != (diagnostic{"src/a.ts", 3, 7, "error", "TS2322: Type 'x' is not assignable.", "tsc"}) {
		t.Errorf("%+v", tsc)
	}
	ruff := readRuff("ruff", "/p",
		`[{"filename":"/p/a.py","code":"F401","message":"unused","location":{"row":1,"column":8}}]`, "")
	if len(ruff) != 1 || ruff[0] != (diagnostic{"a.py", 1, 8, "warning", "F401 unused", "ruff"}) {
		t.Errorf("%+v", ruff)
	}
}

// TestCheckers runs each checker that is here on a project with mistakes.
func TestCheckers(t *testing.T) {
	testlevel.Long(t) // TestDiagnostics runs go vet
	for _, tt := range []struct {
		name, program string
		files         map[string]string
		want          []diagnostic // messages only have to begin like this
	}{
		{"go vet", "go", map[string]string{
			"go.mod": "module m\n",
			"m.go":   "package m\n\nimport \"fmt\"\n\nfunc f() { fmt.Printf(\"%d\\n\", \"x\") }\n",
			"b/b.go": "package b\n\nfunc f() int { return \"x\" }\n",
		}, []diagnostic{{"b/b.go", 3, 23, "error", "cannot use", "go vet"},
			{"m.go", 5, 24, "warning", "fmt.Printf format %d has arg", "go vet"}}},
		{"gopls", "gopls", map[string]string{
			"go.mod": "module m\n\ngo 1.26\n",
			"m.go":   "package m\n\nimport \"fmt\"\n\nfunc f() { fmt.Printf(\"%d\\n\", \"x\") }\n",
			"b/b.go": "package b\n\nfunc f() int { return \"x\" }\n",
		}, []diagnostic{{"b/b.go", 3, 23, "error", "cannot use", "gopls"},
			{"m.go", 5, 24, "warning", "fmt.Printf format %d has arg", "gopls"}}},
		{"tsc", "tsc", map[string]string{
			"tsconfig.json": `{"compilerOptions":{"strict":true},"include":["src"]}`,
			"src/a.ts":      "export const n: number = \"x\";\n", "src/b.ts": "export const s = 'fine';\n",
		}, []diagnostic{{"src/a.ts", 1, 14, "error", "TS2322: Type 'string' is not assignable", "tsc"}}},
		{"ruff", "ruff", map[string]string{
			"pyproject.toml": "[project]\nname = \"m\"\nversion = \"1\"\n", "m.py": "import os\n\nprint('x')\n",
		}, []diagnostic{{"m.py", 1, 8, "warning", "F401 ", "ruff"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := exec.LookPath(tt.program); err != nil {
				t.Skipf("there is no %s here: it is not tested", tt.program)
			}
			res, err := unheld(t, tree(t, tt.files)).Call(t.Context(), "get_diagnostics", `{}`)
			if err != nil || !res.OK {
				t.Fatalf("%s, %v", res.Error, err)
			}
			var out diagnosticsOutput
			if err := json.Unmarshal(res.Data, &out); err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(out.Checkers, tt.name) || len(out.Failed) > 0 {
				t.Errorf("%s", res.Data)
			}
			var got []diagnostic
			for _, d := range out.Diagnostics {
				if d.Source == tt.name {
					got = append(got, d)
				}
			}
			same := func(a, b diagnostic) bool {
				begins := strings.HasPrefix(a.Message, b.Message)
				a.Message = b.Message
				return begins && a == b
			}
			if !slices.EqualFunc(got, tt.want, same) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// TestCheckerFails: a project that a checker cannot read is not a project without mistakes.
func TestCheckerFails(t *testing.T) {
	res, err := unheld(t, tree(t, map[string]string{"go.mod": "no such thing\n", "m.go": "package m\n"})).Call(
		t.Context(), "get_diagnostics", `{}`)
	if err != nil || !strings.Contains(string(res.Data), `"failed":[{"checker":"go vet","message":"`) ||
		!strings.Contains(string(res.Data), "go.mod:1") {
		t.Errorf("%s %s, %v", res.Data, res.Error, err)
	}
}
