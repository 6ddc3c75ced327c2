package layers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A room is a package: where it stands, and what its importers have to compile.
type room struct {
	path  string
	floor int
	// modules lists the modules outside the standard library that the room may bring to an importer, itself or through
	// what it imports. A program is no library, so that its list is not checked: nil.
	modules []string
	// only, if it is not nil, lists all rooms that this one may import.
	only []string
}

// anyModule says that a room is part of the program and may use what the program uses.
var anyModule []string

// none is the list of a room that its importers get for the standard library alone.
var none = []string{}

// schemaModules are what reading and checking JSON against a schema takes.
var schemaModules = []string{
	"github.com/go-json-experiment/json",
	"github.com/google/jsonschema-go",
	"github.com/santhosh-tekuri/jsonschema/v6",
	"golang.org/x/text",
}

// toolModules come with the rules about commands, which are read on the syntax tree of a shell, and with the sandbox.
var toolModules = append([]string{"github.com/aymanbagabas/go-udiff", "mvdan.cc/sh/v3", "golang.org/x/sys"},
	schemaModules...)

// rooms are the packages by floor. A package imports only packages of lower floors.
var rooms = []room{
	{path: "chat", floor: 0, modules: none},
	{path: "schema/shape", floor: 0, modules: none},
	{path: "schema/near", floor: 0, modules: none, only: []string{}},
	{path: "internal/testlevel", floor: 0, modules: none, only: []string{}},
	{path: "internal/testport", floor: 0, modules: none, only: []string{}},
	{path: "schema", floor: 1, modules: schemaModules},
	{path: "tool/atomicfile", floor: 1, modules: none, only: []string{}},
	{path: "wire/sse", floor: 2, modules: none},
	{path: "wire/jsonbody", floor: 2, modules: none},
	{path: "wire/internal/freeform", floor: 2, modules: none, only: []string{"chat", "schema/shape"}},
	{path: "tool/files", floor: 2, modules: none, only: []string{}},
	{path: "tool/internal/guardedfiles", floor: 1, modules: none, only: []string{}},
	{path: "tool/guarded", floor: 2, modules: none, only: []string{"tool/atomicfile", "tool/internal/guardedfiles"}},
	{path: "tool/sandbox", floor: 2, modules: []string{"golang.org/x/sys"}, only: []string{}},
	{path: "tool/edit", floor: 2, modules: []string{"github.com/aymanbagabas/go-udiff"}, only: []string{}},
	{path: "tool/internal/patch", floor: 3, modules: []string{"github.com/aymanbagabas/go-udiff"},
		only: []string{"tool/edit", "tool/files"}},
	{path: "tool/policy", floor: 2, modules: append([]string{"mvdan.cc/sh/v3"}, schemaModules...),
		only: []string{"chat", "schema", "schema/shape", "tool/internal/guardedfiles"}},
	{path: "dialect/internal/chars", floor: 1, modules: none, only: []string{}},
	{path: "dialect/internal/note", floor: 1, modules: none, only: []string{"chat"}},
	{path: "dialect/internal/value", floor: 2, modules: none,
		only: []string{"chat", "schema/shape", "dialect/internal/chars", "dialect/internal/note"}},
	{path: "dialect/internal/form", floor: 1, modules: none, only: []string{"schema/shape"}},
	{path: "dialect/internal/render", floor: 2, modules: none,
		only: []string{"chat", "schema/shape", "dialect/internal/chars", "dialect/internal/form"}},
	{path: "dialect", floor: 3, modules: none, only: []string{"chat", "schema/shape", "dialect/internal/chars",
		"dialect/internal/form", "dialect/internal/value", "dialect/internal/render", "dialect/internal/note"}},
	{path: "wire/openai", floor: 3, modules: schemaModules},
	{path: "wire/responses", floor: 4, modules: schemaModules},
	{path: "dialect/internal/check", floor: 4, modules: none, only: []string{"chat", "dialect"}},
	{path: "dialect/dialecttest", floor: 5, modules: schemaModules},
	{path: "internal/chattemplate", floor: 4, modules: none,
		only: []string{"chat", "dialect", "internal/jinja", "internal/shorten", "schema/shape"}},
	{path: "internal/responsetemplate", floor: 4, modules: none, only: []string{"dialect"}},
	{path: "bridge/internal/grammar", floor: 4, modules: none, only: []string{"chat", "dialect", "schema/shape"}},
	{path: "dialect/profile", floor: 4, modules: none, only: []string{"chat", "dialect"}},
	{path: "prompt", floor: 4, modules: schemaModules},
	{path: "wire/ollama", floor: 4, modules: schemaModules},
	{path: "internal/gemini", floor: 4, modules: anyModule},
	{path: "wire/anthropic", floor: 4, modules: schemaModules},
	{path: "model/exchange", floor: 4, modules: none, only: []string{"chat", "wire/sse"}},
	{path: "internal/hosted", floor: 4, modules: none, only: []string{"chat"}},
	{path: "model/openai", floor: 5, modules: schemaModules},
	{path: "model/responses", floor: 5, modules: schemaModules},
	{path: "model/ollama", floor: 5, modules: schemaModules},
	{path: "model/anthropic", floor: 5, modules: schemaModules},
	{path: "internal/lumo", floor: 5, modules: schemaModules},
	{path: "internal/browser", floor: 5, modules: anyModule},
	{path: "model/route", floor: 5, modules: schemaModules},
	{path: "internal/stop", floor: 5, modules: none, only: []string{"chat"}},
	{path: "internal/firstchoice", floor: 5, modules: none, only: []string{"chat"}},
	{path: "internal/toolsearch", floor: 5, modules: none, only: []string{"chat", "internal/hosted"}},
	{path: "internal/script", floor: 5, modules: anyModule},
	{path: "bridge", floor: 5, modules: schemaModules},
	{path: "internal/servertools", floor: 6, modules: anyModule,
		only: []string{"chat", "internal/hosted", "tool", "tool/runner"}},
	{path: "tool/builtin", floor: 6, modules: anyModule},
	{path: "agent", floor: 8, modules: toolModules},
	{path: "wield", floor: 9, modules: toolModules},
	{path: "internal/apikey", floor: 1, modules: none, only: []string{}},
	{path: "internal/shorten", floor: 1, modules: none, only: []string{}},
	{path: "internal/rate", floor: 1, modules: none, only: []string{}},
	{path: "internal/jinja", floor: 1, modules: none, only: []string{}},
	{path: "internal/gocache", floor: 1, modules: none, only: []string{}},
	{path: "internal/accesstoken", floor: 1, modules: anyModule, only: []string{}},
	{path: "internal/mcpbundle", floor: 1, modules: none, only: []string{}},
	{path: "internal/modellist", floor: 1, modules: none, only: []string{"schema/shape"}},
	{path: "internal/mask", floor: 1, modules: none, only: []string{}},
	{path: "internal/module", floor: 5, modules: anyModule, only: []string{"chat", "internal/mask", "tool/sandbox"}},
	{path: "tool/dir", floor: 6, modules: toolModules},
	{path: "tool/mcp", floor: 6,
		modules: append([]string{"github.com/modelcontextprotocol/go-sdk", "github.com/segmentio/asm",
			"github.com/segmentio/encoding", "github.com/yosida95/uritemplate/v3", "golang.org/x/oauth2",
			"golang.org/x/sync", "golang.org/x/time"}, toolModules...)},
	{path: "tool/httpcall", floor: 6, modules: toolModules},
	{path: "tool/internal/value", floor: 1, modules: schemaModules, only: []string{"schema/shape"}},
	{path: "tool/internal/host", floor: 3, modules: toolModules,
		only: []string{"tool/guarded", "tool/policy", "tool/sandbox"}},
	{path: "tool", floor: 4, modules: toolModules},
	{path: "tool/runner", floor: 5, modules: toolModules},
	{path: "internal/browser/chromium", floor: 4, modules: anyModule},
	{path: "internal/chatpage", floor: 6, modules: anyModule},
	{path: "internal/capture", floor: 5, modules: anyModule},
	{path: "internal/trace", floor: 5, modules: anyModule},
	{path: "internal/metrics", floor: 5, modules: anyModule},
	{path: "tool/undo", floor: 4, modules: []string{"github.com/aymanbagabas/go-udiff"},
		only: []string{"tool/edit", "tool/files", "tool/internal/patch"}},
	{path: "tool/builtin/local", floor: 6, modules: toolModules,
		only: []string{"tool", "tool/edit", "tool/files", "tool/internal/patch", "tool/policy", "tool/undo"}},
	{path: "tool/builtin/clock", floor: 6, modules: toolModules},
	{path: "tool/builtin/database", floor: 6, modules: anyModule},
	{path: "tool/builtin/memory", floor: 6, modules: anyModule},
	{path: "tool/builtin/conversation", floor: 6, modules: toolModules},
	{path: "internal/results", floor: 6, modules: anyModule},
	{path: "internal/pgtest", floor: 2, modules: anyModule},
	{path: "journal/record", floor: 6, modules: toolModules,
		only: []string{"chat", "tool/policy", "tool/runner"}},
	{path: "journal", floor: 7, modules: toolModules, only: []string{"journal/record", "tool", "tool/runner"}},
	{path: "journal/internal/testrecord", floor: 8, modules: toolModules,
		only: []string{"chat", "journal", "journal/record", "tool", "tool/runner"}},
	{path: "journal/journaltest", floor: 9, modules: toolModules},
	{path: "internal/runtest", floor: 8, modules: anyModule},
	{path: "journal/internal/sqlstore", floor: 8, modules: toolModules, only: []string{"journal", "journal/record"}},
	{path: "journal/sqlite", floor: 9, modules: anyModule,
		only: []string{"journal", "journal/internal/sqlstore", "journal/record"}},
	{path: "journal/postgres", floor: 9, modules: anyModule,
		only: []string{"journal", "journal/internal/sqlstore", "journal/record"}},
	{path: "tool/runner/approvaltest", floor: 6, modules: toolModules},
	{path: "internal/runs", floor: 9, modules: anyModule},
	{path: "internal/stats", floor: 9, modules: anyModule},
	{path: "internal/playback", floor: 9, modules: anyModule},
	{path: "internal/gateway", floor: 9, modules: anyModule},
	{path: "internal/api", floor: 10, modules: anyModule},
	{path: "internal/web", floor: 9, modules: none, only: []string{}},
	{path: "internal/cluster", floor: 6, modules: anyModule},
	{path: "internal/worker", floor: 7, modules: anyModule},
	{path: "internal/webhook", floor: 8, modules: anyModule},
	{path: "internal/mcpserver", floor: 8, modules: anyModule},
	{path: "internal/mcpconnector", floor: 8, modules: anyModule},
	{path: "internal/scriptserver", floor: 6, modules: anyModule},
	{path: "internal/eval", floor: 6, modules: anyModule},
	{path: "internal/tune", floor: 6, modules: anyModule},
	{path: "internal/doctor", floor: 7, modules: anyModule},
	{path: "tool/openapi", floor: 7, modules: append([]string{"github.com/goccy/go-yaml"}, toolModules...)},
	{path: "internal/terminal", floor: 9, modules: anyModule},
	{path: "internal/terminal/vt", floor: 1, modules: []string{"golang.org/x/text"}, only: []string{}},
	{path: "internal/config", floor: 7, modules: anyModule},
	{path: "internal/compose", floor: 11, modules: anyModule},
	{path: "internal/cli", floor: 12, modules: anyModule},
	{path: "internal/cli/tools", floor: 13, modules: anyModule},
	{path: "internal/cli/policies", floor: 13, modules: anyModule},
	{path: "internal/cli/parsing", floor: 13, modules: anyModule},
	{path: "internal/cli/measure", floor: 13, modules: anyModule},
	{path: "internal/cli/runs", floor: 14, modules: anyModule},
	{path: "cmd/wield", floor: 15, modules: anyModule},
	{path: "examples/library", floor: 15, modules: anyModule, only: []string{"wield", "model/openai", "tool"}},

	// Checks of the project itself. Nothing imports them.
	{path: "internal/docs", floor: 16, modules: none},
	{path: "internal/layers", floor: 16, modules: none},
}

