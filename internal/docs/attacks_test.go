//go:build unix

package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// An attack is a way in which programs that run tools have been led to do harm. Tests that are about one have its id
// in their name.
type attack struct{ id, what string }

// attacks are all that a test must be there for.
var attacks = []attack{
	{"X-C02", "names with points that leave nothing, and paths without points that do"},
	{"X-D01", "many calls in a turn, each under a new name or with an id that was there before"},
	{"X-E01", "a neighbour whose name begins like a directory that is open"},
	{"X-E02", "the same by way of `..`"},
	{"X-E03", "a pattern without a directory, applied to files anywhere"},
	{"X-E04", "`..` up to the root of the system"},
	{"X-E05", "everything is listed: files of the system, `/proc/self/environ`, keys"},
	{"X-E06", "listing directories outside, and one whose content alone is open"},
	{"X-E07", "symbolic and hard links, links that lead nowhere yet, a file that is swapped for a link"},
	{"X-E08", "writing keys, hooks of git and start-up files under names that a list forgot"},
	{"X-E09", "a flag that should make somebody be asked, and switches checks off"},
	{"X-E10", "`**` that should stand for no directory too"},
	{"X-E11", "`*` that reaches through directories"},
	{"X-E12", "a root that is not there, and the working directory in its place"},
	{"X-E13", "`find` that deletes and runs"},
	{"X-E14", "`git` with aliases, pagers, transports and configuration"},
	{"X-E15", "a program that should be asked about, and is not"},
	{"X-E16", "a program by its path, where its name is denied"},
	{"X-E17", "programs that run others, interpreters, and the shell's own ways"},
	{"X-E18", "a program by a path through a directory whose name is allowed"},
	{"X-E19", "arguments that lead a harmless program out of the workspace"},
	{"X-E20", "programs that change the system and are on no list"},
	{"X-E21", "a tool that is switched off and called all the same"},
	{"X-E22", "arguments that are no JSON, or that two programs read differently"},
	{"X-E28", "addresses of the own machine and network in every way of writing them, redirects, a proxy"},
	{"X-E29", "a description that breaks out of the program that is made for it"},
	{"X-E30", "a call that is carried out twice"},
	{"X-E31", "times that are none, processes that outlive their time, output without an end"},
	{"X-E32", "names that other systems read differently, control characters, names without an end"},
	{"X-E33", "writing the rules, the registry of tools, the tools"},
	{"cmd-201", "endless output"},
	{"cmd-202", "a program that hangs"},
	{"cmd-203", "a program that ignores being asked to end"},
	{"cmd-204", "a process that hides behind two forks"},
	{"cmd-205", "a process in the background that holds the output"},
	{"cmd-206", "more and more processes"},
	{"cmd-207", "more and more memory"},
	{"cmd-209", "a program that waits for input"},
	{"cmd-210", "millions of lines"},
	{"cmd-211", "output that steers the terminal"},
	{"cmd-212", "directories too deep to be removed by name"},
	{"cmd-213", "a program that fills the disk"},
	{"path-076", "sockets, pipes, devices in the place of files"},
	{"path-077", "a file that is too large"},
	{"path-078", "a file that is swapped for a link while it is read"},
	{"path-079", "its directory that is"},
	{"path-080", "the same while it is written"},
	{"arg-049", "a redirect to an address that the policy does not open"},
	{"arg-050", "a chain of redirects that ends there"},
	{"arg-052", "redirects without an end"},
	{"arg-056", "a proxy in the environment that hides where a connection goes"},
	{"arg-057", "a good address, which must work"},
	{"arg-058", "a page without an end"},
	{"arg-059", "a page that comes byte by byte"},
	{"arg-060", "a small page that unpacks to a huge one"},
	{"arg-089", "a pattern that takes years"},
	{"arg-096", "other arguments than the ones that were approved"},
	{"arg-097", "a tool that is another one than when it was approved"},
	{"arg-098", "one approval used twice"},
	{"arg-099", "an approval that has expired"},
	{"arg-100", "an approval that stands in the arguments"},
	{"arg-101", "two people who answer at once"},
	{"arg-103", "a call that is shown otherwise than it runs"},
	{"arg-104", "\"always\" that covers more than what was seen"},
	{"arg-105", "nobody to ask"},
	{"inj-072", "a call that is quoted in an explanation"},
}

