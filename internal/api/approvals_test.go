package api

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"wield/tool/runner"
)

func TestApprovals(t *testing.T) {
	s := newService(t)
	id, others := s.filled()
	var list Approvals
	s.get("/approvals", "k-client", &list)
	if len(list.Items) != 1 || list.Items[0].ID != id {
		t.Errorf("%+v", list)
	}
	a := list.Items[0]
	if string(a.Arguments) != `{"path":"a"}` || a.Rule == "" || a.Facts == nil || len(a.Facts.Parameters) == 0 ||
		a.Facts.Changed || a.State != runner.ApprovalPending || a.Run != "run_a" {
		t.Errorf("%+v", a)
	}
	list = Approvals{}
	s.get("/approvals", "k-approver", &list)
	if len(list.Items) != 2 {
		t.Errorf("%+v", list)
	}
	for _, tt := range []struct{ body, field string }{
		{`{}`, "/decision"},
		{`{"decision":"yes"}`, "/decision"},
		{`{"decision":"allow","who":"me"}`, "/who"},
		{`{"decision":"allow","arguments":{"path":"b"}}`, "/arguments"},
		{`{"decision":"edit"}`, "/arguments"},
		{`{"decision":"edit","arguments":[1]}`, "/arguments"},
		{`{"decision":"edit","arguments":null}`, "/arguments"},
		{`{"decision":"edit","arguments":{"path":3}}`, "/arguments/path"},
		{`{"decision":"edit","arguments":{"path":"b","more":1}}`, "/arguments/more"},
		{`{"decision":"edit","arguments":{}}`, "/arguments/path"},
		{`{"decision":"deny","always":true}`, "/always"},
		{`{"decision":"deny","reason":"` + strings.Repeat("x", 5000) + `"}`, "/reason"},
		{`{"decision":"allow","decision":"deny"}`, ""},
		{`{"decision":`, ""},
	} {
		if f := s.refused("POST", "/approvals/"+id, "k-approver", tt.body, 400); f.Error.Field != tt.field {
			t.Errorf("%.60s: field %q, want %q (%s)", tt.body, f.Error.Field, tt.field, f.Error.Message)
		}
	}
	s.refused("POST", "/approvals/"+id, "k-client", `{"decision":"allow"}`, 403)
	status, body := s.do("POST", "/approvals/"+id, "k-approver",
		`{"decision":"edit","arguments":{"path":"b"},"reason":"rather there"}`)
	var got Approval
	if err := json.Unmarshal(body, &got); err != nil || status != 200 || got.State != runner.ApprovalEdited ||
		string(got.Answer.Arguments) != `{"path":"b"}` || got.Answer.By != "amy" {
		t.Errorf("%d %s %v", status, body, err)
	}
	f := s.refused("POST", "/approvals/"+id, "k-admin", `{"decision":"deny"}`, 409)
	if f.Error.Kind != KindDecided || f.Approval == nil || f.Approval.Answer.By != "amy" ||
		!strings.Contains(f.Error.Message, "amy") {
		t.Errorf("%+v", f)
	}
	if status, body := s.do("POST", "/approvals/"+others, "k-admin",
		`{"decision":"allow","always":true}`); status != 200 || !bytes.Contains(body, []byte(`"always":true`)) {
		t.Errorf("%d %s", status, body)
	}
	list = Approvals{}
	if s.get("/approvals?state=decided", "k-admin", &list); len(list.Items) != 2 {
		t.Errorf("%+v", list)
	}
	list = Approvals{}
	if s.get("/approvals", "k-admin", &list); len(list.Items) != 0 {
		t.Errorf("%+v", list)
	}
	old := s.ask("run_a", `{"path":"late"}`, time.Now().Add(-time.Minute))
	if f := s.refused("POST", "/approvals/"+old, "k-approver", `{"decision":"allow"}`,
		410); f.Error.Kind != KindExpired || f.Approval == nil || f.Approval.State != runner.ApprovalExpired {
		t.Errorf("%+v", f)
	}
	if s.get("/approvals", "k-admin", &list); len(list.Items) != 0 {
		t.Errorf("one that has expired waits: %+v", list)
	}
}

// TestEditOfNothing: an edit whose arguments say what was asked is an approval of it; what is not surely the same is
// an edit.
func TestEditOfNothing(t *testing.T) {
	for _, tt := range []struct {
		name, asked, sent string
		state             runner.ApprovalState
	}{
		{"to the byte", `{"path":"a"}`, `{"path":"a"}`, runner.ApprovalApproved},
		{"blanks", `{"path":"a"}`, `{ "path" : "a" }`, runner.ApprovalApproved},
		{"escapes", `{"path":"a/b"}`, `{"path":"\u0061\/b"}`, runner.ApprovalApproved},
		{"order", `{"path":"a","size":2}`, `{"size":2,"path":"a"}`, runner.ApprovalApproved},
		{"another value", `{"path":"a"}`, `{"path":"A"}`, runner.ApprovalEdited},
		{"more", `{"path":"a"}`, `{"path":"a","size":2}`, runner.ApprovalEdited},
		{"less", `{"path":"a","size":2}`, `{"path":"a"}`, runner.ApprovalEdited},
		{"a number that a float would round", `{"path":"a","size":9007199254740993}`,
			`{"path":"a","size":9007199254740992}`, runner.ApprovalEdited},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newService(t)
			s.filled()
			id := s.ask("run_a", tt.asked, time.Now().Add(time.Hour))
			var got Approval
			status, body := s.do("POST", "/approvals/"+id, "k-approver", `{"decision":"edit","arguments":`+tt.sent+
				`,"reason":"so be it"}`)
			if err := json.Unmarshal(body, &got); err != nil || status != 200 || got.State != tt.state ||
				got.Answer == nil || got.Answer.Reason != "so be it" {
				t.Fatalf("%d %s", status, body)
			}
			if edited := len(got.Answer.Arguments) > 0; edited != (tt.state == runner.ApprovalEdited) {
				t.Errorf("the answer has the arguments %s", got.Answer.Arguments)
			}
		})
	}
	if same(json.RawMessage(`{"path":"a","path":"b"}`), json.RawMessage(`{"path":"b"}`)) {
		t.Error("a name twice says what programs make of it")
	}
}
