package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"wield/journal"
	"wield/journal/record"
)

// Append adds records.
func (s *Store) Append(ctx context.Context, stream string, after int64, records ...record.Record) (int64, error) {
	b, err := s.options.Mask.Batch(stream, after, records)
	if err != nil {
		return 0, err
	}
	var position int64
	err = s.submit(ctx, b.Durable, func(tx *transaction) error {
		_, err := tx.append(&b)
		position = tx.position
		return err
	})
	if err != nil {
		return 0, err
	}
	return position, nil
}

// A head is a row of the index, with the lease.
type head struct {
	journal.Head
	owner        string
	token, until int64
}

const headColumns = `stream, session, opened, state, seq, first, last, bytes, begun, changed`

// scan reads a row of headColumns and what follows them.
func (h *head) scan(row interface{ Scan(...any) error }, more ...any) error {
	var begun, changed int64
	err := row.Scan(append([]any{&h.Stream, &h.Session, &h.Opened, &h.State, &h.Seq, &h.First, &h.Last, &h.Bytes,
		&begun, &changed}, more...)...)
	h.Begun, h.Changed = time.UnixMicro(begun).UTC(), time.UnixMicro(changed).UTC()
	return err
}

// head looks a stream up. One that does not exist has the number 0.
func (tx *transaction) head(stream string) (head, error) {
	var h head
	err := h.scan(tx.row(`SELECT `+headColumns+`, owner, token, until FROM {heads} WHERE stream = ?`, stream),
		&h.owner, &h.token, &h.until)
	if errors.Is(err, sql.ErrNoRows) {
		return head{}, nil
	}
	return h, tx.fail(err)
}

// append adds a batch, or nothing of it, and returns the head as it is afterwards.
func (tx *transaction) append(b *record.Batch) (head, error) {
	h, err := tx.head(b.Stream)
	if err != nil {
		return h, err
	}
	if h.Seq != b.After {
		return h, &journal.ConflictError{Stream: b.Stream, After: b.After, Last: h.Seq}
	}
	if err := tx.duplicate(b); err != nil {
		return h, err
	}
	if b.After == 0 {
		h.Head = journal.Head{Stream: b.Stream, Session: b.Session, Opened: b.Opened, First: tx.position + 1,
			Begun: tx.now}
	}
	for rows := b.Rows; len(rows) > 0; {
		n := atOnce(rows)
		if err := tx.insert(&h, rows[:n]); err != nil {
			return h, err
		}
		rows = rows[n:]
	}
	if h.Changed = tx.now; b.State != "" {
		h.State = b.State
	}
	if b.After == 0 {
		return h,
			tx.exec(`INSERT INTO {heads}(`+headColumns+
				`, owner, token, until) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', 0, 0)`,
				h.Stream, h.Session, string(h.Opened), string(h.State), h.Seq, h.First, h.Last, h.Bytes,
				h.Begun.UnixMicro(), h.Changed.UnixMicro())
	}
	return h, tx.exec(`UPDATE {heads} SET state = ?, seq = ?, last = ?, bytes = ?, changed = ? WHERE stream = ?`,
		string(h.State), h.Seq, h.Last, h.Bytes, h.Changed.UnixMicro(), h.Stream)
}

// duplicate reports a row of a call that the stream, or the rows before it, have already.
func (tx *transaction) duplicate(b *record.Batch) error {
	for i, row := range b.Rows {
		if row.Call == "" {
			continue
		}
		if slices.ContainsFunc(b.Rows[:i], func(r record.Row) bool {
			return r.Kind == row.Kind && r.Call == row.Call
		}) {
			return journal.ErrDuplicate
		}
		var one int
		err := tx.row(`SELECT 1 FROM {entries} WHERE stream = ? AND kind = ? AND call = ?`, b.Stream, string(row.Kind),
			row.Call).Scan(&one)
		switch {
		case err == nil:
			return journal.ErrDuplicate
		case !errors.Is(err, sql.ErrNoRows):
			return tx.fail(err)
		}
	}
	return nil
}

// Bounds of one statement: databases bound its parameters and its size. A single row may be larger.
const (
	maxInsert      = 64
	maxInsertBytes = 16 << 20
)

// atOnce returns how many of the rows one statement takes.
func atOnce(rows []record.Row) int {
	size := 0
	for i := range rows {
		if size += len(rows[i].Body); i == maxInsert || i > 0 && size > maxInsertBytes {
			return i
		}
	}
	return len(rows)
}

// insert adds rows at the end of the journal, in one statement: to parse and send one for each takes most of the time.
func (tx *transaction) insert(h *head, rows []record.Row) error {
	const columns = 11
	args := make([]any, 0, columns*len(rows))
	seals := make([]journal.Seal, len(rows))
	var stream, session, at any = h.Stream, h.Session, tx.now.UnixMicro()
	for i := range rows {
		row, seal := &rows[i], &seals[i]
		e := journal.Entry{Position: tx.position + 1, Stream: h.Stream, Seq: h.Seq + 1, Session: h.Session, At: tx.now,
			Body: row.Body}
		e.SealAfter(tx.hash)
		*seal = e.Seal
		var call any
		if row.Call != "" {
			call = row.Call
		}
		args = append(args, e.Position, stream, e.Seq, session, string(row.Kind), call, at, e.Body,
			seal.Salt, seal.Leaf[:], seal.Hash[:])
		tx.position, tx.hash = e.Position, e.Seal.Hash
		h.Seq, h.Last, h.Bytes = e.Seq, e.Position, h.Bytes+int64(len(row.Body))
	}
	one := ", (?" + strings.Repeat(", ?", columns-1) + ")"
	return tx.exec(`INSERT INTO {entries}(position, stream, seq, session, kind, call, at, body, salt, leaf, hash) VALUES `+
		strings.Repeat(one, len(rows))[len(", "):], args...)
}