// A pkg is the output of `go list -json` for a package.
type pkg struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
	Module     *struct {
		Path string
		Main bool
	}
}

// TestOrder reads the import graph and checks that every import points downwards, and that public packages stand on
// public ones.
func TestOrder(t *testing.T) {
	seen := make(map[string]bool)
	for _, p := range list(t) {
		if p.Module == nil || !p.Module.Main {
			continue
		}
		name := strings.TrimPrefix(p.ImportPath, "wield/")
		r := find(name)
		if r == nil {
			t.Errorf(
				"package %s stands nowhere: give it a floor in the table of this test and in docs/architecture.md",
				name)
			continue
		}
		seen[name] = true
		for _, imp := range p.Imports {
			below, ok := strings.CutPrefix(imp, "wield/")
			if !ok {
				continue
			}
			if b := find(below); b != nil && b.floor >= r.floor {
				t.Errorf("%s (floor %d) imports %s (floor %d): imports only go downwards", name, r.floor, below,
					b.floor)
			}
			if strings.HasPrefix(below, "internal/") && !strings.HasPrefix(name, "internal/") &&
				!strings.HasPrefix(name, "cmd/") {
				t.Errorf("%s imports %s: no public package imports one that is not", name, below)
			}
			if r.only != nil && !slices.Contains(r.only, below) {
				t.Errorf("%s imports %s; it may import only %s", name, below, strings.Join(r.only, ", "))
			}
		}
	}
	for _, r := range rooms {
		if !seen[r.path] {
			t.Errorf("%s stands in the table, but there is no such package", r.path)
		}
	}
}

