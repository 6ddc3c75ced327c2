package responses

import (
	"wield/chat"
	"wield/schema/shape"
	"wield/wire/openai"
)

// AppendError appends the body of an error answer: {"error":{"message","type","param","code"}}.
func AppendError(dst []byte, e *chat.Error) []byte { return openai.AppendError(dst, e) }

// Status returns the HTTP status that a server answers an error of this kind with.
func Status(kind chat.ErrorKind) int { return openai.Status(kind) }

// failureCodes are the codes of a response that has failed. The protocol has few of them; clients know some more,
// which say whether trying again is of use.
var failureCodes = map[chat.ErrorKind]string{
	chat.ErrRateLimit:     "rate_limit_exceeded",
	chat.ErrContextLength: "context_length_exceeded",
	chat.ErrBadRequest:    "invalid_prompt",
	chat.ErrFiltered:      "invalid_prompt",
}

func failureCode(e *chat.Error) string {
	if code := failureCodes[e.Kind]; code != "" {
		return code
	}
	return "server_error"
}

func messageOf(e *chat.Error) string {
	if e.Message == "" {
		return e.Error()
	}
	return e.Message
}

// appendFailure appends the error of a response that has failed, or null.
func appendFailure(dst []byte, e *chat.Error) []byte {
	if e == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, `{"code":`...)
	dst = shape.AppendQuoted(dst, failureCode(e))
	dst = append(dst, `,"message":`...)
	dst = shape.AppendQuoted(dst, messageOf(e))
	return append(dst, '}')
}
