// Package capture keeps the last exchanges of the gateway, to be looked at when something went wrong: what a
// client sent and what it got. It is the one place of the service, beside a log that was told to, where words
// of a conversation are kept.
//
// Words:
//
//   - A record is one exchange with its bodies.
//   - The ring holds the last records, bounded in number and in bytes; what is older is forgotten.
//   - What is shown or written anywhere is masked: what looks like a key, a password or a token is replaced. In memory
//     records are as they were, since to mask costs far more than to keep, and most are never looked at.
package capture

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"wield/chat"
	"wield/internal/mask"
)

// Bounds of what is kept.
const (
	MaxBody  = 128 << 10 // of a request or an answer; the rest is cut off
	maxBytes = 8 << 20   // of all bodies in the ring
)

// A Record is one exchange.
type Record struct {
	ID       string        `json:"id"` // of the request, as the client and the log know it
	Time     time.Time     `json:"time"`
	Path     string        `json:"path"`
	Model    string        `json:"model,omitempty"`
	Key      string        `json:"key,omitempty"` // name of the key's holder
	Status   int           `json:"status"`
	Streamed bool          `json:"streamed"`
	Bounces  int           `json:"bounces,omitempty"`
	Error    string        `json:"error,omitempty"`   // kind
	Dropped  []string      `json:"dropped,omitempty"` // fields of the request that the backend was not sent
	Took     time.Duration `json:"took_ns"`
	Usage    chat.Usage    `json:"usage,omitzero"` // of all turns

	RequestBytes int64 `json:"request_bytes"` // before anything was cut off
	AnswerBytes  int64 `json:"answer_bytes"`

	Request Body `json:"request,omitempty"` // not in a list
	Answer  Body `json:"answer,omitempty"`

	Turns []Turn `json:"turns,omitempty"` // what stands behind the answer; not in a list
	over  bool   // there were more

	Prefix *Prefix `json:"prefix,omitempty"` // nil: no prompt of this conversation came before
	prompt *prompt
	sent   *chat.Request // until the record is kept
}

// A Body holds what is kept of a request or an answer. Marshalled, it is masked.
type Body []byte

// Append returns b with what of p is kept.
func (b Body) Append(p []byte) Body {
	if room := MaxBody - len(b); len(p) > room {
		p = p[:room]
	}
	return append(b, p...)
}

// MarshalJSON returns the body as a string, masked.
func (b Body) MarshalJSON() ([]byte, error) { return json.Marshal(mask.Text(string(b))) }

func (r *Record) size() int {
	n := len(r.Request) + len(r.Answer)
	if r.prompt != nil {
		n += len(r.prompt.lines) * entrySize
	}
	for i := range r.Turns {
		n += r.Turns[i].size()
	}
	return n
}

// Options say what is kept, and where.
type Options struct {
	Keep int    // records; 0: 500
	Dir  string // directory of files to which each record is written as well; empty: none

	// Hide takes secrets out of what is shown or written, beside those that have the form of one; nil:
	// nothing more is taken out.
	Hide func(string) string
}

// A Ring holds the last records. It is safe for concurrent use.
type Ring struct {
	keep int
	disk *disk
	hide func(string) string
	seed maphash.Seed

	mu      sync.Mutex
	records []*Record // oldest first
	bytes   int
}

const defaultKeep = 500

// New returns an empty ring. The error says why the directory cannot be written to.
func New(o Options) (*Ring, error) {
	if o.Keep <= 0 {
		o.Keep = defaultKeep
	}
	r := &Ring{keep: o.Keep, hide: o.Hide, seed: maphash.MakeSeed()}
	if o.Dir == "" {
		return r, nil
	}
	d, err := openDisk(o.Dir, o.Keep)
	if err != nil {
		return nil, fmt.Errorf("capture: %w", err)
	}
	r.disk = d
	return r, nil
}

// Add keeps a record. It must not be changed afterwards. The error says that it could not be written to disk;
// it is kept in memory all the same.
func (r *Ring) Add(rec *Record) error {
	rec.detach()
	if rec.sent != nil {
		rec.prompt = promptOf(r.seed, rec.sent)
	}
	r.mu.Lock()
	r.compare(rec)
	r.records = append(r.records, rec)
	r.bytes += rec.size()
	drop := max(len(r.records)-r.keep, 0)
	for _, old := range r.records[:drop] {
		r.bytes -= old.size()
	}
	for drop < len(r.records)-1 && r.bytes > maxBytes {
		r.bytes -= r.records[drop].size()
		drop++
	}
	clear(r.records[:drop]) // so that they are given back before the slice is
	r.records = r.records[drop:]
	r.mu.Unlock()
	if r.disk == nil {
		return nil
	}
	return r.disk.write(r.shown(rec))
}

