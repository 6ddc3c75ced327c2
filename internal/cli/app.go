package cli

import (
	"context"
	"errors"
	"io"
	"os"

	"wield/internal/compose"
	"wield/internal/config"
	"wield/journal"
)

// An App shows a command the world outside: its streams and its environment.
type App struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Self           string   // the file of this program; empty: it cannot be started again
	Lines          []string // tools of one line of shell, from --sh
	Accepts        bool     // the configuration is read although a tool has changed it
	Journal        journalOpener
	secrets        *hider // what the error stream and the log do not show
}

// Load reads the configuration. From then on its secrets are hidden in all that is said on the error stream.
func (a *App) Load(o config.Options) (*config.Result, error) {
	r, err := config.Load(o)
	if err == nil && a.secrets != nil {
		a.secrets.set(r.Hide(o.Getenv))
	}
	return r, err
}

// A journalOpener opens the journal of a configuration: to look at it, when it has to be there, or to write to it.
type journalOpener func(ctx context.Context, c *config.Config, getenv func(string) string,
	look bool) (journal.Store, error)

// ConfiguredJournal opens the journal where the configuration says.
func ConfiguredJournal(ctx context.Context, c *config.Config, getenv func(string) string,
	look bool) (journal.Store, error) {
	if look {
		return compose.LookAtJournal(c, ctx, getenv)
	}
	return compose.OpenJournal(c, ctx, getenv)
}

// OpenJournal opens the journal of this program.
func (a *App) OpenJournal(ctx context.Context, c *config.Config, look bool) (journal.Store, error) {
	if a.Journal == nil {
		return ConfiguredJournal(ctx, c, a.Getenv, look)
	}
	return a.Journal(ctx, c, a.Getenv, look)
}

// OpenCounted opens the journal for a run whose calls are counted.
func (a *App) OpenCounted(ctx context.Context, c *config.Config) (journal.Store, error) {
	s, err := a.OpenJournal(ctx, c, false)
	if err != nil {
		return nil, err
	}
	return compose.OpenStats(c, a.Getenv, nil).Journal(s), nil
}

// WithJournal opens the journal that the configuration names, which must be there.
func WithJournal(ctx context.Context, app *App, file string, do func(s journal.Store) error) error {
	r, err := app.Load(config.Options{File: file, Getenv: app.Getenv})
	if err != nil {
		return &ExitError{Code: ExitUsage, Err: err}
	}
	s, err := app.OpenJournal(ctx, r.Config, true)
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.Close())
}

// HideSecrets hides the secrets of the configuration, once it is loaded, in what is written to the error stream.
func (a *App) HideSecrets() {
	a.secrets = new(hider)
	a.Stderr = hidingWriter{a.Stderr, a.secrets}
}

// OS returns the App of the program itself, with the streams and the environment of the process.
func OS() *App {
	self, _ := os.Executable()
	return &App{Self: self, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		Journal: ConfiguredJournal}
}

// Hidden returns a text without the secrets of the configuration.
func (a *App) Hidden(text string) string { return a.secrets.hide(text) }
