package runs_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wield/agent"
	"wield/chat"
	"wield/internal/runs"
	"wield/journal"
	"wield/journal/journaltest"
	"wield/journal/record"
	"wield/tool/runner"
)

// twoTurns looks at two things and answers.
func twoTurns() *model {
	return &model{answers: []answer{
		{reasoning: "Let me think.", text: "I look first.",
			calls: []chat.Call{call("look", `{"n":1}`), call("save", `{"n":2}`)}},
		{text: "It is two."},
	}}
}

// seen sums up events: what was said, and the others by kind.
func seen(list []runs.Numbered) string {
	var b strings.Builder
	last := chat.Kind(0)
	for _, n := range list {
		e := &n.Event
		switch e.Kind {
		case chat.KindProgress, chat.KindCallStart:
			continue // told while it happens, and in no record
		case chat.KindToolState:
			if n.Record == nil {
				continue
			}
		}
		if e.Kind != last || e.Kind != chat.KindText && e.Kind != chat.KindReasoning {
			fmt.Fprintf(&b, "\n%s %s ", e.Kind, e.Name)
		}
		b.WriteString(e.Text)
		last = e.Kind
	}
	return b.String()
}

func follow(t *testing.T, h *runs.Hub, run, after string) []runs.Numbered {
	t.Helper()
	var list []runs.Numbered
	for n, err := range h.Follow(t.Context(), run, after) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, n)
	}
	return list
}

const whatHappened = `
turn_start  
reasoning  Let me think.
text  I look first.
call_end look 
call_end save 
turn_end  
tool_state look 
result look 
tool_state save 
result save 
turn_start  
text  It is two.
turn_end  
usage  
finish  `

// A run is followed while it goes, and from any place later, and always the same is seen.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, s := twoTurns(), newShop(t)
		m.answers[0].wait, m.answers[1].wait = make(chan bool), make(chan bool)
		h := newHub(t, new(journal.Memory), m, s)
		l := start(t, h, "go")
		got := make(chan []runs.Numbered, 2)
		for range 2 {
			go func() { got <- follow(t, h, l.ID, "") }()
		}
		synctest.Wait()
		close(m.answers[0].wait)
		synctest.Wait()
		close(m.answers[1].wait)
		live := <-got
		if text := seen(live); text != whatHappened {
			t.Errorf("seen while it goes:%s", text)
		}
		if other := <-got; seen(other) != whatHappened {
			t.Errorf("seen by another:%s", seen(other))
		}
		if text := seen(follow(t, h, l.ID, "")); text != whatHappened {
			t.Errorf("seen later:%s", text)
		}
		for i, n := range live {
			rest := append(slices.Clone(live[:i+1]), follow(t, h, l.ID, n.ID)...)
			if text := seen(rest); text != whatHappened {
				t.Errorf("from event %d on, %s:%s", i, n.ID, text)
			}
		}
		if o := l.Outcome(); o.Reason != agent.EndAnswer || o.Text != "It is two." {
			t.Errorf("the outcome is %+v", o)
		}
	})
}

// Who comes in the middle of an answer sees all of it, each byte once.
func TestFollowFromTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{answers: []answer{{text: strings.Repeat("0123456789", 2000), wait: make(chan bool)}}}
		h := newHub(t, new(journal.Memory), m, newShop(t))
		l := start(t, h, "go")
		synctest.Wait()
		var first strings.Builder
		place := ""
		for n, err := range h.Follow(t.Context(), l.ID, "") {
			if err != nil {
				t.Fatal(err)
			}
			first.WriteString(n.Event.Text)
			place = n.ID
			if first.Len() > 5000 {
				break
			}
		}
		rest := make(chan string)
		go func() {
			var b strings.Builder
			for _, n := range follow(t, h, l.ID, place) {
				b.WriteString(n.Event.Text)
			}
			rest <- b.String()
		}()
		synctest.Wait()
		close(m.answers[0].wait)
		if got := first.String() + <-rest; got != m.answers[0].text {
			t.Errorf("%d bytes were seen of %d", len(got), len(m.answers[0].text))
		}
	})
}

func asksOnce() *model {
	return &model{answers: []answer{{text: "May I?", calls: []chat.Call{call("asks", `{"n":1}`)}}, {text: "Thanks."}}}
}

