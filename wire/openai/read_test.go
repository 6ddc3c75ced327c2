package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"wield/chat"
	"wield/wire/jsonbody"
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
	for _, c := range goldens(t, "streams.txt", 40) {
		t.Run(c.name, func(t *testing.T) {
			var events []chat.Event
			var err error
			if body, ok := c.sections["body"]; ok {
				events, err = DecodeResponse(nil, []byte(body))
			} else {
				events, err = readData(strings.Split(c.sections["data"], "\n"))
			}
			if diff := cmp.Diff(c.sections["events"], notation(events)); diff != "" {
				t.Errorf("events differ (-want +got):\n%s", diff)
			}
			message := ""
			if err != nil {
				var e *chat.Error
				if !errors.As(err, &e) {
					t.Fatalf("error is a %T", err)
				}
				message = string(e.Kind) + ": " + e.Message
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
func checkStream(t *testing.T, events []chat.Event) {
	t.Helper()
	at, calls, open := 0, 0, false
	var args strings.Builder
	for i, e := range events {
		switch e.Kind {
		case chat.KindText, chat.KindReasoning:
			if e.At != at || e.End != at+len(e.Text) || e.Text == "" {
				t.Errorf("text %q has the span %d..%d, expected it at %d", e.Text, e.At, e.End, at)
			}
			at = e.End
		case chat.KindCallStart:
			if open || e.Index != calls || e.ID == "" || e.Name == "" || e.Origin != chat.OriginFunction {
				t.Errorf("call starts wrong: %+v, open %v, index should be %d", e, open, calls)
			}
			open, calls = true, calls+1
			args.Reset()
		case chat.KindCallArgs:
			args.WriteString(e.Text)
			if !open || e.Index != calls-1 {
				t.Errorf("arguments of call %d come while it is not open", e.Index)
			}
		case chat.KindCallEnd:
			if !open || e.Detail.(*chat.Call).Arguments != args.String() {
				t.Errorf("call ends with %q, deltas were %q", e.Detail.(*chat.Call).Arguments, args.String())
			}
			open = false
		case chat.KindFinish:
			if i != len(events)-1 || open {
				t.Errorf("finish at %d of %d, call open: %v", i, len(events), open)
			}
		}
	}
}

func TestStreamReaderFinal(t *testing.T) {
	var r StreamReader
	if _, err := r.Feed(nil, []byte("nonsense")); err == nil {
		t.Fatal("nonsense was read")
	}
	if _, err := r.Feed(nil, []byte("[DONE]")); err == nil {
		t.Error("an error must be final")
	}
	if _, err := r.Close(nil); err == nil {
		t.Error("an error must be final at the end as well")
	}
	var d StreamReader
	d.Feed(nil, []byte(`{"choices":[{"delta":{"content":"a"}}]}`))
	d.Feed(nil, []byte("[DONE]"))
	if events, err := d.Feed(nil, []byte(`{"choices":[{"delta":{"content":"late"}}]}`)); len(events) > 0 ||
		err != nil || !d.Done() {
		t.Errorf("after [DONE]: %v, %v", events, err)
	}
}

func TestFinishTellsTheServer(t *testing.T) {
	events, err := readData(
		[]string{
			`{"id":"cmpl-9","model":"qwen","choices":[{"delta":{"content":"a"},"finish_reason":"stop","stop_reason":"END"}]}`, "[DONE]"})
	if err != nil {
		t.Fatal(err)
	}
	want := chat.Finish{Reason: chat.FinishStop, Model: "qwen", ID: "cmpl-9", Stop: "END"}
	if got := *events[len(events)-1].Detail.(*chat.Finish); got != want {
		t.Errorf("finish %+v, want %+v", got, want)
	}
}

// FuzzStream feeds anything as frames: no panic, and what was read keeps the rules of a stream. What JSON says of the
// content of a valid chunk is what is read.
func FuzzStream(f *testing.F) {
	for _, c := range []string{
		`{"choices":[{"delta":{"content":"a\ud83d\ude00\u00e9\\"}}]}` + "\n[DONE]",
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}},{"function":{"name":"g"}}]},"finish_reason":"length"}]}`,
		`{"error":{"code":5,"message":[1]}}`,
		`{"choices":[{"delta":{"function_call":{"name":"f","arguments":{"a":[]}}}}],"usage":{"prompt_tokens":1e3}}` +
			"\n[DONE]",
	} {
		f.Add([]byte(c))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := readData(strings.Split(string(data), "\n"))
		if err == nil {
			checkStream(t, events)
			if n := len(events); n == 0 || events[n-1].Kind != chat.KindFinish {
				t.Fatalf("a stream without error ends with %v", notation(events))
			}
			checkWritten(t, events)
		}
		DecodeResponse(nil, data)
		DecodeError(500, nil, data)
		if !json.Valid(data) || !utf8.Valid(data) {
			return
		}
		s := jsonbody.Scanner{Bytes: data}
		if s.Skip(); s.Err != nil {
			t.Fatalf("%v in valid JSON %s", s.Err, data)
		}
		if s.End(); s.Err != nil {
			t.Fatalf("%v in valid JSON %s", s.Err, data)
		}
		var want string
		if json.Unmarshal(data, &want) == nil {
			s = jsonbody.Scanner{Bytes: data}
			if s.Peek() == '"' {
				if got := s.Str(); got != want {
					t.Fatalf("string %s read as %q, want %q", data, got, want)
				}
			}
		}
	})
}

// checkWritten writes events and reads them back.
func checkWritten(t *testing.T, events []chat.Event) {
	t.Helper()
	w := NewStreamWriter(ResponseOptions{ID: "chatcmpl-x", Model: "m", Usage: true})
	r := NewResponse(ResponseOptions{ID: "chatcmpl-x", Model: "m"})
	var frames []byte
	for _, e := range events {
		frames = w.Append(frames, e)
		r.Add(e)
	}
	var lines []string
	for frame := range bytes.SplitSeq(bytes.TrimSpace(frames), []byte("\n\n")) {
		data, ok := bytes.CutPrefix(frame, []byte("data: "))
		if !ok || bytes.IndexByte(data, '\n') >= 0 || string(data) != "[DONE]" && !json.Valid(data) ||
			!utf8.Valid(data) {
			t.Fatalf("frame %q", frame)
		}
		lines = append(lines, string(data))
	}
	if _, err := readData(lines); err != nil {
		t.Fatalf("what was written cannot be read: %v", err)
	}
	body := r.Append(nil)
	if !json.Valid(body) || !utf8.Valid(body) {
		t.Fatalf("body %q", body)
	}
	if _, err := DecodeResponse(nil, body); err != nil {
		t.Fatalf("the body that was written cannot be read: %v", err)
	}
}

// TestTemplate checks that a reader that has seen many chunks reads each one as a new reader does.
func TestTemplate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var old StreamReader
		for range 12 {
			chunk := rapid.SampledFrom([]string{
				`{"id":"x","choices":[{"index":0,"delta":{"content":"TEXT"},"finish_reason":null}]}`,
				`{"id":"x","choices":[{"index":0,"delta":{"content":"TEXT"},"finish_reason":"stop"}]}`,
				`{"id":"x","choices":[{"index":0,"delta":{"reasoning_content":"TEXT","content":""},"finish_reason":null}]}`,
				`{"id":"x","choices":[{"index":0,"delta":{"content":"TEXT","reasoning_content":"TEXT"}}]}`,
				`{"id":"x","choices":[{"index":1,"delta":{"content":"TEXT"}}]}`,
				`{"id":"x","choices":[{"index":0,"delta":{"content":"TEXT"},"logprobs":{"content":[]}}]}`,
				`{"id":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"TEXT"}}]}}]}`,
			}).Draw(t, "chunk")
			text := rapid.SampledFrom([]string{"", "a", "bc", `\n`, `\\`, `\"`, `\u00e9`, "é", `","content":"x`,
				`"}}],"choices":[{"delta":{"content":"y`, `\`, "\xff"}).Draw(t, "text")
			chunk = strings.ReplaceAll(chunk, "TEXT", text)
			var fresh StreamReader
			want, wantErr := fresh.Feed(nil, []byte(chunk))
			got, gotErr := old.Feed(nil, []byte(chunk))
			if (wantErr == nil) != (gotErr == nil) {
				t.Fatalf("%s: error %v, a new reader's %v", chunk, gotErr, wantErr)
			}
			if gotErr != nil {
				return
			}
			if w, g := texts(want), texts(got); w != g || fresh.Finished() && !old.Finished() {
				t.Fatalf("%s: %s, a new reader has %s", chunk, g, w)
			}
		}
	})
}

func texts(events []chat.Event) string {
	var b strings.Builder
	for _, e := range events {
		if e.Kind == chat.KindText || e.Kind == chat.KindReasoning {
			fmt.Fprintf(&b, "%s %q ", e.Kind, e.Text)
		}
	}
	return b.String()
}

func chunkOf180() []byte {
	return []byte(
		`{"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1700000000,"model":"mock-1","choices":[{"index":0,"delta":{"content":" lorem ipsum"},"logprobs":null,"finish_reason":null}]}`)
}

