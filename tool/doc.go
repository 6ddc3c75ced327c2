// Package tool runs tools: definitions with something behind them, the registry that they stand in, the runner that
// takes a model's call through every check to one result. [NewRunner] makes a runner of its [Settings].
//
// Words:
//
//   - A tool is a definition (chat.Tool) and a handler that runs calls of it. Func makes one of a Go function.
//   - Facts say, as data, which arguments of a tool are commands, paths and addresses, so that nothing has to guess.
//   - A registry holds tools by name. Its session is a view in which some of them are switched otherwise.
//   - A state says whether a tool is offered: enabled, disabled, or auto, which is offered when its rule matches.
//   - A plan is the state of a call before anything runs: ready, rejected, needs_approval or cached. It can be stored
//     and run later, by another process too.
//   - A binding is the hash of everything that a person's answer was about: tool, definition, arguments, directory,
//     environment.
//   - An approval is a person's answer to one binding. It is used once.
//   - A record says that a call has begun, or what came of it. Each start has exactly one result.
//   - A style is how a result is written for a model: plain, c or llf.
//   - A spill is a file in the private temporary directory with the whole of an output that was too long.
//
// Whatever a tool does, fails, panics or never comes back, a call ends in one Result, and the model reads why.
package tool
