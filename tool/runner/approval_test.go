package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wield/chat"
	"wield/tool"
	"wield/tool/policy"
)

// asks is a policy that asks about every call and denies those of Rome.
type asks struct{ Decider }

func (asks) Hides(string) bool { return false }

func (asks) Decide(c policy.Action) policy.Verdict {
	if strings.Contains(c.Arguments, "Rome") {
		return policy.Verdict{Decision: chat.DecisionDeny, Rule: "no Rome", Why: "not there"}
	}
	return policy.Verdict{Decision: chat.DecisionAsk, Rule: "ask about all", File: "wield.yaml", Line: 7,
		Why: "by default"}
}

func (asks) Always(c policy.Action) string {
	if strings.Contains(c.Arguments, "Oslo") {
		return "allow tool weather"
	}
	return ""
}

// deployer returns a runner that asks about every call of its tool, and the places that it was called with.
func deployer(t *testing.T) (*Runner, *MemoryApprovals, *[]string) {
	var ran []string
	r := runner(t, tool.Func("deploy", "", func(_ context.Context, in city) (string, error) {
		ran = append(ran, in.City)
		return "deployed to " + in.City, nil
	}))
	store := &MemoryApprovals{}
	r = r.With(func(s *Settings) { s.Policy, s.Approvals = asks{}, store })
	return r, store, &ran
}

func planned(t *testing.T, r *Runner, args string) Plan {
	t.Helper()
	p, err := r.Plan(t.Context(), call("deploy", args))
	if err != nil || p.Outcome != OutcomeNeedsApproval {
		t.Fatalf("plan %+v, %v", p, err)
	}
	return p
}

// last runs a plan and returns its result, or why there is none.
func last(t *testing.T, r *Runner, p Plan) (result string, failed error) {
	t.Helper()
	for e, err := range r.Run(t.Context(), p) {
		if failed = err; err == nil && e.Kind == chat.KindResult {
			result = e.Detail.(*chat.Result).Parts[0].Text
		}
	}
	return result, failed
}

func TestApprovals(t *testing.T) {
	for _, test := range []struct {
		name   string
		answer Answer
		result string
		err    error
		ran    string
	}{
		{name: "pending", err: ErrPending},
		{name: "approved", answer: Answer{State: ApprovalApproved}, result: "deployed to Oslo", ran: "Oslo"},
		{name: "denied", answer: Answer{State: ApprovalDenied}, result: "Error: User denied approval"},
		{name: "denied with a reason", answer: Answer{State: ApprovalDenied, Reason: "not on a Friday"},
			result: "Error: User denied approval\ndetails: {\"reason\":\"not on a Friday\"}"},
		{name: "cancelled", answer: Answer{State: ApprovalCancelled},
			result: "Error: The approval was cancelled, the call was not run"},
		{name: "edited", answer: Answer{State: ApprovalEdited, Arguments: json.RawMessage(`{"city":"Bergen"}`)},
			result: "(The user changed the arguments to {\"city\":\"Bergen\"})\ndeployed to Bergen", ran: "Bergen"},
		{name: "parts refused", answer: Answer{State: ApprovalEdited, Arguments: json.RawMessage(`{"city":"Bergen"}`),
			Refused: "part 2 of 2"},
			result: "(The user refused part 2 of 2. The rest of the call was carried out.)\ndeployed to Bergen",
			ran:    "Bergen"},
		{name: "edited to what is denied",
			answer: Answer{State: ApprovalEdited, Arguments: json.RawMessage(`{"city":"Rome"}`)},
			result: "(The user changed the arguments to {\"city\":\"Rome\"})\nError: Security violation: not there\ndetails: {\"rule\":\"no Rome\"}"},
		{name: "edited to what does not fit", answer: Answer{State: ApprovalEdited, Arguments: json.RawMessage(`{}`)},
			result: "(The user changed the arguments to {})\nError: Missing required parameter: city"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, store, ran := deployer(t)
			p := planned(t, r, `{"city":"Oslo"}`)
			if test.answer.State != "" {
				if _, err := store.Decide(t.Context(), p.Approval, test.answer); err != nil {
					t.Fatal(err)
				}
			}
			result, err := last(t, r, p)
			if result != test.result || !errors.Is(err, test.err) || strings.Join(*ran, " ") != test.ran {
				t.Errorf("got %q, %v, ran %v", result, err, *ran)
			}
		})
	}
}

