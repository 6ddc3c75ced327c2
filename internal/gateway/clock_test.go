package gateway

import (
	"testing"
	"time"
)

// TestClockJumps sets the clock back and forth under the limits of keys and the count of wrong ones: nobody
// is locked out for longer than the limit says, and nobody gets more than it gives.
func TestClockJumps(t *testing.T) {
	begin := time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC)
	for _, jump := range []time.Duration{-100 * 365 * 24 * time.Hour, -time.Hour, -time.Second, 0, time.Hour,
		100 * 365 * 24 * time.Hour} {
		h := newHolders([]Key{{Name: "k", RPM: 6}}, begin)[0]
		for range 6 {
			if limit, _ := h.start(begin); limit != "" {
				t.Fatalf("%v: %s", jump, limit)
			}
		}
		if limit, wait := h.start(begin); limit != "rpm" || wait > 10*time.Second {
			t.Errorf("%v: %s, wait %v", jump, limit, wait)
		}
		now := begin.Add(jump)
		_, wait := h.start(now)
		if wait > 10*time.Second {
			t.Errorf("%v: wait %v", jump, wait)
		}
		granted := 0
		for range 20 {
			if limit, _ := h.start(now); limit == "" {
				granted++
			}
		}
		if granted > 6 {
			t.Errorf("%v: %d requests at once", jump, granted)
		}
		if limit, _ := h.start(now.Add(time.Minute)); limit != "" {
			t.Errorf("%v: still %s a minute later", jump, limit)
		}
	}
}
