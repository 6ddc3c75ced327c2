package openai

import "wield/chat"

// The codes of a FieldError. They are the protocol's own where it has one.
const (
	CodeInvalidJSON   = "invalid_json"               // the body is no JSON text, or an ambiguous one
	CodeMissing       = "missing_required_parameter" // a field that must be there is not
	CodeMissingMsgs   = "missing_messages"           // there are no messages at all
	CodeInvalidType   = "invalid_type"               // a field has the wrong JSON type
	CodeInvalidValue  = "invalid_value"              // a field has the right type and a value that is not allowed
	CodeUnsupported   = "unsupported_value"          // a value that the protocol allows and wield does not offer
	CodeInvalidEffort = "invalid_reasoning_effort"   // reasoning_effort is none of the known words
)

// A FieldError says which field of a request cannot be read, and why. errors.As turns it into a *chat.Error of the kind
// ErrBadRequest as well, so chat.AsError(err) is all that a caller needs.
type FieldError struct {
	Param   string // such as messages[2].tool_calls[0].function.name; empty: the body as a whole
	Code    string // one of the codes above
	Message string // what is wrong and what would be right
}

func (e *FieldError) Error() string { return e.Message }

// As lets errors.As see the error as a *chat.Error.
func (e *FieldError) As(target any) bool {
	t, ok := target.(**chat.Error)
	if ok {
		*t = &chat.Error{Kind: chat.ErrBadRequest, Status: 400, Message: e.Message, Param: e.Param, Code: e.Code, Cause: e}
	}
	return ok
}
