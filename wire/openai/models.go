package openai

// ModelInfo is one entry of the list of models.
type ModelInfo struct {
	ID      string
	Created int64 // seconds since 1970
	OwnedBy string
}

// AppendModels appends the body of GET /models. Its entries have the keys that Anthropic's clients read as well.
func AppendModels(dst []byte, models []ModelInfo) []byte { return dst }

// AppendModel appends the body of GET /models/NAME.
func AppendModel(dst []byte, m ModelInfo) []byte { return dst }
