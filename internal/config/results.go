package config

import (
	"errors"
	"path/filepath"

	"wield/tool/results"
)

// Results says what becomes of results that are used again.
type Results struct {
	Persist bool `key:"persist" doc:"Whether they outlive the program, in a file of the directory data."`
	Size    Size `key:"size" doc:"What they may have there; 0: 64MiB. The oldest go first."`
}

// ResultsFile is the name of the file of results in the data directory.
const ResultsFile = "results.db"

// keptResults returns the file of results, or nil if none are to outlive the program.
func (c *Config) keptResults(getenv func(string) string) (*results.Store, error) {
	if !c.Tools.Results.Persist {
		return nil, nil
	}
	dir := c.DataDir(getenv)
	if dir == "" {
		return nil, errors.New("tools.results.persist: there is no place to keep results: set data, or HOME")
	}
	return results.New(filepath.Join(dir, ResultsFile), results.Options{Bytes: int64(c.Tools.Results.Size)}), nil
}
