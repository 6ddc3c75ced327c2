package schema

import "fmt"

// maxDepth limits the nesting of a document.
const maxDepth = 64

// Check reports whether doc is strict JSON that every reader understands in the same way: RFC 8259, UTF-8 without a
// byte order mark, no object with the same name twice or with two names that differ only in ASCII case, no lone
// surrogates, no number beyond the range of a float64, at most 64 levels deep, nothing after the value. The error is
// a *SyntaxError.
func Check(doc string) error {
	t, err := read(doc, strictness{depth: maxDepth, exact: true})
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
	kind    syntaxKind
	Message string // what is wrong there
}

// Error says what is wrong, and where.
func (e *SyntaxError) Error() string {
	if e.Pointer == "" {
		return fmt.Sprintf("not valid JSON at byte %d: %s", e.Offset, e.Message)
	}
	return fmt.Sprintf("not valid JSON at byte %d, in %s: %s", e.Offset, e.Pointer, e.Message)
}

// syntaxKind is the class of a SyntaxError.
type syntaxKind string

// The classes of syntax errors.
const (
	malformed    syntaxKind = "malformed"     // not JSON by RFC 8259
	duplicateKey syntaxKind = "duplicate_key" // an object has the same name twice, however it is escaped
	caseClash    syntaxKind = "case_clash"    // an object has two names that differ only in ASCII case
	badUTF8      syntaxKind = "bad_utf8"      // bytes that are not UTF-8
	surrogate    syntaxKind = "surrogate"     // an escaped surrogate without its other half
	outOfRange   syntaxKind = "out_of_range"  // a number that a float64 cannot hold
	tooDeep      syntaxKind = "too_deep"      // nested beyond the limit
	trailing     syntaxKind = "trailing"      // something after the value
)
