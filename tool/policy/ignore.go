package policy

import (
	"errors"
	"io"
	"os"
	"path"
	"strings"
	"sync"
	"time"
)

// ignoreFile names the files that no call uses, in the form of a .gitignore. It stands in the root.
const ignoreFile = ".aiignore"

// maxIgnore limits the size of an ignore file. What is longer is an error, since the rest would not hold.
const maxIgnore = 1 << 20

// An ignoreRule is a line of an ignore file.
type ignoreRule struct {
	segments []string
	negated  bool
	dirs     bool // directories only
	anchored bool
}

var errIgnore = errors.New("not a regular file of at most 1 MiB")

// readIgnore reads the lines of an ignore file.
func readIgnore(text string) []ignoreRule {
	var rules []ignoreRule
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, " \t\r")
		if line == "" || line[0] == '#' {
			continue
		}
		var r ignoreRule
		line, r.negated = strings.CutPrefix(line, "!")
		line = strings.TrimPrefix(line, `\`)
		line, r.dirs = strings.CutSuffix(line, "/")
		r.anchored = strings.Contains(line, "/")
		r.segments = strings.Split(strings.ToLower(strings.TrimPrefix(line, "/")), "/")
		if !r.anchored {
			r.segments = append([]string{"**"}, r.segments...)
		}
		if line != "" {
			rules = append(rules, r)
		}
	}
	return rules
}

// ignores reports whether the rules leave out a path or a directory above it. Names are in lower case. The last rule
// that fits a path decides; what stands in a directory that is left out cannot come back.
func ignores(rules []ignoreRule, names []string, dir bool) bool {
	for n := 1; n <= len(names); n++ {
		out := false
		for _, r := range rules {
			if r.dirs && n == len(names) && !dir {
				continue
			}
			if matchSegments(r.segments, names[:n], matches) {
				out = !r.negated
			}
		}
		if out {
			return true
		}
	}
	return false
}

// An ignoreCache keeps what was read of ignore files as long as they do not change.
type ignoreCache struct {
	mu    sync.Mutex
	files map[string]ignoreEntry
}

type ignoreEntry struct {
	size  int64
	time  time.Time
	rules []ignoreRule
	err   error
}

// rules returns the rules of the root. An ignore file that cannot be read is an error: what it would leave out is not
// known.
func (c *ignoreCache) rules(root string) ([]ignoreRule, error) {
	name := path.Join(root, ignoreFile)
	fi, err := os.Stat(name)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.files[name]
	if ok && e.size == fi.Size() && e.time.Equal(fi.ModTime()) {
		return e.rules, e.err
	}
	e = ignoreEntry{size: fi.Size(), time: fi.ModTime()}
	text, err := readBounded(name, fi)
	e.rules, e.err = readIgnore(text), err
	if c.files == nil || len(c.files) > 64 { // roots come and go in long runs
		c.files = map[string]ignoreEntry{}
	}
	c.files[name] = e
	return e.rules, e.err
}

func readBounded(name string, fi os.FileInfo) (string, error) {
	if !fi.Mode().IsRegular() || fi.Size() > maxIgnore {
		return "", &os.PathError{Op: "read", Path: name, Err: errIgnore}
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxIgnore))
	return string(b), err
}
