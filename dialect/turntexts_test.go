package dialect_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"wield/chat"
	"wield/dialect"
)

// ownTexts returns texts that explain templates, or are dialogues, lists of keys, recaps and logs.
func ownTexts(t *testing.T) (texts []string) {
	f, err := os.Open(filepath.Join("testdata", "turns", "texts.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var row struct{ ID, Text string }
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, row.Text)
	}
	return texts
}

// TestTurnTexts reads texts that look like turns and are the model's own, alone and with calls behind them,
// before them and between them: their content stays whole, and at most one call of a hundred is lost.
func TestTurnTexts(t *testing.T) {
	texts := ownTexts(t)
	forms := formCalls(t)
	names := inLine(forms)
	o := dialect.Options{Tools: propertyTools}
	read, wanted, lost := 0, 0, 0
	check := func(text, content string, calls int) {
		size := turnSizes[read%len(turnSizes)]
		read++
		events := readIn(t, o, text, size)
		var c dialect.Collector
		for _, e := range events {
			c.Add(e)
		}
		if _, over := tally(events); over != nil && over.Detail.(*chat.OverrunDetail).Hard {
			t.Errorf("%q in chunks of %d is cut at %d", text, size, over.At)
		}
		wanted += calls
		if got := len(c.Calls); got < calls {
			lost += calls - got
			t.Logf("%q in chunks of %d: %d calls, want %d", text, size, got, calls)
		} else if got > calls {
			t.Errorf("%q in chunks of %d: %d calls, want %d", text, size, got, calls)
		} else if c.Content() != content {
			t.Errorf("%q in chunks of %d: the content is %q", text, size, c.Content())
		}
	}
	for k, text := range texts {
		call := func(n int) string { return forms[names[(k*3+n)%len(names)]] }
		other := texts[(k*7+5)%len(texts)]
		check(text, text, 0)
		check(text+"\n\n"+call(0), text, 1)
		check(text+"\n\nI look it up.\n"+call(1), text+"\n\nI look it up.", 1)
		check(text+"\n\n"+other+"\n\n"+call(2), text+"\n\n"+other, 1)
		check("I begin.\n"+call(3)+"\n"+call(4), "I begin.", 2)
		check(other+"\n"+call(5), other, 1)
	}
	t.Logf("%d texts, %d calls, %d lost", read, wanted, lost)
	if read < 400 || lost*100 > wanted {
		t.Errorf("%d of %d calls are lost in %d texts", lost, wanted, read)
	}
}
