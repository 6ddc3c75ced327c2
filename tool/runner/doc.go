// Package runner runs tools. It is for programs that call them, or that carry out the calls of a model: the registry
// that tools stand in, and the runner that takes a call through every check to one result.
//
//	var tools runner.Registry
//	if err := tools.Add(area); err != nil {
//		return err
//	}
//	r := runner.New(runner.Settings{Tools: &tools})
//	result, err := r.Call(ctx, "circle_area", `{"radius": 2}`)
//
// [Runner.Call] is for a call that needs nobody's approval. [Runner.RunAll] carries out the calls of one turn, and
// tells in events what happens. [Runner.Plan] and [Runner.Run] are its two steps, between which a person may be asked.
// [Settings] say what all of them work by: rules, limits, stores, the workspace.
//
// Words, beside those of package [wield/tool]:
//
//   - A registry holds tools by name. Its session is a view in which some of them are switched otherwise.
//   - A plan is the state of a call before anything runs: ready, rejected, needs_approval, needs_input or
//     cached. It can be stored and run later, by another process too.
//   - A binding is the hash of everything that a person's answer was about: tool, definition, arguments, directory,
//     environment.
//   - An approval is a person's answer to one binding. It is used once.
//   - A record says that a call has begun, or what came of it. Each start has exactly one result.
//
// Whatever a tool does, fails, panics or never comes back, a call ends in one result, and the model reads why.
package runner
