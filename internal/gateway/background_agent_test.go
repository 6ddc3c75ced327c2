package gateway

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"wield/chat"
	"wield/internal/runs"
	"wield/internal/runtest"
	"wield/journal"
	"wield/journal/journaltest"
	"wield/tool/runner"
)

// steps answers by how many answers a conversation has.
func steps(answers ...[]chat.Event) fake {
	return func(ctx context.Context, req *chat.Request, emit func(chat.Event) bool) error {
		n := 0
		for i := range req.Messages {
			if req.Messages[i].Role == chat.RoleAssistant {
				n++
			}
		}
		if n >= len(answers) {
			return says(text("done"))(ctx, req, emit)
		}
		return says(answers[n]...)(ctx, req, emit)
	}
}

// TestBackgroundAgent: the response of an agent waits for a person, survives that its process is killed at any record,
// and is whole in the end, with each text once.
func TestBackgroundAgent(t *testing.T) {
	calls := append(append([]chat.Event{text("First.")}, call(0, "c", "asks", `{"n":1}`)...), finish(chat.FinishCalls))
	for at, over := 1, false; !over; at++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(at, after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					whole := &journal.Memory{}
					dying := &runtest.Dying{Store: whole, At: at, After: after}
					g, hub := agentService(t, dying, steps(calls))
					code, body := direct(t.Context(), g, "POST", pathResponses, inBackground)
					synctest.Wait()
					answer := func(hub *runs.Hub, store journal.Store) {
						for p, err := range (&journal.Approvals{Store: store}).Waiting(t.Context()) {
							if err != nil {
								t.Fatal(err)
							}
							if _, err := hub.Decide(t.Context(), p.ID,
								runner.Answer{State: runner.ApprovalApproved}); err != nil &&
								!errors.Is(err, runtest.ErrDead) {
								t.Error(err)
							}
						}
						synctest.Wait()
					}
					if code == 200 {
						if id := readResponse(t, body).ID; !dying.Dead() {
							if r := look(t, g, id); r.Status != "in_progress" {
								t.Errorf("while a person has to decide, it is %s", r.Status)
							}
						}
						answer(hub, dying)
					}
					over = !dying.Dead()
					if code != 200 {
						return // nobody was told of a response
					}
					id := readResponse(t, body).ID
					next := g
					if dying.Dead() {
						time.Sleep(journal.MaxLease)
						stop(g)
						next, hub = agentService(t, whole, steps(calls))
						if err := hub.Recover(t.Context()); err != nil {
							t.Fatal(err)
						}
						next.Recover(t.Context())
						time.Sleep(journal.MaxLease)
						synctest.Wait()
						answer(hub, whole)
						time.Sleep(journal.MaxLease)
						synctest.Wait()
					}
					code, body = direct(t.Context(), next, "GET", pathResponses+"/"+id, "")
					if r := readResponse(t, body); code != 200 || r.Status != "completed" || len(r.Output) != 1 ||
						r.Output[0].Content[0].Text != "First.\n\ndone" {
						t.Errorf("%d %s", code, body)
					}
					journaltest.Whole(t, whole)
				})
			})
		}
	}
}

// TestBackgroundAgentCancel: a cancelled response of an agent ends its run, and the questions that it waits for.
func TestBackgroundAgentCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &journal.Memory{}
		calls := append(append([]chat.Event{text("First.")}, call(0, "c", "asks", `{"n":1}`)...),
			finish(chat.FinishCalls))
		g, _ := agentService(t, store, steps(calls))
		id := begin(t, g, inBackground)
		synctest.Wait()
		code, body := direct(t.Context(), g, "POST", pathResponses+"/"+id+"/cancel", "")
		if r := readResponse(t, body); code != 200 || r.Status != "cancelled" ||
			r.Output[0].Content[0].Text != "First." {
			t.Errorf("%d %s", code, body)
		}
		for p, err := range (&journal.Approvals{Store: store}).Waiting(t.Context()) {
			t.Errorf("%s still waits, %v", p.ID, err)
		}
	})
}

// TestBackgroundAgentClient: calls of the client's tools end the response, and their results go on with it, in the
// background too.
func TestBackgroundAgentClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := append(append([]chat.Event{text("First.")}, call(0, "c", "theirs", `{"n":1}`)...),
			finish(chat.FinishCalls))
		g, _ := agentService(t, &journal.Memory{}, steps(calls))
		const tools = `,"tools":[{"type":"function","name":"theirs"}]`
		id := begin(t, g, `{"model":"m","input":"go","background":true`+tools+`}`)
		synctest.Wait()
		r := look(t, g, id)
		if r.Status != "completed" || len(r.Output) != 2 || r.Output[1].Name != "theirs" {
			t.Fatalf("%+v", r)
		}
		id = begin(t, g, `{"model":"m","background":true,"previous_response_id":"`+id+
			`","input":[{"type":"function_call_output","call_id":"`+r.Output[1].CallID+`","output":"42"}]`+tools+`}`)
		synctest.Wait()
		if r := look(t, g, id); r.Status != "completed" || len(r.Output) != 1 || r.Output[0].Content[0].Text != "done" {
			t.Errorf("%+v", r)
		}
	})
}
