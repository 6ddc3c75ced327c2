package tool

import (
	"context"
	"errors"
	"time"
)

// A Scope says on whose behalf calls run, and what of their past they may see. The zero value is nobody in particular.
type Scope struct {
	Run, Session string // ids; empty: there is none
	Fence        int64  // of the run: it grows each time another process takes the run over; 0: nobody else can
	By           string // who asks; empty: it is not known
	Key          string // the idempotency key of the one call that is run; empty: Call.Key makes it

	Outputs       Outputs       // what this conversation can read again; nil: nothing
	Conversations Conversations // earlier ones of whoever asks; nil: nobody remembers any
}

// Outputs holds results of earlier calls, and outputs that were too long to be shown whole.
type Outputs interface {
	// Output returns the text of the result of a call by the id of the call, or an output by its own id. It reports
	// false where there is none.
	Output(ctx context.Context, id string) (text string, ok bool, err error)
}

// Conversations are those of one person or key, and of nobody else.
type Conversations interface {
	// Search returns places that hold all words, in upper or lower case, those of the latest conversations first.
	Search(ctx context.Context, words []string, limit int) ([]Passage, error)
	// Read returns up to limit messages of a conversation, from the one with the given number on, and how many there
	// are in all. It fails with ErrNoConversation.
	Read(ctx context.Context, session string, from, limit int) (list []Passage, total int, err error)
}

// ErrNoConversation says that there is no such conversation, or that it is somebody else's.
var ErrNoConversation = errors.New("tool: there is no such conversation")

// A Passage is a message of a conversation.
type Passage struct {
	Session string
	Title   string // of the session
	Number  int    // of the message in the conversation, from 1
	Role    string // user or assistant
	Text    string
	At      time.Time
}
