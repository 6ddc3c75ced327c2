package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// maxExported bounds the names, methods not counted, that a reader of the library may come across.
const maxExported = 899

// TestExported counts what packages outside internal and cmd export.
func TestExported(t *testing.T) {
	seen := map[string]bool{} // a function may stand in files for several systems
	for _, f := range sources(t) {
		dir := filepath.ToSlash(filepath.Dir(f.path))
		if f.tree.Name.Name == "main" || strings.HasPrefix(dir, "cmd/") || strings.Contains("/"+dir+"/", "/internal/") {
			continue
		}
		for _, name := range exported(f.tree) {
			seen[dir+"."+name] = true
		}
	}
	if len(seen) < maxExported/2 || !seen["chat.Model"] {
		t.Fatalf("%d names: this test does not count what it should", len(seen))
	}
	if len(seen) > maxExported {
		t.Errorf("%d exported names, and %d may be: move what only our own packages use below internal", len(seen), maxExported)
	}
}

// exported lists the names that a file exports, without methods.
func exported(f *ast.File) (names []string) {
	add := func(ids ...*ast.Ident) {
		for _, id := range ids {
			if id.IsExported() {
				names = append(names, id.Name)
			}
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				add(d.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(s.Name)
				case *ast.ValueSpec:
					add(s.Names...)
				}
			}
		}
	}
	return names
}

// A source is a file of Go, by its path below go.mod.
type source struct {
	path string
	set  *token.FileSet
	tree *ast.File
}

// sources are all files of the module but those of tests.
func sources(t *testing.T) []source {
	t.Helper()
	list, err := readSources()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

var readSources = sync.OnceValues(func() (list []source, err error) {
	top := filepath.Join("..", "..")
	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && path != top && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, path)
		list = append(list, source{rel, set, tree})
		return err
	})
	return list, err
})

// Bounds of what one file, one type and one line hold, tests left out. Tabs are four columns wide.
const (
	maxLines   = 800
	maxFields  = 25
	maxColumns = 120
	tabs       = "    "
)

// TestSizes checks that no file and no struct is too long to be looked over.
func TestSizes(t *testing.T) {
	structs := 0
	for _, f := range sources(t) {
		if n := f.set.File(f.tree.Pos()).LineCount(); n > maxLines {
			t.Errorf("%s has %d lines, and %d may be: part it by concept", f.path, n, maxLines)
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			s, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			structs++
			if n := s.Fields.NumFields(); n > maxFields {
				t.Errorf("%s: %s has %d fields, and %d may be: group them", f.path, spec.Name.Name, n, maxFields)
			}
			return true
		})
	}
	if structs < 500 {
		t.Errorf("%d structs: this test does not see what it should", structs)
	}
}

// TestColumns checks that no line is too long to be read, but for those in which a string reaches beyond the bound.
func TestColumns(t *testing.T) {
	strung := 0
	for _, f := range sources(t) {
		text, err := os.ReadFile(f.set.File(f.tree.Pos()).Name())
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		beyond := beyond(f, lines)
		strung += len(beyond)
		for i, line := range lines {
			if n := columns(line); n > maxColumns && !beyond[i+1] {
				t.Errorf("%s:%d has %d columns, and %d may be: break it", f.path, i+1, n, maxColumns)
			}
		}
	}
	if strung < 100 {
		t.Errorf("%d strings: this test does not see what it should", strung)
	}
}

// beyond are the lines of a file that a string takes beyond the bound, and those within a string of several lines.
func beyond(f source, lines []string) map[int]bool {
	list := map[int]bool{}
	ast.Inspect(f.tree, func(n ast.Node) bool {
		s, ok := n.(*ast.BasicLit)
		if !ok || s.Kind != token.STRING {
			return true
		}
		from, to := f.set.Position(s.Pos()), f.set.Position(s.End())
		for line := from.Line; line < to.Line; line++ {
			list[line] = true
		}
		if end := lines[to.Line-1][:to.Column-1]; from.Line < to.Line || columns(end) > maxColumns {
			list[to.Line] = true
		}
		return true
	})
	return list
}

func columns(line string) int { return utf8.RuneCountInString(strings.ReplaceAll(line, "\t", tabs)) }
