package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/chat"
	"wield/internal/cli"
	"wield/journal"
	"wield/journal/record"
	"wield/journal/sqlite"
	"wield/tool"
	"wield/tool/runner"
)

// journaled makes a journal of two sessions where an environment looks for it, and returns what runs a command there.
func journaled(t *testing.T) (dir string, command func(args ...string) (code int, stdout, stderr string)) {
	t.Helper()
	dir = t.TempDir()
	s, err := sqlite.Open(t.Context(), filepath.Join(dir, "wield", "journal.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ses_1", "ses_2"} {
		call := chat.Call{ID: "call_1", Name: "command_exec", Arguments: `{"command":"ls"}`, Complete: true}
		if _, err := s.Append(t.Context(), "run_"+name, 0,
			record.Record{Kind: record.KindRun, Run: &record.Run{Session: name, Model: "m"}},
			record.Record{Kind: record.KindSession, Session: &record.Session{Title: "Files of " + name}},
			record.Record{Kind: record.KindMessage,
				Message: &record.Message{Message: chat.Message{Role: chat.RoleUser,
					Parts: chat.Text("list\x1b[2J them")}}},
			record.Record{Kind: record.KindTurnEnd,
				TurnEnd: &record.TurnEnd{Message: chat.Message{Role: chat.RoleAssistant, Calls: []chat.Call{call}}}},
			record.Record{Kind: record.KindStart, Start: &runner.StartRecord{CallID: "call_1", Tool: "command_exec",
				Arguments: json.RawMessage(call.Arguments)}},
			record.Record{Kind: record.KindResult, Result: &runner.FinishRecord{CallID: "call_1", Tool: "command_exec",
				Started: true, Result: tool.Text("a.txt")}},
			record.Record{Kind: record.KindEnd, End: &record.End{Reason: "stop"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string {
		if name == "XDG_STATE_HOME" {
			return dir
		}
		return ""
	}
	return dir, func(args ...string) (int, string, string) {
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), args, &cli.App{Stdin: strings.NewReader(""), Stdout: &stdout,
			Stderr: &stderr, Getenv: getenv})
		return code, stdout.String(), stderr.String()
	}
}

func TestSessions(t *testing.T) {
	_, command := journaled(t)
	ok := func(args ...string) string {
		t.Helper()
		code, stdout, stderr := command(args...)
		if code != cli.ExitOK || stderr != "" {
			t.Errorf("%v: %d, %s", args, code, stderr)
		}
		return stdout
	}
	if list := strings.Split(ok("sessions", "list"), "\n"); len(list) != 3 || !strings.HasPrefix(list[0], "ses_2 ") ||
		!strings.HasSuffix(list[1], "done                1 run   Files of ses_1") {
		t.Errorf("%q", list)
	}
	var first journal.Session
	if err := json.Unmarshal([]byte(ok("sessions", "list", "--json", "--limit", "1")), &first); err != nil ||
		first.ID != "ses_2" || first.Last != 14 {
		t.Errorf("%+v, %v", first, err)
	}
	if rest := ok("sessions", "list", "--before", "14"); !strings.HasPrefix(rest, "ses_1 ") {
		t.Errorf("the next page: %q", rest)
	}
	show := ok("sessions", "show", "ses_1")
	for _, want := range []string{"run of m\n", "user: list\uFFFD[2J them\n", `[calls command_exec {"command":"ls"}]`,
		`runs command_exec {"command":"ls"}`, `command_exec gave "a.txt"`, "done\n"} {
		if !strings.Contains(show, want) {
			t.Errorf("show lacks %q:\n%s", want, show)
		}
	}
	if n := strings.Count(ok("sessions", "export", "ses_1"), "\n"); n != 7 {
		t.Errorf("%d lines of one session, want 7", n)
	}
	for line := range strings.Lines(ok("sessions", "export", "--all")) {
		var e struct {
			Position int64
			Record   json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Position == 0 {
			t.Fatalf("%s: %v", line, err)
		}
		if _, err := record.Decode(e.Record); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	ok("sessions", "delete", "ses_1")
	if left := ok("sessions", "export", "--all"); strings.Contains(left, "Files of ses_1") ||
		!strings.Contains(left, "Files of ses_2") {
		t.Errorf("after ses_1 was deleted:\n%s", left)
	}
	for _, args := range [][]string{{"show", "ses_1"}, {"delete", "ses_1"}, {"export", "ses_1"}} {
		if code, _, stderr := command(append([]string{"sessions"}, args...)...); code != cli.ExitUsage ||
			!strings.Contains(stderr, "there is no session ses_1") {
			t.Errorf("%v: %d, %s", args, code, stderr)
		}
	}
	if report := ok("journal", "verify"); !strings.HasPrefix(report,
		"15 entries, 7 of them deleted, 2 streams, 1 calls, 0 without a result\nlast hash ") {
		t.Errorf("%s", report)
	}
}

func TestJournal(t *testing.T) {
	dir, command := journaled(t)
	_, report, _ := command("journal", "verify")
	_, hash, _ := strings.Cut(strings.TrimSpace(report), "last hash ")
	copied := filepath.Join(dir, "copy.db")
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"verify", "--since", hash}, cli.ExitOK, ""},
		{[]string{"verify", "--since", strings.Repeat("0a", 32)}, cli.ExitFailed,
			"the journal is not what was written"},
		{[]string{"verify", "--since", "x"}, cli.ExitUsage, "64 hexadecimal digits"},
		{[]string{"backup", copied}, cli.ExitOK, ""},
		{[]string{"backup", copied}, cli.ExitFailed, "is there already"},
		{[]string{"vacuum"}, cli.ExitOK, ""},
		{[]string{"verify", "extra"}, cli.ExitUsage, ""},
	} {
		if code, _, stderr := command(append([]string{"journal"}, test.args...)...); code != test.code ||
			!strings.Contains(stderr, test.want) {
			t.Errorf("%v: %d, %s", test.args, code, stderr)
		}
	}
	s, err := sqlite.Open(t.Context(), copied, sqlite.Options{Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if r, err := journal.Verify(t.Context(), s, journal.Hash{}); err != nil || len(r.Problems) > 0 ||
		r.Head.String() != hash {
		t.Errorf("the copy: %+v, %v", r, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".wield-backup-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := os.RemoveAll(filepath.Join(dir, "wield")); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := command("sessions", "list"); code != cli.ExitFailed ||
		!strings.Contains(stderr, "there is no journal yet") {
		t.Errorf("without a journal: %d, %s", code, stderr)
	}
}
