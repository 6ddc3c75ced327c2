package runs_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wield/chat"
	"wield/internal/runs"
	"wield/internal/runtest"
	"wield/journal"
	"wield/journal/journaltest"
	"wield/journal/record"
	"wield/tool/runner"
)

// A script answers by how many answers the whole conversation has, and only what strict servers would take.
type script []answer

func (s script) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	if err := runtest.Strict(req.Messages); err != nil {
		return chat.Fail(err)
	}
	n := 0
	for i := range req.Messages {
		if req.Messages[i].Role == chat.RoleAssistant {
			n++
		}
	}
	a := answer{text: "done"}
	if n < len(s) {
		a = s[n]
	}
	return a.stream(ctx)
}

// TestKilled kills the process of a hub before and after each append of a run, with a message that is sent while the
// run is busy and a question to a person. The next hub takes the run up and brings it to its end: no call is made
// twice, each has one result, and a message that was accepted enters the conversation once.
func TestKilled(t *testing.T) {
	kinds := map[string]bool{}
	for at, whole := 1, false; !whole; at++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(at, after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := &runtest.Dying{Store: new(journal.Memory), At: at, After: after}
					killHub(t, store)
					whole = !store.Dead()
					kinds[fmt.Sprint(store.Kinds(), after)] = true
				})
			})
		}
	}
	t.Logf("%d kinds of points", len(kinds))
}

func killHub(t *testing.T, store *runtest.Dying) {
	s := newShop(t)
	m := longStory
	h := newHub(t, store, m, s)
	if err := h.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, err := h.Start(t.Context(), runs.Start{Agent: "worker", Request: ask("go"), By: "someone"})
	accepted := false
	if err == nil {
		// else the process is dead, or the run over
		accepted = h.Send(t.Context(), l.ID, chat.Message{Role: chat.RoleUser, Parts: chat.Text("and be quick")}) == nil
	} else if !errors.Is(err, runtest.ErrDead) {
		t.Fatal(err)
	}
	finish(t, h, store)
	if store.Dead() {
		drainNow(h)
		next := newHub(t, store.Store, m, s)
		if err := next.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		finish(t, next, store.Store)
	}
	checkRuns(t, store.Store, s, accepted)
}

// finish answers the questions of a hub's runs, until all of them are over or the process is dead.
func finish(t *testing.T, h *runs.Hub, store journal.Store) {
	t.Helper()
	for range 6 {
		time.Sleep(journal.MaxLease) // what was driven is not any more
		synctest.Wait()
		open := 0
		for head, err := range store.Heads(t.Context(), journal.HeadQuery{Opened: record.KindRun}) {
			if err != nil {
				t.Fatal(err)
			}
			if head.State != record.StateEnded {
				open++
			}
		}
		if d, ok := store.(*runtest.Dying); open == 0 || ok && d.Dead() {
			return
		}
		for p, err := range (&journal.Approvals{Store: store}).Waiting(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.Decide(t.Context(), p.ID,
				runner.Answer{State: runner.ApprovalApproved, By: "me"}); err != nil && !errors.Is(err, runtest.ErrDead) &&
				!errors.Is(err, journal.ErrLost) {
				t.Fatal(err)
			}
		}
	}
	t.Error("the run does not come to its end")
}

