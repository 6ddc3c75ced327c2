// Package module changes what people write and what a model answers, on every message and without the model asking.
//
// Words:
//
//	module      one change of texts: on the way to the model (input), on the way back (output), or both
//	exchange    one request with its answer; what modules know of it and tell each other
//	segment     a stretch of an answer's text between other things in it, such as calls: one text for an output
//	buffering   how much of a segment an output waits for: nothing, a line, or all of it
//
// A module is not a tool: a model decides to call a tool, while a module runs whatever the model wants. Calls, their
// arguments and their results pass unchanged.
//
// [New] puts modules around a [chat.Model] and is one itself:
//
//	model = module.New(model, module.Options{Modules: []module.Module{module.Redact(module.RedactOptions{})}})
//
// A module that fails is logged and skipped: the text it did not change goes on as it is, and nothing of it is lost.
// What came from outside is changed in order of Order, and what the model wrote in the opposite order, so that the
// module that stands next to the person is first on the way in and last on the way out.
package module
