package chat

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// slow does what Take says, by looking at every call.
func slow(calls []Call, taken []bool, id, name string) int {
	for i := range calls {
		if !taken[i] && (id == "" || calls[i].ID == id) && (id != "" || name == "" || calls[i].Name == name) {
			taken[i] = true
			return i
		}
	}
	return -1
}

// TestTake takes calls by ids, by names and in order, whichever of them come twice.
func TestTake(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		calls := make([]Call, r.IntN(6))
		for i := range calls {
			calls[i] = Call{ID: fmt.Sprint("c", r.IntN(4)), Name: fmt.Sprint("f", r.IntN(3))}
		}
		taken := make([]bool, len(calls))
		p := Pending{Calls: calls}
		for range 8 {
			id, name := "", ""
			switch r.IntN(3) {
			case 0:
				id = fmt.Sprint("c", r.IntN(5))
			case 1:
				name = fmt.Sprint("f", r.IntN(4))
			}
			got, want := p.Take(id, name), slow(calls, taken, id, name)
			if (got == nil) != (want < 0) || got != nil && got != &calls[want] {
				t.Fatalf("%v: Take(%q, %q) = %v, want the call %d", calls, id, name, got, want)
			}
		}
	}
}

// TestTakeIsLinear: what is taken is not looked at again, even where the results of the first calls come last.
func TestTakeIsLinear(t *testing.T) {
	const n = 1000
	calls := make([]Call, n)
	for i := range calls {
		calls[i].ID = "c"
	}
	calls[0].ID = "first"
	p := Pending{Calls: calls}
	for range n - 1 {
		if p.Take("c", "") == nil {
			t.Fatal("a call is missing")
		}
	}
	if left := len(p.byID["c"]); left > 1 {
		t.Errorf("the index keeps %d calls that are taken, and passes over them each time", left)
	}
	if p.Take("c", "") != nil || p.Take("first", "") != &calls[0] || p.Take("", "") != nil {
		t.Error("calls are taken that are not there")
	}
}
