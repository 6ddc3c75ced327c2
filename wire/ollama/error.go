package ollama

import (
	"strings"

	"wield/chat"
	"wield/schema/shape"
	"wield/wire/openai"
)

// Status returns the HTTP status that a server answers an error of this kind with.
func Status(kind chat.ErrorKind) int { return openai.Status(kind) }

// AppendError appends the body of an error answer, {"error":"..."}: the protocol has a text and nothing else.
func AppendError(dst []byte, e *chat.Error) []byte {
	message := e.Message
	if message == "" {
		message = e.Error()
	}
	dst = append(dst, `{"error":`...)
	return append(shape.AppendQuoted(dst, message), '}')
}

// DecodeError reads an error answer of a server: its status, its header (which may be nil) and its body, which may be
// the beginning of one. A status of 0 stands for a line of a stream. What an error means is told from the same
// statuses and words as in the OpenAI protocol; that a model takes no tools is chat.CodeToolsUnsupported.
func DecodeError(status int, header openai.Header, body []byte) *chat.Error {
	e := openai.DecodeError(status, header, body)
	// Ollama answers 404 for a path that it does not know with a text of net/http.
	if e.Kind == chat.ErrNotFound && strings.HasPrefix(strings.TrimSpace(string(body)), "404 page not found") {
		e.Message = "the server has no /api/chat; is the address right?"
	}
	return e
}
