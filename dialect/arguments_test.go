package dialect_test

import (
	"strings"
	"testing"

	"wield/chat"
	"wield/dialect"
)

// TestArgumentsDuplicate shows that arguments read as a whole hold the last of several values, once.
func TestArgumentsDuplicate(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{`{"a":1,"a":2}`, `{"a":2}`},
		{`{"a":"one","b":[1,2],"a":"three","c":true}`, `{"a":"three","b":[1,2],"c":true}`},
		{`{"a":{"x":1,"x":22},"b":0,"a":{"y":3}}`, `{"a":{"y":3},"b":0}`},
		{`{"a":1,"b":2,"a":10,"b":20,"a":100}`, `{"a":100,"b":20}`},
		{`{"a":1, "a":1}`, `{"a":1}`},
	} {
		got, notes, err := dialect.Arguments(c.raw, nil, dialect.RepairFull)
		if err != nil || got != c.want {
			t.Errorf("%s reads as %s, %v; want %s", c.raw, got, err, c.want)
		}
		if len(notes) == 0 || notes[0].Kind != chat.NoteDuplicateKey || notes[0].At >= notes[0].End ||
			notes[0].End > len(c.raw) {
			t.Errorf("%s: notes %v", c.raw, notes)
		}
	}
	if got, _, err := dialect.Arguments(`{"a":1,"a":2}`, nil, dialect.RepairSafe); err == nil {
		t.Errorf("below full two values read as %s", got)
	}
}

// TestArgumentsNotes shows that of very many repairs a few are told, and how many more there were.
func TestArgumentsNotes(t *testing.T) {
	const n = 5000
	key := strings.Repeat("k", 4000)
	for _, c := range []struct {
		raw, want, more string
	}{
		{"{" + strings.Repeat("a:1,", n) + "b:2}", `{"a":1,"b":2}`, "9800"}, // bare, and again
		{"{'a':[" + strings.Repeat("'b',", n) + "1]}", `{"a":[` + strings.Repeat(`"b",`, n) + `1]}`, "4801"},
		{`{"a":[` + strings.Repeat("True,", n) + `1]}`, `{"a":[` + strings.Repeat(`true,`, n) + `1]}`, "4800"},
		{"{" + strings.Repeat("//x\n", n) + "}", "{" + "}", "4800"},
		{`{"` + key + `":[` + strings.Repeat("'b',", n) + `1]}`, `{"` + key + `":[` + strings.Repeat(`"b",`, n) + `1]}`, "4800"},
	} {
		got, notes, err := dialect.Arguments(c.raw, nil, dialect.RepairFull)
		if err != nil || got != c.want {
			t.Errorf("%.20s reads as %.40s, %v", c.raw, got, err)
		}
		last := notes[len(notes)-1]
		if len(notes) != 201 || last.Kind != "more" || last.Before != c.more {
			t.Errorf("%.20s: %d notes, the last %v", c.raw, len(notes), last)
		}
		for _, n := range notes {
			if len(n.Path) > 100 {
				t.Fatalf("a note has a path of %d bytes", len(n.Path))
			}
		}
	}
}

// TestArgumentsReplaced shows that keys may stand twice with different values a number of times, and not without end.
func TestArgumentsReplaced(t *testing.T) {
	for times, ok := range map[int]bool{30: true, 1000: false} {
		got, _, err := dialect.Arguments(`{"a":0`+strings.Repeat(`,"a":1,"a":2`, times/2)+`}`, nil, dialect.RepairFull)
		if ok && got != `{"a":2}` || ok == (err != nil) {
			t.Errorf("%d values: %s, %v", times, got, err)
		}
	}
}
