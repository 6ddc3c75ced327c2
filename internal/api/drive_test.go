package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"wield/agent"
	"wield/chat"
	"wield/internal/runs"
	"wield/journal"
	"wield/journal/record"
	"wield/tool/policy"
	"wield/tool/runner"
)

// A parrot is a model that answers what the user said last, word by word. To "note X" it calls write_note, and to
// "wait" it answers when it is let go.
type parrot struct {
	mu    sync.Mutex
	asked []*chat.Request
	free  chan struct{}
}

func (p *parrot) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	p.mu.Lock()
	p.asked = append(p.asked, req)
	n := len(p.asked)
	p.mu.Unlock()
	return func(yield func(chat.Event, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		text := last.Text()
		finish := chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}}
		if path, ok := strings.CutPrefix(text, "note "); ok && last.Role == chat.RoleUser {
			args, _ := json.Marshal(map[string]string{"path": path})
			c := chat.Call{ID: fmt.Sprint("call_", n), Name: "write_note", Arguments: string(args), Complete: true}
			_ = yield(chat.Event{Kind: chat.KindCallStart, ID: c.ID, Name: c.Name}, nil) &&
				yield(chat.Event{Kind: chat.KindCallArgs, Text: c.Arguments}, nil) &&
				yield(chat.Event{Kind: chat.KindCallEnd, ID: c.ID, Name: c.Name, Detail: &c}, nil) && yield(finish, nil)
			return
		}
		words := strings.SplitAfter("You said: "+text, " ")
		for i, w := range words {
			if text == "wait" && i == 2 {
				select {
				case <-p.free:
				case <-ctx.Done():
					yield(chat.Event{}, chat.AsError(ctx.Err()))
					return
				}
			}
			if !yield(chat.Event{Kind: chat.KindText, Text: w}, nil) {
				return
			}
		}
		yield(finish, nil)
	}
}

// driven is a service whose runs are carried on, by an agent called home whose tool asks before it writes.
func driven(t *testing.T) (*service, *parrot, *runs.Hub) {
	t.Helper()
	store := &journal.Memory{}
	o := options(store)
	var reg runner.Registry
	for _, e := range o.Tools() {
		if err := reg.Add(e.Tool); err != nil {
			t.Fatal(err)
		}
	}
	ask, err := policy.New(policy.Definition{Default: chat.DecisionAsk})
	if err != nil {
		t.Fatal(err)
	}
	m := &parrot{free: make(chan struct{})}
	hub := runs.New(runs.Options{Journal: store, Agents: []runs.Agent{
		{Name: "home", Model: m, Runner: runner.New(runner.Settings{Tools: &reg, Policy: ask}),
			Options: agent.Options{}},
		{Name: "secret", Model: m, Runner: runner.New(runner.Settings{Tools: &reg, Policy: ask})},
	}})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := hub.Drain(ctx); err != nil {
			t.Error(err)
		}
	})
	o.Hub = hub
	return serve(t, o), m, hub
}

// start starts a run and returns it.
func (s *service) start(key, body string) Run {
	s.t.Helper()
	status, text := s.do("POST", "/runs", key, body)
	var run Run
	if err := json.Unmarshal(text, &run); err != nil || status != http.StatusCreated {
		s.t.Fatalf("%d %s %v", status, text, err)
	}
	return run
}

// events follows a run until stop says so, or to its end.
func (s *service) events(run, last string, stop func(*Event) bool) (list []Event, ids []string) {
	s.t.Helper()
	for e := range s.follow(s.t.Context(), "/runs/"+run+"/events", "k-client", last) {
		var got Event
		if err := json.Unmarshal([]byte(e.data), &got); err != nil || got.Kind != e.name {
			s.t.Fatalf("%+v: %v", e, err)
		}
		s.fits("an event", mustType(s.t, Event{}), []byte(e.data))
		list, ids = append(list, got), append(ids, e.id)
		if stop != nil && stop(&got) {
			break
		}
	}
	return list, ids
}

