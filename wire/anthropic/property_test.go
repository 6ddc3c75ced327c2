package anthropic

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wield/chat"
	"wield/wire/jsonbody"
)

// spoil changes a text as a bad connection or a bad program might.
func spoil(t *rapid.T, text string) string {
	b := []byte(text)
	for range rapid.IntRange(1, 4).Draw(t, "changes") {
		if len(b) == 0 {
			break
		}
		at := rapid.IntRange(0, len(b)-1).Draw(t, "at")
		switch rapid.IntRange(0, 4).Draw(t, "change") {
		case 0:
			b = b[:at]
		case 1:
			b[at] = rapid.SampledFrom([]byte("{}[]\",:0n\\ \xff")).Draw(t, "byte")
		case 2:
			end := min(at+rapid.IntRange(1, 30).Draw(t, "size"), len(b))
			b = append(b[:at:at], b[end:]...)
		case 3:
			end := min(at+rapid.IntRange(1, 30).Draw(t, "size"), len(b))
			b = append(b[:end:end], b[at:]...)
		case 4: // another value
			b = append(append(b[:at:at], rapid.SampledFrom([]string{"null", "{}", "[]", `""`, "1", "true"}).Draw(t,
				"value")...), b[at:]...)
		}
	}
	return string(b)
}

// TestAnyRequest decodes spoiled requests. They are refused with a place and a code, or what is written for them is a
// request that is written again as it is.
func TestAnyRequest(t *testing.T) {
	cases := goldens(t, "requests.txt", 50)
	rapid.Check(t, func(t *rapid.T) {
		body := spoil(t, rapid.SampledFrom(cases).Draw(t, "case").sections["in"])
		req, err := DecodeRequest([]byte(body))
		if err != nil {
			var f *jsonbody.FieldError
			if !errors.As(err, &f) || f.Code == "" || f.Message == "" {
				t.Fatalf("%v of %s", err, body)
			}
			return
		}
		CountTokens(req)
		ThinkingOf(req)
		out, err := AppendRequest(nil, req, RequestOptions{})
		if err != nil {
			if e := chat.AsError(err); e.Kind != chat.ErrBadRequest || e.Param == "" {
				t.Fatalf("%v of %s", err, body)
			}
			return
		}
		if !json.Valid(out) {
			t.Fatalf("%s\nbecame\n%s", body, out)
		}
		again, err := DecodeRequest(out)
		if err != nil {
			var f *jsonbody.FieldError
			if errors.As(err, &f) && f.Code == jsonbody.CodeMissingMsgs {
				return // all messages were empty
			}
			t.Fatalf("what was written is refused: %v\n%s", err, out)
		}
		if twice, err := AppendRequest(nil, again, RequestOptions{}); err != nil || string(twice) != string(out) {
			t.Fatalf("%s\nis written again as\n%s\n%v", out, twice, err)
		}
	})
}

// TestAnyStream reads streams of which frames are spoiled, lost, repeated or out of order. Whatever comes is an
// answer by the rules, or an error.
func TestAnyStream(t *testing.T) {
	cases := goldens(t, "streams.txt", 27)
	rapid.Check(t, func(t *rapid.T) {
		lines := strings.Split(rapid.SampledFrom(cases).Draw(t, "case").sections["data"], "\n")
		for range rapid.IntRange(1, 3).Draw(t, "faults") {
			at := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
			switch rapid.IntRange(0, 3).Draw(t, "fault") {
			case 0:
				lines[at] = spoil(t, lines[at])
			case 1:
				lines = append(lines[:at:at], lines[min(at+1, len(lines)-1):]...)
			case 2:
				lines = append(lines[:at+1:at+1], lines[at:]...)
			case 3:
				other := rapid.IntRange(0, len(lines)-1).Draw(t, "other")
				lines[at], lines[other] = lines[other], lines[at]
			}
		}
		events, err := readData(lines)
		var e *chat.Error
		if err != nil && !errors.As(err, &e) {
			t.Fatalf("error is a %T", err)
		}
		checkStream(t, events)
		if n := len(events); err == nil && (n == 0 || events[n-1].Kind != chat.KindFinish) {
			t.Fatalf("no error and no end: %s", notation(events))
		}
	})
}

func BenchmarkStreamReader(b *testing.B) {
	delta := []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" some text"}}`)
	var r StreamReader
	events, _ := r.Feed(nil,
		[]byte(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`))
	b.SetBytes(int64(len(delta)))
	b.ReportAllocs()
	for b.Loop() {
		events, _ = r.Feed(events[:0], delta)
	}
}

func BenchmarkStreamWriter(b *testing.B) {
	w := NewStreamWriter(ResponseOptions{ID: "msg_1", Model: "m"})
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out = w.Append(out[:0], chat.Event{Kind: chat.KindText, Text: " some text"})
	}
}
