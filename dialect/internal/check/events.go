// Package check checks the events of decoders, and makes texts for them: for the test kit and for tests of dialects.
package check

import (
	"fmt"
	"reflect"
	"strings"

	"wield/chat"
)

// Merge joins adjacent deltas of one kind: of text, reasoning, markup, and of the arguments of one call. What is left
// no longer depends on the borders between chunks. Candidates, which only comment on the others, come last.
func Merge(events []chat.Event) []chat.Event {
	var merged, candidates []chat.Event
	var joined []byte // the text of the last event, if it is made of several
	settle := func() {
		if len(joined) > 0 {
			merged[len(merged)-1].Text = string(joined)
			joined = joined[:0]
		}
	}
	for i := range events {
		e := &events[i]
		if e.Kind == chat.KindCandidate {
			candidates = append(candidates, *e)
			continue
		}
		if n := len(merged); n > 0 && joins(&merged[n-1], e) {
			if len(joined) == 0 {
				joined = append(joined, merged[n-1].Text...)
			}
			joined = append(joined, e.Text...)
			merged[n-1].End = e.End
			continue
		}
		settle()
		merged = append(merged, *e)
	}
	settle()
	return append(merged, candidates...)
}

// joins reports whether b goes on where a ends.
func joins(a, b *chat.Event) bool {
	switch a.Kind {
	case chat.KindText, chat.KindReasoning, chat.KindMarkup, chat.KindCallArgs:
		return a.Kind == b.Kind && a.End == b.At && a.Index == b.Index && a.ID == b.ID && a.Name == b.Name &&
			a.Flags == b.Flags && a.Detail == nil && b.Detail == nil
	}
	return false
}

// Diff describes the first difference between two lists of events, or returns "" if there is none.
func Diff(want, got []chat.Event) string {
	for i := range max(len(want), len(got)) {
		if i < len(want) && i < len(got) && same(&want[i], &got[i]) {
			continue
		}
		return fmt.Sprintf("event %d: want %s, got %s", i, at(want, i), at(got, i))
	}
	return ""
}

func at(events []chat.Event, i int) string {
	if i >= len(events) {
		return "no event"
	}
	return Format(events[i])
}

// Format writes an event on one line, for messages to people.
func Format(e chat.Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s[%d:%d]", e.Kind, e.At, e.End)
	switch e.Kind {
	case chat.KindCallStart, chat.KindCallArgs, chat.KindCallEnd, chat.KindRejected:
		fmt.Fprintf(&b, " #%d", e.Index)
	}
	if e.Flags != 0 {
		fmt.Fprintf(&b, " flags=%d", e.Flags)
	}
	if e.Name != "" || e.ID != "" {
		fmt.Fprintf(&b, " %s/%s", e.Name, e.ID)
	}
	if e.Text != "" {
		fmt.Fprintf(&b, " %s", Short(e.Text))
	}
	switch d := e.Detail.(type) {
	case *chat.Call:
		fmt.Fprintf(&b, " call[%d:%d] %s %s complete=%t dialect=%s id=%s", d.At, d.End, d.Name, Short(d.Arguments),
			d.Complete, d.Dialect, d.ID)
	case *chat.RejectedDetail:
		fmt.Fprintf(&b, " rejected[%d:%d] %s %s %s %s", d.At, d.End, d.Reason, d.Name, Short(d.Raw), d.Message)
	case *chat.OverrunDetail:
		fmt.Fprintf(&b, " overrun %q hard=%t", d.Marker, d.Hard)
	case *chat.NoteDetail:
		fmt.Fprintf(&b, " note[%d:%d] %s %s %s -> %s", d.At, d.End, d.Kind, d.Path, Short(d.Before), Short(d.After))
	case *chat.CandidateDetail:
		fmt.Fprintf(&b, " candidate[%d:%d] %s %s %s", d.At, d.End, d.Dialect, d.Outcome, d.Why)
	}
	return b.String()
}

// showWidth limits the text that a message shows.
const showWidth = 120

// Short quotes a text, and leaves out most of a long one.
func Short(s string) string {
	if len(s) > showWidth {
		return fmt.Sprintf("%q...(%d bytes)", s[:showWidth], len(s))
	}
	return fmt.Sprintf("%q", s)
}

// Merges reports whether Merge(got) is want, for events among which there is no candidate. It makes no garbage.
func Merges(want, got []chat.Event) bool {
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
	return a.Kind == b.Kind && a.Flags == b.Flags && a.Origin == b.Origin && a.Turn == b.Turn && a.Index == b.Index &&
		a.At == b.At && a.End == b.End && a.Text == b.Text && a.ID == b.ID && a.Name == b.Name &&
		(a.Detail == b.Detail || reflect.DeepEqual(a.Detail, b.Detail))
}
