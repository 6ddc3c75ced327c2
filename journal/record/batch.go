package record

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Batch holds the records of one Append, checked and written as JSON: what a store has to add. Mask.Batch makes one
// of records; Claimed.Batch and Deleted.Batch make those that only a store adds.
type Batch struct {
	Stream  string
	After   int64
	Rows    []Row
	Opened  Kind   // of the first record, if After is 0
	Session string // that the first record names, if After is 0
	State   State  // that the stream is in afterwards; empty: as before
	Durable bool
}

// A Row is one record of a Batch.
type Row struct {
	Kind Kind
	Call string // id of the call of which a stream has only one record of this kind; empty: it is of no such kind
	Body []byte
}

// MaxSize limits the bytes of the JSON form of a record.
const MaxSize = 64 << 20

// Batch checks records and writes them as JSON, masked. after is the number of the stream's last entry. The
// error wraps [ErrInvalid] where a record may not stand there or is too large.
func (m Mask) Batch(stream string, after int64, records []Record) (Batch, error) {
	b := Batch{Stream: stream, After: after, Rows: make([]Row, 0, len(records))}
	if !isID(stream) || after < 0 || len(records) == 0 {
		return b, fmt.Errorf("%w: an append names a stream, a number and at least one record", ErrInvalid)
	}
	for i := range records {
		r := m.masked(&records[i])
		body, err := r.Encode()
		if err != nil {
			return b, err
		}
		first := after == 0 && i == 0
		if err := r.mayStand(first); err != nil {
			return b, err
		}
		if first {
			if b.Opened, b.Session = r.Kind, r.session(); !isID(b.Session) && r.Kind != KindRules {
				return b, fmt.Errorf("%w: a record of kind %s names the session that its stream belongs to", ErrInvalid,
					r.Kind)
			}
		}
		b.add(r, m.JSON(body))
	}
	for _, row := range b.Rows {
		if len(row.Body) > MaxSize {
			return b, fmt.Errorf("%w: a record of kind %s has %d bytes, and may have %d", ErrInvalid, row.Kind,
				len(row.Body), MaxSize)
		}
	}
	return b, nil
}

// mayStand checks that a record may begin a stream, or stand behind others.
func (r *Record) mayStand(first bool) error {
	switch rule := rules[r.Kind]; {
	case rule.store:
		return fmt.Errorf("%w: only a store writes records of kind %s", ErrInvalid, r.Kind)
	case first && !rule.opens:
		return fmt.Errorf("%w: a stream does not begin with a record of kind %s", ErrInvalid, r.Kind)
	case !first && rule.opens && r.Object == nil:
		return fmt.Errorf("%w: a record of kind %s only begins a stream", ErrInvalid, r.Kind)
	}
	return nil
}

// Batch returns the batch that gives a stream to its new owner.
func (c Claimed) Batch(stream string, after int64) (Batch, error) {
	return single(stream, after, &Record{Kind: KindClaimed, StoreOnly: StoreOnly{Claimed: &c}})
}

// Batch returns the batch that says what was deleted, in a stream of its own.
func (d Deleted) Batch(stream string) (Batch, error) {
	return single(stream, 0, &Record{Kind: KindDeleted, StoreOnly: StoreOnly{Deleted: &d}})
}

func single(stream string, after int64, r *Record) (Batch, error) {
	b := Batch{Stream: stream, After: after, Opened: r.Kind}
	body, err := r.Encode()
	if err == nil {
		b.add(r, body)
	}
	return b, err
}

func (b *Batch) add(r *Record, body []byte) {
	rule := rules[r.Kind]
	row := Row{Kind: r.Kind, Body: body}
	if rule.call != nil {
		row.Call = callKey(rule.call(r))
	}
	if rule.state != "" {
		b.State = rule.state
	}
	b.Rows, b.Durable = append(b.Rows, row), b.Durable || rule.durable
}

// maxID limits the id of a stream or a session.
const maxID = 256

// isID reports whether text can be an id in every store.
func isID(s string) bool {
	return s != "" && len(s) <= maxID && utf8.ValidString(s) && !strings.ContainsRune(s, 0)
}

// callKey makes the id of a call one that every store can keep. A model may write anything there.
func callKey(id string) string {
	if isID(id) {
		return id
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(id)))
}

// session returns the session that an opening record names.
func (r *Record) session() string {
	switch {
	case r.Run != nil:
		return r.Run.Session
	case r.Question != nil:
		return r.Question.Session
	case r.Object != nil:
		return r.Object.Session
	}
	return ""
}
