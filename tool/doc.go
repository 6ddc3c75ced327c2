// Package tool is for programs that write tools, or give them to a model. A tool is a definition that a model reads,
// and a handler that runs calls of it. [Func] makes one of a Go function:
//
//	type circle struct {
//		Radius float64 `json:"radius" jsonschema:"radius in metres"`
//	}
//
//	area := tool.Func("circle_area", "Computes the area of a circle in square metres.",
//		func(_ context.Context, in circle) (float64, error) { return math.Pi * in.Radius * in.Radius, nil })
//
// [Stream] gives the function its [Call] as well, with which it shows progress and starts programs; [Raw] takes a
// schema as it is written. Other fields of a [Tool] say how it is offered, what is limited, and what is kept.
//
// Package [wield/tool/runner] has what runs tools: the registry that they stand in, and the runner that takes a model's
// call through every check to one result.
//
// Words:
//
//   - Facts say, as data, which arguments of a tool are commands, paths and addresses, so that nothing has to guess.
//   - A guard holds rules that one tool has of its own, on top of the policy.
//   - A state says whether a tool is offered: enabled, disabled, or auto, which is offered when its rule matches.
//   - A form asks a person for something that a running call needs.
//   - A style is how a result is written for a model: plain, c or llf.
//   - A spill is a file in the private temporary directory with the whole of an output that was too long.
package tool
