package journal

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"wield/journal/record"
)

// A Store keeps entries. Several goroutines may use one at once, and several processes may have one open that
// is on disk.
type Store interface {
	// Append adds records to a stream whose last entry has the number after, 0 for a new stream, and returns
	// the position of the last one. All of them are added or none. A stream that is longer or shorter fails
	// with ErrConflict, a second start or result of one call with ErrDuplicate, what is no record with
	// record.ErrInvalid.
	Append(ctx context.Context, stream string, after int64, records ...record.Record) (int64, error)

	// Read yields the entries that q asks for and ends. An error comes last.
	Read(ctx context.Context, q Query) iter.Seq2[Entry, error]

	// Watch is Read and then continues with what is appended, by whatever process, until ctx ends; its error comes
	// last.
	Watch(ctx context.Context, q Query) iter.Seq2[Entry, error]

	// Heads yields what is known of streams, without reading them.
	Heads(ctx context.Context, q HeadQuery) iter.Seq2[Head, error]

	// Claim makes owner the one who drives a stream for the given time. An owner that has the lease gets more
	// time. Another one fails with ErrHeld until the time is over; then it adds a record.Claimed, so that
	// what the owner before it appends fails with ErrConflict. There is no waiting. An owner's name must be
	// nobody else's: see NewID.
	Claim(ctx context.Context, stream, owner string, ttl time.Duration) (Lease, error)

	// Release ends a lease. One that was lost is none, which is no error.
	Release(ctx context.Context, l Lease) error

	// Delete removes the words of all streams of a session. What stays are the hashes of its entries and a
	// record of their positions. It fails with ErrHeld while a run of the session is driven, and with
	// ErrNotFound.
	Delete(ctx context.Context, session string, why record.DeleteReason) error

	// Close ends the store. What was appended is on the disk.
	Close() error
}

// Failures of a store. record.ErrVersion and record.ErrInvalid are others.
var (
	ErrConflict  = errors.New("journal: the stream was changed by another")
	ErrDuplicate = errors.New("journal: the call has such a record already")
	ErrHeld      = errors.New("journal: another process holds the lease")
	ErrNotFound  = errors.New("journal: there is no such stream or session")
	ErrCorrupt   = errors.New("journal: the store is damaged")
	ErrFull      = errors.New("journal: no room is left")
	ErrReadOnly  = errors.New("journal: the store cannot be written")
	ErrDisk      = errors.New("journal: the disk failed")
	ErrLocked    = errors.New("journal: the store is locked by another process")
	ErrLost      = errors.New("journal: the store cannot be reached")
	ErrClosed    = errors.New("journal: the store is closed")
)

// IsFailure reports whether an error is of a journal, and not of what uses it.
func IsFailure(err error) bool {
	return slices.ContainsFunc([]error{ErrConflict, ErrDuplicate, ErrHeld, ErrNotFound, record.ErrInvalid,
		record.ErrVersion, ErrCorrupt, ErrFull, ErrReadOnly, ErrDisk, ErrLocked, ErrLost, ErrClosed},
		func(kind error) bool { return errors.Is(err, kind) })
}

// Passes reports whether an error is one of a journal that may be over in a while.
func Passes(err error) bool {
	return errors.Is(err, ErrFull) || errors.Is(err, ErrLocked) || errors.Is(err, ErrReadOnly) ||
		errors.Is(err, ErrLost)
}

// A ConflictError says how long a stream is that was expected to have another length.
type ConflictError struct {
	Stream string
	After  int64 // the number that was expected
	Last   int64 // the number that its last entry has; 0: there is no such stream
}

// Error says what was expected.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v: %s has %d entries, not %d", ErrConflict, e.Stream, e.Last, e.After)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// A HeldError says who has a lease and until when.
type HeldError struct {
	Stream string
	Owner  string
	Until  time.Time
	// until then by the clock of the store, which may be another than that of the caller; 0: not known
	Left time.Duration
}

