package compose

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"wield/internal/config"
)

// ToolStateFile is the name of the file in the data directory that keeps what commands such as wield tool
// enable change. The configuration file is never rewritten by them.
const ToolStateFile = "tools.json"

// toolStateVersion is the version of its format. Version 1 had the tools of all configurations in one map.
const toolStateVersion = 2

// A ToolState holds what commands have changed about the tools of one configuration, on top of it.
type ToolState struct {
	Tools map[string]ToolChange `json:"tools"`

	lost []string // tools that a file of version 1 has changes of, which this configuration need not have meant
}

// toolStates is the file. A configuration is known by its path, without links; none is "". What is enabled in
// one enables nothing in another, where the same name may be another tool.
type toolStates struct {
	Version        int                   `json:"version"`
	Configurations map[string]*ToolState `json:"configurations"`
}

// A ToolChange holds what was changed about one tool. What is empty was not changed.
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
	return t.State == "" && t.Mode == "" && t.Timeout == "" && t.RequiresApproval == nil && len(t.Added) == 0 &&
		len(t.Removed) == 0
}

// LoadToolState reads what the file has of a configuration. A file that is not there has nothing.
func LoadToolState(file, configuration string) (*ToolState, error) {
	all, err := loadToolStates(file)
	if err != nil {
		return nil, err
	}
	return all.of(configuration), nil
}

func loadToolStates(file string) (*toolStates, error) {
	all := &toolStates{Version: toolStateVersion, Configurations: map[string]*ToolState{}}
	data, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return all, nil
	case err != nil:
		return nil, fmt.Errorf("state of the tools: %w", err)
	}
	read := struct {
		*toolStates
		Tools map[string]ToolChange `json:"tools"` // of version 1
	}{toolStates: all}
	if err := json.Unmarshal(data, &read); err != nil {
		return nil, fmt.Errorf("state of the tools: %s: %w; remove it to begin anew", file, err)
	}
	switch all.Version {
	case toolStateVersion:
	case 1:
		all.Version, all.Configurations = toolStateVersion, map[string]*ToolState{"": {Tools: read.Tools,
			lost: slices.Sorted(maps.Keys(read.Tools))}}
	default:
		return nil, fmt.Errorf("state of the tools: %s has version %d, and this program reads version %d", file,
			all.Version, toolStateVersion)
	}
	return all, nil
}

// of returns what is known of a configuration.
func (all *toolStates) of(configuration string) *ToolState {
	s := all.Configurations[configuration]
	if s == nil {
		s = &ToolState{}
		if none := all.Configurations[""]; none != nil {
			s.lost = none.lost
		}
	}
	if s.Tools == nil {
		s.Tools = map[string]ToolChange{}
	}
	return s
}

// ChangeToolState changes what the file says of one tool of a configuration. Commands that do so at the same
// time wait for each other, and the file is replaced as a whole.
func ChangeToolState(file, configuration, name string, change func(*ToolChange) error) error {
	return config.ChangeFile("state of the tools", file, func() ([]byte, error) {
		all, err := loadToolStates(file)
		if err != nil {
			return nil, err
		}
		s := all.of(configuration)
		t := s.Tools[name]
		if err := change(&t); err != nil {
			return nil, err
		}
		if t.Changed = time.Now().UTC().Truncate(time.Second); t.Empty() {
			delete(s.Tools, name)
		} else {
			s.Tools[name] = t
		}
		if all.Configurations == nil {
			all.Configurations = map[string]*ToolState{}
		}
		if all.Configurations[configuration] = s; len(s.Tools) == 0 {
			delete(all.Configurations, configuration)
		}
		data, err := json.MarshalIndent(all, "", "  ")
		return append(data, '\n'), err
	})
}

// wholePath is a path by which a file is known from everywhere. "" stays.
func wholePath(file string) string {
	if file == "" {
		return ""
	}
	if abs, err := filepath.Abs(file); err == nil {
		file = abs
	}
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	return file
}

// whitelist returns the patterns with those added and without those removed. Nil stays nil as long as nothing
// was changed: there is no whitelist then.
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
