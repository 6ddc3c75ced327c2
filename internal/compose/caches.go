package compose

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"wield/internal/config"
)

// buildCacheDir is the directory, in the data directory, of what programs of tools keep for the next run. Each
// workspace has one of its own in it, so that what a model does in one cannot be felt in another.
const buildCacheDir = "builds"

const (
	// bytes of the cache of a workspace; beyond, its oldest files go until half is left
	maxBuildCache = 2 << 30
	oldBuildCache = 30 * 24 * time.Hour // after so long unused a cache goes
)

// buildCache returns where programs of tools keep what they build in a workspace; empty: nowhere.
func buildCache(c *config.Config, getenv func(string) string, root string) string {
	dir := c.DataDir(getenv)
	if dir == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(root))
	return filepath.Join(dir, buildCacheDir, hex.EncodeToString(sum[:8]))
}

// trimCaches removes what is too much of a cache, if it was used since a time, and other caches that were not used for
// long.
func trimCaches(dir string, since time.Time) error {
	if dir == "" {
		return nil
	}
	if info, err := os.Stat(dir); err != nil || info.ModTime().Before(since.Add(-time.Second)) {
		return nil
	}
	list, err := os.ReadDir(filepath.Dir(dir))
	for _, e := range list {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > oldBuildCache {
			// what cannot be removed now is tried again next time
			_ = os.RemoveAll(filepath.Join(filepath.Dir(dir), e.Name()))
		}
	}
	return errors.Join(err, trimCache(dir, maxBuildCache))
}

// trimCache removes the oldest files of a directory that has more than most bytes, until it has half as many.
func trimCache(dir string, most int64) error {
	type file struct {
		path string
		size int64
		at   time.Time
	}
	var all []file
	var sum int64
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // a file that went meanwhile is no failure
		}
		if info, err := d.Info(); err == nil {
			all, sum = append(all, file{path, info.Size(), info.ModTime()}), sum+info.Size()
		}
		return nil
	})
	if sum <= most {
		return err
	}
	slices.SortFunc(all, func(a, b file) int { return a.at.Compare(b.at) })
	for _, f := range all {
		if sum <= most/2 {
			break
		}
		if os.Remove(f.path) == nil {
			sum -= f.size
		}
	}
	return err
}
