package journal

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"wield/journal/record"
)

// Memory is a Store for as long as the process runs. The zero value is empty and ready.
type Memory struct {
	Options Options

	mu      sync.Mutex
	closed  bool
	entries []Entry
	heads   map[string]*memoryHead
	changed chan struct{} // closed at the next change
}

// A memoryHead holds what the store knows of a stream.
type memoryHead struct {
	Head
	at    []int // where its entries stand in entries
	calls map[memoryCall]bool
	lease Lease
}

type memoryCall struct {
	kind record.Kind
	id   string
}

var _ Store = (*Memory)(nil)

// Append adds records.
func (m *Memory) Append(ctx context.Context, stream string, after int64, records ...record.Record) (int64, error) {
	b, err := m.Options.Mask.Batch(stream, after, records)
	if err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.append(b)
}

func (m *Memory) append(b record.Batch) (int64, error) {
	if m.closed {
		return 0, ErrClosed
	}
	h := m.heads[b.Stream]
	if h == nil {
		h = &memoryHead{calls: make(map[memoryCall]bool)}
	}
	if h.Seq != b.After {
		return 0, &ConflictError{b.Stream, b.After, h.Seq}
	}
	if err := h.duplicate(b.Rows); err != nil {
		return 0, err
	}
	now := m.Options.Time()
	if b.After == 0 {
		h.Head = Head{Stream: b.Stream, Session: b.Session, Opened: b.Opened, First: int64(len(m.entries)) + 1,
			Begun: now}
		if m.heads == nil {
			m.heads = make(map[string]*memoryHead)
		}
		m.heads[b.Stream] = h
	}
	for _, row := range b.Rows {
		m.add(h, row, now)
	}
	if h.Changed = now; b.State != "" {
		h.State = b.State
	}
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
	return h.Last, nil
}

// duplicate reports a row of a call that the stream, or the rows before it, have already.
func (h *memoryHead) duplicate(rows []record.Row) error {
	for i, row := range rows {
		same := func(r record.Row) bool { return r.Kind == row.Kind && r.Call == row.Call }
		if row.Call != "" && (h.calls[memoryCall{row.Kind, row.Call}] || slices.ContainsFunc(rows[:i], same)) {
			return ErrDuplicate
		}
	}
	return nil
}

func (m *Memory) add(h *memoryHead, row record.Row, now time.Time) {
	e := Entry{Position: int64(len(m.entries)) + 1, Stream: h.Stream, Seq: h.Seq + 1, Session: h.Session, At: now,
		Body: row.Body}
	e.Record, _ = record.Decode(row.Body) // it was just written
	var before Hash
	if n := len(m.entries); n > 0 {
		before = m.entries[n-1].Seal.Hash
	}
	e.SealAfter(before)
	m.entries = append(m.entries, e)
	h.at = append(h.at, len(m.entries)-1)
	h.Seq, h.Last, h.Bytes = e.Seq, e.Position, h.Bytes+int64(len(row.Body))
	if row.Call != "" {
		h.calls[memoryCall{row.Kind, row.Call}] = true
	}
}

// Read yields entries.
func (m *Memory) Read(ctx context.Context, q Query) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := m.open(ctx); err != nil {
			yield(Entry{}, err)
			return
		}
		n := 0
		for e := range m.from(&q, &q.After) {
			if q.Limit > 0 && n == q.Limit {
				return
			}
			if err := ctx.Err(); err != nil {
				yield(Entry{}, err)
				return
			}
			if n++; !yield(e, nil) {
				return
			}
		}
	}
}

// from yields the entries behind a position that q wants, and moves the position on. The lock is not held while
// somebody looks at an entry.
func (m *Memory) from(q *Query, after *int64) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		for {
			e, ok := m.next(q, after)
			if !ok || !yield(e) {
				return
			}
		}
	}
}

func (m *Memory) next(q *Query, after *int64) (Entry, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if q.Stream != "" {
		h := m.heads[q.Stream]
		if h == nil {
			return Entry{}, false
		}
		i, _ := slices.BinarySearch(h.at, int(*after))
		for ; i < len(h.at); i++ {
			if e := m.entries[h.at[i]]; q.wants(&e) {
				*after = e.Position
				return e, true
			}
		}
		return Entry{}, false
	}
	for i := int(*after); i < len(m.entries); i++ {
		if e := m.entries[i]; q.wants(&e) {
			*after = e.Position
			return e, true
		}
	}
	return Entry{}, false
}

