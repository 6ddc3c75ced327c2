package journal

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"wield/journal/record"
)

// A Hash is a SHA-256 sum.
type Hash [sha256.Size]byte

// String returns the sum in hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes the sum in hexadecimal digits.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (h *Hash) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil || len(b) != len(h) {
		return fmt.Errorf("%w: %q is no hash", record.ErrInvalid, text)
	}
	copy(h[:], b)
	return nil
}

// A Seal binds an entry to all entries before it.
type Seal struct {
	Salt []byte `json:"salt,omitempty"` // makes Leaf say nothing about what was deleted; goes with it
	Leaf Hash   `json:"leaf"`           // of the salt, the entry's place and its body
	Hash Hash   `json:"hash"`           // of the Hash of the entry before and Leaf
}

const saltSize = 16

// SealAfter gives an entry its seal. before is the Hash of the entry before it, zero for the first one.
func (e *Entry) SealAfter(before Hash) {
	e.Seal.Salt = make([]byte, saltSize)
	rand.Read(e.Seal.Salt) // never fails
	e.Seal.Leaf = e.leaf()
	e.Seal.Hash = link(before, e.Seal.Leaf)
}

func link(before, leaf Hash) Hash {
	var b [2 * sha256.Size]byte
	copy(b[:], before[:])
	copy(b[sha256.Size:], leaf[:])
	return sha256.Sum256(b[:])
}

// leaf hashes what an entry says. Lengths stand before the parts, so that no two entries are written alike.
func (e *Entry) leaf() Hash {
	b := make([]byte, 0, 256)
	part := func(s string) { b = append(binary.BigEndian.AppendUint64(b, uint64(len(s))), s...) }
	part(string(e.Seal.Salt))
	b = binary.BigEndian.AppendUint64(b, uint64(e.Position))
	part(e.Stream)
	b = binary.BigEndian.AppendUint64(b, uint64(e.Seq))
	part(e.Session)
	b = binary.BigEndian.AppendUint64(b, uint64(e.At.UnixMicro()))
	b = binary.BigEndian.AppendUint64(b, uint64(len(e.Body)))
	h := sha256.New()
	h.Write(b)
	h.Write(e.Body)
	return Hash(h.Sum(b[:0]))
}

// A Report holds the findings of Verify.
type Report struct {
	Entries  int64     `json:"entries"`
	Deleted  int64     `json:"deleted"` // entries of which only the hash is left
	Streams  int64     `json:"streams"`
	Calls    int64     `json:"calls"` // that were started
	Open     int64     `json:"open"`  // of those, how many have no result
	Head     Hash      `json:"head"`  // of the last entry. Kept elsewhere, it shows later that nothing was cut off
	Problems []Problem `json:"problems,omitempty"`
}

// A Problem is something that is wrong with a store.
type Problem struct {
	Position int64  `json:"position,omitempty"`
	Stream   string `json:"stream,omitempty"`
	What     string `json:"what"`
}

// maxProblems limits the problems reported: where one link is broken, all behind it may be.
const maxProblems = 100

// Verify reads the whole store and checks that the chain is whole, that every entry is what was hashed and can be read,
// that streams have no gaps, that what is missing was deleted by a record that says so, that no call has two starts or
// two results, and that the index agrees. since, if it is not zero, is a Head of an earlier report that must be in the
// chain.
//
// The error is about reading. What is wrong with the store is in the report.
func Verify(ctx context.Context, s Store, since Hash) (Report, error) {
	v := verifier{streams: make(map[string]*streamCheck), since: since, found: since == Hash{}}
	if err := v.heads(ctx, s); err != nil { // first those that there were, so that all their entries are read
		return v.report, err
	}
	for e, err := range s.Read(ctx, Query{Deleted: true}) {
		if err != nil {
			return v.report, err
		}
		v.entry(&e)
	}
	v.end()
	err := v.unknown(ctx, s)
	return v.report, err
}

type verifier struct {
	report  Report
	last    int64
	index   []Head // as it was before
	streams map[string]*streamCheck
	missing record.Deleted // the positions without words
	covered [][2]int64     // ranges that records of deletions name
	since   Hash
	found   bool
}

type streamCheck struct {
	seq, last int64
	session   string
	calls     map[string]int // 1 started, 2 has a result
}

func (v *verifier) problem(pos int64, stream, format string, args ...any) {
	if len(v.report.Problems) < maxProblems {
		v.report.Problems = append(v.report.Problems, Problem{pos, stream, fmt.Sprintf(format, args...)})
	}
}

