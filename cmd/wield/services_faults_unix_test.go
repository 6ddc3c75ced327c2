//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"wield/internal/pgtest"
	"wield/internal/testport"
)

// needsHeavy skips what belongs to the heavy level of .ci/run.
func needsHeavy(t *testing.T) {
	t.Helper()
	if os.Getenv(killVariable) == "" {
		t.Skip("it runs in the heavy level of .ci/run (" + killVariable + "=10)")
	}
	t.Parallel()
}

// streamsOf is a request for a stream of a model.
func streamsOf(model, words string) map[string]any {
	return map[string]any{"model": model, "stream": true,
		"messages": []any{map[string]string{"role": "user", "content": words}}}
}

// startNATS starts an external server of messages at an address, and returns what ends it.
func startNATS(t *testing.T, address string) (stop func()) {
	t.Helper()
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	s, err := natsserver.NewServer(&natsserver.Options{Host: host, Port: natsserver.RANDOM_PORT, NoSigs: true,
		NoLog: true, LeafNode: natsserver.LeafNodeOpts{Host: host, Port: port, Username: "u", Password: "p"}})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	stop = sync.OnceFunc(func() { s.Shutdown(); s.WaitForShutdown() })
	t.Cleanup(stop)
	if !s.ReadyForConnections(patience) {
		t.Fatal("NATS does not start")
	}
	return stop
}

// hold keeps as many streams of the key with limits open as a service takes, of most, until release.
func hold(t *testing.T, s *server, most int) (n int, release func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var open []io.Closer
	release = func() {
		cancel()
		for _, c := range open {
			c.Close()
		}
	}
	body, err := json.Marshal(streamsOf("plain", "forever"))
	if err != nil {
		t.Fatal(err)
	}
	for range most {
		req, err := http.NewRequestWithContext(ctx, "POST", s.base+"/v1/chat/completions", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+oneKey)
		req.Header.Set("Content-Type", "application/json")
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, resp.Body)
		switch resp.StatusCode {
		case http.StatusOK:
			n++
		case http.StatusTooManyRequests:
			return n, release
		default:
			t.Fatalf("answered %s", resp.Status)
		}
	}
	return n, release
}

// TestMessagesCutOff ends the external server of messages of two services, and starts it again. Meanwhile runs go on
// and answers count, by the journal alone; each service keeps to its share of limits, and cannot reach runs of the
// other one. Afterwards all is shared again.
func TestMessagesCutOff(t *testing.T) {
	needsHeavy(t)
	address := testport.Reserve(t)
	stop := startNATS(t, address)
	s := busyStory
	s.config = strings.NewReplacer("limits: {concurrent: 1}", "limits: {concurrent: 4}", "again, fails]",
		"again, build__again]", "models: {", "models: {plain: {backend: b}, ").Replace(s.config)
	s.scenario = `
  - {id: forever, when: {user_contains: forever, turn: 0}, reply: [{text: "Now. "}, {pause: 5m}, {text: "Never."}]}
  - {id: slowly, when: {user_contains: slowly, turn: 0}, reply: [{text: "The first words. "}, {pause: 1s}, {text: "The last."}]}
  - {id: ask, when: {user_contains: ask, turn: 0}, reply: [{call: {name: asks, args: {n: 1}}}]}
  - {id: far, when: {user_contains: far, turn: 0}, reply: [{call: {name: build__again, args: {n: 2}}}]}
  - {id: answer, when: {}, reply: [{text: "All done."}]}
`
	m := newTeam(t, &s, pgtest.Start(t).Database(t), 2, "nats://u:p@"+address)
	a, b := m.services[0], m.services[1]
	h := m.worker(t, b.base, "w", "look")
	a.workers(t, 1)
	begin := func(s *server, input string) (id string) {
		var run shownRun
		if !s.call(t, "POST", "runs", map[string]string{"agent": "worker", "input": input}, &run) {
			t.Fatalf("no run begins: %s", s.log)
		}
		return run.ID
	}
	ends := func(s *server, id string) {
		t.Helper()
		var run shownRun
		await(t, "the run ends", func() bool { return s.call(t, "GET", "runs/"+id, nil, &run) && run.State == "ended" })
	}
	cancels := func(s *server, id string) bool {
		var any json.RawMessage
		return s.call(t, "POST", "runs/"+id+"/cancel", map[string]string{}, &any)
	}
	shared := func() {
		t.Helper()
		await(t, "the services share a limit", func() bool {
			n, release := hold(t, a, 5)
			defer release()
			for i := 0; n == 4 && i < 20; i++ { // until it is told
				other, free := hold(t, b, 1)
				if free(); other == 0 {
					return true
				}
				time.Sleep(100 * time.Millisecond)
			}
			return false
		})
	}
	shared()
	forever, asks := begin(a, "forever"), begin(a, "ask")

	stop()
	a.knows(t, 1, 0)
	b.knows(t, 1, 1)
	for _, s := range m.services {
		await(t, "a service keeps to its share", func() bool {
			n, release := hold(t, s, 5)
			release()
			return n == 2
		})
	}
	if cancels(b, forever) {
		t.Error("a run is cancelled that cannot be reached")
	}
	var open struct{ Items []shownQuestion }
	await(t, "the question is seen elsewhere", func() bool {
		return b.call(t, "GET", "approvals", nil, &open) && len(open.Items) == 1
	})
	m.decide(t, b, open.Items)
	ends(b, asks)
	ends(a, begin(b, "hello"))
	ends(b, begin(b, "far")) // the worker is its own

	startNATS(t, address)
	a.knows(t, 2, 1)
	b.knows(t, 2, 1)
	shared()
	if !cancels(b, forever) {
		t.Error("a run of the other service cannot be cancelled")
	}
	ends(b, forever)
	if text, _ := said(t, b, begin(a, "slowly")); text != "The first words. The last." {
		t.Errorf("the other service tells %q", text)
	}
	ends(a, begin(a, "far"))
	for _, s := range m.services {
		s.end(t)
	}
	h.stop(t)
	if got := h.effects(); got != "again 2\nagain 2\n" || m.effects() != "asks 1\n" {
		t.Errorf("the worker did %q, and the services %q", got, m.effects())
	}
}

