package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"wield/internal/api"
	"wield/internal/cli"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/internal/gateway"
	"wield/internal/mcpserver"
	"wield/internal/runs"
	"wield/internal/web"
	"wield/internal/webhook"
	"wield/journal"
)

// A site is served by serve, and built again when its configuration changes.
type site struct {
	options     config.Options
	scenario    string // as --scenario gives it
	environment compose.Environment
	app         *cli.App

	config  *config.Result     // in force
	service *compose.Service   // in force
	before  []*compose.Service // that requests may still use
	journal journal.Store      // that runs are in
	forgets bool               // it keeps nothing beyond this process
	key     string             // that was made because none is configured

	demoDir         string // that demo-agent works in
	demoIsTemporary bool

	api     *api.Server
	page    *web.Site
	mcp     *mcpserver.Front
	sender  *webhook.Sender
	gateway atomic.Pointer[gateway.Gateway]
	hub     atomic.Pointer[runs.Hub] // that of the environment, for other services that ask meanwhile

	// What the gateway answers and what is told of it change as one: nobody is told of a model before it answers.
	telling sync.RWMutex
	shown   *compose.Service // the service in force, for whoever asks meanwhile
	told    *config.Result   // the configuration in force, likewise

	again chan again // asks for the configuration to be read again
	lines *api.Log   // the last lines of the log
}

// An again asks for the configuration to be read again.
type again struct {
	why  string
	done chan error
}

// build reads the configuration and composes what it describes. It is in force when it is told.
func (s *site) build(ctx context.Context) (*config.Result, error) {
	c, err := s.app.Load(s.options)
	if err != nil {
		return nil, err
	}
	if err := s.addScenarios(c); err != nil {
		return nil, err
	}
	if s.service == nil {
		if s.environment.Capture, err = compose.Captures(c.Config, s.environment.Getenv); err != nil {
			return nil, err
		}
		if s.environment.Trace, err = compose.Tracer(&c.Trace, s.environment.Getenv, cli.ThisBuild().Version,
			s.environment.Log, c.Hide(s.environment.Getenv)); err != nil {
			return nil, err
		}
	}
	if s.environment.Hub == nil {
		if err := s.openCluster(c); err != nil {
			return nil, err
		}
		if err := s.openRuns(ctx, c); err != nil {
			return nil, err
		}
	}
	env := s.environment
	env.Before, env.File = s.service, c.File
	service, err := compose.New(c.Config, env)
	if err != nil {
		return nil, err
	}
	for _, w := range c.Warnings {
		env.Log.Warn(w.Error())
	}
	service.Gateway.Version = cli.ThisBuild().Version
	if err := s.addAPI(c, service); err != nil {
		service.Close()
		return nil, err
	}
	s.addKey(&service.Gateway)
	env.Hub.Replace(append(slices.Clone(service.Agents), service.Plain...))
	if s.service != nil {
		s.service.Close() // what requests use is left alone
		s.before = append(s.before, s.service)
		if len(s.before) > keptServices {
			if err := giveBack(s.before[0]); err != nil {
				env.Log.Error("resources of the earlier configuration were not released", "error", err)
			}
			s.before = s.before[1:]
		}
	}
	s.config, s.service = c, service
	return c, nil
}

// tell lets a gateway answer as the service in force says, and tells of that from then on.
func (s *site) tell(answer func(gateway.Options)) {
	s.telling.Lock()
	defer s.telling.Unlock()
	answer(s.service.Gateway)
	s.shown, s.told = s.service, s.config
}

// inForce returns what the gateway answers by; nothing before it does.
func (s *site) inForce() (*compose.Service, *config.Result) {
	s.telling.RLock()
	defer s.telling.RUnlock()
	return s.shown, s.told
}

// keptServices bounds the services of earlier configurations whose connections are looked after; what older
// ones have left open ends when it has been idle for a while.
const keptServices = 8

// close gives back what was built, the parts that were replaced as well.
func (s *site) close() {
	err := s.closeRuns()
	if s.service != nil {
		err = errors.Join(err, giveBack(append(s.before, s.service)...))
	}
	if s.environment.Cluster != nil {
		err = errors.Join(err, s.environment.Cluster.Close())
	}
	err = errors.Join(err, s.closeDemo())
	if err != nil {
		s.environment.Log.Error("resources were not released", "error", err)
	}
	s.environment.Trace.Close()
	if ring := s.environment.Capture; ring != nil {
		if err := ring.Close(); err != nil {
			s.environment.Log.Error("captures were not flushed to disk", "error", err)
		}
	}
}

// whyFile is why the configuration is read again when its file has changed.
const whyFile = "file"

// reloadEvery is the interval between checks of the file.
const reloadEvery = time.Second

// follow builds anew when the file has changed, and when somebody hangs up, until ctx ends. The channel is
// closed when it is over.
func (s *site) follow(ctx context.Context, g *gateway.Gateway, hangUp <-chan os.Signal) <-chan struct{} {
	over := make(chan struct{})
	watch := s.config.Watch()
	stopTools := s.followTools(ctx)
	reload := func(why string) error {
		stopTools()
		file := s.config.File
		err := s.reload(ctx, g, why)
		if s.config.File != file { // there was none
			watch = s.config.Watch()
		}
		stopTools = s.followTools(ctx)
		return err
	}
	go func() {
		defer close(over)
		defer func() { stopTools() }()
		tick := time.NewTicker(reloadEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangUp:
				_ = reload("signal") // it is logged
			case a := <-s.again:
				a.done <- reload(a.why)
			case <-tick.C:
				if watch.Changed() {
					_ = reload(whyFile)
				}
			}
		}
	}()
	return over
}

// reload puts a changed configuration in force, or says why it cannot be and leaves all as it is.
func (s *site) reload(ctx context.Context, g *gateway.Gateway, why string) error {
	log, old, key := s.environment.Log, s.config, s.key
	c, err := s.build(ctx)
	if err != nil {
		log.Error(
			"cannot reload the configuration; keeping the old one",
			"config", old.File, "cause", why, "error", err)
		return err
	}
	s.tell(g.Replace)
	s.mcp.Reset()
	if s.key != key { // models that need one are new
		fmt.Fprintf(s.app.Stdout, "key: %s\n", s.key)
	}
	log.Info("configuration reloaded", "config", c.File, "cause", why, "models",
		strings.Join(c.ModelNames(), ","))
	if s.environment.Cluster != nil && why != whyOther && why != whyFile { // of a file that has changed the others know
		s.environment.Cluster.Tell(topicReload, nil)
	}
	for _, key := range restartKeys(old.Config, c.Config) {
		log.Warn("a changed key needs a restart", "key", key)
	}
	return nil
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
		{"workers.enabled", old.Workers.Enabled != new.Workers.Enabled},
		{"cluster", !reflect.DeepEqual(old.Cluster, new.Cluster)},
		{"webhooks", !reflect.DeepEqual(old.Webhooks, new.Webhooks)},
		{"trace", old.Trace.Stamp() != new.Trace.Stamp()},
		{"journal", old.Journal != new.Journal},
		{"data", old.Data != new.Data},
		{"timeouts.drain", old.Timeouts.Drain != new.Timeouts.Drain},
	} {
		if k.changed {
			keys = append(keys, k.name)
		}
	}
	return keys
}
