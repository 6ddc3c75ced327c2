package dialect_test

import (
	"fmt"
	"reflect"
	"testing"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/internal/check"
	"wield/internal/testlevel"
)

// TestTold looks at what has come out after every byte of a text: it must not depend on how the text before
// was cut either. Whoever does something between two chunks, such as a bridge that hears of a call through
// the server's own channel, finds the decoder where it would be after any other cuts.
func TestTold(t *testing.T) {
	var cache dialect.Cache
	for i, c := range allCases(t) {
		if i%testlevel.Every(8) > 0 || len(c.Text) > 400 {
			continue
		}
		o, err := c.Options()
		if err != nil {
			t.Fatal(err)
		}
		o.Cache = &cache
		bytes, whole := decoder(t, o), decoder(t, o)
		var events []chat.Event
		for n := range len(c.Text) {
			events = bytes.Feed(events, c.Text[n:n+1])
			whole.Reset()
			want, got := check.Merge(whole.Feed(nil, c.Text[:n+1])), check.Merge(events)
			if !reflect.DeepEqual(want, got) {
				t.Errorf("%s: after %q: %s, byte by byte %s", c.ID, c.Text[:n+1], told(want), told(got))
				break
			}
		}
	}
}

func decoder(t *testing.T, o dialect.Options) *dialect.Decoder {
	d, err := dialect.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func told(events []chat.Event) (s string) {
	for i := range events {
		s += fmt.Sprintf("%s %d-%d %q, ", events[i].Kind, events[i].At, events[i].End, events[i].Text)
	}
	return s
}