// idInName finds the ids in the name of a test: TestX_E05_Links, Hang_cmd202.
var idInName = regexp.MustCompile(`(X)_?([A-E][0-9]{2})|_(arg|cmd|path|inj)([0-9]{3})|_(Path)([0-9]{3})`)

// testName finds functions of tests and fuzzing, and names in tables of tests that have an id.
var testName = regexp.MustCompile(
	`(?m)^func ((?:Test|Fuzz)\w*)\(\w+ \*testing\.[TF]\)|"(\w+_(?:cmd|arg|path)[0-9]{3}\w*)"`)

// aboutTools reports whether the tests of a directory are about running tools. Others have ids of their own lessons.
func aboutTools(dir string) bool {
	first, _, _ := strings.Cut(dir, "/")
	return slices.Contains([]string{"tool", "cmd", "dialect"}, first) || dir == "internal/cli"
}

// testsOf returns the names of the tests of every package, by its directory.
func testsOf(t *testing.T, root string) map[string][]string {
	t.Helper()
	tests := map[string][]string{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && p != root || d.Name() == "node_modules"):
			return filepath.SkipDir
		case !strings.HasSuffix(p, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(p))
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(rel)
		for _, m := range testName.FindAllStringSubmatch(string(text), -1) {
			name := m[1]
			if name == "" {
				name = "TestHogs/" + m[2]
				if dir != "tool/sandbox" {
					continue // a text of this very file, say
				}
			}
			tests[dir] = append(tests[dir], name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}

// idsOf returns the ids in the name of a test as the page writes them.
func idsOf(name string) []string {
	var ids []string
	for _, m := range idInName.FindAllStringSubmatch(name, -1) {
		parts := slices.DeleteFunc(m[1:], func(s string) bool { return s == "" })
		id := parts[0] + "-" + parts[1]
		if parts[0] != "X" {
			id = strings.ToLower(id)
		}
		ids = append(ids, id)
	}
	return ids
}

// TestAttacks looks for a test of each attack.
func TestAttacks(t *testing.T) {
	known := map[string]bool{}
	for dir, names := range testsOf(t, checkout(t)) {
		if aboutTools(dir) {
			for _, name := range names {
				for _, id := range idsOf(name) {
					known[id] = true
				}
			}
		}
	}
	for _, a := range attacks {
		if !known[a.id] {
			t.Errorf("no test has the name of %s: %s", a.id, a.what)
		}
	}
}

// namedTests finds what a row of the page says of one package: `tool/policy`: TestA, TestB/case (remark), FuzzC
var namedTests = regexp.MustCompile("`([a-z/]+)`: ([^;|]*)")

// TestNamedTestsExist looks for every test that docs/security.md names.
func TestNamedTestsExist(t *testing.T) {
	root := checkout(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests, n := testsOf(t, root), 0
	_, tables, _ := strings.Cut(string(page), "## Attacks and their tests")
	for _, m := range namedTests.FindAllStringSubmatch(tables, -1) {
		for name := range strings.SplitSeq(regexp.MustCompile(`\([^)]*\)`).ReplaceAllString(m[2], ""), ",") {
			name = strings.TrimSpace(name)
			function, _, _ := strings.Cut(name, "/")
			if !slices.Contains(tests[m[1]], function) && !slices.Contains(tests[m[1]], name) {
				t.Errorf("docs/security.md names %s of %s, which is not there", name, m[1])
			}
			n++
		}
	}
	if n < len(attacks) {
		t.Errorf("only %d tests are named: has the form of the page changed?", n)
	}
}
