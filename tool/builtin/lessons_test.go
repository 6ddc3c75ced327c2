//go:build unix

package builtin

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"wield/chat"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
	"wield/tool/sandbox"
)

// The tests of this file carry out what has gone wrong in programs that came before, with real files,
// processes and servers, and look at what is left afterwards. The names are those of the lessons. Package
// policy has the decisions alone.

// outer is the content of files outside the workspace. No call may return it.
const outer = "5c1e of the neighbours"

// A yard is a workspace with a neighbour.
type yard struct {
	*testing.T
	dir, out string
	r        *runner.Runner
}

// newYard makes a runner whose tools may write and whose policy allows whatever the built-in checks let pass.
func newYard(t *testing.T) *yard {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	y := &yard{T: t, dir: filepath.Join(base, "yard"), out: filepath.Join(base, "next")}
	for name, text := range map[string]string{
		"yard/docs/a.md": "about a", "yard/docs/sub/b.md": "about b", "yard/docs-old/s.md": outer,
		"yard/config.json": "{}", "yard/notes.txt": "notes", "yard/src/pkg/deep/x.go": "package deep",
		"yard/.env": "KEY=" + outer, "next/plan.txt": outer, "next/hosts": outer, "yard-2/plan.txt": outer,
	} {
		name = filepath.Join(base, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755),
			os.WriteFile(name, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	y.r = newRunner(t, y.dir)
	// what is tested here is what stands before it
	y.r = y.r.With(func(s *runner.Settings) { s.Sandbox.Level = sandbox.None })
	y.policy(policy.Rule{Decision: chat.DecisionAllow, Selector: policy.Selector{Path: []string{"**", "*"}}})
	return y
}

// policy puts rules in force, with all that they say nothing about allowed.
func (y *yard) policy(rules ...policy.Rule) {
	y.Helper()
	p, err := policy.New(policy.Definition{Default: chat.DecisionAllow, Rules: rules})
	if err != nil {
		y.Fatal(err)
	}
	y.r = y.r.With(func(s *runner.Settings) { s.Policy = p })
}

// allows is a rule for commands.
func allows(commands ...string) policy.Rule {
	return policy.Rule{Decision: chat.DecisionAllow, Selector: policy.Selector{Command: commands}}
}

// guard gives a tool the settings of a configuration.
func (y *yard) guard(name string, g tool.Guard) {
	y.Helper()
	if err := y.r.Settings().Tools.(*runner.Registry).SetGuard(name, &g); err != nil {
		y.Fatal(err)
	}
}

func (y *yard) call(name, args string) tool.Result {
	y.Helper()
	args = strings.NewReplacer("$OUT", y.out, "$WS", y.dir).Replace(args)
	res, err := y.r.Call(y.Context(), name, args)
	if err != nil && !errors.Is(err, runner.ErrPending) {
		y.Fatalf("%s %s: %v", name, args, err)
	}
	if text := fmt.Sprintf("%s %s %s", res.Data, res.Error, res.Details); strings.Contains(text, outer) {
		y.Errorf("%s %s tells what is outside: %s", name, args, text)
	}
	return res
}

// works fails the test if a call fails.
func (y *yard) works(name string, args ...string) {
	y.Helper()
	for _, a := range args {
		if res := y.call(name, a); !res.OK {
			y.Errorf("%s %s: %s", name, a, res.Error)
		}
	}
}

// refused fails the test if a call is carried out, or if anything outside, or the names in the workspace, are
// others afterwards.
func (y *yard) refused(name string, args ...string) {
	y.Helper()
	for _, a := range args {
		before := y.everything()
		if res := y.call(name, a); res.OK {
			y.Errorf("%s %s: %s", name, a, res.Data)
		}
		if after := y.everything(); after != before {
			y.Errorf("%s %s changed something:\n%s\nwas\n%s", name, a, after, before)
		}
	}
}

// everything lists all files of the workspace and around it, with what is in them.
func (y *yard) everything() string {
	y.Helper()
	var b strings.Builder
	base := filepath.Dir(y.dir)
	err := filepath.WalkDir(base, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		text := []byte(nil)
		if d.Type().IsRegular() {
			text, err = os.ReadFile(p)
		}
		fmt.Fprintf(&b, "%s %v %q\n", strings.TrimPrefix(p, base), d.Type(), text)
		return err
	})
	if err != nil {
		y.Fatal(err)
	}
	return b.String()
}

func (y *yard) link(target, name string) {
	y.Helper()
	if err := os.Symlink(target, filepath.Join(y.dir, name)); err != nil {
		y.Fatal(err)
	}
}

func toRead(path string) string { return fmt.Sprintf(`{"operation":"read","path":%q}`, path) }
func toList(path string) string { return fmt.Sprintf(`{"operation":"list","path":%q}`, path) }
func toWrite(path string) string {
	return fmt.Sprintf(`{"operation":"write","path":%q,"content":"x"}`, path)
}
func toDelete(path string) string { return fmt.Sprintf(`{"operation":"delete","path":%q}`, path) }

func TestX_E01_NeighbourByItsName(t *testing.T) {
	y := newYard(t)
	y.guard("file_access", tool.Guard{Whitelist: []string{"docs/*"}})
	y.works("file_access", toRead("docs/a.md"))
	y.refused("file_access", toRead("docs-old/s.md"), toRead("$WS-2/plan.txt"))
}

func TestX_E02_NeighbourByDots(t *testing.T) {
	y := newYard(t)
	y.guard("file_access", tool.Guard{Whitelist: []string{"docs/*"}})
	y.refused("file_access", toRead("docs/../docs-old/s.md"), toRead("docs/sub/../../docs-old/s.md"))
}

func TestX_E03_NamesAnywhere(t *testing.T) {
	y := newYard(t)
	y.guard("file_access", tool.Guard{Whitelist: []string{"*.txt", "hosts", "*.conf"}})
	y.works("file_access", toRead("notes.txt"))
	y.refused("file_access", toRead("$OUT/plan.txt"), toRead("$OUT/hosts"), toRead("/etc/hosts"))
}

func TestX_E04_Dots(t *testing.T) {
	y := newYard(t)
	y.guard("file_access", tool.Guard{Whitelist: []string{"plan.txt", "passwd"}})
	y.refused("file_access", toRead("../next/plan.txt"), toRead("docs/../../next/plan.txt"),
		toRead("../../../../../../../../../../etc/passwd"))
}

func TestX_E05_AllListed(t *testing.T) {
	t.Setenv("YARD_TOKEN", outer)
	y := newYard(t)
	y.guard("file_access", tool.Guard{Mode: tool.ModeRW, Whitelist: []string{"*", "**"}})
	y.refused("read_file", `{"path":"/etc/passwd"}`, `{"path":"/proc/self/environ"}`)
	y.refused("file_access", toRead("/etc/passwd"), toRead("/proc/self/environ"),
		toRead("/proc/self/root"+y.out+"/plan.txt"), toRead("~root/.ssh/id_rsa"), toRead(".env"), toRead("/dev/stdin"))
	y.refused("search_code", `{"query":"neighbours","options":{"path":"/proc/self"}}`)
	y.call("search_code", `{"query":"KEY="}`) // key material in the workspace is left out
	y.call("search_code", `{"query":"KEY=","options":{"path":".env"}}`)
	y.call("search_code", `{"query":"KEY=","options":{"glob":".*"}}`)
}

func TestX_E06_Lists(t *testing.T) {
	y := newYard(t)
	y.guard("file_access", tool.Guard{Whitelist: []string{"*"}})
	y.refused("file_access", toList("/root"), toList("$OUT"), toList(".."), toList("/proc/self/fd"))
	y.guard("file_access", tool.Guard{Whitelist: []string{"docs/*"}})
	y.refused("file_access", toList("docs"), toList("src"))
	y.works("file_access", toList("docs/sub"))
}

func TestX_E07_Links(t *testing.T) {
	y := newYard(t)
	y.link(filepath.Join(y.out, "plan.txt"), "docs/link.md")
	y.link(y.out, "docs/dir")
	y.link("../..", "docs/up")
	y.link(filepath.Join(y.out, "new.txt"), "docs/gone.md")
	y.link("loop", "docs/loop")
	if err := os.Link(filepath.Join(y.out, "plan.txt"), filepath.Join(y.dir, "docs/hard.md")); err != nil {
		t.Fatal(err)
	}
	y.guard("file_access", tool.Guard{Mode: tool.ModeRW, Whitelist: []string{"**"}})
	y.refused("file_access", toRead("docs/link.md"), toWrite("docs/link.md"), toRead("docs/dir/plan.txt"),
		toWrite("docs/dir/new.txt"), toDelete("docs/dir/plan.txt"), toRead("docs/up/next/plan.txt"),
		toWrite("docs/gone.md"), toRead("docs/loop"), toRead("docs/hard.md"), toWrite("docs/hard.md"))
	y.refused("edit_file", `{"path":"docs/link.md","old_string":"of","new_string":"x"}`,
		`{"path":"docs/hard.md","old_string":"of","new_string":"x"}`)
	y.call("search_code", `{"query":"neighbours","options":{"path":"docs"}}`)
	y.call("search_code", `{"query":"neighbours","options":{"path":"docs/dir"}}`)
	y.call("list_files", `{"pattern":"**"}`)
}

// TestX_E07_SwappedWhileItIsRead has another process change a file for a link between the look at it and the reading.
func TestX_E07_SwappedWhileItIsRead(t *testing.T) {
	const rounds = 500
	y := newYard(t)
	y.link(filepath.Join(y.out, "plan.txt"), "link")
	at, good, link := filepath.Join(y.dir, "docs/a.md"), filepath.Join(y.dir, "good"), filepath.Join(y.dir, "link")
	if err := os.Rename(at, good); err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan error)
	go func() {
		for {
			for _, from := range []string{good, link} {
				if err := errors.Join(os.Rename(from, at), os.Rename(at, from)); err != nil {
					done <- err
					return
				}
			}
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
		}
	}()
	read, failed := 0, 0
	for i := 0; i < rounds || (read == 0 || failed == 0) && i < 100*rounds; i++ {
		if y.call("read_file", `{"path":"docs/a.md"}`).OK {
			read++
		} else {
			failed++
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	t.Logf("%d were read, %d were not", read, failed)
}

func TestX_E08_NamesOfKeysAndOfWhatRunsLater(t *testing.T) {
	y := newYard(t)
	y.guard("file_access", tool.Guard{Mode: tool.ModeRW, Whitelist: []string{"*", "**"}})
	for _, name := range []string{".env.local", "KEY.PEM", "id_rsa", "secrets.yaml", ".git/hooks/pre-commit",
		"home/.bashrc", ".npmrc", ".netrc", ".ssh/config", "sub/.GIT/config", ".wield.yaml", ".gitmodules"} {
		y.refused("file_access", toWrite(name))
		y.refused("write_file", fmt.Sprintf(`{"path":%q,"content":"x"}`, name))
		y.refused("edit_file", fmt.Sprintf(`{"edits":"*** Begin Patch\n*** Add File: %s\n+x\n*** End Patch"}`, name))
	}
	y.works("file_access", toWrite("docs/new.md"))
}

func TestX_E09_ApprovalIsAQuestion(t *testing.T) {
	y := newYard(t)
	y.guard("file_access", tool.Guard{Mode: tool.ModeRW, RequiresApproval: true})
	y.refused("file_access", toWrite("x.pem"), toWrite("x.txt")) // there is nobody to ask
	store := &runner.MemoryApprovals{}
	y.r = y.r.With(func(s *runner.Settings) { s.Approvals = store })
	y.refused("file_access", toWrite("x.pem")) // not even with somebody: the built-in checks hold
	y.refused("file_access", toWrite("x.txt")) // asked, not answered
	asked := store.List(t.Context())
	if len(asked) != 1 {
		t.Fatalf("%d questions", len(asked))
	}
	if _, err := store.Decide(t.Context(), asked[0].ID, runner.Answer{State: runner.ApprovalDenied}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(y.dir, "x.txt")); err == nil {
		t.Error("it was written before anybody said yes")
	}
}

func TestX_E10_AnyDepth(t *testing.T) {
	y := newYard(t)
	y.guard("file_access", tool.Guard{Whitelist: []string{"src/**/*.go", "**/*.json"}})
	y.works("file_access", toRead("config.json"), toRead("src/pkg/deep/x.go"))
	y.refused("file_access", toRead("docs/a.md"))
}

func TestX_E11_OneStarIsOneName(t *testing.T) {
	y := newYard(t)
	y.guard("file_access",
		tool.Guard{Whitelist: []string{"docs/*/b.md", "src/*/x.go", filepath.Dir(y.dir) + "/*/x/plan.txt"}})
	y.works("file_access", toRead("docs/sub/b.md"))
	y.refused("file_access", toRead("src/pkg/deep/x.go"), toRead("$OUT/plan.txt"))
}

func TestX_E12_RootThatIsNotThere(t *testing.T) {
	y := newYard(t)
	t.Chdir(y.dir) // where relative paths would begin
	for _, root := range []string{filepath.Join(y.dir, "not-there"), filepath.Join(y.dir, "config.json")} {
		y.r = y.r.With(func(s *runner.Settings) { s.Root = root })
		y.refused("file_access", toRead("notes.txt"), toWrite("new.txt"), toList("."))
		y.refused("command_exec", `{"command":"cat","arguments":["notes.txt"]}`)
	}
	y.r = y.r.With(func(s *runner.Settings) { s.Root = y.dir })
	y.guard("file_access", tool.Guard{Mode: tool.ModeRW, Root: filepath.Join(y.dir, "not-there")})
	y.refused("file_access", toRead("notes.txt"), toWrite("new.txt"))
}

// A trap is a command that must not be carried out. Where the programs are there it is first shown that it
// does something.
type trap struct {
	argv  []string
	shell string
	needs string // a program, if it is not the first word
}

func argv(words ...string) trap { return trap{argv: words} }

func (c trap) arguments() string {
	if c.shell != "" {
		return fmt.Sprintf(`{"shell":%q}`, c.shell)
	}
	list := []string{}
	for _, w := range c.argv[1:] {
		list = append(list, fmt.Sprintf("%q", w))
	}
	return fmt.Sprintf(`{"command":%q,"arguments":[%s]}`, c.argv[0], strings.Join(list, ","))
}

// held carries commands out under rules that allow their programs by name, and so are in their favour.
// Nothing may change, and nothing outside may be told. Without rules each of them does one or the other.
func held(t *testing.T, whitelist []string, rules []policy.Rule, traps ...trap) {
	t.Helper()
	for _, c := range traps {
		t.Run(strings.Map(func(r rune) rune {
			if strings.ContainsRune("/ '\"\\", r) {
				return '_'
			}
			return r
		}, strings.Join(append(c.argv, c.shell), " ")), func(t *testing.T) {
			t.Parallel() // it waits for processes most of the time
			y := newYard(t)
			if err := os.Mkdir(filepath.Join(y.dir, "gitx"), 0o755); err != nil {
				t.Fatal(err)
			}
			y.policy(rules...)
			y.guard("command_exec", tool.Guard{Mode: tool.ModeRW, Whitelist: whitelist})
			y.refused("command_exec", strings.NewReplacer("$OUT", y.out).Replace(c.arguments()))

			needs := c.needs
			if needs == "" && len(c.argv) > 0 && !strings.Contains(c.argv[0], "/") {
				needs = c.argv[0]
			}
			if _, err := exec.LookPath(needs); needs != "" && err != nil {
				t.Logf("SKIPPED: that it does something without rules: %v", err)
				return
			}
			y.r = y.r.With(func(s *runner.Settings) { s.Policy = nil })
			y.guard("command_exec", tool.Guard{Mode: tool.ModeRW})
			before := y.everything()
			res, err := y.r.Call(t.Context(), "command_exec", strings.NewReplacer("$OUT", y.out).Replace(c.arguments()))
			if err != nil {
				t.Fatal(err)
			}
			if y.everything() == before && !strings.Contains(string(res.Data), outer) &&
				!strings.Contains(string(res.Data), "root:") {
				t.Errorf("without rules it does nothing, so that the test shows nothing: %s %s", res.Data, res.Error)
			}
		})
	}
}

func TestX_E13_FindThatRuns(t *testing.T) {
	held(t, []string{"find"}, []policy.Rule{allows("find")},
		argv("find", ".", "-name", "notes.txt", "-delete"),
		argv("find", "notes.txt", "-exec", "sh", "-c", "echo > owned", ";"), argv("find", ".", "-fprint", "owned"))
}

func TestX_E14_GitThatRuns(t *testing.T) {
	held(t, []string{"git*"}, []policy.Rule{allows("git")},
		argv("git", "-c", "alias.x=!echo > owned", "x"), argv("git", "-c", "core.sshCommand=touch owned;", "ls-remote",
			"ssh://nobody.invalid/x"), argv("git", "-c", "protocol.ext.allow=always", "ls-remote", "ext::touch owned"),
		argv("git", "grep", "--no-index", "--open-files-in-pager=echo > owned; cat", "notes", "notes.txt"),
		argv("git", "diff", "--no-index", "--output=owned", "notes.txt", "config.json"), argv("git", "init", "owned"),
		argv("git", "config", "--file", "owned", "a.b", "c"))
}

func TestX_E15_ApprovalIsAsked(t *testing.T) {
	y := newYard(t)
	y.guard("command_exec", tool.Guard{Mode: tool.ModeRW, Whitelist: []string{"rm"}, RequiresApproval: true})
	y.refused("command_exec", `{"command":"rm","arguments":["-f","notes.txt"]}`)
	y.guard("command_exec", tool.Guard{Mode: tool.ModeRW, Whitelist: []string{"rm"},
		DangerousCommands: tool.DangerousCommands()})
	y.refused("command_exec", `{"command":"rm","arguments":["-f","notes.txt"]}`,
		`{"command":"/bin/rm","arguments":["-f","notes.txt"]}`)
}

func TestX_E16_ProgramByItsPath(t *testing.T) {
	deny := policy.Rule{Decision: chat.DecisionDeny, Selector: policy.Selector{Command: []string{"rm"}}}
	held(t, []string{"*rm", "/bin/*", "*"}, []policy.Rule{deny},
		argv("/bin/rm", "-f", "notes.txt"), argv("/bin/../bin/rm", "-f", "notes.txt"), argv("rm", "-f", "notes.txt"))
}

func TestX_E17_ProgramsThatRunOthers(t *testing.T) {
	rules := []policy.Rule{
		allows("env", "sh", "xargs", "nice", "timeout", "nohup", "setsid", "busybox", "python3", "awk", "sed", "tar",
			"vi", "ssh", "find", "perl", "flock", "stdbuf", "git", "make"),
		{Decision: chat.DecisionDeny, Selector: policy.Selector{Command: []string{"rm", "touch"}}},
	}
	held(t, []string{"*"}, rules,
		argv("env", "rm", "-f", "notes.txt"), argv("env", "-S", "rm -f notes.txt"), argv("sh", "-c", "rm notes.txt"),
		argv("nice", "rm", "notes.txt"), argv("timeout", "5", "rm", "notes.txt"), argv("nohup", "rm", "notes.txt"),
		argv("setsid", "-w", "rm", "notes.txt"), argv("stdbuf", "-oL", "rm", "notes.txt"),
		argv("flock", "config.json", "rm", "notes.txt"), argv("busybox", "rm", "notes.txt"),
		argv("xargs", "-a", "config.json", "touch"), argv("python3", "-c", "open('owned','w')"),
		argv("awk", `BEGIN{system("touch owned")}`), argv("awk", `BEGIN{print > "owned"}`),
		argv("perl", "-e", "unlink 'notes.txt'"), argv("sed", "-n", "1e touch owned", "notes.txt"),
		argv("sed", "-n", "w owned", "notes.txt"), argv("tar", "cf", "/dev/null", "--checkpoint=1",
			"--checkpoint-action=exec=touch owned", "docs"),
		argv("ssh", "-o", "ProxyCommand=touch owned", "nobody.invalid"),
		argv("find", "notes.txt", "-execdir", "touch", "owned", ";"),
		trap{shell: "echo notes.txt | xargs rm"}, trap{shell: "rm() { :; }; command rm notes.txt"},
		trap{shell: "sh <<'E'\nrm notes.txt\nE"}, trap{shell: "echo $(rm notes.txt)"},
		trap{shell: `eval "r""m notes.txt"`}, trap{shell: "X=rm; $X notes.txt"},
		trap{shell: "PATH=.:$PATH; echo touch owned > a; chmod +x a; a"}, trap{shell: "trap 'rm notes.txt' EXIT"},
		trap{shell: "if true; then rm notes.txt; fi"}, trap{shell: "f() (rm notes.txt); f"},
		trap{shell: "echo > owned"})
}

func TestX_E18_ProgramByAWayAround(t *testing.T) {
	held(t, []string{"git*"}, []policy.Rule{allows("git", "sh")},
		argv("gitx/../../../../../../../../../../../../bin/sh", "-c", "echo > owned"),
		argv("./gitx/../../../../../../../../../../../bin/rm", "notes.txt"))
}

func TestX_E19_ArgumentsThatLeadOut(t *testing.T) {
	held(t, []string{"cat", "grep", "head"}, []policy.Rule{allows("cat", "grep", "head")},
		argv("cat", "$OUT/plan.txt"), argv("cat", "../next/plan.txt"), argv("grep", "-r", ".", "$OUT"),
		argv("head", ".env"), argv("grep", "-f../next/plan.txt", "docs-old/s.md"),
		argv("grep", "--file=../next/plan.txt", "docs-old/s.md"), trap{shell: "cat < ../next/plan.txt"},
		trap{shell: "cat ../nex?/plan.txt"}, trap{shell: "cd .. && cat next/plan.txt"}, argv("cat", "/etc/passwd"))
}

func TestX_E20_ProgramsThatChangeThings(t *testing.T) {
	rules := []policy.Rule{{Decision: chat.DecisionAllow, Selector: policy.Selector{Tool: []string{"command_exec"}}},
		{Decision: chat.DecisionDeny,
			Selector: policy.Selector{Command: []string{"shred", "truncate", "mv", "rm", "rmdir", "unlink", "tee",
				"ln", "dd"}}}}
	held(t, nil, rules,
		argv("truncate", "-s", "0", "notes.txt"), argv("mv", "notes.txt", "config.json"), argv("unlink", "notes.txt"),
		argv("rmdir", "gitx"), argv("ln", "-sf", "/etc/hosts", "notes.txt"), argv("shred", "notes.txt"),
		argv("dd", "if=/dev/zero", "of=notes.txt", "count=1"), trap{shell: "echo x | tee notes.txt"})
	// What is denied nowhere, and destroys by its nature, is asked about even where a rule allows the tool.
	held(t, nil, rules[:1], argv("cp", "notes.txt", "../next/plan.txt"), argv("tee", "../next/new.txt"),
		trap{shell: "rm -rf ../next"})
	y := newYard(t)
	y.policy(rules[0])
	y.refused("command_exec", `{"command":"mkfs.ext4","arguments":["config.json"]}`,
		`{"command":"chmod","arguments":["-R","777","/"]}`, `{"command":"kill","arguments":["-9","1"]}`,
		`{"command":"sudo","arguments":["ls"]}`)
}

func TestX_E21_SwitchedOff(t *testing.T) {
	y := newYard(t)
	for _, name := range []string{"command_exec", "write_file", "read_file"} {
		if err := y.r.Settings().Tools.(*runner.Registry).Set(name, tool.StateDisabled); err != nil {
			t.Fatal(err)
		}
	}
	y.refused("command_exec", `{"command":"rm","arguments":["notes.txt"]}`)
	y.refused("write_file", `{"path":"new","content":"x"}`)
	y.refused("read_file", `{"path":"notes.txt"}`)
	for _, d := range y.r.Offered("") {
		if slices.Contains([]string{"command_exec", "write_file", "read_file"}, d.Name) {
			t.Errorf("%s is offered", d.Name)
		}
	}
}

func TestX_E22_ArgumentsThatAreNoJSON(t *testing.T) {
	y := newYard(t)
	for _, args := range []string{"{bad", `{"path":"new","content":"x"`, `{"path":"new","content":"x"}}`,
		`{"path":"a","path":"new","content":"x"}`, `{"PATH":"new","content":"x"}`, `[]`, `"new"`,
		`{"path":"new","content":"x","mode":"0777"}`, "{\"path\":\"n\xff\",\"content\":\"x\"}",
		`{"path":"new","content":7}`} {
		y.refused("write_file", args)
	}
}

// TestX_E28_AddressesOfOnesOwn asks for pages of servers that only this machine can reach, in all the ways
// that there are to name them. Their servers hear nothing.
func TestX_E28_AddressesOfOnesOwn(t *testing.T) {
	var heard atomic.Int64
	inner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		heard.Add(1)
		fmt.Fprint(w, outer)
	}))
	defer inner.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(inner.URL, "http://"), ":")
	open := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	}))
	defer open.Close()
	t.Setenv("HTTP_PROXY", inner.URL) // is not asked either
	t.Setenv("http_proxy", inner.URL)

	y := newYard(t)
	y.policy(policy.Rule{Decision: chat.DecisionAllow,
		Selector: policy.Selector{Host: []string{"*", strings.TrimPrefix(open.URL, "http://")}}})
	hosts := []string{"127.0.0.1", "localhost", "LOCALHOST.", "x.localhost", "[::1]", "[::ffff:127.0.0.1]",
		"[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "0x7f000001", "2130706433", "0177.0.0.1", "127.1", "0", "0.0.0.0",
		"[::]", "①②⑦.⓪.⓪.①"}
	for _, host := range hosts {
		address := "http://" + host + ":" + port + "/"
		y.refused("fetch_webpage", fmt.Sprintf(`{"url":%q}`, address))
		y.refused("fetch_webpage", fmt.Sprintf(`{"url":%q}`, open.URL+"/?to="+address))
	}
	for _, address := range []string{"http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/",
		"http://metadata.google.internal/", "http://10.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1:" + port,
		"http://u:p@example.com/"} {
		y.refused("fetch_webpage", fmt.Sprintf(`{"url":%q}`, address))
		y.refused("fetch_webpage", fmt.Sprintf(`{"url":%q}`, open.URL+"/?to="+address))
	}
	if n := heard.Load(); n > 0 {
		t.Errorf("the server was asked %d times", n)
	}
}

