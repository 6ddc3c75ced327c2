package browser

import (
	"crypto/sha256"
	"slices"
	"strings"
	"unicode"

	"wield/chat"
)

// A pageMessage is one of a conversation, as a page knows it.
type pageMessage struct {
	role  chat.Role
	print [sha256.Size]byte // of what was typed; not of an answer
	words string            // of an answer
	text  string            // to be typed; "" in what a page has had
}

// A talk is a conversation.
type talk []pageMessage

// talkOf returns the conversation of a request. Its last turn must be one that can be typed.
func talkOf(req *chat.Request) (talk, error) {
	if err := unsupported(req); err != nil {
		return nil, err
	}
	var t talk
	for i := range req.Messages {
		m := &req.Messages[i]
		text := m.Text()
		if strings.TrimSpace(text) == "" && m.Role != chat.RoleAssistant {
			continue
		}
		switch m.Role {
		case chat.RoleAssistant:
			t = append(t, pageMessage{role: m.Role, words: wordsOf(text), text: text})
		default:
			t = append(t, pageMessage{role: m.Role, print: sha256.Sum256([]byte(text)), text: text})
		}
	}
	if len(t) == 0 || t[len(t)-1].role == chat.RoleAssistant {
		return nil, &chat.Error{Kind: chat.ErrBadRequest, Param: "messages",
			Message: "the last message must be one that can be typed into the page, not the assistant's"}
	}
	return t, nil
}

// goesOn reports whether the conversation goes on where a page stands.
func (t talk) goesOn(said talk) bool {
	if len(said) == 0 || len(said) >= len(t) {
		return false
	}
	for i := range said {
		if said[i].role != t[i].role || said[i].print != t[i].print || !sameAnswer(said[i].words, t[i].words) {
			return false
		}
	}
	// Another answer in between is one that the page has not given.
	return !slices.ContainsFunc(t[len(said):], func(n pageMessage) bool { return n.role == chat.RoleAssistant })
}

// prompt returns what to type for turns that a page has not had. Several become one text: a page has one field.
func (t talk) prompt() string {
	if len(t) == 1 {
		return t[0].text
	}
	if !slices.ContainsFunc(t, func(n pageMessage) bool { return n.role == chat.RoleAssistant }) {
		texts := make([]string, len(t))
		for i := range t {
			texts[i] = t[i].text
		}
		return strings.Join(texts, "\n\n")
	}
	var b strings.Builder
	b.WriteString("This conversation goes on. What was said so far, between lines of dashes:\n")
	for i := range t {
		b.WriteString("\n---\n\n" + strings.ToUpper(string(t[i].role)) + ":\n" + t[i].text + "\n")
	}
	b.WriteString("\n---\n\nAnswer the last message.")
	return b.String()
}

// sameAnswer reports whether a client's answer is that of a page, by their words. Some clients leave out what was
// said in front of a call, so that the end of an answer stands for it.
func sameAnswer(page, client string) bool {
	return page == client || client != "" && strings.HasSuffix(page, client)
}

// wordsOf returns the words of an answer, each behind a blank. Clients hand back an answer with its calls written
// anew: in another layout, perhaps with other keys around the name and the arguments. The same words in the same
// order are the same answer.
func wordsOf(text string) string {
	var b strings.Builder
	for w := range strings.FieldsFuncSeq(text,
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }) {
		if w = strings.ToLower(w); !slices.Contains(callKeys, w) {
			b.WriteString(" " + w)
		}
	}
	return b.String()
}

// callKeys are words around a call that say nothing about it.
var callKeys = []string{"json", "name", "arguments", "parameters", "args", "input", "function", "tool", "tool_name",
	"type"}
