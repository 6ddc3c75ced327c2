package openai

import "wield/chat"

// DecodeRequest reads a request. An error is a *FieldError.
//
// The model's name may be absent: whether there is a default is the caller's affair. Keys that the vocabulary has no place
// for are kept raw in Request.Extra, those of a message in Message.Opaque. Tools that are no functions are left out. The
// result refers to body, which must not change afterwards.
func DecodeRequest(body []byte) (*chat.Request, error) {
	return nil, &FieldError{Message: "not written yet"}
}

// IncludeUsage reports whether a request asks for a usage chunk at the end of its stream (stream_options.include_usage).
func IncludeUsage(req *chat.Request) bool { return false }
