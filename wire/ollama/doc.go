// Package ollama translates between Ollama's chat protocol and the vocabulary of package chat, in both directions and
// without any HTTP: bytes in, values out, and the other way round.
//
// Words:
//
//   - A request is the JSON body of POST /api/chat.
//   - A response is the JSON object that answers a request which did not ask for a stream.
//   - A line is one JSON object of a streamed answer; lines end with a newline. The last one says done.
//
// A server uses DecodeRequest, then StreamWriter or Response, and AppendError. A client uses AppendRequest, then
// StreamReader or DecodeResponse, and DecodeError. What is written follows the protocol to the letter; what is read
// may be a good deal looser.
//
// The protocol has no deltas of arguments: a call stands whole in one line, its arguments an object. It has no finish
// reason for calls either: an answer holds calls exactly when there are some in it.
package ollama
