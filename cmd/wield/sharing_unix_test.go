//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"wield/internal/pgtest"
	"wield/internal/testlevel"
)

// sharing returns how many requests to measure with, or skips the test.
func sharing(t *testing.T) (requests int) {
	t.Helper()
	if _, err := fmt.Sscan(os.Getenv("WIELD_SHARING"), &requests); err != nil {
		t.Skip("it measures and checks nothing (WIELD_SHARING=20000)")
	}
	t.Setenv(collects, "100")
	return requests
}

// TestSharingCost measures what a request of a key with limits costs a service alone, two that know nothing of each
// other, one of two that share keys, limits and a journal, and both: processor time of all services and requests per
// second, in turns, over PostgreSQL. WIELD_SHARING says how many requests.
func TestSharingCost(t *testing.T) {
	requests := sharing(t)
	s := busyStory
	s.config = strings.NewReplacer("models: {", "models: {plain: {backend: b}, ",
		"limits: {concurrent: 1}", "limits: {concurrent: 1000, rpm: 10_000_000}").Replace(s.config)
	database := pgtest.Start(t)
	var apart []*server
	for range 2 {
		w, err := newWorld(t.TempDir(), &s, database.Database(t))
		if err != nil {
			t.Fatal(err)
		}
		w.program = "wield"
		apart = append(apart, w.serve(t, "WIELD_TEST_WORKER="+workerKey, "WIELD_TEST_ONE="+oneKey))
	}
	two := newTeam(t, &s, database.Database(t), 2, "").services
	parts := []struct {
		what     string
		services []*server
		cpu      []time.Duration
	}{{"alone", apart[:1], nil}, {"one of a cluster", two[:1], nil}, {"two apart", apart, nil},
		{"a cluster of two", two, nil}}
	const rounds = 9
	for range rounds {
		for i := range parts {
			p := &parts[i]
			cpu, rate := load(t, p.services, requests)
			p.cpu = append(p.cpu, cpu)
			t.Logf("%s: %d µs of CPU a request, %.0f requests a second", p.what, cpu.Microseconds(), rate)
		}
	}
	for i := range parts {
		slices.Sort(parts[i].cpu)
		t.Logf("%s: %d µs of CPU a request (median)", parts[i].what, parts[i].cpu[rounds/2].Microseconds())
	}
	for _, s := range append(apart, two...) {
		s.end(t)
	}
}

// TestWithoutWorkers looks for anything of NATS in a service that has neither workers nor others: a goroutine, or a
// socket beside the one that it listens on. With workers, and with others, the same search finds some.
func TestWithoutWorkers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, workers, cluster string
		goroutines, sockets    bool
	}{
		{"alone", "", "", false, false},
		{"workers", "workers: {enabled: true}", "", true, false},
		{"others", "", "cluster: {secret: env:WIELD_TEST_KEY, listen: \"127.0.0.1:0\", peers: [\"127.0.0.1:1\"]}\n",
			true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := servedStory
			s.config = strings.Replace(teamConfig, "workers: {enabled: true}", tt.workers, 1) + tt.cluster
			database := ""
			if tt.cluster != "" {
				testlevel.Long(t)
				database = pgtest.Start(t).Database(t)
			}
			w, err := newWorld(t.TempDir(), &s, database)
			if err != nil {
				t.Fatal(err)
			}
			w.program = "wield"
			one := w.serve(t, "WIELD_TEST_WORKER="+workerKey, "WIELD_TEST_ONE="+oneKey, "GOTRACEBACK=all")
			if one.base == "" {
				t.Fatalf("the service ends: %s", one.log)
			}
			resp, err := http.Get(one.base + "/health") // it may have said that it serves just before it does
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			n := listeners(t, one.cmd.Process.Pid)
			if err := one.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
				t.Fatal(err)
			}
			<-one.gone
			dump := one.log.String()
			if !strings.Contains(dump, "net/http.(*Server).Serve(") {
				t.Fatalf("the service has listed no goroutines: %s", dump)
			}
			found := strings.Contains(dump, "nats-io/") || strings.Contains(dump, "wield/internal/cluster.")
			if found != tt.goroutines {
				t.Errorf("goroutines of NATS: %v\n%s", found, dump)
			}
			if more := n > 1; n == 0 || more != tt.sockets {
				t.Errorf("the service listens on %d sockets", n)
			}
		})
	}
}