// TestMessagesSilent drops what passes between one of two services and the external server of messages, which refuses
// nothing and closes nothing, while a worker of the other one runs a call of it. The call ends as lost and is not
// repeated, the worker ends it by itself, runs and answers go on by the journal alone, and with the cable back all is
// shared again. It makes a network namespace for the service.
func TestMessagesSilent(t *testing.T) {
	needsHeavy(t)
	space := namespace(t, "m")
	wire(t, end{"", "10.213.78.1"}, end{space, "10.213.78.2"})          // of the test's clients
	cable := wire(t, end{space, "10.213.79.1"}, end{"", "10.213.79.2"}) // the service is met by silence
	_, port, err := net.SplitHostPort(testport.Reserve(t))
	if err != nil {
		t.Fatal(err)
	}
	startNATS(t, "0.0.0.0:"+port)
	s := busyStory
	s.config = strings.NewReplacer("listen: 127", "hosts: [\"*\"]\nlisten: 127", "again, fails]",
		"again, \"*@build\"]").
		Replace(s.config)
	s.scenario = `
  - {id: far, when: {user_contains: go, turn: 0}, reply: [{call: {name: build__save, args: {n: 1}}}]}
  - {id: near, when: {user_contains: near, turn: 0}, reply: [{call: {name: build__again, args: {n: 2}}}]}
  - {id: ask, when: {user_contains: ask, turn: 0}, reply: [{call: {name: asks, args: {n: 3}}}]}
  - {id: answer, when: {}, reply: [{text: "All done."}]}
`
	m := newTeam(t, &s, pgtest.Start(t).Database(t), 1, "nats://u:p@127.0.0.1:"+port)
	a := m.services[0]
	m.meet = append(m.meet, "")
	m.program = filepath.Join(m.dir, "machine")
	writeFile(t, m.program, "#!/bin/sh\nexec "+strings.Join(within(space), " ")+" wield \"$@\"\n")
	if err := os.Chmod(m.program, 0o755); err != nil {
		t.Fatal(err)
	}
	b := m.start(t, 1, "WIELD_TEST_NATS=nats://u:p@10.213.79.2:"+port, "WIELD_LISTEN=0.0.0.0:8420")
	b.base = "http://10.213.78.2:8420"
	a.knows(t, 2, 0)
	h := m.worker(t, a.base, "w", "save")
	b.workers(t, 1)
	b.knows(t, 2, 1)
	begin := func(s *server, input string) (run shownRun) {
		if !s.call(t, "POST", "runs", map[string]string{"agent": "worker", "input": input}, &run) {
			t.Fatalf("no run begins: %s", s.log)
		}
		return run
	}
	ends := func(s *server, run shownRun) {
		t.Helper()
		await(t, "the run ends", func() bool {
			return s.call(t, "GET", "runs/"+run.ID, nil, &run) && run.State == "ended"
		})
	}

	m.begin(t, b, h) // its call runs on the worker
	far := shownRun{ID: m.run}
	asks := begin(b, "ask")
	began := time.Now()
	cable(t, "down")
	ends(b, far)
	t.Logf("the run of a lost call ended after %v", time.Since(began).Round(100*time.Millisecond))
	if f := m.resultOf(t); f == nil || f.Result.OK || !strings.Contains(string(f.Result.Details), "unknown") {
		t.Errorf("the call has the result %+v", f)
	}
	await(t, "the worker ends the call by itself", func() bool {
		pid, err := os.ReadFile(filepath.Join(h.dir, "process"))
		return err == nil && exec.Command("kill", "-0", strings.TrimSpace(string(pid))).Run() != nil
	})
	a.knows(t, 1, 1)
	b.knows(t, 1, 0)
	a.ready(t, true)
	b.ready(t, true)
	ends(a, begin(a, "near"))
	ends(b, begin(b, "hello"))
	var open struct{ Items []shownQuestion }
	await(t, "the question is seen elsewhere", func() bool {
		return a.call(t, "GET", "approvals", nil, &open) && len(open.Items) == 1
	})
	m.decide(t, a, open.Items)
	ends(b, asks)

	cable(t, "up")
	a.knows(t, 2, 1)
	b.knows(t, 2, 1)
	ends(b, begin(b, "near"))
	a.end(t)
	b.end(t)
	h.stop(t)
	if got := h.effects(); got != "again 2\nagain 2\n" || m.effects() != "asks 3\n" {
		t.Errorf("the worker did %q, and the services %q", got, m.effects())
	}
}

