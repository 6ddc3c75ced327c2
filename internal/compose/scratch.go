package compose

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A scratch is the directory for the temporary files of one process, which is removed with it. The process holds it as
// long as it lives, in a way that ends with the process whatever ends it, so that the next one finds and removes what a
// killed one has left.
type scratch struct {
	dir  string
	held *os.File // nil: it cannot be held here, and nobody removes it in our place
}

// scratchPrefix begins the names of these directories.
const scratchPrefix = "wield-work-"

// settled is how old a directory is at least that is removed: its owner may be about to hold it.
const settled = time.Minute

// newScratch makes a directory in parent, and removes those of processes that are gone.
func newScratch(parent string) (*scratch, error) {
	sweep(parent, time.Now().Add(-settled))
	dir, err := os.MkdirTemp(parent, scratchPrefix)
	if err != nil {
		return nil, err
	}
	held, _ := hold(dir) // else it is one that only its owner removes
	return &scratch{dir: dir, held: held}, nil
}

// Close removes the directory.
func (s *scratch) Close() error {
	err := os.RemoveAll(s.dir)
	if s.held != nil {
		err = errors.Join(err, s.held.Close())
	}
	return err
}

// A directory of temporary files may have very many entries, of which so many are looked at, so many at a time.
const (
	mostSwept = 20_000
	sweptStep = 1000
)

// sweep removes the directories in parent that are older than a time and that nobody holds. What cannot be looked at
// stays.
func sweep(parent string, before time.Time) {
	d, err := os.Open(parent)
	if err != nil {
		return
	}
	defer d.Close()
	for seen := 0; seen < mostSwept; seen += sweptStep {
		names, err := d.Readdirnames(sweptStep)
		for _, name := range names {
			if strings.HasPrefix(name, scratchPrefix) {
				sweepOne(filepath.Join(parent, name), before)
			}
		}
		if err != nil { // io.EOF, as a rule
			return
		}
	}
}

// sweepOne removes a directory if it is one of ours that nobody holds.
func sweepOne(dir string, before time.Time) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || !ours(info) || info.ModTime().After(before) {
		return
	}
	held, err := hold(dir)
	if err != nil {
		return
	}
	defer held.Close()
	_ = os.RemoveAll(dir) // what is left is tried again by the next process
}