func (h *head) lease() journal.Lease {
	return journal.Lease{Stream: h.Stream, Owner: h.owner, Token: h.token, Seq: h.Seq,
		Until: time.UnixMicro(h.until).UTC()}
}

// Claim gives a lease.
func (s *Store) Claim(ctx context.Context, stream, owner string, ttl time.Duration) (journal.Lease, error) {
	var lease journal.Lease
	err := s.submit(ctx, false, func(tx *transaction) error {
		h, err := tx.head(stream)
		switch lease = h.lease(); {
		case err != nil:
			return err
		case h.Seq == 0:
			return journal.ErrNotFound
		case h.owner != owner && lease.Held(tx.now):
			return &journal.HeldError{Stream: stream, Owner: h.owner, Until: lease.Until, Left: lease.Until.Sub(tx.now)}
		case h.owner != owner:
			b, err := record.Claimed{Owner: owner}.Batch(stream, h.Seq)
			if err != nil {
				return err
			}
			if h, err = tx.append(&b); err != nil {
				return err
			}
			h.owner, h.token = owner, h.Seq
		}
		h.until = tx.now.Add(journal.LeaseTime(ttl)).UnixMicro()
		lease = h.lease()
		return tx.exec(`UPDATE {heads} SET owner = ?, token = ?, until = ? WHERE stream = ?`, h.owner, h.token,
			h.until, stream)
	})
	if err != nil {
		return journal.Lease{}, err
	}
	return lease, nil
}

// Release ends a lease.
func (s *Store) Release(ctx context.Context, l journal.Lease) error {
	return s.submit(ctx, false, func(tx *transaction) error {
		return tx.exec(`UPDATE {heads} SET owner = '', until = 0 WHERE stream = ? AND owner = ? AND token = ?`,
			l.Stream, l.Owner, l.Token)
	})
}

// Delete removes the words of a session.
func (s *Store) Delete(ctx context.Context, session string, why record.DeleteReason) error {
	err := s.submit(ctx, true, func(tx *transaction) error { return tx.remove(session, why) })
	if err != nil || s.flavour.Scrub == nil {
		return err
	}
	return s.Maintain(ctx, s.flavour.Scrub)
}

func (tx *transaction) remove(session string, why record.DeleteReason) error {
	if session == "" {
		return journal.ErrNotFound
	}
	heads, err := tx.leases(session)
	if err != nil {
		return err
	}
	for _, h := range heads {
		if l := h.lease(); l.Held(tx.now) {
			return &journal.HeldError{Stream: l.Stream, Owner: l.Owner, Until: l.Until, Left: l.Until.Sub(tx.now)}
		}
	}
	deleted := record.Deleted{Session: session, Reason: why}
	if err := tx.positions(&deleted); err != nil {
		return err
	}
	if len(deleted.Positions) == 0 {
		return journal.ErrNotFound
	}
	b, err := deleted.Batch(journal.NewID("del"))
	if err != nil {
		return err
	}
	err = tx.exec(
		`UPDATE {entries} SET stream = NULL, seq = NULL, session = NULL, kind = NULL, call = NULL, at = NULL, body = NULL, salt = NULL
		WHERE session = ?`, session)
	if err == nil {
		err = tx.exec(`DELETE FROM {heads} WHERE session = ?`, session)
	}
	if err == nil {
		_, err = tx.append(&b)
	}
	return err
}

func (tx *transaction) leases(session string) ([]head, error) {
	rows, err := tx.tx.QueryContext(tx.ctx,
		tx.store.flavour.rewrite(`SELECT `+headColumns+`, owner, token, until FROM {heads} WHERE session = ?`), session)
	if err != nil {
		return nil, tx.fail(err)
	}
	defer rows.Close()
	var list []head
	for rows.Next() {
		var h head
		if err := h.scan(rows, &h.owner, &h.token, &h.until); err != nil {
			return nil, tx.fail(err)
		}
		list = append(list, h)
	}
	return list, tx.fail(rows.Err())
}

// positions adds those of the session's entries.
func (tx *transaction) positions(d *record.Deleted) error {
	rows, err := tx.tx.QueryContext(tx.ctx,
		tx.store.flavour.rewrite(`SELECT position FROM {entries} WHERE session = ? ORDER BY position`), d.Session)
	if err != nil {
		return tx.fail(err)
	}
	defer rows.Close()
	for rows.Next() {
		var p int64
		if err := rows.Scan(&p); err != nil {
			return tx.fail(err)
		}
		d.Add(p)
	}
	return tx.fail(rows.Err())
}

// Maintain does something to the whole database while nothing is written to it from here.
func (s *Store) Maintain(ctx context.Context, do func(context.Context, *sql.DB) error) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.turn }()
	if s.isClosed() {
		return journal.ErrClosed
	}
	if err := do(ctx, s.writer); err != nil {
		return s.flavour.Classify(err)
	}
	return nil
}

// Vacuum gives room that is not used back to the system.
func (s *Store) Vacuum(ctx context.Context) error {
	return s.Maintain(ctx, func(ctx context.Context, db *sql.DB) error {
		for _, statement := range s.flavour.Vacuum {
			if _, err := db.ExecContext(ctx, s.flavour.rewrite(statement)); err != nil {
				return err
			}
		}
		return nil
	})
}
