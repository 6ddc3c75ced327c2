package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"wield/chat"
	"wield/journal"
	"wield/journal/record"
	"wield/tool"
	"wield/tool/runner"
)

func TestRuns(t *testing.T) {
	s := newService(t)
	id, _ := s.filled()
	var run Run
	s.get("/runs/run_a", "k-client", &run)
	if run.By != "cleo" || run.State != record.StateWaiting || run.Waits == nil || run.Waits.Approvals[0] != id ||
		run.Ended != nil {
		t.Errorf("%+v", run)
	}
	s.add("run_a", 5, record.Record{Kind: record.KindResume, Resume: &record.Resume{}}, ended("answer"))
	run = Run{}
	s.get("/runs/run_a", "k-admin", &run)
	if run.State != record.StateEnded || run.Waits != nil || run.Ended == nil || run.Ended.Reason != "answer" ||
		run.Ended.Usage.In != 7 {
		t.Errorf("%+v", run)
	}
	var list Runs
	for _, tt := range []struct{ path, key, want string }{
		{"/runs", "k-admin", "run_a run_b"}, {"/runs", "k-client", "run_a"}, {"/runs", "k-other", "run_b"},
		{"/runs?state=ended", "k-admin", "run_a"}, {"/runs?state=waiting", "k-admin", "run_b"},
		{"/runs?session=ses_run_b", "k-admin", "run_b"}, {"/runs?session=ses_run_b", "k-client", ""},
	} {
		list = Runs{}
		s.get(tt.path, tt.key, &list)
		var ids []string
		for _, r := range list.Items {
			ids = append(ids, r.ID)
		}
		if got := strings.Join(ids, " "); got != tt.want {
			t.Errorf("%s of %s: %q, want %q", tt.path, tt.key, got, tt.want)
		}
	}
	var page Records
	s.get("/runs/run_a/records?limit=3", "k-client", &page)
	if len(page.Items) != 3 || page.Next != "3" || page.Items[0].Kind != record.KindRun {
		t.Errorf("%+v", page)
	}
	first := page.Items[2].Seq
	page = Records{}
	s.get("/runs/run_a/records?after=3", "k-client", &page)
	if len(page.Items) != 4 || page.Next != "" || page.Items[0].Seq != first+1 {
		t.Errorf("%+v", page)
	}
}

// A busy store is written to whenever somebody has looked for a stream and not read it yet.
type busyStore struct {
	journal.Store
	meanwhile func()
}

func (s *busyStore) Heads(ctx context.Context, q journal.HeadQuery) iter.Seq2[journal.Head, error] {
	return func(yield func(journal.Head, error) bool) {
		for h, err := range s.Store.Heads(ctx, q) {
			if do := s.meanwhile; do != nil {
				s.meanwhile = nil
				do()
			}
			if !yield(h, err) {
				return
			}
		}
	}
}

// TestRunMeanwhile: a run that ends, or is deleted, while it is looked at is told as it was or is, and not half of
// each.
func TestRunMeanwhile(t *testing.T) {
	store := &busyStore{Store: &journal.Memory{}}
	s := serve(t, options(store))
	s.filled()
	store.meanwhile = func() {
		s.add("run_a", 5, record.Record{Kind: record.KindResume, Resume: &record.Resume{}}, ended("answer"))
	}
	var run Run
	s.get("/runs/run_a", "k-admin", &run)
	if run.State != record.StateWaiting || run.Waits == nil || run.Ended != nil {
		t.Errorf("%+v", run)
	}
	s.add("run_b", 5, record.Record{Kind: record.KindResume, Resume: &record.Resume{}})
	store.meanwhile = func() { s.add("run_b", 6, ended("answer")) }
	run = Run{}
	s.get("/runs/run_b", "k-admin", &run)
	if run.State != record.StateOpen || run.Ended != nil {
		t.Errorf("%+v", run)
	}
	for path, want := range map[string]int{"/sessions": 1, "/runs": 1, "/inspect": 1} {
		store := &busyStore{Store: &journal.Memory{}}
		s := serve(t, options(store))
		s.filled()
		store.meanwhile = func() {
			if err := store.Delete(t.Context(), "ses_run_a", record.ReasonAsked); err != nil {
				t.Error(err)
			}
		}
		var list struct{ Items []struct{ ID, Kind string } }
		s.get(path, "k-admin", &list)
		n := 0
		for _, i := range list.Items {
			if i.Kind != "exchange" {
				n++
			}
		}
		if n != want {
			t.Errorf("%s while a session is deleted: %+v", path, list)
		}
	}
}

