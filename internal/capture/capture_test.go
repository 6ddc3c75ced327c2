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
	for name, want := range map[string]string{File: "6", formerFile: "45"} {
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
	r.Watch(nil, &chat.Event{Kind: chat.KindTurnStart, Detail: &chat.TurnDetail{Began: asked}},
		asked.Add(6*time.Second))
	r.Watch(nil, &chat.Event{Kind: chat.KindText, Text: "x"}, asked.Add(6*time.Second))
	r.Watch(nil, &chat.Event{Kind: chat.KindTurnEnd, Detail: &chat.TurnDetail{}}, asked.Add(7*time.Second))
	if turn := r.Turns[0]; turn.Began != asked || turn.Took != 7*time.Second {
		t.Errorf("began at %v and took %v", turn.Began, turn.Took)
	}
}

// TestPrefix: a record says how much of the prompt before stands at the front of its own, within one conversation of
// one client, and keeps no text for it.
func TestPrefix(t *testing.T) {
	r, err := New(Options{Dir: t.TempDir(),
		Hide: func(s string) string { return strings.ReplaceAll(s, "hush", "***") }})
	if err != nil {
		t.Fatal(err)
	}
	say := func(role chat.Role, text string) chat.Message {
		return chat.Message{Role: role, Parts: chat.Text(text)}
	}
	first := []chat.Message{say(chat.RoleUser, "Read it.")}
	second := append(first, say(chat.RoleAssistant, "It is empty."), say(chat.RoleUser, "Write it."))
	third := append(second, say(chat.RoleAssistant, "Done."), say(chat.RoleUser, "Thanks."))
	ask := func(key, system string, tools []chat.Tool, turns []chat.Message) *Prefix {
		rec := &Record{ID: "r", Key: key, Model: "m"}
		req := &chat.Request{Tools: tools, Messages: append([]chat.Message{say(chat.RoleSystem, system)}, turns...)}
		rec.Watch(req, &chat.Event{Kind: chat.KindTurnStart, Detail: &chat.TurnDetail{Sent: req}}, time.Now())
		if err := r.Add(rec); err != nil {
			t.Fatal(err)
		}
		if rec.sent != nil {
			t.Error("the request is kept")
		}
		return r.Get("r").Prefix
	}
	for _, tt := range []struct {
		name, key, system string
		tools             []chat.Tool
		turns             []chat.Message
		want              string
	}{
		{"the first", "a", "Be brief.", nil, first, "<nil>"},
		{"the same again", "a", "Be brief.", nil, first, "<nil>"},
		{"the next", "a", "Be brief.", nil, second, "100 % of the previous prompt is at the front of this one"},
		{"another client", "b", "Be brief.", nil, third, "<nil>"},
		{"another line", "a", "Be brief.\nhush 17", nil, third,
			"24 % of the previous prompt is at the front of this one; the first difference is at byte 10 (system, line 2): *** 17"},
		{"another conversation", "a", "Be brief.", nil,
			[]chat.Message{say(chat.RoleUser, "Who?"), say(chat.RoleAssistant, "I."), say(chat.RoleUser, "Ah."),
				say(chat.RoleAssistant, "So."), say(chat.RoleUser, "Yes."), say(chat.RoleUser, "No.")}, "<nil>"},
		{"a tool of late", "b", "Be brief.", []chat.Tool{{Name: "f"}}, append(third, say(chat.RoleUser, "Why?")),
			`0 % of the previous prompt is at the front of this one; the first difference is at byte 0 (tools, line 1): f ""`},
	} {
		got := ask(tt.key, tt.system, tt.tools, tt.turns)
		if said := fmt.Sprint(got); said != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, said, tt.want)
		}
	}
	text, err := os.ReadFile(filepath.Join(r.disk.dir, File))
	if err != nil {
		t.Fatal(err)
	}
	list := Reports(text)
	if len(list) != 2 || list[0].Turns != 2 || list[0].Lost != 1 || list[0].Worst.Where != "system, line 2" ||
		list[1].Lost != 1 {
		t.Errorf("the file tells of %+v", list)
	}
}
