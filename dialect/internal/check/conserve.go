package check

import (
	"encoding/json"
	"fmt"
	"strings"

	"wield/chat"
)

// covers tells which kinds of events stand for bytes of the text. Notes and candidates only point at some.
func covers(e *chat.Event) bool {
	switch e.Kind {
	case chat.KindText, chat.KindReasoning, chat.KindMarkup, chat.KindCallStart, chat.KindCallArgs, chat.KindCallEnd,
		chat.KindRejected:
		return e.Flags&chat.FlagPromoted == 0
	}
	return false
}

// Conservation checks that the events account for every byte of text: their spans follow one another without
// gap or overlap from the first byte to the last, text and reasoning deltas are the bytes of their spans (or,
// within a JSON string, what they stand for), and a rejected attempt's raw text is that of its own span.
// Calls that were promoted from reasoning point into bytes that were shown before, and are only held to lie
// inside the text.
func Conservation(text string, events []chat.Event) error {
	pos := 0
	for i := range events {
		e := &events[i]
		if e.At < 0 || e.End < e.At || e.End > len(text) {
			return fmt.Errorf("event %d, %s: span outside the text of %d bytes", i, Format(*e), len(text))
		}
		if err := verbatim(text, e); err != nil {
			return fmt.Errorf("event %d, %s: %w", i, Format(*e), err)
		}
		if !covers(e) {
			continue
		}
		if e.At != pos {
			return fmt.Errorf("event %d, %s: begins at %d, the one before ended at %d", i, Format(*e), e.At, pos)
		}
		pos = e.End
	}
	if pos != len(text) {
		return fmt.Errorf("the events end at %d of %d bytes; lost: %s", pos, len(text), Short(text[pos:]))
	}
	return nil
}

// verbatim checks that what an event shows is what stands in its span.
func verbatim(text string, e *chat.Event) error {
	switch e.Kind {
	case chat.KindText, chat.KindReasoning:
		if e.Text != text[e.At:e.End] && e.Flags&chat.FlagDecoded == 0 {
			return fmt.Errorf("the span holds %s", Short(text[e.At:e.End]))
		}
		if e.Text == "" {
			return fmt.Errorf("an empty delta")
		}
	case chat.KindCallEnd:
		if c := e.Detail.(*chat.Call); c.At < 0 || c.End < c.At || c.End > len(text) {
			return fmt.Errorf("the call's span lies outside the text")
		}
	case chat.KindRejected:
		r := e.Detail.(*chat.RejectedDetail)
		if r.At < 0 || r.End < r.At || r.End > len(text) || r.Raw != text[r.At:r.End] {
			return fmt.Errorf("the raw text is not that of its span")
		}
		if r.End != e.End || r.At > e.At {
			return fmt.Errorf("the event's span is not the rest of the attempt's")
		}
	}
	return nil
}

// Structure checks how calls are opened and closed: indexes count from 0; a call is closed once, by the end
// or the rejection of the same index, before the next opens; deltas come only inside; joined, they are the
// arguments; a complete call has a name, an id and a JSON object as arguments, and its span holds those of
// its events. The end of the turn is reported once, and no call follows it.
func Structure(events []chat.Event) error {
	s := structure{open: -1}
	for i := range events {
		if err := s.step(&events[i]); err != nil {
			return fmt.Errorf("event %d, %s: %w", i, Format(events[i]), err)
		}
	}
	if s.open >= 0 {
		return fmt.Errorf("call %d is never closed", s.open)
	}
	return nil
}

type structure struct {
	next  int // index of the next call
	open  int // index of the open call, -1: none
	start chat.Event
	args  strings.Builder
	end   int // of the last complete call
	over  bool
}

func (s *structure) step(e *chat.Event) error {
	if s.over && (e.Kind == chat.KindCallStart || e.Kind == chat.KindRejected) {
		return fmt.Errorf("it stands behind the end of the turn")
	}
	switch e.Kind {
	case chat.KindOverrun:
		return s.overrun(e)
	case chat.KindCallStart:
		if s.open >= 0 {
			return fmt.Errorf("call %d is still open", s.open)
		}
		if e.Index != s.next {
			return fmt.Errorf("index is not %d", s.next)
		}
		if e.Name == "" || e.ID == "" {
			return fmt.Errorf("no name or no id")
		}
		s.open, s.start = e.Index, *e
		s.next++
		s.args.Reset()
	case chat.KindCallArgs:
		if e.Index != s.open {
			return fmt.Errorf("arguments of a call that is not open")
		}
		s.args.WriteString(e.Text)
	case chat.KindCallEnd:
		if e.Index != s.open {
			return fmt.Errorf("end of a call that is not open")
		}
		s.open = -1
		return s.check(e)
	case chat.KindRejected:
		d, ok := e.Detail.(*chat.RejectedDetail)
		if !ok {
			return fmt.Errorf("no detail")
		}
		if e.Index != s.open {
			return fmt.Errorf("index must be that of the open call, or -1: %d", s.open)
		}
		if s.open >= 0 && d.At > s.start.At {
			return fmt.Errorf("the raw text begins after the call did, at %d", s.start.At)
		}
		s.open = -1
	case chat.KindNote:
		if d, ok := e.Detail.(*chat.NoteDetail); !ok || d.Kind == "" {
			return fmt.Errorf("no detail")
		}
	case chat.KindText, chat.KindReasoning, chat.KindMarkup:
		if s.open >= 0 {
			return fmt.Errorf("call %d is still open", s.open)
		}
	}
	return nil
}

// overrun checks the event that tells of the end of the turn.
func (s *structure) overrun(e *chat.Event) error {
	d, ok := e.Detail.(*chat.OverrunDetail)
	switch {
	case !ok || d.Marker == "":
		return fmt.Errorf("no detail")
	case e.At != e.End:
		return fmt.Errorf("its span is not empty")
	case d.At != e.At:
		return fmt.Errorf("its detail tells another place, %d", d.At)
	case s.open >= 0:
		return fmt.Errorf("call %d is still open", s.open)
	case s.over:
		return fmt.Errorf("the turn has ended before")
	}
	s.over = true
	return nil
}

// check compares the end of a call with what came before it.
func (s *structure) check(e *chat.Event) error {
	c, ok := e.Detail.(*chat.Call)
	if !ok {
		return fmt.Errorf("no detail")
	}
	switch {
	case c.Index != e.Index, c.Name != s.start.Name, c.ID != s.start.ID, c.Origin != s.start.Origin,
		e.Flags != s.start.Flags:
		return fmt.Errorf("differs from its start, %s", Format(s.start))
	case c.Arguments != s.args.String():
		return fmt.Errorf("the deltas give %s", Short(s.args.String()))
	case c.At > s.start.At || c.End < e.End:
		return fmt.Errorf("the call's span does not hold those of its events, which begin at %d", s.start.At)
	case e.Flags&chat.FlagPromoted == 0 && c.At < s.end:
		return fmt.Errorf("the call's span overlaps that of the one before, which ends at %d", s.end)
	case c.Complete &&
		(!json.Valid([]byte(c.Arguments)) || !strings.HasPrefix(strings.TrimLeft(c.Arguments, " \t\r\n"), "{")):
		return fmt.Errorf("the arguments are no JSON object")
	}
	s.end = c.End
	return nil
}
