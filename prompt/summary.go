package prompt

import "fmt"

// AskSummary returns the message that has a model write a summary of the conversation in as many words at most, to
// stand in place of the messages before it.
func AskSummary(words int) string {
	return fmt.Sprintf("Write a summary of this conversation for yourself: from now on it stands in place of the "+
		"messages before this one. Say what the task is, what was found out, what was done and with what result, "+
		"which "+
		"files, names and numbers matter, and what is still to be done. Use no more than %d words, and call no tools.",
		words)
}