// A question stops the run; an answer, wherever it is given, lets it go on. The second one to answer learns what the
// first one said.
func TestDecide(t *testing.T) {
	for _, where := range []string{"here", "elsewhere", "in the journal"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, s := new(journal.Memory), newShop(t)
				h, other := newHub(t, store, asksOnce(), s), newHub(t, store, asksOnce(), s)
				if err := h.Recover(t.Context()); err != nil {
					t.Fatal(err)
				}
				l := start(t, h, "go")
				o := l.Outcome()
				if o.Reason != agent.EndWaiting || s.count(`asks{"n":1}`) != 0 {
					t.Fatalf("the outcome is %+v", o)
				}
				got := make(chan string)
				go func() { got <- seen(follow(t, h, l.ID, "")) }()
				synctest.Wait()
				if err := h.Send(t.Context(), l.ID,
					chat.Message{Role: chat.RoleUser, Parts: chat.Text("x")}); !errors.Is(err, runs.ErrWaiting) {
					t.Errorf("a message to a run that waits: %v", err)
				}
				decide := h.Decide
				switch where {
				case "elsewhere":
					decide = other.Decide
				case "in the journal":
					decide = (&journal.Approvals{Store: store}).Decide
				}
				yes := runner.Answer{State: runner.ApprovalApproved, By: "me"}
				if _, err := decide(t.Context(), o.Waiting[0].ID, yes); err != nil {
					t.Fatal(err)
				}
				if text := <-got; !strings.Contains(text, "approval asks") ||
					!strings.HasSuffix(text, "text  Thanks.\nturn_end  \nusage  \nfinish  ") {
					t.Errorf("what followed:%s", text)
				}
				if n := s.count(`asks{"n":1}`); n != 1 {
					t.Errorf("the call ran %d times", n)
				}
				a, err := h.Decide(t.Context(), o.Waiting[0].ID, runner.Answer{State: runner.ApprovalDenied, By: "you"})
				if !errors.Is(err, runner.ErrDecided) || a.Answer.By != "me" {
					t.Errorf("a second answer: %+v, %v", a, err)
				}
			})
		})
	}
}

// A question that nobody answers lapses, and the run goes on without the call.
func TestLapses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		s.runner = s.runner.With(func(s *runner.Settings) { s.ApprovalTTL = time.Hour })
		h := newHub(t, new(journal.Memory), asksOnce(), s)
		l := start(t, h, "go")
		begun := time.Now()
		text := seen(follow(t, h, l.ID, ""))
		if took := time.Since(begun); took != time.Hour || !strings.Contains(text, "Thanks.") ||
			s.count(`asks{"n":1}`) != 0 {
			t.Errorf("after %v:%s", took, text)
		}
	})
}

// What an earlier process left goes on in the next one: a run that it was cut off in, one that it was killed in, and
// one whose question was answered meanwhile.
func TestRecover(t *testing.T) {
	for _, how := range []string{"drained", "killed", "answered"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, s := &dying{Store: new(journal.Memory)}, newShop(t)
				m := twoTurns()
				m.answers[1].wait = make(chan bool)
				if how == "answered" {
					m = asksOnce()
				}
				h := newHub(t, store, m, s)
				l := start(t, h, "go")
				synctest.Wait()
				want := "It is two."
				switch how {
				case "drained":
					drainNow(h)
					if _, err := h.Start(t.Context(), runs.Start{Agent: "worker", Request: ask("x")}); !errors.Is(err,
						runs.ErrDraining) {
						t.Errorf("a new run: %v", err)
					}
				case "killed":
					store.die()
					drainNow(h)
				case "answered":
					want = "Thanks."
					drainNow(h)
					approvals := journal.Approvals{Store: store}
					if _, err := approvals.Decide(t.Context(), l.Outcome().Waiting[0].ID,
						runner.Answer{State: runner.ApprovalApproved}); err != nil {
						t.Fatal(err)
					}
				}
				if how != "answered" {
					m.answers[1].wait = nil
				}
				next := newHub(t, store.Store, m, s)
				if err := next.Recover(t.Context()); err != nil {
					t.Fatal(err)
				}
				if text := seen(follow(t, next, l.ID, "")); !strings.Contains(text, "text  "+want+"\nturn_end") {
					t.Errorf("what followed:%s", text)
				}
				for _, call := range []string{`look{"n":1}`, `save{"n":2}`, `asks{"n":1}`} {
					if n := s.count(call); n > 1 {
						t.Errorf("%s ran %d times", call, n)
					}
				}
			})
		})
	}
}

