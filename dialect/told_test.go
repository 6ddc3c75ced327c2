package dialect_test

import (
	"fmt"
	"reflect"
	"testing"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/dialecttest"
)

// TestTold looks at what has come out after every byte of a text: it must not depend on how the text before was cut either. Whoever
// does something between two chunks, such as a bridge that hears of a call through the server's own channel, finds the decoder
// where it would be after any other cuts.
func TestTold(t *testing.T) {
	var cache dialect.Cache
	for i, c := range allCases(t) {
		if i%sample > 0 || len(c.Text) > 400 {
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
			want, got := dialecttest.Merge(whole.Feed(nil, c.Text[:n+1])), dialecttest.Merge(events)
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

// TestToldAgain is TestTold for calls behind others that were written alike, of which the decoder expects more of the same.
func TestToldAgain(t *testing.T) {
	calls := []chat.Call{
		{Name: "write_file", Arguments: `{"path":"a","content":"b c","mode":1}`},
		{Name: "write_file", Arguments: `{"path":"","content":"<b>\n</c>","mode":22}`},
		{Name: "write_file", Arguments: `{"path":"a","content":"b\n","mode":1.0}`},
		{Name: "write_file", Arguments: `{"path":"d","mode":"2","content":"\"é\""}`},
		{Name: "get_time", Arguments: `{"zone":"b"}`},
		{Name: "write_file", Arguments: `{"path":"d","mode":3,"content":"e & f"}`},
		{Name: "write_file", Arguments: `{"path":"d","mode":4,"content":"]<]"}`},
	}
	for i := range calls {
		calls[i].Index, calls[i].ID = i, fmt.Sprintf("call_%d", i)
	}
	for _, name := range dialect.Names() {
		row, _ := dialect.Lookup(name)
		text, err := row.AppendCalls(nil, calls)
		if err != nil {
			continue // one message holds one call
		}
		o := dialect.Options{Dialect: name, Tools: benchTools}
		whole := decoder(t, o)
		told := make([]int, len(text)+1) // the length of what has come out after each byte
		var all []chat.Event
		for n := 1; n <= len(text); n++ {
			whole.Reset()
			all = dialecttest.Merge(whole.Feed(nil, string(text[:n])))
			told[n] = lengthOf(all)
		}
		for _, size := range []int{1, 2, 3, 4, 7, 16, 50} {
			d, events := decoder(t, o), []chat.Event(nil)
			for at := 0; at < len(text); at += size {
				n := min(at+size, len(text))
				events = d.Feed(events, string(text[at:n]))
				if got := lengthOf(events); got != told[n] {
					t.Errorf("%s in chunks of %d bytes: after %q %d bytes came out, whole %d", name, size, text[:n], got, told[n])
					break
				}
			}
			if !reflect.DeepEqual(dialecttest.Merge(events), all) {
				t.Errorf("%s in chunks of %d bytes: other events than whole", name, size)
			}
		}
	}
}

// lengthOf returns the length of what came out: of texts, and of the part of the text that they stand for.
func lengthOf(events []chat.Event) (n int) {
	for i := range events {
		n += 1000 * len(events[i].Text)
	}
	if len(events) > 0 {
		n += events[len(events)-1].End
	}
	return n
}
