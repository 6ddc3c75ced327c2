// Package approvaltest holds what every store of approvals has to do, as one function to call in a test:
//
//	func TestStore(t *testing.T) {
//		approvaltest.Run(t, func(t *testing.T) runner.Approvals { return mystore.New(t.TempDir()) })
//	}
//
// Words are those of package runner. A store that keeps approvals on disk is tested beside that for what outlives it,
// with Reopen.
package approvaltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"wield/tool/runner"
)

// Run checks a store. Each test gets one that is empty, from open.
func Run(t *testing.T, open func(t *testing.T) runner.Approvals) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s runner.Approvals)
	}{
		{"Ask", ask}, {"AskIsIdempotent", askIsIdempotent}, {"AskAtOnce", askAtOnce}, {"Unknown", unknown},
		{"Transitions", transitions}, {"FirstAnswerStands", firstAnswerStands}, {"DecideAtOnce", decideAtOnce},
		{"ConsumeAtOnce", consumeAtOnce}, {"Binding", binding}, {"Expiry", expiry}, {"Answers", answers},
		{"Always", always},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

// Reopen checks that approvals outlive the store that they were made with. reopen closes the store and opens it
// again, as after the process was killed.
func Reopen(t *testing.T, open func(t *testing.T) runner.Approvals,
	reopen func(t *testing.T, s runner.Approvals) runner.Approvals) {
	for _, answer := range []runner.ApprovalState{"", runner.ApprovalApproved, runner.ApprovalEdited,
		runner.ApprovalDenied, runner.ApprovalCancelled} {
		t.Run("Reopen/"+string(answer), func(t *testing.T) {
			s := open(t)
			a := must(s.Ask(t.Context(), Question("b")))(t)
			if answer != "" {
				a = must(s.Decide(t.Context(), a.ID, answerOf(answer)))(t)
			}
			s = reopen(t, s)
			if got := must(s.Get(t.Context(), a.ID))(t); !same(got, a) {
				t.Errorf("after: %+v\nbefore: %+v", got, a)
			}
			if answer != runner.ApprovalApproved {
				return
			}
			must(s.Consume(t.Context(), a.ID, "b"))(t)
			s = reopen(t, s)
			if _, err := s.Consume(t.Context(), a.ID, "b"); !errors.Is(err, runner.ErrConsumed) {
				t.Errorf("the second use after a restart: %v", err)
			}
		})
	}
}

// Question returns a question about a binding, good for an hour.
func Question(binding string) runner.Question {
	return runner.Question{Binding: binding, CallID: "call_1", Tool: "deploy", Definition: "d1",
		Arguments: json.RawMessage(`{"n":9007199254740993}`), Dir: "/work", Env: []string{"A=1"},
		Rule: "policy.yaml:3: ask", Why: "it deploys", Always: "allow deploy",
		Expires: time.Now().Add(time.Hour).Round(0)}
}

func answerOf(s runner.ApprovalState) runner.Answer {
	a := runner.Answer{State: s, Reason: "because", By: "someone"}
	if s == runner.ApprovalEdited {
		a.Arguments = json.RawMessage(`{"n":1}`)
	}
	return a
}

// must returns a function that ends the test if err is not nil.
func must(a runner.Approval, err error) func(t *testing.T) runner.Approval {
	return func(t *testing.T) runner.Approval {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
}

// same compares two approvals, times as moments.
func same(a, b runner.Approval) bool {
	for _, times := range [][2]*time.Time{{&a.Asked, &b.Asked}, {&a.Decided, &b.Decided}, {&a.Expires, &b.Expires}} {
		if !times[0].Equal(*times[1]) {
			return false
		}
		*times[0], *times[1] = time.Time{}, time.Time{}
	}
	return reflect.DeepEqual(a, b)
}

func ask(t *testing.T, s runner.Approvals) {
	q := Question("b")
	a := must(s.Ask(t.Context(), q))(t)
	if a.ID == "" || a.State != runner.ApprovalPending || a.Asked.IsZero() {
		t.Errorf("approval %+v", a)
	}
	got := must(s.Get(t.Context(), a.ID))(t)
	if !same(got, a) || !same(runner.Approval{Question: got.Question}, runner.Approval{Question: q}) {
		t.Errorf("got %+v\nasked %+v", got, q)
	}
}

func askIsIdempotent(t *testing.T, s runner.Approvals) {
	a := must(s.Ask(t.Context(), Question("b")))(t)
	other := Question("b")
	other.CallID = "call_2"
	if b := must(s.Ask(t.Context(), other))(t); b.ID != a.ID || b.CallID != "call_1" {
		t.Errorf("a second question was made for one binding: %+v", b)
	}
	if b := must(s.Ask(t.Context(), Question("c")))(t); b.ID == a.ID {
		t.Error("two bindings have one question")
	}
	must(s.Decide(t.Context(), a.ID, answerOf(runner.ApprovalApproved)))(t)
	if b := must(s.Ask(t.Context(), Question("b")))(t); b.ID != a.ID || b.State != runner.ApprovalApproved {
		t.Errorf("an answer that was not used is not returned: %+v", b)
	}
	must(s.Consume(t.Context(), a.ID, "b"))(t)
	if b := must(s.Ask(t.Context(), Question("b")))(t); b.ID == a.ID || b.State != runner.ApprovalPending {
		t.Errorf("a used approval is returned for a new call: %+v", b)
	}
}

// atOnce calls f n times at the same time.
func atOnce(n int, f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() { <-start; f(i) })
	}
	close(start)
	wg.Wait()
}