// listeners returns how many sockets a process listens on.
func listeners(t *testing.T, pid int) (n int) {
	t.Helper()
	var inodes []string
	for _, name := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, name))
		if err != nil {
			t.Skip("NOT TESTED: ", err)
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > 9 && f[3] == "0A" { // LISTEN
				inodes = append(inodes, "socket:["+f[9]+"]")
			}
		}
	}
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		to, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err == nil && slices.Contains(inodes, to) { // else it is closed
			n++
		}
	}
	return n
}

// TestIdleCost measures how long a service takes to start, and its memory that no file holds, with workers and without.
func TestIdleCost(t *testing.T) {
	sharing(t)
	parts := []string{"enabled: false", "enabled: true"}
	took, memory := make([][]time.Duration, len(parts)), make([][]int, len(parts))
	for range 15 {
		for i, part := range parts {
			s := servedStory
			s.config = strings.Replace(teamConfig, "workers: {enabled: true}", "workers: {"+part+"}", 1)
			w := servedWorld(t, &s)
			w.program = "wield"
			began := time.Now()
			one := w.serve(t, "WIELD_TEST_WORKER="+workerKey, "WIELD_TEST_ONE="+oneKey)
			if took[i] = append(took[i], time.Since(began)); one.base == "" {
				t.Fatalf("the service ends: %s", one.log)
			}
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", one.cmd.Process.Pid))
			if err != nil {
				t.Skip("NOT MEASURED: ", err)
			}
			var kB int
			if _, err := fmt.Sscan(string(text)[strings.Index(string(text), "RssAnon:")+len("RssAnon:"):],
				&kB); err != nil {
				t.Fatal(err)
			}
			memory[i] = append(memory[i], kB)
			one.end(t)
		}
	}
	for i, part := range parts {
		slices.Sort(took[i])
		slices.Sort(memory[i])
		t.Logf("workers %s: listens after %v, %.1f MB (medians)", part, took[i][7].Round(time.Millisecond),
			float64(memory[i][7])/1000)
	}
}

// load sends requests to services in turn, 16 at a time.
func load(t *testing.T, services []*server, requests int) (cpu time.Duration, rate float64) {
	before, began := used(t, services), time.Now()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	for k := range 16 {
		all.Go(func() {
			for i := k; i < requests; i += 16 {
				body := strings.NewReader(`{"model":"plain","messages":[{"role":"user","content":"hello"}]}`)
				at := services[i/16%len(services)].base + "/v1/chat/completions"
				req, err := http.NewRequestWithContext(t.Context(), "POST", at, body)
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("Authorization", "Bearer "+oneKey)
				req.Header.Set("Content-Type", "application/json")
				resp, err := client.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body) // its status is asked for
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					t.Errorf("answered %s", resp.Status)
					return
				}
			}
		})
	}
	all.Wait()
	return (used(t, services) - before) / time.Duration(requests), float64(requests) / time.Since(began).Seconds()
}

// used returns the processor time of services.
func used(t *testing.T, services []*server) (sum time.Duration) {
	for _, s := range services {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
		if err != nil {
			t.Skip("NOT MEASURED: ", err)
		}
		fields := strings.Fields(string(text)[strings.LastIndexByte(string(text), ')')+1:])
		var user, system int64
		if _, err := fmt.Sscan(fields[11], &user); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(fields[12], &system); err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(user+system) * 10 * time.Millisecond // ticks of Linux
	}
	return sum
}