// List returns the records, newest first, without their bodies.
func (r *Ring) List() []Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Record, 0, len(r.records))
	for i := len(r.records) - 1; i >= 0; i-- {
		rec := *r.records[i]
		rec.Request, rec.Answer, rec.Turns, rec.Prefix = nil, nil, nil, nil
		list = append(list, rec)
	}
	return list
}

// All returns the records themselves, newest first. They must not be changed.
func (r *Ring) All() []*Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*Record, 0, len(r.records))
	for i := len(r.records) - 1; i >= 0; i-- {
		list = append(list, r.shown(r.records[i]))
	}
	return list
}

// Get returns the newest record of a request, or nil.
func (r *Ring) Get(id string) *Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := len(r.records) - 1; i >= 0; i-- {
		if r.records[i].ID == id {
			return r.shown(r.records[i])
		}
	}
	return nil
}

// shown returns a record without the secrets that are to be hidden.
func (r *Ring) shown(rec *Record) *Record {
	if r.hide == nil {
		return rec
	}
	out := *rec
	r.hideIn(&out.Request, &out.Answer)
	if rec.Prefix != nil {
		prefix := *rec.Prefix
		r.hideIn(&prefix.Line)
		out.Prefix = &prefix
	}
	out.Turns = slices.Clone(rec.Turns)
	for i := range out.Turns {
		t := &out.Turns[i]
		r.hideIn(&t.Raw)
		t.Sent, t.Calls, t.Notes = slices.Clone(t.Sent), slices.Clone(t.Calls), slices.Clone(t.Notes)
		for j := range t.Sent {
			r.hideIn(&t.Sent[j].Text)
		}
		for j := range t.Calls {
			r.hideIn(&t.Calls[j].Arguments)
		}
		for j := range t.Notes {
			r.hideIn(&t.Notes[j].Before, &t.Notes[j].After)
		}
		t.Rejected = slices.Clone(t.Rejected)
		for j := range t.Rejected {
			t.Rejected[j].Message = r.hide(t.Rejected[j].Message)
			r.hideIn(&t.Rejected[j].Raw)
		}
		if t.Bounce != nil {
			b := *t.Bounce
			r.hideIn(&b.Suppressed, &b.Sent)
			t.Bounce = &b
		}
	}
	return &out
}

func (r *Ring) hideIn(bodies ...*Body) {
	for _, b := range bodies {
		if len(*b) > 0 {
			*b = Body(r.hide(string(*b)))
		}
	}
}

// Close ends the writing to disk.
func (r *Ring) Close() error {
	if r.disk == nil {
		return nil
	}
	return r.disk.close()
}

// disk writes records to a file, which gives way to a new one when it holds as many as are kept. One file
// before it stays.
type disk struct {
	dir  string
	keep int

	mu     sync.Mutex
	f      *os.File // nil: none could be opened
	n      int
	size   int64 // of the whole lines
	closed bool
}

const (
	// File holds the latest records, in the directory of files.
	File       = "captures.jsonl"
	formerFile = "captures.1.jsonl"
)

func openDisk(dir string, keep int) (*disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	d := &disk{dir: dir, keep: keep}
	return d, d.open()
}

// open begins a new file. The one of an earlier run becomes the former one.
func (d *disk) open() error {
	name := filepath.Join(d.dir, File)
	if err := os.Rename(name, filepath.Join(d.dir, formerFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600) // not what a link leads to
	d.f, d.n, d.size = f, 0, 0
	return err
}

func (d *disk) write(rec *Record) error {
	line, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return os.ErrClosed
	}
	if d.n >= d.keep && d.f != nil {
		err = d.f.Close()
		d.f = nil
	}
	if d.f == nil { // or the disk was full when it was time for a new one
		err = errors.Join(err, d.open())
	}
	if err != nil {
		return err
	}
	if _, err = io.WriteString(d.f, string(line)+"\n"); err != nil {
		_, seek := d.f.Seek(d.size, io.SeekStart)
		return errors.Join(err, d.f.Truncate(d.size), seek) // half a line would spoil the next
	}
	d.n++
	d.size += int64(len(line)) + 1
	return nil
}

func (d *disk) close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.f == nil {
		return nil
	}
	err := d.f.Close()
	d.f = nil
	return err
}
