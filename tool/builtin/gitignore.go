package builtin

import (
	"context"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"wield/tool/files"
)

// ignored are the rules of the .gitignore files that a walk has come by. Those of a directory hold for what is below
// it.
type ignored struct{ rules []ignoreRule }

type ignoreRule struct {
	dir     string // where its file is
	pattern string // relative to dir
	only    bool   // directories only
	back    bool   // what it matches is not ignored after all
}

// maxIgnoreFile limits the size of a .gitignore; a larger one is no list of patterns.
const maxIgnoreFile = 1 << 20

// above reads the files of a directory and of those above it.
func (g *ignored) above(root *files.Root, dir string) {
	if dir != "." {
		g.above(root, path.Dir(dir))
	}
	g.enter(root, dir)
}

// enter reads the file of a directory, if it has one. One that cannot be read has no rules.
func (g *ignored) enter(root *files.Root, dir string) {
	name := path.Join(dir, ".gitignore")
	if info, err := root.Stat(name); err != nil || info.Size() > maxIgnoreFile {
		return
	}
	text, err := root.ReadFile(name)
	if err != nil {
		return
	}
	for line := range strings.Lines(string(text)) {
		if r, ok := newIgnoreRule(dir, line); ok {
			g.rules = append(g.rules, r)
		}
	}
}

func newIgnoreRule(dir, line string) (ignoreRule, bool) {
	line = strings.TrimRight(line, " \t\r\n")
	if line == "" || line[0] == '#' {
		return ignoreRule{}, false
	}
	r := ignoreRule{dir: dir}
	line, r.back = strings.CutPrefix(line, "!")
	line = strings.TrimPrefix(line, `\`)
	line, r.only = strings.CutSuffix(line, "/")
	if strings.Contains(line, "/") {
		r.pattern = strings.TrimPrefix(line, "/")
	} else {
		r.pattern = "**/" + line
	}
	return r, r.pattern != "" && doublestar.ValidatePattern(r.pattern)
}

// match reports whether a name is ignored. Of the rules that match it, the last one counts.
func (g *ignored) match(name string, dir bool) bool {
	for i := len(g.rules) - 1; i >= 0; i-- {
		r := &g.rules[i]
		if r.only && !dir || r.dir != "." && !strings.HasPrefix(name, r.dir+"/") {
			continue
		}
		if doublestar.MatchUnvalidated(r.pattern, below(r.dir, name)) {
			return !r.back
		}
	}
	return false
}

// Files returns the names of files below a root that no .gitignore leaves out and that do not begin with a point, at
// most so many.
func Files(ctx context.Context, root *files.Root, most int) []string {
	var g ignored
	g.enter(root, ".")
	skip := func(name string, dir bool) bool { return strings.HasPrefix(path.Base(name), ".") || g.match(name, dir) }
	var names []string
	for e, err := range root.Walk(ctx, ".", func(e files.Entry) bool {
		if skip(e.Name, true) {
			return false
		}
		g.enter(root, e.Name)
		return true
	}) {
		if err != nil || !e.Info.Mode().IsRegular() || skip(e.Name, false) {
			continue
		}
		if names = append(names, e.Name); len(names) == most {
			break
		}
	}
	return names
}