func askAtOnce(t *testing.T, s runner.Approvals) {
	ids := make([]string, 16)
	atOnce(len(ids), func(i int) {
		a, err := s.Ask(context.Background(), Question("b"))
		if err != nil {
			t.Error(err)
		}
		ids[i] = a.ID
	})
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("one binding has the questions %s and %s", ids[0], id)
		}
	}
}

func unknown(t *testing.T, s runner.Approvals) {
	if _, err := s.Get(t.Context(), "none"); !errors.Is(err, runner.ErrNoApproval) {
		t.Errorf("Get: %v", err)
	}
	_, err := s.Decide(t.Context(), "none", answerOf(runner.ApprovalApproved))
	if !errors.Is(err, runner.ErrNoApproval) {
		t.Errorf("Decide: %v", err)
	}
	if _, err := s.Consume(t.Context(), "none", "b"); !errors.Is(err, runner.ErrNoApproval) {
		t.Errorf("Consume: %v", err)
	}
}

// transitions tries every answer, and what can be done after it.
func transitions(t *testing.T, s runner.Approvals) {
	for state, want := range map[runner.ApprovalState]error{
		"":                       runner.ErrPending,
		runner.ApprovalApproved:  nil,
		runner.ApprovalEdited:    nil,
		runner.ApprovalDenied:    runner.ErrRefused,
		runner.ApprovalCancelled: runner.ErrRefused,
	} {
		id := "b" + string(state)
		a := must(s.Ask(t.Context(), Question(id)))(t)
		if state != "" {
			answer := answerOf(state)
			a = must(s.Decide(t.Context(), a.ID, answer))(t)
			if a.State != state || !reflect.DeepEqual(a.Answer, answer) || a.Decided.IsZero() {
				t.Errorf("%s: decided as %+v", state, a)
			}
		}
		used, err := s.Consume(t.Context(), a.ID, id)
		if !errors.Is(err, want) {
			t.Errorf("%s: consumed with %v, want %v", state, err, want)
		}
		if used.ID != a.ID {
			t.Errorf("%s: Consume returned %+v", state, used)
		}
		after := must(s.Get(t.Context(), a.ID))(t)
		switch {
		case want == nil && (after.State != runner.ApprovalConsumed ||
			!reflect.DeepEqual(used.Answer, answerOf(state))):
			t.Errorf("%s: after its use it is %+v", state, after)
		case want != nil && after.State != a.State:
			t.Errorf("%s: a use that failed made it %s", state, after.State)
		}
		if want == nil {
			if _, err := s.Consume(t.Context(), a.ID, id); !errors.Is(err, runner.ErrConsumed) {
				t.Errorf("%s: used twice: %v", state, err)
			}
		}
	}
}

func firstAnswerStands(t *testing.T, s runner.Approvals) {
	states := []runner.ApprovalState{runner.ApprovalApproved, runner.ApprovalEdited, runner.ApprovalDenied,
		runner.ApprovalCancelled}
	for _, first := range states {
		for _, second := range states {
			a := must(s.Ask(t.Context(), Question(string(first+second))))(t)
			must(s.Decide(t.Context(), a.ID, answerOf(first)))(t)
			got, err := s.Decide(t.Context(), a.ID, answerOf(second))
			if !errors.Is(err, runner.ErrDecided) || got.State != first ||
				!reflect.DeepEqual(got.Answer, answerOf(first)) {
				t.Errorf("%s after %s: %+v, %v", second, first, got, err)
			}
		}
	}
}

func decideAtOnce(t *testing.T, s runner.Approvals) {
	for round := range 10 {
		a := must(s.Ask(t.Context(), Question(fmt.Sprint(round))))(t)
		var mu sync.Mutex
		var won []runner.ApprovalState
		atOnce(8, func(i int) {
			state := []runner.ApprovalState{runner.ApprovalApproved, runner.ApprovalDenied}[i%2]
			_, err := s.Decide(context.Background(), a.ID, answerOf(state))
			if err != nil && !errors.Is(err, runner.ErrDecided) {
				t.Error(err)
			}
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				won = append(won, state)
			}
		})
		if got := must(s.Get(t.Context(), a.ID))(t); len(won) != 1 || got.State != won[0] {
			t.Fatalf("%v won, and it is %s", won, got.State)
		}
	}
}