// TestModules checks what an importer of each library package compiles beside the standard library.
func TestModules(t *testing.T) {
	pkgs := list(t)
	modules := make(map[string]string)
	for _, p := range pkgs {
		if p.Module != nil && !p.Module.Main {
			modules[p.ImportPath] = p.Module.Path
		}
	}
	for _, p := range pkgs {
		r := find(strings.TrimPrefix(p.ImportPath, "wield/"))
		if r == nil || r.modules == nil {
			continue
		}
		var found []string
		for _, dep := range p.Deps {
			if m := modules[dep]; m != "" && !slices.Contains(found, m) {
				found = append(found, m)
			}
		}
		for _, m := range found {
			if !slices.Contains(r.modules, m) {
				t.Errorf("an importer of %s compiles %s, which is not on its list", r.path, m)
			}
		}
	}
}

// TestLightDialect checks that the decoder's importer compiles none of the heavy parts of the standard library either.
func TestLightDialect(t *testing.T) {
	heavy := []string{"net/http", "net", "os/exec", "text/template", "html/template", "crypto/tls", "database/sql",
		"regexp"}
	for _, p := range list(t) {
		if p.ImportPath != "wield/dialect" && p.ImportPath != "wield/chat" {
			continue
		}
		for _, dep := range p.Deps {
			if slices.Contains(heavy, dep) {
				t.Errorf("an importer of %s compiles %s", p.ImportPath, dep)
			}
		}
	}
}