func TestQuestion(t *testing.T) {
	r, store, _ := deployer(t)
	r = r.With(func(s *Settings) { s.Dir = "/work" })
	p := planned(t, r, `{"city": "Oslo"}`)
	a, err := store.Get(t.Context(), p.Approval)
	if err != nil {
		t.Fatal(err)
	}
	if string(a.Arguments) != `{"city": "Oslo"}` || a.Tool != "deploy" || a.Dir != "/work" || a.CallID != "c1" ||
		a.Rule != "wield.yaml:7: ask about all" || a.Why != "by default" || a.Always != "allow tool weather" ||
		a.Definition == "" {
		t.Errorf("question %+v", a.Question)
	}
	if a, _ := store.Get(t.Context(), planned(t, r, `{"city":"Bergen"}`).Approval); a.Always != "" {
		t.Errorf("a rule is offered that would not allow the call: %q", a.Always)
	}
}

// TestApprovalIsUsedOnce_arg098 runs the same plan twice.
func TestApprovalIsUsedOnce_arg098(t *testing.T) {
	r, store, ran := deployer(t)
	p := planned(t, r, `{"city":"Oslo"}`)
	store.Decide(t.Context(), p.Approval, Answer{State: ApprovalApproved})
	last(t, r, p)
	if result, err := last(t, r, p); !errors.Is(err, ErrConsumed) || result != "" || len(*ran) != 1 {
		t.Errorf("the second run gave %q, %v", result, err)
	}
}

// TestApprovalIsBound_arg096_arg097 changes arguments, definition, directory and environment between approval and run.
func TestApprovalIsBound_arg096_arg097(t *testing.T) {
	for name, change := range map[string]func(r *Runner, p *Plan){
		"arguments":   func(_ *Runner, p *Plan) { p.Call.Arguments = `{"city":"Bergen"}` },
		"binding too": func(r *Runner, p *Plan) { p.Call.Arguments = `{"city":"Bergen"}`; p.Binding = r.binding(p) },
		"directory":   func(r *Runner, _ *Plan) { *r = *r.With(func(s *Settings) { s.Dir = "/elsewhere" }) },
		"environment": func(r *Runner, _ *Plan) { *r = *r.With(func(s *Settings) { s.Env = []string{"A=1"} }) },
		"definition": func(r *Runner, _ *Plan) {
			reg := r.Settings().Tools.(*Registry)
			reg.Remove("deploy")
			reg.Add(tool.Func("deploy", "another description", weather))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, store, ran := deployer(t)
			p := planned(t, r, `{"city":"Oslo"}`)
			store.Decide(t.Context(), p.Approval, Answer{State: ApprovalApproved})
			p.by = nil // as if it had been stored
			change(r, &p)
			if result, err := last(t, r, p); !strings.HasPrefix(result, "Error: Security violation: ") || err != nil ||
				len(*ran) != 0 {
				t.Errorf("got %q, %v, ran %v", result, err, *ran)
			}
		})
	}
}

func TestApprovalExpires_arg099(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, store, ran := deployer(t)
		r = r.With(func(s *Settings) { s.ApprovalTTL = time.Minute })
		p := planned(t, r, `{"city":"Oslo"}`)
		store.Decide(t.Context(), p.Approval, Answer{State: ApprovalApproved})
		time.Sleep(time.Minute)
		if result, _ := last(t, r, p); result != "Error: The approval expired, the call was not run" || len(*ran) != 0 {
			t.Errorf("got %q, ran %v", result, *ran)
		}
	})
}

