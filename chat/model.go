package chat

import (
	"context"
	"iter"
)

// Model answers a conversation with a stream of events.
//
// The stream can be ranged over once. An error is yielded once and last, with a zero Event, and is an *Error. A
// stream without an error ends with exactly one Finish. Breaking out of the loop, or cancelling ctx, cancels whatever
// the model has under way. Events are yielded from one goroutine only.
//
// A Model that cannot take the tools of a request fails with an *Error of the code CodeToolsUnsupported. A bridge
// then writes the tools into the prompt; tools that a Model ignores are not written anywhere.
//
// Everything between a model and a person is a Model around a Model.
type Model interface {
	Stream(ctx context.Context, req *Request) iter.Seq2[Event, error]
}

// Previewer is a Model that tells what it would send to the model behind it.
type Previewer interface {
	Model
	// Sent returns what Stream would send at first, and whether the tools stand in its text; nil if that is not
	// known. Nothing is asked.
	Sent(req *Request) (sent *Request, inText bool, err error)
}

// Fail returns a stream that yields nothing but err.
func Fail(err error) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) { yield(Event{}, err) }
}