// A dying store belongs to a process that is killed: nothing that it writes from then on is seen.
type dying struct {
	journal.Store
	dead bool
}

var errDead = errors.New("killed")

func (d *dying) die() { d.dead = true }

func (d *dying) Append(ctx context.Context, stream string, after int64, records ...record.Record) (int64, error) {
	if d.dead {
		return 0, errDead
	}
	return d.Store.Append(ctx, stream, after, records...)
}

func (d *dying) Release(ctx context.Context, l journal.Lease) error {
	if d.dead {
		return errDead
	}
	return d.Store.Release(ctx, l)
}

// A run that is ended does not go on, whatever it was at.
func TestCancel(t *testing.T) {
	for _, state := range []string{"answering", "waiting"} {
		t.Run(state, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, s, m := new(journal.Memory), newShop(t), asksOnce()
				if state == "answering" {
					m = twoTurns()
					m.answers[1].wait = make(chan bool)
				}
				h := newHub(t, store, m, s)
				l := start(t, h, "go")
				synctest.Wait()
				if err := h.Cancel(t.Context(), l.ID); err != nil {
					t.Fatal(err)
				}
				if err := h.Cancel(t.Context(), l.ID); !errors.Is(err, runs.ErrEnded) {
					t.Errorf("a second time: %v", err)
				}
				if _, err := h.Resume(t.Context(), l.ID); !errors.Is(err, runs.ErrEnded) {
					t.Errorf("it goes on: %v", err)
				}
				follow(t, h, l.ID, "") // which ends
				approvals := journal.Approvals{Store: store}
				for p := range approvals.Waiting(t.Context()) {
					t.Errorf("a question still stands: %+v", p)
				}
			})
		})
	}
}

// A slow store returns from recording an answer some time after everybody else has heard of it.
type slow struct {
	journal.Store
	by time.Duration
}

func (s slow) Append(ctx context.Context, stream string, after int64, records ...record.Record) (int64, error) {
	at, err := s.Store.Append(ctx, stream, after, records...)
	if err == nil && records[0].Kind == record.KindAnswer {
		time.Sleep(s.by)
	}
	return at, err
}

// A run that an answer wakes while somebody ends it is over then, and goes on before that or not at all.
func TestCancelWoken(t *testing.T) {
	for range 50 {
		store, s := dawdling{new(journal.Memory)}, newShop(t)
		h := newHub(t, store, asksOnce(), s)
		if err := h.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		l := start(t, h, "go")
		id := l.Outcome().Waiting[0].ID
		answered := make(chan error)
		go func() {
			_, err := (&journal.Approvals{Store: store}).Decide(t.Context(), id,
				runner.Answer{State: runner.ApprovalApproved})
			answered <- err
		}()
		if err := h.Cancel(t.Context(), l.ID); err != nil && !errors.Is(err, runs.ErrEnded) {
			t.Error(err)
		}
		if err := <-answered; err != nil && !errors.Is(err, runner.ErrDecided) {
			t.Error(err)
		}
		for head, err := range store.Store.Heads(t.Context(), journal.HeadQuery{Stream: l.ID}) {
			if err != nil || head.State != record.StateEnded {
				t.Errorf("the run is %s, %v", head.State, err)
			}
		}
		drainNow(h)
	}
}

// A dawdling store takes its time to say how things stand.
type dawdling struct{ journal.Store }

func (d dawdling) Heads(ctx context.Context, q journal.HeadQuery) iter.Seq2[journal.Head, error] {
	list := d.Store.Heads(ctx, q)
	return func(yield func(journal.Head, error) bool) {
		list(yield)
		time.Sleep(time.Millisecond)
	}
}

