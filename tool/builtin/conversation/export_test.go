package conversation

// What the tools answer, for tests.
type (
	Found = found
	Page  = page
)
