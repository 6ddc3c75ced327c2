// Package hosted runs some of a model's tools during an answer, as the server of a protocol runs its own.
//
// A [Host] says which tools it runs. [New] puts it around a model: when the model calls one of them, the host runs the
// call, the model reads the result and continues, and the client gets one answer. Calls of all other tools go to the
// client, and end the answer.
//
//	model := hosted.New(next, host, hosted.Options{})
//
// For each request, [Host.Begin] returns a [Session]: the request that the model is asked first, in which tools that it
// cannot call as they are (a search, a definition that only names a server) are replaced by functions, and a [Runner].
// To show the client what ran, set the details of events: Session.Opening for what comes before the answer, such as a
// list of tools; Runner.Shown for the call; Outcome.Detail for the result. A [chat.Opaque] holds a block or an item of
// a client's protocol, which its front writes as it is; without one, only the inspector shows the call. If the client
// has to do something first, such as to approve the call, Outcome.Ends ends the answer after the event.
//
// What the client sends back later is part of its request: Begin replaces such blocks by the calls and results
// that they stand for. Hosts can be nested, since each is a model around another.
package hosted
