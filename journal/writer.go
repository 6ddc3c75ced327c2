package journal

import (
	"context"
	"errors"
	"sync"

	"wield/journal/record"
	"wield/tool/runner"
)

// A Writer adds records to a stream of which it is the only writer: to a run, by the owner of its lease. It keeps
// count, and once somebody else wrote to the stream it fails with ErrConflict for good, so that what lost a run cannot
// go on with it. Several goroutines may use it at once. It is the store of records of the run's runner.Runner.
type Writer struct {
	store  Store
	stream string

	mu       sync.Mutex
	seq      int64
	last     int64 // position
	lost     error
	detached map[string]string // names under which calls continue elsewhere that were started again
}

var _ runner.Records = (*Writer)(nil)

// NewWriter returns the writer of a stream whose last entry has the number seq: 0 for one that is new, Lease.Seq for
// one that was claimed.
func NewWriter(s Store, stream string, seq int64) *Writer {
	return &Writer{store: s, stream: stream, seq: seq}
}

// Append adds records, in order of the calls.
func (w *Writer) Append(ctx context.Context, records ...record.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost != nil {
		return w.lost
	}
	last, err := w.store.Append(ctx, w.stream, w.seq, records...)
	if errors.Is(err, ErrConflict) {
		w.lost = err
	}
	if err != nil {
		return err
	}
	w.seq, w.last = w.seq+int64(len(records)), last
	return nil
}

// Stream returns the id of the stream.
func (w *Writer) Stream() string { return w.stream }

// Seq returns the number of the last entry.
func (w *Writer) Seq() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seq
}

// Position returns the position of the last entry that was written here, 0 before the first.
func (w *Writer) Position() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// Start notes that a call is about to run. One that was started before fails with ErrDuplicate, unless it may run again
// and has no result.
func (w *Writer) Start(ctx context.Context, r runner.StartRecord) error {
	err := w.Append(ctx, record.Record{Kind: record.KindStart, Start: &r})
	if !errors.Is(err, ErrDuplicate) {
		return err
	}
	detached := ""
	for e, readErr := range w.store.Read(ctx, Query{Stream: w.stream,
		Kinds: []record.Kind{record.KindResult, record.KindDetached}}) {
		switch {
		case readErr != nil:
			return readErr
		case e.Record.Result != nil && e.Record.Result.CallID == r.CallID:
			return err
		case e.Record.Detached != nil && e.Record.Detached.CallID == r.CallID:
			detached = e.Record.Detached.Name
		}
	}
	if detached == "" && !r.Idempotent {
		return err
	}
	w.mu.Lock()
	if w.detached == nil {
		w.detached = map[string]string{}
	}
	w.detached[r.CallID] = detached
	w.mu.Unlock()
	return w.Append(ctx, record.Record{Kind: record.KindAgain, Again: &record.Again{CallID: r.CallID}})
}

// Detach notes under which name a call continues elsewhere.
func (w *Writer) Detach(ctx context.Context, call, name string) error {
	return w.Append(ctx, record.Record{Kind: record.KindDetached, Detached: &record.Detached{CallID: call, Name: name}})
}

// Detached returns the name under which a call that was started again continues elsewhere.
func (w *Writer) Detached(call string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.detached[call]
}

// Finish notes the result of a call.
func (w *Writer) Finish(ctx context.Context, r runner.FinishRecord) error {
	return w.Append(ctx, record.Record{Kind: record.KindResult, Result: &r})
}
