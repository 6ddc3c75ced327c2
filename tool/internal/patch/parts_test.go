package patch

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"wield/tool/edit"
)

// partsTexts are texts in each syntax, with what their parts are about.
var partsTexts = []struct {
	name, text string
	paths      []string
}{
	{"blocks", "=== FILE: a\n" + pairOf("1", "2") + "\n" + pairOf("3", "4") + pairOf("5", "6"),
		[]string{"a", "a", "a"}},
	{"blocks alone", "=== FILE: a\n" + pairOf("1", "2"), []string{"a"}},
	{"aider", "a.x\n" + pairOf("1", "2") + "\nb.x\n" + pairOf("3", "4") + "c.x\n" + pairOf("", "5"),
		[]string{"a.x", "b.x", "c.x"}},
	{"aider unnamed", "a.x\n" + pairOf("1", "2") + "b.x\n" + pairOf("3", "4") + "\n" + pairOf("5", "6"),
		[]string{"a.x", "b.x", "b.x"}},
	{"patch",
		"*** Begin Patch\n*** Update File: a\n@@\n-1\n+2\n@@ f()\n-3\n+4\n*** Add File: b\n+x\n*** Delete File: c\n*** Update File: d\n*** Move to: e\n@@\n-1\n+2\n*** End Patch\n",
		[]string{"a", "a", "b", "c", "d"}},
	{"unified",
		"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n@@ -9 +9 @@\n-3\n+4\ndiff --git a/b b/b\n--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+x\n--- a/c\n+++ b/c\n@@ -1 +1 @@\n-5\n+6\n",
		[]string{"a", "a", "b", "c"}},
}

func pairOf(old, with string) string {
	line := func(s string) string {
		if s == "" {
			return ""
		}
		return s + "\n"
	}
	return "<<<<<<< SEARCH\n" + line(old) + "=======\n" + line(with) + ">>>>>>> REPLACE\n"
}

// TestWithout takes every set of parts out of every text: what is left is read as what the other parts were, and as
// nothing else.
func TestWithout(t *testing.T) {
	for _, c := range partsTexts {
		t.Run(c.name, func(t *testing.T) {
			parts, err := Parts(c.text)
			if err != nil {
				t.Fatal(err)
			}
			var paths []string
			for _, p := range parts {
				paths = append(paths, p.Op.Path)
			}
			if !slices.Equal(paths, c.paths) {
				t.Fatalf("the parts are about %q, want %q", paths, c.paths)
			}
			for set := range 1 << len(parts) {
				var refused []int
				var want []string
				for i := range parts {
					if set>>i&1 == 1 {
						refused = append(refused, i)
					} else {
						want = append(want, shown(parts[i].Op))
					}
				}
				text := Without(c.text, parts, refused)
				if len(want) == 0 {
					if text != "" {
						t.Errorf("without all parts there is %q", text)
					}
					continue
				}
				left, err := Parts(text)
				if err != nil {
					t.Fatalf("without %v: %v\n%s", refused, err, text)
				}
				var got []string
				for _, p := range left {
					got = append(got, shown(p.Op))
				}
				if !slices.Equal(got, want) {
					t.Errorf("without %v there is %q, want %q\n%s", refused, got, want, text)
				}
			}
		})
	}
}

// shown writes an operation without the lines of the text on which it stands.
func shown(op Op) string {
	var b strings.Builder
	b.WriteString(string(op.Kind) + " " + op.Path + " " + op.To + " " + op.Content)
	for _, h := range op.Hunks {
		b.WriteString("@" + strings.Join(h.Scope, ","))
		for _, l := range h.Lines {
			b.WriteString(string(rune(l.Kind)) + l.Text + ";")
		}
	}
	return b.String()
}

// TestPartsTogether carries out a text at once and part by part, and compares what becomes of the files.
func TestPartsTogether(t *testing.T) {
	before := memory{"a": []byte("1\nf()\n3\n5\n"), "a.x": []byte("1\n"), "b.x": []byte("3\n5\n"), "c": []byte("5\n"),
		"d": []byte("1\n")}
	for _, c := range partsTexts {
		ops, err := Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := Plan(before, ops)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		parts, err := Parts(c.text)
		if err != nil {
			t.Fatal(err)
		}
		var single []Op
		for _, p := range parts {
			single = append(single, p.Op)
		}
		one, err := Plan(before, single)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if a, b := results(whole), results(one); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: at once\n%v, part by part\n%v", c.name, a, b)
		}
	}
}

func results(changes []edit.Change) map[string]string {
	all := map[string]string{}
	for _, c := range changes {
		if c.Exists {
			all[c.Path] = string(c.After)
		} else {
			all[c.Path] = "(gone)"
		}
	}
	return maps.Clone(all)
}
