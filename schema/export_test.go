package schema

// The kinds of errors of syntax, for tests.
type SyntaxKind = syntaxKind

const (
	BadUTF8      = badUTF8
	CaseClash    = caseClash
	DuplicateKey = duplicateKey
	Malformed    = malformed
	OutOfRange   = outOfRange
	Surrogate    = surrogate
	TooDeep      = tooDeep
	Trailing     = trailing
)

func (e *SyntaxError) Kind() SyntaxKind { return e.kind }