func (v *verifier) entry(e *Entry) {
	if e.Position != v.last+1 {
		v.problem(e.Position, e.Stream, "entries %d to %d are missing", v.last+1, e.Position-1)
	}
	if link(v.report.Head, e.Seal.Leaf) != e.Seal.Hash {
		v.problem(e.Position, e.Stream, "the hash does not follow from the entry before it")
	}
	v.last, v.report.Head = e.Position, e.Seal.Hash
	v.report.Entries++
	v.found = v.found || e.Seal.Hash == v.since
	if e.Deleted() {
		v.report.Deleted++
		v.missing.Add(e.Position)
		return
	}
	s := v.place(e)
	if e.leaf() != e.Seal.Leaf {
		v.problem(e.Position, e.Stream, "the entry was changed")
		return
	}
	if _, err := record.Decode(e.Body); err != nil {
		v.problem(e.Position, e.Stream, "%v", err)
		return
	}
	v.call(s, e)
	if e.Record.Kind == record.KindDeleted {
		v.covered = append(v.covered, e.Record.Deleted.Positions...)
	}
}

// place checks an entry's place in its stream, and returns what is known of that.
func (v *verifier) place(e *Entry) *streamCheck {
	s := v.streams[e.Stream]
	if s == nil {
		s = &streamCheck{session: e.Session, calls: make(map[string]int)}
		v.streams[e.Stream] = s
		v.report.Streams++
	}
	if e.Seq != s.seq+1 || e.Session != s.session {
		v.problem(e.Position, e.Stream, "number %d of session %q follows number %d of session %q", e.Seq, e.Session,
			s.seq, s.session)
	}
	s.seq, s.last = e.Seq, e.Position
	return s
}

// call checks that a call has one start and one result.
func (v *verifier) call(s *streamCheck, e *Entry) {
	switch r := &e.Record; r.Kind {
	case record.KindStart:
		if s.calls[r.Start.CallID] != 0 {
			v.problem(e.Position, e.Stream, "call %s was started before", r.Start.CallID)
		}
		s.calls[r.Start.CallID] = 1
		v.report.Calls++
		v.report.Open++
	case record.KindResult:
		switch was := s.calls[r.Result.CallID]; {
		case was == 2:
			v.problem(e.Position, e.Stream, "call %s has a second result", r.Result.CallID)
		case was == 1:
			v.report.Open--
		}
		s.calls[r.Result.CallID] = 2
	}
}

// heads reads the index.
func (v *verifier) heads(ctx context.Context, s Store) error {
	for h, err := range s.Heads(ctx, HeadQuery{}) {
		if err != nil {
			return err
		}
		v.index = append(v.index, h)
	}
	return nil
}

// end checks what can be said once all entries were seen.
func (v *verifier) end() {
	edge := int64(0) // what stands behind it may be newer than the index
	for _, h := range v.index {
		edge = max(edge, h.Last)
	}
	for _, h := range v.index {
		s := v.streams[h.Stream]
		switch {
		case s == nil && within(v.covered, h.Last): // it was deleted meanwhile
		case s == nil:
			v.problem(h.Last, h.Stream, "the index names a stream that has no entries")
		case s.seq < h.Seq || s.last < h.Last || s.seq > h.Seq && s.last <= edge || s.session != h.Session:
			v.problem(h.Last, h.Stream, "the index says that the stream has %d entries, it has %d", h.Seq, s.seq)
		}
	}
	for _, m := range v.missing.Positions {
		for p := m[0]; p <= m[1]; p++ {
			if !within(v.covered, p) {
				v.problem(p, "", "the entry was removed, and no record says that it was deleted")
			}
		}
	}
	if !v.found {
		v.problem(0, "", "the hash %s is not in the chain: entries were cut off or replaced", v.since)
	}
}

// unknown reports streams that the index does not know although they are still there.
func (v *verifier) unknown(ctx context.Context, s Store) error {
	for _, h := range v.index {
		delete(v.streams, h.Stream)
	}
	if len(v.streams) == 0 {
		return nil
	}
	v.index = nil
	if err := v.heads(ctx, s); err != nil { // those that are new
		return err
	}
	for _, h := range v.index {
		delete(v.streams, h.Stream)
	}
	for id, c := range v.streams {
		for _, err := range s.Read(ctx, Query{Stream: id, Limit: 1}) {
			if err != nil {
				return err
			}
			v.problem(c.last, id, "the index does not know the stream")
		}
	}
	return nil
}

func within(ranges [][2]int64, p int64) bool {
	for _, r := range ranges {
		if p >= r[0] && p <= r[1] {
			return true
		}
	}
	return false
}