// TestX_E31_TimeAndOutput gives times that are none, and lets time run out over processes that hide.
func TestX_E31_TimeAndOutput(t *testing.T) {
	y := newYard(t)
	y.r = y.r.With(func(s *runner.Settings) { s.Policy = nil })
	for _, timeout := range []string{`"abc"`, `true`, `[1]`} { // numbers out of range are brought into it
		y.refused("command_exec", `{"command":"touch","arguments":["owned"],"timeout":`+timeout+`}`)
	}
	mark := fmt.Sprintf("%d.%d", 40_000+os.Getpid()%10_000, time.Now().Nanosecond())
	res := y.call("command_exec",
		fmt.Sprintf(`{"shell":"trap '' TERM; sleep %s & (setsid sleep %[1]s &) ; sleep %[1]s","timeout":1}`, mark))
	if res.OK || res.ErrorType != tool.ErrTimeout {
		t.Errorf("%+v", res)
	}
	if out, err := exec.Command("ps", "-A", "-o", "args").Output(); err != nil {
		t.Logf("SKIPPED: whether processes are left: %v", err)
	} else if strings.Contains(string(out), "sleep "+mark) {
		t.Errorf("processes are left:\n%s", out)
	}
	res = y.call("command_exec", `{"command":"yes","timeout":60}`)
	if len(res.Data) > 4<<20 {
		t.Errorf("%d bytes of endless output", len(res.Data))
	}
}

