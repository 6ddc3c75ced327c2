package schema

import "fmt"

// maxDepth is how deep a document may be nested.
const maxDepth = 64

// Check reports whether doc is strict JSON that every reader understands in the same way: RFC 8259, UTF-8 without a byte
// order mark, no object with the same name twice or with two names that differ only in ASCII case, no lone surrogates, no
// number beyond the range of a float64, at most 64 levels deep, nothing after the value. The error is a *SyntaxError.
func Check(doc string) error {
	t, err := read(doc, reading{depth: maxDepth, exact: true})
	if err != nil {
		return err
	}
	t.release()
	return nil
}

// A SyntaxError says where a text stops being strict JSON.
type SyntaxError struct {
	Offset  int    // of the byte in the text
	Pointer string // JSON pointer to the value or member being read
	Kind    SyntaxKind
	Message string // what is wrong there
}

// Error says what is wrong, and where.
func (e *SyntaxError) Error() string {
	if e.Pointer == "" {
		return fmt.Sprintf("not valid JSON at byte %d: %s", e.Offset, e.Message)
	}
	return fmt.Sprintf("not valid JSON at byte %d, in %s: %s", e.Offset, e.Pointer, e.Message)
}

// SyntaxKind is the class of a SyntaxError.
type SyntaxKind string

// The classes of syntax errors.
const (
	Malformed    SyntaxKind = "malformed"     // not JSON by RFC 8259
	DuplicateKey SyntaxKind = "duplicate_key" // an object has the same name twice, however it is escaped
	CaseClash    SyntaxKind = "case_clash"    // an object has two names that differ only in ASCII case
	BadUTF8      SyntaxKind = "bad_utf8"      // bytes that are not UTF-8
	Surrogate    SyntaxKind = "surrogate"     // an escaped surrogate without its other half
	OutOfRange   SyntaxKind = "out_of_range"  // a number that a float64 cannot hold
	TooDeep      SyntaxKind = "too_deep"      // nested beyond the limit
	Trailing     SyntaxKind = "trailing"      // something after the value
)
