package chat

import "strings"

// Rules say which sequences of messages the chat template of a model takes. The zero value takes all.
type Rules struct {
	NoSystem    bool `json:"no_system,omitempty"`    // system messages are refused, or left out
	SystemFirst bool `json:"system_first,omitempty"` // one that is not the first message is
	UserFirst   bool `json:"user_first,omitempty"`   // the first message besides system is to be the user's
	NeedsUser   bool `json:"needs_user,omitempty"`   // a conversation without a message of the user is refused
	// two messages of one party in a row are refused, or one of them is left out
	Alternate bool `json:"alternate,omitempty"`
	NoTool    bool `json:"no_tool,omitempty"`  // results of tools are refused, or left out
	NoCalls   bool `json:"no_calls,omitempty"` // calls in messages of the assistant are
	NoTools   bool `json:"no_tools,omitempty"` // the definitions of tools are left out
}

// String lists the rules in words; "none" if there are none.
func (r Rules) String() string {
	var words []string
	for _, w := range [...]struct {
		on   bool
		text string
	}{
		{r.NoSystem, "no system messages"}, {r.SystemFirst, "system message first only"}, {r.UserFirst, "user first"},
		{r.NeedsUser, "needs a user message"}, {r.Alternate, "roles alternate"}, {r.NoTool, "no role tool"},
		{r.NoCalls, "no calls in history"}, {r.NoTools, "no tool definitions"},
	} {
		if w.on {
			words = append(words, w.text)
		}
	}
	if words == nil {
		return "none"
	}
	return strings.Join(words, ", ")
}
