package dialecttest

import (
	"errors"
	"reflect"
	"strings"

	"wield/chat"
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
	if err := Conservation(text, got); err != nil {
		return err
	}
	if merges(want, got) {
		return nil
	}
	if diff := Diff(want, Merge(got)); diff != "" {
		return errors.New(diff)
	}
	return nil
}

// merges reports whether Merge(got) is want, for events among which there is no candidate. It makes no garbage.
func merges(want, got []chat.Event) bool {
	for i := range want {
		if len(got) == 0 {
			return false
		}
		run := got[0]
		rest, ok := strings.CutPrefix(want[i].Text, run.Text)
		for got = got[1:]; ok && len(got) > 0 && joins(&run, &got[0]); got = got[1:] {
			rest, ok = strings.CutPrefix(rest, got[0].Text)
			run.End = got[0].End
		}
		run.Text = want[i].Text
		if !ok || rest != "" || !same(&want[i], &run) {
			return false
		}
	}
	return len(got) == 0
}

// same reports whether two events are the same in everything.
func same(a, b *chat.Event) bool {
	return a.Kind == b.Kind && a.Flags == b.Flags && a.Origin == b.Origin && a.Turn == b.Turn && a.Index == b.Index && a.At == b.At && a.End == b.End &&
		a.Text == b.Text && a.ID == b.ID && a.Name == b.Name && (a.Detail == b.Detail || reflect.DeepEqual(a.Detail, b.Detail))
}
