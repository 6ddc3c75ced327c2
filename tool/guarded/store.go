package guarded

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"wield/tool/atomicfile"
	"wield/tool/internal/guardedfiles"
)

// A Store keeps what a person has agreed to and what is held back until one does, in a file. Its methods may
// be called by several goroutines.
type Store struct {
	File string

	mu sync.Mutex
}

// A fileContent is the content of the file.
type fileContent struct {
	Version int                `json:"version"`
	Agreed  map[string]string  `json:"agreed"` // sums of what is used, by path
	Held    map[string]Pending `json:"held"`   // by path
}

// A Pending is a change that is not used before a person agrees.
type Pending struct {
	Path string    `json:"-"`
	Sum  string    `json:"sum,omitempty"` // what it was changed to; empty: it was removed
	By   string    `json:"by"`            // the tool
	At   time.Time `json:"at"`
}

const storeVersion = 1

func (s *Store) load() (fileContent, error) {
	r := fileContent{Version: storeVersion}
	data, err := os.ReadFile(s.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return r, fmt.Errorf("guarded files: %w", err)
	default:
		if err := json.Unmarshal(data, &r); err != nil {
			return r, fmt.Errorf("guarded files: %s: %w", s.File, err)
		}
		if r.Version != storeVersion {
			return r, fmt.Errorf("guarded files: %s has version %d, and this program reads version %d", s.File,
				r.Version, storeVersion)
		}
	}
	if r.Agreed == nil {
		r.Agreed = map[string]string{}
	}
	if r.Held == nil {
		r.Held = map[string]Pending{}
	}
	return r, nil
}

// change changes the file, as a whole.
func (s *Store) change(f func(*fileContent)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.load()
	if err != nil {
		return err
	}
	f(&r)
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.File), 0o700); err != nil {
		return fmt.Errorf("guarded files: %w", err)
	}
	if err := atomicfile.Write(s.File, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("guarded files: %w", err)
	}
	return nil
}

// AddPending notes what a tool has changed, by path; an empty sum stands for a file that is gone. What is held back
// already stays another one's.
func (s *Store) AddPending(tool string, sums map[string]string) error {
	return s.change(func(r *fileContent) {
		for path, sum := range sums {
			if h, is := r.Held[path]; is && h.Sum == sum {
				continue
			}
			r.Held[path] = Pending{Sum: sum, By: tool, At: time.Now().UTC().Truncate(time.Second)}
		}
	})
}

// Pending returns the change that holds back a file, or one in a directory. What somebody has changed again
// since is theirs. Empty: nothing is held back.
func (s *Store) Pending(path string) (Pending, bool, error) {
	r, err := s.load()
	for p, h := range r.Held {
		if (p == path || strings.HasPrefix(p, path+string(filepath.Separator))) && guardedfiles.Sum(p) == h.Sum {
			h.Path = p
			return h, true, err
		}
	}
	return Pending{}, false, err
}

// List returns what is held back, by path.
func (s *Store) List() ([]Pending, error) {
	r, err := s.load()
	var list []Pending
	for p, h := range r.Held {
		if h.Path = p; guardedfiles.Sum(p) == h.Sum {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b Pending) int { return strings.Compare(a.Path, b.Path) })
	return list, err
}

// Agreed reports whether a file, or a directory, is what was agreed to. What is seen for the first time is
// agreed to by that, unless a tool has changed it.
func (s *Store) Agreed(path string) (bool, error) {
	r, err := s.load()
	if err != nil {
		return false, err
	}
	if _, held, err := s.Pending(filepath.Dir(path)); held || err != nil { // what lies beside it may be a part of it
		return false, err
	}
	sum := guardedfiles.SumAll(path)
	if was := r.Agreed[path]; was != "" {
		return was == sum, nil
	}
	return true, s.change(func(r *fileContent) { r.Agreed[path] = sum })
}

// Agree notes that a person has agreed to what a file, or a directory, is now.
func (s *Store) Agree(path string) error {
	return s.change(func(r *fileContent) {
		for p := range r.Held {
			if p == path || strings.HasPrefix(p, path+string(filepath.Separator)) {
				delete(r.Held, p)
			}
		}
		r.Agreed[path] = guardedfiles.SumAll(path)
	})
}
