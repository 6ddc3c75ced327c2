// Package sqlstore keeps a journal in tables. What SQLite and PostgreSQL differ in is a [Flavour]; all else is here,
// so that the two cannot come to differ.
//
// Whoever writes puts an operation in a queue and then waits for a turn. Who gets the turn writes all that is in the
// queue in one transaction, so that many who wait share one sync of the disk. There is no goroutine for it.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"wield/journal"
)

// A Flavour holds what databases do differently.
type Flavour struct {
	Prefix  string // of the names of tables
	Dollars bool   // parameters are written $1 instead of ?
	// statement before a transaction, by whether it must outlive a loss of power; empty: none
	Before map[bool]string
	Within map[bool][]string // first statements of a transaction, likewise
	Flush  []string          // of a transaction that brings what was committed before to the disk
	// query for the time in microseconds; empty: this process's clock counts
	Clock    string
	Classify func(error) error                    // gives an error its kind
	Sticky   func(error) bool                     // after this error nothing may be written any more
	Vacuum   []string                             // gives unused room back
	Scrub    func(context.Context, *sql.DB) error // makes sure that deleted words are gone; nil: the database does
	Wait     time.Duration                        // how long a transaction may take
	Poll     time.Duration                        // how often somebody who watches looks for what other processes wrote
}

// A Store is a journal in tables.
type Store struct {
	flavour Flavour
	options journal.Options
	writer  *sql.DB // of one connection
	reader  *sql.DB

	turn chan struct{} // held by who writes

	mu       sync.Mutex
	queue    []*operation
	closed   bool
	broken   error
	changed  chan struct{} // closed at the next change
	unsynced bool          // something was committed that may not be on the disk

	ended chan struct{} // closed by Close

	silent atomic.Bool // the database did not answer in time
}

// An operation is something to write.
type operation struct {
	do      func(*transaction) error
	durable bool
	err     error
	done    chan struct{}
}

// New returns the store in a database whose tables are there. The store closes it.
func New(writer, reader *sql.DB, f Flavour, o journal.Options) *Store {
	return &Store{flavour: f, options: o, writer: writer, reader: reader, turn: make(chan struct{}, 1),
		ended: make(chan struct{})}
}

// Writer returns the connection that writes, for what concerns the whole database.
func (s *Store) Writer() *sql.DB { return s.writer }

// batchSize limits the operations of one transaction.
const batchSize = 256

// submit has an operation done.
func (s *Store) submit(ctx context.Context, durable bool, do func(*transaction) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	op := &operation{do: do, durable: durable, done: make(chan struct{})}
	if err := s.enqueue(op); err != nil {
		return err
	}
	select {
	case <-op.done:
		return op.err
	case <-ctx.Done():
		if s.withdraw(op) {
			return ctx.Err()
		}
		<-op.done // it is being written, and whoever asked must know what came of it
		return op.err
	case s.turn <- struct{}{}:
	}
	for !finished(op) {
		s.write(s.take())
	}
	<-s.turn
	return op.err
}

func finished(op *operation) bool {
	select {
	case <-op.done:
		return true
	default:
		return false
	}
}

func (s *Store) enqueue(op *operation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return journal.ErrClosed
	case s.broken != nil:
		return s.broken
	}
	s.queue = append(s.queue, op)
	return nil
}

// withdraw takes an operation out of the queue, if nobody began to write it.
func (s *Store) withdraw(op *operation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.queue, op)
	if i < 0 {
		return false
	}
	s.queue = slices.Delete(s.queue, i, i+1)
	return true
}

func (s *Store) take() []*operation {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.queue), batchSize)
	batch := slices.Clone(s.queue[:n])
	s.queue = slices.Delete(s.queue, 0, n)
	return batch
}

// write does operations in one transaction and tells those who wait for them.
func (s *Store) write(batch []*operation) {
	if len(batch) == 0 {
		return
	}
	durable := slices.ContainsFunc(batch, func(op *operation) bool { return op.durable })
	err := s.transact(durable, func(tx *transaction) error {
		for _, op := range batch {
			if op.err = op.do(tx); tx.failed != nil {
				return tx.failed
			}
		}
		return nil
	})
	s.settle(durable, err)
	for _, op := range batch {
		if err != nil {
			op.err = err
		}
		close(op.done)
	}
}

// settle keeps what a transaction means for those that follow, and wakes those who watch.
func (s *Store) settle(durable bool, err error) {
	s.mu.Lock()
	if err == nil {
		s.unsynced = !durable
	} else if s.flavour.Sticky != nil && s.flavour.Sticky(err) {
		s.broken = err
	}
	s.mu.Unlock()
	if err == nil {
		s.Look()
	}
}