// An answer that ends its run does so whoever hears of it first: the model is not asked again, no call runs, and
// nobody is asked for more.
func TestRefuse(t *testing.T) {
	no := runner.Answer{State: runner.ApprovalDenied, By: "me", Reason: "enough"}
	for _, where := range []string{"here", "heard first", "in the next process"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := []chat.Call{call("asks", `{"n":1}`), call("asks", `{"n":2}`), call("save", `{"n":3}`)}
				if where == "heard first" {
					calls = slices.Delete(calls, 1, 2) // with nothing else to wait for it would go on
				}
				m := &model{answers: []answer{{calls: calls}, {text: "It went on."}}}
				memory, s := new(journal.Memory), newShop(t)
				h := newHub(t, memory, m, s)
				if where == "heard first" {
					h = newHub(t, slow{memory, time.Minute}, m, s)
				}
				if where != "in the next process" {
					if err := h.Recover(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				l := start(t, h, "go")
				o := l.Outcome()
				if len(o.Waiting) == 0 {
					t.Fatalf("the outcome is %+v", o)
				}
				refuse := h.Refuse
				if where == "in the next process" { // this one died with the answer
					refuse = func(ctx context.Context, id string, a runner.Answer) (runner.Approval, error) {
						a.Stop = true
						return (&journal.Approvals{Store: memory}).Decide(ctx, id, a)
					}
				}
				a, err := refuse(t.Context(), o.Waiting[0].ID, no)
				if err != nil || a.State != runner.ApprovalDenied || !a.Answer.Stop {
					t.Fatalf("%+v, %v", a, err)
				}
				if where == "in the next process" {
					drainNow(h)
					h = newHub(t, memory, m, s)
					if err := h.Recover(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				follow(t, h, l.ID, "") // to its end
				for e, err := range memory.Read(t.Context(),
					journal.Query{Stream: l.ID, Kinds: []record.Kind{record.KindEnd}}) {
					if err != nil || e.Record.End.Reason != string(agent.EndCancel) {
						t.Errorf("it ended with %+v, %v", e.Record.End, err)
					}
				}
				if n := len(m.asked()); n != 1 {
					t.Errorf("the model was asked %d times", n)
				}
				if len(s.ran) != 0 {
					t.Errorf("there ran %v", s.ran)
				}
				approvals := journal.Approvals{Store: memory}
				for p := range approvals.Waiting(t.Context()) {
					t.Errorf("a question still stands: %+v", p)
				}
				if _, err := h.Resume(t.Context(), l.ID); !errors.Is(err, runs.ErrEnded) {
					t.Errorf("it goes on: %v", err)
				}
			})
		})
	}
}

// What is sent to a run that is busy is read before the model is asked again.
func TestSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &model{answers: []answer{{text: "One.", wait: make(chan bool)}}}
		h := newHub(t, new(journal.Memory), m, newShop(t))
		l := start(t, h, "go")
		synctest.Wait()
		if err := h.Send(t.Context(), l.ID,
			chat.Message{Role: chat.RoleUser, Parts: chat.Text("and more")}); err != nil {
			t.Fatal(err)
		}
		close(m.answers[0].wait)
		<-l.Done()
		last := m.asked()[len(m.asked())-1].Messages
		if got := last[len(last)-1].Text(); got != "and more" || len(m.asked()) != 2 {
			t.Errorf("%d requests, the last one ends with %q", len(m.asked()), got)
		}
		if err := h.Send(t.Context(), l.ID, chat.Message{}); !errors.Is(err, runs.ErrEnded) {
			t.Errorf("a message to a run that is over: %v", err)
		}
	})
}

// A gated store keeps whoever gives a lease back, or looks for a stream, waiting until the test lets them.
type gated struct {
	journal.Store
	release chan struct{}                 // nil: at once
	heads   atomic.Pointer[chan struct{}] // nil: at once
}

func (s *gated) Release(ctx context.Context, l journal.Lease) error {
	if s.release != nil {
		<-s.release
	}
	return s.Store.Release(ctx, l)
}

func (s *gated) Heads(ctx context.Context, q journal.HeadQuery) iter.Seq2[journal.Head, error] {
	if gate := s.heads.Load(); gate != nil {
		<-*gate
	}
	return s.Store.Heads(ctx, q)
}

