//go:build unix

package docs

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

// network says that pages with blocks marked "network" are to be run, those blocks too, and no other page.
var network = os.Getenv("WIELD_DOCS_NETWORK") != ""

var only = flag.String("page", "", "run only the page of this name, such as docs/gateway.md")

// runnable are the languages of blocks that are run, shown those of blocks that are only shown, or written to a file.
var (
	runnable = []string{"sh", "console"}
	shown    = []string{"text", "json", "yaml", "go", "js", "python", "diff", "toml", "jsonl", "http"}
)

// TestPages follows every page from top to bottom.
func TestPages(t *testing.T) {
	for _, tool := range []string{"bash", "curl", "grep", "tail", "cmp"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s here, so no block of any page is run", tool)
		}
	}
	root := checkout(t)
	program := built(t, root)
	for _, page := range pages(t, root) {
		if *only != "" && *only != page {
			continue
		}
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, page))
			if err != nil {
				t.Fatal(err)
			}
			found, err := blocks(string(text))
			if err != nil {
				t.Fatal(err)
			}
			if network && !slices.ContainsFunc(found, func(b block) bool { return b.has("network") }) {
				t.Skip("no block of this page needs the network")
			}
			s := newSession(t, root, program)
			for i := range found {
				follow(t, s, &found[i])
			}
			if *update {
				rewrite(t, filepath.Join(root, page), string(text), found)
			}
		})
	}
}

// TestMain removes what tests share.
func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(shared)
	os.Exit(code)
}

// shared is the directory that wield was built into, once for all tests, since that takes seconds.
var shared string

// built returns that directory.
func built(t *testing.T, root string) string {
	t.Helper()
	if shared != "" {
		return shared
	}
	depend(t, root)
	dir, err := os.MkdirTemp("", "wield-docs-")
	if err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "wield"), "./cmd/wield")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		t.Fatalf("go build: %v\n%s", err, out)
	}
	shared = dir
	return shared
}

