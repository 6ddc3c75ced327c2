package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"wield/chat"
)

func TestWrite(t *testing.T) {
	const head = `{"id":"chatcmpl-1","object":"OBJECT","created":7,"model":"m","choices":`
	for _, c := range goldens(t, "writes.txt", 12) {
		t.Run(c.name, func(t *testing.T) {
			o := ResponseOptions{ID: "chatcmpl-1", Created: 7, Model: "m", Usage: strings.HasSuffix(c.name, "usage"),
				Legacy: strings.HasSuffix(c.name, "legacy"), Custom: map[string]bool{"patch": true}}
			events := parseNotation(t, c.sections["events"])
			w, r := NewStreamWriter(o), NewResponse(o)
			var frames []byte
			for _, e := range events {
				frames = w.Append(frames, e)
				r.Add(e)
			}
			got := strings.ReplaceAll(strings.TrimSpace(string(frames)), "\n\n", "\n")
			got = strings.ReplaceAll(got, "data: "+strings.Replace(head, "OBJECT", "chat.completion.chunk", 1), "HEAD")
			if diff := cmp.Diff(c.sections["frames"], got); diff != "" {
				t.Errorf("frames differ (-want +got):\n%s", diff)
			}
			body := string(r.Append(nil))
			if !json.Valid([]byte(body)) {
				t.Errorf("body is no JSON: %s", body)
			}
			body = strings.Replace(body, strings.Replace(head, "OBJECT", "chat.completion", 1), "HEAD", 1)
			if diff := cmp.Diff(c.sections["body"], body); diff != "" {
				t.Errorf("body differs (-want +got):\n%s", diff)
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
	frames = w.AppendError(frames[:0], &chat.Error{Kind: chat.ErrUnavailable, Message: "it broke\noff"})
	want := `data: {"error":{"message":"it broke\noff","type":"server_error","param":null,"code":"upstream_unavailable"}}` + "\n\n"
	if string(frames) != want {
		t.Errorf("error frame %q, want %q", frames, want)
	}
	if more := w.Append(nil, chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{}}); len(more) > 0 {
		t.Errorf("something follows the error: %s", more)
	}
}

// TestTextSurvives checks that any text, cut anywhere, arrives as encoding/json would have it.
func TestTextSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOfN(rapid.OneOf(rapid.Byte(),
			rapid.SampledFrom([]byte("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"\\\n"))), 0, 40).Draw(t, "text")
		text := string(raw)
		w := NewStreamWriter(ResponseOptions{ID: "x", Model: "m"})
		var r StreamReader
		var got strings.Builder
		feed := func(frames []byte) {
			for frame := range strings.SplitSeq(strings.TrimSpace(string(frames)), "\n\n") {
				events, err := r.Feed(nil, []byte(strings.TrimPrefix(frame, "data: ")))
				if err != nil {
					t.Fatalf("frame %q: %v", frame, err)
				}
				for _, e := range events {
					got.WriteString(e.Text)
				}
			}
		}
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			feed(w.Append(nil, chat.Event{Kind: chat.KindText, Text: rest[:n]}))
			rest = rest[n:]
		}
		feed(w.Append(nil, chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{}}))
		if want := validUTF8(text); strings.TrimRight(got.String(), "\ufffd") != strings.TrimRight(want, "\ufffd") {
			t.Fatalf("%q arrived as %q, want %q", text, got.String(), want)
		}
	})
}

// validUTF8 replaces each byte that is no UTF-8, as encoding/json does.
func validUTF8(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}

// TestCompletion: a request with a prompt is one of a completion, whose text is read like that of an answer.
func TestCompletion(t *testing.T) {
	zero := 0.0
	req := &chat.Request{Model: "m", Prompt: "<|user|>hi", MaxTokens: 9, MaxCompletion: true, Temperature: &zero,
		LogProbs: true, Effort: "low", Stop: []string{"<|user|>"},
		Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("hi")}}, Tools: []chat.Tool{{Name: "look"}},
		Format: &chat.Format{Kind: chat.FormatGrammar, Grammar: `root ::= "x"`}}
	got, err := AppendRequest(nil, req, RequestOptions{Constrain: ConstrainLlamaCPP})
	const want = `{"model":"m","prompt":"<|user|>hi","max_tokens":9,"temperature":0,"stop":["<|user|>"],"grammar":"root ::= \"x\""}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
	events, err := DecodeResponse(nil,
		[]byte(
			`{"object":"text_completion","choices":[{"index":0,"text":"hello","finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`))
	if err != nil || len(events) != 3 || events[0].Kind != chat.KindText || events[0].Text != "hello" {
		t.Errorf("%+v, %v", events, err)
	}
	var r StreamReader
	text := ""
	for _, chunk := range []string{`{"choices":[{"index":0,"text":"he","finish_reason":null}]}`,
		`{"choices":[{"index":0,"text":"llo\"","finish_reason":null}]}`,
		`{"choices":[{"index":0,"text":"","finish_reason":"length"}]}`, "[DONE]"} {
		events, err := r.Feed(nil, []byte(chunk))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			text += e.Text
		}
	}
	if events, err := r.Close(nil); err != nil || text != `hello"` ||
		events[0].Detail.(*chat.Finish).Reason != chat.FinishLength {
		t.Errorf("%q %+v, %v", text, events, err)
	}
}
