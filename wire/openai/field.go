package openai

import "wield/wire/jsonbody"

// A FieldError says which field of a request cannot be read, and why.
type FieldError = jsonbody.FieldError

// The codes of a FieldError.
const (
	CodeInvalidJSON   = jsonbody.CodeInvalidJSON
	CodeMissing       = jsonbody.CodeMissing
	CodeMissingMsgs   = jsonbody.CodeMissingMsgs
	CodeInvalidType   = jsonbody.CodeInvalidType
	CodeInvalidValue  = jsonbody.CodeInvalidValue
	codeUnsupported   = jsonbody.CodeUnsupported
	codeInvalidEffort = jsonbody.CodeInvalidEffort
)