// TestApprovedInArguments_arg100 has a model that says that it was allowed to.
func TestApprovedInArguments_arg100(t *testing.T) {
	r, _, ran := deployer(t)
	if _, result := play(t, r, call("deploy", `{"city":"Oslo","approved":true}`)); !strings.HasPrefix(result,
		"Error: Invalid arguments: /approved") || len(*ran) != 0 {
		t.Errorf("got %q", result)
	}
}

func TestNobodyToAsk_arg105(t *testing.T) {
	r, _, ran := deployer(t)
	r = r.With(func(s *Settings) { s.Approvals = nil })
	if _, result := play(t, r, call("deploy", `{"city":"Oslo"}`)); !strings.HasPrefix(result,
		"Error: User denied approval") || len(*ran) != 0 {
		t.Errorf("got %q", result)
	}
}

// TestIdenticalCallsAreAskedAboutOneByOne has a turn with the same call twice: they share a question, but not its
// answer.
func TestIdenticalCallsAreAskedAboutOneByOne(t *testing.T) {
	r, store, ran := deployer(t)
	turn := turnOf(`deploy {"city":"Oslo"}`, `deploy {"city":"Oslo"}`)
	if got := resultsOf(t, r, turn); got != "c0:pending c1:pending" {
		t.Fatalf("got %s", got)
	}
	first, _ := r.Plan(t.Context(), turn[0])
	second, _ := r.Plan(t.Context(), turn[1])
	if first.Approval != second.Approval {
		t.Fatal("the same call has two questions")
	}
	store.Decide(t.Context(), first.Approval, Answer{State: ApprovalApproved})
	if result, err := last(t, r, first); result != "deployed to Oslo" {
		t.Fatalf("got %q, %v", result, err)
	}
	if result, err := last(t, r, second); !errors.Is(err, ErrPending) || len(*ran) != 1 {
		t.Fatalf("the second call got %q, %v", result, err)
	}
	again, _ := r.Plan(t.Context(), turn[1])
	store.Decide(t.Context(), again.Approval, Answer{State: ApprovalApproved})
	if result, err := last(t, r, second); result != "deployed to Oslo" || len(*ran) != 2 {
		t.Errorf("the second call got %q, %v", result, err)
	}
}

func TestDangerousTool(t *testing.T) {
	ran := 0
	x := tool.Func("x", "", func(context.Context, struct{}) (string, error) { ran++; return "", nil })
	x.Dangerous = true
	r := runner(t, x)
	store := &MemoryApprovals{}
	r = r.With(func(s *Settings) { s.Approvals = store })
	p, err := r.Plan(t.Context(), call("x", "{}"))
	if err != nil || p.Outcome != OutcomeNeedsApproval || ran != 0 {
		t.Errorf("plan %+v, %v", p, err)
	}
}

// TestTwoDeciders_arg101 has many people answer one question at once. One answer stands; a no is not overwritten by a
// yes.
func TestTwoDeciders_arg101(t *testing.T) {
	for range 50 {
		r, store, ran := deployer(t)
		p := planned(t, r, `{"city":"Oslo"}`)
		answers := make(chan Approval, 8)
		for i := range cap(answers) {
			go func() {
				state := ApprovalDenied
				if i%2 == 0 {
					state = ApprovalApproved
				}
				a, err := store.Decide(t.Context(), p.Approval, Answer{State: state, By: fmt.Sprint(i)})
				if err != nil && !errors.Is(err, ErrDecided) {
					t.Error(err)
				}
				answers <- a
			}()
		}
		first := <-answers
		for range cap(answers) - 1 {
			if a := <-answers; a.Answer.By != first.Answer.By || a.State != first.State {
				t.Fatalf("%+v and %+v", a, first)
			}
		}
		_, _ = last(t, r, p) // a denied one is refused
		if got := len(*ran); got != 0 && first.State != ApprovalApproved ||
			got != 1 && first.State == ApprovalApproved {
			t.Errorf("%s, and it ran %d times", first.State, got)
		}
	}
}
