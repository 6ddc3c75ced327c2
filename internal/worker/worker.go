package worker

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"wield/internal/cluster"
	"wield/tool/runner"
)

// Options say what a worker offers, and to whom.
type Options struct {
	Connect    string // base address of the service
	Key        string // that the service knows
	Name       string
	Version    string
	Labels     map[string]string
	Concurrent int           // calls at a time; 0: 4
	Drain      time.Duration // that calls have to end when the worker does

	Runner *runner.Runner // of the tools, with their policy and without approvals
	Tools  Tools          // that are offered
	Asks   bool           // where the policy asks, whoever answers for the service may allow

	Log *slog.Logger // nil: none
}

// Tools are those that a worker offers, as they are now. A *runner.Registry holds some.
type Tools interface {
	Lookup(name string) (*runner.Entry, bool)
	Entries() []*runner.Entry
}

const (
	firstPause = 500 * time.Millisecond // before the service is tried again
	mostPause  = 10 * time.Second
	mostOut    = 64 << 20 // bytes that wait while the connection is broken
)

// A Worker runs tools for services.
type Worker struct {
	o       Options
	dialer  *dialer
	conn    *nats.Conn
	address cluster.Address
	began   time.Time
	hello   []byte // that was sent last

	mu       sync.Mutex
	runs     map[string]*run      // by idempotency key
	byID     map[string]*run      // by SERVICE.CALL
	fences   map[string]int64     // the greatest of each run
	stopped  map[string]time.Time // calls that were stopped before they came
	services map[string]time.Time // when they were heard of
	busy     int
	leaving  bool

	calls sync.WaitGroup
}

// Run connects to the service and takes calls until ctx ends; then calls that are under way have the drain time to end.
// It returns an error if the service does not let the worker in.
func Run(ctx context.Context, o Options) error {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Concurrent = cmp.Or(max(o.Concurrent, 0), 4)
	o.Labels = maps.Clone(o.Labels)
	if o.Labels == nil {
		o.Labels = map[string]string{}
	}
	o.Labels["name"], o.Labels["os"], o.Labels["arch"] = o.Name, runtime.GOOS, runtime.GOARCH
	url, err := endpoint(o.Connect)
	if err != nil {
		return err
	}
	w := &Worker{o: o, began: time.Now(), dialer: &dialer{url: url, key: o.Key, id: rand.Text(), client: plain()},
		runs: map[string]*run{}, byID: map[string]*run{},
		fences: map[string]int64{}, stopped: map[string]time.Time{}, services: map[string]time.Time{}}
	if err := w.connect(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	defer w.conn.Close()
	o.Log.Info("connected", "service", o.Connect, "name", o.Name, "tools", len(o.Tools.Entries()))
	w.beats(ctx)
	return nil
}

// connect connects for the first time. A service that cannot be reached is tried again.
func (w *Worker) connect(ctx context.Context) error {
	for pause := firstPause; ; pause = min(2*pause, mostPause) {
		conn, err := nats.Connect("nats://service", nats.SetCustomDialer(w.dialer), nats.TokenHandler(w.dialer.login),
			nats.Name("worker"),
			nats.MaxReconnects(-1), nats.CustomReconnectDelay(delay), nats.ReconnectBufSize(mostOut),
			nats.PingInterval(10*time.Second),
			nats.IgnoreDiscoveredServers(), nats.IgnoreAuthErrorAbort(), nats.Timeout(dialTime),
			nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
				if err != nil {
					w.o.Log.Warn("connection to the service lost", "error", err)
				}
			}),
			nats.ReconnectHandler(func(*nats.Conn) {
				w.o.Log.Info("reconnected", "service",
					w.o.Connect)
				w.introduce(true)
			}),
			nats.ReconnectErrHandler(func(_ *nats.Conn, err error) {
				w.o.Log.Debug("cannot reach the service",
					"error", err)
			}),
			nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription,
				err error) {
				w.o.Log.Warn("messages", "error", err)
			}))
		if err == nil {
			w.conn = conn
			return w.listen()
		}
		var refused *RefusedError
		if _, last := w.dialer.known(); errors.As(last, &refused) {
			return refused
		} else if last != nil {
			err = last
		}
		w.o.Log.Warn("cannot reach the service; retrying", "service", w.o.Connect, "error", err, "after",
			pause.String())
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

func delay(attempts int) time.Duration {
	return min(firstPause<<min(attempts, 10), mostPause)
}

// listen subscribes to what is for this worker.
func (w *Worker) listen() error {
	w.address, _ = w.dialer.known()
	if _, err := w.conn.Subscribe(w.address.To(), w.handleMessage); err != nil {
		return err
	}
	if _, err := w.conn.Subscribe(cluster.Services, w.service); err != nil {
		return err
	}
	w.introduce(true)
	return w.conn.Flush()
}

// define returns what services are told of a tool.
func (w *Worker) define(e *runner.Entry) cluster.Definition {
	t := e.Tool
	d := cluster.Definition{Name: t.Name(), Description: t.Definition.Description, Parameters: t.Definition.Parameters,
		Traits: cluster.Traits{Timeout: t.Limits.Timeout, Idempotent: t.Idempotent, Dangerous: t.Dangerous,
			Network: t.Facts.Network}}
	if e.Guard != nil && e.Guard.Timeout > 0 {
		d.Timeout = e.Guard.Timeout
	}
	if d.Timeout <= 0 {
		d.Timeout = w.o.Runner.Settings().Limits.Timeout
	}
	return d
}

