package openai

import (
	"context"
	"fmt"
	"strings"
	"time"

	"wield/chat"
	"wield/schema/near"
)

// Bounds of the question which models a server has: it only makes a message better.
const (
	suggestTime = 2 * time.Second
	suggestMost = 5 // names in a message
)

// suggest adds to an error what the model may be called, where the server does not know the name that it was asked for.
func (p protocol) suggest(ctx context.Context, model string, e *chat.Error) {
	if e.Code == CodePath {
		return
	}
	if p.o.Model != "" {
		model = p.o.Model
	}
	ctx, cancel := context.WithTimeout(ctx, suggestTime)
	defer cancel()
	listing, _ := List(ctx, *p.o) // a server that does not say has none
	names := listing.Names
	hint := near.Hint(model, names)
	switch more := len(names) - suggestMost; {
	case hint != "" || len(names) == 0:
	case more > 0:
		hint = fmt.Sprintf("; the server has %s and %d more", strings.Join(names[:suggestMost], ", "), more)
	default:
		hint = "; the server has " + strings.Join(names, ", ")
	}
	e.Message = strings.TrimSuffix(e.Message, ".") + hint
}
