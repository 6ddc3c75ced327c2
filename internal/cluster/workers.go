package cluster

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"wield/tool/policy"
)

// A Worker is one that is there.
type Worker struct {
	Address
	Hello
	key     string            // the name of its key
	shown   string            // how people call it
	hashes  map[string]string // of what it offers, by name
	seen    time.Time
	busy    int // calls that it runs, as it says
	mine    int // calls that this service has given it
	turn    int64
	leaving bool
	lost    chan struct{} // closed when it is gone
}

// String returns how people call the worker.
func (w *Worker) String() string { return w.shown }

// load returns the number of the worker's calls, as far as this service knows.
func (w *Worker) load() int { return max(w.busy, w.mine) }

// offers reports whether the worker takes calls of a tool as it is defined.
func (w *Worker) offers(name, hash string) bool { return !w.leaving && w.hashes[name] == hash }

// Bounds of what a worker may say of itself. What exceeds them is left out.
const (
	maxTools   = 1000
	maxLabels  = 32
	maxText    = 64
	maxWorkers = 20_000
)

// heard takes what a worker tells of itself.
func (c *Cluster) heard(m *nats.Msg) {
	p := pieces(m.Subject, 2)
	var said FromWorker
	if p == nil || json.Unmarshal(m.Data, &said) != nil {
		return
	}
	a := Address{p[0], p[1]}
	if said.Hello != nil {
		c.meet(a, said.Hello)
	}
	if said.Beat != nil {
		c.beat(a, said.Beat)
	}
}

// meet takes note of a worker that is new, or offers something else.
func (c *Cluster) meet(a Address, h *Hello) {
	key, err := hex.DecodeString(a.Key)
	if err != nil {
		return
	}
	w := &Worker{Address: a, key: string(key), hashes: map[string]string{}, seen: time.Now(), lost: make(chan struct{})}
	h.Name, h.Version = visible(h.Name), visible(h.Version)
	h.Concurrent = max(h.Concurrent, 1)
	h.Tools = h.Tools[:min(len(h.Tools), maxTools)]
	if len(h.Labels) > maxLabels {
		h.Labels = nil
	}
	w.Hello, w.shown = *h, w.key+"/"+h.Name
	for i := range h.Tools {
		w.hashes[h.Tools[i].Name] = h.Tools[i].Hash()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.workers[a]
	if old == nil {
		if len(c.workers) >= maxWorkers {
			return
		}
		c.o.Log.Info("worker connected", "worker", w.String(), "version", h.Version, "tools", len(h.Tools))
		c.workers[a] = w
	} else { // what is under way goes on
		old.seen = w.seen
		if maps.Equal(old.hashes, w.hashes) && maps.Equal(old.Labels, w.Labels) && old.Concurrent == w.Concurrent {
			return
		}
		old.Hello, old.hashes = w.Hello, w.hashes
	}
	c.edition++
	c.tell()
}

// visible returns a short text as it may be shown.
func visible(s string) string { return policy.Visible(s[:min(len(s), maxText)]) }

// beat takes note of a worker that is there.
func (c *Cluster) beat(a Address, b *Beat) {
	c.mu.Lock()
	w := c.workers[a]
	if w == nil {
		c.mu.Unlock()
		if !b.Gone {
			_ = c.send(a, &ToWorker{Describe: true}, "") // it beats again
		}
		return
	}
	w.seen, w.busy = time.Now(), b.Busy
	if b.Leaving && !w.leaving {
		c.o.Log.Info("worker is draining", "worker", w.String(), "running", b.Busy)
		w.leaving = true
		c.edition++
	}
	if b.Gone {
		c.o.Log.Info("worker disconnected", "worker", w.String())
		c.drop(w)
	}
	listed := map[string]bool{}
	var stale []string
	for _, id := range b.Calls {
		if service, call, _ := strings.Cut(id, "."); service == c.id {
			listed[call] = true
			if c.calls[call] == nil {
				stale = append(stale, id)
			}
		}
	}
	for id, x := range c.calls {
		if x.worker == w && !b.Gone {
			x.miss(!listed[id])
		}
	}
	c.tell()
	c.mu.Unlock()
	for _, id := range stale { // a message about it was lost
		_ = c.send(a, &ToWorker{Stop: id}, "") // it is listed again
	}
}

// drop forgets a worker. Whoever calls it holds mu.
func (c *Cluster) drop(w *Worker) {
	if c.workers[w.Address] != w {
		return
	}
	delete(c.workers, w.Address)
	close(w.lost)
	c.edition++
	c.tell()
}

// tell wakes those who wait for a worker. Whoever calls it holds mu.
func (c *Cluster) tell() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// A Pool is workers that may stand for each other.
type Pool struct {
	Name   string
	Keys   []string          // that its workers come with; empty: any
	Labels map[string]string // that they have
}

// holds reports whether a worker belongs to the pool.
func (p *Pool) holds(w *Worker) bool {
	if len(p.Keys) > 0 && !slices.Contains(p.Keys, w.key) {
		return false
	}
	for name, value := range p.Labels {
		if w.Labels[name] != value {
			return false
		}
	}
	return true
}

// Edition changes whenever the tools that workers offer may have.
func (c *Cluster) Edition() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.edition
}

