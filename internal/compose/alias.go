package compose

import (
	"context"
	"iter"

	"wield/chat"
)

// quiet is a model whose reasoning nobody sees.
type quiet struct{ chat.Model }

func (q quiet) Stream(ctx context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		q.Model.Stream(ctx, req)(func(e chat.Event, err error) bool {
			return err == nil && e.Kind == chat.KindReasoning || yield(e, err)
		})
	}
}
