// Package journal keeps what happened in runs, so that a run that was killed can go on, and so that somebody can look
// at it later: an append-only log of typed records with an index.
//
// The words of this package:
//
//   - A record is one thing that happened: a turn began, a call is about to run, its result. Package [record]
//     has the kinds of them.
//   - A stream is a sequence of records under one id. Each run is one, each question to a person is one, so that an
//     answer never gets in the way of the run that waits for it.
//   - An entry is a record in its place: its number within its stream, from 1, and its position among all entries of
//     the store.
//   - A session is one conversation. Every stream belongs to a session; deleting a session deletes the words of all of
//     them.
//   - The head of a stream is known without reading it: its length, and the state that its last record left it in.
//   - A lease says that one owner drives a run for now. Whoever takes a run over adds a record to it, so that the
//     append of an owner that was thought dead fails.
//
// [Store] is the interface; this package has the one in memory, and its directories sqlite and postgres have the
// others. What all of them must do is in journaltest. What a program makes of the records (transcripts, sessions, open
// calls) is computed from them by functions and stored nowhere: [Sessions] lists conversations, [Export] writes entries
// out, [Verify] checks them, and [Prune] deletes what is too old or too much.
//
// # What lasts
//
// When Append returns, its records are in the log and every reader sees them. Records of the kinds that
// [record.Kind.Durable] names then outlive a loss of power, together with everything that was appended before them; the
// others outlive the end of the process and reach the disk with the next durable one.
//
// # The chain
//
// Every entry carries a hash over the entry before it, so that a changed, missing or added entry is seen by [Verify]. A
// deleted entry leaves its hash and its position, and a record says which positions were deleted.
package journal