func consumeAtOnce(t *testing.T, s runner.Approvals) {
	a := must(s.Ask(t.Context(), Question("b")))(t)
	must(s.Decide(t.Context(), a.ID, answerOf(runner.ApprovalApproved)))(t)
	var mu sync.Mutex
	used := 0
	atOnce(16, func(int) {
		_, err := s.Consume(context.Background(), a.ID, "b")
		if err != nil && !errors.Is(err, runner.ErrConsumed) {
			t.Error(err)
		}
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			used++
		}
	})
	if used != 1 {
		t.Errorf("used %d times", used)
	}
}

func binding(t *testing.T, s runner.Approvals) {
	a := must(s.Ask(t.Context(), Question("b")))(t)
	must(s.Decide(t.Context(), a.ID, answerOf(runner.ApprovalApproved)))(t)
	if _, err := s.Consume(t.Context(), a.ID, "another"); !errors.Is(err, runner.ErrBinding) {
		t.Errorf("used for another call: %v", err)
	}
	must(s.Consume(t.Context(), a.ID, "b"))(t)
}

// expiry asks questions whose time is over already, or soon.
func expiry(t *testing.T, s runner.Approvals) {
	over := Question("over")
	over.Expires = time.Now().Add(-time.Second)
	a := must(s.Ask(t.Context(), over))(t)
	if got := must(s.Get(t.Context(), a.ID))(t); got.State != runner.ApprovalExpired {
		t.Errorf("its time is over, and it is %s", got.State)
	}
	if got, err := s.Decide(t.Context(), a.ID, answerOf(runner.ApprovalApproved)); !errors.Is(err, runner.ErrDecided) ||
		got.State != runner.ApprovalExpired {
		t.Errorf("answered too late: %s, %v", got.State, err)
	}
	if got, err := s.Consume(t.Context(), a.ID, "over"); !errors.Is(err, runner.ErrRefused) ||
		got.State != runner.ApprovalExpired {
		t.Errorf("used too late: %s, %v", got.State, err)
	}
	over.Expires = time.Now().Add(time.Hour)
	if b := must(s.Ask(t.Context(), over))(t); b.ID == a.ID || b.State != runner.ApprovalPending {
		t.Errorf("asked again after its time: %+v", b)
	}
	soon := Question("soon")
	c := decideInTime(t, s, &soon)
	time.Sleep(time.Until(soon.Expires) + time.Millisecond)
	if _, err := s.Consume(t.Context(), c.ID, "soon"); !errors.Is(err, runner.ErrRefused) {
		t.Errorf("an approval was used after its time: %v", err)
	}
}

// decideInTime asks a question and approves of it while its time goes on, which is short, and longer where the store
// and the machine need more.
func decideInTime(t *testing.T, s runner.Approvals, q *runner.Question) runner.Approval {
	for within := 500 * time.Millisecond; ; within *= 2 {
		q.Expires = time.Now().Add(within)
		a := must(s.Ask(t.Context(), *q))(t)
		got, err := s.Decide(t.Context(), a.ID, answerOf(runner.ApprovalApproved))
		if errors.Is(err, runner.ErrDecided) && time.Now().After(q.Expires) && within < time.Minute {
			continue // on a busy machine its time was over when the answer came, which was refused as it should be
		}
		return must(got, err)(t)
	}
}

func answers(t *testing.T, s runner.Approvals) {
	a := must(s.Ask(t.Context(), Question("b")))(t)
	for name, answer := range map[string]runner.Answer{
		"no state":                 {},
		"pending":                  {State: runner.ApprovalPending},
		"expired":                  {State: runner.ApprovalExpired},
		"consumed":                 {State: runner.ApprovalConsumed},
		"edited without arguments": {State: runner.ApprovalEdited},
		"edited to a list":         {State: runner.ApprovalEdited, Arguments: json.RawMessage(`[1]`)},
		"edited to a name twice":   {State: runner.ApprovalEdited, Arguments: json.RawMessage(`{"a":1,"a":2}`)},
		"approved with arguments":  {State: runner.ApprovalApproved, Arguments: json.RawMessage(`{}`)},
		"denied for good":          {State: runner.ApprovalDenied, Always: true},
		"approved to the end":      {State: runner.ApprovalApproved, Stop: true},
	} {
		if _, err := s.Decide(t.Context(), a.ID, answer); !errors.Is(err, runner.ErrAnswer) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := must(s.Get(t.Context(), a.ID))(t); got.State != runner.ApprovalPending {
		t.Errorf("an answer that is none made it %s", got.State)
	}
}

func always(t *testing.T, s runner.Approvals) {
	a := must(s.Ask(t.Context(), Question("b")))(t)
	answer := answerOf(runner.ApprovalApproved)
	answer.Always = true
	if got := must(s.Decide(t.Context(), a.ID, answer))(t); !got.Answer.Always {
		t.Error("the answer is not kept")
	}
	q := Question("c")
	q.Always = ""
	c := must(s.Ask(t.Context(), q))(t)
	if got, err := s.Decide(t.Context(), c.ID, answer); !errors.Is(err, runner.ErrAlways) ||
		got.State != runner.ApprovalPending {
		t.Errorf("a rule was kept that nobody offered: %+v, %v", got, err)
	}
}
