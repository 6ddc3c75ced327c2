package api

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"wield/chat"
	"wield/internal/runs"
	"wield/journal"
	"wield/tool"
	"wield/tool/builtin"
	"wield/tool/builtin/local"
	"wield/tool/policy"
	"wield/tool/runner"
)

// A caller is a model that calls what the user says, as "NAME ARGUMENTS", and answers a result with it.
type caller struct{}

func (caller) Stream(_ context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		finish := chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}}
		if last.Role != chat.RoleUser {
			_ = yield(chat.Event{Kind: chat.KindText, Text: last.Text()}, nil) && yield(finish, nil)
			return
		}
		name, args, _ := strings.Cut(last.Text(), " ")
		c := chat.Call{ID: fmt.Sprint("call_", len(req.Messages)), Name: name, Arguments: args, Complete: true}
		_ = yield(chat.Event{Kind: chat.KindCallStart, ID: c.ID, Name: c.Name}, nil) &&
			yield(chat.Event{Kind: chat.KindCallArgs, Text: c.Arguments}, nil) &&
			yield(chat.Event{Kind: chat.KindCallEnd, ID: c.ID, Name: c.Name, Detail: &c}, nil) && yield(finish, nil)
	}
}

// workshop is a service with an agent called home whose built-in tools work in a directory, under rules.
func workshop(t *testing.T) (s *service, dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var reg runner.Registry
	for _, one := range slices.Concat(builtin.Tools(builtin.Options{}), local.Options{}.Tools()) {
		one.State = tool.StateEnabled
		if one.Guard != nil {
			one.Guard.Mode = tool.ModeRW
		}
		if err := reg.Add(one); err != nil {
			t.Fatal(err)
		}
	}
	rules, err := policy.New(policy.Definition{Name: "p", Default: chat.DecisionAsk, Rules: []policy.Rule{
		{Decision: chat.DecisionAllow, Selector: policy.Selector{Command: []string{"ls"}}, File: "wield.yaml", Line: 7},
		{Decision: chat.DecisionDeny, Selector: policy.Selector{Command: []string{"wipe"}}, File: "wield.yaml",
			Line: 8},
		{Decision: chat.DecisionAllow, Selector: policy.Selector{Tool: []string{"calculator"}}, File: "wield.yaml",
			Line: 9},
	}})
	if err != nil {
		t.Fatal(err)
	}
	store := &journal.Memory{}
	hub := runs.New(runs.Options{Journal: store,
		Agents: []runs.Agent{{Name: "home", Model: caller{},
			Runner: runner.New(runner.Settings{Tools: &reg, Policy: rules, Root: dir, Temp: t.TempDir()})}}})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := hub.Drain(ctx); err != nil {
			t.Error(err)
		}
	})
	o := options(store)
	o.Hub, o.Tools, o.Lines = hub, reg.Entries, new(Log)
	o.Lines.add(LogLine{Level: "info"})
	o.Settings = func() Settings { return Settings{Items: []Setting{}, Keys: []Key{}} }
	return serve(t, o), dir
}

// asks lets a model call a tool, and returns the id of the question that comes of it.
func (s *service) asks(name, arguments string) string {
	s.t.Helper()
	input, err := json.Marshal(name + " " + arguments)
	if err != nil {
		s.t.Fatal(err)
	}
	run := s.start("k-client", `{"agent":"home","input":`+string(input)+`}`)
	var id string
	s.events(run.ID, "", func(e *Event) bool {
		if e.Kind == "approval" {
			id = e.Approval.ID
		}
		return id != "" || e.Kind == "finish"
	})
	if id == "" {
		s.t.Fatalf("%s %s is not asked about", name, arguments)
	}
	return id
}

// review looks at an approval, with other arguments if there are any.
func (s *service) review(id, arguments string) (r Review) {
	s.t.Helper()
	body := "{}"
	if arguments != "" {
		body = `{"arguments":` + arguments + `}`
	}
	status, text := s.do("POST", "/approvals/"+id+"/review", "k-approver", body)
	if err := json.Unmarshal(text, &r); err != nil || status != 200 {
		s.t.Fatalf("%d %s %v", status, text, err)
	}
	return r
}

