// Package scriptserver serves scenarios over HTTP as if they were model servers, and breaks their replies on the wire
// where a scenario says so. What a reply says is decided by package internal/script; this package knows how each
// protocol frames it, and which of a connection's faults there are.
//
// A frame is one piece of a body that is written and flushed on its own: an event of a stream with the blank line
// behind it, a line of NDJSON, or the whole body of an answer that is not streamed. All frames of a reply are made
// before the first is sent, so that time cannot change them.
package scriptserver