// TestPages walks through a list page by page and meets everything once.
func TestPages(t *testing.T) {
	s := newService(t)
	const n = 25
	for i := range n {
		s.add(fmt.Sprint("run_", i), 0, runBy("cleo", fmt.Sprint("ses_", i)), said(chat.RoleUser, "hello"))
		s.ask(fmt.Sprint("run_", i), `{"path":"a"}`, time.Time{})
	}
	for _, list := range []string{"/runs", "/sessions", "/approvals"} {
		seen := map[string]int{}
		next, pages := "", 0
		for {
			var page struct {
				Items []struct{ ID string }
				Next  string
			}
			path := list + "?limit=7"
			if next != "" {
				path += "&before=" + next
			}
			s.get(path, "k-client", &page)
			for _, it := range page.Items {
				seen[it.ID]++
			}
			if pages++; page.Next == "" || pages > n {
				break
			}
			next = page.Next
		}
		if len(seen) != n || pages != 4 {
			t.Errorf("%s: %d things on %d pages, want %d on 4", list, len(seen), pages, n)
		}
		for id, times := range seen {
			if times != 1 {
				t.Errorf("%s: %s stands on %d pages", list, id, times)
			}
		}
	}
}

func TestSessions(t *testing.T) {
	s := newService(t)
	s.filled()
	for _, tt := range []struct{ q, want string }{
		{"", "ses_run_a"}, {"zebra", "ses_run_a"}, {"of%20cleo", "ses_run_a"}, {"CLEO%20zebra", "ses_run_a"},
		{"giraffe", ""}, {"zebra%20giraffe", ""}, {"otto", ""},
	} {
		var list Sessions
		s.get("/sessions?q="+tt.q, "k-client", &list)
		got := ""
		for _, it := range list.Items {
			got += it.ID
		}
		if got != tt.want {
			t.Errorf("search for %q finds %q, want %q", tt.q, got, tt.want)
		}
	}
	var one Session
	if status, body := s.do(http.MethodPatch, "/sessions/ses_run_a", "k-client",
		`{"title":" Animals "}`); status != http.StatusOK || json.Unmarshal(body, &one) != nil ||
		one.Title != "Animals" {
		t.Errorf("%d %s", status, body)
	}
	for _, title := range []string{"", "  ", strings.Repeat("x", 201)} {
		if f := s.refused(http.MethodPatch, "/sessions/ses_run_a", "k-client", `{"title":"`+title+`"}`,
			400); f.Error.Field != "/title" {
			t.Errorf("%+v", f)
		}
	}
	var page Transcript
	s.get("/sessions/ses_run_a/transcript", "k-client", &page)
	if len(page.Items) != 3 || page.Items[0].Text != "Please note the Zebra" ||
		page.Items[1].Calls[0].Arguments != `{"path":"a"}` || page.Items[2].Reason != "approval" {
		t.Errorf("%+v", page)
	}
	s.add("run_a", 5,
		record.Record{Kind: record.KindResult, Result: &runner.FinishRecord{CallID: "call_1", Tool: "write_note",
			Result: tool.Text("noted")}})
	last := page.Items[2].Position
	page = Transcript{}
	s.get(fmt.Sprint("/sessions/ses_run_a/transcript?after=", last), "k-client", &page)
	if len(page.Items) != 1 || page.Items[0].Text != "noted" || page.Items[0].CallID != "call_1" ||
		page.Items[0].Role != chat.RoleTool {
		t.Errorf("%+v", page)
	}
	status, lines := s.do(http.MethodGet, "/sessions/ses_run_a/export", "k-client", "")
	if status != http.StatusOK || bytes.Count(lines, []byte("\n")) != 8 ||
		!bytes.Contains(lines, []byte(`"question"`)) {
		t.Errorf("%d %s", status, lines)
	}
	if status, body := s.do(http.MethodDelete, "/sessions/ses_run_a", "k-client", ""); status != http.StatusNoContent {
		t.Errorf("%d %s", status, body)
	}
	s.refused(http.MethodGet, "/sessions/ses_run_a", "k-client", "", 404)
	s.refused(http.MethodGet, "/runs/run_a", "k-client", "", 404)
	lease, err := s.store.Claim(t.Context(), "run_b", "somebody", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	s.refused(http.MethodDelete, "/sessions/ses_run_b", "k-other", "", 409)
	if err := s.store.Release(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
}

func TestLists(t *testing.T) {
	s := newService(t)
	var caps Captures
	s.get("/captures?limit=2", "k-admin", &caps)
	if len(caps.Items) != 2 || caps.Items[0].ID != "req_2" || caps.Next == "" {
		t.Errorf("%+v", caps)
	}
	rest := Captures{}
	s.get("/captures?before="+caps.Next, "k-admin", &rest)
	if len(rest.Items) != 1 || rest.Items[0].ID != "req_0" || rest.Next != "" {
		t.Errorf("%+v", rest)
	}
	if status, body := s.do("GET", "/captures/req_1", "k-admin", ""); status != 200 ||
		!bytes.Contains(body, []byte(`"answer":"ok"`)) {
		t.Errorf("%d %s", status, body)
	}
	s.refused("GET", "/captures/req_9", "k-admin", "", 404)
	s.refused("GET", "/captures", "k-client", "", 403)
	var tools Tools
	s.get("/tools", "k-approver", &tools)
	if len(tools.Items) != 1 || tools.Items[0].Name != "write_note" || tools.Items[0].State != "enabled" {
		t.Errorf("%+v", tools)
	}
	var models Models
	s.get("/models", "k-client", &models)
	if len(models.Items) != 1 || models.Items[0].Name != "home" {
		t.Errorf("%+v", models)
	}
}