func TestX_E32_NamesOfOtherSystems(t *testing.T) {
	y := newYard(t)
	for _, name := range []string{"a\x00b", "a\nb", "", "notes.txt/", "docs", `..\next\plan.txt`, `C:\x`,
		`\\host\share`, `\\?\C:\x`, "notes.txt:x", "notes.txt::$DATA", ".env.", ".env ", ".ENV", "CON", "aux.txt",
		"NOTES~1.TXT", strings.Repeat("x", 300), strings.Repeat("d/", 2100) + "x"} {
		args := strings.ReplaceAll(toRead(name), `\x00`, `\u0000`)
		y.refused("file_access", args)
	}
	y.refused("file_access", `{"operation":"Write","path":"x","content":"x"}`,
		`{"operation":"append","path":"notes.txt","content":"x"}`)
	y.works("file_access", toRead("docs/sub/../a.md"), toRead("./notes.txt"), toRead("$WS/notes.txt"))
	// nothing is decoded: this is a name, and there is no such file
	res := y.call("file_access", toRead("docs/..%2fnotes.txt"))
	if res.OK || !strings.Contains(res.Error, "not found") {
		t.Errorf("%+v", res)
	}
}

func TestX_E33_RulesAndRegistries(t *testing.T) {
	y := newYard(t)
	config := filepath.Join(y.dir, "wield.yaml")
	p, err := policy.New(policy.Definition{Default: chat.DecisionAllow,
		Protected: []string{config, filepath.Join(y.dir, "mytools")}})
	if err != nil {
		t.Fatal(err)
	}
	y.r = y.r.With(func(s *runner.Settings) { s.Policy = p })
	for _, name := range []string{"wield.yaml", "tools/tools_registry.json", "mytools/run.sh", ".wield/state.json",
		".wield.yaml", ".aiignore", "docs/../wield.yaml", "Wield.yaml"} {
		y.refused("write_file", fmt.Sprintf(`{"path":%q,"content":"x"}`, name))
		y.refused("edit_file", fmt.Sprintf(`{"edits":"*** Begin Patch\n*** Add File: %s\n+x\n*** End Patch"}`, name))
		y.refused("command_exec", fmt.Sprintf(`{"shell":"echo x > %s"}`, name),
			fmt.Sprintf(`{"command":"cp","arguments":["notes.txt",%q]}`, name))
	}
}

