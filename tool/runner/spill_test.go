package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"

	"wield/chat"
	"wield/tool"
	"wield/tool/internal/value"
)

// output returns a tool that gives data.
func output(data func() tool.Result) *tool.Tool {
	return tool.Func("x", "", func(context.Context, struct{}) (tool.Result, error) { return data(), nil })
}

func TestLongOutput(t *testing.T) {
	long := strings.Repeat("äb", 1000) // 3000 bytes
	for _, test := range []struct {
		name   string
		result tool.Result
		shown  string
		want   tool.Truncation
	}{
		{"text", tool.Text(long), string(value.Quote(long[:99])), tool.Truncation{Shown: 99, Size: 3000, Kept: 3000}},
		{"member", tool.Result{OK: true, Data: json.RawMessage(`{"path":"a","content":` + string(value.Quote(long)) + `,"n":1}`)},
			`{"path":"a","content":"` + value.Cut(long, 71) + `","n":1}`,
			tool.Truncation{Shown: 69, Size: 3000, Kept: 3000, Member: "content"}},
		{"list", tool.Result{OK: true, Data: json.RawMessage(`[` + strings.Repeat(`1,`, 999) + `1]`)}, string(value.Quote(`[` + strings.Repeat(`1,`, 49) + `1`)),
			tool.Truncation{Shown: 100, Size: 2001 - 2 + 2, Kept: 2001}},
		{"short", tool.Text("short"), `"short"`, tool.Truncation{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			x := output(func() tool.Result { return test.result })
			x.Limits.Output = 100
			r := runner(t, x)
			if err := r.Settings().Tools.(*Registry).Add(r.Settings().Shared.ReadOutput()); err != nil {
				t.Fatal(err)
			}
			got, err := r.Call(t.Context(), "x", "{}")
			if err != nil {
				t.Fatal(err)
			}
			if test.want == (tool.Truncation{}) {
				if got.Truncated != nil || string(got.Data) != test.shown {
					t.Errorf("got %s, %+v", got.Data, got.Truncated)
				}
				return
			}
			if got.Truncated == nil || len(got.Data) > 200 || !strings.HasPrefix(string(got.Data), test.shown[:20]) {
				t.Fatalf("got %s, %+v", got.Data, got.Truncated)
			}
			if !json.Valid(got.Data) {
				t.Errorf("the data is no JSON: %s", got.Data)
			}
			id := got.Truncated.Spill
			got.Truncated.Spill = ""
			if *got.Truncated != test.want {
				t.Errorf("truncated %+v, want %+v", *got.Truncated, test.want)
			}
			if whole := readAll(t, r, id); !strings.Contains(string(test.result.Data), whole) ||
				len(whole) != test.want.Size {
				t.Errorf("%d bytes are read back, want %d", len(whole), test.want.Size)
			}
		})
	}
}

// readAll reads a spill with the tool, in pieces.
func readAll(t *testing.T, r *Runner, id string) string {
	t.Helper()
	var whole strings.Builder
	for offset := 0; ; {
		got, err := r.Call(t.Context(), tool.ReadOutputName, fmt.Sprintf(`{"id":%q,"offset":%d,"length":1000}`, id, offset))
		if err != nil || !got.OK {
			t.Fatalf("%+v, %v", got, err)
		}
		var page struct {
			Content    string
			Next, Size int
		}
		if err := json.Unmarshal(got.Data, &page); err != nil {
			t.Fatal(err)
		}
		whole.WriteString(page.Content)
		if offset = page.Next; offset == 0 {
			return whole.String()
		}
	}
}

func TestReadOutputRefuses(t *testing.T) {
	r := runner(t)
	var reg Registry
	if err := reg.Add(r.Settings().Shared.ReadOutput()); err != nil {
		t.Fatal(err)
	}
	r = r.With(func(s *Settings) { s.Tools = &reg })
	id, err := r.Settings().Shared.save("whole")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{`{"id":"../../etc/passwd"}`, `{"id":"0000000000000000"}`,
		`{"id":"` + id + `","offset":6}`, `{"id":"` + id + `","offset":-1}`, `{}`} {
		if got, err := r.Call(t.Context(), tool.ReadOutputName, args); err != nil || got.OK || got.ErrorType != tool.ErrInvalid {
			t.Errorf("%s: %+v, %v", args, got, err)
		}
	}
}

