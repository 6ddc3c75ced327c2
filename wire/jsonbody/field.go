package jsonbody

import (
	"slices"
	"strconv"
	"unsafe"

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
		*t = &chat.Error{Kind: chat.ErrBadRequest, Status: 400, Message: e.Message, Param: e.Param, Code: e.Code,
			Cause: e}
	}
	return ok
}

// A Reader reads the fields of a request. It knows where it is, so that an error names the field. Its first error
// sticks and ends all loops of its Scanner. Init makes it ready.
type Reader struct {
	Scanner
	Bad *FieldError // the first error

	path []step
	room [8]step // of path, which is seldom longer

	unread []string
}

// Init makes r read body, which must be an object and must not change afterwards. The error, which is a *FieldError,
// says why it is none.
func (r *Reader) Init(body []byte) error {
	src := unsafe.String(unsafe.SliceData(body), len(body)) // a copy would double what a large request takes
	if err := check(src); err != nil {
		return err
	}
	*r = Reader{Scanner: Scanner{Bytes: body, src: src}}
	r.path = r.room[:0]
	if r.Peek() != '{' {
		return &FieldError{Code: CodeInvalidType, Message: "the body must be a JSON object, not " + typeOf(r.Peek())}
	}
	return nil
}

// Done returns the first error, a *FieldError, or nil.
func (r *Reader) Done() error {
	if r.Bad == nil && r.Err != nil {
		r.Bad = &FieldError{Code: CodeInvalidJSON, Message: r.Err.Error()}
	}
	if r.Bad != nil {
		return r.Bad
	}
	return nil
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

// Refuse says that the value here is wrong.
func (r *Reader) Refuse(code, message string) { r.RefuseAt("", code, message) }

// RefuseAt says that the value under a key of the object here is wrong, or not there.
func (r *Reader) RefuseAt(key, code, message string) {
	if r.Bad != nil {
		return
	}
	var param []byte
	for _, s := range r.path {
		param = s.append(param)
	}
	if key != "" {
		param = step{key: key}.append(param)
	}
	r.Bad = &FieldError{Param: string(param), Code: code, Message: message}
	if len(param) > 0 {
		r.Bad.Message = r.Bad.Param + ": " + message
	}
	r.fail("nothing")
}

// Want refuses the next value for its type.
func (r *Reader) Want(what string) {
	r.Refuse(CodeInvalidType, "this must be "+what+", not "+typeOf(r.Peek()))
}

func typeOf(c byte) string {
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

// Is reports whether the next value begins with c, which stands for its type, and refuses it otherwise.
func (r *Reader) Is(c byte) bool {
	if r.Peek() == c {
		return true
	}
	r.Want(typeOf(c))
	return false
}

// Text reads a string.
func (r *Reader) Text() string {
	if !r.Is('"') {
		return ""
	}
	return r.Str()
}

// Optional reads a string or null, which is "".
func (r *Reader) Optional() string {
	if r.Null() {
		return ""
	}
	return r.Text()
}

// Boolean reads true, false or null, which is nil.
func (r *Reader) Boolean() *bool {
	if r.Null() {
		return nil
	}
	c := r.Peek()
	if c != 't' && c != 'f' {
		r.Want("a boolean")
		return nil
	}
	r.Skip()
	v := c == 't'
	return &v
}

// Schema reads a JSON Schema, which is an object, true or false, as it stands; null is nil.
func (r *Reader) Schema() []byte {
	if r.Null() {
		return nil
	}
	if c := r.Peek(); c != '{' && c != 't' && c != 'f' {
		r.Want("a JSON Schema, which is an object")
		return nil
	}
	return r.Raw()
}

func (r *Reader) isNumber() bool {
	c := r.Peek()
	return c == '-' || c >= '0' && c <= '9'
}

// Float reads a number or null, which is nil.
func (r *Reader) Float() *float64 {
	if r.Null() {
		return nil
	}
	if !r.isNumber() {
		r.Want("a number")
		return nil
	}
	v, err := strconv.ParseFloat(string(r.Raw()), 64)
	if err != nil {
		r.Refuse(CodeInvalidValue, "this number is out of range")
		return nil
	}
	return &v
}

// Whole reads an integer or null, which is nil.
func (r *Reader) Whole() *int64 {
	if r.Null() {
		return nil
	}
	if !r.isNumber() {
		r.Want("an integer")
		return nil
	}
	v, ok := r.Integer()
	if !ok {
		r.Refuse(CodeInvalidType, "this must be an integer")
		return nil
	}
	return &v
}

// Each reads an array and calls f at each of its elements.
func (r *Reader) Each(f func()) {
	if !r.Is('[') {
		return
	}
	r.path = append(r.path, step{})
	at := len(r.path) - 1
	for r.Enter('['); r.Next(']'); r.path[at].index++ {
		f()
	}
	r.path = r.path[:at]
}

// Members reads an object and calls f at the value of each of its members.
func (r *Reader) Members(f func(key string)) {
	if !r.Is('{') {
		return
	}
	r.path = append(r.path, step{})
	at := len(r.path) - 1
	for r.Enter('{'); r.Next('}'); {
		key := r.Name()
		r.path[at].key = key
		f(key)
	}
	r.path = r.path[:at]
}

// maxUnread limits the names that are listed of members passed over.
const maxUnread = 32

// Unread passes over the value of a member that the reader does not know and that nobody is sent, and notes its name,
// unless it says nothing.
func (r *Reader) Unread() {
	switch string(r.Raw()) {
	case "null", "[]", "{}", `""`, "false":
		return
	}
	if r.Bad != nil {
		return
	}
	var room [64]byte
	name := room[:0]
	for _, s := range r.path {
		if s.key != "" { // in whichever element it stands
			name = s.append(name)
		}
	}
	r.DropIf(true, string(name))
}

// DropIf notes the name of a member that is there but has no meaning, such as messages.tool_calls of what a user says.
func (r *Reader) DropIf(there bool, name string) {
	if there && len(r.unread) < maxUnread && !slices.Contains(r.unread, name) {
		r.unread = append(r.unread, name)
	}
}

// UnreadNames returns the names of the members that Unread passed over, such as messages.content.cache_control.
func (r *Reader) UnreadNames() []string { return r.unread }

// MaxChoices limits the answers that a request may ask for.
const MaxChoices = 16

// Choices returns how many answers a request asks for in a field that was kept as an Extra.
func Choices(req *chat.Request, p chat.Protocol, key string) int {
	for _, x := range req.Extra {
		if x.Protocol == p && x.Key == key {
			if n, err := strconv.Atoi(string(x.Value)); err == nil {
				return min(max(n, 1), MaxChoices)
			}
		}
	}
	return 1
}

// Mark skips the next value and returns where it begins.
func (r *Reader) Mark() int {
	r.Peek()
	at := r.Pos
	r.Skip()
	return at
}

// Again reads the value that begins at a mark, which stands under a key of the object here, if there is one.
func (r *Reader) Again(mark int, key string, f func()) {
	end, depth := r.Pos, len(r.path)
	if key != "" {
		r.path = append(r.path, step{key: key})
	}
	r.Pos = mark
	f()
	r.path = r.path[:depth]
	if r.Bad == nil {
		r.Pos = end
	}
}