// Who is told that a run is over, or waits, may delete its session, though it was not let go of yet. While it goes on
// nobody may.
func TestDeleteAtOnce(t *testing.T) {
	for name, m := range map[string]*model{"ended": {}, "waiting": asksOnce()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				free := make(chan bool)
				if len(m.answers) == 0 {
					m.answers = []answer{{text: "done"}}
				}
				m.answers[0].wait = free
				store := &gated{Store: new(journal.Memory), release: make(chan struct{})}
				h := newHub(t, store, m, newShop(t))
				l := start(t, h, "go")
				synctest.Wait()
				if err := h.Delete(t.Context(), l.Session); !errors.Is(err, journal.ErrHeld) {
					t.Errorf("while it goes on: %v", err)
				}
				close(free)
				for range h.Follow(t.Context(), l.ID, "") { // up to where it is told as what it is
					if head := headOf(t, store.Store, l.ID); head.State != record.StateOpen {
						break
					}
				}
				time.AfterFunc(time.Second, func() { close(store.release) })
				if err := h.Delete(t.Context(), l.Session); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func headOf(t *testing.T, s journal.Store, run string) (head journal.Head) {
	t.Helper()
	for h, err := range s.Heads(t.Context(), journal.HeadQuery{Stream: run}) {
		if err != nil {
			t.Fatal(err)
		}
		head = h
	}
	return head
}

// When a hub is drained nothing of it runs any more, not even what looks whether a question has lapsed.
func TestDrainLapsing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t)
		s.runner = s.runner.With(func(s *runner.Settings) { s.ApprovalTTL = time.Hour })
		store := &gated{Store: new(journal.Memory)}
		h := newHub(t, store, asksOnce(), s)
		<-start(t, h, "go").Done()
		time.Sleep(30 * time.Minute)
		gate := make(chan struct{})
		store.heads.Store(&gate)
		time.Sleep(time.Hour)
		drained := make(chan struct{})
		go func() {
			drainNow(h)
			close(drained)
		}()
		synctest.Wait()
		select {
		case <-drained:
			t.Error("the journal is still looked at")
		default:
		}
		close(gate)
		<-drained
	})
}

// A message may come while an answer is held open for a person, when the run has stopped and nobody but this process
// knows of it: the run goes on after the answer, and the model reads it.
func TestSendHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, s, m := new(journal.Memory), newShop(t), asksOnce()
		h := runs.New(runs.Options{Journal: store,
			Agents: []runs.Agent{{Name: "worker", Model: m, Runner: s.runner, Hold: time.Minute}}})
		defer drainNow(h)
		got := make(chan reply)
		go func() { got <- request(t.Context(), h.Model("worker"), ask("go")) }()
		synctest.Wait()
		for p := range (&journal.Approvals{Store: store}).Waiting(t.Context()) {
			if err := h.Send(t.Context(), p.Run,
				chat.Message{Role: chat.RoleUser, Parts: chat.Text("and more")}); err != nil {
				t.Fatal(err)
			}
			if _, err := h.Decide(t.Context(), p.ID, runner.Answer{State: runner.ApprovalApproved}); err != nil {
				t.Fatal(err)
			}
		}
		if r := <-got; r.err != nil || s.count(`asks{"n":1}`) != 1 {
			t.Errorf("the answer: %+v", r)
		}
		asked := m.asked()
		if last := asked[len(asked)-1].Messages; last[len(last)-1].Text() != "and more" {
			t.Errorf("the model was asked %+v", last)
		}
		journaltest.Whole(t, store)
	})
}

// What does not exist is said not to exist.
func TestUnknown(t *testing.T) {
	h := newHub(t, new(journal.Memory), twoTurns(), newShop(t))
	last := func() (err error) {
		for _, err = range h.Follow(t.Context(), "run_none", "") {
		}
		return err
	}
	_, resume := h.Resume(t.Context(), "run_none")
	_, started := h.Start(t.Context(), runs.Start{Agent: "nobody", Request: ask("x")})
	_, decided := h.Decide(t.Context(), "apr_none", runner.Answer{State: runner.ApprovalApproved})
	for _, tt := range []struct{ got, want error }{
		{last(), runs.ErrUnknownRun},
		{resume, runs.ErrUnknownRun},
		{h.Cancel(t.Context(), "run_none"), runs.ErrUnknownRun},
		{h.Send(t.Context(), "", chat.Message{}), runs.ErrUnknownRun},
		{started, runs.ErrUnknownAgent},
		{decided, runner.ErrNoApproval},
	} {
		if !errors.Is(tt.got, tt.want) {
			t.Errorf("got %v, want %v", tt.got, tt.want)
		}
	}
	l := start(t, h, "go")
	<-l.Done()
	for _, after := range []string{"x", "1-2-3", "-1-0-0-0", "9999-0-0-0"} {
		for _, err := range h.Follow(t.Context(), l.ID, after) {
			if !errors.Is(err, runs.ErrPlace) {
				t.Errorf("the place %q: %v", after, err)
			}
		}
	}
}
