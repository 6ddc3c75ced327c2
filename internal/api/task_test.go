package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// transcript returns what was said in a session.
func (s *service) transcript(session string) []Step {
	s.t.Helper()
	var page Transcript
	s.get("/sessions/"+session+"/transcript?limit=100", "k-client", &page)
	return page.Items
}

// TestBeforeOfTask: a branch has what was said before its message, and leaves the other session as it is.
func TestBeforeOfTask(t *testing.T) {
	s, m, _ := driven(t)
	run := s.start("k-client", `{"agent":"home","input":"one"}`)
	s.events(run.ID, "", nil)
	for _, text := range []string{"two", "three"} {
		next := s.start("k-client", fmt.Sprintf(`{"agent":"home","input":%q,"session":%q}`, text, run.Session))
		s.events(next.ID, "", nil)
	}
	all := s.transcript(run.Session)
	position := int64(0)
	for _, step := range all {
		if step.Text == "two" {
			position = step.Position
		}
	}
	branch := s.start("k-client", fmt.Sprintf(`{"agent":"home","input":"other","session":%q,"before":%d}`, run.Session,
		position))
	s.events(branch.ID, "", nil)
	if branch.Session == run.Session {
		t.Error("the branch is in the same session")
	}
	m.mu.Lock()
	var said []string
	for _, msg := range m.asked[len(m.asked)-1].Messages {
		said = append(said, msg.Text())
	}
	m.mu.Unlock()
	if got := strings.Join(said, " | "); got != "one | You said: one | other" {
		t.Errorf("the branch begins with %s", got)
	}
	if after := s.transcript(run.Session); len(after) != len(all) {
		t.Errorf("the session has %d steps instead of %d", len(after), len(all))
	}
	first := s.start("k-client", fmt.Sprintf(`{"agent":"home","input":"anew","session":%q,"before":%d}`, run.Session,
		all[0].Position))
	s.events(first.ID, "", nil)
	if got := s.transcript(first.Session); got[0].Text != "anew" {
		t.Errorf("%+v", got)
	}
	for body, field := range map[string]string{
		`{"agent":"home","input":"x","before":1}`: "/before",
		fmt.Sprintf(`{"agent":"home","input":"x","session":%q,"before":%d}`, run.Session,
			all[1].Position): "/before",
		fmt.Sprintf(`{"agent":"home","input":"x","session":%q,"before":%d}`, run.Session,
			all[0].Position+10000): "/before",
	} {
		if f := s.refused("POST", "/runs", "k-client", body, 400); f.Error.Field != field {
			t.Errorf("%s: %+v", body, f)
		}
	}
}

// TestToolsOfTask: a run has no tools but those that its task names, also after it has waited.
func TestToolsOfTask(t *testing.T) {
	s, m, _ := driven(t)
	offered := func() (names []string) {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, tool := range m.asked[len(m.asked)-1].Tools {
			names = append(names, tool.Name)
		}
		return names
	}
	for _, tt := range []struct {
		tools string
		want  int
	}{{``, 1}, {`,"tools":[]`, 0}, {`,"tools":["other"]`, 0}, {`,"tools":["write_note"]`, 1}} {
		run := s.start("k-client", `{"agent":"home","input":"hello"`+tt.tools+`}`)
		s.events(run.ID, "", nil)
		if got := offered(); len(got) != tt.want {
			t.Errorf("with %s it is offered %v", tt.tools, got)
		}
	}
	run := s.start("k-client", `{"agent":"home","input":"note a.txt","tools":["write_note"]}`)
	list, _ := s.events(run.ID, "", isKind("approval"))
	s.do("POST", "/approvals/"+list[len(list)-1].Approval.ID, "k-admin", `{"decision":"allow"}`)
	s.events(run.ID, "", nil)
	if got := offered(); len(got) != 1 {
		t.Errorf("after it has waited it is offered %v", got)
	}
	refused := s.start("k-client", `{"agent":"home","input":"note a.txt","tools":[]}`)
	list, _ = s.events(refused.ID, "", nil)
	for _, e := range list {
		if e.Kind == "approval" {
			t.Error("a tool that it does not have asks")
		}
	}
}

// TestReach: whether the server of a model is there.
func TestReach(t *testing.T) {
	o := options(nil)
	o.Probe = func(_ context.Context, model string) error {
		if model == "secret" {
			return errors.New("connection refused")
		}
		return nil
	}
	s := serve(t, o)
	var r Reach
	if s.get("/models/home/reach", "k-client", &r); !r.OK {
		t.Errorf("%+v", r)
	}
	r = Reach{}
	if s.get("/models/secret/reach", "k-admin", &r); r.OK || r.Message != "connection refused" || r.Fix == "" {
		t.Errorf("%+v", r)
	}
	s.refused(http.MethodGet, "/models/secret/reach", "k-client", "", 404)
	s.refused(http.MethodGet, "/models/none/reach", "k-admin", "", 404)
	s.refused(http.MethodGet, "/models/home/reach", "k-approver", "", 403)
	o.Probe = nil
	if s = serve(t, o); true {
		s.get("/models/home/reach", "k-client", &r)
	}
}
