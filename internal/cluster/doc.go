// Package cluster is the service's side of workers: it lets them in, knows which are there and what they offer, and
// hands calls to them. Messages go through a NATS server inside the process, which is started only where workers are
// configured. What must not be lost is in the journal, never in a message.
//
// Words:
//
//   - A worker is a program on another machine that runs tools. It connects outwards to /api/worker and speaks the
//     protocol of NATS over that WebSocket. Its address is made of the name of its key and of an id that it draws when
//     it starts; its permissions on subjects reach as far as that address.
//   - A pool is workers that may stand for each other: by their keys and labels.
//   - A frame is what a worker sends about a call: its output, its result, or that it is busy.
//
// A worker beats every two seconds. One that was silent for six is lost: calls of idempotent tools go to another, of
// the others it is not known whether they took effect.
package cluster