func TestX_C02_DotsInNames(t *testing.T) {
	y := newYard(t)
	if err := os.WriteFile(filepath.Join(y.dir, "a..b.txt"), []byte("fine"), 0o644); err != nil {
		t.Fatal(err)
	}
	y.works("read_file", `{"path":"a..b.txt"}`, `{"path":"src/../notes.txt"}`)
	y.refused("read_file", `{"path":"/etc/passwd"}`, `{"path":"..\\notes.txt"}`, `{"path":"../next/plan.txt"}`,
		`{"path":"%2e%2e/next/plan.txt"}`)
}

// TestPatterns_arg089 searches with patterns that make other engines try for years. Whatever searches here, each ends.
func TestPatterns_arg089(t *testing.T) {
	y := newYard(t)
	if err := os.WriteFile(filepath.Join(y.dir, "long.txt"), []byte(strings.Repeat("n", 60_000)+"?\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{`(n+)+$`, `(n|n)*x`, `(n|nn)+!`, `^(([n-z])+.)+[A-Z]([n-z])+$`,
		`(.*)*(.*)*(.*)*=`} {
		y.works("search_code", fmt.Sprintf(`{"query":%q,"options":{"regex":true,"glob":"long.txt"}}`, pattern))
	}
	y.refused("search_code", `{"query":"(n)\\1","options":{"regex":true}}`,
		fmt.Sprintf(`{"query":%q,"options":{"regex":true}}`, strings.Repeat("(", 5000)))
}

// TestWorkingDirectory: where a command is to run is put to the policy as it is, and is not taken for what
// the whitelist is about.
func TestWorkingDirectory(t *testing.T) {
	y := newYard(t)
	if err := os.MkdirAll(filepath.Join(y.dir, "git-private"), 0o755); err != nil {
		t.Fatal(err)
	}
	y.policy(policy.Rule{Decision: chat.DecisionDeny, Selector: policy.Selector{Path: []string{"git-private"}}},
		allows("ls", "touch"))
	y.guard("command_exec", tool.Guard{Mode: tool.ModeRW})
	y.works("command_exec", `{"command":"ls","cwd":"docs"}`, `{"command":"ls","cwd":"$WS/docs/sub"}`)
	y.refused("command_exec", `{"command":"ls","cwd":"git-private"}`, `{"command":"ls","cwd":"docs/../git-private"}`,
		`{"command":"ls","cwd":"$WS/git-private"}`, `{"command":"ls","cwd":".."}`, `{"command":"ls","cwd":"/etc"}`)
	y.r = y.r.With(func(s *runner.Settings) { s.Policy = nil })
	y.guard("command_exec", tool.Guard{Mode: tool.ModeRW, Whitelist: []string{"git*", "ls"}})
	y.works("command_exec", `{"command":"ls","cwd":"docs"}`)
	y.refused("command_exec", `{"command":"touch","arguments":["owned"],"cwd":"git-private"}`,
		`{"shell":"ls; touch owned","cwd":"docs"}`,
		`{"command":"docs/../../../../../../../../../bin/touch","arguments":["owned"]}`)
}

// TestPlantedRepository puts a repository without a .git among the files of the workspace, as anybody who may
// write files can, whose configuration names a program. The state of it is not told, since git would run that
// program first.
func TestPlantedRepository(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	y := newYard(t)
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-C", y.dir},
			args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Logf("git %v: %s", args, out)
		}
		return string(out)
	}
	git("init", "-q")
	git("add", "notes.txt")
	git("commit", "-q", "-m", "one")
	for _, name := range []string{"HEAD", "objects", "refs", "index"} {
		if err := os.Rename(filepath.Join(y.dir, ".git", name), filepath.Join(y.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(y.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	y.works("write_file",
		`{"path":"config","content":"[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n[filter \"x\"]\n\tclean = touch owned; cat\n"}`,
		`{"path":"notes.txt","content":"NOTES"}`)
	y.refused("write_file", `{"path":".gitattributes","content":"* filter=x\n"}`) // it asks; somebody says yes
	if err := os.WriteFile(filepath.Join(y.dir, ".gitattributes"), []byte("* filter=x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	y.refused("git_status", `{}`)
	y.policy(allows("git"))
	y.refused("command_exec", `{"command":"git","arguments":["status"]}`, `{"shell":"git diff"}`,
		`{"command":"git","arguments":["--git-dir=.","status"]}`)
	if said := git("status"); !strings.Contains(y.everything(), "/yard/owned") {
		t.Logf("SKIPPED: that this git would run it: %s", said)
	}
}

// TestEditOfWhatRunsLater edits files that other programs run: each edit shows what it changes and asks,
// although the policy allows all, and nothing is written before somebody has said yes.
func TestEditOfWhatRunsLater(t *testing.T) {
	y := newYard(t)
	rw := tool.Guard{Mode: tool.ModeRW}
	y.policy()
	for _, name := range []string{".github/workflows/ci.yml", ".husky/pre-commit", ".vscode/tasks.json",
		".cargo/config.toml", "conftest.py", ".gitlab-ci.yml"} {
		file := filepath.Join(y.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
			os.WriteFile(file, []byte("safe: yes\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
		for one, arguments := range map[string]string{
			"edit_file":  fmt.Sprintf(`{"path":%q,"old_string":"safe","new_string":"evil"}`, name),
			"write_file": fmt.Sprintf(`{"path":%q,"content":"evil: yes\n"}`, name),
		} {
			y.guard(one, rw)
			e, err := y.r.Explain(t.Context(), chat.Call{Name: one, Arguments: arguments, Complete: true})
			if err != nil {
				t.Fatal(err)
			}
			if e.Verdict.Decision != chat.DecisionAsk || len(e.Changes) != 1 ||
				string(e.Changes[0].Before) != "safe: yes\n" || string(e.Changes[0].After) != "evil: yes\n" {
				t.Errorf("%s %s: %s, %+v", one, name, e.Verdict, e.Changes)
			}
			y.refused(one, arguments)
			if text, _ := os.ReadFile(file); string(text) != "safe: yes\n" {
				t.Errorf("%s has written %s before anybody said yes", one, name)
			}
		}
	}
}
