package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"sync"
	"time"

	"wield/internal/cli"
	"wield/internal/cluster"
	"wield/internal/config"
	"wield/internal/gateway"
	"wield/internal/mcpserver"
	"wield/internal/runs"
	"wield/journal"
	"wield/journal/record"
)

// openCluster starts what connects workers and other services, where the configuration wants any.
func (s *site) openCluster(c *config.Result) error {
	if !c.Workers.Enabled && !c.Cluster.On() {
		return nil
	}
	join, err := s.joining(&c.Cluster)
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "service"
	}
	s.environment.Cluster, err = cluster.Start(cluster.Options{Name: cmp.Or(c.Cluster.Name, host),
		Version: cli.ThisBuild().Version, Load: s.load, Join: join, Log: s.environment.Log})
	if err == nil {
		s.countCluster()
	}
	return err
}

// countCluster shows in the metrics who is there, and what this service has to do.
func (s *site) countCluster() {
	c := s.environment.Cluster
	for _, g := range []struct {
		name, help string
		value      func() float64
	}{
		{"wield_cluster_services", "Services that this one knows of, itself included.",
			func() float64 { n, _, _, _ := c.Counts(); return float64(n) }},
		{"wield_cluster_workers", "Workers that this service knows of.",
			func() float64 { _, n, _, _ := c.Counts(); return float64(n) }},
		{"wield_cluster_calls_in_flight", "Calls that workers run.",
			func() float64 { _, _, n, _ := c.Counts(); return float64(n) }},
		{"wield_cluster_calls_waiting", "Calls of this service that wait for a worker.",
			func() float64 { _, _, _, n := c.Counts(); return float64(n) }},
		{"wield_cluster_runs", "Runs whose lease this service has.", func() float64 { return float64(s.load().Runs) }},
		{"wield_cluster_journal_lag_seconds",
			"Time until this service saw what another one wrote into the journal last.",
			func() float64 {
				return s.load().Lag.Seconds()
			}},
	} {
		s.environment.Metrics.Observe(g.name, g.help, g.value)
	}
}

// joining returns how other services are reached.
func (s *site) joining(c *config.Cluster) (join cluster.Join, err error) {
	join.Listen = string(c.Listen)
	for _, p := range c.Peers {
		join.Peers = append(join.Peers, string(p))
	}
	if !c.Secret.IsZero() {
		if join.Secret, err = c.Secret.Resolve(s.app.Getenv); err != nil {
			return join, err
		}
	}
	if !c.NATS.IsZero() {
		if join.NATS, err = c.NATS.Resolve(s.app.Getenv); err != nil {
			return join, err
		}
	}
	if join.TLS, err = c.TLS.Config(); err != nil {
		return join, err
	}
	if join.TLS == nil && join.Listen != "" && !c.Listen.Loopback() {
		s.environment.Log.Warn(
			"the connections to other services are not encrypted: set cluster.tls unless their network is private")
	}
	return join, nil
}

// shareJournal has other services told when something was written into the journal, and looks when they have.
func (s *site) shareJournal(store journal.Store) journal.Store {
	own, ok := store.(interface{ Look() })
	c := s.environment.Cluster
	if c == nil || !ok {
		return store
	}
	if err := c.Hear("journal", func(string, []byte) { own.Look() }); err != nil {
		s.environment.Log.Warn("cannot listen for changes by other services; polling instead", "error", err)
	}
	return &toldStore{Store: store, tell: func() { c.Tell("journal", nil) }}
}

// tellEvery is the least interval between notices of what was written.
const tellEvery = 20 * time.Millisecond

// A toldStore tells others when something was written.
type toldStore struct {
	journal.Store
	tell func()

	mu      sync.Mutex
	last    time.Time
	pending bool
}

// Append implements journal.Store.
func (t *toldStore) Append(ctx context.Context, stream string, after int64, records ...record.Record) (int64, error) {
	at, err := t.Store.Append(ctx, stream, after, records...)
	if err == nil {
		t.wrote()
	}
	return at, err
}

