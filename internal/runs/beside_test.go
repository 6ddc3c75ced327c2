package runs_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wield/chat"
	"wield/internal/runs"
	"wield/internal/runtest"
	"wield/journal"
	"wield/journal/journaltest"
	"wield/journal/record"
	"wield/tool/runner"
)

// longStory is a run with calls that may be repeated and calls that may not, and a question.
var longStory = script{
	{text: "First.", calls: []chat.Call{call("look", `{"n":1}`), call("save", `{"n":2}`)}},
	{calls: []chat.Call{call("asks", `{"n":3}`), call("save", `{"n":4}`)}},
	{calls: []chat.Call{call("save", `{"n":5}`)}},
}

// A frozen store belongs to a process that stands still from one append on, before it or after it, until it is thawed.
type frozen struct {
	journal.Store
	at    int
	after bool
	thaw  chan struct{}

	mu sync.Mutex
	n  int
}

func (f *frozen) stands() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n >= f.at
}

func (f *frozen) Append(ctx context.Context, stream string, after int64, records ...record.Record) (int64, error) {
	f.mu.Lock()
	f.n++
	now := f.n == f.at
	f.mu.Unlock()
	if !now {
		if f.stands() {
			<-f.thaw
		}
		return f.Store.Append(ctx, stream, after, records...)
	}
	if !f.after {
		<-f.thaw
		return f.Store.Append(ctx, stream, after, records...)
	}
	position, err := f.Store.Append(ctx, stream, after, records...)
	<-f.thaw
	return position, err
}

func (f *frozen) Claim(ctx context.Context, stream, owner string, ttl time.Duration) (journal.Lease, error) {
	if f.stands() {
		<-f.thaw
	}
	return f.Store.Claim(ctx, stream, owner, ttl)
}

func (f *frozen) Release(ctx context.Context, l journal.Lease) error {
	if f.stands() {
		<-f.thaw
	}
	return f.Store.Release(ctx, l)
}

// TestFrozen stops the process of a hub before and after each append of a run, for longer than its lease, while
// another hub is there all the time. That one takes the run over and brings it to its end. When the first one goes on
// it cannot write any more.
func TestFrozen(t *testing.T) {
	for at, whole := 1, false; !whole; at++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(at, after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					memory, s := new(journal.Memory), newShop(t)
					f := &frozen{Store: memory, at: at, after: after, thaw: make(chan struct{})}
					first, second := newHub(t, f, longStory, s), newHub(t, memory, longStory, s)
					for _, h := range []*runs.Hub{first, second} {
						if err := h.Recover(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
					started := make(chan error, 1)
					go func() {
						_, err := first.Start(t.Context(),
							runs.Start{Agent: "worker", Request: ask("go"), By: "someone"})
						started <- err
					}()
					synctest.Wait()
					if at > 1 || after {
						finish(t, second, memory)
					}
					whole = !f.stands()
					before := lasts(t, memory)
					close(f.thaw)
					<-started              // what it was told is of no use to it any more
					if at == 1 && !after { // it was before all
						finish(t, second, memory)
						before = lasts(t, memory)
					}
					time.Sleep(journal.MaxLease)
					synctest.Wait()
					if now := lasts(t, memory); now != before {
						t.Errorf("the process that had been away wrote to the run: %s, before %s", now, before)
					}
					checkRuns(t, memory, s, false)
				})
			})
		}
	}
}

// lasts says how long the runs of a journal are, without the records of who took them over: a lease that nobody has
// may be asked for.
func lasts(t *testing.T, store journal.Store) (list string) {
	t.Helper()
	for head, err := range store.Heads(t.Context(), journal.HeadQuery{Opened: record.KindRun}) {
		if err != nil {
			t.Fatal(err)
		}
		entries := journaltest.List(t, store.Read(t.Context(), journal.Query{Stream: head.Stream}))
		entries = slices.DeleteFunc(entries, func(e journal.Entry) bool { return e.Record.Kind == record.KindClaimed })
		list += fmt.Sprintln(head.Stream, len(entries), head.State)
	}
	return list
}