func TestSpillsAreBounded(t *testing.T) {
	s := &Shared{Temp: t.TempDir(), SpillBytes: 10}
	var ids []string
	for range 3 {
		id, err := s.save("12345")
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if _, ok := s.Spilled(ids[0]); ok {
		t.Error("the oldest is still there")
	}
	if got, ok := s.Spilled(ids[1]); !ok || got != "12345" {
		t.Errorf("%q, %t", got, ok)
	}
	if _, err := s.save("12345678901"); err == nil {
		t.Error("more was kept than there is room for")
	}
	info, err := s.spills.file.Stat()
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(s.Temp); err != nil || runtime.GOOS != "windows" && len(left) != 0 {
		t.Errorf("%d files would be left by a process that is killed, %v", len(left), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(s.Temp); err != nil || len(left) != 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
	if _, err := s.save("1"); err == nil {
		t.Error("an output was kept after the end")
	}
}

// What is kept comes back as it was, the newest are kept, and as many of them as fit into half of the room at the
// least.
func TestSpillsComeBackWhole(t *testing.T) {
	const room = 100
	s := &Shared{Temp: t.TempDir(), SpillBytes: room}
	defer s.Close()
	random := rand.New(rand.NewPCG(1, 2))
	var ids, texts []string
	for n := range 2000 {
		text := strings.Repeat(string(rune('a'+n%26)), random.IntN(room/2+1))
		id, err := s.save(text)
		if err != nil {
			t.Fatal(err)
		}
		ids, texts = append(ids, id), append(texts, text)
		sum, gone := 0, false
		for i := len(ids) - 1; i >= max(0, len(ids)-20); i-- {
			got, ok := s.Spilled(ids[i])
			sum += len(texts[i])
			switch {
			case ok && (gone || got != texts[i]):
				t.Fatalf("after %d, output %d is %q and was %q; a newer one is gone: %t", n, i, got, texts[i], gone)
			case !ok && sum <= room/2:
				t.Fatalf("after %d, output %d is gone, though it and all newer ones have %d bytes", n, i, sum)
			}
			gone = gone || !ok
		}
	}
}

func TestRedact(t *testing.T) {
	secret := `s3cr"et/&`
	r := runner(t, tool.Stream("x", "", func(_ context.Context, c *tool.Call, _ struct{}) (tool.Result, error) {
		w := c.Output("stdout")
		for _, piece := range []string{"the key is s3", `cr"et`, "/& and s3", " is none, s3cr"} {
			fmt.Fprint(w, piece)
		}
		return tool.Result{Error: "bad key " + secret, Data: value.Quote("key=" + secret),
			Details: []byte(`{"k":"s3cr\"et/\u0026"}`), Parts: chat.Text(secret)}, nil
	}), tool.Func("number", "", func(context.Context, struct{}) (int, error) { return 123456, nil }))
	r = r.With(func(s *Settings) { s.Redact = []string{secret, "123456", "ab", ""} })
	p, _ := r.Plan(t.Context(), call("x", "{}"))
	var progress, result string
	for e, err := range r.Run(t.Context(), p) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == chat.KindProgress {
			if e.Text != e.Detail.(*ProgressDetail).Text {
				t.Errorf("two texts: %q and %q", e.Text, e.Detail.(*ProgressDetail).Text)
			}
			progress += e.Text
		}
		if e.Kind == chat.KindResult {
			for _, p := range e.Detail.(*chat.Result).Parts {
				result += p.Text + "|"
			}
		}
	}
	if want := "the key is [redacted] and s3 is none, s3cr"; progress != want {
		t.Errorf("progress %q, want %q", progress, want)
	}
	if want := "Error: bad key [redacted]\ndetails: {\"k\":\"[redacted]\"}\nkey=[redacted]|[redacted]|"; result != want {
		t.Errorf("result %q, want %q", result, want)
	}
	if got, err := r.Call(t.Context(), "number", "{}"); err != nil || string(got.Data) != `"[redacted]"` {
		t.Errorf("a number: %s, %v", got.Data, err)
	}
}