// TestReviewOfEdit: a question about a file shows what would become of it, also with other arguments, and nothing is
// written.
func TestReviewOfEdit(t *testing.T) {
	s, dir := workshop(t)
	file := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(file, []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	id := s.asks("edit_file", `{"path":"a.txt","old_string":"two","new_string":"2"}`)
	r := s.review(id, "")
	if r.Decision != "ask" || r.Rule != "default" ||
		r.Always != "allow: {tool: [edit_file], path: [a.txt], op: [write]}" || len(r.Findings) != 1 ||
		!r.Findings[0].Decides {
		t.Errorf("%+v", r)
	}
	want := []FileChange{{Path: "a.txt", Added: 1, Removed: 1,
		Diff: "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"}}
	if !reflect.DeepEqual(r.Files, want) {
		t.Errorf("%+v", r.Files)
	}
	if r = s.review(id, `{"path":"b/c.txt","old_string":"","new_string":"x\n"}`); r.Decision != "ask" {
		t.Errorf("%+v", r)
	}
	if r = s.review(id, `{"path":"a.txt","old_string":"four","new_string":"4"}`); r.Files != nil ||
		!strings.Contains(r.Unknown, "a.txt") {
		t.Errorf("what is not found: %+v", r)
	}
	if r = s.review(id, `{"path":"../a.txt","old_string":"two","new_string":"4"}`); r.Decision != "deny" ||
		r.Files != nil {
		t.Errorf("outside of the workspace: %+v", r)
	}
	for _, c := range []struct{ arguments, field, message string }{
		{`{"path":3}`, "/path", "string"}, {`{"paht":"a.txt"}`, "/paht", ""}, {`[]`, "", "an object"},
		{`null`, "", "an object"},
	} {
		if r = s.review(id, c.arguments); len(r.Problems) != 1 || r.Problems[0].Field != c.field ||
			!strings.Contains(r.Problems[0].Message, c.message) || r.Decision != "" {
			t.Errorf("%s: %+v", c.arguments, r)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "one\ntwo\nthree\n" {
		t.Errorf("%q %v", text, err)
	}
}

// TestReviewOfCommand: a question about a command shows its syntax tree, and which node made it ask, by which rule of
// which line.
func TestReviewOfCommand(t *testing.T) {
	s, _ := workshop(t)
	id := s.asks("command_exec", `{"shell":"ls | make \"é\" > x"}`)
	r := s.review(id, "")
	if r.Command == nil || r.Command.Shell != `ls | make "é" > x` || len(r.Command.Parts) == 0 {
		t.Fatalf("%+v", r.Command)
	}
	var told []string
	for _, f := range r.Findings {
		part := ""
		if f.Part != nil {
			p := r.Command.Parts[*f.Part]
			part = r.Command.Shell[p.From:p.To]
		}
		told = append(told, fmt.Sprintf("%s %s <%s> %s:%d %v", f.Decision, f.Subject, part, f.File, f.Line, f.Decides))
	}
	if got := strings.Join(told,
		"\n"); got != "allow command <ls> wield.yaml:7 false\nask path <> x> :0 true\nask command <make \"é\"> :0 true" &&
		got != "allow command <ls> wield.yaml:7 false\nask path <> x> :0 true\nask command <make \"é\" > x> :0 true" {
		t.Errorf("%s", got)
	}
	if r = s.review(id, `{"shell":"sh -c 'wipe x'"}`); r.Decision != "deny" || r.Line != 8 || r.Always != "" {
		t.Errorf("%+v", r)
	}
	for _, f := range r.Findings {
		if f.Line == 8 && f.Part != nil {
			t.Errorf("a command inside of another is found in the outer one: %+v", f)
		}
	}
	if r = s.review(id, `{"command":"ls","arguments":["-l"]}`); r.Decision != "allow" ||
		!reflect.DeepEqual(r.Command.Argv, []string{"ls", "-l"}) || r.Command.Parts != nil {
		t.Errorf("%+v", r)
	}
	if r = s.review(id, `{"shell":"ls 'x"}`); r.Decision != "ask" || r.Command.Error == "" {
		t.Errorf("%+v", r)
	}
}

// Only who may decide may look, and not at what is not there.
func TestReviewOfOthers(t *testing.T) {
	s, _ := workshop(t)
	id := s.asks("command_exec", `{"command":"make"}`)
	for _, c := range []struct {
		key, path string
		status    int
	}{
		{"k-client", "/approvals/" + id + "/review", 403}, {"", "/approvals/" + id + "/review", 401},
		{"k-admin", "/approvals/apr_none/review", 404}, {"", "/approvals/" + id + "/review?token=t-other", 401},
	} {
		if status, text := s.do("POST", c.path, c.key, "{}"); status != c.status {
			t.Errorf("%s %s: %d %s", c.key, c.path, status, text)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.url+Prefix+"/approvals/"+id+"/review?token=t-"+id,
		strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if status, text := s.send(http.DefaultClient, req); status != 200 {
		t.Errorf("with a link: %d %s", status, text)
	}
	if status, text := s.do("POST", "/approvals/"+id+"/review", "k-admin", `{"argument":{}}`); status != 400 {
		t.Errorf("%d %s", status, text)
	}
}