// TestKilledBeside kills the process of a hub before and after each append of a run while another hub is there all
// the time, which knows of the run from the journal alone.
func TestKilledBeside(t *testing.T) {
	for at, whole := 1, false; !whole; at++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(at, after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					memory, s := new(journal.Memory), newShop(t)
					d := &runtest.Dying{Store: memory, At: at, After: after}
					first, second := newHub(t, d, longStory, s), newHub(t, memory, longStory, s)
					if err := second.Recover(t.Context()); err != nil {
						t.Fatal(err)
					}
					_, err := first.Start(t.Context(), runs.Start{Agent: "worker", Request: ask("go"), By: "someone"})
					if err != nil && !d.Dead() {
						t.Fatal(err)
					}
					finish(t, second, memory)
					whole = !d.Dead()
					checkRuns(t, memory, s, false)
				})
			})
		}
	}
}

// TestClocksApart kills the process of a hub while the clock of the store is an hour away from that of the hub beside
// it, which takes the run over as soon as the lease is over for all that.
func TestClocksApart(t *testing.T) {
	for _, apart := range []time.Duration{-time.Hour, 0, time.Hour} {
		t.Run(apart.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory, s := new(journal.Memory), newShop(t)
				memory.Options.Now = func() time.Time { return time.Now().Add(apart) }
				d := &runtest.Dying{Store: memory, At: 6}
				first, second := newHub(t, d, longStory, s), newHub(t, memory, longStory, s)
				if err := second.Recover(t.Context()); err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				if _, err := first.Start(t.Context(), runs.Start{Agent: "worker", Request: ask("go"),
					By: "someone"}); err != nil {
					t.Fatal(err)
				}
				claims := journal.Query{Kinds: []record.Kind{record.KindClaimed}}
				taken := len(journaltest.List(t, memory.Read(t.Context(), claims))) + 1
				for len(journaltest.List(t, memory.Read(t.Context(), claims))) < taken &&
					time.Since(begun) < time.Minute {
					time.Sleep(time.Second)
				}
				if after := time.Since(begun); after > 14*time.Second {
					t.Errorf("the run was taken over after %v", after)
				}
				finish(t, second, memory)
				checkRuns(t, memory, s, false)
			})
		})
	}
}

// A deaf store loses its connection at each of the first few times that somebody watches it.
type deaf struct {
	journal.Store
	times atomic.Int32
}

func (d *deaf) Watch(ctx context.Context, q journal.Query) iter.Seq2[journal.Entry, error] {
	if d.times.Add(-1) < 0 {
		return d.Store.Watch(ctx, q)
	}
	return func(yield func(journal.Entry, error) bool) { yield(journal.Entry{}, journal.ErrLost) }
}

// A deafRead store loses its connection the first time that a question is looked up.
type deafRead struct {
	journal.Store
	times atomic.Int32
}

func (d *deafRead) Read(ctx context.Context, q journal.Query) iter.Seq2[journal.Entry, error] {
	if slices.Equal(q.Kinds, []record.Kind{record.KindQuestion}) && d.times.Add(-1) == 0 {
		return func(yield func(journal.Entry, error) bool) { yield(journal.Entry{}, journal.ErrLost) }
	}
	return d.Store.Read(ctx, q)
}

// TestAnswerIsReadAgain: an answer that another process wrote is not missed because the connection broke while it was
// read.
func TestAnswerIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, s := new(journal.Memory), newShop(t)
		d := &deafRead{Store: memory}
		h := newHub(t, d, longStory, s)
		if err := h.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Start(t.Context(), runs.Start{Agent: "worker", Request: ask("go"), By: "someone"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		approvals := &journal.Approvals{Store: memory}
		var asked string
		for p, err := range approvals.Waiting(t.Context()) {
			if asked = p.ID; err != nil {
				t.Fatal(err)
			}
		}
		d.times.Store(1)
		if _, err := approvals.Decide(t.Context(), asked,
			runner.Answer{State: runner.ApprovalApproved, By: "me"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if d.times.Load() > 0 {
			t.Error("nobody looked the question up")
		}
		for head, err := range memory.Heads(t.Context(),
			journal.HeadQuery{Opened: record.KindRun, States: []record.State{record.StateWaiting}}) {
			t.Errorf("the run still waits: %+v, %v", head, err)
		}
	})
}

// TestDrainedBeside drains a hub while another one is there: what it was driving continues with that one, also if that
// one could not read the journal for a while.
func TestDrainedBeside(t *testing.T) {
	for _, times := range []int32{0, 3} {
		t.Run(fmt.Sprint(times), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { drainedBeside(t, times) })
		})
	}
}

