package runs

import (
	"context"

	"wield/journal"
	"wield/journal/record"
)

// A watched store tells the live runs what is recorded of them.
type watched struct {
	journal.Store
	hub *Hub
}

// Append adds records, and tells the run that they are of.
func (w *watched) Append(ctx context.Context, stream string, after int64, records ...record.Record) (int64, error) {
	at, err := w.Store.Append(ctx, stream, after, records...)
	if err == nil {
		if l := w.hub.lookUp(stream); l != nil {
			l.tail.recorded(after, records)
			if after == 0 {
				close(l.recorded)
			}
		}
	}
	return at, err
}