// TestArchitecture checks that the page about the layers names every package.
func TestArchitecture(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rooms {
		if !bytes.Contains(text, []byte("`"+r.path+"`")) {
			t.Errorf("docs/architecture.md does not name `%s`", r.path)
		}
	}
}

// TestLockFiles checks that no lock file of the test clients records where it was made: an installer then asks the
// registry that its own machine is set up for.
func TestLockFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root(t), "e2e", "*", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(root(t), "e2e", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	if files = append(files, more...); len(files) == 0 {
		t.Fatal("no lock file under e2e")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte(`"resolved"`)) ||
			bytes.Contains(text, []byte("://")) && bytes.Contains(text, []byte(`.tgz"`)) {
			t.Errorf(
				"%s records addresses; make it with `npm install --package-lock-only --omit-lockfile-registry-resolved`", file)
		}
	}
}

// find returns the room of a package, or nil.
func find(name string) *room {
	for i := range rooms {
		if rooms[i].path == name {
			return &rooms[i]
		}
	}
	return nil
}

// list returns every package of the module and all that they import, tests left out.
func list(t *testing.T) []pkg {
	t.Helper()
	depend(t)
	pkgs, err := goList()
	if err != nil {
		t.Fatal(err)
	}
	return pkgs
}

var goList = sync.OnceValues(func() (pkgs []pkg, err error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Standard,Imports,Deps,Module", "./...")
	cmd.Dir = filepath.Join("..", "..")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		pkgs = append(pkgs, p)
	}
	named(pkgs)
	return pkgs, nil
})

// named calls the module wield, whatever path it was given.
func named(pkgs []pkg) {
	main := slices.IndexFunc(pkgs, func(p pkg) bool { return p.Module != nil && p.Module.Main })
	if main < 0 {
		return
	}
	name := func(path *string) {
		if rest, ok := strings.CutPrefix(*path, pkgs[main].Module.Path); ok && (rest == "" || rest[0] == '/') {
			*path = "wield" + rest
		}
	}
	for i := range pkgs {
		name(&pkgs[i].ImportPath)
		for j := range pkgs[i].Imports {
			name(&pkgs[i].Imports[j])
		}
		for j := range pkgs[i].Deps {
			name(&pkgs[i].Deps[j])
		}
	}
}

// depend looks at every source file, so that go test knows that a change of one of them makes an earlier
// result worthless: the import graph is read by a command, which go test does not see.
func depend(t *testing.T) {
	t.Helper()
	top := root(t)
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != top && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(path, ".go"):
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// root returns the directory of go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	return dir
}
