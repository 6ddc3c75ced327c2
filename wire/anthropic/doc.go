// Package anthropic translates between the Anthropic Messages protocol and the vocabulary of package chat, in both
// directions and without any HTTP: bytes in, values out, and the other way round.
//
// Words:
//
//   - A request is the JSON body of POST /v1/messages, a message the object that answers one which did not ask for a
//     stream.
//   - A block is one piece of a message's content: text, thinking, a call (tool_use), a result (tool_result), an image.
//   - A frame is one server-sent event of a streamed answer; its name is the type of its data.
//   - A signature vouches for thinking. Clients hand it back in their history; only the server that made it can read
//     it.
//
// A server uses DecodeRequest, then StreamWriter or Response, and AppendError. A client uses AppendRequest, then
// StreamReader or DecodeResponse, and DecodeError. What is written is strict and follows the protocol to the letter;
// what is read may have every deviation that servers and clients in use are known for.
//
// What of a request the vocabulary has no place for (signatures, cache marks, unknown keys) travels as opaque parts
// of this protocol, and is written again for a server that speaks it.
package anthropic
