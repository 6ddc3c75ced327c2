package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wield/chat"
)

// ofSettings reports whether a route is one of those that this file brings all answers about.
func ofSettings(r *route) bool {
	return slices.ContainsFunc(append(settingRoutes(), logRoutes()...), func(o route) bool { return o.name == r.name })
}

// TestDocumentOfSettings brings about every status that the document has of these routes.
func TestDocumentOfSettings(t *testing.T) {
	s, _ := workshop(t)
	bodies := map[string]string{"testPolicy": `{"agent":"home","shell":"ls"}`,
		"runTool": `{"agent":"home","arguments":{"expression":"1+1"}}`}
	id := s.asks("write_file", `{"path":"a.txt","content":"1"}`)
	keep := func() string {
		if status, text := s.do("POST", "/approvals/"+id, "k-admin",
			`{"decision":"allow","always":true}`); status != 200 {
			t.Fatalf("%d %s", status, text)
		}
		var list KeptRules
		s.get("/rules", "k-approver", &list)
		return list.Items[0].ID
	}
	rule := keep()
	path := func(r *route) string {
		return strings.NewReplacer("{rule}", rule, "{tool}", "calculator").Replace(r.path)
	}
	var mine []*route
	for i := range s.api.routes {
		if r := &s.api.routes[i]; ofSettings(r) {
			s.common(r, path(r), bodies[r.name])
			mine = append(mine, r)
		}
	}
	for _, r := range mine {
		if r.media != mediaEvents {
			s.do(r.method, path(r), "k-admin", bodies[r.name])
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	for range s.follow(ctx, "/log/events", "k-admin", "") {
		break
	}
	cancel()
	none := options(nil)
	none.Settings, none.Lines = nil, nil
	down := serve(t, none)
	down.seen = s.seen
	for _, r := range mine {
		status := 404
		if r.driven {
			status = 503
		}
		down.refused(r.method, path(r), "k-admin", bodies[r.name], status)
	}
	s.complete(mine)
}

// TestPolicyTest: what the rules say of a command, a file, an address and a call, with their places, and nothing runs.
func TestPolicyTest(t *testing.T) {
	s, dir := workshop(t)
	for _, c := range []struct{ body, decision, what string }{
		{`"shell":"ls -l"`, "allow", "wield.yaml:7"}, {`"shell":"ls; wipe x"`, "deny", "wield.yaml:8"},
		{`"argv":["make"]`, "ask", ":0"}, {`"path":"a.txt","op":"write"`, "ask", ":0"},
		{`"path":"a.txt"`, "ask", ":0"}, {`"path":"/etc/shadow"`, "deny", ":0"},
		{`"url":"http://169.254.169.254/x"`, "deny", ":0"}, {`"tool":"calculator","arguments":{"expression":"1"}`,
			"allow", "wield.yaml:9"},
	} {
		var r Review
		status, text := s.do("POST", "/policy/test", "k-admin", `{"agent":"home",`+c.body+`}`)
		if err := json.Unmarshal(text, &r); err != nil || status != 200 || string(r.Decision) != c.decision ||
			len(r.Findings) == 0 {
			t.Errorf("%s: %d %s", c.body, status, text)
			continue
		}
		if got := r.File + ":" + string(rune('0'+r.Line)); got != c.what {
			t.Errorf("%s: decided at %s", c.body, got)
		}
	}
	if f := s.refused("POST", "/policy/test", "k-admin", `{"agent":"hom"}`, 400); f.Error.Field != "/agent" ||
		f.Error.Fix != "there are home" {
		t.Errorf("%+v", f)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("%v %v", files, err)
	}
}

// TestRunTool: a tool run by hand is asked about as any call is, and runs when whoever sends it has approved it.
func TestRunTool(t *testing.T) {
	s, dir := workshop(t)
	try := func(name, body string) (out Tried) {
		t.Helper()
		status, text := s.do("POST", "/tools/"+name+"/run", "k-admin", body)
		if err := json.Unmarshal(text, &out); err != nil || status != 200 {
			t.Fatalf("%d %s %v", status, text, err)
		}
		return out
	}
	if got := try("calculator", `{"agent":"home","arguments":{"expression":"6*7"}}`); !got.Ran || got.Result == nil ||
		got.Result.Text != "42" || got.Result.IsError {
		t.Errorf("%+v", got)
	}
	if got := try("calculator", `{"agent":"home","arguments":{"expression":6}}`); got.Ran ||
		len(got.Review.Problems) != 1 || got.Review.Problems[0].Field != "/expression" {
		t.Errorf("%+v", got)
	}
	const write = `{"agent":"home","arguments":{"path":"n.txt","content":"x\n"}`
	file := filepath.Join(dir, "n.txt")
	if got := try("write_file", write+`}`); got.Ran || got.Result != nil || got.Review.Decision != chat.DecisionAsk ||
		len(got.Review.Files) != 1 {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("it was written before it was approved")
	}
	if got := try("write_file", write+`,"approved":true}`); !got.Ran || got.Result.IsError {
		t.Errorf("%+v", got)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "x\n" {
		t.Errorf("%q %v", text, err)
	}
	if got := try("write_file",
		`{"agent":"home","arguments":{"path":"../n.txt","content":"x\n"},"approved":true}`); got.Ran ||
		got.Result == nil || !got.Result.IsError || got.Review.Decision != chat.DecisionDeny {
		t.Errorf("%+v", got)
	}
	if f := s.refused("POST", "/tools/nothing/run", "k-admin", `{"agent":"home"}`, 404); f.Error.Kind != KindNotFound {
		t.Errorf("%+v", f)
	}
}

// TestKeptRule: a rule that was kept decides about the next call, is listed, and asks again when it was taken back.
func TestKeptRule(t *testing.T) {
	s, _ := workshop(t)
	id := s.asks("write_file", `{"path":"a.txt","content":"1\n"}`)
	if status, text := s.do("POST", "/approvals/"+id, "k-approver",
		`{"decision":"allow","always":true}`); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	var list KeptRules
	s.get("/rules", "k-approver", &list)
	if len(list.Items) != 1 || list.Items[0].Text != "allow: {tool: [write_file], path: [a.txt], op: [write]}" ||
		list.Items[0].By != "amy" || list.Items[0].Approval != id {
		t.Fatalf("%+v", list)
	}
	run := s.start("k-client", `{"agent":"home","input":"write_file {\"path\":\"a.txt\",\"content\":\"2\\n\"}"}`)
	events, _ := s.events(run.ID, "", nil)
	for _, e := range events {
		if e.Kind == "approval" {
			t.Errorf("it is asked about again: %+v", e)
		}
	}
	s.asks("write_file", `{"path":"b.txt","content":"3\n"}`) // the rule is about the other file
	if status, text := s.do("DELETE", "/rules/"+list.Items[0].ID, "k-approver", ""); status != 204 {
		t.Fatalf("%d %s", status, text)
	}
	s.asks("write_file", `{"path":"a.txt","content":"4\n"}`)
	if f := s.refused("DELETE", "/rules/"+list.Items[0].ID, "k-approver", "", 404); f.Error.Kind != KindNotFound {
		t.Errorf("%+v", f)
	}
}

// TestLog: the log is kept within bounds, by level and by the part of the program, and followed from where somebody
// left.
func TestLog(t *testing.T) {
	lines := new(Log)
	var text strings.Builder
	log := slog.New(lines.Handler(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelInfo})))
	o := options(nil)
	o.Lines = lines
	s := serve(t, o)
	log.Debug("not wanted")
	log.With("a", 1).WithGroup("g").Info("first", "b", "two", slog.Group("h", "c", 3))
	log.Error("second", "big", strings.Repeat("x", 2*maxLogText))
	var page LogLines
	s.get("/log", "k-admin", &page)
	if len(page.Items) != 2 || page.Items[0].Message != "first" || page.Items[0].Category != "api" ||
		page.Items[0].Level != "info" ||
		!slices.Equal(page.Items[0].Facts, []Fact{{"a", "1"}, {"g.b", "two"}, {"g.h.c", "3"}}) ||
		page.Items[1].Facts[0].Value != strings.Repeat("x", maxLogText)+"…" {
		t.Errorf("%+v", page)
	}
	if !strings.Contains(text.String(), "msg=first a=1 g.b=two g.h.c=3") ||
		strings.Contains(text.String(), "not wanted") {
		t.Errorf("the next handler got %s", text.String())
	}
	s.get("/log?level=warn", "k-admin", &page)
	if len(page.Items) != 1 || page.Items[0].Message != "second" {
		t.Errorf("%+v", page)
	}
	s.get("/log?category=gateway", "k-admin", &page)
	if len(page.Items) != 0 {
		t.Errorf("%+v", page)
	}
	s.get("/log?limit=1", "k-admin", &page)
	if len(page.Items) != 1 || page.Items[0].Message != "second" || page.Next != "2" {
		t.Errorf("%+v", page)
	}
	for e := range s.follow(t.Context(), "/log/events", "k-admin", "1") {
		var l LogLine
		if err := json.Unmarshal([]byte(e.data), &l); err != nil {
			t.Fatal(err)
		}
		if e.id == "2" {
			log.Info("third")
			continue
		}
		if e.id != "3" || l.Message != "third" {
			t.Errorf("%+v", e)
		}
		break
	}
	for range 3 * maxLogLines {
		lines.add(LogLine{})
	}
	if kept, _ := lines.after(0); len(kept) > maxLogLines || len(kept) < maxLogLines/2 ||
		kept[len(kept)-1].Seq != 3*maxLogLines+3 {
		t.Errorf("%d lines are kept", len(kept))
	}
}