// Offers returns the definitions of the tools that workers of a pool offer, each once, in the order of their names and
// with that of the worker first that has run for the longest time.
func (c *Cluster) Offers(p *Pool) []Definition {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := slices.SortedFunc(maps.Values(c.workers), func(a, b *Worker) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.ID, b.ID))
	})
	var defs []Definition
	seen := map[string]bool{}
	for _, w := range list {
		if !p.holds(w) || w.leaving {
			continue
		}
		for i := range w.Tools {
			d := &w.Tools[i]
			if hash := w.hashes[d.Name]; !seen[hash] && hash == d.Hash() {
				seen[hash] = true
				defs = append(defs, *d)
			}
		}
	}
	slices.SortStableFunc(defs, func(a, b Definition) int { return strings.Compare(a.Name, b.Name) })
	return defs
}

// Addresses returns those of the workers that came with a key.
func (c *Cluster) Addresses(key string) (list []Address) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for a, w := range c.workers {
		if w.key == key {
			list = append(list, a)
		}
	}
	return list
}

// A Status lists the workers and services.
type Status struct {
	Services []ServiceStatus `json:"services"`
	Workers  []WorkerStatus  `json:"workers"`
	Waiting  int             `json:"waiting" jsonschema:"calls that wait for a worker, at all services"`
}

// ServiceStatus is one service.
type ServiceStatus struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	Workers int       `json:"workers" jsonschema:"that are connected to it"`
	Waiting int       `json:"waiting" jsonschema:"calls that wait for a worker"`
	Self    bool      `json:"self" jsonschema:"it is the one that answers"`
	Load
}

// WorkerStatus is one worker.
type WorkerStatus struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	Key        string            `json:"key" jsonschema:"name of the key that it came with"`
	Version    string            `json:"version"`
	Labels     map[string]string `json:"labels"`
	Tools      []string          `json:"tools"`
	Concurrent int               `json:"concurrent" jsonschema:"calls that it takes at a time"`
	Busy       int               `json:"busy" jsonschema:"calls that it runs"`
	Leaving    bool              `json:"leaving" jsonschema:"it takes no more calls"`
	Started    time.Time         `json:"started"`
	Silent     int64             `json:"silent_ms" jsonschema:"milliseconds since it was heard of"`
}

// shownID is how much of an id is shown: enough to tell workers apart, and not enough to be one.
const shownID = 8

// Counts returns how many services and workers are there, how many calls these run, and how many wait for one here.
func (c *Cluster) Counts() (services, workers, running, waiting int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.workers {
		running += w.load()
	}
	return len(c.services), len(c.workers), running, c.waiting
}

// Status tells who is there.
func (c *Cluster) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	s := Status{Services: []ServiceStatus{}, Workers: []WorkerStatus{}, Waiting: c.waiting}
	for _, p := range c.services {
		s.Services = append(s.Services, ServiceStatus{p.ID[:min(len(p.ID), shownID)], p.Name, p.Version, p.Started,
			p.Workers, p.Waiting, p.ID == c.id, p.Load})
		if p.ID != c.id {
			s.Waiting += p.Waiting
		}
	}
	for _, w := range c.workers {
		one := WorkerStatus{
			ID: w.ID[:min(len(w.ID), shownID)], Name: w.Name, Key: w.key, Version: w.Version,
			Labels: map[string]string{}, Tools: []string{}, Concurrent: w.Concurrent, Busy: w.load(),
			Leaving: w.leaving, Started: w.Started, Silent: now.Sub(w.seen).Milliseconds(),
		}
		maps.Copy(one.Labels, w.Labels)
		for i := range w.Tools {
			one.Tools = append(one.Tools, w.Tools[i].Name)
		}
		s.Workers = append(s.Workers, one)
	}
	slices.SortFunc(s.Services, func(a, b ServiceStatus) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
	slices.SortFunc(s.Workers, func(a, b WorkerStatus) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Name, b.Name), strings.Compare(a.ID, b.ID))
	})
	return s
}
