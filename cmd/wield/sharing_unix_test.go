//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"wield/internal/pgtest"
)

// TestSharingCost measures what a request costs a service alone, one of two that share keys, limits and a journal,
// and both: processor time of all services and requests per second, in turns, over PostgreSQL. WIELD_SHARING says how
// many requests.
func TestSharingCost(t *testing.T) {
	var requests int
	if _, err := fmt.Sscan(os.Getenv("WIELD_SHARING"), &requests); err != nil {
		t.Skip("it measures and checks nothing (WIELD_SHARING=20000)")
	}
	s := busyStory
	s.config = strings.Replace(s.config, "models: {", "models: {plain: {backend: b}, ", 1)
	database := pgtest.Start(t)
	alone, err := newWorld(t.TempDir(), &s, database.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	alone.program = "wield"
	one := []*server{alone.serve(t, "WIELD_TEST_WORKER="+workerKey, "WIELD_TEST_ONE="+oneKey)}
	two := newTeam(t, &s, database.Database(t), 2, "").services
	for range 4 {
		for _, part := range []struct {
			what     string
			services []*server
		}{{"alone", one}, {"one of two", two[:1]}, {"both", two}} {
			cpu, rate := load(t, part.services, requests)
			t.Logf("%s: %d µs of CPU a request, %.0f requests a second", part.what, cpu.Microseconds(), rate)
		}
	}
	for _, s := range append(one, two...) {
		s.end(t)
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
				req, err := http.NewRequestWithContext(t.Context(), "POST", services[i/16%len(services)].base+"/v1/chat/completions", body)
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("Authorization", "Bearer "+servedKey)
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
