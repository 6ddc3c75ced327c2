package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"wield/internal/cli"
	"wield/internal/config"
	"wield/journal"
	"wield/journal/postgres"
	"wield/journal/record"
	"wield/journal/sqlite"
	"wield/tool/sandbox"
)

// What a mortal process is told in its environment.
const (
	mortalDeath = "WIELD_TEST_DEATH" // as a death prints itself; empty: it lives
	mortalTrace = "WIELD_TEST_TRACE" // the file that gets a line for each step
	mortalClock = "WIELD_TEST_CLOCK" // how far its clock is ahead
	mortalJump  = "WIELD_TEST_JUMP"  // how far the clock goes with each step
	mortalWait  = "WIELD_TEST_WAIT"  // how long it waits for who has locked the journal
	mortalRoom  = "WIELD_TEST_ROOM"  // how many bytes its files may have
)

// quickEnd is for the environment of processes: the race detector waits for a second at the end of a program.
const quickEnd = "GORACE=atexit_sleep_ms=0"

// A death is where and how a process ends.
type death struct {
	step int // the number of the step, from 1
	how  manner
	cut  int // torn: how many hundredths of what the step wrote to SQLite's log stay
}

// A manner is one in which a process ends.
type manner string

// The manners.
const (
	dieBefore manner = "before" // the step is not taken
	dieAfter  manner = "after"  // the step was taken, and nobody was told
	dieTorn   manner = "torn"   // the step was written in part
	diePower  manner = "power"  // before the step; of what was written since the last sync nothing stays
)

func (d death) String() string { return fmt.Sprintf("%d:%s:%d", d.step, d.how, d.cut) }

func parseDeath(s string) (d death) {
	parts := strings.Split(s, ":")
	if len(parts) != 3 {
		return death{}
	}
	d.step, _ = strconv.Atoi(parts[0])
	d.how = manner(parts[1])
	d.cut, _ = strconv.Atoi(parts[2])
	return d
}

