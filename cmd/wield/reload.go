package main

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"wield/internal/config"
	"wield/internal/gateway"
)

// A site is what serve serves, and how it is built again when its configuration changes.
type site struct {
	options     config.Options
	scenario    string // as --scenario gives it
	environment config.Environment

	config  *config.Result    // in force
	service *config.Service   // in force
	before  []*config.Service // that requests may still use
}

// build reads the configuration and composes what it describes, and puts it in force.
func (s *site) build() (*config.Result, *config.Service, error) {
	c, err := config.Load(s.options)
	if err != nil {
		return nil, nil, err
	}
	if err := addScenarios(c.Config, s.scenario); err != nil {
		return nil, nil, err
	}
	if s.service == nil {
		if s.environment.Capture, err = c.Captures(s.environment.Getenv); err != nil {
			return nil, nil, err
		}
		if s.environment.Trace, err = c.Trace.Tracer(s.environment.Getenv, thisBuild().Version, s.environment.Log); err != nil {
			return nil, nil, err
		}
	}
	env := s.environment
	env.Before = s.service
	service, err := c.Compose(env)
	if err != nil {
		return nil, nil, err
	}
	for _, w := range c.Warnings {
		env.Log.Warn(w.Error())
	}
	service.Gateway.Version = thisBuild().Version
	if s.service != nil {
		s.service.Close() // what requests use is left alone
		s.before = append(s.before, s.service)
		if len(s.before) > keptServices {
			s.before[0].Close()
			s.before = s.before[1:]
		}
	}
	s.config, s.service = c, service
	return c, service, nil
}

// keptServices bounds the services of earlier configurations whose connections are looked after; what older ones have left
// open ends when it has been idle for a while.
const keptServices = 8

// close gives back what was built, the parts that were replaced as well.
func (s *site) close() {
	s.service.Close()
	for _, b := range s.before {
		b.Close()
	}
	s.environment.Trace.Close()
	if ring := s.environment.Capture; ring != nil {
		if err := ring.Close(); err != nil {
			s.environment.Log.Error("the captures are not whole on disk", "error", err)
		}
	}
}

// reloadEvery is how often the file is looked at.
const reloadEvery = time.Second

// follow builds anew when the file has changed, and on SIGHUP, until ctx ends. The channel is closed when it is over.
func (s *site) follow(ctx context.Context, g *gateway.Gateway) <-chan struct{} {
	over := make(chan struct{})
	hangUp := make(chan os.Signal, 1)
	signal.Notify(hangUp, syscall.SIGHUP)
	watch := config.NewWatch(s.config.File)
	go func() {
		defer close(over)
		defer signal.Stop(hangUp)
		tick := time.NewTicker(reloadEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangUp:
				s.reload(g, "signal")
			case <-tick.C:
				if watch.Changed() {
					s.reload(g, "file")
				}
			}
		}
	}()
	return over
}

// reload puts a changed configuration in force, or says why it cannot be and leaves all as it is.
func (s *site) reload(g *gateway.Gateway, why string) {
	log, old := s.environment.Log, s.config
	c, service, err := s.build()
	if err != nil {
		log.Error("the configuration was not changed: what is wrong must be put right first; the old one stays in force",
			"config", old.File, "because", why, "error", err)
		return
	}
	g.Replace(service.Gateway)
	log.Info("the configuration was read again", "config", c.File, "because", why, "models", strings.Join(c.ModelNames(), ","))
	for _, key := range restartKeys(old.Config, c.Config) {
		log.Warn("the change of a key has no effect before the next start", "key", key)
	}
}

// restartKeys lists the keys that have changed and are looked at only when serve starts.
func restartKeys(old, new *config.Config) []string {
	var keys []string
	for _, k := range []struct {
		name    string
		changed bool
	}{
		{"listen", old.Listen != new.Listen},
		{"tls", old.TLS != new.TLS},
		{"capture", old.Capture != new.Capture},
		{"trace", old.Trace.Stamp() != new.Trace.Stamp()},
		{"timeouts.drain", old.Timeouts.Drain != new.Timeouts.Drain},
	} {
		if k.changed {
			keys = append(keys, k.name)
		}
	}
	return keys
}
