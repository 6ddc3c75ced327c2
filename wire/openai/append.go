package openai

import "wield/chat"

// EmptyContent says what stands for the content of an assistant's message that holds calls and no text. Servers differ in
// what they accept.
type EmptyContent uint8

// The choices. The zero value is what the protocol's own servers send.
const (
	ContentNull   EmptyContent = iota // "content":null
	ContentString                     // "content":""
	ContentAbsent                     // no such key
)

// RequestOptions adapt a request to the server that it is for. The zero value suits servers that keep to the protocol
// of 2023.
type RequestOptions struct {
	Model               string       // name of the model there; empty: the request's
	Stream              bool         // ask for a stream
	Usage               bool         // ask for the usage chunk at the end of the stream
	Developer           bool         // the server knows the role developer; else system is sent
	MaxCompletionTokens bool         // send max_completion_tokens instead of max_tokens
	Reasoning           string       // key for the reasoning of earlier assistant messages; empty: it is not sent
	EmptyContent        EmptyContent // for assistant messages that hold only calls
	Forward             []string     // keys of Request.Extra, and of Message.Opaque, that the server understands
}

// AppendRequest appends the body of a request. It fails with a *chat.Error if req holds something that the protocol cannot
// say.
func AppendRequest(dst []byte, req *chat.Request, o RequestOptions) ([]byte, error) { return dst, nil }
