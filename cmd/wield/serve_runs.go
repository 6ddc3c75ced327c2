package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"wield/internal/compose"
	"wield/internal/config"
	"wield/internal/gateway"
	"wield/internal/runs"
	"wield/journal"
)

// openRuns opens the journal and makes what carries on runs. A service whose models run no tools does without a place
// for them.
func (s *site) openRuns(ctx context.Context, c *config.Result) error {
	store, err := s.app.OpenJournal(ctx, c.Config, false)
	switch {
	case err != nil && c.HasAgents() && s.demoDir == "":
		return fmt.Errorf(
			"%w (journal.path of the configuration names another place; journal.store: memory does without one)", err)
	case err != nil:
		s.environment.Log.Debug("runs are kept in memory only and lost on exit", "error", err)
		store = new(journal.Memory)
	}
	s.environment.Stats = compose.OpenStats(c.Config, s.app.Getenv, s.environment.Log)
	_, s.forgets = store.(*journal.Memory)
	s.journal = s.environment.Stats.Journal(s.shareJournal(store))
	o := runs.Options{Journal: s.journal, Log: s.environment.Log}
	if s.environment.Cluster != nil {
		o.Others = s.environment.Cluster
	}
	s.environment.Hub = runs.New(o)
	s.hub.Store(s.environment.Hub)
	return nil
}

// closeRuns ends what carries on runs, at once where it was not drained before.
func (s *site) closeRuns() error {
	if s.environment.Hub == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.environment.Hub.Drain(ctx)
	return errors.Join(s.journal.Close(), s.environment.Stats.Close())
}

// keepCount keeps what is counted, until ctx ends. The channel is closed when it is over.
func (s *site) keepCount(ctx context.Context) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.environment.Stats.Run(ctx)
	}()
	return over
}

const (
	journalEvery = time.Second     // how often it is looked whether the journal answers
	journalWait  = 2 * time.Second // in which it does
)

// watchJournal has the gateway say whether a journal that services share can be reached, until ctx ends. The channel is
// closed when it is over.
func (s *site) watchJournal(ctx context.Context, c *config.Config, g *gateway.Gateway) <-chan struct{} {
	over := make(chan struct{})
	if c.Journal.Store != "postgres" {
		close(over)
		return over
	}
	go func() {
		defer close(over)
		for tick := time.NewTicker(journalEvery); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
			g.Unready(s.askJournal(ctx) != nil)
		}
	}()
	return over
}

// askJournal fails where the journal does not answer.
func (s *site) askJournal(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, journalWait)
	defer cancel()
	for _, err := range s.journal.Heads(ctx, journal.HeadQuery{Limit: 1}) {
		if err != nil {
			return err
		}
	}
	return nil
}

// drainAfter drains the runs when ctx ends, within a time. The channel is closed when it is over.
func (s *site) drainAfter(ctx context.Context, limit time.Duration) <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		<-ctx.Done()
		drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		defer cancel()
		if err := s.environment.Hub.Drain(drain); err != nil {
			s.environment.Log.Warn("runs were interrupted", "error", err)
		}
	}()
	return over
}

// ownKey is the name of the key that is made when the service starts and none is configured: whoever started it has it.
const ownKey = "operator"

// addKey adds a key where none is configured and some model must not be used without one. Every other model stays open.
func (s *site) addKey(o *gateway.Options) {
	if len(o.Keys) > 0 || !needsKey(o) {
		return
	}
	if s.key == "" {
		var random [20]byte
		rand.Read(random[:]) // never fails
		s.key = "wk_" + hex.EncodeToString(random[:])
	}
	o.Keys = []gateway.Key{{Name: ownKey, Hash: gateway.HashKey(s.key), Role: gateway.RoleAdmin}}
	o.Open = true
}

func needsKey(o *gateway.Options) bool {
	for i := range o.Models {
		if o.Models[i].NeedsKey {
			return true
		}
	}
	return len(o.Mounts) > 0
}

// followTools keeps the tools of the service in force up to date, until the function that it returns is called.
func (s *site) followTools(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	service := s.service
	go func() {
		defer close(over)
		service.FollowTools(ctx, s.environment.Log)
	}()
	return func() {
		cancel()
		<-over
	}
}

// giveBack gives back what services have used.
func giveBack(all ...*compose.Service) error {
	var errs []error
	for _, service := range all {
		errs = append(errs, service.Release())
	}
	return errors.Join(errs...)
}
