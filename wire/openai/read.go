package openai

import "wield/chat"

// A StreamReader turns the data of a stream's frames into events. The zero value is ready.
type StreamReader struct{}

// Feed appends the events of one frame's data, which is a chunk or [DONE]. The result does not refer to data. An error is a
// *chat.Error and final.
func (r *StreamReader) Feed(dst []chat.Event, data []byte) ([]chat.Event, error) { return dst, nil }

// Done reports whether [DONE] was read.
func (r *StreamReader) Done() bool { return false }

// Finished reports whether a finish reason was read, after which the stream may end without [DONE].
func (r *StreamReader) Finished() bool { return false }

// Close appends what is left at the end of the stream, Finish last. A stream that broke off is a *chat.Error of the kind
// ErrProtocol.
func (r *StreamReader) Close(dst []chat.Event) ([]chat.Event, error) { return dst, nil }

// DecodeResponse appends the events of a response's body, Finish last. An error is a *chat.Error.
func DecodeResponse(dst []chat.Event, body []byte) ([]chat.Event, error) { return dst, nil }
