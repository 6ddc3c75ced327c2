package conversation

// What the tools answer, for tests.
type (
	Found = searchResult
	Page  = conversationPage
)
