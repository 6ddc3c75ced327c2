package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"wield/internal/cli"
	"wield/schema"
)

// TestRunInput reads messages as lines, and what are none.
func TestRunInput(t *testing.T) {
	raw, err := os.ReadFile("../../docs/run-input.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.Compile(raw)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	const sum = `{"type":"message","text":"What is 123 * 45?"}`
	for _, test := range []struct {
		line, want string
		code       int
	}{
		{sum, "123 * 45 is 5535.", cli.ExitOK},
		{"\n  \n" + sum, "123 * 45 is 5535.", cli.ExitOK},
		{sum + "\n" + `{"type":"message"}`, "line 2: a message has a text", cli.ExitUsage},
		{`{"type":"message","text":""}`, "line 1: a message has a text", cli.ExitUsage},
		{`{"type":"note","text":"x"}`, "there is message", cli.ExitUsage},
		{`{"type":"message","text":"x","extra":1}`, "unknown field", cli.ExitUsage},
		{`{"type":"message","text":`, "line 1", cli.ExitUsage},
		{"", "", cli.ExitOK},
	} {
		code, out, log := runWield(t, dir, test.line, "run", "--scenario", "calculator", "--tools", "calculator",
			"--input", "stream-json")
		if code != test.code || !strings.Contains(out+log, test.want) {
			t.Errorf("%q: exit code %d\n%s%s", test.line, code, out, log)
		}
		valid := true
		for line := range strings.Lines(test.line) {
			valid = valid && (strings.TrimSpace(line) == "" || len(s.Validate(strings.TrimSpace(line))) == 0)
		}
		if valid != (code == cli.ExitOK) {
			t.Errorf("%q: exit code %d, and the schema says valid: %v", test.line, code, valid)
		}
	}
	if code, _, log := runWield(t, dir, sum, "run", "--scenario", "calculator", "--input", "stream-json",
		"a task"); code != cli.ExitUsage {
		t.Errorf("with a task: %d %s", code, log)
	}
}

// TestContinue continues sessions.
func TestContinue(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("package.json", []byte(`{"version": "1.0.0"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	do := func(want int, args ...string) string {
		t.Helper()
		code, out, log := runWield(t, dir, "", args...)
		if code != want {
			t.Fatalf("%q: exit code %d, want %d\n%s%s", args, code, want, out, log)
		}
		return out + log
	}
	sum := []string{"run", "--scenario", "calculator", "--tools", "calculator"}
	do(cli.ExitOK, append(sum, "What is 123 * 45?")...)
	do(cli.ExitUsage, append(sum, "--continue", "--session", "ses_1", "What is 123 * 45?")...)
	do(cli.ExitUsage, append(sum, "--session", "ses_1", "What is 123 * 45?")...)
	do(cli.ExitUsage, append(sum, "--continue", "--no-journal", "What is 123 * 45?")...)
	do(cli.ExitUsage, append(sum, "--continue", "--system", "x", "What is 123 * 45?")...)
	do(cli.ExitOK, "run", "--continue", "--scenario", "readPackage", "--tools", "read_file",
		"Read package.json and tell me the version")
	list := do(cli.ExitOK, "sessions", "list")
	if strings.Count(list, "\n") != 1 || !strings.Contains(list, "2 runs  What is 123 * 45?") {
		t.Fatalf("sessions:\n%s", list)
	}
	id := strings.Fields(list)[0]
	do(cli.ExitOK, append(sum, "--session", id, "What is 123 * 45?")...)
	show := do(cli.ExitOK, "sessions", "show", id)
	for text, want := range map[string]int{"user: What is 123 * 45?": 2, "user: Read package.json": 1, "tool: ": 0,
		"assistant: The version": 1, "run of ": 3} {
		if got := strings.Count(show, text); got != want {
			t.Errorf("%q stands %d times, want %d, in\n%s", text, got, want, show)
		}
	}
	elsewhere := t.TempDir()
	t.Chdir(elsewhere)
	do(cli.ExitUsage, append(sum, "--continue", "What is 123 * 45?")...)
}

// TestOnAskWebhook asks a service, and takes nothing but a clear answer for yes.
func TestOnAskWebhook(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	scenario := "wield: scenario/v1\nname: ls\nturns:\n  - id: call\n    when: {last: user}\n    reply: [{call: {name: command_exec, args: {command: ls, arguments: [main.py]}}}]\n" +
		"  - {id: end, when: {last: tool}, reply: [{text: \"got ${result}\"}]}\n"
	for name, text := range map[string]string{"main.py": "", "other.txt": "", "ls.scenario.yaml": scenario} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name, answer string
		status, code int
		want         string
	}{
		{"approved", `{"decision":"approve","by":"ann"}`, 200, cli.ExitOK, "main.py"},
		{"edited", `{"decision":"approve","arguments":{"command":"ls","arguments":["other.txt"]}}`, 200, cli.ExitOK,
			"other.txt"},
		{"edited into what is no call", `{"decision":"approve","arguments":{"command":7}}`, 200, cli.ExitOK,
			"Invalid arguments"},
		{"denied", `{"decision":"deny","reason":"not today"}`, 200, cli.ExitDenied, "not today"},
		{"no answer", `{}`, 200, cli.ExitDenied, "decision is approve or deny"},
		{"something else", `yes`, 200, cli.ExitDenied, "nobody could be asked"},
		{"more", `{"decision":"approve","sure":true}`, 200, cli.ExitDenied, "unknown field"},
		{"redirected", `{"decision":"approve"}`, 307, cli.ExitDenied, "status 307"},
		{"failed", `{"decision":"approve"}`, 500, cli.ExitDenied, "status 500"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var asked []byte
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked, _ = io.ReadAll(r.Body)
				w.WriteHeader(test.status)
				io.WriteString(w, test.answer)
			}))
			defer s.Close()
			code, out, log := runWield(t, dir, "", "run", "--scenario", "ls.scenario.yaml", "--tools", "command_exec",
				"--write", "--on-ask", "webhook:"+s.URL, "x")
			if code != test.code || !strings.Contains(out+log, test.want) {
				t.Errorf("exit code %d\n%s%s", code, out, log)
			}
			var q struct{ Type, Approval, Tool, Why string }
			if err := json.Unmarshal(asked, &q); err != nil || q.Type != "approval" || q.Approval == "" ||
				q.Tool != "command_exec" || q.Why == "" {
				t.Errorf("asked %s (%v)", asked, err)
			}
		})
	}
	for _, address := range []string{"", "ftp://x", "x", "http://"} {
		if code, _, log := runWield(t, dir, "", "run", "--on-ask", "webhook:"+address, "x"); code != cli.ExitUsage {
			t.Errorf("webhook:%s: %d %s", address, code, log)
		}
	}
}

// TestRunSh makes tools of lines.
func TestRunSh(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	scenario := "wield: scenario/v1\nname: sh\nturns:\n  - {id: call, when: {last: user}, reply: [{call: {name: said, args: {}}}]}\n  - {id: end, when: {last: tool}, reply: [{text: \"got ${result}\"}]}\n"
	if err := os.WriteFile("sh.scenario.yaml", []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	run := []string{"run", "--scenario", "sh.scenario.yaml", "--no-journal"}
	if code, out, log := runWield(t, dir, "", append(run, "--sh", "said: echo hello", "x")...); code != cli.ExitOK ||
		!strings.Contains(out, "got hello") {
		t.Errorf("%d %s %s", code, out, log)
	}
	if code, out, log := runWield(t, dir, "", append(run, "--sh", "said: echo hello", "--tools", "calculator",
		"x")...); code != cli.ExitOK || !strings.Contains(out, "got hello") {
		t.Errorf("beside --tools: %d %s %s", code, out, log)
	}
	if code, out, log := runWield(t, dir, "", append(run, "--sh", "said: echo hello", "--deny", "said",
		"x")...); strings.Contains(out, "got hello") {
		t.Errorf("denied: %d %s %s", code, out, log)
	}
	if code, _, log := runWield(t, dir, "", append(run, "--sh", "echo", "x")...); code != cli.ExitUsage ||
		!strings.Contains(log, "--sh") {
		t.Errorf("%d %s", code, log)
	}
}
