//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// elsewhereConfig is of a conversation and a service that share a journal.
const elsewhereConfig = `wield: config/v1
listen: 127.0.0.1:0
keys: [{name: person, secret: env:WIELD_TEST_KEY, role: admin}]
backends: {b: {kind: script, scenario: %s}}
models: {m: {backend: b, mode: text}}
`

// oneJournal prepares a directory in which processes share a journal, and returns it with the environment of all of
// them.
func oneJournal(t *testing.T, turns string) (dir, config string, env []string) {
	t.Helper()
	home := t.TempDir()
	dir, config = filepath.Join(home, "work"), filepath.Join(home, "wield.yaml")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, config, fmt.Sprintf(elsewhereConfig, scenarioFile(t, turns)))
	return dir, config, []string{"HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state"),
		"WIELD_TEST_KEY=" + servedKey, "PATH=" + os.Getenv("PATH")}
}

// openQuestions returns the questions that wait, as another process sees them.
func openQuestions(t *testing.T, base string) []string {
	t.Helper()
	_, body := do(t, "GET", base+"/api/v1/approvals", "", "Authorization", "Bearer "+servedKey)
	var list struct {
		Items []struct{ ID, State string }
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	var ids []string
	for _, a := range list.Items {
		if a.State == "pending" {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// TestChatAnsweredThroughTheAPI answers questions of a conversation through a service in another process. The first
// answer counts, and closes the question here and there.
func TestChatAnsweredThroughTheAPI(t *testing.T) {
	dir, config, env := oneJournal(t, noteTurns)
	service := exec.Command("wield", "serve", "--config", config)
	out := &lockedBuffer{}
	service.Dir, service.Env, service.Stdout, service.Stderr = dir, env, out, out
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- service.Wait() }()
	t.Cleanup(func() {
		_ = service.Process.Signal(syscall.SIGTERM) // it has ended, if the test failed early
		if err := <-ended; err != nil {
			t.Errorf("the service ended: %v\n%s", err, out)
		}
	})
	var base string
	await(t, "the service listens", func() bool {
		if m := listens.FindStringSubmatch(out.String()); m != nil {
			base = m[1]
		}
		return base != ""
	})
	decide := func(id, answer string) (int, string) {
		return do(t, "POST", base+"/api/v1/approvals/"+id, answer, "Authorization", "Bearer "+servedKey)
	}

	s := sit(t, dir, 80, 50, env, "chat", "--config", config, "--tools", "write_file", "--write")
	s.waits("context ~")
	for i, tt := range []struct{ answer, seen, written string }{
		{`{"decision": "deny", "reason": "not now"}`, "denied by person: not now", ""},
		{`{"decision": "edit", "arguments": {"path": "a.txt", "content": "uno\n"}}`, "approved with changes by person",
			"uno\n"},
		{`{"decision": "allow"}`, "approved by person", "one\ntwo\n"},
	} {
		s.types("go\r")
		var ids []string
		await(t, "the question is there", func() bool { ids = openQuestions(t, base); return len(ids) == 1 })
		s.waits("y\u00a0yes")
		if status, body := decide(ids[0], tt.answer); status != 200 {
			t.Fatalf("%s: %d %s", tt.answer, status, body)
		}
		s.waits(tt.seen)
		s.until("the answer of the model", func(screen string) bool {
			return strings.Count(screen, "That was it.") == i+1 && !strings.Contains(screen, "· Ctrl-C stops")
		})
		if text, _ := os.ReadFile(filepath.Join(dir, "a.txt")); string(text) != tt.written {
			t.Errorf("%s: a.txt is %q, want %q", tt.answer, text, tt.written)
		}
		if status, body := decide(ids[0], `{"decision": "deny"}`); status != 409 || !strings.Contains(body, "person") {
			t.Errorf("a second answer: %d %s", status, body)
		}
	}
	s.types("go\r") // and once the other way round
	var ids []string
	await(t, "the question is there", func() bool { ids = openQuestions(t, base); return len(ids) == 1 })
	s.answers("write_file wants to:", "n")
	await(t, "the question is closed for others", func() bool { return len(openQuestions(t, base)) == 0 })
	if status, body := decide(ids[0], `{"decision": "allow"}`); status != 409 || !strings.Contains(body, "wield chat") {
		t.Errorf("an answer that was too late: %d %s", status, body)
	}
	s.leaves()
}

// TestChatResumedElsewhere answers a question with a command that continues the run in its own process. Whoever is
// first carries the call out, and nobody does so twice.
func TestChatResumedElsewhere(t *testing.T) {
	dir, config, env := oneJournal(t, noteTurns)
	s := sit(t, dir, 80, 50, env, "chat", "--config", config, "--tools", "write_file", "--write")
	s.waits("context ~")
	s.types("go\r")
	s.waits("y\u00a0yes")
	list := exec.Command("wield", "sessions", "list", "--config", config, "--json")
	list.Dir, list.Env = dir, env
	text, err := list.Output()
	var first struct{ ID string }
	if err != nil || json.Unmarshal(text, &first) != nil {
		t.Fatalf("%v: %s", err, text)
	}
	resume := exec.Command("wield", "sessions", "resume", first.ID, "--config", config, "--approve", "all")
	resume.Dir, resume.Env = dir, env
	// Either of the two carries the call out and asks the model.
	if said, err := resume.CombinedOutput(); err != nil && !strings.Contains(string(said), "driven by") &&
		!strings.Contains(string(said), "is over") {
		t.Errorf("resume: %v\n%s", err, said)
	}
	s.waits("approved by command line")
	s.waits("That was it.")
	if text, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(text) != "one\ntwo\n" {
		t.Errorf("a.txt is %q (%v)", text, err)
	}
	s.until("the end", func(screen string) bool { return !strings.Contains(screen, "· Ctrl-C stops") })
	s.types("and now?\r")
	s.answers("[edit: a.txt", "n")
	s.until("an answer to what was asked then",
		func(screen string) bool { return strings.Count(screen, "That was it.") == 2 })
	s.leaves()
	calls := exec.Command("wield", "sessions", "show", first.ID, "--config", config)
	calls.Dir, calls.Env = dir, env
	if text, err := calls.CombinedOutput(); err != nil || strings.Count(string(text), "That was it.") != 2 {
		t.Errorf("%v: %s", err, text)
	}
}
