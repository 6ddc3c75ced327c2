package config

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"wield/internal/mask"
	"wield/journal"
	"wield/journal/postgres"
	"wield/journal/sqlite"
)

// Journal says where runs are recorded, and for how long.
type Journal struct {
	Store string     `key:"store" enum:"sqlite|postgres|memory" doc:"What keeps runs: a file, a PostgreSQL database, or nothing that outlives the process."`
	Path  string     `key:"path" doc:"File of the store sqlite. Empty: journal.db in the directory data."`
	URL   Secret     `key:"url" doc:"Address of the store postgres, as env:NAME or file:PATH, because it may hold a password."`
	Mask  bool       `key:"mask" doc:"Whether what looks like a secret, and the secrets of this file, are masked before anything is stored."`
	Keep  JournalAge `key:"keep" doc:"How much is kept. What is over goes when a program opens the journal to write, the oldest sessions first."`
}

// JournalAge says how much of a journal is kept.
type JournalAge struct {
	Age  Duration `key:"age" doc:"Sessions that were not changed for so long are deleted; 0s: none."`
	Size Size     `key:"size" doc:"What all records may have; 0: any size."`
}

func (j *Journal) check(d *decoder) {
	switch {
	case j.Store == "postgres" && j.URL.IsZero():
		d.at("journal.store", "a database needs its address: set journal.url, such as env:WIELD_JOURNAL_DATABASE")
	case j.Store != "postgres" && !j.URL.IsZero():
		d.at("journal.url", "only the store postgres has an address")
	case j.Store != "sqlite" && j.Path != "":
		d.at("journal.path", "only the store sqlite has a file")
	}
}

// JournalPath returns the file that the journal stands in. It is empty if there is no place for one.
func (c *Config) JournalPath(getenv func(string) string) string {
	if c.Journal.Path != "" {
		return c.Journal.Path
	}
	if dir := c.DataDir(getenv); dir != "" {
		return filepath.Join(dir, "journal.db")
	}
	return ""
}

// OpenJournal opens the journal to write to it, and deletes what is no longer kept.
func (c *Config) OpenJournal(ctx context.Context, getenv func(string) string) (journal.Store, error) {
	s, err := c.openJournal(ctx, getenv, false)
	if err != nil {
		return nil, err
	}
	keep := journal.Keep{Age: time.Duration(c.Journal.Keep.Age), Bytes: int64(c.Journal.Keep.Size)}
	if keep == (journal.Keep{}) {
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
func (c *Config) LookAtJournal(ctx context.Context, getenv func(string) string) (journal.Store, error) {
	if c.Journal.Store == "memory" {
		return nil, errors.New("journal.store is memory: nothing outlives the program that recorded it")
	}
	s, err := c.openJournal(ctx, getenv, true)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, fmt.Errorf("%w (%s)", ErrNoJournal, c.JournalPath(getenv))
	}
	return s, err
}

func (c *Config) openJournal(ctx context.Context, getenv func(string) string, existing bool) (journal.Store, error) {
	o := journal.Options{Mask: c.mask(getenv)}
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

// mask returns what takes secrets out of text, or nil if they are to stay.
func (c *Config) mask(getenv func(string) string) func(string) string {
	if !c.Journal.Mask {
		return nil
	}
	hide := c.Hide(getenv)
	return func(text string) string { return mask.Text(hide(text)) }
}
