package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

type frame struct{ Name, Data string }

func readAll(src io.Reader, limit int) (frames []frame, err error) {
	r := NewReader(src, limit)
	for {
		f, err := r.Next()
		if err == io.EOF {
			return frames, nil
		}
		if err != nil {
			return frames, err
		}
		frames = append(frames, frame{f.Name, string(f.Data)})
	}
}

// splitter gives its pieces one a read.
type splitter struct{ pieces [][]byte }

func (s *splitter) Read(p []byte) (int, error) {
	if len(s.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.pieces[0])
	if s.pieces[0] = s.pieces[0][n:]; len(s.pieces[0]) == 0 {
		s.pieces = s.pieces[1:]
	}
	return n, nil
}

// testdata/frames.txt holds streams, in which \n, \r and \m (byte order mark) are spelled out and line breaks of the
// file do not count, and the frames expected of each: the name in brackets and the data quoted.
func TestCases(t *testing.T) {
	raw, err := os.ReadFile("testdata/frames.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := strings.Split(string(raw), "\n== ")[1:]
	if len(cases) < 15 {
		t.Fatalf("only %d cases", len(cases))
	}
	for _, c := range cases {
		name, body, _ := strings.Cut(c, "\n")
		in, want, ok := strings.Cut(body, "--\n")
		if !ok {
			t.Fatalf("case %s has no frames", name)
		}
		t.Run(name, func(t *testing.T) {
			stream := unescape.Replace(strings.ReplaceAll(in, "\n", ""))
			for at := 0; at <= len(stream); at++ {
				src := &splitter{[][]byte{[]byte(stream[:at]), []byte(stream[at:])}}
				checkFrames(t, fmt.Sprintf("split at %d", at), src, strings.TrimSpace(want))
			}
			checkFrames(t, "byte by byte", iotest.OneByteReader(strings.NewReader(stream)), strings.TrimSpace(want))
		})
	}
}

var unescape = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\m`, "\ufeff")

func checkFrames(t *testing.T, how string, src io.Reader, want string) {
	t.Helper()
	frames, err := readAll(src, 0)
	if err != nil {
		t.Fatalf("%s: %v", how, err)
	}
	var got strings.Builder
	for _, f := range frames {
		fmt.Fprintf(&got, "[%s] %q\n", f.Name, f.Data)
	}
	if diff := cmp.Diff(want, strings.TrimSpace(got.String())); diff != "" {
		t.Fatalf("%s: frames differ (-want +got):\n%s", how, diff)
	}
}

func TestLongLine(t *testing.T) {
	for _, size := range []int{firstBuffer - 7, firstBuffer, 70_000, 3 << 20} {
		long := strings.Repeat("x", size)
		frames, err := readAll(iotest.HalfReader(strings.NewReader("data: "+long+"\n\ndata: y\n\n")), 4<<20)
		if err != nil || len(frames) != 2 || frames[0].Data != long || frames[1].Data != "y" {
			t.Errorf("size %d: %d frames, error %v", size, len(frames), err)
		}
	}
}

func TestLimit(t *testing.T) {
	line := strings.Repeat("x", 101)
	for name, stream := range map[string]string{
		"one line":      "data: " + line + "\n\n",
		"no line end":   strings.Repeat("x", 10_000),
		"comment":       ":" + strings.Repeat("x", 10_000),
		"several lines": "data: " + line[:60] + "\ndata: " + line[:60] + "\n\n",
	} {
		r := NewReader(iotest.OneByteReader(strings.NewReader("data: first\n\n"+stream)), 100)
		if f, err := r.Next(); err != nil || string(f.Data) != "first" {
			t.Errorf("%s: first frame %q, %v", name, f.Data, err)
		}
		for range 2 { // the error is final
			var limit *LimitError
			if _, err := r.Next(); !errors.As(err, &limit) || limit.Limit != 100 {
				t.Errorf("%s: error %v, want a LimitError", name, err)
			}
		}
	}
	if _, err := readAll(strings.NewReader("data: "+line[:100]+"\n\n"), 100); err != nil {
		t.Errorf("data as long as the limit: %v", err)
	}
}

func TestSourceError(t *testing.T) {
	cut := errors.New("connection reset")
	r := NewReader(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(cut)), 0)
	if f, err := r.Next(); err != nil || string(f.Data) != "a" {
		t.Fatalf("first frame %q, %v", f.Data, err)
	}
	for range 2 {
		if _, err := r.Next(); !errors.Is(err, cut) {
			t.Fatalf("error %v, want %v: a frame that a broken connection cut is none", err, cut)
		}
	}
	idle := NewReader(readerFunc(func([]byte) (int, error) { return 0, nil }), 0)
	if _, err := idle.Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a source that gives nothing: error %v", err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestReady checks that Next reads from the source exactly when Ready was false.
func TestReady(t *testing.T) {
	stream := "data: a\n\n: ping\n\ndata2: x\n\ndata: b\r\n\r\ndata: c\rdata: d\r\rdata: e\n\nevent: x\ndata: f"
	for size := 1; size <= len(stream); size++ {
		reads := 0
		src := strings.NewReader(stream)
		r := NewReader(readerFunc(func(p []byte) (int, error) {
			reads++
			return src.Read(p[:min(size, len(p))])
		}), 0)
		for {
			ready, before := r.Ready(), reads
			_, err := r.Next()
			if ready != (reads == before) {
				t.Fatalf("reads of %d bytes: Ready was %v, Next read %d times", size, ready, reads-before)
			}
			if err != nil {
				break
			}
		}
	}
}

func TestAppendFrame(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"", `{"a":1}`, "data: {\"a\":1}\n\n"},
		{"error", "x", "event: error\ndata: x\n\n"},
		{"", "a\nb\r\nc\rd", "data: a\ndata: b\ndata: c\ndata: d\n\n"},
		{"", "", "data: \n\n"},
	} {
		got := string(AppendFrame(nil, c.name, []byte(c.data)))
		if got != c.want {
			t.Errorf("AppendFrame(%q, %q) = %q, want %q", c.name, c.data, got, c.want)
		}
		frames, err := readAll(strings.NewReader(got), 0)
		want := []frame{{c.name, strings.ReplaceAll(strings.ReplaceAll(c.data, "\r\n", "\n"), "\r", "\n")}}
		if err != nil || !cmp.Equal(frames, want) {
			t.Errorf("read back %v, %v, want %v", frames, err, want)
		}
	}
	if got := string(AppendComment(nil, "a\nb")); got != ": ab\n\n" {
		t.Errorf("AppendComment = %q", got)
	}
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{"data: a\n\n", "data:a\r\n\r\ndata: b", "\ufeffdata: é\n\n",
		":c\n\nevent: e\rdata\rdata:\r\r", "data: x\n\r\n\r"} {
		f.Add([]byte(s), int64(1))
	}
	f.Fuzz(func(t *testing.T, stream []byte, seed int64) {
		whole, err := readAll(bytes.NewReader(stream), 0)
		if err != nil {
			t.Fatal(err)
		}
		if want := reference(stream); !cmp.Equal(whole, want) {
			t.Fatalf("frames %q, want %q", whole, want)
		}
		rng := rand.New(rand.NewSource(seed))
		var src splitter
		for rest := stream; len(rest) > 0; {
			n := 1 + rng.Intn(len(rest))
			src.pieces = append(src.pieces, rest[:n])
			rest = rest[n:]
		}
		parts, err := readAll(&src, 0)
		if err != nil || !cmp.Equal(whole, parts) {
			t.Fatalf("split: frames %q, %v, whole: %q", parts, err, whole)
		}
	})
}

// reference reads a stream the slow way.
func reference(stream []byte) (frames []frame) {
	text := strings.TrimPrefix(string(stream), "\ufeff")
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	var name string
	var data []string
	for _, line := range append(strings.Split(text, "\n"), "") {
		if line == "" {
			if data != nil {
				frames = append(frames, frame{name, strings.Join(data, "\n")})
			}
			name, data = "", nil
			continue
		}
		key, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimPrefix(value, " "); key {
		case "data":
			data = append(data, value)
		case "event":
			name = value
		}
	}
	return frames
}

func BenchmarkNext(b *testing.B) {
	one := AppendFrame(nil, "", []byte(strings.Repeat("x", 180)))
	stream := bytes.Repeat(one, 1000)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader(bytes.NewReader(stream), 0)
		for {
			r.Ready()
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
}

// TestReset reads a stream with a reader that has left another one at any point, as a new reader does.
func TestReset(t *testing.T) {
	const first = "\ufeffevent: a\r\ndata: x\r\rdata: half\ndata: "
	const second = "\ufeffdata: one\n\nevent: b\ndata: two\n\n\ndata: three"
	want, err := readAll(strings.NewReader(second), 64)
	if err != nil || len(want) != 3 {
		t.Fatal(want, err)
	}
	for n := range len(first) + 100 {
		src := first[:min(n, len(first))] + strings.Repeat("y", max(0, n-len(first))) // the longest break the limit
		r := NewReader(iotest.OneByteReader(strings.NewReader(src)), 64)
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
		r.Reset(strings.NewReader(second))
		var got []frame
		for {
			f, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(n, err)
			}
			got = append(got, frame{f.Name, string(f.Data)})
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("after %q: %s", src, d)
		}
		if _, err := r.Next(); err != io.EOF {
			t.Fatal(err)
		}
	}
	r := NewReader(strings.NewReader("data: "+strings.Repeat("z", 2*keptBuffer)+"\n\n"), 0)
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if r.Reset(nil); len(r.buf) > firstBuffer || cap(r.data) > firstBuffer {
		t.Errorf("a buffer of %d bytes was kept", len(r.buf))
	}
}

// TestLines reads streams whose frames are lines, in pieces of every size.
func TestLines(t *testing.T) {
	const text = "\ufeff{\"a\":1}\n\n  \r\n{\"b\":2}\r\n: no comment\n{\"c\":3}"
	want := []string{`{"a":1}`, `{"b":2}`, ": no comment", `{"c":3}`}
	for size := 1; size <= len(text); size++ {
		r := NewLineReader(&pieces{text: text, size: size}, 0)
		var got []string
		for {
			f, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(f.Data))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("in pieces of %d: %q, want %q", size, got, want)
		}
	}
	r := NewLineReader(strings.NewReader("{}\n{"), 0)
	if r.Ready() {
		t.Error("a frame is ready of which nothing was read")
	}
	if f, err := r.Next(); err != nil || string(f.Data) != "{}" || r.Ready() {
		t.Error("half a line is ready")
	}
	_, err := NewLineReader(strings.NewReader(strings.Repeat("x", 9000)), 100).Next()
	if limit := (*LimitError)(nil); !errors.As(err, &limit) {
		t.Errorf("an endless line: %v", err)
	}
}

type pieces struct {
	text string
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.text == "" {
		return 0, io.EOF
	}
	n := copy(b, p.text[:min(p.size, len(p.text))])
	p.text = p.text[n:]
	return n, nil
}
