package openai

import (
	"strconv"

	"wield/chat"
)

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

// Error returns the message.
func (e *FieldError) Error() string { return e.Message }

// Unwrap returns the kind of error that this is.
func (e *FieldError) Unwrap() error { return chat.ErrBadRequest }

// As lets errors.As see the error as a *chat.Error.
func (e *FieldError) As(target any) bool {
	t, ok := target.(**chat.Error)
	if ok {
		*t = &chat.Error{Kind: chat.ErrBadRequest, Status: 400, Message: e.Message, Param: e.Param, Code: e.Code, Cause: e}
	}
	return ok
}

// A fieldReader reads the values of a request, of which it is known that they are JSON. It knows where it is. Its first error
// sticks and ends all loops of its scanner.
type fieldReader struct {
	scanner
	path []step
	room [8]step // of path, which is seldom longer
	bad  *FieldError
}

// A step goes from a value into one inside it.
type step struct {
	key   string // of an object's member
	index int    // of an array's element, if key is empty
}

func (s step) append(dst []byte) []byte {
	if s.key == "" {
		dst = append(dst, '[')
		dst = strconv.AppendInt(dst, int64(s.index), 10)
		return append(dst, ']')
	}
	if len(dst) > 0 {
		dst = append(dst, '.')
	}
	return append(dst, s.key...)
}

// refuse says that the value here is wrong.
func (r *fieldReader) refuse(code, message string) { r.refuseAt("", code, message) }

// refuseAt says that the value under a key of the object here is wrong, or not there.
func (r *fieldReader) refuseAt(key, code, message string) {
	if r.bad != nil {
		return
	}
	var param []byte
	for _, s := range r.path {
		param = s.append(param)
	}
	if key != "" {
		param = step{key: key}.append(param)
	}
	r.bad = &FieldError{Param: string(param), Code: code, Message: message}
	if len(param) > 0 {
		r.bad.Message = r.bad.Param + ": " + message
	}
	r.fail("nothing")
}

// want refuses the next value for its type.
func (r *fieldReader) want(what string) {
	r.refuse(CodeInvalidType, "this must be "+what+", not "+jsonType(r.peek()))
}

func jsonType(c byte) string {
	switch c {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// is reports whether the next value begins with c, which stands for its type, and refuses it otherwise.
func (r *fieldReader) is(c byte) bool {
	if r.peek() == c {
		return true
	}
	r.want(jsonType(c))
	return false
}

// text reads a string; optional also takes null, which is "".
func (r *fieldReader) text() string {
	if !r.is('"') {
		return ""
	}
	return r.str()
}

func (r *fieldReader) optional() string {
	if r.null() {
		return ""
	}
	return r.text()
}

func (r *fieldReader) boolean() *bool {
	if r.null() {
		return nil
	}
	c := r.peek()
	if c != 't' && c != 'f' {
		r.want("a boolean")
		return nil
	}
	r.skip()
	v := c == 't'
	return &v
}

func (r *fieldReader) isNumber() bool {
	c := r.peek()
	return c == '-' || c >= '0' && c <= '9'
}

func (r *fieldReader) float() *float64 {
	if r.null() {
		return nil
	}
	if !r.isNumber() {
		r.want("a number")
		return nil
	}
	v, err := strconv.ParseFloat(string(r.raw()), 64)
	if err != nil {
		r.refuse(CodeInvalidValue, "this number is out of range")
		return nil
	}
	return &v
}

func (r *fieldReader) whole() *int64 {
	if r.null() {
		return nil
	}
	if !r.isNumber() {
		r.want("an integer")
		return nil
	}
	v, ok := r.integer()
	if !ok {
		r.refuse(CodeInvalidType, "this must be an integer")
		return nil
	}
	return &v
}

// each reads an array and calls f at each of its elements.
func (r *fieldReader) each(f func()) {
	if !r.is('[') {
		return
	}
	r.path = append(r.path, step{})
	at := len(r.path) - 1
	for r.enter('['); r.next(']'); r.path[at].index++ {
		f()
	}
	r.path = r.path[:at]
}

// members reads an object and calls f at the value of each of its members.
func (r *fieldReader) members(f func(key string)) {
	if !r.is('{') {
		return
	}
	r.path = append(r.path, step{})
	at := len(r.path) - 1
	for r.enter('{'); r.next('}'); {
		key := r.name()
		r.path[at].key = key
		f(key)
	}
	r.path = r.path[:at]
}

// mark skips the next value and returns where it begins.
func (r *fieldReader) mark() int {
	r.peek()
	at := r.i
	r.skip()
	return at
}

// again reads the value that begins at a mark, which stands under a key of the object here, if there is one.
func (r *fieldReader) again(mark int, key string, f func()) {
	end, depth := r.i, len(r.path)
	if key != "" {
		r.path = append(r.path, step{key: key})
	}
	r.i = mark
	f()
	r.path = r.path[:depth]
	if r.bad == nil {
		r.i = end
	}
}
