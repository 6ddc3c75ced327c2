// Package script is a model that answers from a scenario: a YAML file that says which request gets which answer, cut
// into which chunks, after which pauses and with which faults. The same file is a demo, a test of the code around a
// model, an evaluation case and a bug report. It needs no network, no key and no clock: same file, same seed and same
// requests give the same bytes.
//
// Words:
//
//   - A scenario is one file. Its turns are tried in order; the first whose conditions hold answers the request.
//   - A condition (when) looks only at the request, so that matching needs no memory and is safe for concurrent
//     requests. The exception is a named state, kept per isolation key.
//   - An item is one piece of a turn's reply: text, reasoning, a call, raw bytes, an event of a target, a pause, an
//     echo.
//   - A capture is a piece of the request that a reply may repeat, written ${name}.
//   - A step is what a reply becomes: one chunk, or one part of a call, and how long to wait before it.
//   - A fault breaks a reply on purpose. Some faults exist only where there is a connection; the package
//     wield/internal/scriptserver, which serves a scenario over HTTP, carries those out.
//   - The client of a scenario is the other side of its conversation: what it asks, which tools it offers and what they
//     give. Drive plays it, so that a scenario can be run on its own.
package script