// A transaction writes. Once a statement failed, failed says why and nothing of it will stay.
type transaction struct {
	store    *Store
	ctx      context.Context
	tx       *sql.Tx
	now      time.Time
	position int64
	hash     journal.Hash
	failed   error
}

func (s *Store) transact(durable bool, do func(*transaction) error) error {
	err := s.inTime(context.Background(), func(ctx context.Context) error { return s.transactOn(ctx, durable, do) })
	if err == nil {
		return nil
	}
	return s.flavour.Classify(err)
}

// probeTime limits how long a database may take to answer at all, after it did not answer in time.
const probeTime = 5 * time.Second

// inTime has something done that ends when the database takes too long. Who comes afterwards waits less long for a
// database that says nothing: a run has several things to write until it has ended.
func (s *Store) inTime(ctx context.Context, do func(context.Context) error) error {
	if s.silent.Load() {
		probe, cancel := context.WithTimeout(ctx, probeTime)
		err := s.writer.PingContext(probe)
		cancel()
		if err != nil {
			return err
		}
	}
	limited, cancel := context.WithTimeout(ctx, s.flavour.Wait)
	defer cancel()
	err := do(limited)
	s.silent.Store(err != nil && limited.Err() != nil && ctx.Err() == nil)
	return err
}

func (s *Store) transactOn(ctx context.Context, durable bool, do func(*transaction) error) error {
	conn, err := s.writer.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if before := s.flavour.Before[durable]; before != "" {
		if _, err := conn.ExecContext(ctx, before); err != nil {
			return err
		}
	}
	sqlTx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer sqlTx.Rollback() // after a commit it does nothing
	tx := &transaction{store: s, ctx: ctx, tx: sqlTx}
	if err := tx.begin(durable); err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return err
	}
	return sqlTx.Commit()
}

// begin locks the journal and looks where it ends.
func (tx *transaction) begin(durable bool) error {
	f := &tx.store.flavour
	for _, statement := range f.Within[durable] {
		if _, err := tx.tx.ExecContext(tx.ctx, statement); err != nil {
			return err
		}
	}
	tx.now = tx.store.options.Time()
	if f.Clock != "" && tx.store.options.Now == nil {
		var micros int64
		if err := tx.tx.QueryRowContext(tx.ctx, f.Clock).Scan(&micros); err != nil {
			return err
		}
		tx.now = time.UnixMicro(micros).UTC()
	}
	var hash []byte
	err := tx.row(`SELECT position, hash FROM {entries} ORDER BY position DESC LIMIT 1`).Scan(&tx.position, &hash)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil && len(hash) != len(tx.hash) {
		return fmt.Errorf("%w: the hash of entry %d has %d bytes", journal.ErrCorrupt, tx.position, len(hash))
	}
	copy(tx.hash[:], hash)
	return err
}

// rewrite gives a query the names of the tables and the parameters of the flavour.
func (f *Flavour) rewrite(query string) string {
	query = strings.NewReplacer("{entries}", f.Prefix+"entries", "{heads}", f.Prefix+"heads").Replace(query)
	if !f.Dollars {
		return query
	}
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, found := strings.Cut(query, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("$" + strconv.Itoa(n))
		query = after
	}
}

func (tx *transaction) row(query string, args ...any) *sql.Row {
	return tx.tx.QueryRowContext(tx.ctx, tx.store.flavour.rewrite(query), args...)
}

// exec runs a statement that writes.
func (tx *transaction) exec(query string, args ...any) error {
	_, err := tx.tx.ExecContext(tx.ctx, tx.store.flavour.rewrite(query), args...)
	return tx.fail(err)
}

// fail notes that the transaction cannot be committed.
func (tx *transaction) fail(err error) error {
	if err != nil && tx.failed == nil {
		tx.failed = err
	}
	return err
}

// Close ends the store.
func (s *Store) Close() error {
	s.mu.Lock()
	was := s.closed
	if s.closed = true; !was {
		close(s.ended)
	}
	s.mu.Unlock()
	if was {
		return nil
	}
	s.turn <- struct{}{} // nobody writes any more
	defer func() { <-s.turn }()
	for batch := s.take(); len(batch) > 0; batch = s.take() {
		s.write(batch)
	}
	var err error
	if s.unsynced && len(s.flavour.Flush) > 0 {
		err = s.transact(true, func(tx *transaction) error {
			for _, statement := range s.flavour.Flush {
				if err := tx.exec(statement); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if s.reader != s.writer {
		err = errors.Join(err, s.reader.Close())
	}
	return errors.Join(err, s.writer.Close())
}

var _ journal.Store = (*Store)(nil)
