package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRename(t *testing.T) {
	files := map[string][2]string{
		"go.mod": {"module wield\n\ngo 1.26.0\n", "module example.com/me/wield\n\ngo 1.26.0\n"},
		"chat/chat.go": {
			"package chat // of wield\n\nconst Name = \"wield\"\n",
			"package chat // of wield\n\nconst Name = \"wield\"\n",
		},
		"cmd/wield/main.go": {
			"package main\n\nimport (\n\t\"fmt\"\n\n\tw \"wield\"\n\t\"wield/chat\"\n)\n\nvar paths = []string{\"wield/chat\", \"wield/state\", \"wielder/chat\"}\n",
			"package main\n\nimport (\n\t\"fmt\"\n\n\tw \"example.com/me/wield\"\n\t\"example.com/me/wield/chat\"\n)\n\nvar paths = []string{\"example.com/me/wield/chat\", \"wield/state\", \"wielder/chat\"}\n",
		},
		"docs/library.md": {
			"Import `wield/chat`; the state lies in `~/.local/state/wield/chat`.\n\n    go mod edit -require wield@v0.0.0 -replace \"wield=$HOME/wield\"\n    wield chat\n\nimport (\n\t\"fmt\"\n\n\t\"wield\"\n)\n",
			"Import `example.com/me/wield/chat`; the state lies in `~/.local/state/wield/chat`.\n\n    go mod edit -require example.com/me/wield@v0.0.0 -replace \"example.com/me/wield=$HOME/wield\"\n    wield chat\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/me/wield\"\n)\n",
		},
		"page/copies.js": {
			"const imports = `\n\t\"wield/chat\"\n`, name = \"wield\", model = 'wield/chat';\n",
			"const imports = `\n\t\"example.com/me/wield/chat\"\n`, name = \"wield\", model = 'wield/chat';\n",
		},
	}
	dir := t.TempDir()
	for name, texts := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(texts[0]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	changed, err := rename(dir, "example.com/me/wield")
	if err != nil || changed != 4 {
		t.Fatalf("changed %d files, error %v", changed, err)
	}
	for name, texts := range files {
		got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != texts[1] {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, texts[1])
		}
	}
	if changed, err := rename(dir, "example.com/me/wield"); err != nil || changed != 0 {
		t.Errorf("renamed to the same path: changed %d files, error %v", changed, err)
	}
	for _, bad := range []string{"", "a b", "../x", "x/"} {
		if _, err := rename(dir, bad); err == nil {
			t.Errorf("%q is taken for a module path", bad)
		}
	}
}
