package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"wield/internal/cli"
	"wield/schema"
)

var updateRun = flag.Bool("update-run", false, "write the golden lines of wield run")

// A task is a run in a workspace with real files.
type runTask struct {
	name  string
	args  []string // before the task
	stdin string
	task  string
	code  int
	out   string // a regular expression
	log   string // the same, of the error stream
	check func(t *testing.T, dir string)
}

// taskFiles are what the workspace of every task holds.
var taskFiles = map[string]string{
	"package.json":  "{\n  \"name\": \"my-app\",\n  \"version\": \"1.0.0\"\n}\n",
	"config.json":   "{\n  \"database\": \"postgres\",\n  \"port\": 5432\n}\n",
	"README.md":     "# My Project\n\nThis is a sample project.\n",
	"main.py":       "print(1)\n",
	"src/index.ts":  "export {}\n",
	"src/utils.ts":  "export {}\n",
	"test/test.ts":  "export {}\n",
	"answer.schema": `{"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}`,
}

func workspace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range taskFiles {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// searchServer answers as a SearXNG server does.
func searchServer(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/search" || r.FormValue("format") != "json" {
			http.NotFound(w, r)
			return
		}
		type hit struct {
			Title   string `json:"title"`
			Content string `json:"content"`
			URL     string `json:"url"`
		}
		var hits []hit
		for i := range 7 {
			hits = append(hits, hit{fmt.Sprintf("%s %d", r.FormValue("q"), i+1), "What it says.",
				fmt.Sprintf("https://example.com/%d", i+1)})
		}
		json.NewEncoder(w).Encode(map[string]any{"query": r.FormValue("q"), "results": hits})
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// runWield runs one command line and returns what it printed.
func runWield(t *testing.T, dir, stdin string, args ...string) (code int, out, log string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := map[string]string{"XDG_STATE_HOME": filepath.Join(dir, "state"),
		"XDG_CONFIG_HOME": filepath.Join(dir, "none"), "PATH": os.Getenv("PATH")}
	a := &cli.App{Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr,
		Getenv: func(name string) string { return env[name] }}
	code = run(context.Background(), args, a)
	return code, stdout.String(), stderr.String()
}

// TestRunTasks carries out tasks from the question to the answer: the scripted model calls, and real tools work on
// real files.
func TestRunTasks(t *testing.T) {
	written := func(name, want string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			got, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || !strings.Contains(string(got), want) {
				t.Errorf("%s holds %q (%v)", name, got, err)
			}
		}
	}
	absent := func(name string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				t.Errorf("%s was written", name)
			}
		}
	}
	search := []string{"--tools", "search_internet,file_access", "--write", "--allow", "search_internet"}
	saving := append(slices.Clone(search), "--allow", `{path: ["*.txt", "*.md"], op: [write]}`)
	tasks := []runTask{
		{name: "sum", args: []string{"--tools", "calculator"}, task: "What is 123 * 45?",
			out: `^123 \* 45 is 5535\.\n$`, log: `^calculator \{"expression": "123 \* 45"\}\n$`},
		{name: "version", args: []string{"--tools", "read_file"}, task: "Read package.json and tell me the version",
			out: `^The version in package.json is 1\.0\.0\n$`},
		{name: "a file that is missing", args: []string{"--tools", "read_file"}, task: "Read missing-file.txt",
			out: `the file does not exist`, log: `File not found: missing-file\.txt`},
		{name: "count", args: []string{"--tools", "list_files"}, task: "Find all TypeScript files and count them",
			out: `^I found 3 TypeScript files: src/index\.ts, src/utils\.ts and test/test\.ts\n$`},
		{name: "config", args: []string{"--tools", "file_access"}, task: "Show me the contents of config.json",
			out: `"database": "postgres"[^$]*PostgreSQL on port 5432`},
		{name: "readme", args: []string{"--tools", "file_access"}, task: "What's in my README.md file?",
			out: `# My Project\n\nThis is a sample project\.\n\nThe file is 40 bytes\.`},
		{name: "commands", args: []string{"--tools", "command_exec", "--write", "--allow", "{command: [ls]}"},
			task: "List all Python files in the current directory", out: `These are the Python files:\nmain\.py\n$`},
		{name: "news", args: search, task: "What's the latest news about AI?",
			out: `^latest AI news 1: What it says\. \(https://example\.com/1\), of 5 results\n$`},
		{name: "tutorials", args: saving, task: "Search for Python tutorials and save the results to tutorials.txt",
			out: `saved 33 bytes to tutorials\.txt`, check: written("tutorials.txt", "Learn Python")},
		{name: "summary", args: saving,
			task: "Search for FastAPI tutorials, summarize the top 3, and save the summary to fastapi_summary.md",
			out:  `fastapi_summary\.md \(98 bytes\)`,
			check: written("fastapi_summary.md",
				"# FastAPI Tutorials Summary\n\n1. FastAPI tutorials 1\n2. FastAPI tutorials 2\n3. FastAPI tutorials 3\n")},

		{name: "a pipe", args: []string{"--tools", "calculator"}, stdin: "What is 123 * 45?\n", out: `5535`},
		{name: "asked and nobody there", args: []string{"--tools", "command_exec", "--write"},
			task: "List all Python files", code: cli.ExitDenied,
			log: `a call of command_exec was denied: User denied approval`},
		{name: "asked and allowed", args: []string{"--tools", "command_exec", "--write", "--on-ask", "allow"},
			task: "List all Python files", out: `main\.py`},
		{name: "asked and failed", args: []string{"--tools", "command_exec", "--write", "--on-ask", "fail"},
			task: "List all Python files", code: cli.ExitDenied, log: `command_exec needs an approval`},
		{name: "denied by a rule", args: append(slices.Clone(saving), "--deny", "{path: [tutorials.txt]}"),
			task: "Search for Python tutorials and save the results to tutorials.txt", code: cli.ExitDenied,
			out: `I must not write that file`, log: `a call of file_access was denied`, check: absent("tutorials.txt")},
		{name: "no more turns", args: []string{"--tools", "calculator", "--max-turns", "1"}, task: "What is 123 * 45?",
			code: cli.ExitLimit, out: `^Let me work that out\.\s*$`,
			log: `the limit on answers of the model \(--max-turns\) was reached`},
		{name: "a form that is not kept", args: []string{"--tools", "calculator", "--output-schema", "answer.schema"},
			task: "What is 123 * 45?", code: cli.ExitMalformed},
		{name: "no more calls", args: []string{"--tools", "calculator", "--max-calls", "1"}, task: "What is 123 * 45?",
			code: cli.ExitLimit, out: `As far as I got`, log: `the limit on calls \(--max-calls\) was reached`},
		{name: "no such server", args: []string{"--upstream", "http://127.0.0.1:1/v1", "--model", "m"}, task: "x",
			code: cli.ExitModel},
		{name: "no such model there", args: []string{"--upstream", refusing(t, http.StatusNotFound), "--model", "m"},
			task: "x", code: cli.ExitModel},
		{name: "too many requests", args: []string{"--upstream", refusing(t, http.StatusTooManyRequests), "--model",
			"m"}, task: "x", code: cli.ExitModel},
		{name: "no task", code: cli.ExitUsage, log: `there is no task`},
		{name: "no such tool", args: []string{"--tools", "nothing"}, task: "x", code: cli.ExitUsage,
			log: `no tool "nothing"`},
		{name: "no such model", args: []string{"--model", "nothing"}, task: "x", code: cli.ExitUsage,
			log: `there is no such model`},
		{name: "no such scenario", args: []string{"--scenario", "nothing"}, task: "x", code: cli.ExitUsage,
			log: `there is no scenario "nothing"`},
		{name: "a rule that is none", args: []string{"--allow", "{commands: [ls]}"}, task: "x", code: cli.ExitUsage,
			log: `commands`},
	}
	scenario, err := filepath.Abs("testdata/run/tasks.scenario.yaml")
	if err != nil {
		t.Fatal(err)
	}
	server := searchServer(t)
	for _, tt := range tasks {
		t.Run(tt.name, func(t *testing.T) {
			if runtime.GOOS == "windows" && slices.Contains(tt.args, "command_exec") {
				t.Skip("there is no ls here")
			}
			dir := workspace(t)
			t.Chdir(dir)
			file := filepath.Join(dir, "wield.yaml")
			if err := os.WriteFile(file,
				[]byte("wield: config/v1\ntools: {search: {engine: searxng, url: "+server+
					"}}\nsandbox: {level: limits}\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			args := append([]string{"run", "--config", file, "--scenario", scenario}, tt.args...)
			if tt.task != "" {
				args = append(args, tt.task)
			}
			code, out, log := runWield(t, dir, tt.stdin, args...)
			if code != tt.code {
				t.Errorf("exit code %d, not %d", code, tt.code)
			}
			for _, c := range []struct{ what, text, want string }{{"output", out, tt.out}, {"log", log, tt.log}} {
				if !regexp.MustCompile(c.want).MatchString(c.text) {
					t.Errorf("the %s is %q, not %s", c.what, c.text, c.want)
				}
			}
			if t.Failed() {
				t.Logf("output %q, log %q", out, log)
			}
			if tt.check != nil {
				tt.check(t, dir)
			}
		})
	}
}

// TestRunLines holds the lines of --output stream-json to their schema, and to what they were.
func TestRunLines(t *testing.T) {
	raw, err := os.ReadFile("../../docs/run.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	shape, err := schema.Compile(raw)
	if err != nil {
		t.Fatal(err)
	}
	scenario, err := filepath.Abs("testdata/run/tasks.scenario.yaml")
	if err != nil {
		t.Fatal(err)
	}
	golden, err := filepath.Abs("testdata/run/lines.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, args := range [][]string{
		{"--tools", "calculator", "What is 123 * 45?"},
		{"--tools", "read_file", "Read missing-file.txt"},
		{"--tools", "search_internet", "--deny", "search_internet", "Search for Python tutorials"},
		{"--tools", "search_internet", "--on-ask", "fail", "Search for Python tutorials"},
		{"--tools", "calculator", "--max-calls", "1", "What is 123 * 45?"},
		{"--tools", "list_files", "What is 123 * 45?"},
	} {
		dir := workspace(t)
		t.Chdir(dir)
		_, out, _ := runWield(t, dir, "", append([]string{"run", "--scenario", scenario, "--output", "stream-json"},
			args...)...)
		for line := range strings.Lines(out) {
			for _, v := range shape.Validate(line) {
				t.Errorf("%s does not fit the schema: %s", line, v)
			}
			all.WriteString(steady(line))
		}
		all.WriteByte('\n')
	}
	if *updateRun {
		if err := os.WriteFile(golden, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := all.String(); got != string(want) {
		t.Errorf(
			"the lines are not those that they were. If they have to change, give the schema another version and run this test with -update-run.\n%s", got)
	}
}

var changing = regexp.MustCompile(`(run|call|apr)_[0-9a-f]{12,}`)

// steady replaces what differs from run to run.
func steady(line string) string { return changing.ReplaceAllString(line, "${1}_x") }

// The document of --output json is the last line of the stream.
func TestRunJSON(t *testing.T) {
	scenario, err := filepath.Abs("testdata/run/tasks.scenario.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := workspace(t)
	t.Chdir(dir)
	code, out, _ := runWield(t, dir, "", "run", "--scenario", scenario, "--tools", "calculator", "--output", "json",
		"-o", "out.json", "What is 123 * 45?")
	file, err := os.ReadFile("out.json")
	if code != cli.ExitOK || out != "" || err != nil {
		t.Fatalf("exit code %d, output %q, %v", code, out, err)
	}
	var got struct {
		Schema         int `json:"schema_version"`
		Answer, Reason string
		Turns, Calls   int
	}
	if err := json.Unmarshal(file, &got); err != nil {
		t.Fatal(err)
	}
	if got.Answer != "123 * 45 is 5535." || got.Reason != "answer" || got.Turns != 2 || got.Calls != 1 ||
		got.Schema != 1 {
		t.Errorf("the document is %+v", got)
	}
}

// A run that waits for an answer continues with it, in another process; what the run was started with stands in the
// journal.
func TestResumeWaiting(t *testing.T) {
	scenario, err := filepath.Abs("testdata/run/tasks.scenario.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		command []string
		flag    string
		code    int
		want    string
	}{
		{[]string{"run"}, "--approve", cli.ExitOK, "saved 33 bytes to tutorials"},
		{[]string{"run"}, "--deny", cli.ExitDenied, "I was not allowed to do that"},
		{[]string{"chat", "-p"}, "--approve", cli.ExitOK, "saved 33 bytes to tutorials"},
	} {
		t.Run(strings.Join(append(tt.command, tt.flag), " "), func(t *testing.T) {
			dir := workspace(t)
			t.Chdir(dir)
			file := filepath.Join(dir, "wield.yaml")
			if err := os.WriteFile(file,
				[]byte("wield: config/v1\ntools: {search: {engine: searxng, url: "+searchServer(t)+"}}\n"),
				0o644); err != nil {
				t.Fatal(err)
			}
			code, out, log := runWield(t, dir, "", append(tt.command, "--config", file, "--scenario", scenario,
				"--tools", "search_internet,file_access", "--write", "--allow", "search_internet", "--on-ask", "wait",
				"Search for Python tutorials and save the results to tutorials.txt")...)
			id := regexp.MustCompile("run_[0-9a-f]+").FindString(log)
			if code != cli.ExitDenied || id == "" {
				t.Fatalf("exit code %d, output %q, log %q", code, out, log)
			}
			if _, err := os.Stat("tutorials.txt"); err == nil {
				t.Fatal("the file was written before anybody answered")
			}
			for _, wrong := range [][]string{
				{"--approve", "all", "--deny", "all"}, {"--approve", "apr_none"},
				{"--approve", "all", "--deny", "apr_none"}, {"--approve", "all", "--output", "xml"},
			} {
				if code, out, _ = runWield(t, dir, "", append([]string{"sessions", "--config", file, "resume", id},
					wrong...)...); code != cli.ExitUsage || out != "" {
					t.Errorf("%v: exit code %d, output %q", wrong, code, out)
				}
			}
			code, out, log = runWield(t, dir, "", "sessions", "--config", file, "resume", id, tt.flag, "all",
				"--reason", "because")
			if code != tt.code || !strings.Contains(out, tt.want) {
				t.Errorf("exit code %d, output %q, log %q", code, out, log)
			}
			if _, err := os.Stat("tutorials.txt"); (err == nil) != (tt.code == cli.ExitOK) {
				t.Errorf("the file: %v", err)
			}
			if code, _, log = runWield(t, dir, "", "sessions", "--config", file, "resume",
				id); code != cli.ExitUsage || !strings.Contains(log, "is over") {
				t.Errorf("once more: exit code %d, log %q", code, log)
			}
			if code, out, _ = runWield(t, dir, "", "sessions", "--config", file, "list"); code != cli.ExitOK ||
				!strings.Contains(out, "Search for Python tutorials") {
				t.Errorf("the list is %q", out)
			}
		})
	}
}

// refusing serves an answer of a status to whatever is asked, and returns its address.
func refusing(t *testing.T, status int) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, `{"error": {"message": "no"}}`)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}
