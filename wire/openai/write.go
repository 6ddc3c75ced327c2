package openai

import "wield/chat"

// ResponseOptions are what an answer says about itself.
type ResponseOptions struct {
	ID      string // such as chatcmpl-...; also the stem of ids for calls that come without one
	Created int64  // seconds since 1970
	Model   string // as the client knows it
	Usage   bool   // stream only: the client asked for a usage chunk
}

// A StreamWriter turns the events of one answer into the frames of a stream.
type StreamWriter struct{ o ResponseOptions }

// NewStreamWriter returns a writer for one answer.
func NewStreamWriter(o ResponseOptions) *StreamWriter { return &StreamWriter{o: o} }

// Append appends the frames that e makes, none for the kinds that the protocol does not show. KindFinish writes the end of
// the stream, [DONE] included; nothing may follow it.
func (w *StreamWriter) Append(dst []byte, e chat.Event) []byte { return dst }

// AppendError appends the frame that ends a stream which failed after it had begun. No [DONE] follows it, so that no client
// takes the answer for a whole one.
func (w *StreamWriter) AppendError(dst []byte, err *chat.Error) []byte { return dst }

// A Response collects the events of one answer into a body.
type Response struct{ o ResponseOptions }

// NewResponse returns a collector for one answer.
func NewResponse(o ResponseOptions) *Response { return &Response{o: o} }

// Add takes in one event.
func (r *Response) Add(e chat.Event) {}

// Append appends the body. It is to be called once the stream has ended.
func (r *Response) Append(dst []byte) []byte { return dst }
