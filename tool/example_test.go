package tool_test

import (
	"context"
	"fmt"

	"wield/tool"
	"wield/tool/runner"
)

type circle struct {
	Radius float64 `json:"radius" jsonschema:"radius in metres"`
}

func area(_ context.Context, in circle) (float64, error) { return 3 * in.Radius * in.Radius, nil }

func Example() {
	var tools runner.Registry
	if err := tools.Add(tool.Func("circle_area", `Computes roughly the area of a circle. Example: {"radius":2}`,
		area)); err != nil {
		panic(err)
	}
	r := runner.New(runner.Settings{Tools: &tools})
	result, err := r.Call(context.Background(), "circle_area", `{"radius": "2"}`)
	fmt.Printf("%s %v\n", result.Append(nil, tool.StylePlain), err)
	// Output: 12 <nil>
}
