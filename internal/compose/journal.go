package compose

import (
	"context"
	"errors"
	"fmt"
	"time"

	"wield/internal/config"
	"wield/internal/mask"
	"wield/journal"
	"wield/journal/postgres"
	"wield/journal/sqlite"
)

// OpenJournal opens the journal to write to it, and deletes what is no longer kept.
func OpenJournal(c *config.Config, ctx context.Context, getenv func(string) string) (journal.Store, error) {
	s, err := openJournal(c, ctx, getenv, false)
	if err != nil {
		return nil, err
	}
	keep := journal.Retention{Age: time.Duration(c.Journal.Keep.Age), Bytes: int64(c.Journal.Keep.Size)}
	if keep == (journal.Retention{}) {
		return s, nil
	}
	if _, err := journal.Prune(ctx, s, keep); err != nil {
		return nil, errors.Join(fmt.Errorf("journal.keep: %w", err), s.Close())
	}
	return s, nil
}

// ErrNoJournal says that there is no journal to look at.
var ErrNoJournal = errors.New("there is no journal yet: it is made by the first run")

// ErrNoPlace says that nothing tells where the journal is to be.
var ErrNoPlace = errors.New("there is no place for the journal: set journal.path or data in the configuration, or HOME")

// LookAtJournal opens the journal that is there, and deletes nothing from it.
func LookAtJournal(c *config.Config, ctx context.Context, getenv func(string) string) (journal.Store, error) {
	if c.Journal.Store == "memory" {
		return nil, errors.New("journal.store is memory: nothing outlives the program that recorded it")
	}
	s, err := openJournal(c, ctx, getenv, true)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, fmt.Errorf("%w (%s)", ErrNoJournal, c.JournalPath(getenv))
	}
	return s, err
}

func openJournal(c *config.Config, ctx context.Context, getenv func(string) string,
	existing bool) (journal.Store, error) {
	o := journal.Options{Mask: journalMask(c, getenv)}
	switch c.Journal.Store {
	case "memory":
		return &journal.Memory{Options: o}, nil
	case "postgres":
		address, err := c.Journal.URL.Resolve(getenv)
		if err != nil {
			return nil, fmt.Errorf("journal.url: %w", err)
		}
		return postgres.Open(ctx, address, postgres.Options{Options: o})
	}
	path := c.JournalPath(getenv)
	if path == "" {
		return nil, ErrNoPlace
	}
	s, err := sqlite.Open(ctx, path, sqlite.Options{Options: o, Existing: existing})
	if errors.Is(err, journal.ErrReadOnly) {
		err = fmt.Errorf("%w; set journal.path or data in the configuration to a place that can be written", err)
	}
	if err != nil {
		return nil, err // s would be a store that is nil, and no nil store
	}
	return s, nil
}

// journalMask returns what takes secrets out of text, or nil if they are to stay.
func journalMask(c *config.Config, getenv func(string) string) func(string) string {
	if !c.Journal.Mask {
		return nil
	}
	hide := c.Hide(getenv)
	return func(text string) string { return mask.Text(hide(text)) }
}