func BenchmarkReadChunk(b *testing.B) {
	chunk := chunkOf180()
	b.Run("wield", func(b *testing.B) { // chunks alike but for their text
		benchmarkRead(b, chunk)
	})
	b.Run("wield_unlike", func(b *testing.B) { // every chunk is read in full
		benchmarkRead(b, chunk, bytes.Replace(chunk, []byte("1700000000"), []byte("1700000001"), 1))
	})
	b.Run("encoding_json", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(chunk)))
		for b.Loop() {
			var v jsonChunk
			if err := json.Unmarshal(chunk, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func benchmarkRead(b *testing.B, chunks ...[]byte) {
	var r StreamReader
	var events []chat.Event
	b.ReportAllocs()
	b.SetBytes(int64(len(chunks[0])))
	for i := 0; b.Loop(); i++ {
		events, _ = r.Feed(events[:0], chunks[i%len(chunks)])
	}
}

type jsonChunk struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
	Choices []struct {
		Index int `json:"index"`
		Delta struct {
			Role    string  `json:"role,omitempty"`
			Content *string `json:"content,omitempty"`
		} `json:"delta"`
		LogProbs     *string `json:"logprobs"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
}

func BenchmarkWriteChunk(b *testing.B) {
	e := chat.Event{Kind: chat.KindText, Text: " lorem ipsum"}
	b.Run("wield", func(b *testing.B) {
		w := NewStreamWriter(ResponseOptions{ID: "chatcmpl-bench", Created: 1700000000, Model: "mock-1"})
		var frame []byte
		b.ReportAllocs()
		for b.Loop() {
			frame = w.Append(frame[:0], e)
		}
	})
	b.Run("encoding_json", func(b *testing.B) {
		var v jsonChunk
		if err := json.Unmarshal(chunkOf180(), &v); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(&v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
