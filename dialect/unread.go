package dialect

import (
	"encoding/json"
	"strings"

	"wield/chat"
)

// Unread finds what looks like a call in a text that was not read as one because its JSON is broken: an
// object between the tags of a dialect. It is for messages to people: the text stays text.
func Unread(text string) []chat.RejectedDetail {
	if !strings.Contains(text, "<") {
		return nil
	}
	var found []chat.RejectedDetail
	for i := range table {
		for _, o := range table[i].openers {
			if o.use == useJSON && o.closer != "" && !o.keyed && strings.HasSuffix(o.literal, ">") {
				found = unreadBetween(found, text, table[i].Name, &o)
			}
		}
	}
	return found
}

func unreadBetween(found []chat.RejectedDetail, text, dialect string, o *opener) []chat.RejectedDetail {
	for at := 0; ; {
		i := strings.Index(text[at:], o.literal)
		if i < 0 {
			return found
		}
		begin := at + i
		at = begin + len(o.literal)
		n := strings.Index(text[at:], o.closer)
		if n < 0 {
			return found
		}
		body := strings.TrimSpace(text[at : at+n])
		at += n + len(o.closer)
		if strings.HasPrefix(body, "{") && !json.Valid([]byte(body)) {
			found = append(found, chat.RejectedDetail{Reason: chat.ReasonMalformed, Raw: text[begin:at], At: begin,
				End: at, Dialect: dialect, Message: "the JSON is broken, so that it is text and no call"})
		}
	}
}
