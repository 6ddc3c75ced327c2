package bridge_test

import (
	"sync"
	"testing"

	"wield/bridge"
	"wield/chat"
)

// TestConcurrent uses one Bridge from several goroutines with different tools.
func TestConcurrent(t *testing.T) {
	b := bridge.New(writer(textCall+"\n```json\n{\"name\":\"GetLiveContext\",\"arguments\":{}}\n```"), bridge.Options{})
	odd := weather
	// a pattern that is left out
	odd.Parameters = []byte(`{"properties":{"city":{"type":"string","pattern":"^(?!x)"}}}`)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 20 {
				req, want := ask(weather), "get_weather"
				if i%2 == 0 {
					req, want = ask(live), "GetLiveContext"
				}
				if i%4 == 1 {
					req = ask(odd)
				}
				var names []string
				for e := range b.Stream(t.Context(), req) {
					if e.Kind == chat.KindCallEnd {
						names = append(names, e.Name)
					}
				}
				if len(names) != 1 || names[0] != want {
					t.Errorf("calls %q, want %s", names, want)
				}
			}
		})
	}
	wg.Wait()
}
