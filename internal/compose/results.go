package compose

import (
	"errors"
	"path/filepath"

	"wield/internal/config"
	"wield/internal/results"
)

// ResultsFile is the name of the file of results in the data directory.
const ResultsFile = "results.db"

// keptResults returns the file of results, or nil if none are to outlive the program.
func keptResults(c *config.Config, getenv func(string) string) (*results.Store, error) {
	if !c.Tools.Results.Persist {
		return nil, nil
	}
	dir := c.DataDir(getenv)
	if dir == "" {
		return nil, errors.New("tools.results.persist: there is no place to keep results: set data, or HOME")
	}
	return results.New(filepath.Join(dir, ResultsFile), results.Options{Bytes: int64(c.Tools.Results.Size)}), nil
}
