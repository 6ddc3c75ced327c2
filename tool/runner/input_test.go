package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"wield/chat"
	"wield/tool"
	"wield/tool/runner"
)

// color is a tool that wants to know a color, and says what it was told.
func color() *tool.Tool {
	return tool.Raw("paint", "Paints.", json.RawMessage(`{"type":"object"}`),
		func(_ context.Context, c *tool.Call) (tool.Result, error) {
			switch {
			case c.Reply == nil && !c.Asks:
				return tool.Result{}, errors.New("nobody is there")
			case c.Reply == nil:
				return tool.Result{},
					&tool.InputError{Form: tool.Form{Why: "which color?", State: json.RawMessage(`{"step":1}`),
						Schema: json.RawMessage(
							`{"type":"object","properties":{"color":{"enum":["red","blue"]}},"required":["color"]}`)}}
			case !c.Reply.Accepted:
				return tool.Text("not painted"), nil
			}
			return tool.Text("painted " + string(c.Reply.Content) + " after " + string(c.Reply.State)), nil
		})
}

// TestInput checks that a call waits for the answer to its form and continues with it in another runner, that an answer
// must fit, and that it may be refused.
func TestInput(t *testing.T) {
	tests := []struct {
		name    string
		answers []runner.Answer
		want    string
	}{
		{"an answer", []runner.Answer{{State: runner.ApprovalEdited, Arguments: json.RawMessage(`{"color":"red"}`)}},
			`painted {"color":"red"} after {"step":1}`},
		{"one that does not fit",
			[]runner.Answer{{State: runner.ApprovalEdited, Arguments: json.RawMessage(`{"color":"green"}`)},
				{State: runner.ApprovalEdited, Arguments: json.RawMessage(`{"color":"blue"}`)}},
			`painted {"color":"blue"} after {"step":1}`},
		{"the draft, which does not fit", []runner.Answer{{State: runner.ApprovalApproved},
			{State: runner.ApprovalEdited, Arguments: json.RawMessage(`{"color":"blue"}`)}},
			`painted {"color":"blue"} after {"step":1}`},
		{"no", []runner.Answer{{State: runner.ApprovalDenied}}, "not painted"},
		{"cancelled", []runner.Answer{{State: runner.ApprovalCancelled}},
			"Error: The approval was cancelled, the call was not run"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var reg runner.Registry
			if err := reg.Add(color()); err != nil {
				t.Fatal(err)
			}
			approvals, records := &runner.MemoryApprovals{}, &runner.MemoryRecords{}
			call := chat.Call{ID: "call_1", Name: "paint", Arguments: "{}", Complete: true}
			newRunner := func() *runner.Runner {
				return runner.New(runner.Settings{Tools: &reg, Approvals: approvals, Records: records})
			}
			first, got := "", ""
			for e, err := range newRunner().RunAll(t.Context(), []chat.Call{call}) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Kind == chat.KindApproval {
					first = e.Detail.(*runner.ApprovalDetail).ID
				}
			}
			if first == "" || len(records.Started()) != 1 || len(records.Finished()) != 0 {
				t.Fatalf("question %q, records %v %v", first, records.Started(), records.Finished())
			}
			for i, id := 0, first; got == ""; i++ {
				a, err := approvals.Get(t.Context(), id)
				if err != nil || a.Form == nil || !strings.HasPrefix(a.Why, "which color?") {
					t.Fatalf("the question is %+v, %v", a, err)
				}
				if _, err := approvals.Decide(t.Context(), id, test.answers[i]); err != nil {
					t.Fatal(err)
				}
				plan := runner.Plan{Outcome: runner.OutcomeNeedsInput, Call: call, Definition: a.Definition, Approval: id}
				for e, err := range newRunner().Run(t.Context(), plan) {
					switch {
					case errors.Is(err, runner.ErrPending):
					case err != nil:
						t.Fatal(err)
					case e.Kind == chat.KindApproval:
						id = e.Detail.(*runner.ApprovalDetail).ID
					case e.Kind == chat.KindResult:
						got = e.Detail.(*chat.Result).Parts[0].Text
					}
				}
			}
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
			if s, f := records.Started(), records.Finished(); len(s) != 1 || len(f) != 1 || !f[0].Started {
				t.Errorf("started %d, finished %+v", len(s), f)
			}
		})
	}
}

// TestInputElsewhere checks that an answer to the form of one call is none to that of another, and that nobody is
// asked where there is nobody.
func TestInputElsewhere(t *testing.T) {
	var reg runner.Registry
	if err := reg.Add(color()); err != nil {
		t.Fatal(err)
	}
	approvals := &runner.MemoryApprovals{}
	r := runner.New(runner.Settings{Tools: &reg, Approvals: approvals})
	call := chat.Call{ID: "call_1", Name: "paint", Arguments: "{}", Complete: true}
	var a runner.Approval
	for e := range r.RunAll(t.Context(), []chat.Call{call}) {
		if e.Kind == chat.KindApproval {
			a, _ = approvals.Decide(t.Context(), e.Detail.(*runner.ApprovalDetail).ID,
				runner.Answer{State: runner.ApprovalEdited, Arguments: json.RawMessage(`{"color":"red"}`)})
		}
	}
	call.Arguments = `{"more":1}`
	for e := range r.Run(t.Context(), runner.Plan{Outcome: runner.OutcomeNeedsInput, Call: call, Definition: a.Definition,
		Approval: a.ID}) {
		if e.Kind == chat.KindResult && !strings.Contains(e.Detail.(*chat.Result).Parts[0].Text, "another call") {
			t.Errorf("result %v", e.Detail.(*chat.Result))
		}
	}
	result, err := (runner.New(runner.Settings{Tools: &reg})).Call(t.Context(), "paint", "{}")
	if err != nil || result.Error != "nobody is there" {
		t.Errorf("%+v, %v", result, err)
	}
}