func textOf(list []Event) string {
	var b strings.Builder
	for _, e := range list {
		if e.Kind == "text" {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

func isKind(kind string) func(*Event) bool { return func(e *Event) bool { return e.Kind == kind } }

func TestStart(t *testing.T) {
	s, m, _ := driven(t)
	run := s.start("k-client", `{"agent":"home","input":"hello there"}`)
	if run.By != "cleo" || run.Agent != "home" || run.Session == "" {
		t.Errorf("%+v", run)
	}
	list, ids := s.events(run.ID, "", nil)
	if got := textOf(list); got != "You said: hello there" || list[len(list)-1].Finish != "stop" {
		t.Errorf("%q %+v", got, list)
	}
	if status, body := s.do("GET", "/runs/"+run.ID+"/events?after="+ids[len(ids)-1], "k-client",
		""); status != http.StatusNoContent {
		t.Errorf("all was seen: %d %s", status, body)
	}
	again := s.start("k-client", `{"agent":"home","input":"and now","session":"`+run.Session+`"}`)
	if list, _ := s.events(again.ID, "", nil); textOf(list) != "You said: and now" || again.Session != run.Session {
		t.Errorf("%+v %+v", again, list)
	}
	m.mu.Lock()
	var heard []string
	for _, msg := range m.asked[1].Messages {
		heard = append(heard, string(msg.Role)+": "+msg.Text())
	}
	m.mu.Unlock()
	if got, want := strings.Join(heard, "; "),
		"user: hello there; assistant: You said: hello there; user: and now"; got != want {
		t.Errorf("the model heard %q, want %q", got, want)
	}
	var page Transcript
	s.get("/sessions/"+run.Session+"/transcript", "k-client", &page)
	heard = nil
	for _, st := range page.Items {
		heard = append(heard, string(st.Role)+": "+st.Text)
	}
	if got, want := strings.Join(heard, "; "),
		"user: hello there; assistant: You said: hello there; : ; user: and now; assistant: You said: and now; : "; got != want {
		t.Errorf("the transcript is %q, want %q", got, want)
	}
	for _, tt := range []struct {
		body, field string
		status      int
	}{
		{`{"agent":"hoem","input":"x"}`, "/agent", 400},
		{`{"agent":"secret","input":"x"}`, "/agent", 400},
		{`{"agent":"home","input":" "}`, "/input", 400},
		{`{"agent":"home"}`, "/input", 400},
		{`{"agent":"home","input":"x","session":"ses_none"}`, "/session", 404},
	} {
		if f := s.refused("POST", "/runs", "k-client", tt.body, tt.status); f.Error.Field != tt.field ||
			strings.Contains(f.Error.Fix, "secret") {
			t.Errorf("%s: %+v", tt.body, f.Error)
		}
	}
	if f := s.refused("POST", "/runs", "k-other", `{"agent":"home","input":"x","session":"`+run.Session+`"}`,
		404); f.Error.Field != "/session" {
		t.Errorf("%+v", f)
	}
}

// TestApproveRun takes a run through a question: edited, with the change told to the model.
func TestApproveRun(t *testing.T) {
	s, _, _ := driven(t)
	run := s.start("k-client", `{"agent":"home","input":"note a.txt"}`)
	before, ids := s.events(run.ID, "", isKind("approval"))
	asked := before[len(before)-1].Approval
	if asked == nil || asked.State != runner.ApprovalPending {
		t.Fatalf("%+v", before)
	}
	s.until(run.ID, record.StateWaiting)
	if f := s.refused("POST", "/runs/"+run.ID+"/messages", "k-client", `{"text":"x"}`,
		409); f.Error.Kind != KindConflict {
		t.Errorf("%+v", f)
	}
	if f := s.refused("POST", "/runs", "k-client", `{"agent":"home","input":"x","session":"`+run.Session+`"}`,
		409); f.Error.Kind != KindConflict {
		t.Errorf("%+v", f)
	}
	if status, body := s.do("POST", "/approvals/"+asked.ID, "k-approver",
		`{"decision":"edit","arguments":{"path":"b.txt"}}`); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	rest, _ := s.events(run.ID, ids[len(ids)-1], nil)
	done := false
	for _, e := range rest {
		done = done || e.Kind == "result" && !e.Result.IsError && strings.Contains(e.Result.Text, "b.txt")
	}
	if !done || rest[len(rest)-1].Kind != "finish" {
		t.Errorf("%+v", rest)
	}
}

// until waits for a state of a run.
func (s *service) until(run string, state record.State) Run {
	s.t.Helper()
	for {
		var r Run
		s.get("/runs/"+run, "k-client", &r)
		if r.State == state {
			return r
		}
		if s.t.Context().Err() != nil {
			s.t.Fatal("the test ended")
		}
		time.Sleep(time.Millisecond)
	}
}

// TestReconnect breaks off a live run at every event and puts together what was said.
func TestReconnect(t *testing.T) {
	s, m, _ := driven(t)
	run := s.start("k-client", `{"agent":"home","input":"wait"}`)
	var all []Event
	last := ""
	for {
		list, ids := s.events(run.ID, last, func(*Event) bool { return true })
		if len(list) == 0 {
			break
		}
		all, last = append(all, list...), ids[0]
		if textOf(all) == "You said: " {
			if status, body := s.do("POST", "/runs/"+run.ID+"/messages", "k-client",
				`{"text":"and more"}`); status != http.StatusAccepted {
				t.Fatalf("%d %s", status, body)
			}
			close(m.free)
		}
		if list[0].Kind == "finish" {
			break
		}
	}
	if got := textOf(all); got != "You said: waitYou said: and more" {
		t.Errorf("%q", got)
	}
	turns := 0
	for _, e := range all {
		if e.Kind == "turn_start" {
			turns++
		}
	}
	if turns != 2 {
		t.Errorf("%d turns began in %+v", turns, all)
	}
}

func TestCancel(t *testing.T) {
	s, _, _ := driven(t)
	run := s.start("k-client", `{"agent":"home","input":"wait"}`)
	s.events(run.ID, "", isKind("text"))
	status, body := s.do("POST", "/runs/"+run.ID+"/cancel", "k-client", "")
	var got Run
	if err := json.Unmarshal(body, &got); err != nil || status != 200 || got.Ended == nil ||
		got.Ended.Reason != "canceled" {
		t.Errorf("%d %s", status, body)
	}
	for _, path := range []string{"/cancel", "/resume", "/messages"} {
		text := ""
		if path == "/messages" {
			text = `{"text":"x"}`
		}
		if f := s.refused("POST", "/runs/"+run.ID+path, "k-client", text, 409); f.Error.Kind != KindEnded {
			t.Errorf("%s: %+v", path, f)
		}
		s.refused("POST", "/runs/"+run.ID+path, "k-other", text, 404)
	}
	s.refused("POST", "/runs/"+run.ID+"/messages", "k-client", `{"text":""}`, 400)
	s.refused("GET", "/runs/"+run.ID+"/events", "k-other", "", 404)
	if f := s.refused("GET", "/runs/"+run.ID+"/events?after=x", "k-client", "", 400); f.Error.Field != "after" {
		t.Errorf("%+v", f)
	}
	waiting := s.start("k-client", `{"agent":"home","input":"note c"}`)
	s.events(waiting.ID, "", isKind("approval"))
	s.until(waiting.ID, record.StateWaiting)
	if status, body := s.do("POST", "/runs/"+waiting.ID+"/cancel", "k-client", ""); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	var list Approvals
	if s.get("/approvals", "k-admin", &list); len(list.Items) != 0 {
		t.Errorf("%+v", list)
	}
}

func TestResume(t *testing.T) {
	s, _, _ := driven(t)
	run := s.start("k-client", `{"agent":"home","input":"note d"}`)
	s.events(run.ID, "", isKind("approval"))
	s.until(run.ID, record.StateWaiting)
	if status, body := s.do("POST", "/runs/"+run.ID+"/resume", "k-client", ""); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	lease, err := s.store.Claim(t.Context(), s.held(), "somebody", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if f := s.refused("POST", "/runs/"+lease.Stream+"/resume", "k-admin", "", 409); f.Error.Kind != KindConflict {
		t.Errorf("%+v", f)
	}
	if f := s.refused("POST", "/runs/"+lease.Stream+"/messages", "k-admin", `{"text":"x"}`,
		409); f.Error.Kind != KindConflict {
		t.Errorf("%+v", f)
	}
	if err := s.store.Release(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
}

// held puts a run into the journal that another process drives.
func (s *service) held() string {
	s.t.Helper()
	s.add("run_held", 0, runBy("cleo", "ses_held"), said(chat.RoleUser, "hello"))
	return "run_held"
}

// TestDocumentOfRuns is TestDocument for the routes that need runs.
func TestDocumentOfRuns(t *testing.T) {
	s, _, hub := driven(t)
	bodies := map[string]string{"startRun": `{"agent":"home","input":"hello"}`, "tellRun": `{"text":"x"}`,
		"reviewApproval": `{}`}
	run := s.start("k-client", bodies["startRun"])
	_, ids := s.events(run.ID, "", nil)
	asks := s.start("k-client", `{"agent":"home","input":"note a.txt"}`)
	before, _ := s.events(asks.ID, "", isKind("approval"))
	approval := before[len(before)-1].Approval.ID
	path := func(r *route) string {
		return strings.NewReplacer("{run}", run.ID, "{approval}", approval, "{turn}", "0").Replace(r.path)
	}
	var driven []*route
	for i := range s.api.routes {
		if r := &s.api.routes[i]; r.driven && !ofSettings(r) {
			s.common(r, path(r), bodies[r.name])
			driven = append(driven, r)
		}
	}
	s.do("GET", "/runs/"+run.ID+"/events?after="+ids[len(ids)-1], "k-client", "")
	s.do("GET", "/runs/"+run.ID+"/turns/0/request", "k-client", "")
	s.refused("GET", "/runs/"+run.ID+"/events?after=x", "k-client", "", 400)
	s.refused("POST", "/runs", "k-client", `{"agent":"home","input":"x","session":"ses_none"}`, 404)
	open := s.start("k-client", `{"agent":"home","input":"wait"}`)
	s.events(open.ID, "", isKind("text"))
	s.refused("POST", "/runs", "k-client", `{"agent":"home","input":"x","session":"`+open.Session+`"}`, 409)
	for _, tt := range []struct {
		path, body string
		status     int
	}{{"/messages", bodies["tellRun"], 202}, {"/resume", "", 200}, {"/cancel", "", 200},
		{"/messages", bodies["tellRun"], 409}, {"/resume", "", 409}, {"/cancel", "", 409}} {
		if status, body := s.do("POST", "/runs/"+open.ID+tt.path, "k-client", tt.body); status != tt.status {
			t.Errorf("%s: %d %s, want %d", tt.path, status, body, tt.status)
		}
	}
	review := "/approvals/" + approval + "/review"
	s.do("POST", review, "k-admin", bodies["reviewApproval"])
	hub.Replace(nil)
	s.refused("POST", review, "k-admin", bodies["reviewApproval"], 409)
	for _, o := range []struct {
		status int
		store  journal.Store
	}{{503, nil}, {500, broken{err: errors.New("the disk says boom")}}} {
		none := options(o.store)
		none.Hub = runs.New(runs.Options{Journal: o.store, Agents: []runs.Agent{{Name: "home"}}})
		down := serve(t, none)
		down.seen = s.seen
		for _, r := range driven {
			body := bodies[r.name]
			if r.name == "startRun" {
				body = `{"agent":"home","input":"x","session":"ses_x"}`
			}
			down.refused(r.method, path(r), "k-admin", body, o.status)
		}
		if err := none.Hub.Drain(t.Context()); err != nil {
			t.Error(err)
		}
	}
	s.complete(driven)
}

// TestNoHub shows that what needs runs says so where there are none.
func TestNoHub(t *testing.T) {
	s := newService(t)
	for i := range s.api.routes {
		if r := &s.api.routes[i]; r.driven {
			if f := s.refused(r.method, r.path, "k-admin", "", 503); f.Error.Fix == "" {
				t.Errorf("%+v", f)
			}
		}
	}
	if !bytes.Contains(s.api.document, []byte(`"startRun"`)) {
		t.Error("the document does not tell of it")
	}
}
