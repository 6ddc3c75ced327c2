// Command rename gives the module another path, such as that of the repository it is published in: `go run
// ./.ci/rename example.com/me/wield`. It changes go.mod, imports, and what pages and tests say of import paths.
package main

import (
	"errors"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./.ci/rename PATH")
		os.Exit(2)
	}
	changed, err := rename(".", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "rename:", err)
		os.Exit(1)
	}
	fmt.Printf("%d files changed\n", changed)
}

var (
	modulePath = regexp.MustCompile(`^[a-z0-9][a-zA-Z0-9._~/-]*$`)
	moduleLine = regexp.MustCompile(`(?m)^module (\S+)$`)
)

// rename gives the module in a directory another path and returns the number of files that it changed.
func rename(dir, path string) (int, error) {
	if !modulePath.MatchString(path) || strings.HasSuffix(path, "/") {
		return 0, fmt.Errorf("%q is no module path", path)
	}
	mod := filepath.Join(dir, "go.mod")
	text, err := os.ReadFile(mod)
	if err != nil {
		return 0, err
	}
	line := moduleLine.FindSubmatch(text)
	if line == nil {
		return 0, errors.New("go.mod names no module")
	}
	r := renamer{dir: dir, old: string(line[1]), new: path}
	if r.old == r.new {
		return 0, nil
	}
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		return r.file(file, d)
	})
	return r.changed, err
}

// A renamer replaces one module path by another.
type renamer struct {
	dir      string // that of go.mod
	old, new string
	changed  int
}

func (r *renamer) file(file string, d fs.DirEntry) error {
	var change func([]byte) ([]byte, error)
	switch {
	case d.Name() == "go.mod":
		change = r.goMod
	case strings.HasSuffix(file, ".go"):
		change = r.goFile
	case strings.HasSuffix(file, ".md"), strings.HasSuffix(file, ".txtar"), strings.HasSuffix(file, ".sh"),
		filepath.Base(filepath.Dir(file)) == ".ci":
		change = r.page
	case strings.HasSuffix(file, ".js"): // in which 'wield/agent' may be a model
		change = r.imports
	default:
		return nil
	}
	before, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	after, err := change(before)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if string(before) == string(after) {
		return nil
	}
	r.changed++
	info, err := d.Info()
	if err != nil {
		return err
	}
	return os.WriteFile(file, after, info.Mode().Perm())
}

func (r *renamer) goMod(text []byte) ([]byte, error) {
	return moduleLine.ReplaceAll(text, []byte("module "+r.new)), nil
}

// goFile changes imports, and the import paths that string literals name: "wield/chat", never the word "wield" alone.
func (r *renamer) goFile(text []byte) ([]byte, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, "", text, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var out []byte
	last := 0
	for _, spec := range f.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, err
		}
		if rest, ok := strings.CutPrefix(path, r.old); ok && (rest == "" || rest[0] == '/') {
			at := set.Position(spec.Path.Pos()).Offset
			out = append(append(out, text[last:at]...), strconv.Quote(r.new+rest)...)
			last = at + len(spec.Path.Value)
		}
	}
	out = append(out, text[last:]...)
	if out, err = r.page(out); err != nil {
		return nil, err
	}
	return format.Source(out)
}

// imports changes lines that are an import of the module's packages.
func (r *renamer) imports(text []byte) ([]byte, error) {
	lines := regexp.MustCompile(`(?m)^(\s*(?:import )?")` + regexp.QuoteMeta(r.old) + `((?:/[a-z0-9]+)*"$)`)
	return lines.ReplaceAll(text, []byte("${1}"+strings.ReplaceAll(r.new, "$", "$$")+"${2}")), nil
}

// page changes the import paths of packages that there are, as pages, scripts and strings name them, imports, and the
// module's name in go commands.
func (r *renamer) page(text []byte) ([]byte, error) {
	paths := regexp.MustCompile(`(?m)(["'\x60 (]|^)` + regexp.QuoteMeta(r.old) + `((?:/[a-z0-9]+)+)(["'\x60 )@.,:]|$)`)
	text = paths.ReplaceAllFunc(text, func(match []byte) []byte {
		part := paths.FindSubmatch(match)
		if info, err := os.Stat(filepath.Join(r.dir, string(part[2]))); err != nil || !info.IsDir() {
			return match
		}
		return slices.Concat(part[1], []byte(r.new), part[2], part[3])
	})
	text, _ = r.imports(text)
	module := regexp.MustCompile(`(-require |-replace "?)` + regexp.QuoteMeta(r.old) + `([@=])`)
	return module.ReplaceAll(text, []byte("${1}"+strings.ReplaceAll(r.new, "$", "$$")+"${2}")), nil
}
