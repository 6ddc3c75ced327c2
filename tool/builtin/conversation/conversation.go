// Package conversation holds tools with which a model looks into earlier conversations: conversation_search and
// conversation_read.
//
// They see what the scope of a call lets them see (tool.Scope), which are the conversations of whoever asks, and
// nobody else's. What a model once read anywhere may stand in them: give the tools only to models that the person
// would let read their conversations.
package conversation

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"wield/tool"
)

// Bounds of what is shown.
const (
	defaultFound = 10
	mostFound    = 50
	defaultRead  = 20
	mostRead     = 100
	excerptBytes = 400     // of a message that was found, around the first of the words
	messageBytes = 4 << 10 // of a message that is read
)

// searchIn holds the arguments of conversation_search.
type searchIn struct {
	Query string `json:"query" jsonschema:"words that must all occur in a message"`
	Limit int    `json:"limit,omitempty" jsonschema:"maximum number of messages, up to 50. Default: 10"`
}

// readIn holds the arguments of conversation_read.
type readIn struct {
	Session string `json:"session" jsonschema:"ID of the conversation, as returned by conversation_search"`
	From    int    `json:"from,omitempty" jsonschema:"first message, counted from 1"`
	Limit   int    `json:"limit,omitempty" jsonschema:"maximum number of messages, up to 100. Default: 20"`
}

// A Message is a message as the tools show it.
type message struct {
	Session string `json:"session,omitempty"`
	Title   string `json:"title,omitempty"`
	Number  int    `json:"number"`
	Role    string `json:"role"`
	Text    string `json:"text"`
	At      string `json:"at"` // RFC 3339
}

// found is the result of conversation_search.
type searchResult struct {
	Messages []message `json:"messages"`
	Count    int       `json:"count"`
}

// page is the result of conversation_read.
type conversationPage struct {
	Session  string    `json:"session"`
	Title    string    `json:"title,omitempty"`
	Messages []message `json:"messages"`
	Total    int       `json:"total"`          // messages of the conversation
	Next     int       `json:"next,omitempty"` // number to read on from; left out: this is the end
}

// Tools returns the tools.
func Tools() []*tool.Tool {
	list := []*tool.Tool{
		tool.Stream("conversation_search",
			`Search the messages of earlier conversations; returns {messages, count}, latest conversation first. `+
				`Example: {"query": "invoice lisbon", "limit": 5}`, search),
		tool.Stream("conversation_read",
			`Return messages of an earlier conversation: {session, title, messages, total, next}. `+
				`Example: {"session": "ses_1a2b3c4d5e6f", "from": 1, "limit": 20}`, read),
	}
	for _, t := range list {
		t.Facts.ReadOnly = true
		t.State, t.Style, t.Source = tool.StateDisabled, tool.StyleLLF, "builtin"
	}
	return list
}

// conversations returns those that the call may see.
func conversations(c *tool.Call) (tool.Conversations, error) {
	if c.Scope.Conversations == nil {
		return nil, tool.Errorf(tool.ErrNotAvailable,
			"There are no conversations to look into: this one is recorded nowhere")
	}
	return c.Scope.Conversations, nil
}

func search(ctx context.Context, c *tool.Call, in searchIn) (searchResult, error) {
	all, err := conversations(c)
	if err != nil {
		return searchResult{}, err
	}
	words := strings.Fields(in.Query)
	if len(words) == 0 {
		return searchResult{}, tool.Errorf(tool.ErrInvalid, "query is empty")
	}
	list, err := all.Search(ctx, words, bound(in.Limit, defaultFound, mostFound))
	if err != nil {
		return searchResult{}, failed(err)
	}
	out := searchResult{Messages: []message{}, Count: len(list)}
	for i := range list {
		p := &list[i]
		out.Messages = append(out.Messages, message{p.Session, p.Title, p.Number, p.Role, excerpt(p.Text, words[0]),
			stamp(p.At)})
	}
	return out, nil
}

func read(ctx context.Context, c *tool.Call, in readIn) (conversationPage, error) {
	all, err := conversations(c)
	if err != nil {
		return conversationPage{}, err
	}
	from := max(in.From, 1)
	list, total, err := all.Read(ctx, in.Session, from, bound(in.Limit, defaultRead, mostRead))
	switch {
	case errors.Is(err, tool.ErrNoConversation):
		return conversationPage{}, tool.Errorf(tool.ErrInvalid,
			"There is no conversation %q; conversation_search finds those that there are",
			in.Session)
	case err != nil:
		return conversationPage{}, failed(err)
	}
	out := conversationPage{Session: in.Session, Messages: []message{}, Total: total}
	for i := range list {
		p := &list[i]
		out.Title = p.Title
		out.Messages = append(out.Messages, message{Number: p.Number, Role: p.Role, Text: cut(p.Text, 0, messageBytes),
			At: stamp(p.At)})
	}
	if next := from + len(list); len(list) > 0 && next <= total {
		out.Next = next
	}
	return out, nil
}

func failed(err error) error {
	return tool.Errorf(tool.ErrTool, "The conversations cannot be read: %w", err)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func bound(n, otherwise, most int) int {
	if n <= 0 {
		return otherwise
	}
	return min(n, most)
}

// excerpt returns the part of a text around a word.
func excerpt(text, word string) string {
	at := max(strings.Index(strings.ToLower(text), strings.ToLower(word)), 0)
	return cut(text, max(at-excerptBytes/2, 0), excerptBytes)
}

// cut returns up to n bytes of a text from one on, in whole characters, and shows where there is more.
func cut(text string, from, n int) string {
	if from = min(from, len(text)); from == 0 && len(text) <= n {
		return text
	}
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from--
	}
	end := min(from+n, len(text))
	for end < len(text) && end > from && !utf8.RuneStart(text[end]) {
		end--
	}
	out := text[from:end]
	if from > 0 {
		out = "…" + out
	}
	if end < len(text) {
		out += "…"
	}
	return out
}
