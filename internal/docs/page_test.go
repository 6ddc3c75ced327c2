package docs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A block is one fenced block of a page.
type block struct {
	line  int      // of its first line of text, from 1
	lang  string   // the first word after the fence
	words []string // the other words
	text  string
	at    int // byte offset of the text in the page

	printed string // the text with what its commands really print, if that differs
}

// has reports whether the block is marked with a word.
func (b *block) has(word string) bool { return slices.Contains(b.words, word) }

// value returns what stands after the equals sign of a word such as file=NAME.
func (b *block) value(key string) string {
	for _, w := range b.words {
		if v, ok := strings.CutPrefix(w, key+"="); ok {
			return v
		}
	}
	return ""
}

// blocks returns the fenced blocks of a page, in order. An indented fence belongs to a list; its indent is taken off
// the text.
func blocks(page string) ([]block, error) {
	var found []block
	var cur *block
	var fence, indent string
	line, next := 0, 0
	for text := range strings.SplitSeq(page, "\n") {
		line++
		next += len(text) + 1
		trimmed := strings.TrimLeft(text, " ")
		if cur == nil {
			if f := fenceOf(trimmed); f != "" {
				fence, indent = f, text[:len(text)-len(trimmed)]
				words := strings.Fields(trimmed[len(f):])
				if len(words) == 0 {
					return nil, fmt.Errorf("line %d: a block without a language", line)
				}
				cur = &block{line: line + 1, lang: words[0], words: words[1:], at: next}
			}
			continue
		}
		// An indent of four makes a line of back-ticks part of the text.
		if f := fenceOf(trimmed); len(text)-len(trimmed) < len(indent)+4 && len(f) >= len(fence) && f[0] == fence[0] &&
			strings.TrimSpace(trimmed[len(f):]) == "" {
			found = append(found, *cur)
			cur = nil
			continue
		}
		cur.text += strings.TrimPrefix(text, indent) + "\n"
	}
	if cur != nil {
		return nil, fmt.Errorf("line %d: a block without an end", cur.line-1)
	}
	return found, nil
}

// fenceOf returns the run of at least three back-ticks or tildes that a line begins with.
func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// A step is one command of a console block and what it prints.
type step struct {
	command string
	want    string
}

// steps takes a console block apart: "$ " begins a command, "> " continues it, all else is output.
func steps(text string) ([]step, error) {
	var found []step
	for line := range strings.Lines(text) {
		if cmd, ok := strings.CutPrefix(line, "$ "); ok {
			found = append(found, step{command: cmd})
			continue
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("output before the first command: %q", line)
		}
		last := &found[len(found)-1]
		if more, ok := strings.CutPrefix(line, "> "); ok && last.want == "" {
			last.command += more
			continue
		}
		last.want += line
	}
	return found, nil
}

// matches reports whether output is what a page shows: a line "..." stands for any lines, "..." within a line for any
// text.
func matches(want, got string) bool {
	return match(lines(want), lines(got), func(w, g string) bool {
		w, g = strings.TrimRight(w, " "), strings.TrimRight(g, " ")
		return match(parts(w), strings.Split(g, ""), func(a, b string) bool { return a == b })
	})
}

func lines(s string) []string { return strings.Split(strings.TrimRight(s, "\n"), "\n") }

// parts splits a line into characters, with "..." as one.
func parts(line string) []string {
	var out []string
	for i, part := range strings.Split(line, "...") {
		if i > 0 {
			out = append(out, "...")
		}
		out = append(out, strings.Split(part, "")...)
	}
	return out
}

// match compares two lists; "..." in want stands for any number of elements. A greedy match with one place to go back
// to is enough, and linear but for the product of the two lengths.
func match(want, got []string, same func(want, got string) bool) bool {
	w, g, star, mark := 0, 0, -1, 0
	for g < len(got) {
		switch {
		case w < len(want) && strings.TrimSpace(want[w]) == "...":
			star, mark = w, g
			w++
		case w < len(want) && same(want[w], got[g]):
			w++
			g++
		case star >= 0:
			mark++
			w, g = star+1, mark
		default:
			return false
		}
	}
	for w < len(want) && strings.TrimSpace(want[w]) == "..." {
		w++
	}
	return w == len(want)
}

func TestBlocks(t *testing.T) {
	const page = "# Title\n\n```sh server\nwield serve\n    ```\n```\n\n1. a list\n   ```yaml file=a.yaml\n   a: 1\n     b: 2\n   ```\n\n````text\n```sh\nnot a block\n```\n````\n"
	got, err := blocks(page)
	if err != nil {
		t.Fatal(err)
	}
	want := []block{
		{4, "sh", []string{"server"}, "wield serve\n    ```\n", 22, ""},
		{10, "yaml", []string{"file=a.yaml"}, "a: 1\n  b: 2\n", 80, ""},
		{15, "text", []string{}, "```sh\nnot a block\n```\n", 115, ""},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(block{})); diff != "" {
		t.Error(diff)
	}
	for _, b := range []block{got[0], got[2]} {
		if !strings.HasPrefix(page[b.at:], b.text) {
			t.Errorf("the text of the block in line %d does not stand at %d", b.line, b.at)
		}
	}
	if got[1].value("file") != "a.yaml" || !got[0].has("server") || got[0].value("file") != "" {
		t.Error("words of a block are not found")
	}
	for _, bad := range []string{"```\nx\n```\n", "```sh\nx\n"} {
		if _, err := blocks(bad); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}

func TestSteps(t *testing.T) {
	got, err := steps("$ echo a \\\n> b\na b\n$ true\n$ cat x\n1\n\n2\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []step{{"echo a \\\nb\n", "a b\n"}, {"true\n", ""}, {"cat x\n", "1\n\n2\n"}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(step{})); diff != "" {
		t.Error(diff)
	}
	if _, err := steps("a b\n"); err == nil {
		t.Error("no error for output before a command")
	}
}

func TestMatches(t *testing.T) {
	tests := []struct {
		want, got string
		ok        bool
	}{
		{"a\nb\n", "a\nb\n", true},
		{"a\nb\n", "a\nc\n", false},
		{"a\n", "a\nb\n", false},
		{"a\nb\n", "a\n", false},
		{"a  \n", "a\n", true},
		{"", "", true},
		{"", "x\n", false},
		{"...\n", "x\ny\n", true},
		{"...\n", "", true},
		{"a\n...\nd\n", "a\nb\nc\nd\n", true},
		{"a\n...\nd\n", "a\nd\n", true},
		{"a\n...\nd\n", "a\nb\nc\n", false},
		{"...\nb\n...\nb\n", "x\nb\nb\n", true},
		{"id ... end\n", "id 1234 end\n", true},
		{"id ... end\n", "id 1234 enx\n", false},
		{"x ...\n", "x y é\n", true},
	}
	for _, tt := range tests {
		if got := matches(tt.want, tt.got); got != tt.ok {
			t.Errorf("matches(%q, %q) = %v", tt.want, tt.got, got)
		}
	}
}
