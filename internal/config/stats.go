package config

import (
	"log/slog"
	"path/filepath"
	"time"

	"wield/internal/stats"
)

// Stats says how long numbers are kept.
type Stats struct {
	Off  bool     `key:"off" doc:"Whether nothing is counted."`
	Keep Duration `key:"keep" doc:"How long the numbers that wield stats and the page show are kept."`
}

// OpenStats returns what counts calls and answers, in the directory stats of what wield keeps. Without a place for that it counts in
// memory, and nil is what counts nothing.
func (c *Config) OpenStats(getenv func(string) string, log *slog.Logger) *stats.Store {
	if c.Stats.Off {
		return nil
	}
	dir := c.DataDir(getenv)
	if dir != "" {
		dir = filepath.Join(dir, "stats")
	}
	return stats.New(dir, stats.Options{Keep: time.Duration(c.Stats.Keep), Log: log})
}
