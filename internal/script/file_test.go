package script_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"wield/chat"
	"wield/internal/script"
)

func TestInclude(t *testing.T) {
	fsys := fstest.MapFS{
		"main.scenario.yaml": {
			Data: []byte(
				"wield: scenario/v1\nname: main\ninclude: [lib/a.scenario.yaml]\ndefaults: {chunk: 2}\nturns: [{id: last, when: {}, reply: [{text: last}]}]\n")},
		"lib/a.scenario.yaml": {
			Data: []byte(
				"wield: scenario/v1\nname: a\ninclude: [b.scenario.yaml]\ndefaults: {chunk: 3}\nturns: [{id: a, when: {user: a}, reply: [{text: from-a}]}]\n")},
		"lib/b.scenario.yaml": {
			Data: []byte(
				"wield: scenario/v1\nname: b\nturns: [{id: b, when: {user_contains: a}, reply: [{text: from-b}]}]\n")},
		"loop.scenario.yaml":  {Data: []byte("wield: scenario/v1\nname: loop\ninclude: [loop2.scenario.yaml]\n")},
		"loop2.scenario.yaml": {Data: []byte("wield: scenario/v1\nname: loop2\ninclude: [loop.scenario.yaml]\n")},
		"missing.scenario.yaml": {
			Data: []byte("wield: scenario/v1\nname: missing\ninclude: [nothing.scenario.yaml]\n")},
	}
	s, err := script.LoadFS(fsys, "main.scenario.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, turn := range s.Turns {
		ids = append(ids, turn.ID)
	}
	if got := strings.Join(ids, " "); got != "b a last" {
		t.Errorf("turns %s", got)
	}
	m := script.New(s, script.Options{})
	if got := say(t, m, user("a")); got != "fro|m-b" {
		t.Errorf("an included turn comes first, with the pace of the file that included it: %q", got)
	}
	if got := say(t, m, user("x")); got != "la|st" {
		t.Errorf("got %q", got)
	}
	for name, want := range map[string]string{
		"loop.scenario.yaml":    "loop2.scenario.yaml:3:11: include of loop.scenario.yaml is a cycle",
		"missing.scenario.yaml": "missing.scenario.yaml:3:11: include of nothing.scenario.yaml:",
	} {
		if _, err := script.LoadFS(fsys, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLive(t *testing.T) {
	dir := t.TempDir()
	main, part := filepath.Join(dir, "main.scenario.yaml"), filepath.Join(dir, "part.scenario.yaml")
	clock := time.Unix(1_700_000_000, 0)
	write := func(name, text string) {
		t.Helper()
		clock = clock.Add(time.Second)
		if err := errors.Join(os.WriteFile(name, []byte(text), 0o600), os.Chtimes(name, clock, clock)); err != nil {
			t.Fatal(err)
		}
	}
	part1 := "wield: scenario/v1\nname: part\nturns: [{id: a, when: {}, reply: [{text: one}]}]\n"
	write(part, part1)
	write(main, "wield: scenario/v1\nname: main\ninclude: [part.scenario.yaml]\n")
	l, err := script.Open(main, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := l.Model(script.Options{})
	for _, step := range []struct {
		name string
		do   func()
		want string
	}{
		{"as loaded", func() {}, "one"},
		{"an included file changes", func() { write(part, strings.Replace(part1, "one", "two", 1)) }, "two"},
		{"it breaks", func() { write(part, "broken") }, "two"},
		{"it is mended", func() { write(part, strings.Replace(part1, "one", "three", 1)) }, "three"},
		{"it is gone", func() { os.Remove(part) }, "three"},
		{"it is back", func() { write(part, part1) }, "one"},
		{"the file itself is gone", func() { os.Remove(main) }, "gone"},
		{"and back", func() { write(main, part1) }, "one"},
	} {
		step.do()
		if got := say(t, m, user("x")); !strings.Contains(got, step.want) ||
			step.want == "gone" && !strings.HasPrefix(got, "error: not_found") {
			t.Errorf("%s: %q, want %q", step.name, got, step.want)
		}
	}
	if _, err := script.Open(filepath.Join(dir, "none.scenario.yaml"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// The catalogue on disk takes the place of the one in the program: what is not there has no answer.
func TestCatalogueOnDisk(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "demo.scenario.yaml")
	if err := os.WriteFile(file,
		[]byte("wield: scenario/v1\nname: demo\nturns: [{id: a, when: {}, reply: [{text: mine}]}]\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	cat := script.Catalogue(dir)
	l, err := script.FromCatalogue(cat, "demo", nil)
	if err != nil {
		t.Fatal(err)
	}
	m := l.Model(script.Options{})
	if got := say(t, m, user("x")); got != "mine" {
		t.Errorf("got %q", got)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := collect(m, request(user("x"))); !errors.Is(err, chat.ErrNotFound) {
		t.Errorf("the file is gone, and the answer is %v", err)
	}
	if _, err := script.FromCatalogue(cat, "demo", nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := script.FromCatalogue(script.Catalogue(""), "dmo", nil); err == nil ||
		!strings.Contains(err.Error(), `did you mean "demo"?`) {
		t.Errorf("got %v", err)
	}
	if l, err := script.FromCatalogue(script.Catalogue(""), "misroutedToolCall", nil); err != nil {
		t.Error(err)
	} else if s, _ := l.Scenario(); s.Name != "confusedToolCall" {
		t.Errorf("the alias leads to %s", s.Name)
	}
}
