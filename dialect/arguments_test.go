package dialect_test

import (
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