// checkRuns holds runs to what they promise. accepted says that a message to them was.
func checkRuns(t *testing.T, store journal.Store, s *shop, accepted bool) {
	t.Helper()
	journaltest.Whole(t, store)
	for head, err := range store.Heads(t.Context(), journal.HeadQuery{Opened: record.KindRun}) {
		if err != nil {
			t.Fatal(err)
		}
		entries := journaltest.List(t, store.Read(t.Context(), journal.Query{Stream: head.Stream}))
		messages, err := runtest.Transcript(entries)
		if err == nil {
			err = runtest.Strict(messages)
		}
		if err != nil {
			t.Error(err)
			continue
		}
		list, err := journal.Calls(func(yield func(journal.Entry, error) bool) {
			for i := range entries {
				if !yield(entries[i], nil) {
					return
				}
			}
		})
		if err != nil || len(list) != 5 {
			t.Errorf("%d calls, %v", len(list), err)
		}
		for _, c := range list {
			if c.Start == nil { // its start could not be recorded
				if c.Result == nil || c.Result.Result.OK {
					t.Errorf("%s has a result %+v, and was not begun", c.Tool, c.Result)
				}
				continue
			}
			if n := s.count(c.Tool + string(c.Start.Arguments)); n > 1 || c.Result.Result.OK && n != 1 {
				t.Errorf("%s %s was done %d times", c.Tool, c.Start.Arguments, n)
			}
		}
		heard := 0
		for i := range messages {
			if messages[i].Text() == "and be quick" {
				heard++
			}
		}
		if heard > 1 || accepted && heard == 0 {
			t.Errorf("the message was accepted (%t) and stands in the conversation %d times", accepted, heard)
		}
		if last := messages[len(messages)-1]; last.Text() != "done" ||
			!slices.ContainsFunc(entries, func(e journal.Entry) bool { return e.Record.Kind == record.KindEnd }) {
			t.Errorf("the last message is %q", last.Text())
		}
	}
}

// TestKilledAfterAnswer kills the process at each append of a run that began with a request, and went on by itself
// when a person had answered. From the answer on the next hub brings it to its end, without the client.
func TestKilledAfterAnswer(t *testing.T) {
	for at, whole := 1, false; !whole; at++ {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &runtest.Dying{Store: new(journal.Memory), At: at}
				s := newShop(t)
				m := script{{text: "May I?", calls: []chat.Call{call("asks", `{"n":1}`)}},
					{calls: []chat.Call{call("look", `{"n":2}`)}}}
				h := newHub(t, store, m, s)
				request(t.Context(), h.Model("worker"), ask("go"))
				decided := false
				for p, err := range (&journal.Approvals{Store: store}).Waiting(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					_, err = h.Decide(t.Context(), p.ID, runner.Answer{State: runner.ApprovalApproved, By: "me"})
					decided = err == nil
				}
				synctest.Wait()
				if whole = !store.Dead(); store.Dead() && decided {
					drainNow(h)
					h = newHub(t, store.Store, m, s)
					if err := h.Recover(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if decided {
					finish(t, h, store.Store)
				}
			})
		})
	}
}

// TestReportKilled kills the process at each append of a run that goes on after an answer, and has the client go on
// with the conversation in the next one: it gets all that the run says, each text once.
func TestReportKilled(t *testing.T) {
	for at, whole := 1, false; !whole; at++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(at, after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					memory, s := new(journal.Memory), newShop(t)
					m := script{{text: "May I?", calls: []chat.Call{call("asks", `{"n":1}`)}},
						{text: "I save.", calls: []chat.Call{call("save", `{"n":2}`)}}, {text: "All done."}}
					k := &talk{model: newHub(t, memory, m, s).Model("worker"), caller: "me"}
					k.say(t, "go")
					store := &runtest.Dying{Store: memory, At: at, After: after}
					for p, err := range (&journal.Approvals{Store: memory}).Waiting(t.Context()) {
						if err != nil {
							t.Fatal(err)
						}
						if _, err := (&journal.Approvals{Store: memory}).Decide(t.Context(), p.ID,
							runner.Answer{State: runner.ApprovalApproved, By: "me"}); err != nil {
							t.Fatal(err)
						}
						dying := newHub(t, store, m, s)
						if l, err := dying.Resume(t.Context(), p.Run); err == nil {
							<-l.Done()
						}
						drainNow(dying)
					}
					whole = !store.Dead()
					time.Sleep(journal.MaxLease)
					k.model = newHub(t, memory, m, s).Model("worker")
					r := k.say(t, "and now?")
					if strings.Contains(r.text, "needs an approval") {
						return // the answer was used up, and the call did not begin
					}
					if want := "The approval of asks is approved by me.\n\nI save.\n\nAll done.\n\n"; !strings.HasPrefix(r.text, want) {
						t.Errorf("the next answer: %q", r.text)
					}
				})
			})
		}
	}
}
