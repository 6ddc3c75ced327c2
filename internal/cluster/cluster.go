package cluster

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Options configure a Cluster.
type Options struct {
	Name    string       // of this service, for people
	Version string       // of this program
	Load    func() Load  // what this service has to do; nil: nothing is known of it
	Join    Join         // with other services
	Log     *slog.Logger // nil: none
}

// A Cluster is a service among its workers. Several goroutines may use it at once.
type Cluster struct {
	o      Options
	id     string
	began  time.Time
	server *server.Server
	conn   *nats.Conn
	secret string // with which this process connects to its own server

	mu       sync.Mutex
	grants   map[string]Address // what a token is good for
	links    map[Address]*link  // connections that end here
	workers  map[Address]*Worker
	calls    map[string]*attempt
	changed  chan struct{} // closed when a worker comes, goes or has room
	edition  int           // of what workers offer
	waiting  int           // calls that no worker has room for
	turn     int64         // of the last worker that was given a call
	services map[string]*peer
	silent   map[string]time.Time // services that were not heard of for a while, since when

	stop chan struct{}
	over sync.WaitGroup
}

// A peer is a service that was heard of.
type peer struct {
	Service
	seen time.Time
}

// Start starts the server of messages. Close ends it.
func Start(o Options) (*Cluster, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &Cluster{
		o: o, id: rand.Text(), began: time.Now(), secret: rand.Text(),
		grants: map[string]Address{}, links: map[Address]*link{}, workers: map[Address]*Worker{},
		calls: map[string]*attempt{}, services: map[string]*peer{}, silent: map[string]time.Time{},
		changed: make(chan struct{}), stop: make(chan struct{}),
	}
	if err := c.serve(); err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	if err := c.join(); err != nil {
		c.server.Shutdown()
		return nil, fmt.Errorf("cluster: %w", err)
	}
	c.over.Go(c.watch)
	return c, nil
}

// serve starts the server of messages.
func (c *Cluster) serve() error {
	so := &server.Options{
		ServerName: c.id, DontListen: true, NoSigs: true, CustomClientAuthentication: c,
		MaxPayload: maxPayload, MaxControlLine: 4096,
		PingInterval: 10 * time.Second, MaxPingsOut: 2, WriteDeadline: 10 * time.Second,
	}
	if err := c.o.Join.routes(so); err != nil {
		return err
	}
	s, err := server.NewServer(so)
	if err != nil {
		return err
	}
	c.server = s
	s.SetLoggerV2(serverLog{c.o.Log}, false, false, false)
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		s.Shutdown()
		return errors.New("the server of messages does not start")
	}
	return nil
}

// ID returns how this service is known to workers.
func (c *Cluster) ID() string { return c.id }

// join connects this process to its server.
func (c *Cluster) join() (err error) {
	warn := func(_ *nats.Conn, _ *nats.Subscription, err error) { c.o.Log.Warn("NATS error", "error", err) }
	c.conn, err = nats.Connect("", nats.InProcessServer(c.server), nats.Token(c.secret), nats.Name("service"),
		nats.MaxReconnects(-1), nats.ErrorHandler(warn))
	if err != nil {
		return err
	}
	for subject, take := range map[string]func(*nats.Msg){
		"wield.from.*.*":               c.heard,
		"wield.out.*.*." + c.id + ".*": c.frame,
		Services:                       c.service,
	} {
		if _, err := c.conn.Subscribe(subject, take); err != nil {
			return err
		}
	}
	return c.conn.Flush()
}

// Close ends all connections.
func (c *Cluster) Close() error {
	close(c.stop)
	c.over.Wait()
	c.tellServices(true)
	err := c.conn.FlushTimeout(time.Second)
	c.mu.Lock()
	links := maps.Clone(c.links)
	c.mu.Unlock()
	for _, l := range links {
		l.close()
	}
	c.conn.Close()
	c.server.Shutdown()
	return err
}

