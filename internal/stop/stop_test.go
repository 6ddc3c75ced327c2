package stop_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wield/chat"
	"wield/internal/stop"
)

// A recital is a model that says its events, then fails if err is set.
type recital struct {
	events []chat.Event
	err    error
	left   bool // whoever listened has gone before the end
}

func (r *recital) Stream(context.Context, *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		for _, e := range r.events {
			if !yield(e, nil) {
				r.left = true
				return
			}
		}
		if r.err != nil {
			yield(chat.Event{}, r.err)
		}
	}
}

func finish(reason chat.FinishReason) chat.Event {
	return chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: reason, Model: "m"}}
}

// says returns the events of texts, with their spans.
func says(texts ...string) []chat.Event {
	var list []chat.Event
	at := 0
	for _, s := range texts {
		list = append(list, chat.Event{Kind: chat.KindText, Text: s, At: at, End: at + len(s)})
		at += len(s)
	}
	return list
}

// hear returns the text that a client hears, the kinds of what else it gets, and the end.
func hear(t *testing.T, m chat.Model, stops ...string) (text string, kinds []chat.Kind, end *chat.Finish, err error) {
	t.Helper()
	at := 0
	for e, failed := range stop.New(m).Stream(t.Context(), &chat.Request{Stop: stops}) {
		switch {
		case failed != nil:
			return text, kinds, nil, failed
		case end != nil:
			t.Errorf("%v after the end", e.Kind)
		case e.Kind == chat.KindText:
			if e.Text == "" || e.At != at || e.End != at+len(e.Text) {
				t.Errorf("%q spans %d to %d after %d", e.Text, e.At, e.End, at)
			}
			at = e.End
			text += e.Text
		case e.Kind == chat.KindFinish:
			end = e.Detail.(*chat.Finish)
		default:
			kinds = append(kinds, e.Kind)
		}
	}
	return text, kinds, end, nil
}

func TestStop(t *testing.T) {
	for _, tc := range []struct {
		name  string
		texts []string
		stops []string
		want  string
		found string
	}{
		{"none asked for", []string{"one STOP two"}, nil, "one STOP two", ""},
		{"an empty one", []string{"one STOP two"}, []string{""}, "one STOP two", ""},
		{"in one piece", []string{"one STOP two"}, []string{"STOP"}, "one ", "STOP"},
		{"over three pieces", []string{"one S", "TO", "P two"}, []string{"STOP"}, "one ", "STOP"},
		{"at the beginning", []string{"STOP two"}, []string{"STOP"}, "", "STOP"},
		{"at the end", []string{"one", "\n\n"}, []string{"\n\n"}, "one", "\n\n"},
		{"begun and not ended", []string{"one ST", "AY"}, []string{"STOP"}, "one STAY", ""},
		{"begun at the end", []string{"one ST"}, []string{"STOP"}, "one ST", ""},
		{"begun twice", []string{"aab", "aab", "c."}, []string{"aabaabc"}, "", "aabaabc"},
		{"begun inside itself", []string{"ababa", "bc!"}, []string{"ababc"}, "ab", "ababc"},
		{"the first of several", []string{"one two three"}, []string{"three", "two"}, "one ", "two"},
		{"one that holds another", []string{"one END. two"}, []string{"END.", "."}, "one ", "END."},
		{"one inside another that is not complete", []string{"one ENx two"}, []string{"END", "x"}, "one EN", "x"},
		{"bytes of letters", []string{"gr\xc3", "\xbc\xc3\x9fe"}, []string{"ß"}, "grü", "ß"},
	} {
		m := &recital{events: append(says(tc.texts...), finish(chat.FinishLength))}
		text, _, end, err := hear(t, m, tc.stops...)
		want := chat.FinishLength
		if tc.found != "" {
			want = chat.FinishStop
		}
		if err != nil || text != tc.want || end == nil || end.Reason != want || end.Stop != tc.found ||
			m.left != (tc.found != "") {
			t.Errorf("%s: %q, end %+v, %v; the model was left: %v", tc.name, text, end, err, m.left)
		}
	}
}

// TestOtherEvents: what interrupts the text ends what was begun, and nothing overtakes it.
func TestOtherEvents(t *testing.T) {
	reasoning := chat.Event{Kind: chat.KindReasoning, Text: "STOP"}
	idle := chat.Event{Kind: chat.KindIdle}
	m := &recital{events: []chat.Event{reasoning, says("a ST")[0], idle, reasoning,
		{Kind: chat.KindText, Text: "OP b", At: 4, End: 8}, finish(chat.FinishStop)}}
	text, kinds, end, err := hear(t, m, "STOP")
	if err != nil || text != "a STOP b" || len(kinds) != 3 || end == nil || end.Stop != "" {
		t.Errorf("%q, %v, %+v, %v", text, kinds, end, err)
	}
	m = &recital{events: []chat.Event{says("a ST")[0], idle, {Kind: chat.KindText, Text: "OP b", At: 4, End: 8},
		reasoning}}
	if text, kinds, end, err = hear(t, m, "STOP"); err != nil || text != "a " || len(kinds) != 1 || end == nil ||
		end.Stop != "STOP" {
		t.Errorf("%q, %v, %+v, %v", text, kinds, end, err)
	}
	failure := errors.New("broken")
	m = &recital{events: says("a ST"), err: failure}
	if text, _, _, err = hear(t, m, "STOP"); text != "a ST" || !errors.Is(err, failure) {
		t.Errorf("%q, %v", text, err)
	}
}

// TestPieces: what is heard depends on the text and on nothing else.
func TestPieces(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		letters := rapid.StringMatching(`[ab]{0,24}`)
		text := letters.Draw(rt, "text")
		stops := rapid.SliceOfN(rapid.StringMatching(`[ab]{1,5}`), 1, 3).Draw(rt, "stops")
		// The first place at which a stop sequence ends, and the longest that ends there.
		want, found := text, ""
		for end := 1; end <= len(text) && found == ""; end++ {
			for _, s := range stops {
				if strings.HasSuffix(text[:end], s) && len(s) > len(found) {
					want, found = text[:end-len(s)], s
				}
			}
		}
		var pieces []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "piece")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		got, _, end, err := hear(t, &recital{events: append(says(pieces...), finish(chat.FinishStop))}, stops...)
		if err != nil || got != want || end.Stop != found {
			rt.Fatalf("%q in %q with %q: %q, stopped by %q, %v; want %q, %q", text, pieces, stops, got, end.Stop, err,
				want, found)
		}
	})
}
