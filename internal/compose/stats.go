package compose

import (
	"log/slog"
	"path/filepath"
	"time"

	"wield/internal/config"
	"wield/internal/stats"
)

// OpenStats returns what counts calls and answers, in the directory stats of what wield keeps. Without a place for that
// it counts in memory, and nil is what counts nothing.
func OpenStats(c *config.Config, getenv func(string) string, log *slog.Logger) *stats.Store {
	if c.Stats.Off {
		return nil
	}
	dir := c.DataDir(getenv)
	if dir != "" {
		dir = filepath.Join(dir, "stats")
	}
	return stats.New(dir, stats.Options{Keep: time.Duration(c.Stats.Keep), Log: log})
}
