// Package responses translates between the OpenAI Responses protocol and the vocabulary of package chat, without any
// HTTP: bytes in, values out, and the other way round. Its errors are those of the chat completions protocol, which
// is why it stands on package wire/openai.
//
// Words:
//
//   - A request is the JSON body of POST /responses. Beside the question to a model it says what is to be kept of it.
//   - A response is the object that answers, whole or as the beginning and the end of a stream.
//   - An item is one entry of a request's input or a response's output: a message, a call, the output of a call,
//     reasoning. Its id names the item; a call's call_id is another, and it alone joins calls and their outputs.
//   - An item reference stands for an item that the service keeps.
//   - A namespace is a group of tools under a name. Its functions are offered to the model one by one.
//
// A server uses DecodeRequest, then StreamWriter or Response, and AppendError.
package responses
