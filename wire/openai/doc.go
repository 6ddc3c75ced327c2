// Package openai translates between the OpenAI chat completions protocol and the vocabulary of package chat, in both
// directions and without any HTTP: bytes in, values out, and the other way round.
//
// Words:
//
//   - A request is the JSON body of POST /chat/completions.
//   - A response is the JSON body that answers a request which did not ask for a stream.
//   - A chunk is one JSON object of a streamed answer, a frame the server-sent event around it.
//   - A delta is what one chunk adds to the message under way.
//
// A server uses DecodeRequest, then StreamWriter or Response, and AppendError. A client uses AppendRequest, then
// StreamReader or DecodeResponse, and DecodeError. What is written is strict and follows the protocol to the letter;
// what is read may have every deviation that servers and clients in use are known for.
//
// The codecs run once a chunk, so nothing on that path goes through reflection: encoders append to a slice, the decoder
// walks the bytes once.
package openai