func (t *toldStore) wrote() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pending {
		return
	}
	wait := tellEvery - time.Since(t.last)
	if wait <= 0 {
		t.last = time.Now()
		t.tell()
		return
	}
	t.pending = true
	time.AfterFunc(wait, func() {
		t.mu.Lock()
		t.pending, t.last = false, time.Now()
		t.mu.Unlock()
		t.tell()
	})
}

// hearOthers does what other services ask for.
func (s *site) hearOthers() error {
	c := s.environment.Cluster
	if c == nil {
		return nil
	}
	return errors.Join(
		c.Answer(runs.Topic, s.environment.Hub.Answer),
		c.Answer(mcpserver.Topic, s.mcp.Answer),
		c.Hear(topicReload, func(string, []byte) { go s.readAgain(whyOther) }),
		c.Hear(topicKeys, s.hearKeys))
}

const (
	topicReload = "reload"
	topicKeys   = "keys"
)

// whyOther is why the configuration is read again when another service was told to.
const whyOther = "another service"

// readAgain has the configuration read again, once the service follows it.
func (s *site) readAgain(why string) {
	done := make(chan error, 1)
	select {
	case s.again <- again{why, done}:
		<-done // it is logged
	case <-time.After(10 * time.Second):
	}
}

// tellKeys tells other services how keys are used, until ctx ends. The channel is closed when it is over.
func (s *site) tellKeys(ctx context.Context, g *gateway.Gateway) <-chan struct{} {
	over := make(chan struct{})
	c := s.environment.Cluster
	if c == nil {
		close(over)
		return over
	}
	go func() {
		defer close(over)
		tick := time.NewTicker(keysEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			g.Share(c.Share())
			uses := g.Uses()
			if len(uses) == 0 || !c.Any() {
				continue
			}
			if data, err := json.Marshal(uses); err == nil {
				c.Tell(topicKeys, data)
			}
		}
	}()
	return over
}

// keysEvery is the interval between reports of the use of keys.
const keysEvery = 500 * time.Millisecond

// hearKeys takes how another service uses keys.
func (s *site) hearKeys(from string, data []byte) {
	var uses []gateway.KeyUse
	g := s.gateway.Load()
	if err := json.Unmarshal(data, &uses); err != nil || g == nil {
		return
	}
	g.Used(from, uses)
}

// load tells what this service has to do.
func (s *site) load() (l cluster.Load) {
	if g := s.gateway.Load(); g != nil {
		l.Requests, l.Draining = g.Busy()
	}
	if h := s.hub.Load(); h != nil {
		l.Runs, l.Lag = h.Driven()
	}
	if _, c := s.inForce(); c != nil {
		l.Config = sumOf(c.Config)
	}
	return l
}

// sumOf returns the beginning of the hash of what services that stand beside each other have in common.
func sumOf(c *config.Config) string {
	common := *c
	common.Cluster, common.Endpoint, common.Data, common.TLS = config.Cluster{}, config.Endpoint{}, "", config.TLS{}
	text, err := json.Marshal(&common)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:4])
}

// frontWorkers returns where workers connect.
func (s *site) frontWorkers(c *config.Result) []gateway.Mount {
	if s.environment.Cluster == nil || !c.Workers.Enabled {
		return nil
	}
	return []gateway.Mount{{Prefix: cluster.Path, Roles: []gateway.Role{gateway.RoleWorker},
		Serve: func(w http.ResponseWriter, r *http.Request, by gateway.Caller) {
			s.environment.Cluster.Serve(w, r, by.Name, func() bool { return s.gateway.Load().Known(by) })
		}}}
}

// clusterStatus tells who is there.
func (s *site) clusterStatus() (cluster.Status, bool) {
	if s.environment.Cluster == nil {
		return cluster.Status{}, false
	}
	return s.environment.Cluster.Status(), true
}
