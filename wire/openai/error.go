package openai

import "wield/chat"

// A Header gives the value of a header field, or "". *http.Header has this method.
type Header interface{ Get(name string) string }

// AppendError appends the body of an error answer: {"error":{"message","type","param","code"}}.
func AppendError(dst []byte, e *chat.Error) []byte { return dst }

// Status returns the HTTP status that a server answers an error of this kind with.
func Status(kind chat.ErrorKind) int { return 500 }

// CodeToolsUnsupported is the Code of an error that says that the backend's model, or its template, takes no tools.
const CodeToolsUnsupported = "tools_unsupported"

// DecodeError reads an error answer of a server: its status, its header (which may be nil) and its body, which may be the
// protocol's own, any other JSON, HTML, plain text or nothing.
func DecodeError(status int, header Header, body []byte) *chat.Error { return nil }
