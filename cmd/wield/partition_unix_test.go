//go:build unix

package main

import (
	"fmt"
	"net"
	"net/url"
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

	"wield/internal/cluster"
	"wield/internal/pgtest"
	"wield/journal"
	"wield/journal/journaltest"
	"wield/journal/record"
)

// ip runs a command of ip(8), in a network namespace if one is named.
func ip(space string, args ...string) error {
	if space != "" {
		args = append([]string{"-n", space}, args...)
	}
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// sweepSpaces removes namespaces of tests that were killed, and what runs there: their addresses are the same as those
// of this test.
func sweepSpaces() {
	out, _ := exec.Command("ip", "netns", "list").Output() // none: there is nothing to remove
	for line := range strings.Lines(string(out)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		var pid int
		if n, _ := fmt.Sscanf(name, "wield%d", &pid); n != 1 || syscall.Kill(pid, 0) == nil {
			continue
		}
		inside, _ := exec.Command("ip", "netns", "pids", name).Output()
		for _, p := range strings.Fields(string(inside)) {
			if id, err := strconv.Atoi(p); err == nil {
				_ = syscall.Kill(id, syscall.SIGKILL) // it may have ended
			}
		}
		_ = ip("", "netns", "del", name) // its devices go with it
	}
}

// namespace makes a network namespace that ends with the test, or skips the test loudly.
func namespace(t *testing.T, name string) string {
	t.Helper()
	sweepSpaces()
	space := fmt.Sprintf("wield%d%s", os.Getpid(), name)
	if err := ip("", "netns", "add", space); err != nil {
		t.Skip("NOT TESTED: a partition needs a network namespace, which cannot be made here: ", err)
	}
	t.Cleanup(func() {
		if err := ip("", "netns", "del", space); err != nil { // its devices go with it
			t.Error(err)
		}
	})
	if err := ip(space, "link", "set", "lo", "up"); err != nil {
		t.Skip("NOT TESTED: ", err)
	}
	return space
}

// within returns the command that starts a program in a namespace.
func within(space string) []string { return []string{"ip", "netns", "exec", space} }

// An end is one of a cable: a namespace, "" for that of the test, and an address there.
type end struct{ space, address string }

var cables atomic.Int64 // that were made, for names of devices

// wire connects two namespaces. The function that it returns takes the cable out and puts it back: the first end sees a
// silent network, the second one has none.
func wire(t *testing.T, a, b end) func(t *testing.T, state string) {
	t.Helper()
	n := cables.Add(1)
	here, there := fmt.Sprintf("wt%da%d", n, os.Getpid()), fmt.Sprintf("wt%db%d", n, os.Getpid())
	from, pair := a.space, []string{"link", "add", here, "type", "veth", "peer", "name", there, "netns", b.space}
	if b.space == "" { // which has no name
		from, pair[2], pair[7], pair[9] = "", there, here, a.space
	}
	for _, c := range []struct {
		space string
		args  []string
	}{
		{from, pair},
		{a.space, []string{"addr", "add", a.address + "/30", "dev", here}},
		{a.space, []string{"link", "set", here, "up"}},
		{b.space, []string{"addr", "add", b.address + "/30", "dev", there}},
		{b.space, []string{"link", "set", there, "up"}},
	} {
		if err := ip(c.space, c.args...); err != nil {
			t.Skip("NOT TESTED: ", err)
		}
	}
	return func(t *testing.T, state string) {
		t.Helper()
		if err := ip(b.space, "link", "set", there, state); err != nil {
			t.Fatal(err)
		}
	}
}

// A slowProxy passes on what clients and PostgreSQL say, each piece after a delay.
type slowProxy struct {
	socket string
	delay  atomic.Int64 // nanoseconds
}

// listen takes clients at an address until the test ends, and returns the address with its port.
func (p *slowProxy) listen(t *testing.T, host string) string {
	t.Helper()
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup
	var mu sync.Mutex
	var all []net.Conn
	keep := func(c net.Conn) net.Conn {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, c)
		return c
	}
	open.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", p.socket)
			if err != nil { // it is being restarted
				client.Close()
				continue
			}
			keep(client)
			keep(server)
			open.Go(func() { p.pass(server, client) })
			open.Go(func() { p.pass(client, server) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range all {
			c.Close()
		}
		mu.Unlock()
		open.Wait()
	})
	return l.Addr().String()
}

