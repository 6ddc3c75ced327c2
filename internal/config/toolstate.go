package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"wield/internal/wholefile"
)

// ToolStateFile is the name of the file in the data directory that keeps what commands such as wield tool enable change. The
// configuration file is never rewritten by them.
const ToolStateFile = "tools.json"

// toolStateVersion is the version of its format.
const toolStateVersion = 1

// A ToolState is what commands have changed about tools, on top of the configuration.
type ToolState struct {
	Version int                   `json:"version"`
	Tools   map[string]ToolChange `json:"tools"`
}

// A ToolChange is what was changed about one tool. What is empty was not changed.
type ToolChange struct {
	State            string    `json:"state,omitempty"` // enabled, auto or disabled
	Mode             string    `json:"mode,omitempty"`  // ro or rw
	Timeout          string    `json:"timeout,omitempty"`
	RequiresApproval *bool     `json:"requires_approval,omitempty"`
	Added            []string  `json:"whitelist_added,omitempty"`
	Removed          []string  `json:"whitelist_removed,omitempty"`
	Changed          time.Time `json:"changed"`
}

// Empty reports whether nothing is changed.
func (t ToolChange) Empty() bool {
	return t.State == "" && t.Mode == "" && t.Timeout == "" && t.RequiresApproval == nil && len(t.Added) == 0 && len(t.Removed) == 0
}

// LoadToolState reads the file. One that is not there is empty.
func LoadToolState(file string) (*ToolState, error) {
	s := &ToolState{Version: toolStateVersion, Tools: map[string]ToolChange{}}
	data, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err != nil:
		return nil, fmt.Errorf("state of the tools: %w", err)
	}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("state of the tools: %s: %w; remove it to begin anew", file, err)
	}
	if s.Version != toolStateVersion {
		return nil, fmt.Errorf("state of the tools: %s has version %d, and this program reads version %d", file, s.Version, toolStateVersion)
	}
	if s.Tools == nil {
		s.Tools = map[string]ToolChange{}
	}
	return s, nil
}

// ChangeToolState changes what the file says of one tool. Commands that do so at the same time wait for each other, and the file
// is replaced as a whole.
func ChangeToolState(file, name string, change func(*ToolChange) error) error {
	return changeFile("state of the tools", file, func() ([]byte, error) {
		s, err := LoadToolState(file)
		if err != nil {
			return nil, err
		}
		t := s.Tools[name]
		if err := change(&t); err != nil {
			return nil, err
		}
		if t.Changed = time.Now().UTC().Truncate(time.Second); t.Empty() {
			delete(s.Tools, name)
		} else {
			s.Tools[name] = t
		}
		data, err := json.MarshalIndent(s, "", "  ")
		return append(data, '\n'), err
	})
}

// changeFile replaces a file of the data directory by what change makes, readable by its owner alone. Programs that do so at the same time
// wait for each other. The error says what the file is.
func changeFile(what, file string, change func() ([]byte, error)) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	unlock, err := lockFile(file + ".lock")
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer unlock()
	data, err := change()
	if err != nil {
		return err
	}
	if err := wholefile.Write(file, data, 0o600); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// whitelist returns the patterns with those added and without those removed. Nil stays nil as long as nothing was changed:
// there is no whitelist then.
func (t ToolChange) whitelist(patterns []string) []string {
	if len(t.Added) == 0 && len(t.Removed) == 0 {
		return patterns
	}
	list := []string{}
	for _, p := range append(slices.Clone(patterns), t.Added...) {
		if !slices.Contains(t.Removed, p) && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}
