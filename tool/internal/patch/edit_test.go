package patch

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"wield/tool/edit"
	"wield/tool/files"
)

// open makes a root that holds files, given by name and content.
func open(t *testing.T, content map[string]string) *files.Root {
	t.Helper()
	dir := t.TempDir()
	for name, text := range content {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := files.Open(dir, files.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// all returns the files of a root.
func all(t *testing.T, root *files.Root) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := fs.WalkDir(os.DirFS(root.Path()), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			b, err := os.ReadFile(filepath.Join(root.Path(), p))
			got[path.Clean(p)] = string(b)
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// run parses a text and carries it out.
func run(root *files.Root, text string) ([]edit.Change, error) {
	ops, err := Parse(text)
	if err != nil {
		return nil, err
	}
	changes, err := Plan(root, ops)
	if err != nil {
		return nil, err
	}
	return changes, Apply(root, changes)
}

func block(search, replace string) string {
	return "=== FILE: f\n<<<<<<< SEARCH\n" + search + "=======\n" + replace + ">>>>>>> REPLACE\n"
}

const program = "package main\n\nfunc main() {\n\tprintln(\"one\")\n\tprintln(\"two\")\n}\n\nfunc other() {\n\treturn\n}\n"

// TestLadder edits one file. Every row shows one rule of the ladder, or that something is none.
func TestLadder(t *testing.T) {
	for _, tt := range []struct {
		name, file, search, replace string
		want                        string // "": the edit fails
		step                        edit.Step
		reason                      FailureReason
	}{
		{"exact", program, "\tprintln(\"two\")\n", "\tprintln(\"2\")\n", strings.Replace(program, `"two"`, `"2"`, 1),
			stepExact, ""},
		{"a whole line before a part of one", "foo\nfoobar\n", "foo\n", "x\n", "x\nfoobar\n", stepExact, ""},
		{"part of a line", "a foo b\n", "foo\n", "x\n", "a x b\n", stepInline, ""},
		{"part of a line, twice", "a foo b foo\n", "foo\n", "x\n", "", "", Ambiguous},
		{"twice", "a\nb\na\n", "a\n", "x\n", "", "", Ambiguous},
		{"nowhere", program, "println(\"three\")\n", "x\n", "", "", NotFound},
		{"done already", "x\ny\n", "a\n", "x\ny\n", "", "", Already},
		{"nothing to look for", "x\n", "", "y\n", "", "", Empty},
		{"an empty file", "", "", "y\n", "y\n", stepInsert, ""},
		{"lines go", "a\nb\nc\n", "b\n", "", "a\nc\n", stepExact, ""},
		{"the last line goes", "a\nb", "b\n", "", "a", stepExact, ""},
		{"all lines go", "a\n", "a\n", "", "", stepExact, ""},
		{"no newline at the end", "a\nb", "b\n", "c\n", "a\nc", stepExact, ""},
		{"more behind a line without a newline", "a\nb", "b\n", "b\nc\n", "a\nb\nc", stepExact, ""},
		{"CR LF", "a\r\nb\r\nc\r\n", "b\n", "x\ny\n", "a\r\nx\r\ny\r\nc\r\n", stepLineEnds, ""},
		{"CR LF in the edit", "a\nb\nc\n", "b\r\n", "x\r\n", "a\nx\nc\n", stepExact, ""},
		{"mixed line ends stay", "a\r\nb\nc\r\nd\r\n", "c\n", "x\n", "a\r\nb\nx\r\nd\r\n", stepLineEnds, ""},
		{"a byte order mark", "\ufeffa\nb\n", "a\n", "x\n", "\ufeffx\nb\n", stepLineEnds, ""},
		{"trailing blanks", "a  \nb\t\nc\n", "a\nb\n", "a\nx\n", "a  \nx\nc\n", stepTrailing, ""},
		{"trailing blanks in the edit", "a\nb\nc\n", "a \nb \n", "x\n", "x\nc\n", stepTrailing, ""},
		{"less indented", program, "println(\"one\")\nprintln(\"two\")\n",
			"println(\"one\")\nif x {\n\tprintln(\"2\")\n}\n", strings.Replace(program, "\tprintln(\"two\")\n",
				"\tif x {\n\t\tprintln(\"2\")\n\t}\n", 1), stepIndent, ""},
		{"indented too far", "a:\n  b: 1\n  c: 2\n", "    b: 1\n    c: 2\n", "    b: 1\n      d: 3\n    c: 4\n",
			"a:\n  b: 1\n    d: 3\n  c: 4\n", stepIndent, ""},
		{"a line that cannot be indented as little", "a:\n  b: 1\n", "    b: 1\n", "b: 2\n", "", "", NotFound},
		{"blanks for tabs", "f {\n\tif a {\n\t\tb()\n\t}\n}\n", "    if a {\n        b()\n    }\n",
			"    if a {\n        c()\n        d()\n    }\n", "f {\n\tif a {\n\t\tc()\n\t\td()\n\t}\n}\n", stepIndent,
			""},
		{"tabs for blanks", "def f:\n  if a:\n    b()\n", "\tif a:\n\t\tb()\n", "\tif a:\n\t\tc()\n",
			"def f:\n  if a:\n    c()\n", stepIndent, ""},
		{"uneven indentation is no rule", "a:\n  b\n    c\n", "b\nc\n", "x\n", "", "", NotFound},
		{"typographic signs", "it’s “here” – now\u00a0then\nz\n", "it's \"here\" - now then\n", "gone\n", "gone\nz\n",
			stepUnicode, ""},
		{"typographic signs of lines that stay", "it’s\nb\n", "it's\nb\n", "it's\nc\n", "it’s\nc\n", stepUnicode, ""},
		{"escaped once too often", "say(\"a\")\nb\n", "say(\\\"a\\\")\\nb\n", "say(\\\"c\\\")\\nb\n",
			"say(\"c\")\nb\n", stepEscapes, ""},
		{"entities in the edit", "if a < b && c {\n", "if a &lt; b &amp;&amp; c {\n", "if a &gt; b {\n",
			"if a > b {\n", stepEscapes, ""},
		{"entities in the file", "<p>a &lt; b</p>\n&lt;x&gt;\n", "<x>\n", "<y>\n", "<p>a &lt; b</p>\n&lt;y&gt;\n",
			stepEscapes, ""},
		{"line numbers", program, "    4| \tprintln(\"one\")\n    5| \tprintln(\"two\")\n",
			"    4| \tprintln(\"1\")\n\tprintln(\"two\")\n", strings.Replace(program, `"one"`, `"1"`, 1), stepNumbers,
			""},
		{"numbers that do not count", "a\nb\n", "1: a\n7: b\n", "x\n", "", "", NotFound},
		{"a fence around it", "a\nb\n", "```go\na\n```\n", "```go\nx\n```\n", "x\nb\n", stepFence, ""},
		{"lines left out", program, "func main() {\n\t// ...\n\tprintln(\"two\")\n}\n",
			"func start() {\n\t// ...\n\tprintln(\"2\")\n}\n", strings.NewReplacer("func main", "func start", `"two"`,
				`"2"`).Replace(program), stepElided, ""},
		{"left out between what stands twice", "a\nb\na\nc\n", "a\n...\nc\n", "x\n...\nc\n", "", "", NotFound},
		{"left out and gone", "a\nb\nc\n", "a\n...\nc\n", "a\nc\n", "", "", NotFound},
		{"text that looks like a reference", "cost\n", "cost\n", "$& $1 $$ $` \\1 &\n", "$& $1 $$ $` \\1 &\n",
			stepExact, ""},
		{"similar is not enough", "return value + 1\n", "return value + 2\n", "x\n", "", "", NotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := open(t, map[string]string{"f": tt.file})
			changes, err := run(root, block(tt.search, tt.replace))
			got := all(t, root)["f"]
			if tt.reason != "" {
				if !errors.Is(err, tt.reason) || got != tt.file {
					t.Fatalf("error %v, want %s; the file is %q", err, tt.reason, got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("got\n%q, want\n%q", got, tt.want)
			}
			if s := changes[0].Steps; len(s) != 1 || s[0] != tt.step {
				t.Errorf("steps %q, want %q", s, tt.step)
			}
		})
	}
}

// TestSyntaxes carries out edits of every syntax.
func TestSyntaxes(t *testing.T) {
	before := map[string]string{"a.txt": "one\ntwo\nthree\nfour\n", "dir/b.txt": "x\n", "gone.txt": "bye\n"}
	for _, tt := range []struct {
		name, text string
		syntax     Syntax
		want       map[string]string // "-": the file goes
	}{
		{"blocks",
			"=== FILE: a.txt\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n\n<<<<<<< SEARCH\nfour\n=======\n4\n>>>>>>> REPLACE",
			SyntaxBlocks, map[string]string{"a.txt": "one\n2\nthree\n4\n"}},
		{"blocks with longer markers",
			"=== FILE: `a.txt`\n<<<<<<<<< SEARCH\ntwo\n=========\n<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n>>>>>>>>> REPLACE\n",
			SyntaxBlocks, map[string]string{"a.txt": "one\n<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\nthree\nfour\n"}},
		{"whole", "=== FILE: new/c.txt\n\n  indented\nlast", SyntaxWhole,
			map[string]string{"new/c.txt": "\n  indented\nlast"}},
		{"whole, over a file", "=== FILE: dir/b.txt\ny\n", SyntaxWhole, map[string]string{"dir/b.txt": "y\n"}},
		{"aider",
			"Here it is:\n\na.txt\n```text\n<<<<<<< SEARCH\ntwo\n=======\n2\n>>>>>>> REPLACE\n```\n\n**`dir/b.txt`:**\n```\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```\n",
			SyntaxAider, map[string]string{"a.txt": "one\n2\nthree\nfour\n", "dir/b.txt": "y\n"}},
		{"aider, a new file", "c.txt\n<<<<<<< SEARCH\n=======\nnew\n>>>>>>> REPLACE\n", SyntaxAider,
			map[string]string{"c.txt": "new\n"}},
		{"aider, the same file again",
			"a.txt\n<<<<<<< SEARCH\none\n=======\n1\n>>>>>>> REPLACE\nand\n<<<<<<< SEARCH\nfour\n=======\n4\n>>>>>>> REPLACE\n",
			SyntaxAider, map[string]string{"a.txt": "1\ntwo\nthree\n4\n"}},
		{"patch",
			"*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n three\n*** Add File: c.txt\n+new\n+file\n*** Delete File: gone.txt\n*** End Patch\n",
			SyntaxPatch, map[string]string{"a.txt": "one\n2\nthree\nfour\n", "c.txt": "new\nfile\n", "gone.txt": "-"}},
		{"patch that moves",
			"*** Begin Patch\n*** Update File: dir/b.txt\n*** Move to: dir/c.txt\n@@\n-x\n+y\n*** End Patch",
			SyntaxPatch, map[string]string{"dir/b.txt": "-", "dir/c.txt": "y\n"}},
		{"patch at the end", "*** Begin Patch\n*** Update File: a.txt\n@@\n+five\n*** End of File\n*** End Patch",
			SyntaxPatch, map[string]string{"a.txt": "one\ntwo\nthree\nfour\nfive\n"}},
		{"patch behind a scope", "*** Begin Patch\n*** Update File: a.txt\n@@ two\n+2.5\n*** End Patch", SyntaxPatch,
			map[string]string{"a.txt": "one\ntwo\n2.5\nthree\nfour\n"}},
		{"unified", "--- a/a.txt\n+++ b/a.txt\n@@ -40,3 +41,3 @@ nonsense\n one\n-two\n+2\n three\n", SyntaxUnified,
			map[string]string{"a.txt": "one\n2\nthree\nfour\n"}},
		{"unified, new and gone",
			"diff --git a/c b/c\nnew file mode 100644\n--- /dev/null\n+++ b/c\n@@ -0,0 +1 @@\n+new\n\\ No newline at end of file\n--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-bye\n",
			SyntaxUnified, map[string]string{"c": "new", "gone.txt": "-"}},
		{"unified, renamed", "--- a/dir/b.txt\n+++ b/dir/d.txt\n@@ -1 +1 @@\n-x\n+y\n", SyntaxUnified,
			map[string]string{"dir/b.txt": "-", "dir/d.txt": "y\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := open(t, before)
			if got := Detect(tt.text); got != tt.syntax {
				t.Errorf("detected %q, want %q", got, tt.syntax)
			}
			changes, err := run(root, tt.text)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{}
			for name, text := range before {
				want[name] = text
			}
			for name, text := range tt.want {
				if want[name] = text; text == "-" {
					delete(want, name)
				}
			}
			if diff := cmp.Diff(want, all(t, root)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			// What was done can be undone.
			var back []edit.Change
			for i := range changes {
				back = append(back, changes[i].Reverse())
			}
			if err := Apply(root, back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, all(t, root)); diff != "" {
				t.Errorf("undone: -want +got\n%s", diff)
			}
		})
	}
}

// TestWholeLines: the lines of a patch are whole lines, and never part of one.
func TestWholeLines(t *testing.T) {
	for _, text := range []string{
		"*** Begin Patch\n*** Update File: f\n@@\n-foo\n+bar\n*** End Patch\n",
		"--- a/f\n+++ b/f\n@@\n-foo\n+bar\n",
	} {
		root := open(t, map[string]string{"f": "a foo b\n"})
		if _, err := run(root, text); !errors.Is(err, NotFound) {
			t.Errorf("%q: %v, the file is %q", text, err, all(t, root)["f"])
		}
	}
}

// TestNoEdits are texts that must not be carried out.
func TestNoEdits(t *testing.T) {
	for _, tt := range []struct {
		name, text, says string
		line             int
	}{
		{"prose", "Nothing to do.", "no edit in any syntax", 1},
		{"two files in a block",
			"=== FILE: safe.txt\n=== FILE: target.sh\n<<<<<<< SEARCH\nAAA\n=======\nevil\n>>>>>>> REPLACE",
			"multiple files (safe.txt, target.sh)", 2},
		{"a divider in the text", "=== FILE: f\n<<<<<<< SEARCH\na\n=======\nb\n=======\nc\n>>>>>>> REPLACE",
			"two dividers", 6},
		{"a group in a group", "=== FILE: f\n<<<<<<< SEARCH\na\n<<<<<<< SEARCH\n=======\nb\n>>>>>>> REPLACE",
			"begins inside the one of line 2", 4},
		{"no divider", "=== FILE: f\n<<<<<<< SEARCH\na\n>>>>>>> REPLACE", "no divider", 4},
		{"cut short", "=== FILE: f\n<<<<<<< SEARCH\na\n=======\nb\n", "does not end", 5},
		{"text outside", "=== FILE: f\nhello\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE",
			"outside of any group", 2},
		{"no file", "=== FILE: \n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE", "Empty filename", 1},
		{"aider without a name", "a b c\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE", "no file is named", 2},
		{"patch cut short", "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n", "no line *** End Patch", 5},
		{"patch with a strange line", "*** Begin Patch\n*** Update File: f\n@@\n-a\nb\n*** End Patch\n",
			"begins with a blank, - or +", 5},
		{"patch without changes", "*** Begin Patch\n*** Update File: f\n*** End Patch\n", "changes nothing", 3},
		{"empty patch", "*** Begin Patch\n*** End Patch\n", "empty", 2},
		{"diff without hunks", "--- a/f\n+++ b/f\n", "no hunk for f", 1},
		{"diff of nothing", "--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n", "name no file", 1},
	} {
		ops, err := Parse(tt.text)
		var s *SyntaxError
		if ops != nil || !errors.As(err, &s) || !strings.Contains(err.Error(), tt.says) || s.Line != tt.line {
			t.Errorf("%s: %v, %v; want line %d, %q", tt.name, ops, err, tt.line, tt.says)
		}
	}
}

// TestAllOrNothing shows that one failure keeps everything as it was, and that all failures are told at once.
func TestAllOrNothing(t *testing.T) {
	before := map[string]string{"a": "one\n", "b": "two\n"}
	root := open(t, before)
	_, err := run(root,
		"`a`\n<<<<<<< SEARCH\none\n=======\n1\n>>>>>>> REPLACE\n`b`\n<<<<<<< SEARCH\nzwei\n=======\n2\n>>>>>>> REPLACE\n`c`\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n")
	var f *Failures
	if !errors.As(err, &f) || len(f.List) != 2 || f.Good != 1 || !errors.Is(err, NotFound) || !errors.Is(err, NoFile) {
		t.Fatalf("%v", err)
	}
	if !strings.Contains(err.Error(), "Nothing was written. 1 other edit would have worked") {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(before, all(t, root)); diff != "" {
		t.Error(diff)
	}
}

// TestRollback: a file that cannot be written puts those before it back.
func TestRollback(t *testing.T) {
	before := map[string]string{"a": "one\n", "d/b": "two\n"}
	root := open(t, before)
	changes, err := Plan(root, []Op{
		{Kind: Replace, Path: "a", Old: "one", With: "1"},
		{Kind: Create, Path: "a/under.txt", Content: "a file is no directory\n"},
	})
	if err == nil {
		err = Apply(root, changes)
	}
	if err == nil {
		t.Fatal("it was carried out")
	}
	if diff := cmp.Diff(before, all(t, root)); diff != "" {
		t.Error(diff)
	}
}

// TestStale: a file that changed after it was read is left alone, with all others.
func TestStale(t *testing.T) {
	root := open(t, map[string]string{"a": "one\n", "b": "two\n"})
	changes, err := Plan(root, []Op{{Kind: Replace, Path: "a", Old: "one", With: "1"},
		{Kind: Replace, Path: "b", Old: "two", With: "2"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := root.WriteFile("b", []byte("two!\n"), files.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := Apply(root, changes); !errors.Is(err, Stale) {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(map[string]string{"a": "one\n", "b": "two!\n"}, all(t, root)); diff != "" {
		t.Error(diff)
	}
}

// TestReplace edits as a tool with an old and a new text does.
func TestReplace(t *testing.T) {
	for _, tt := range []struct {
		name, file, old, with string
		all                   bool
		want                  string
		reason                FailureReason
	}{
		{"once", "a b c", "b", "x", false, "a x c", ""},
		{"twice", "a b b", "b", "x", false, "", Ambiguous},
		{"all", "a b b\nb", "b", "$1", true, "a $1 $1\n$1", ""},
		{"all, CR LF", "a\r\nb\r\na\r\nb\r\n", "a\nb", "c\nd\ne", true, "c\r\nd\r\ne\r\nc\r\nd\r\ne\r\n", ""},
		{"lines", "a\n\tb\n\tc\n", "b\nc", "d\ne", false, "a\n\td\n\te\n", ""},
		{"none", "a", "b", "c", false, "", NotFound},
		{"nothing", "a", "", "c", false, "", Empty},
		{"no text", "a\xff\xfe", "a", "c", false, "", NotText},
	} {
		root := open(t, map[string]string{"f": tt.file})
		changes, err := Plan(root, []Op{{Kind: Replace, Path: "./f", Old: tt.old, With: tt.with, All: tt.all}})
		if tt.reason != "" {
			if !errors.Is(err, tt.reason) {
				t.Errorf("%s: %v, want %s", tt.name, err, tt.reason)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := string(changes[0].After); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestTold shows what a model is told of an edit that cannot be placed.
func TestTold(t *testing.T) {
	root := open(t, map[string]string{"f": program})
	_, err := run(root, block("func main() {\n\tprintln(\"one\")\n\tprintln(\"zwei\")\n}\n", "x\n"))
	want := "f: the edit on line 2 of your text: search text not found. Line 3 of the search text stands nowhere in the file: println(\"zwei\")\n" +
		"The closest lines of the file are:\n" +
		"     1| package main\n     2| \n     3| func main() {\n     4| \tprintln(\"one\")\n>    5| \tprintln(\"two\")\n     6| }\n     7| \n     8| func other() {"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	root = open(t, map[string]string{"f": "a\nb\na\n"})
	_, err = run(root, block("a\n", "x\n"))
	if want := "f: the edit on line 2 of your text: search text found several times (ambiguous) (2 times: on the lines 1, 3). " +
		"Give more of the lines around it, so that it stands in one place only."; err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// TestShown shows what a person sees of a change.
func TestShown(t *testing.T) {
	root := open(t, map[string]string{"f": "a\n--b\nc\n"})
	changes, err := run(root, block("--b\nc\n", "--x\n--y\nc\n"))
	if err != nil {
		t.Fatal(err)
	}
	c := &changes[0]
	if got, want := c.Summary(), "[edit: f (−1 +2)]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := c.Diff(1), "--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n a\n---b\n+--x\n+--y\n c\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	changes, err = run(root, "=== FILE: new\n1\n2\n")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := changes[0].Summary(), "[create: new (2 lines)]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestMode: permissions stay, also where a file moves.
func TestMode(t *testing.T) {
	root := open(t, map[string]string{"run.sh": "echo a\n"})
	if err := os.Chmod(filepath.Join(root.Path(), "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := run(root, "--- a/run.sh\n+++ b/go.sh\n@@ -1 +1 @@\n-echo a\n+echo b\n"); err != nil {
		t.Fatal(err)
	}
	info, err := root.Stat("go.sh")
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestNothingChanges is told, and is no failure.
func TestNothingChanges(t *testing.T) {
	root := open(t, map[string]string{"f": "a\n"})
	changes, err := run(root, block("a\n", "a\n"))
	if err != nil || changes[0].Changed() || len(changes[0].Warnings) != 1 {
		t.Errorf("%+v, %v", changes, err)
	}
}

// TestOtherEncoding deletes a file that is no UTF-8: the change is shown and counted by its lines, whatever bytes
// they hold.
func TestOtherEncoding(t *testing.T) {
	root := open(t, map[string]string{"f": "caf\xe9\n\x80\xff"})
	changes, err := run(root, "*** Begin Patch\n*** Delete File: f\n*** End Patch\n")
	if err != nil {
		t.Fatal(err)
	}
	if removed, added := changes[0].Count(); removed != 2 || added != 0 {
		t.Errorf("−%d +%d", removed, added)
	}
	if d := changes[0].Diff(1); !strings.Contains(d, "-caf\xe9\n-\x80\xff\n") {
		t.Errorf("%q", d)
	}
}