// pass passes on what comes, until either side ends.
func (p *slowProxy) pass(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		time.Sleep(time.Duration(p.delay.Load()))
		if _, lost := to.Write(buffer[:n]); err != nil || lost != nil {
			return
		}
	}
}

// A split is two services and a worker of the second one, each on a machine of its own as far as the network tells.
type split struct {
	*team
	database *pgtest.Cluster
	links    [2]*slowProxy // from each service to the database

	toDatabase [2]func(*testing.T, string)
	toWorker   func(*testing.T, string)
	between    func(*testing.T, string)
	hand       *hand
}

// newSplit starts the machines.
func newSplit(t *testing.T) *split {
	t.Helper()
	spaces := []string{namespace(t, "s0"), namespace(t, "s1")}
	hands := namespace(t, "w")
	m := &split{team: &team{meet: []string{"10.213.74.1:6222", "10.213.74.2:6222"}}}
	m.between = wire(t, end{spaces[0], "10.213.74.1"}, end{spaces[1], "10.213.74.2"})
	m.toWorker = wire(t, end{spaces[1], "10.213.75.1"}, end{hands, "10.213.75.2"})
	m.database = pgtest.Start(t)
	address := m.database.Database(t)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	s := busyStory
	s.config = strings.Replace(s.config, "listen: 127.0.0.1:0", "hosts: [\"*\"]", 1) +
		"cluster: {secret: env:WIELD_TEST_KEY, peers: [\"" + strings.Join(m.meet, "\", \"") + "\"]}\n"
	if m.world, err = newWorld(t.TempDir(), &s, address); err != nil {
		t.Fatal(err)
	}
	for i, space := range spaces {
		// of the test's clients
		wire(t, end{"", fmt.Sprintf("10.213.%d.1", 70+i)}, end{space, fmt.Sprintf("10.213.%d.2", 70+i)})
		// The service is the first end: what it says to a database that is gone is met by silence.
		host := fmt.Sprintf("10.213.%d.2", 72+i)
		m.toDatabase[i] = wire(t, end{space, fmt.Sprintf("10.213.%d.1", 72+i)}, end{"", host})
		m.links[i] = &slowProxy{socket: filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432")}
		m.program = filepath.Join(m.dir, fmt.Sprint("machine", i))
		writeFile(t, m.program, "#!/bin/sh\nexec "+strings.Join(within(space), " ")+" wield \"$@\"\n")
		if err := os.Chmod(m.program, 0o755); err != nil {
			t.Fatal(err)
		}
		link := fmt.Sprintf("postgres://%s@%s%s?sslmode=disable", pgtest.Admin, m.links[i].listen(t, host), u.Path)
		one := m.start(t, i, "WIELD_TEST_NATS=", "WIELD_LISTEN=0.0.0.0:8420", databaseVariable+"="+writesAs(link, i, 0))
		one.base = fmt.Sprintf("http://10.213.%d.2:8420", 70+i)
		m.services = append(m.services, one)
	}
	for _, one := range m.services {
		one.meets(t, 2)
	}
	m.hand = m.worker(t, "http://10.213.75.1:8420", "w", "look", within(hands)...)
	m.services[0].workers(t, 1)
	m.recordWriters(t)
	return m
}

// status asks a service who is there.
func (s *server) status(t *testing.T) (status cluster.Status, ok bool) {
	t.Helper()
	ok = s.call(t, "GET", "cluster", nil, &status)
	return status, ok
}

// knows waits until a service knows so many services and workers.
func (s *server) knows(t *testing.T, services, workers int) {
	t.Helper()
	awaitFor(t, time.Minute, fmt.Sprintf("it knows %d services and %d workers", services, workers), func() bool {
		status, ok := s.status(t)
		return ok && len(status.Services) == services && len(status.Workers) == workers
	})
}

// owners returns how many owners a run has had.
func (w *world) owners(t *testing.T, run string) (n int) {
	t.Helper()
	s, err := w.journal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	seen := map[string]bool{}
	for _, e := range journaltest.List(t, s.Read(t.Context(), journal.Query{Stream: run})) {
		if e.Record.Kind == record.KindClaimed {
			seen[e.Record.Claimed.Owner] = true
		}
	}
	return len(seen)
}

// TestPartitions takes out the cables between a worker and its service, between two services, and between a service
// and its database, makes a link to the database slow, and restarts PostgreSQL, while clients begin runs at both
// services and answer their questions. Each fault is held until it is noticed. Afterwards the history is checked as
// in TestKilledServices.
func TestPartitions(t *testing.T) {
	if os.Getenv(killVariable) == "" {
		t.Skip("it makes network namespaces, in the heavy level of .ci/run (WIELD_KILL)")
	}
	t.Parallel()
	m := newSplit(t)
	first, second := m.services[0], m.services[1]
	h := &history{runs: map[string]string{}, answered: map[string]string{}}
	stop, clients := make(chan struct{}), sync.WaitGroup{}
	for _, s := range m.services {
		clients.Go(func() { h.client(t, &server{base: s.base}, stop) })
	}
	ends := sync.OnceFunc(func() { close(stop); clients.Wait() })
	defer ends()

	step := func(what string, f func()) {
		began := time.Now()
		f()
		t.Logf("%s: %v", what, time.Since(began).Round(100*time.Millisecond))
	}
	step("worker and service, while the first service has a slow link to its database", func() {
		m.links[0].delay.Store(int64(40 * time.Millisecond))
		m.toWorker(t, "down")
		first.knows(t, 2, 0)
		m.toWorker(t, "up")
		first.knows(t, 2, 1)
		m.links[0].delay.Store(0)
	})
	step("service and service", func() {
		m.between(t, "down")
		first.knows(t, 1, 0) // the worker is the other one's
		second.knows(t, 1, 1)
		m.between(t, "up")
		first.knows(t, 2, 1)
		second.knows(t, 2, 1)
	})
	step("service and database", func() {
		var runs [3]shownRun
		for i := range runs {
			if !second.call(t, "POST", "runs", map[string]string{"agent": "worker", "input": "go"}, &runs[i]) {
				t.Fatalf("no run begins: %s", second.log)
			}
		}
		m.toDatabase[1](t, "down")
		second.ready(t, false)
		first.ready(t, true)
		owners := 0
		for _, run := range runs {
			awaitFor(t, 2*time.Minute, "the other service ends the run", func() bool {
				return first.call(t, "GET", "runs/"+run.ID, nil, &run) && run.State == "ended"
			})
			owners += m.owners(t, run.ID)
		}
		m.toDatabase[1](t, "up")
		second.ready(t, true)
		if owners <= len(runs) {
			t.Error("the other service has taken no run over")
		}
	})
	step("PostgreSQL restarted", func() {
		m.database.Restart(t)
		for _, s := range m.services {
			awaitFor(t, time.Minute, "a service reads the journal again", func() bool {
				var list struct{ Items []shownRun }
				return s.call(t, "GET", "runs", nil, &list)
			})
		}
	})
	ends()
	step("all runs end", func() {
		awaitFor(t, 2*time.Minute, "all runs end", func() bool { return h.over(t, m.services, m.team) })
	})
	if len(h.runs) < 3 || len(h.answered) == 0 {
		t.Errorf("only %d runs and %d answers were acknowledged", len(h.runs), len(h.answered))
	}
	for _, s := range m.services {
		s.end(t)
	}
	m.hand.stop(t)
	t.Logf("%d runs, %d answers", len(h.runs), len(h.answered))
	h.check(t, m.team, []*hand{m.hand})
}
