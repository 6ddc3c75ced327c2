package anthropic

import (
	"wield/chat"
	"wield/schema/shape"
	"wield/wire/jsonbody"
	"wield/wire/openai"
)

// kinds says how each class of errors looks on the wire.
var kinds = map[chat.ErrorKind]struct {
	status int
	typ    string
}{
	chat.ErrAuth:          {401, "authentication_error"},
	chat.ErrBadRequest:    {400, "invalid_request_error"},
	chat.ErrNotFound:      {404, "not_found_error"},
	chat.ErrRateLimit:     {429, "rate_limit_error"},
	chat.ErrContextLength: {400, "invalid_request_error"},
	chat.ErrFiltered:      {400, "invalid_request_error"},
	chat.ErrOverloaded:    {529, "overloaded_error"},
	chat.ErrTimeout:       {504, "timeout_error"},
	chat.ErrCanceled:      {499, "api_error"},
	chat.ErrProtocol:      {502, "api_error"},
	chat.ErrUnavailable:   {502, "api_error"},
}

// codeTypes are the types of errors that the protocol sets apart where the classes do not.
var codeTypes = map[string]string{
	"request_too_large":        "request_too_large",
	"insufficient_permissions": "permission_error",
	"origin_not_allowed":       "permission_error",
	"host_not_allowed":         "permission_error",
}

// Status returns the HTTP status that a server answers an error of this kind with.
func Status(kind chat.ErrorKind) int {
	if k, ok := kinds[kind]; ok {
		return k.status
	}
	return 500
}

// AppendError appends the body of an error answer: {"type":"error","error":{"type","message"}}. The protocol has no
// place for the field that is to blame, so that the message names it if it does not already. It has one for few
// codes.
func AppendError(dst []byte, e *chat.Error) []byte {
	kind, ok := kinds[e.Kind]
	if !ok {
		kind.typ = "api_error"
	}
	if typ, ok := codeTypes[e.Code]; ok {
		kind.typ = typ
	}
	message := e.Message
	if message == "" {
		message = e.Error()
	}
	dst = append(dst, `{"type":"error","error":{"type":"`...)
	dst = append(dst, kind.typ...)
	dst = append(dst, `","message":`...)
	dst = shape.AppendQuoted(dst, message)
	if e.Code == codeThread {
		dst = append(dst, `,"details":{"error_code":"thread_unsupported_request","unsupported":[]}`...)
	}
	return append(dst, "}}"...)
}

// DecodeError reads an error answer of a server: its status, its header (which may be nil) and its body, which may be
// the protocol's own, or anything that stands between it and us says. A status of 0 stands for an error inside an
// answer that began well.
func DecodeError(status int, header openai.Header, body []byte) *chat.Error {
	e := openai.DecodeError(status, header, body)
	if status == 429 { // whatever the body says
		e.Kind = chat.ErrRateLimit
		return e
	}
	if kind, ok := errorTypes[errorType(body)]; ok && e.Code != chat.CodeToolsUnsupported {
		if kind != chat.ErrBadRequest || e.Kind != chat.ErrContextLength && e.Kind != chat.ErrFiltered {
			// which words tell
			e.Kind = kind
		}
	}
	return e
}

// errorTypes are the protocol's types of errors.
var errorTypes = map[string]chat.ErrorKind{
	"invalid_request_error": chat.ErrBadRequest,
	"request_too_large":     chat.ErrContextLength,
	"authentication_error":  chat.ErrAuth,
	"permission_error":      chat.ErrAuth,
	"billing_error":         chat.ErrRateLimit, // a quota is used up
	"not_found_error":       chat.ErrNotFound,
	"rate_limit_error":      chat.ErrRateLimit,
	"timeout_error":         chat.ErrTimeout,
	"overloaded_error":      chat.ErrOverloaded,
	"api_error":             chat.ErrUnavailable,
}

// errorType returns the type of the error in a body of the protocol, or "".
func errorType(body []byte) string {
	s := jsonbody.Scanner{Bytes: body}
	if s.Peek() != '{' {
		return ""
	}
	for s.Enter('{'); s.Next('}'); {
		if string(s.Key()) == "error" && s.Peek() == '{' {
			return typeOf(s.Raw())
		}
		s.Skip()
	}
	return ""
}
