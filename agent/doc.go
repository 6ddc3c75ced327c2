// Package agent carries out tasks: it asks a model, runs the tools that the model calls, hands back the results, and
// goes on until there is an answer. An [Agent] stands in front of a model, usually a bridge, and is a model itself:
// its stream holds the events of all turns.
//
// The words of this package:
//
//   - A run goes from a user's message to the answer, through as many turns as it takes. A turn is one answer of the
//     model.
//   - A step is the next thing that a run does: ask the model, run calls, or end. state.Next decides it from the
//     messages so far, and from nothing else but what was used: there is no model, no tool and no clock in it.
//   - A call is open as long as it has no result. A turn's calls all get one, before the model is asked again.
//   - A ruling says of an open call whether it may run, or which result it has without having run.
//   - The last answer is one that the model is asked for when a limit is reached: it is told to call nothing more, and
//     to say what it knows.
//   - The guard watches over calls that are repeated with the same arguments and the same result: the model is told,
//     then the calls are blocked, then the run is stopped.
//   - A run that waits for a person ends with its calls open. It goes on in another stream.
//
// # The transcript
//
// The message with a turn's calls enters the conversation before any of them runs; then come the results, in the
// order of the calls, one for each, whatever happens: a call that is refused, blocked, cancelled or cut off has a
// result that says so. Ids of calls are unique in the conversation. So every server takes what a run leaves behind,
// and a run can go on where it ended.
//
// # What is repeated
//
// A model may be asked again, by what retries requests below the agent. A tool never runs a second time because of
// it: calls run only when the answer that holds them has ended, and an answer that broke off holds none.
package agent
