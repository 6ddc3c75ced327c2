//go:build linux

package compose

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"wield/journal"
	"wield/journal/sqlite"
)

// What a request of 8 MiB may cost.
const (
	largeSize   = 8<<20 - 1<<16
	mostSeconds = 2.0
	mostMemory  = 200e6
	mostObjects = 50_000 // that a service takes
)

// TestLargeRequests sends requests of at most 8 MiB, each large in one dimension, through every protocol, and measures
// the processor time and the memory that each takes of the service. Only with WIELD_COST=1, since it takes long and
// wants a quiet machine.
func TestLargeRequests(t *testing.T) {
	if os.Getenv("WIELD_COST") == "" {
		t.Skip("requests of 8 MiB are not measured: WIELD_COST is not set")
	}
	for i, d := range dimensions {
		t.Run(d.name, func(t *testing.T) {
			service := startCostService(t) // what a service keeps of other requests is no cost of these
			for _, w := range costWays {
				if !sees(w.model, d.history) {
					continue
				}
				t.Run(w.front+"/"+w.model, func(t *testing.T) {
					f := costFronts[w.front]
					body := func(n int) []byte { return d.weight(n).body(t, f.body, w.model, i%2 == 0) }
					service.checkLargest(t, strings.ReplaceAll(f.path, "MODEL", w.model), body)
				})
			}
		})
	}
}

// checkLargest checks the largest request that the service takes. body makes one that grows with n.
func (p *costProcess) checkLargest(t *testing.T, path string, body func(n int) []byte) {
	t.Helper()
	n, text := within(body, largeSize, func(text []byte) int { return len(text) })
	status := p.check(t, path, text)
	if status == 400 && objects(text) > mostObjects {
		n, text = within(body, mostObjects, objects)
		status = p.check(t, path, text)
	}
	for status == 400 && n > 1000 { // a smaller one where there is another bound
		n = n * 4 / 5
		status = p.check(t, path, body(n))
	}
}

// within returns the largest n, and its body, whose measure is at most most. It grows with n, about as much each time.
func within(body func(n int) []byte, most int, measure func(text []byte) int) (n int, text []byte) {
	few, more := measure(body(500)), measure(body(1000))
	n = 1000 + int(float64(most-more)/max(float64(more-few)/500, 1))
	for {
		text = body(n)
		if size := measure(text); size <= most || n <= 1000 {
			return n, text
		} else {
			n = min(n-1, int(float64(n)*float64(most)/float64(size)))
		}
	}
}

// objects counts the braces outside strings that begin an object.
func objects(text []byte) (n int) {
	for inside, i := false, 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			inside = !inside
		case '{':
			if !inside {
				n++
			}
		}
	}
	return n
}

// TestCostService is the process that TestLargeRequests measures. It serves until its input ends, and gives back what
// memory it can for each line of it.
func TestCostService(t *testing.T) {
	upstream := os.Getenv(costUpstream)
	if upstream == "" {
		t.Skip("it is a part of TestLargeRequests")
	}
	debug.SetGCPercent(100) // as wield runs: what TestMain saves in processor time costs memory
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			debug.FreeOSMemory()
			fmt.Println(costFreed)
		}
		stop()
	}()
	fmt.Println(costAddress + l.Addr().String())
	g := costServiceOver(t, upstream, func(o journal.Options) journal.Store {
		store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "journal.db"), sqlite.Options{Options: o})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		return store
	})
	if err := g.Serve(ctx, l, time.Second); err != nil {
		t.Error(err)
	}
}

const (
	costUpstream = "WIELD_COST_UPSTREAM" // variable with the address of the scripted server
	costAddress  = "serves at "
	costFreed    = "memory is given back"
)

// A costProcess is a service in a process of its own, so that its memory is not the test's.
type costProcess struct {
	proc, url string
	in        io.Writer
	lines     *bufio.Scanner
}

func startCostService(t *testing.T) *costProcess {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCostService$")
	cmd.Env = append(os.Environ(), costUpstream+"="+scripted(t, costScenario(t)), "TMPDIR="+t.TempDir())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	p := &costProcess{proc: fmt.Sprintf("/proc/%d/", cmd.Process.Pid), in: in, lines: bufio.NewScanner(out)}
	p.url = "http://" + p.await(t, costAddress)
	return p
}

// await reads what the process writes up to a line that begins so, and returns the rest of that.
func (p *costProcess) await(t *testing.T, begin string) string {
	t.Helper()
	for p.lines.Scan() {
		if rest, ok := strings.CutPrefix(p.lines.Text(), begin); ok {
			return rest
		}
	}
	t.Fatalf("the service has ended before it said %q", begin)
	return ""
}

// measure sends a request and returns what it took of the process: processor time, and the most memory beyond what it
// had before.
func (p *costProcess) measure(t *testing.T, path string, text []byte) (status int, seconds, memory float64) {
	t.Helper()
	fmt.Fprintln(p.in)
	p.await(t, costFreed)
	if err := os.WriteFile(p.proc+"clear_refs", []byte("5"), 0); err != nil {
		t.Skip("peak memory cannot be reset:", err)
	}
	before, used := p.peakMemory(t), p.usedSeconds(t)
	resp, err := http.Post(p.url+path, "application/json", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	return resp.StatusCode, p.usedSeconds(t) - used, p.peakMemory(t) - before
}

// check measures a request, and fails the test if it costs too much.
func (p *costProcess) check(t *testing.T, path string, text []byte) (status int) {
	t.Helper()
	status, seconds, memory := p.measure(t, path, text)
	t.Logf("%5.2f s %4.0f MB, status %d, %d KiB", seconds, memory/1e6, status, len(text)>>10)
	if seconds > mostSeconds || memory > mostMemory {
		t.Errorf("at most %.0f s and %.0f MB", mostSeconds, mostMemory/1e6)
	}
	return status
}

// peakMemory returns the most memory that the process had since it was last reset.
func (p *costProcess) peakMemory(t *testing.T) float64 {
	t.Helper()
	_, after, _ := strings.Cut(p.read(t, "status"), "VmHWM:")
	var kib float64
	if _, err := fmt.Sscan(after, &kib); err != nil {
		t.Fatal(err)
	}
	return kib * 1024
}

// usedSeconds returns the processor time that the process has used, in steps of 10 ms.
func (p *costProcess) usedSeconds(t *testing.T) float64 {
	t.Helper()
	stat := p.read(t, "stat")
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]) // from the third on
	var user, system float64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		t.Fatal(err)
	}
	return (user + system) / 100
}

func (p *costProcess) read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(p.proc + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