// Check implements server.Authentication: it knows this process by its secret and workers by the token that they were
// given with their WebSocket.
func (c *Cluster) Check(client server.ClientAuthentication) bool {
	token := client.GetOpts().Token
	if token == c.secret {
		client.RegisterUser(&server.User{Username: "service"})
		return true
	}
	c.mu.Lock()
	a, ok := c.grants[token]
	delete(c.grants, token)
	c.mu.Unlock()
	if !ok {
		return false
	}
	client.RegisterUser(&server.User{Username: a.ID, Permissions: &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{a.From(), a.Out("*", "*")}},
		Subscribe: &server.SubjectPermission{Allow: []string{a.To(), Services}},
	}})
	return true
}

// send tells a worker something.
func (c *Cluster) send(a Address, m *ToWorker, reply string) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if reply == "" {
		return c.conn.Publish(a.To(), data)
	}
	return c.conn.PublishRequest(a.To(), reply, data)
}

// tick is the interval between checks for silent workers.
const tick = 500 * time.Millisecond

// watch beats, and notices workers and services that are silent, until the cluster is closed.
func (c *Cluster) watch() {
	t := time.NewTicker(tick)
	defer t.Stop()
	last, beat := time.Now(), time.Time{}
	for {
		select {
		case <-c.stop:
			return
		case <-t.C:
		}
		now := time.Now()
		if late := now.Sub(last) - tick; late > tick { // this process stood still, and not the workers
			c.forgive(late)
		}
		last = now
		if now.Sub(beat) >= BeatEvery {
			beat = now
			c.tellServices(false)
		}
		c.sweep(now)
	}
}

func (c *Cluster) tellServices(gone bool) {
	c.mu.Lock()
	s := Service{ID: c.id, Name: c.o.Name, Version: c.o.Version, Started: c.began, Workers: len(c.links), Gone: gone}
	s.Waiting = c.waiting
	c.mu.Unlock()
	if c.o.Load != nil {
		s.Load = c.o.Load()
	}
	data, err := json.Marshal(&s)
	if err == nil {
		err = c.conn.Publish(Services, data)
	}
	if err != nil {
		c.o.Log.Warn("cannot announce this service", "error", err)
	}
}

// service takes what a service tells of itself.
func (c *Cluster) service(m *nats.Msg) {
	var s Service
	if err := json.Unmarshal(m.Data, &s); err != nil {
		return
	}
	c.mu.Lock()
	delete(c.silent, s.ID)
	before := c.services[s.ID]
	if s.Gone {
		delete(c.services, s.ID)
	} else {
		c.services[s.ID] = &peer{s, time.Now()}
	}
	c.mu.Unlock()
	switch {
	case s.ID == c.id:
	case s.Gone && before != nil:
		c.o.Log.Info("service disconnected", "service", s.Name)
	case !s.Gone && before == nil:
		c.o.Log.Info("service connected", "service", s.Name, "version", s.Version)
		c.tellServices(false) // it may not have heard of this one
	}
}

// forgive adds time to what everybody has to be heard of again.
func (c *Cluster) forgive(late time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.workers {
		w.seen = w.seen.Add(late)
	}
	for _, p := range c.services {
		p.seen = p.seen.Add(late)
	}
}

// sweep drops who is silent, and who came with a key that is not in force any more.
func (c *Cluster) sweep(now time.Time) {
	c.mu.Lock()
	var silent []*Worker
	for _, w := range c.workers {
		if now.Sub(w.seen) > LostAfter {
			silent = append(silent, w)
			c.drop(w)
		}
	}
	for id, p := range c.services {
		if now.Sub(p.seen) > LostAfter {
			delete(c.services, id)
			c.silent[id] = now
			c.o.Log.Warn("service lost", "service", p.Name)
		}
	}
	for id, since := range c.silent {
		if now.Sub(since) > rememberFor {
			delete(c.silent, id)
		}
	}
	var old []*link
	for a, l := range c.links {
		if _, here := c.workers[a]; !l.known() || !here && now.Sub(l.since) > LostAfter {
			old = append(old, l)
		}
	}
	c.mu.Unlock()
	for _, w := range silent {
		c.o.Log.Warn("worker lost", "worker", w.String(), "silent", now.Sub(w.seen).Round(time.Millisecond).String())
	}
	for _, l := range old {
		l.close()
	}
}

// pieces returns the parts of a subject behind its first two.
func pieces(subject string, n int) []string {
	p := strings.Split(subject, ".")
	if len(p) != n+2 {
		return nil
	}
	return p[2:]
}
