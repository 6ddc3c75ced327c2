package capture

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wield/chat"
)

func record(id string, size int) *Record {
	return &Record{ID: id, Request: Body(strings.Repeat("x", size))}
}

func ids(list []Record) (out []string) {
	for _, r := range list {
		out = append(out, r.ID)
	}
	return out
}

// TestRing keeps the last records, bounded in number and in bytes.
func TestRing(t *testing.T) {
	r, err := New(Options{Keep: 3})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		r.Add(record(fmt.Sprint(i), 10))
	}
	if got := fmt.Sprint(ids(r.List())); got != "[4 3 2]" {
		t.Errorf("%s", got)
	}
	if r.Get("4") == nil || r.Get("1") != nil || r.List()[0].Request != nil {
		t.Error("what is forgotten is there, or a list holds bodies")
	}

	r, err = New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 * maxBytes / MaxBody {
		rec := &Record{ID: fmt.Sprint(i)}
		rec.Answer = rec.Answer.Append(make([]byte, MaxBody-10)).Append(make([]byte, 1<<20))
		if len(rec.Answer) != MaxBody {
			t.Fatalf("%d bytes are kept of one body", len(rec.Answer))
		}
		r.Add(rec)
	}
	if r.bytes > maxBytes || len(r.records) < maxBytes/MaxBody-1 {
		t.Errorf("%d bytes in %d records", r.bytes, len(r.records))
	}
}

// TestDisk writes records that only their owner can read, masked, and no more files than two.
func TestDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "captures")
	r, err := New(Options{Keep: 2, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 7 {
		rec := record(fmt.Sprint(i), 0)
		rec.Request = Body(`{"api_key":"hush-hush"}`)
		if err := r.Add(rec); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Fatalf("%v %v", files, err)
	}
	for name, want := range map[string]string{currentFile: "6", formerFile: "45"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for line := range strings.Lines(string(text)) {
			var rec struct{ ID, Request string }
			if err := json.Unmarshal([]byte(line), &rec); err != nil {
				t.Fatal(err)
			}
			got += rec.ID
		}
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got != want || strings.Contains(string(text), "hush") || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %s, mode %v\n%s", name, got, info.Mode(), text)
		}
	}
}

// TestTurnTook: a turn lasts from when the model was asked, not from its first event.
func TestTurnTook(t *testing.T) {
	asked := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	var r Record
	r.Watch(nil, &chat.Event{Kind: chat.KindTurnStart, Detail: &chat.TurnDetail{Began: asked}}, asked.Add(6*time.Second))
	r.Watch(nil, &chat.Event{Kind: chat.KindText, Text: "x"}, asked.Add(6*time.Second))
	r.Watch(nil, &chat.Event{Kind: chat.KindTurnEnd, Detail: &chat.TurnDetail{}}, asked.Add(7*time.Second))
	if turn := r.Turns[0]; turn.Began != asked || turn.Took != 7*time.Second {
		t.Errorf("began at %v and took %v", turn.Began, turn.Took)
	}
}
