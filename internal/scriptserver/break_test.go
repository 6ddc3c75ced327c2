package scriptserver

import (
	"net/http"
	"testing"
	"time"

	"wield/internal/script"
)

// When the pieces of a broken answer are due, which no client can measure reliably.
func TestTimetable(t *testing.T) {
	compose := func(do string) *httpResponse {
		t.Helper()
		f, err := script.ParseFault("{do: " + do + "}")
		if err != nil {
			t.Fatal(err)
		}
		a := &httpResponse{status: 200, header: http.Header{}, body: []piece{
			{data: []byte("head")}, {data: []byte("one"), chunk: true, wait: time.Second},
			{data: []byte("two"), chunk: true, wait: time.Second}, {data: []byte("end"), done: true}}}
		breakAnswer(a, []script.Fault{f}, framingSSE, func(int, string) []byte { return nil })
		return a
	}
	waits := func(a *httpResponse) (list []time.Duration) {
		for _, f := range a.body {
			list = append(list, f.wait)
		}
		return list
	}
	same := func(name string, got, want []time.Duration) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("%s: %v, want %v", name, got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
	}
	const s, ms = time.Second, time.Millisecond
	if a := compose("{slow_headers: 3s}"); a.headersWait != 3*s {
		t.Errorf("slow headers: %v", a.headersWait)
	}
	same("stall in the middle", waits(compose("{stall: 1m}")), []time.Duration{0, s, time.Minute, s, 0})
	same("stall at a point", waits(compose("{stall: 1m, cut_after: 2chunks}")), []time.Duration{0, s, s, time.Minute})
	same("drip", waits(compose("{drip: 5ms}")), []time.Duration{5 * ms, 5 * ms, 5 * ms, 5 * ms, s + 5*ms, 5 * ms,
		5 * ms, s + 5*ms, 5 * ms, 5 * ms, 5 * ms, 5 * ms, 5 * ms})
	same("cut by time", waits(compose("{cut_after: 1500ms}")), []time.Duration{0, s})
	same("dup", waits(compose("{dup_chunk: 1}")), []time.Duration{0, s, 0, s, 0})
	for do, want := range map[string]ending{"{cut_after: 1b}": endCut, "reset": endReset, "half_close": endHalfClose,
		"drop_done": endWell} {
		if a := compose(do); a.end != want {
			t.Errorf("%s ends with %d", do, a.end)
		}
	}
}
