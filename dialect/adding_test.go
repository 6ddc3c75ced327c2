package dialect_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/chat"
	"wield/dialect"
	"wield/schema/shape"
)

// TestAddingARow holds the page docs/dialects/adding.md to its word: without its row the dialect is not there, and with
// the row, wherever in the table it stands, every case of its file passes.
func TestAddingARow(t *testing.T) {
	const name = "internlm2"
	cases := loadCases(t, name+".jsonl")
	call := chat.Call{Name: "N", Arguments: `{"k":"v"}`}
	// so that what is built for auto is built anew
	o := dialect.Options{Tools: []shape.Tool{{Name: "N"}}, Drop: []string{"<|not-there|>"}}
	there, _ := dialect.Lookup(name)
	text := there.Example

	add := dialect.TakeOut(name)
	added := false
	defer func() {
		if !added {
			add()
		}
	}()
	if _, ok := dialect.Lookup(name); ok {
		t.Fatal("the row is still there")
	}
	if got, err := dialect.Parse(text, o); err != nil || len(got.Calls) > 0 || got.Content() != text {
		t.Errorf("without the row %q is %v and %q (%v), want text", text, got.Calls, got.Content(), err)
	}
	for i := range cases {
		if _, err := cases[i].Maker(); err == nil {
			t.Fatalf("%s: the dialect is known without its row", cases[i].ID)
		}
	}

	add()
	added = true
	d, ok := dialect.Lookup(name)
	if !ok {
		t.Fatal("the row was not added")
	}
	written, err := d.AppendCalls(nil, []chat.Call{call})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{text, string(written)} {
		got, err := dialect.Parse(text, o)
		if err != nil || len(got.Calls) != 1 || got.Calls[0].Dialect != name ||
			got.Calls[0].Arguments != call.Arguments || got.Content() != "" {
			t.Errorf("with the row %q is %v and %q (%v), want a call", text, got.Calls, got.Content(), err)
		}
	}
	checkCases(t, cases)
}

// TestARowIsAll shows the other half: no code but the row knows of the dialect or of its markers.
func TestARowIsAll(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"internlm", "<|action_start|>", "<|plugin|>", "<|action_end|>"} {
			switch has := strings.Contains(string(text), word); {
			case has && file == "table_json.go":
				rows++
			case has:
				t.Errorf("%s holds %q", file, word)
			}
		}
	}
	if rows != 4 {
		t.Errorf("table_json.go has %d of the 4 words of the row", rows)
	}
}