// A balancer sends streams to services, as a load balancer does that asks for their health.
type balancer struct {
	addresses []string
	next      atomic.Int64
	mu        sync.Mutex
	streams   []stream // that came whole
}

// A stream is where one was, and when.
type stream struct {
	base         string
	began, ended time.Time
}

// ask has one stream made. A service that is not ready, or does not listen, is left out.
func (b *balancer) ask(t *testing.T, model string) error {
	s := &server{base: b.addresses[int(b.next.Add(1))%len(b.addresses)]}
	resp, err := s.request(t, "GET", "/health", nil)
	if err != nil {
		return nil
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil
	}
	one := stream{base: s.base, began: time.Now()}
	resp, err = s.request(t, "POST", "/v1/chat/completions", streamsOf(model, "go, "+model))
	var failed *net.OpError
	switch {
	case errors.As(err, &failed) && failed.Op == "dial":
		return nil
	case err != nil:
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(text), "The last.") ||
		!strings.HasSuffix(strings.TrimSpace(string(text)), "[DONE]") {
		return fmt.Errorf("a stream of %s is lost: %s, %v, %s", model, resp.Status, err, text)
	}
	one.ended = time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.streams = append(b.streams, one)
	return nil
}

// across returns how many streams of a service were under way at a time.
func (b *balancer) across(base string, at time.Time) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.streams {
		if s.base == base && s.began.Before(at) && s.ended.After(at) {
			n++
		}
	}
	return n
}

