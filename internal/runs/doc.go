// Package runs carries on the runs of one process: it starts them, lets anyone follow them, stops them, and goes on
// with them when a person has answered or the process was started anew.
//
// The words of this package:
//
//   - A [Hub] is what knows all runs of a process. What outlives the process is in the journal, and nowhere else.
//   - A run is live while a process drives it. One that waits is not live, and costs nothing.
//   - A run is detached when nobody keeps a connection open for its answer. It goes on by itself after a restart. Any
//     other belongs to the request that it answers, and ends when that goes away, unless it went on by itself after a
//     person's answer.
//   - To follow a run is to see its events, from any place on: those of its records, which are in the journal, and
//     between them the deltas of the answer that is being written, which are not.
//   - A place is how far somebody has followed a run. It is a text that clients hand back, such as a Last-Event-ID.
package runs
