//go:build linux

package compose

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"wield/internal/gateway"
)

// What a request of 8 MiB may cost.
const (
	largeSize   = 8<<20 - 1<<16
	mostSeconds = 2.0
	mostMemory  = 200e6
)

// TestLargeRequests sends requests of at most 8 MiB, each large in one dimension, through every protocol, and measures the
// processor time and the memory that each takes. Only with WIELD_COST=1, since it takes long and wants a quiet machine.
func TestLargeRequests(t *testing.T) {
	if os.Getenv("WIELD_COST") == "" {
		t.Skip("requests of 8 MiB are not measured: WIELD_COST is not set")
	}
	g := costService(t)
	for i, d := range dimensions {
		for _, w := range costWays {
			if !d.history && w.model != "text" {
				continue
			}
			t.Run(d.name+"/"+w.front+"/"+w.model, func(t *testing.T) {
				f := costFronts[w.front]
				body := func(n int) []byte { return d.weight(n).body(t, f.body, w.model, i%2 == 0) }
				path := "http://localhost" + strings.ReplaceAll(f.path, "MODEL", w.model)
				n, status := atSize(largeSize, func(n int) int { return len(body(n)) }), 400
				for ; status == 400 && n > 1000; n = n * 4 / 5 { // a smaller one where there is another bound
					text := body(n)
					var seconds, memory float64
					status, seconds, memory = measure(t, g, path, text)
					t.Logf("%5.2f s %4.0f MB, status %d, %d KiB", seconds, memory/1e6, status, len(text)>>10)
					if seconds > mostSeconds || memory > mostMemory {
						t.Errorf("at most %.0f s and %.0f MB", mostSeconds, mostMemory/1e6)
					}
				}
			})
		}
	}
}

// atSize returns the largest n whose size is at most most, at most a thousandth below it where size grows that far.
func atSize(most int, size func(n int) int) int {
	few := size(1000)
	n := 1000 + int(float64(most-few)/max(float64(few-size(500))/500, 1))
	for n > 1000 && size(n) > most {
		n -= n/200 + 1
	}
	return n
}

func measure(t *testing.T, g *gateway.Gateway, path string, text []byte) (status int, seconds, memory float64) {
	r := httptest.NewRequest("POST", path, bytes.NewReader(text))
	r.Header.Set("Content-Type", "application/json")
	answer := sink{header: map[string][]string{}}
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Skip("peak memory cannot be reset:", err)
	}
	memory, used := peakMemory(t), usedTime(t)
	g.ServeHTTP(&answer, r)
	return answer.status, (usedTime(t) - used).Seconds(), peakMemory(t) - memory
}

// peakMemory returns the most memory that the process had since it was last reset.
func peakMemory(t *testing.T) float64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(b), "VmHWM:")
	var kib float64
	if _, err := fmt.Sscan(after, &kib); err != nil {
		t.Fatal(err)
	}
	return kib * 1024
}

func usedTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
