package config

import (
	"fmt"
	"path/filepath"

	"wield/tool/guarded"
)

// GuardedFile is the name of the file in the data directory that keeps which tools a person has agreed to,
// and what is held back.
const GuardedFile = "guarded.json"

// PendingError tells that a file is held back.
func PendingError(h guarded.Pending) error {
	return fmt.Errorf("%s was changed by the tool %s and is held back: look at it; wield tool accept %s agrees "+
		"to it", h.Path, h.By, h.Path)
}

// PendingProject returns the error for a project's file that a tool has made or changed, which is not used; nil
// if none has.
func (c *Config) PendingProject(file string, getenv func(string) string) error {
	dir := c.DataDir(getenv)
	file, err := filepath.Abs(file)
	if dir == "" || err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
		file = filepath.Join(real, filepath.Base(file))
	}
	h, held, err := (&guarded.Store{File: filepath.Join(dir, GuardedFile)}).Pending(file)
	if err == nil && held {
		err = PendingError(h)
	}
	return err
}

// pendingFile returns the error for a configuration file that a tool has changed, which is not used; nil if none
// has. The file itself may say now that what is held back stands elsewhere.
func (c *Config) pendingFile(file string, getenv func(string) string) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	for _, dir := range []string{c.DataDir(getenv), new(Config).DataDir(getenv)} {
		if dir == "" {
			continue
		}
		store := guarded.Store{File: filepath.Join(dir, GuardedFile)}
		for _, path := range guarded.Way(file) {
			if h, held, err := store.Pending(path); err == nil && held {
				return PendingError(h)
			}
		}
	}
	return nil
}
