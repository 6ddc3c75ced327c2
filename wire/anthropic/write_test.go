package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"wield/chat"
)

// shows says how much thinking a case asks for, by the first word of its name.
var shows = map[string]Thinking{"shown": thinkingShown, "omitted": thinkingOmitted}

const start = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"output_tokens":0}}}`

// frameLines returns the data of the frames, one a line, and checks that each has the name of its type.
func frameLines(t *testing.T, frames []byte) string {
	t.Helper()
	var lines []string
	for _, f := range strings.Split(strings.TrimSuffix(string(frames), "\n\n"), "\n\n") {
		head, data, ok := strings.Cut(f, "\ndata: ")
		var d struct{ Type string }
		if err := json.Unmarshal([]byte(data), &d); !ok || err != nil || head != "event: "+d.Type {
			t.Errorf("frame %q: %v", f, err)
		}
		switch data {
		case start:
			data = "START"
		case `{"type":"message_stop"}`:
			data = "STOP"
		}
		lines = append(lines, data)
	}
	return strings.Join(lines, "\n")
}

func TestWrite(t *testing.T) {
	for _, c := range goldens(t, "writes.txt", 20) {
		t.Run(c.name, func(t *testing.T) {
			word, _, _ := strings.Cut(c.name, ":")
			o := ResponseOptions{ID: "msg_1", Model: "m", Thinking: shows[word]}
			w, r := NewStreamWriter(o), NewResponse(o)
			var frames []byte
			for _, e := range parseNotation(t, c.sections["events"]) {
				frames = w.Append(frames, e)
				r.Add(e)
			}
			lines, body := frameLines(t, frames), string(r.Append(nil))
			if diff := cmp.Diff(c.sections["frames"], lines); diff != "" {
				t.Errorf("frames differ (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.sections["body"], body); diff != "" {
				t.Errorf("body differs (-want +got):\n%s", diff)
			}
			if !json.Valid([]byte(body)) {
				t.Errorf("body is no JSON: %s", body)
			}
			if more := w.Append(nil, chat.Event{Kind: chat.KindText, Text: "late"}); len(more) > 0 {
				t.Errorf("something follows the end: %s", more)
			}
		})
	}
}

func TestStreamError(t *testing.T) {
	w := NewStreamWriter(ResponseOptions{ID: "x", Model: "m"})
	frames := w.Append(nil, chat.Event{Kind: chat.KindText, Text: "a"})
	frames = w.AppendError(frames[:0], &chat.Error{Kind: chat.ErrOverloaded, Message: "it broke\noff"})
	want := `event: error` + "\n" +
		`data: {"type":"error","error":{"type":"overloaded_error","message":"it broke\noff"}}` + "\n\n"
	if string(frames) != want {
		t.Errorf("error frame %q, want %q", frames, want)
	}
	if more := w.Append(nil, chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{}}); len(more) > 0 {
		t.Errorf("something follows the error: %s", more)
	}
}

// TestRoundTrip writes random answers and reads them again, as streams and as bodies. Texts are cut anywhere, also
// inside a character.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := ResponseOptions{ID: "msg_1", Model: "m", Thinking: thinkingShown}
		w, r := NewStreamWriter(o), NewResponse(o)
		var frames []byte
		var want strings.Builder
		add := func(e chat.Event) {
			frames = w.Append(frames, e)
			r.Add(e)
		}
		calls := 0
		for range rapid.IntRange(0, 6).Draw(t, "blocks") {
			text := rapid.StringN(1, 20, -1).Draw(t, "text")
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				for _, piece := range cut(t, text) {
					add(chat.Event{Kind: chat.KindText, Text: piece})
				}
				want.WriteString("T" + text)
			case 1:
				for _, piece := range cut(t, text) {
					add(chat.Event{Kind: chat.KindReasoning, Text: piece})
				}
				add(chat.Event{Kind: chat.KindReasoning,
					Detail: chat.Opaque{{Protocol: chat.ProtocolAnthropic, Key: "signature", Value: []byte(`"s"`)}}})
				want.WriteString("R" + text + "/s")
			case 2:
				args := string(appendInput(nil, "{\"x\":"+string(mustJSON(text))+"}"))
				add(chat.Event{Kind: chat.KindCallStart, Index: calls, ID: "toolu_1", Name: "f"})
				for _, piece := range cut(t, args) {
					add(chat.Event{Kind: chat.KindCallArgs, Index: calls, Text: piece})
				}
				add(chat.Event{Kind: chat.KindCallEnd, Index: calls,
					Detail: &chat.Call{ID: "toolu_1", Name: "f", Arguments: args, Complete: true}})
				want.WriteString("C" + args)
				calls++
			}
		}
		add(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}})

		var reader StreamReader
		var events []chat.Event
		for _, f := range strings.Split(strings.TrimSuffix(string(frames), "\n\n"), "\n\n") {
			_, data, _ := strings.Cut(f, "\ndata: ")
			var err error
			if events, err = reader.Feed(events, []byte(data)); err != nil {
				t.Fatal(err)
			}
		}
		events, err := reader.Close(events)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := DecodeResponse(nil, r.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range [][]chat.Event{events, whole} {
			if diff := cmp.Diff(merged(want.String()), merged(gist(got))); diff != "" {
				t.Fatalf("another answer came back (-want +got):\n%s", diff)
			}
		}
	})
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// cut cuts a text anywhere.
func cut(t *rapid.T, text string) []string {
	at := rapid.IntRange(0, len(text)).Draw(t, "cut")
	return []string{text[:at], text[at:]}
}

// gist writes what an answer says, however it is cut.
func gist(events []chat.Event) string {
	var b strings.Builder
	last := chat.Kind(0)
	for _, e := range events {
		switch e.Kind {
		case chat.KindText:
			if last != e.Kind {
				b.WriteString("T")
			}
			b.WriteString(e.Text)
		case chat.KindReasoning:
			if last != e.Kind {
				b.WriteString("R")
			}
			b.WriteString(e.Text)
			if e.Detail != nil {
				b.WriteString("/s")
				last = 0
				continue
			}
		case chat.KindCallEnd:
			b.WriteString("C" + e.Detail.(*chat.Call).Arguments)
		default:
			continue
		}
		last = e.Kind
	}
	return b.String()
}

// merged forgets where one text ends and the next begins.
func merged(gist string) string { return strings.ReplaceAll(gist, "T", "") }
