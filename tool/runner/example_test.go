package runner_test

import (
	"context"
	"fmt"

	"wield/chat"
	"wield/tool"
	"wield/tool/runner"
)

type circle struct {
	Radius float64 `json:"radius" jsonschema:"radius in metres"`
}

func area(_ context.Context, in circle) (float64, error) { return 3 * in.Radius * in.Radius, nil }

func Example() {
	var tools runner.Registry
	if err := tools.Add(tool.Func("circle_area", "Computes roughly the area of a circle.", area)); err != nil {
		panic(err)
	}
	r := runner.New(runner.Settings{Tools: &tools})
	for _, arguments := range []string{`{"radius": 2}`, `{"radius": "two"}`} {
		result, err := r.Call(context.Background(), "circle_area", arguments)
		fmt.Printf("%s %v\n", result.Append(nil, tool.StylePlain), err)
	}
	// Output:
	// 12 <nil>
	// Error: Invalid arguments: /radius: want number, got string "two" <nil>
}

// A model writes several calls in one turn. They run at the same time, and the results come in their order.
func ExampleRunner_RunAll() {
	var tools runner.Registry
	tools.Add(tool.Func("circle_area", "Computes roughly the area of a circle.", area))
	r := runner.New(runner.Settings{Tools: &tools})
	calls := []chat.Call{
		{Index: 0, ID: "c0", Name: "circle_area", Arguments: `{"radius":1}`, Complete: true},
		{Index: 1, ID: "c1", Name: "circle_aria", Arguments: `{"radius":2}`, Complete: true},
		{Index: 2, ID: "c2", Name: "circle_area", Arguments: `{}`, Complete: true},
	}
	for e, err := range r.RunAll(context.Background(), calls) {
		if err != nil {
			panic(err)
		}
		if e.Kind == chat.KindResult {
			fmt.Println(e.ID, e.Detail.(*chat.Result).Parts[0].Text)
		}
	}
	// Output:
	// c0 3
	// c1 Error: Tool circle_aria not found
	// c2 Error: Missing required parameter: radius
}

// A call that needs a person's word is planned, answered, and run.
func ExampleRunner_Plan() {
	reset := tool.Func("factory_reset", "Resets the device. All settings are lost.",
		func(context.Context, struct{}) (string, error) { return "reset", nil })
	reset.Dangerous = true
	var tools runner.Registry
	tools.Add(reset)
	approvals := &runner.MemoryApprovals{}
	r := runner.New(runner.Settings{Tools: &tools, Approvals: approvals})

	ctx := context.Background()
	plan, _ := r.Plan(ctx, chat.Call{ID: "c0", Name: "factory_reset", Arguments: "{}", Complete: true})
	fmt.Println(plan.Outcome)
	approvals.Decide(ctx, plan.Approval, runner.Answer{State: runner.ApprovalDenied, Reason: "not before the backup",
		By: "ann"})
	for e, err := range r.Run(ctx, plan) {
		if err != nil {
			panic(err)
		}
		if e.Kind == chat.KindResult {
			fmt.Println(e.Detail.(*chat.Result).Parts[0].Text)
		}
	}
	// Output:
	// needs_approval
	// Error: User denied approval
	// details: {"reason":"not before the backup"}
}

func ExampleSession() {
	forecast := tool.Func("forecast", "Tells how the weather will be.",
		func(context.Context, struct{}) (string, error) { return "sunny", nil })
	forecast.State, forecast.Auto = tool.StateAuto, tool.Rule{Words: []string{"weather", "rain"}}
	var tools runner.Registry
	tools.Add(forecast)
	session := tools.Session()
	fmt.Println(len(session.Offered("Good morning!")), len(session.Offered("Will it rain?")))
	session.Set("forecast", tool.StateDisabled)
	fmt.Println(len(session.Offered("Will it rain?")))
	// Output:
	// 0 1
	// 0
}
