package dialecttest

import (
	"errors"

	"wield/chat"
	"wield/dialect/internal/check"
)

// A reader reads texts, many times each, with one decoder where that can be Reset and without making garbage: a text
// of n bytes is read in more than n ways.
type reader struct {
	mk  Maker
	d   Decoder // to be Reset and used again; nil: the next reading makes one
	all []chat.Event
	buf []chat.Event
}

// use has the reader read with decoders of another kind.
func (r *reader) use(mk Maker) *reader {
	r.mk, r.d = mk, nil
	return r
}

// A resetError says that a decoder which was Reset does not read as a fresh one does.
type resetError struct{ err error }

func (e *resetError) Error() string { return "after Reset behind another reading: " + e.err.Error() }
func (e *resetError) Unwrap() error { return e.err }

// read returns the events of a text that is cut at the offsets. They are good until the next reading.
func (r *reader) read(text string, cuts []int) (events []chat.Event, err error) {
	defer caught(&err)
	d := r.d
	r.d = nil // not used again after a panic
	if again, ok := d.(interface{ Reset() }); ok {
		again.Reset()
	} else {
		d = r.mk()
	}
	r.all, r.buf = decode(d, r.all[:0], r.buf[:0], text, cuts)
	if _, ok := d.(interface{ Reset() }); ok {
		r.d = d
	}
	return r.all, nil
}

// check reads a text that is cut at the offsets and says what is different from what is wanted, which is merged, or
// wrong. It is a *resetError if a fresh decoder does better.
func (r *reader) check(text string, cuts []int, want []chat.Event) error {
	used := r.d != nil
	got, err := r.read(text, cuts)
	if err = compare(text, want, got, err); err == nil || !used {
		return err
	}
	r.d = nil
	got, freshErr := r.read(text, cuts)
	if freshErr = compare(text, want, got, freshErr); freshErr != nil {
		return freshErr
	}
	return &resetError{err}
}

// compare compares what was read with what is wanted. It passes on the error of reading.
func compare(text string, want, got []chat.Event, err error) error {
	if err != nil {
		return err
	}
	if err := check.Conservation(text, got); err != nil {
		return err
	}
	if check.Merges(want, got) {
		return nil
	}
	if diff := check.Diff(want, check.Merge(got)); diff != "" {
		return errors.New(diff)
	}
	return nil
}
