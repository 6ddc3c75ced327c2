package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"strings"
	"time"

	"wield/journal"
	"wield/journal/record"
)

// A page is read at once. No rows are open while somebody looks at an entry, so that readers never keep a
// writer waiting.
const (
	pageRows  = 200
	pageBytes = 4 << 20
)

func (s *Store) isClosed() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// readError gives an error of reading its kind. One that came of the end of a context or of the store is that.
func (s *Store) readError(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case s.isClosed():
		return journal.ErrClosed
	}
	return s.flavour.Classify(err)
}

// Read yields entries.
func (s *Store) Read(ctx context.Context, q journal.Query) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		after, left := q.After, q.Limit
		for {
			page, err := s.page(ctx, &q, after, left)
			if err != nil {
				yield(journal.Entry{}, s.readError(ctx, err))
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
				after = e.Position
			}
			if left -= len(page); len(page) == 0 || q.Limit > 0 && left <= 0 {
				return
			}
		}
	}
}

// Watch yields entries and waits for more.
func (s *Store) Watch(ctx context.Context, q journal.Query) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		timer := time.NewTicker(s.flavour.Poll)
		defer timer.Stop()
		for after := q.After; ; {
			changed := s.wait()
			page, err := s.page(ctx, &q, after, 0)
			if err != nil {
				yield(journal.Entry{}, s.readError(ctx, err))
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
				after = e.Position
			}
			if len(page) > 0 && ctx.Err() == nil {
				continue
			}
			select {
			case <-changed:
			case <-timer.C:
			case <-s.ended:
				yield(journal.Entry{}, journal.ErrClosed)
				return
			case <-ctx.Done():
				yield(journal.Entry{}, ctx.Err())
				return
			}
		}
	}
}

// wait returns a channel that is closed when something was written from here.
func (s *Store) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// Look has those who watch look at once for what other processes have written, instead of at their next interval.
func (s *Store) Look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// A filter is the end of a query.
type filter struct {
	terms []string
	args  []any
}

func (f *filter) add(on bool, term string, args ...any) {
	if on {
		f.terms, f.args = append(f.terms, term), append(f.args, args...)
	}
}

func (f *filter) in(column string, n int, value func(i int) string) {
	if n == 0 {
		return
	}
	f.terms = append(f.terms, column+" IN (?"+strings.Repeat(", ?", n-1)+")")
	for i := range n {
		f.args = append(f.args, value(i))
	}
}

func (f *filter) where() string {
	if len(f.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(f.terms, " AND ")
}

// page reads the next entries.
func (s *Store) page(ctx context.Context, q *journal.Query, after int64, left int) (page []journal.Entry, err error) {
	err = s.inTime(ctx, func(ctx context.Context) (err error) {
		page, err = s.entries(ctx, q, after, left)
		return err
	})
	return page, err
}

func (s *Store) entries(ctx context.Context, q *journal.Query, after int64, left int) ([]journal.Entry, error) {
	if s.isClosed() {
		return nil, journal.ErrClosed
	}
	var f filter
	f.add(true, "position > ?", after)
	f.add(q.Stream != "", "stream = ?", q.Stream)
	f.add(q.Stream != "" && q.Seq > 0, "seq > ?", q.Seq)
	f.add(q.Session != "", "session = ?", q.Session)
	f.in("kind", len(q.Kinds), func(i int) string { return string(q.Kinds[i]) })
	f.add(!q.Deleted, "body IS NOT NULL")
	limit := pageRows
	if left > 0 {
		limit = min(limit, left)
	}
	order := "position"
	if q.Stream != "" {
		order = "seq" // which is the same order, and the one of the index
	}
	query := fmt.Sprintf("SELECT position, stream, seq, session, at, body, salt, leaf, hash FROM {entries}%s ORDER "+
		"BY %s LIMIT %d", f.where(), order, limit)
	rows, err := s.reader.QueryContext(ctx, s.flavour.rewrite(query), f.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var page []journal.Entry
	for size := 0; size < pageBytes && rows.Next(); {
		e, err := scanEntry(rows, q.Deleted)
		if err != nil {
			return nil, err
		}
		page, size = append(page, e), size+len(e.Body)
	}
	if len(page) > 0 && rows.Err() == nil {
		return page, nil
	}
	return page, rows.Err()
}

// scanEntry reads a row. Who wants all there is, gets what cannot be read too.
func scanEntry(rows *sql.Rows, all bool) (journal.Entry, error) {
	var e journal.Entry
	var stream, session sql.NullString
	var seq, at sql.NullInt64
	var leaf, hash []byte
	if err := rows.Scan(&e.Position, &stream, &seq, &session, &at, &e.Body, &e.Seal.Salt, &leaf, &hash); err != nil {
		return e, err
	}
	copy(e.Seal.Leaf[:], leaf)
	copy(e.Seal.Hash[:], hash)
	if len(e.Body) == 0 {
		return e, nil
	}
	e.Stream, e.Seq, e.Session, e.At = stream.String, seq.Int64, session.String, time.UnixMicro(at.Int64).UTC()
	var err error
	if e.Record, err = record.Decode(e.Body); err != nil && !all {
		return e, fmt.Errorf("%w: entry %d: %w", journal.ErrCorrupt, e.Position, err)
	}
	return e, nil
}

// Heads yields what is known of streams.
func (s *Store) Heads(ctx context.Context, q journal.HeadQuery) iter.Seq2[journal.Head, error] {
	return func(yield func(journal.Head, error) bool) {
		before, left := q.Before, q.Limit
		for {
			page, err := s.heads(ctx, &q, before, left)
			if err != nil {
				yield(journal.Head{}, s.readError(ctx, err))
				return
			}
			for _, h := range page {
				if !yield(h, nil) {
					return
				}
				before = h.Last
			}
			if left -= len(page); len(page) < pageRows || q.Limit > 0 && left <= 0 {
				return
			}
		}
	}
}

func (s *Store) heads(ctx context.Context, q *journal.HeadQuery, before int64, left int) (page []journal.Head,
	err error) {
	err = s.inTime(ctx, func(ctx context.Context) (err error) {
		page, err = s.streams(ctx, q, before, left)
		return err
	})
	return page, err
}

func (s *Store) streams(ctx context.Context, q *journal.HeadQuery, before int64, left int) ([]journal.Head, error) {
	if s.isClosed() {
		return nil, journal.ErrClosed
	}
	var f filter
	f.add(q.Stream != "", "stream = ?", q.Stream)
	f.add(q.Session != "", "session = ?", q.Session)
	f.add(q.Opened != "", "opened = ?", string(q.Opened))
	f.in("state", len(q.States), func(i int) string { return string(q.States[i]) })
	f.add(before > 0, "last < ?", before)
	limit := pageRows
	if left > 0 {
		limit = min(limit, left)
	}
	query := fmt.Sprintf("SELECT %s FROM {heads}%s ORDER BY last DESC LIMIT %d", headColumns, f.where(), limit)
	rows, err := s.reader.QueryContext(ctx, s.flavour.rewrite(query), f.args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var page []journal.Head
	for rows.Next() {
		var h head
		if err := h.scan(rows); err != nil {
			return nil, err
		}
		page = append(page, h.Head)
	}
	return page, rows.Err()
}
