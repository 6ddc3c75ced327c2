package chat

import (
	"testing"
	"time"
)

// TestRetrySentence: a wait that is over by now is none.
func TestRetrySentence(t *testing.T) {
	busy := &Error{Message: "busy"}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for at, want := range map[time.Time]string{
		now.Add(2 * time.Second):        "trying again in 2s (attempt 2 of 3)",
		now.Add(300 * time.Millisecond): "trying again now (attempt 2 of 3)",
		now.Add(-time.Second):           "trying again now (attempt 2 of 3)",
	} {
		r := &RetryDetail{Error: busy, At: at, Attempt: 2, Of: 3}
		if got := r.Sentence(now); got != busy.Error()+": "+want {
			t.Errorf("%v: %q, want %q", at.Sub(now), got, want)
		}
	}
}
