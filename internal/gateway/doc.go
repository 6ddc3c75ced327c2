// Package gateway serves models over HTTP in the protocols of OpenAI (chat completions and Responses), Anthropic and
// Ollama. The table of endpoints says at which URLs. It knows no model; whatever is a chat.Model can stand behind it.
//
// Words:
//
//   - A model, here, is a chat.Model together with the name that clients use and how it is shown to them.
//   - A key is what a client authenticates with. The gateway holds only its hash.
//   - An exchange is one request and its answer.
//   - An answer is committed once a byte of it has left. Until then an error still gets a status of its own; afterwards
//     it is a frame in the stream, and the stream ends without its terminator.
//   - A front is one protocol that clients speak.
//   - To relay is to pass a request on to a model's server as it is, because it is no conversation.
//   - A record is a response or a conversation that is kept for a client of the Responses protocol.
//   - A passive model is exposed by the tool_request protocol: it never sees tool definitions, its call stands beside
//     the message rather than in it, and its client answers with messages of the role tool_result.
//
// The body of a request is read to its end before any model is asked. That is more than order: net/http notices that a
// client has gone only once the body has been read, and a proxy that still reads a request while it answers can cut the
// answer short.
package gateway
