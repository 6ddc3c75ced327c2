package local

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wield/chat"
	"wield/tool"
	"wield/tool/files"
	"wield/tool/internal/patch"
	"wield/tool/policy"
	"wield/tool/runner"
	"wield/tool/sandbox"
	"wield/tool/undo"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	goleak.VerifyTestMain(m)
}

// executing makes a workspace whose programs are only kept together, and run without a question.
func executing(t *testing.T, more ...Executor) *testWorkspace {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no sh here")
	}
	w := newWorkspace(t, Options{Executors: append(more, Executor{"sh", []string{"sh", "-c"}})})
	w.runner = w.runner.With(func(s *runner.Settings) { s.Policy, s.Sandbox.Level = nil, sandbox.None })
	return w
}

// block runs the one call of an answer.
func (w *testWorkspace) block(answer string) (tool.Result, string) {
	w.t.Helper()
	calls := w.calls(answer)
	if len(calls) != 1 {
		w.t.Fatalf("%q has %d calls", answer, len(calls))
	}
	return w.run(calls[0], true)
}

func TestExecutors(t *testing.T) {
	w := executing(t, Executor{"shout", []string{"sh", "-c", `echo "$0!"`}},
		Executor{"none", []string{"no-such-program-here"}})
	for _, tt := range []struct{ name, answer, want string }{
		{"output", "```sh\necho one; echo two >&2; echo three\n```\n",
			"sh executed successfully (exit code 0):\n```\none\ntwo\nthree\n```"},
		{"exit code", "```sh\necho no\nexit 3\n```\n", "sh failed (exit code 3):\n```\nno\n```"},
		{"nothing", "```sh\ntrue\n```\n", "sh executed successfully (exit code 0):\n```\n```"},
		{"no end of line", "```sh\nprintf x\n```\n", "sh executed successfully (exit code 0):\n```\nx\n```"},
		{"fence", "````sh\necho '```'\n````\n", "sh executed successfully (exit code 0):\n````\n```\n````"},
		{"no input", "```sh\ncat\n```\n", "sh executed successfully (exit code 0):\n```\n```"},
		{"last argument", "```shout\nboats ahoy\n```\n",
			"shout executed successfully (exit code 0):\n```\nboats ahoy!\n```"},
		{"lines", "```sh\nif true\nthen\n  echo in\nfi\n```\n",
			"sh executed successfully (exit code 0):\n```\nin\n```"},
		{"here document", "````sh\ncat <<'END'\n```\nx\n```\nEND\n````\n",
			"sh executed successfully (exit code 0):\n````\n```\nx\n```\n````"},
		{"empty", "```sh\n\n```\n", "Error: the block is empty"},
		{"zero byte", "```sh\necho a\x00b\n```\n", "Error: the block holds a zero byte, which no program takes"},
		{"too long", "```sh\n" + strings.Repeat("# x\n", 40_000) + "```\n",
			"Error: the block has 159999 bytes; sh takes at most 131071: write it to a file with a create block and run that"},
	} {
		if _, got := w.block(tt.answer); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if _, got := w.block("```none\nx\n```\n"); !strings.Contains(got, "there is no such program") {
		t.Errorf("a program that is not there: %q", got)
	}
}

// TestFacts has policies see what a block would run: each command of a shell's, the program of any other.
func TestFacts(t *testing.T) {
	w := newWorkspace(t, Options{Executors: DefaultExecutors()})
	p, err := policy.New(policy.Definition{Default: "allow", Rules: []policy.Rule{
		{Decision: "deny", Selector: policy.Selector{Command: []string{"rm"}}},
		{Decision: "deny", Selector: policy.Selector{Command: []string{"python3"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.runner = w.runner.With(func(s *runner.Settings) { s.Policy = p })
	for _, answer := range []string{"```bash\ncd sub && rm x\n```\n", "```sh\necho $(rm x)\n```\n",
		"```python\nprint(1)\n```\n"} {
		plan, err := w.runner.Plan(t.Context(), w.calls(answer)[0])
		if err != nil || plan.Outcome != runner.OutcomeRejected || plan.Result.ErrorType != tool.ErrSecurity {
			t.Errorf("%q: %s %+v, %v", answer, plan.Outcome, plan.Result, err)
		}
	}
}

func TestSummary(t *testing.T) {
	quoted := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	groups := g("a\nb\n", "a\nc\nd\ne\n") + g("x\n", "y\n")
	for _, tt := range []struct{ name, arguments, want string }{
		{"read", quoted(readInput{[]string{"a.go", "b.go"}}), "[read: a.go, b.go]"},
		{"edit", quoted(editInput{"f.go", groups}), "[edit: f.go (−2 +4)]"},
		{"edit",
			quoted(editInput{"",
				"*** Begin Patch\n*** Delete File: a\n*** Add File: b\n+x\n*** Update File: c\n*** Move to: d\n-x\n+y\n*** End Patch"}), "[edit: a (deleted), b (1 line), c to d (−1 +1)]"},
		{"edit", quoted(editInput{"f.go", "nothing"}), "[edit: f.go]"},
		{"create", quoted(createInput{"f.txt", "a\nb\nc"}), "[create: f.txt (3 lines)]"},
		{"create", quoted(createInput{"f.txt", ""}), "[create: f.txt (0 lines)]"},
		{"bash", quoted(execInput{"ls"}), "[bash: ls]"},
		{"bash", quoted(execInput{"a\nb\nc\nd\n"}), "[bash: a\nb\nc\n... (4 lines)]"},
		{"get_current_time", `{}`, ""},
		{"edit", `{`, ""},
	} {
		if got := Summary(tt.name, tt.arguments); got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.name, tt.arguments, got, tt.want)
		}
	}
}

func g(search, replace string) string {
	return "<<<<<<< SEARCH\n" + search + "=======\n" + replace + ">>>>>>> REPLACE\n"
}

// TestPreview tells what a call would do, and the call then does that or nothing.
func TestPreview(t *testing.T) {
	w := newWorkspace(t, Options{})
	w.write(map[string]string{"a.txt": "one\ntwo\n"})
	call := w.calls("```edit\n=== FILE: a.txt\n" + g("two\n", "2\n3\n") + "```\n")[0]
	changes, err := w.runner.Preview(t.Context(), call)
	if err != nil || len(changes) != 1 || changes[0].Summary() != "[edit: a.txt (−1 +2)]" ||
		!strings.Contains(changes[0].Diff(3), "-two\n+2\n+3\n") {
		t.Fatalf("Preview = %+v, %v", changes, err)
	}
	if got := w.files()["a.txt"]; got != "one\ntwo\n" {
		t.Errorf("looking at it made %q", got)
	}
	w.write(map[string]string{"a.txt": "zero\none\ntwo\n"})
	if res, text := w.run(call, true); res.OK || !strings.Contains(text, "has changed since it was read") {
		t.Errorf("the file is not what was shown: %q", text)
	}
	if changes, err := w.runner.Preview(t.Context(), chat.Call{Name: "read", Arguments: `{"paths":["a.txt"]}`,
		Complete: true}); changes != nil || err != nil {
		t.Errorf("Preview of a read = %v, %v", changes, err)
	}
	if _, err := w.runner.Preview(t.Context(), chat.Call{Name: "no_such", Arguments: `{}`, Complete: true}); !errors.Is(
		err, tool.ErrNotFound) {
		t.Errorf("Preview of no tool = %v", err)
	}
}

// TestNobodyIsAsked about an edit that cannot be carried out.
func TestNobodyIsAsked(t *testing.T) {
	w := newWorkspace(t, Options{})
	w.write(map[string]string{"a.txt": "one\n"})
	plan, err := w.runner.Plan(t.Context(), w.calls("```edit\n=== FILE: a.txt\n" + g("nine\n", "2\n") + "```\n")[0])
	if err != nil || plan.Outcome != runner.OutcomeRejected ||
		!strings.Contains(plan.Result.Error, "search text not found") {
		t.Errorf("%s %+v, %v", plan.Outcome, plan.Result, err)
	}
}

// TestUndo takes back what blocks did, the last one first.
func TestUndo(t *testing.T) {
	log := &undo.Log{Dir: t.TempDir()}
	w := newWorkspace(t, Options{Undo: log})
	w.write(map[string]string{"a.txt": "one\r\ntwo"})
	before := w.files()
	w.block("```edit\n=== FILE: a.txt\n" + g("two\n", "2\n") + "```\n")
	w.block("```create\n=== FILE: sub/b.txt\nnew\n```\n")
	w.block("```edit\n=== FILE: a.txt\n" + g("2\n", "3\n") + "```\n")
	root, err := files.Open(w.dir, files.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	actions, err := log.Actions()
	if err != nil || len(actions) != 3 || actions[0].Tool != "edit" ||
		actions[1].Files[0].Summary != "[create: sub/b.txt (1 line)]" {
		t.Fatalf("Actions = %+v, %v", actions, err)
	}
	if _, err := log.Undo(root, actions[2].ID); !errors.Is(err, patch.Stale) {
		t.Errorf("the first edit before the last: %v", err)
	}
	for _, a := range actions {
		if _, err := log.Undo(root, a.ID); err != nil {
			t.Fatal(err)
		}
	}
	compare(t, w.files(), before)
}

// TestReads checks the bounds of read.
func TestReads(t *testing.T) {
	w := newWorkspace(t, Options{MaxRead: 100})
	w.write(map[string]string{"long.txt": strings.Repeat("x", 101), "exact.txt": strings.Repeat("x", 100)})
	if _, text := w.block("```read\nlong.txt\nexact.txt\n```\n"); !strings.HasPrefix(text,
		"File contents:\n\n=== FILE: long.txt\nError: read \"long.txt\": too large") ||
		!strings.HasSuffix(text, strings.Repeat("x", 100)) {
		t.Errorf("%q", text)
	}
	off := newWorkspace(t, Options{NoReads: true})
	off.write(map[string]string{"a.txt": "x"})
	if _, text := off.block(
		"```read\na.txt\n```\n"); text != "Error: File reads are disabled in configuration (tools.localActions.fileReads.enabled)" {
		t.Errorf("%q", text)
	}
	large := newWorkspace(t, Options{})
	content := strings.Repeat("a line of text\n", DefaultMaxRead/15)
	large.write(map[string]string{"a.txt": content})
	if _, text := large.block("```read\na.txt\n```\n"); text != "File contents:\n\n=== FILE: a.txt\n"+content {
		t.Errorf("a file of %d bytes comes back with %d", len(content), len(text))
	}
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		e    Executor
		fine bool
	}{
		{Executor{"bash", []string{"bash", "-c"}}, true},
		{Executor{"edit", []string{"ed"}}, false},
		{Executor{"bash", nil}, false},
		{Executor{"bash", []string{""}}, false},
	} {
		if err := tt.e.Check(); (err == nil) != tt.fine {
			t.Errorf("%+v: %v", tt.e, err)
		}
	}
}

// A25: executors had no time limit, an open input, all of the environment, output without end, and left processes
// behind; and nothing told the model of blocks that were declined.
func TestA25_Executors(t *testing.T) {
	w := executing(t)
	t.Setenv("WIELD_TEST_SECRET", "hush")
	if _, text := w.block("```sh\necho ${WIELD_TEST_SECRET-none}; cat\n```\n"); !strings.Contains(text, "\nnone\n") {
		t.Errorf("the environment comes through: %q", text)
	}
	pid := ""
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	plan, err := w.runner.Plan(ctx, w.calls("```sh\nsleep 600 & echo begun $!; sleep 600\n```\n")[0])
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range w.runner.Run(ctx, plan) {
		if err != nil {
			t.Fatal(err)
		}
		if _, rest, ok := strings.Cut(e.Text, "begun "); ok && e.Kind == chat.KindProgress {
			pid = strings.TrimSpace(rest)
			cancel()
		}
		if r, ok := e.Detail.(*chat.Result); ok && (!r.IsError || !strings.Contains(r.Parts[0].Text, "begun "+pid)) {
			t.Errorf("stopped: %+v", r)
		}
	}
	if n, err := strconv.Atoi(pid); err != nil || alive(n) {
		t.Errorf("the process %q went on when the block was stopped (%v)", pid, err)
	}
	w.runner = w.runner.With(func(s *runner.Settings) { s.Limits.Timeout = time.Millisecond })
	if res, text := w.block("```sh\nsleep 600\n```\n"); res.OK || !strings.Contains(text, "timed out") {
		t.Errorf("%q", text)
	}
	w.runner = w.runner.With(func(s *runner.Settings) { s.Limits.Timeout = 0 })
	w.runner = w.runner.With(func(s *runner.Settings) { s.Limits.Spill = 1 << 20 })
	if _, text := w.block("```sh\nyes\n```\n"); len(text) > 100<<10 {
		t.Errorf("output without end comes back with %d bytes", len(text))
	}
	if _, text := w.run(w.calls("```create\n=== FILE: a.txt\nx\n```\n")[0], true); !strings.Contains(text, "created") {
		t.Errorf("%q", text)
	}
	asked := newWorkspace(t, Options{})
	if res, text := asked.run(asked.calls("```create\n=== FILE: a.txt\nx\n```\n")[0], false); res.OK ||
		text != "Error: User denied approval" {
		t.Errorf("declined: %q", text)
	}
}

// A21: a fence with a language of more than letters was not seen, and its end opened a block that swallowed what
// followed.
func TestA21_InfoStrings(t *testing.T) {
	w := newWorkspace(t, Options{Executors: DefaultExecutors()})
	for _, info := range []string{"c++", "objective-c", "text title=x", " text", "sh-session", "c#"} {
		for _, end := range []string{"\n", "\r\n"} {
			answer := strings.ReplaceAll("```"+info+"\nbash\n```\nThen:\n```bash title=x\nls\n```\nDone.\n```\n", "\n",
				end)
			calls := w.calls(answer)
			if len(calls) != 1 || calls[0].Name != "bash" || calls[0].Arguments != `{"code":"ls"}` {
				t.Errorf("%q: %+v", answer, calls)
			}
		}
	}
}

// A22: a fence within a file ended the block, and the file lost its indentation and its last line break.
func TestA22_NestedFences(t *testing.T) {
	w := newWorkspace(t, Options{})
	for name, text := range map[string]string{
		"README.md": "# Title\n\n```sh\nmake\n```\n\nMore.\n",
		"a.py":      "    indented\n\n\n",
		"tilde.md":  "~~~go\nx\n~~~\n",
	} {
		if _, got := w.block("```create\n=== FILE: " + name + "\n" + text + "```\n"); !strings.Contains(got,
			"created successfully") {
			t.Errorf("%s: %q", name, got)
		}
		if got := w.files()[name]; got != text {
			t.Errorf("%s is %q, want %q", name, got, text)
		}
	}
}

// A23: signs that mean something in a replacement of a regular expression were read as that.
func TestA23_LiteralReplacement(t *testing.T) {
	w := newWorkspace(t, Options{})
	w.write(map[string]string{"a.txt": "price: COST\n"})
	w.block("```edit\n=== FILE: a.txt\n" + g("COST\n", "$& $1 $$ $` $' \\0\n") + "```\n")
	if got := w.files()["a.txt"]; got != "price: $& $1 $$ $` $' \\0\n" {
		t.Errorf("%q", got)
	}
}

// A24: headers and dividers in texts retargeted and split edits, edits were carried out in part, files with CR LF
// never matched, and bytes that are no UTF-8 were destroyed.
func TestA24_Edits(t *testing.T) {
	w := newWorkspace(t, Options{})
	w.write(map[string]string{"a.txt": "=== FILE: b.txt\none\r\n", "b.txt": "one\n", "c.txt": "Title\n=======\n",
		"w.txt": "one\r\ntwo\r\n", "raw.txt": "base64://5vbmUK"})
	for _, tt := range []struct{ answer, name, want string }{
		{"```edit\n=== FILE: a.txt\n" + g("=== FILE: b.txt\n", "=== FILE: c.txt\n") + "```\n", "a.txt",
			"=== FILE: c.txt\none\r\n"},
		{"```edit\n=== FILE: c.txt\n" + g("Title\n=======\n", "Name\n") + "```\n", "c.txt", "Title\n=======\n"},
		{"```edit\n=== FILE: b.txt\n" + g("one\n", "1\n") + g("none\n", "x\n") + "```\n", "b.txt", "one\n"},
		{"```edit\n=== FILE: w.txt\n" + g("one\n", "1\n") + "```\n", "w.txt", "1\r\ntwo\r\n"},
		{"```edit\n=== FILE: raw.txt\n" + g("one\n", "1\n") + "```\n", "raw.txt", "\xff\xfeone\n"},
	} {
		w.block(tt.answer)
		if got := w.files()[tt.name]; got != tt.want {
			t.Errorf("%s is %q, want %q", tt.name, got, tt.want)
		}
	}
}

// X-A01: any file of the machine was read without a question, and a pipe waited for ever.
func TestXA01_Reads(t *testing.T) {
	w := newWorkspace(t, Options{})
	w.runner = w.runner.With(func(s *runner.Settings) { s.Policy = nil }) // the tool itself holds
	names := []string{"/etc/passwd", "~/.ssh/id_rsa", "../x", "/proc/self/status", "/dev/tty"}
	if makePipe(t, filepath.Join(w.dir, "pipe")) {
		names = append(names, "pipe")
	}
	if os.Symlink("/etc/passwd", filepath.Join(w.dir, "link")) == nil {
		names = append(names, "link")
	}
	for _, name := range names {
		if res, text := w.block("```read\n" + name + "\n```\n"); res.OK ||
			!strings.Contains(text, "File read failed:") || strings.Contains(text, "root:") {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// One path that is denied does not keep the others from being read: the result names it. Where all are denied, so is
// the call.
func TestReadsWhatIsAllowed(t *testing.T) {
	w := newWorkspace(t, Options{})
	w.write(map[string]string{"a.txt": "first\n", "b.txt": "second\n", "key.pem": "secret\n"})
	p, err := policy.New(policy.Definition{Default: "allow", Rules: []policy.Rule{
		{Decision: "deny", Selector: policy.Selector{Path: []string{"*.pem"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.runner = w.runner.With(func(s *runner.Settings) { s.Policy = p })
	for _, tt := range []struct {
		name, paths string
		ok          bool
		has, lacks  []string
	}{
		{"one outside", "a.txt\n../x.txt\nb.txt", true, []string{"Left out, because it is denied: ../x.txt (", "first",
			"second"}, nil},
		{"one by a rule", "key.pem\na.txt", true, []string{"denied: key.pem (", "first"}, []string{"secret"}},
		{"two denied", "../x.txt\na.txt\nkey.pem", true, []string{"../x.txt (", "; key.pem (", "first"},
			[]string{"secret"}},
		{"all denied", "../x.txt\nkey.pem", false, []string{"Security violation"}, []string{"secret"}},
		{"none denied", "a.txt\nb.txt", true, []string{"first", "second"}, []string{"denied"}},
		{"one that is not there", "a.txt\nnone.txt", true, []string{"first", "Error: "}, []string{"denied"}},
	} {
		res, text := w.block("```read\n" + tt.paths + "\n```\n")
		if res.OK != tt.ok {
			t.Errorf("%s: %q", tt.name, text)
		}
		for _, want := range tt.has {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q lacks %q", tt.name, text, want)
			}
		}
		for _, not := range tt.lacks {
			if strings.Contains(text, not) {
				t.Errorf("%s: %q has %q", tt.name, text, not)
			}
		}
	}
	// What runs is what was looked at: the plan holds the paths that are left, and nothing more runs when it is read
	// from a store.
	plan, err := w.runner.Plan(t.Context(), w.calls("```read\na.txt\nkey.pem\n```\n")[0])
	if err != nil || plan.Outcome != runner.OutcomeReady || plan.Call.Arguments != `{"paths":["a.txt"]}` ||
		!strings.HasPrefix(plan.Denied, "key.pem (") {
		t.Errorf("the plan is %+v, %v", plan, err)
	}
}

// X-A02: files outside were written, and nothing told that one would be overwritten.
func TestXA02_Creates(t *testing.T) {
	w := newWorkspace(t, Options{})
	outside := filepath.Join(filepath.Dir(w.dir), "outside.txt")
	w.write(map[string]string{"there.txt": "old\n"})
	answer := func(name string) string { return "```create\n=== FILE: " + name + "\nnew\n```\n" }
	changes, err := w.runner.Preview(t.Context(), w.calls(answer("there.txt"))[0])
	if err != nil || len(changes) != 1 || !changes[0].Existed || !strings.Contains(changes[0].Diff(3), "-old\n+new\n") {
		t.Errorf("Preview = %+v, %v", changes, err)
	}
	w.runner = w.runner.With(func(s *runner.Settings) { s.Policy = nil })
	names := []string{"../outside.txt", outside}
	if os.Symlink(outside, filepath.Join(w.dir, "link.txt")) == nil {
		names = append(names, "link.txt")
	}
	for _, name := range names {
		if res, text := w.block(answer(name)); res.OK {
			t.Errorf("%s: %q", name, text)
		}
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("a file outside was written")
	}
	if _, text := w.block(answer("there.txt")); text != "File there.txt overwritten successfully" {
		t.Errorf("%q", text)
	}
}

// X-A03: two headers, of which the person was shown the first and the second was changed.
func TestXA03_Spoof(t *testing.T) {
	w := newWorkspace(t, Options{})
	w.write(map[string]string{"safe.txt": "AAA\n", "target.sh": "AAA\n"})
	before := w.files()
	call := w.calls("```edit\n=== FILE: safe.txt\n=== FILE: target.sh\n" + g("AAA\n", "evil\n") + "```\n")[0]
	if got := Summary(call.Name, call.Arguments); strings.Contains(got, "target") {
		t.Errorf("the summary is %q", got)
	}
	if res, text := w.run(call, true); res.OK {
		t.Errorf("%q", text)
	}
	compare(t, w.files(), before)
	for _, spoof := range []string{
		"=== FILE: safe.txt\n--- a/target.sh\n+++ b/target.sh\n@@ -1 +1 @@\n-AAA\n+evil\n",
		"=== FILE: safe.txt\n*** Begin Patch\n*** Update File: target.sh\n-AAA\n+evil\n*** End Patch\n",
		"=== FILE: safe.txt\ntarget.sh\n" + g("AAA\n", "evil\n"),
	} {
		if res, text := w.block("```edit\n" + spoof + "```\n"); res.OK {
			t.Errorf("%q: %q", spoof, text)
		}
		compare(t, w.files(), before)
	}
}

// X-A04: what a person was asked about could hide parts of itself. What is shown is a diff of what will be written,
// byte for byte; the terminal makes its signs visible.
func TestXA04_Hidden(t *testing.T) {
	w := newWorkspace(t, Options{})
	hidden := "echo safe \x1b[2K\x1b[1A\r\u202e\u200b" + strings.Repeat("\n", 500) + "rm -rf boats\n"
	calls := w.calls("```create\n=== FILE: a.txt\n" + hidden + "```\n")
	changes, err := w.runner.Preview(t.Context(), calls[0])
	if err != nil || string(changes[0].After) != hidden || !strings.Contains(changes[0].Diff(3), "+rm -rf boats\n") {
		t.Fatalf("Preview = %+v, %v", changes, err)
	}
	shown := policy.Visible(changes[0].Diff(3))
	if strings.ContainsAny(shown, "\x1b\r\u202e\u200b") || !strings.Contains(shown, "rm -rf boats") {
		t.Errorf("%q", shown)
	}
}

// X-A05: the name of something that every object has was taken for an executor.
func TestXA05_PrototypeKeys(t *testing.T) {
	w := newWorkspace(t, Options{Executors: DefaultExecutors()})
	for _, name := range []string{"constructor", "__proto__", "toString", "hasOwnProperty", "valueOf"} {
		if calls := w.calls("```" + name + "\nx\n```\n"); len(calls) > 0 {
			t.Errorf("%s: %+v", name, calls)
		}
	}
}

// TestTools checks what is offered and how it stands at first.
func TestTools(t *testing.T) {
	var names []string
	for _, one := range (Options{Executors: DefaultExecutors()}).Tools() {
		names = append(names, one.Name())
		if one.State != tool.StateDisabled || one.Source != Source ||
			!one.Facts.ReadOnly && (one.Guard == nil || one.Guard.Mode != tool.ModeRO) {
			t.Errorf("%s: %+v", one.Name(), one)
		}
	}
	if want := []string{"read", "edit", "create", "bash", "python", "sh"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}
