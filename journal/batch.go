package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Batch holds the records of one Append, checked and written as JSON. It is for packages that implement a Store.
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

// MaxRecord limits the JSON form of a record.
const MaxRecord = 64 << 20

// Prepare checks records and writes them as JSON.
func (o *Options) Prepare(stream string, after int64, records []Record) (Batch, error) {
	b := Batch{Stream: stream, After: after, Rows: make([]Row, 0, len(records))}
	if !isID(stream) || after < 0 || len(records) == 0 {
		return b, fmt.Errorf("%w: an append names a stream, a number and at least one record", ErrRecord)
	}
	for i := range records {
		r := o.masked(&records[i])
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
				return b, fmt.Errorf("%w: a record of kind %s names the session that its stream belongs to", ErrRecord,
					r.Kind)
			}
		}
		b.add(r, o.mask(body))
	}
	for _, row := range b.Rows {
		if len(row.Body) > MaxRecord {
			return b, fmt.Errorf("%w: a record of kind %s has %d bytes, and may have %d", ErrRecord, row.Kind,
				len(row.Body), MaxRecord)
		}
	}
	return b, nil
}

// mayStand checks that a record may begin a stream, or stand behind others.
func (r *Record) mayStand(first bool) error {
	switch rule := rules[r.Kind]; {
	case rule.store:
		return fmt.Errorf("%w: only a store writes records of kind %s", ErrRecord, r.Kind)
	case first && !rule.opens:
		return fmt.Errorf("%w: a stream does not begin with a record of kind %s", ErrRecord, r.Kind)
	case !first && rule.opens && r.Object == nil:
		return fmt.Errorf("%w: a record of kind %s only begins a stream", ErrRecord, r.Kind)
	}
	return nil
}

// Claimed returns the batch that gives a stream to a new owner.
func (o *Options) Claimed(stream string, after int64, owner string) (Batch, error) {
	return single(stream, after, &Record{Kind: KindClaimed, StoreRecord: StoreRecord{Claimed: &Claimed{owner}}})
}

// Deleted returns the batch that says which entries were deleted.
func (o *Options) Deleted(session string, why DeleteReason, positions []int64) (Batch, error) {
	deleted := &Deleted{Session: session, Reason: why, Positions: rangesOf(positions)}
	return single(NewID("del"), 0, &Record{Kind: KindDeleted, StoreRecord: StoreRecord{Deleted: deleted}})
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

// mask takes secrets out of the JSON form of a record: once out of the whole, where the key of a value can be seen, and
// out of each string that reads otherwise without its escapes.
func (o *Options) mask(body []byte) []byte {
	if o.Mask == nil {
		return body
	}
	text := string(body)
	if clean := o.Mask(text); clean != text {
		masked := []byte(clean)
		if _, err := DecodeRecord(masked); err != nil {
			return o.maskStrings(body, false)
		}
		body = masked
	}
	return o.maskStrings(body, true)
}

// masked masks what its JSON form hides: text that is no UTF-8 is written as base64.
func (o *Options) masked(r *Record) *Record {
	odd := func(t Text) bool { return !utf8.ValidString(string(t)) }
	if o.Mask == nil || r.TurnEnd == nil || !odd(r.TurnEnd.Raw) && !slices.ContainsFunc(r.TurnEnd.Before, odd) {
		return r
	}
	clean, end := *r, *r.TurnEnd
	end.Raw = Text(o.Mask(string(end.Raw)))
	end.Before = slices.Clone(end.Before)
	for i, text := range end.Before {
		end.Before[i] = Text(o.Mask(string(text)))
	}
	clean.TurnEnd = &end
	return &clean
}

// maskStrings masks each string of JSON text alone, or only those with escapes. The text is JSON, so that every string
// has an end.
func (o *Options) maskStrings(body []byte, escaped bool) []byte {
	if escaped && bytes.IndexByte(body, '\\') < 0 {
		return body
	}
	out := make([]byte, 0, len(body))
	for {
		at := bytes.IndexByte(body, '"')
		if at < 0 {
			return append(out, body...)
		}
		end, escapes := at+1, false
		for ; body[end] != '"'; end++ {
			if body[end] == '\\' {
				end, escapes = end+1, true
			}
		}
		quoted := body[at : end+1]
		if escapes || !escaped {
			quoted = o.maskString(quoted)
		}
		out = append(append(out, body[:at]...), quoted...)
		body = body[end+1:]
	}
}

// maskString masks one string, and the strings within if it holds JSON, as the arguments of a call do.
func (o *Options) maskString(quoted []byte) []byte {
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return quoted
	}
	clean := o.Mask(s)
	if inner := []byte(clean); len(inner) > 0 && (inner[0] == '{' || inner[0] == '[') && json.Valid(inner) {
		clean = string(o.maskStrings(inner, false))
	}
	again, err := encode(clean)
	if clean == s || err != nil {
		return quoted
	}
	return again
}
