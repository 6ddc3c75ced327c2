package patch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wield/tool/files"
)

// TestAnyEdit takes a piece out of a random file, gives it to the ladder as a model might have written it down, and
// checks that the piece is replaced, that nothing else changes, and that a piece which stands twice is refused.
func TestAnyEdit(t *testing.T) {
	word := rapid.SampledFrom([]string{"a", "b := 1", "\tif x {", "\t\treturn y", "}", "", "  key: value", "don’t",
		"x &amp; y", "\"q\""})
	spoil := map[string]func(string) string{
		"as it is":        func(l string) string { return l },
		"trailing blanks": func(l string) string { return l + "  " },
		"shifted":         func(l string) string { return strings.TrimRight("    "+l, " ") },
		"CR LF":           func(l string) string { return l + "\r" },
	}
	names := []string{"as it is", "trailing blanks", "shifted", "CR LF"}
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(word, 1, 30).Draw(t, "lines")
		lines = append(lines, "end") // an empty last line would be none
		from := rapid.IntRange(0, len(lines)-1).Draw(t, "from")
		to := rapid.IntRange(from+1, len(lines)).Draw(t, "to")
		ending := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "ending")
		how := rapid.SampledFrom(names).Draw(t, "how")
		text := strings.Join(lines, ending)
		if rapid.Bool().Draw(t, "closed") {
			text += ending
		}
		var b strings.Builder
		b.WriteString("=== FILE: f\n<<<<<<< SEARCH\n")
		for _, l := range lines[from:to] {
			b.WriteString(spoil[how](l) + "\n")
		}
		b.WriteString("=======\n")
		added := "NEW $1 \\n"
		if how == "shifted" {
			b.WriteString("    ")
		}
		b.WriteString(added + "\n>>>>>>> REPLACE\n")
		ops, err := parseBlocks(b.String())
		if err != nil {
			t.Fatal(err)
		}
		d := newDocument(text)
		place, m := d.place(&ops[0].Hunks[0], false, 0)
		if strings.TrimSpace(strings.Join(lines[from:to], "")) == "" {
			return // blank lines have no indentation to be told by
		}
		if m != nil {
			if m.reason == Ambiguous {
				return // it stands elsewhere as well, or says nothing
			}
			t.Fatalf("%s: %q not found in %q", how, lines[from:to], text)
		}
		s := place.splices[0]
		got := d.apply(place.splices).String()
		want := strings.Join(slices.Concat(lines[:from], []string{added}, lines[to:]), ending)
		if strings.TrimRight(got, "\r\n") != strings.TrimRight(want, "\r\n") && s.from == from &&
			place.step != stepInline {
			t.Fatalf("%s (%s): got %q, want %q", how, place.step, got, want)
		}
		if strings.HasSuffix(got, "\n") != strings.HasSuffix(text, "\n") && got != "" {
			t.Fatalf("the end of the file changed: %q became %q", text, got)
		}
		if ending == "\r\n" && strings.Count(got, "\n") != strings.Count(got, "\r\n") {
			t.Fatalf("line ends changed: %q became %q", text, got)
		}
	})
}

// FuzzParse: no text makes the readers fail otherwise than with an error, and what they read can be looked for.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"=== FILE: f\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n",
		"*** Begin Patch\n*** Update File: f\n@@ x\n-a\n+b\n*** End of File\n*** End Patch\n",
		"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n",
		"f.go\n```\n<<<<<<< SEARCH\n...\na\n=======\n...\nb\n>>>>>>> REPLACE\n```\n",
	} {
		f.Add(text, "a\nx\r\na\n\ta")
	}
	for _, s := range seeds(f) {
		f.Add(strings.ReplaceAll(s.text, s.name, "f"), s.file)
	}
	dir := f.TempDir()
	root, err := files.Open(dir, files.Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text, file string) {
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		ops, err := Parse(text)
		if err != nil {
			return
		}
		changes, err := Plan(root, ops)
		if err != nil {
			return
		}
		for i := range changes {
			changes[i].Summary()
			if d := changes[i].Diff(3); (d == "") == (string(changes[i].Before) != string(changes[i].After)) &&
				len(changes[i].Before)+len(changes[i].After) > 0 {
				t.Errorf("a change and its diff differ: %q", d)
			}
		}
	})
}
