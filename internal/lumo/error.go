package lumo

import (
	"encoding/json"
	"strings"

	"wield/chat"
	"wield/wire/openai"
)

// codeLimit is the code of a quota that is used up for the week.
const codeLimit = "2028"

// failures class the ends of answers and the codes of errors, in lower case.
var failures = map[string]struct {
	kind    chat.ErrorKind
	message string // where there is none
}{
	"error":                   {chat.ErrUnavailable, "Lumo failed to answer"},
	"timeout":                 {chat.ErrTimeout, "Lumo took too long to answer"},
	"rejected":                {chat.ErrFiltered, "Lumo rejected the request"},
	"harmful":                 {chat.ErrFiltered, "Lumo took the request for harmful"},
	"context_length_exceeded": {chat.ErrContextLength, "the conversation is too long for Lumo"},
}

// failure makes an error of a code.
func failure(code, message string) *chat.Error {
	f := failures[strings.ToLower(code)]
	if message == "" {
		message = f.message
	}
	return &chat.Error{Kind: f.kind, Code: code, Message: message}
}

// decodeFailure makes an error of a frame with one.
func decodeFailure(raw json.RawMessage, data []byte) *chat.Error {
	var e struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(raw, &e) == nil && failures[strings.ToLower(e.Code)].kind != "" {
		return failure(e.Code, e.Message)
	}
	return decodeError(0, nil, data)
}

// decodeError reads an error answer of a server: its status, its header (which may be nil) and its body, which may be
// the beginning of one. A status of 0 stands for an error inside an answer that began well. A quota that is used up
// is of the kind ErrRateLimit, and its code stands in the message.
func decodeError(status int, header openai.Header, body []byte) *chat.Error {
	e := openai.DecodeError(status, header, body)
	if f := failures[strings.ToLower(e.Code)]; f.kind != "" {
		e.Kind = f.kind
	}
	if e.Code == codeLimit || status == 429 && strings.Contains(e.Message, "Code: "+codeLimit) {
		e.Kind, e.Code = chat.ErrRateLimit, codeLimit
		if !strings.Contains(e.Message, "Code: "+codeLimit) {
			e.Message += " (Code: " + codeLimit + ")"
		}
	}
	return e
}
