package dialect

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestArena compares an arena with a plain string: writes of any size, cuts, slices over the borders of blocks.
func TestArena(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var a arena
	for hold := range 30 {
		a.mark()
		want := ""
		for range 200 {
			s := strings.Repeat(string(rune('a'+r.IntN(26))), 1+r.IntN(1+r.IntN(3000)))
			a.write(s)
			want += s
			if r.IntN(10) == 0 {
				n := r.IntN(len(want))
				a.cut(n)
				want = want[n:]
			}
			from := r.IntN(len(want) + 1)
			to := from + r.IntN(len(want)-from+1)
			if got := a.slice(from, to); got != want[from:to] {
				t.Fatalf("hold %d: slice %d:%d of %d bytes differs", hold, from, to, len(want))
			}
		}
		if a.text() != want {
			t.Fatalf("hold %d: the text differs", hold)
		}
	}
}

// TestWaysFit holds the sections of all dialects to as many ways to go on as an element can tell apart.
func TestWaysFit(t *testing.T) {
	most := 0
	r, err := autoRules()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range r.trie.nodes {
		if n.end != nil {
			most = max(most, len(n.end.ways))
		}
	}
	if most == 0 || most > 32 {
		t.Errorf("%d ways behind one opener, want 1 to 32: element.dead has a bit for each", most)
	}
}