// mainMortal is wield, with a journal that ends the process where the environment says.
func mainMortal() {
	sandbox.Main()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	trace, err := os.OpenFile(os.Getenv(mortalTrace), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	limitFiles(os.Getenv(mortalRoom))
	l := &life{death: parseDeath(os.Getenv(mortalDeath)), trace: trace, owners: map[string]bool{}}
	for name, to := range map[string]*time.Duration{mortalClock: &l.ahead, mortalJump: &l.jump, mortalWait: &l.wait} {
		*to, _ = time.ParseDuration(os.Getenv(name)) // most are not set
	}
	a := cli.OS()
	a.Journal = l.open
	os.Exit(run(ctx, os.Args[1:], a))
}

// unsyncedMark ends the line of a step before which something was written that a loss of power would take away.
const unsyncedMark = " (unsynced)"

// A life counts the steps of a process, and ends it.
type life struct {
	death  death
	trace  *os.File
	ahead  time.Duration
	jump   time.Duration
	wait   time.Duration
	owners map[string]bool // whose leases were seen

	clock sync.Mutex // for ahead

	mu    sync.Mutex
	steps int
}

// now is the time as this process believes it to be.
func (l *life) now() time.Time {
	l.clock.Lock()
	defer l.clock.Unlock()
	return time.Now().Add(l.ahead)
}

// open opens the journal of a configuration with the clock of this process.
func (l *life) open(ctx context.Context, c *config.Config, getenv func(string) string, look bool) (journal.Store,
	error) {
	o := journal.Options{Now: l.now}
	if c.Journal.Store == "postgres" {
		address, err := c.Journal.URL.Resolve(getenv)
		if err != nil {
			return nil, err
		}
		s, err := postgres.Open(ctx, address, postgres.Options{Options: o})
		if err != nil {
			return nil, err
		}
		return &mortal{Store: s, life: l}, nil
	}
	path := c.JournalPath(getenv)
	s, err := sqlite.Open(ctx, path, sqlite.Options{Options: o, Existing: look, Wait: l.wait})
	if err != nil {
		return nil, err
	}
	m := &mortal{Store: s, life: l, log: path + "-wal"}
	m.synced = m.size()
	return m, nil
}

// A mortal is a store that ends its process in a step.
type mortal struct {
	journal.Store
	life   *life
	log    string // SQLite's
	synced int64  // so much of it is on the disk for sure
}

func (m *mortal) size() int64 {
	info, err := os.Stat(m.log)
	if err != nil {
		return 0
	}
	return info.Size()
}

// step takes a step, or ends the process in it. One step is taken at a time, so that what a torn one leaves in the
// log is its own.
func (m *mortal) step(what string, durable bool, take func() error) error {
	l := m.life
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps++
	l.clock.Lock()
	l.ahead += l.jump
	l.clock.Unlock()
	mark := ""
	if m.size() > m.synced {
		mark = unsyncedMark
	}
	fmt.Fprintf(l.trace, "%d: %s%s\n", l.steps, what, mark)
	if l.steps == l.death.step && (l.death.how == dieBefore || l.death.how == diePower) {
		m.die(m.synced)
	}
	before := m.size()
	if err := take(); err != nil {
		return err
	}
	if l.steps == l.death.step {
		m.die(before + (m.size()-before)*int64(l.death.cut)/100)
	}
	if durable {
		m.synced = m.size()
	}
	return nil
}

// die kills the process, and leaves so much of the log.
func (m *mortal) die(left int64) {
	if how := m.life.death.how; m.log != "" && (how == dieTorn || how == diePower) {
		if err := os.Truncate(m.log, left); err != nil && !os.IsNotExist(err) {
			panic(err)
		}
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {} // until it has come
}

// Append is a step.
func (m *mortal) Append(ctx context.Context, stream string, after int64, records ...record.Record) (position int64,
	err error) {
	var what []string
	durable := false
	for i := range records {
		durable = durable || records[i].Kind.Durable()
		what = append(what, describeStep(&records[i]))
	}
	err = m.step(strings.Join(what, ", "), durable, func() error {
		position, err = m.Store.Append(ctx, stream, after, records...)
		return err
	})
	return position, err
}

// describeStep names a record with what tells it from others of its kind.
func describeStep(r *record.Record) string {
	kind := string(r.Kind)
	switch r.Kind {
	case record.KindStart:
		return kind + " " + r.Start.Tool
	case record.KindResult:
		if r.Result.Result.OK {
			return kind + " " + r.Result.Tool
		}
		return kind + " " + r.Result.Tool + " " + string(r.Result.Result.ErrorType)
	case record.KindPolicy:
		return kind + " " + string(r.Policy.Decision)
	case record.KindTurnEnd:
		switch t := r.TurnEnd; {
		case t.Error != nil:
			return kind + " failed"
		case len(t.Message.Calls) > 0:
			return kind + " with calls"
		}
	case record.KindMessage:
		return kind + " " + string(r.Message.Role)
	case record.KindAnswer:
		return kind + " " + string(r.Answer.State)
	case record.KindWait:
		return kind + " " + string(r.Wait.For)
	case record.KindEnd:
		return kind + " " + r.End.Reason
	}
	return kind
}

// Claim is a step, when it is not more time for who has the lease.
func (m *mortal) Claim(ctx context.Context, stream, owner string, ttl time.Duration) (lease journal.Lease, err error) {
	m.life.mu.Lock()
	known := m.life.owners[owner]
	m.life.owners[owner] = true
	m.life.mu.Unlock()
	if known {
		return m.Store.Claim(ctx, stream, owner, ttl)
	}
	err = m.step("claimed", false, func() error {
		lease, err = m.Store.Claim(ctx, stream, owner, ttl)
		return err
	})
	return lease, err
}

// Release is a step.
func (m *mortal) Release(ctx context.Context, lease journal.Lease) error {
	return m.step("released", false, func() error { return m.Store.Release(ctx, lease) })
}

func TestDeath(t *testing.T) {
	for _, d := range []death{{}, {3, dieBefore, 0}, {12, dieTorn, 50}} {
		if got := parseDeath(d.String()); got != d {
			t.Errorf("%v was read as %v", d, got)
		}
	}
}
