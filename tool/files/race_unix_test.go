//go:build unix

package files_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"wield/tool/files"
)

// swap changes places between a harmless thing and a link to the outside as fast as it can, until the context ends.
func swap(ctx context.Context, t *testing.T, at, good, link string) (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			// Two renames for each direction: at the place stands the harmless thing, nothing, the link, nothing ...
			for _, from := range []string{good, link} {
				if err := os.Rename(from, at); err != nil {
					t.Errorf("swap: %v", err)
					return
				}
				if err := os.Rename(at, from); err != nil {
					t.Errorf("swap: %v", err)
					return
				}
			}
		}
	}()
	return done
}

// race repeats a use of a path while it is swapped. It returns how often the use succeeded, failed because of the link,
// and found nothing: a race in which one of the first two never happens shows nothing.
func race(t *testing.T, rounds int, at, good, link string, use func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := swap(ctx, t, at, good, link)
	var ok, refused, missing int
	for i := 0; i < rounds || (ok == 0 || refused == 0) && i < 100*rounds; i++ {
		switch err := use(); {
		case err == nil:
			ok++
		case errors.Is(err, fs.ErrNotExist):
			missing++
		default:
			refused++
		}
	}
	cancel()
	<-done
	t.Logf("%d uses succeeded, %d were refused, %d found nothing", ok, refused, missing)
	if ok == 0 || refused == 0 {
		t.Errorf("%d uses succeeded and %d were refused: the race did not happen", ok, refused)
	}
}

const rounds = 10000

func TestReadWhileFileIsSwapped_Path078(t *testing.T) {
	root, dir, outside := tree(t)
	must(t, os.WriteFile(filepath.Join(dir, "good"), []byte("harmless"), 0o644))
	must(t, os.Symlink(filepath.Join(outside, "secret.txt"), filepath.Join(dir, "link")))
	race(t, rounds, filepath.Join(dir, "x"), filepath.Join(dir, "good"), filepath.Join(dir, "link"), func() error {
		b, err := root.ReadFile("x")
		if strings.Contains(string(b), secret) {
			t.Fatal("read the file outside")
		}
		return err
	})
}

func TestReadWhileDirectoryIsSwapped_Path079(t *testing.T) {
	root, dir, outside := tree(t)
	must(t, os.Mkdir(filepath.Join(dir, "good"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "good/secret.txt"), []byte("harmless"), 0o644))
	must(t, os.Symlink(outside, filepath.Join(dir, "link")))
	race(t, rounds, filepath.Join(dir, "d"), filepath.Join(dir, "good"), filepath.Join(dir, "link"), func() error {
		b, err := root.ReadFile("d/secret.txt")
		if strings.Contains(string(b), secret) {
			t.Fatal("read the file outside")
		}
		return err
	})
}

func TestWriteWhileDirectoryIsSwapped_Path080(t *testing.T) {
	root, dir, outside := tree(t)
	must(t, os.Mkdir(filepath.Join(dir, "good"), 0o755))
	must(t, os.Symlink(outside, filepath.Join(dir, "link")))
	// Parents stays off: with it the directory would be made anew in the gap, and the swap would end.
	race(t, 2000, filepath.Join(dir, "d"), filepath.Join(dir, "good"), filepath.Join(dir, "link"), func() error {
		return root.WriteFile("d/x.json", []byte("{}"), files.WriteOptions{})
	})
	if entries, _ := os.ReadDir(outside); len(entries) != 1 {
		t.Errorf("outside there is %v", entries)
	}
}

// TestSwapReachesOutside shows that the race above is real: whoever looks first and opens by name afterwards loses it.
func TestSwapReachesOutside(t *testing.T) {
	_, dir, outside := tree(t)
	must(t, os.WriteFile(filepath.Join(dir, "good"), []byte("harmless"), 0o644))
	must(t, os.Symlink(filepath.Join(outside, "secret.txt"), filepath.Join(dir, "link")))
	ctx, cancel := context.WithCancel(t.Context())
	at := filepath.Join(dir, "x")
	done := swap(ctx, t, at, filepath.Join(dir, "good"), filepath.Join(dir, "link"))
	reached := false
	for i := 0; i < 100*rounds && !reached; i++ {
		if info, err := os.Lstat(at); err != nil || !info.Mode().IsRegular() {
			continue
		}
		b, _ := os.ReadFile(at)
		reached = string(b) == secret
	}
	cancel()
	<-done
	if !reached {
		t.Error("a look before opening was never cheated")
	}
}

func TestSpecialFiles_Path076_Path077(t *testing.T) {
	root, dir, _ := tree(t)
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	t.Chdir(dir) // the name of a socket is short
	l, err := net.Listen("unix", "socket")
	must(t, err)
	defer l.Close()
	f, err := os.Create(filepath.Join(dir, "big.json"))
	must(t, err)
	must(t, f.Truncate(10<<30))
	must(t, f.Close())
	for p, want := range map[string]error{"pipe": files.ErrSpecial, "socket": files.ErrSpecial,
		"big.json": files.ErrTooLarge} {
		if _, err := root.ReadFile(p); !errors.Is(err, want) {
			t.Errorf("ReadFile(%q) = %v, want %v", p, err, want)
		}
	}
	for _, p := range []string{"pipe", "socket"} {
		if err := root.WriteFile(p, nil, files.WriteOptions{}); !errors.Is(err, files.ErrSpecial) {
			t.Errorf("WriteFile(%q) = %v", p, err)
		}
		if err := root.Remove(p); !errors.Is(err, files.ErrSpecial) {
			t.Errorf("Remove(%q) = %v", p, err)
		}
		for _, err := range root.List(p) {
			if !errors.Is(err, files.ErrNotDir) {
				t.Errorf("List(%q) = %v", p, err)
			}
		}
	}
	if big, err := root.Open("big.json"); err != nil || big.Size != 10<<30 {
		t.Errorf("a large file opens for reading in parts: %v", err)
	} else {
		big.Close()
	}
}

// TestWriteModeIsExact: a mode that is wanted is given, whatever the process takes away from new files; the usual one
// is not.
func TestWriteModeIsExact(t *testing.T) {
	root, dir, _ := tree(t)
	defer syscall.Umask(syscall.Umask(0o077))
	must(t, root.WriteFile("wanted", []byte("x"), files.WriteOptions{Mode: 0o755}))
	must(t, root.WriteFile("usual", []byte("x"), files.WriteOptions{}))
	for name, want := range map[string]fs.FileMode{"wanted": 0o755, "usual": 0o600} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode(), want)
		}
	}
}