// depend looks at every source file, so that go test knows that a change of one of them makes an earlier result
// worthless: the program is built by a command, which go test does not see.
func depend(t *testing.T, root string) {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" ||
			d.Name() == "testdata"):
			return filepath.SkipDir
		case !d.IsDir() && !strings.HasSuffix(path, "_test.go"):
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// follow does with a block what a reader would.
func follow(t *testing.T, s *session, b *block) {
	name := fmt.Sprintf("line %d", b.line)
	if file := b.value("file"); file != "" {
		if err := s.write(file, b.text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := wellFormed(b); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if file := b.value("source"); file != "" {
		if text, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(file))); err != nil ||
			!strings.Contains(string(text), b.text) {
			t.Errorf("%s: %s does not hold this block as it is (%v)", name, file, err)
		}
	}
	if !slices.Contains(runnable, b.lang) || b.value("file") != "" {
		return
	}
	if b.has("server") && notHere(b) == "" {
		// A server outlives its block, so it belongs to the page's test, not to one of its own.
		if err := s.serve(t, inCheckout(s, b)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return
	}
	t.Run(name, func(t *testing.T) {
		if why := notHere(b); why != "" {
			t.Skip(why)
		}
		if b.lang == "console" {
			console(t, s, b)
		} else {
			script(t, s, b)
		}
	})
}

// rewrite puts into the page what its console blocks print, where that is not what it says.
func rewrite(t *testing.T, path, page string, found []block) {
	made := page
	for _, b := range slices.Backward(found) {
		if b.printed != "" && strings.HasPrefix(made[b.at:], b.text) {
			made = made[:b.at] + b.printed + made[b.at+len(b.text):]
		}
	}
	if made != page {
		if err := os.WriteFile(path, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// notHere says why a block cannot be run, or "" if it can.
func notHere(b *block) string {
	switch {
	case b.has("tests"):
		return "these are the tests themselves"
	case b.has("network") && !network:
		return "this block needs the network: set WIELD_DOCS_NETWORK=1 to run it"
	case b.has("key"):
		return "this block needs a key of a service"
	case b.value("needs") != "":
		if _, err := exec.LookPath(b.value("needs")); err != nil {
			return "this block needs " + b.value("needs")
		}
	case b.has("running"):
		return "this block needs a model server on this machine"
	}
	return ""
}

// inCheckout returns the text of a block, in the checkout's directory if it is marked so. Such blocks only build and
// run.
func inCheckout(s *session, b *block) string {
	if b.has("checkout") {
		return "cd " + quote(s.root) + " && " + b.text
	}
	return b.text
}

// script runs a block as one script that stops at the first command that fails.
func script(t *testing.T, s *session, b *block) {
	text := b.text
	if b.has("checkout") {
		text = "cd " + quote(s.root) + "\n" + text + "\ncd " + quote(s.dir)
	}
	out, status, err := s.run(text, true)
	switch {
	case err != nil:
		t.Errorf("%v\n%s%s", err, b.text, out)
	case (status != 0) != b.has("fails"):
		t.Errorf("exit status %d of\n%s%s", status, b.text, out)
	}
}

// console runs a block command by command and compares what is printed. A command may fail if the page then asks for
// its status.
func console(t *testing.T, s *session, b *block) {
	found, err := steps(b.text)
	if err != nil {
		t.Fatal(err)
	}
	var printed strings.Builder
	differs := false
	for i, st := range found {
		command := st.command
		if b.has("checkout") {
			command = "cd " + quote(s.root) + "\n" + command
		}
		out, status, err := s.run(command, false)
		if err != nil {
			t.Fatalf("%v\n$ %s%s", err, st.command, out)
		}
		asked := i+1 < len(found) && strings.TrimSpace(found[i+1].command) == "echo $?"
		if status != 0 && !asked && !b.has("fails") {
			t.Errorf("exit status %d of\n$ %s%s", status, st.command, out)
		}
		printed.WriteString("$ " + strings.ReplaceAll(strings.TrimSuffix(st.command, "\n"), "\n", "\n> ") + "\n")
		switch out = s.shown(out); {
		case matches(st.want, out):
			printed.WriteString(st.want)
		case *update:
			differs = true
			printed.WriteString(out)
		default:
			t.Errorf("$ %sprints\n%s\nThe page says\n%s", st.command, out, st.want)
		}
	}
	if b.has("checkout") {
		if _, _, err := s.run("cd "+quote(s.dir), false); err != nil {
			t.Fatal(err)
		}
	}
	if differs {
		b.printed = printed.String()
	}
}

// wellFormed checks what can be checked of a block without running it.
func wellFormed(b *block) error {
	if !slices.Contains(runnable, b.lang) && !slices.Contains(shown, b.lang) {
		return fmt.Errorf("a block in %q: use one of %v for shell, or one of %v", b.lang, runnable, shown)
	}
	known := []string{"server", "network", "key", "running", "checkout", "tests", "fails", "fragment"}
	for _, w := range b.words {
		if !slices.Contains(known, w) && !strings.HasPrefix(w, "file=") && !strings.HasPrefix(w, "source=") &&
			!strings.HasPrefix(w, "needs=") {
			return fmt.Errorf("a block is marked %q: the words are %v, file=NAME, source=NAME and needs=NAME", w, known)
		}
	}
	switch {
	case b.has("fragment"):
	case b.lang == "json" && !json.Valid([]byte(b.text)):
		return fmt.Errorf("this is not JSON:\n%s", b.text)
	case b.lang == "yaml":
		var v any
		if err := yaml.Unmarshal([]byte(b.text), &v); err != nil {
			return fmt.Errorf("this is not YAML: %w", err)
		}
	}
	return nil
}

// TestWords counts all that a reader of wield may read.
func TestWords(t *testing.T) {
	const most = 60_000
	root := checkout(t)
	n := 0
	for _, page := range pages(t, root) {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		n += len(strings.Fields(string(text)))
	}
	if n > most || n < most/2 {
		t.Errorf("the pages have %d words, want at most %d", n, most)
	}
}

// inArchive are the files and directories of the checkout that a release archive has; see .ci/release.
var inArchive = []string{"README.md", "CHANGELOG.md", "SKILL.md", "llms.txt", "LICENSE", "docs", "examples"}

// TestLinks checks that every relative link of a page leads to a file that a release archive has too, and every anchor
// to a heading.
func TestLinks(t *testing.T) {
	root := checkout(t)
	for _, page := range pages(t, root) {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range links(string(text)) {
			if strings.Contains(target, ":") {
				continue
			}
			file, anchor, _ := strings.Cut(target, "#")
			path := filepath.Join(root, page)
			if file != "" {
				path = filepath.Join(filepath.Dir(path), filepath.FromSlash(file))
			}
			info, err := os.Stat(path)
			if err != nil {
				t.Errorf("%s: the link %s leads nowhere", page, target)
				continue
			}
			rel, err := filepath.Rel(root, path)
			if first, _, _ := strings.Cut(filepath.ToSlash(rel), "/"); err != nil ||
				!slices.Contains(inArchive, first) {
				t.Errorf("%s: the link %s leads to what no release archive has", page, target)
			}
			if anchor != "" && !info.IsDir() {
				there, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Contains(anchors(string(there)), anchor) {
					t.Errorf("%s: %s has no heading #%s", page, filepath.Base(path), anchor)
				}
			}
		}
	}
}

// TestSession checks the reader's shell itself: what lasts from block to block, what a server block does, what fails.
func TestSession(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("no bash here")
	}
	s := newSession(t, checkout(t), t.TempDir())
	check := func(text string, strict bool, wantOut string, wantStatus int) {
		t.Helper()
		out, status, err := s.run(text, strict)
		if err != nil || out != wantOut || status != wantStatus {
			t.Errorf("%q: got %q, %d, %v; want %q, %d", text, out, status, err, wantOut, wantStatus)
		}
	}
	check("mkdir sub\ncd sub\nexport COLOUR='dark red'\n", true, "", 0)
	check("basename \"$PWD\"; echo \"$COLOUR\"\n", true, "sub\ndark red\n", 0)
	check("false\necho not reached\n", true, "", 1)
	check("echo $?\n", false, "1\n", 0)
	check("exit 7\n", false, "", 7)
	check("echo $?\n", false, "7\n", 0)
	check("echo 127.0.0.1:8499 localhost:8499 example:8499\n", false,
		fmt.Sprintf("%[1]s %[1]s example:8499\n", s.local("127.0.0.1:8499")), 0)
	if err := s.write("../x", ""); err == nil {
		t.Error("a page can write outside of the reader's directory")
	}
	start := time.Now()
	check("sleep 60 &\necho started\n", true, "started\n", 0)
	if d := time.Since(start); d > blockTime/2 {
		t.Errorf("a process in the background held up its block for %v", d)
	}
	if err := s.serve(t, "true"); err == nil {
		t.Error("a server that ends at once is taken for one that runs")
	}
}

// pages returns the pages, as slash-separated paths from the root.
func pages(t *testing.T, root string) []string {
	t.Helper()
	var found []string
	for _, name := range []string{"README.md", "CHANGELOG.md", "SKILL.md", "llms.txt", "examples/README.md"} {
		if _, err := os.Stat(filepath.Join(root, name)); err == nil {
			found = append(found, name)
		}
	}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".md") {
			var rel string
			rel, err = filepath.Rel(root, path)
			found = append(found, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatal("no pages")
	}
	return found
}

func checkout(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