// TestRollingRestart ends three services one after the other, and starts each again, while a load balancer sends them
// requests for streams, of a model and of one that runs a tool. All streams come whole.
func TestRollingRestart(t *testing.T) {
	needsHeavy(t)
	s := busyStory
	s.config = strings.NewReplacer("leave: 1s", "leave: 2s", "drain: 5s", "drain: 20s",
		"models: {", "models: {plain: {backend: b}, ").Replace(s.config)
	s.scenario = `
  - {id: tool, when: {user_contains: worker, turn: 0}, reply: [{call: {name: look, args: {n: 1}}}]}
  - {id: slow, when: {}, reply: [{text: "The first words. "}, {pause: 1500ms}, {text: "The last."}]}
`
	m := newTeam(t, &s, pgtest.Start(t).Database(t), 3, "")
	b := &balancer{}
	start := func(i int, address string) {
		m.services[i] = m.start(t, i, "WIELD_TEST_NATS=", "WIELD_LISTEN="+address)
		m.services[i].meets(t, len(m.services))
	}
	for i, s := range m.services {
		s.end(t)
		b.addresses = append(b.addresses, "http://"+testport.Reserve(t))
		start(i, strings.TrimPrefix(b.addresses[i], "http://"))
	}
	stop, clients := make(chan struct{}), sync.WaitGroup{}
	for i := range 6 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
				if err := b.ask(t, []string{"plain", "worker"}[i%2]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	ends := sync.OnceFunc(func() { close(stop); clients.Wait() })
	defer ends()
	told := map[string]time.Time{}
	for i, s := range m.services {
		await(t, "streams are under way", func() bool {
			status, _ := s.status(t)
			for _, one := range status.Services {
				if one.Self && one.Requests > 1 {
					return true
				}
			}
			return false
		})
		told[b.addresses[i]] = time.Now()
		s.end(t)
		start(i, strings.TrimPrefix(b.addresses[i], "http://"))
	}
	ends()
	n := 0
	for base, at := range told {
		n += b.across(base, at)
	}
	t.Logf("%d streams, %d of them were under way where a service was told to end", len(b.streams), n)
	if n == 0 {
		t.Error("no stream was under way")
	}
	for _, s := range m.services {
		s.end(t)
	}
}

// TestServiceDiskFull fills the disk of one of three services, which is a small one of its own, while clients begin
// runs at all of them. The others go on, nothing that was acknowledged is lost, and with room again the service goes
// on as well.
func TestServiceDiskFull(t *testing.T) {
	needsHeavy(t)
	try := exec.Command("unshare", "-m", "mount", "-t", "tmpfs", "-o", "size=1m", "none", t.TempDir())
	if out, err := try.CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: a full disk needs a file system of its own, which cannot be made here: %v: %s", err, out)
	}
	s := busyStory
	s.config = strings.NewReplacer(", workers: [build]", "", "models: {", "models: {plain: {backend: b}, ").
		Replace(s.config) + "capture: {requests: disk}\n"
	s.scenario = strings.ReplaceAll(s.scenario, "build__", "")
	m := newTeam(t, &s, pgtest.Start(t).Database(t), 2, "")
	disk := t.TempDir()
	m.program = filepath.Join(m.dir, "machine")
	writeFile(t, m.program, "#!/bin/sh\nexec unshare -m sh -c 'mount -t tmpfs -o size=2m none "+disk+" && mkdir "+disk+
		"/temp && exec wield \"$@\"' sh \"$@\"\n")
	if err := os.Chmod(m.program, 0o755); err != nil {
		t.Fatal(err)
	}
	m.meet = append(m.meet, testport.Reserve(t))
	full := m.start(t, 2, "WIELD_TEST_NATS=", "WIELD_DATA="+filepath.Join(disk, "state"),
		"TMPDIR="+filepath.Join(disk, "temp"))
	m.services = append(m.services, full)
	for _, s := range m.services {
		s.meets(t, 3)
	}
	m.recordWriters(t)

	h := &history{runs: map[string]string{}, answered: map[string]string{}}
	stop, clients := make(chan struct{}), sync.WaitGroup{}
	for _, s := range m.services {
		clients.Go(func() { h.client(t, &server{base: s.base}, stop) })
	}
	ends := sync.OnceFunc(func() { close(stop); clients.Wait() })
	defer ends()
	more := func(s *server) { // runs begin there, and end
		t.Helper()
		before := h.at(s.base)
		await(t, "further runs begin", func() bool { return len(h.at(s.base)) >= len(before)+3 })
		for _, id := range h.at(s.base)[:len(before)+3] {
			var run shownRun
			await(t, "a run ends", func() bool {
				return s.call(t, "GET", "runs/"+id, nil, &run) && run.State == "ended"
			})
		}
	}
	more(full)
	filler := filepath.Join(fmt.Sprintf("/proc/%d/root", full.cmd.Process.Pid), disk, "filler")
	f, err := os.OpenFile(filler, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for size := 64 << 10; size > 0; { // down to the last byte
		if _, err = f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	if f.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	for _, s := range m.services[:2] {
		more(s)
	}
	resp, err := full.request(t, "POST", "/v1/chat/completions", streamsOf("plain", "hello"))
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body) // what is missing is missed below
	resp.Body.Close()
	if !strings.HasSuffix(strings.TrimSpace(string(text)), "[DONE]") {
		t.Errorf("with its disk full, the service answers %s %s", resp.Status, text)
	}
	await(t, "the service says that its disk is full", func() bool {
		return strings.Contains(full.log.String(), syscall.ENOSPC.Error())
	})
	t.Logf("with its disk full, the service has begun %d runs", len(h.at(full.base)))
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	more(full)
	ends()
	awaitFor(t, 2*time.Minute, "all runs end", func() bool { return h.over(t, m.services, m) })
	for _, s := range m.services {
		s.end(t)
	}
	h.check(t, m, nil)
}