// Error names the owner.
func (e *HeldError) Error() string {
	return fmt.Sprintf("%v: %s is driven by %s until %s", ErrHeld, e.Stream, e.Owner, e.Until.Format(time.RFC3339))
}

// Is makes errors.Is(err, ErrHeld) true.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// An Entry is a record in its place.
type Entry struct {
	Position int64         `json:"position"` // among all entries of the store, from 1
	Stream   string        `json:"stream"`
	Seq      int64         `json:"seq"` // within the stream, from 1
	Session  string        `json:"session,omitempty"`
	At       time.Time     `json:"at"` // as the clock stood; the order is that of Position
	Record   record.Record `json:"record"`
	Seal     Seal          `json:"seal"`

	// Body is the JSON form of the record, as it is stored. It is empty when the entry was deleted: then only
	// Position and Seal are known.
	Body []byte `json:"-"`
}

// Deleted reports whether only the entry's hash is left.
func (e *Entry) Deleted() bool { return len(e.Body) == 0 }

// A Query says which entries are wanted. The zero value wants all of them.
type Query struct {
	Stream  string        // only of this stream
	Session string        // only of this session
	Kinds   []record.Kind // only of these kinds
	After   int64         // only behind this position
	Seq     int64         // only behind this number, with Stream
	Limit   int           // no more than this many; 0: all. Watch does not look at it
	Deleted bool          // also those that were deleted
}

// A HeadQuery says which streams are wanted, those that changed last first. The zero value wants all of them.
type HeadQuery struct {
	Stream  string
	Session string
	Opened  record.Kind    // only streams that a record of this kind opened
	States  []record.State // only streams in one of these
	Before  int64          // only streams whose last entry stands before this position; 0: all
	Limit   int            // no more than this many; 0: all
}

// A Head describes a stream.
type Head struct {
	Stream  string       `json:"stream"`
	Session string       `json:"session,omitempty"`
	Opened  record.Kind  `json:"opened"` // kind of its first record
	State   record.State `json:"state"`
	Seq     int64        `json:"seq"`   // number of its last entry
	First   int64        `json:"first"` // position of its first entry
	Last    int64        `json:"last"`  // position of its last entry
	Bytes   int64        `json:"bytes"` // of its records
	Begun   time.Time    `json:"begun"`
	Changed time.Time    `json:"changed"`
}

// A Lease says that a stream is driven by one owner for now.
type Lease struct {
	Stream string
	Owner  string
	Token  int64 // grows with each new owner
	Seq    int64 // number of the stream's last entry when the lease was given
	Until  time.Time
}

// Options apply to all stores. The zero value is ready.
type Options struct {
	// Mask takes secrets out of records before they are stored; nil: they are stored as they are.
	Mask record.Mask
	// Now tells the time; nil: time.Now.
	Now func() time.Time
}

// Time returns the time, to the microsecond, which is what every store keeps.
func (o *Options) Time() time.Time {
	now := time.Now
	if o.Now != nil {
		now = o.Now
	}
	return now().UTC().Truncate(time.Microsecond)
}

// NewID returns an id that nobody else has, such as run_6f1c.. for the prefix run.
func NewID(prefix string) string {
	var random [12]byte
	rand.Read(random[:]) // never fails
	return prefix + "_" + hex.EncodeToString(random[:])
}

// Held reports whether a lease stands at a time. One that lasts longer than leases are given for comes from a
// clock that was ahead, and does not stand: taking over a run that is still driven stops its owner, and does
// no other harm.
func (l *Lease) Held(now time.Time) bool {
	return l.Owner != "" && now.Before(l.Until) && l.Until.Sub(now) <= MaxLease
}

// MaxLease is the longest time that a lease is given for. Whoever asks for more, or for none, gets this.
const MaxLease = 10 * time.Minute

// LeaseTime returns the time that a lease is given for.
func LeaseTime(ttl time.Duration) time.Duration {
	if ttl <= 0 || ttl > MaxLease {
		return MaxLease
	}
	return ttl
}
