// Package sse reads and writes server-sent events, the framing of streamed answers.
//
// A frame is a group of lines ended by a blank one. Its data is what its data lines hold, joined by newlines.
package sse
