package compose

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"wield/internal/config"
)

// Of a cache that is too large the oldest files go; caches that nobody used for long go whole; those of other
// workspaces stay.
func TestTrimCaches(t *testing.T) {
	data := t.TempDir()
	getenv := func(string) string { return "" }
	c := &config.Config{Data: data}
	mine, other := buildCache(c, getenv, "/srv/a"), buildCache(c, getenv, "/srv/b")
	if mine == other || filepath.Dir(mine) != filepath.Join(data, "builds") {
		t.Fatalf("the caches are %s and %s", mine, other)
	}
	old := filepath.Join(data, "builds", "old")
	now := time.Now()
	for _, dir := range []string{mine, other, old} {
		if err := os.MkdirAll(filepath.Join(dir, "gocache"), 0o700); err != nil {
			t.Fatal(err)
		}
		for n := range 10 {
			file := filepath.Join(dir, "gocache", fmt.Sprint(n))
			if err := os.WriteFile(file, make([]byte, 100), 0o600); err != nil {
				t.Fatal(err)
			}
			at := now.Add(time.Duration(n) * time.Minute)
			if err := os.Chtimes(file, at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	long := now.Add(-oldBuildCache - time.Hour)
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	if err := trimCaches(mine, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); err != nil {
		t.Error("caches are looked through although none was used")
	}
	if err := trimCaches(mine, now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Errorf("an old cache is still there (%v)", err)
	}
	if err := trimCache(mine, 700); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]int{mine: 3, other: 10} {
		list, err := os.ReadDir(filepath.Join(dir, "gocache"))
		if err != nil || len(list) != want || list[len(list)-1].Name() != "9" {
			t.Errorf("%d files are left in %s, want the last %d (%v)", len(list), dir, want, err)
		}
	}
}