func drainedBeside(t *testing.T, times int32) {
	memory, s := new(journal.Memory), newShop(t)
	m := twoTurns()
	m.answers[1].wait = make(chan bool)
	d := &deaf{Store: memory}
	d.times.Store(times)
	first, second := newHub(t, memory, m, s), newHub(t, d, twoTurns(), s)
	if err := second.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	start(t, first, "go")
	synctest.Wait()
	drainNow(first)
	time.Sleep(10 * time.Second)
	synctest.Wait()
	for head, err := range memory.Heads(t.Context(), journal.HeadQuery{Opened: record.KindRun}) {
		if err != nil || head.State != record.StateEnded {
			t.Errorf("the run is %s, %v", head.State, err)
		}
	}
	if n := s.count(`save{"n":2}`); n != 1 {
		t.Errorf("save was done %d times", n)
	}
}

// A full store has no room from one append on, until it is emptied.
type full struct {
	journal.Store
	at int

	mu      sync.Mutex
	n       int
	emptied bool
}

func (f *full) room(append int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n += append
	if f.n >= f.at && !f.emptied {
		return journal.ErrFull
	}
	return nil
}

func (f *full) empty() (was bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	was, f.emptied = f.n >= f.at, true
	return was
}

func (f *full) Append(ctx context.Context, stream string, after int64, records ...record.Record) (int64, error) {
	if err := f.room(1); err != nil {
		return 0, err
	}
	return f.Store.Append(ctx, stream, after, records...)
}

func (f *full) Claim(ctx context.Context, stream, owner string, ttl time.Duration) (journal.Lease, error) {
	if err := f.room(0); err != nil {
		return journal.Lease{}, err
	}
	return f.Store.Claim(ctx, stream, owner, ttl)
}

// TestFull fills the journal of a hub at each append of a run, for an hour. With room again the run goes on by itself.
func TestFull(t *testing.T) {
	for at, whole := 1, false; !whole; at++ {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory, s := new(journal.Memory), newShop(t)
				f := &full{Store: memory, at: at}
				h := newHub(t, f, longStory, s)
				if err := h.Recover(t.Context()); err != nil {
					t.Fatal(err)
				}
				_, err := h.Start(t.Context(), runs.Start{Agent: "worker", Request: ask("go"), By: "someone"})
				if at == 1 != errors.Is(err, journal.ErrFull) {
					t.Errorf("it was started: %v", err)
				}
				for range 4 {
					time.Sleep(15 * time.Minute)
					for p := range (&journal.Approvals{Store: memory}).Waiting(t.Context()) {
						// there may be no room
						_, _ = h.Decide(t.Context(), p.ID, runner.Answer{State: runner.ApprovalApproved, By: "me"})
					}
				}
				whole = !f.empty()
				finish(t, h, memory)
				checkRuns(t, memory, s, false)
			})
		})
	}
}

// A hiccup store cannot be reached for one append.
type hiccup struct {
	journal.Store
	at int

	mu sync.Mutex
	n  int
}

func (s *hiccup) Append(ctx context.Context, stream string, after int64, records ...record.Record) (int64, error) {
	s.mu.Lock()
	s.n++
	lost := s.n == s.at
	s.mu.Unlock()
	if lost {
		return 0, journal.ErrLost
	}
	return s.Store.Append(ctx, stream, after, records...)
}

// TestHiccup lets the journal of a hub be away for one append of a run. The run goes on by itself, with the next one.
func TestHiccup(t *testing.T) {
	for at, whole := 2, false; !whole; at++ {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory, s := new(journal.Memory), newShop(t)
				lost := &hiccup{Store: memory, at: at}
				h := newHub(t, lost, longStory, s)
				if err := h.Recover(t.Context()); err != nil {
					t.Fatal(err)
				}
				if _, err := h.Start(t.Context(), runs.Start{Agent: "worker", Request: ask("go"),
					By: "someone"}); err != nil {
					t.Fatal(err)
				}
				finish(t, h, memory)
				lost.mu.Lock()
				whole = lost.n < at
				lost.mu.Unlock()
				checkRuns(t, memory, s, false)
			})
		})
	}
}
