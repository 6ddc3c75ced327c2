package anthropic

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wield/chat"
)

func readData(lines []string) (events []chat.Event, err error) {
	var r StreamReader
	for _, line := range lines {
		data := []byte(line)
		events, err = r.Feed(events, data)
		clear(data) // events must not refer to it
		if err != nil {
			return events, err
		}
	}
	return r.Close(events)
}

func TestStreamReader(t *testing.T) {
	for _, c := range goldens(t, "streams.txt", 27) {
		t.Run(c.name, func(t *testing.T) {
			var events []chat.Event
			var err error
			if body, ok := c.sections["body"]; ok {
				events, err = DecodeResponse(nil, []byte(body))
			} else {
				events, err = readData(strings.Split(c.sections["data"], "\n"))
			}
			message := ""
			if err != nil {
				var e *chat.Error
				if !errors.As(err, &e) {
					t.Fatalf("error is a %T", err)
				}
				message = string(e.Kind) + ": " + e.Message
			}
			if diff := cmp.Diff(c.sections["events"], notation(events)); diff != "" {
				t.Errorf("events differ (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.sections["error"], message); diff != "" {
				t.Errorf("error differs (-want +got):\n%s", diff)
			}
			checkStream(t, events)
		})
	}
}

// checkStream checks what holds of every stream: spans in order, calls one after the other, deltas that are the
// arguments, nothing behind Finish.
func checkStream(t interface{ Errorf(string, ...any) }, events []chat.Event) {
	at, open, args := 0, -1, ""
	for i, e := range events {
		switch e.Kind {
		case chat.KindText, chat.KindReasoning:
			if e.At != at || e.End != at+len(e.Text) {
				t.Errorf("event %d has the span %d..%d, expected to begin at %d", i, e.At, e.End, at)
			}
			at = e.End
			fallthrough
		case chat.KindFinish:
			if open >= 0 {
				t.Errorf("event %d stands inside call %d", i, open)
			}
			if e.Kind == chat.KindFinish && i != len(events)-1 {
				t.Errorf("something follows Finish")
			}
		case chat.KindCallStart:
			if open >= 0 {
				t.Errorf("call %d starts inside call %d", e.Index, open)
			}
			open, args = e.Index, ""
		case chat.KindCallArgs:
			args += e.Text
		case chat.KindCallEnd:
			if e.Index != open || e.Detail.(*chat.Call).Arguments != args {
				t.Errorf("call %d ends with %q, its deltas were %q of call %d", e.Index,
					e.Detail.(*chat.Call).Arguments, args, open)
			}
			open = -1
		}
	}
}