// introduce tells what the worker offers, if that has changed or somebody asks.
func (w *Worker) introduce(asked bool) {
	h := cluster.Hello{Name: w.o.Name, Version: w.o.Version, Labels: w.o.Labels, Concurrent: w.o.Concurrent,
		Started: w.began, Tools: []cluster.Definition{}}
	for _, e := range w.o.Tools.Entries() {
		h.Tools = append(h.Tools, w.define(e))
	}
	data, err := json.Marshal(&cluster.FromWorker{Hello: &h})
	if err != nil {
		w.o.Log.Error("cannot offer the tools", "error", err)
		return
	}
	w.mu.Lock()
	same := string(data) == string(w.hello)
	w.hello = data
	w.mu.Unlock()
	if asked || !same {
		w.publish(w.address.From(), data)
	}
}

func (w *Worker) publish(subject string, data []byte) {
	if err := w.conn.Publish(subject, data); err != nil {
		w.o.Log.Warn("cannot send a message", "error", err)
	}
}

// service notes that a service is there.
func (w *Worker) service(m *nats.Msg) {
	var s cluster.Service
	if json.Unmarshal(m.Data, &s) != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.services[s.ID] = time.Now()
	if s.Gone {
		delete(w.services, s.ID)
	}
}

// beats tells every so often that the worker is there, until ctx ends and all calls have.
func (w *Worker) beats(ctx context.Context) {
	tick := time.NewTicker(cluster.BeatEvery)
	defer tick.Stop()
	leave, over := ctx.Done(), make(chan struct{})
	var enough <-chan time.Time
	last := time.Now()
	for {
		select {
		case <-leave:
			leave = nil
			w.mu.Lock()
			w.leaving = true
			running := w.busy
			w.mu.Unlock()
			w.beat(false)
			w.o.Log.Info("draining: no new calls", "running", running)
			enough = time.After(w.o.Drain)
			go func() {
				w.calls.Wait()
				w.awaitAcks()
				close(over)
			}()
		case <-over:
			w.beat(true)
			_ = w.conn.FlushTimeout(time.Second) // who does not hear it misses the beats
			return
		case <-enough:
			w.o.Log.Warn("drain timeout: remaining calls are cut off")
			w.cancel(func(*run) bool { return true })
		case <-tick.C:
			if late := time.Since(last) - cluster.BeatEvery; late > cluster.BeatEvery/2 {
				w.forgive(late) // this process stood still
			}
			last = time.Now()
			w.introduce(false)
			w.beat(false)
			w.look()
		}
	}
}

// lastAcks limits the wait of an ending worker for the acknowledgement of its results.
const lastAcks = 3 * time.Second

// awaitAcks waits until all results have arrived.
func (w *Worker) awaitAcks() {
	for end := time.Now().Add(lastAcks); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		w.mu.Lock()
		left := len(w.byID)
		w.mu.Unlock()
		if left == 0 {
			return
		}
	}
}

// beat tells that the worker is there and what it runs.
func (w *Worker) beat(gone bool) {
	w.mu.Lock()
	b := cluster.Beat{Busy: w.busy, Leaving: w.leaving, Gone: gone, Calls: slices.Sorted(maps.Keys(w.byID))}
	w.mu.Unlock()
	data, err := json.Marshal(&cluster.FromWorker{Beat: &b})
	if err != nil {
		panic(err) // it is made of texts and numbers
	}
	w.publish(w.address.From(), data)
}

func (w *Worker) forgive(late time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, at := range w.services {
		w.services[id] = at.Add(late)
	}
}

// look ends calls of services that are silent, sends results again that nobody has acknowledged, and makes a new
// connection where none of the services is heard of.
func (w *Worker) look() {
	now := time.Now()
	w.mu.Lock()
	heard := len(w.services) > 0
	silent := map[string]bool{}
	for id, at := range w.services {
		if now.Sub(at) > cluster.LostAfter {
			silent[id] = true
			delete(w.services, id)
		}
	}
	broken := heard && len(w.services) == 0
	for id, at := range w.stopped {
		if now.Sub(at) > time.Hour {
			delete(w.stopped, id)
		}
	}
	again := w.unacknowledged(now)
	w.mu.Unlock()
	if len(silent) > 0 {
		w.cancel(func(r *run) bool { return silent[r.call.Service] })
	}
	for _, r := range again {
		r.report(w)
	}
	if broken && w.conn.IsConnected() {
		w.o.Log.Warn("no message from the service; reconnecting")
		if err := w.conn.ForceReconnect(); err != nil {
			w.o.Log.Warn("cannot reach the service", "error", err)
		}
	}
}

// handleMessage handles a message of a service to this worker.
func (w *Worker) handleMessage(m *nats.Msg) {
	var t cluster.ToWorker
	if err := json.Unmarshal(m.Data, &t); err != nil {
		w.o.Log.Warn("invalid message from the service", "error", err)
		return
	}
	switch {
	case t.Call != nil:
		w.take(t.Call)
	case t.Stop != "":
		w.stop(t.Stop)
	case t.Ack != "":
		w.acknowledged(t.Ack)
	case t.Describe:
		w.introduce(true)
	}
}

// cancel ends the calls that the function picks.
func (w *Worker) cancel(which func(*run) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, r := range w.byID {
		if !which(r) {
			continue
		}
		if r.cancel(); r.done != nil { // nobody will ask for its result
			delete(w.byID, id)
		}
	}
}

// full is how a call is known among those of all services.
func full(c *cluster.CallRequest) string { return c.Service + "." + c.ID }