// wants reports whether the query asks for an entry, its position left aside.
func (q *Query) wants(e *Entry) bool {
	if e.Deleted() {
		return q.Deleted && q.Stream == "" && q.Session == "" && len(q.Kinds) == 0
	}
	return (q.Stream == "" || e.Stream == q.Stream && e.Seq > q.Seq) && (q.Session == "" || e.Session == q.Session) &&
		(len(q.Kinds) == 0 || slices.Contains(q.Kinds, e.Record.Kind))
}

// open reports why nothing can be read.
func (m *Memory) open(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	return ctx.Err()
}

// Watch yields entries and waits for more.
func (m *Memory) Watch(ctx context.Context, q Query) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		after := q.After
		for {
			changed, err := m.wait()
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for e := range m.from(&q, &after) {
				if ctx.Err() != nil {
					break
				}
				if !yield(e, nil) {
					return
				}
			}
			select {
			case <-changed:
			case <-ctx.Done():
				yield(Entry{}, ctx.Err())
				return
			}
		}
	}
}

// wait returns a channel that is closed at the next change.
func (m *Memory) wait() (<-chan struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	if m.changed == nil {
		m.changed = make(chan struct{})
	}
	return m.changed, nil
}

// Heads yields what is known of streams.
func (m *Memory) Heads(ctx context.Context, q HeadQuery) iter.Seq2[Head, error] {
	return func(yield func(Head, error) bool) {
		if err := m.open(ctx); err != nil {
			yield(Head{}, err)
			return
		}
		for _, h := range m.list(&q) {
			if !yield(h, nil) {
				return
			}
		}
	}
}

func (m *Memory) list(q *HeadQuery) []Head {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []Head
	for _, h := range m.heads {
		if q.wants(&h.Head) {
			list = append(list, h.Head)
		}
	}
	slices.SortFunc(list, func(a, b Head) int { return cmp.Compare(b.Last, a.Last) })
	if q.Limit > 0 && len(list) > q.Limit {
		list = list[:q.Limit]
	}
	return list
}

func (q *HeadQuery) wants(h *Head) bool {
	return (q.Stream == "" || q.Stream == h.Stream) && (q.Session == "" || q.Session == h.Session) &&
		(q.Opened == "" || q.Opened == h.Opened) && (len(q.States) == 0 || slices.Contains(q.States, h.State)) &&
		(q.Before == 0 || h.Last < q.Before)
}

// Claim gives a lease.
func (m *Memory) Claim(ctx context.Context, stream, owner string, ttl time.Duration) (Lease, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.heads[stream]
	switch {
	case m.closed:
		return Lease{}, ErrClosed
	case ctx.Err() != nil:
		return Lease{}, ctx.Err()
	case h == nil:
		return Lease{}, ErrNotFound
	}
	now := m.Options.Time()
	if h.lease.Owner != owner {
		if h.lease.Held(now) {
			return Lease{}, &HeldError{stream, h.lease.Owner, h.lease.Until, h.lease.Until.Sub(now)}
		}
		b, err := record.Claimed{Owner: owner}.Batch(stream, h.Seq)
		if err == nil {
			_, err = m.append(b)
		}
		if err != nil {
			return Lease{}, err
		}
		h.lease = Lease{Stream: stream, Owner: owner, Token: h.Seq}
	}
	h.lease.Seq, h.lease.Until = h.Seq, now.Add(LeaseTime(ttl))
	return h.lease, nil
}

// Release ends a lease.
func (m *Memory) Release(_ context.Context, l Lease) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.heads[l.Stream]; h != nil && h.lease.Owner == l.Owner && h.lease.Token == l.Token {
		h.lease.Until = time.Time{}
		h.lease.Owner = ""
	}
	return nil
}

// Delete removes the words of a session.
func (m *Memory) Delete(_ context.Context, session string, why record.DeleteReason) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	var positions []int64
	now := m.Options.Time()
	for _, h := range m.heads {
		if session == "" || h.Session != session {
			continue
		}
		if h.lease.Held(now) {
			return &HeldError{h.Stream, h.lease.Owner, h.lease.Until, h.lease.Until.Sub(now)}
		}
		for _, i := range h.at {
			positions = append(positions, int64(i)+1)
		}
	}
	if len(positions) == 0 {
		return ErrNotFound
	}
	slices.Sort(positions)
	deleted := record.Deleted{Session: session, Reason: why}
	for _, p := range positions {
		deleted.Add(p)
	}
	b, err := deleted.Batch(NewID("del"))
	if err != nil {
		return err
	}
	for _, p := range positions {
		e := &m.entries[p-1]
		delete(m.heads, e.Stream)
		*e = Entry{Position: p, Seal: Seal{Leaf: e.Seal.Leaf, Hash: e.Seal.Hash}}
	}
	_, err = m.append(b)
	return err
}

// Close ends the store.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
	return nil
}
