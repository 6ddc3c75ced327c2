package compose

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wield/internal/config"
)

// TestDatabases: the tool learns of databases by name, and their addresses are secrets.
func TestDatabases(t *testing.T) {
	box := toolboxOf(t, "tools: {databases: {shop: {url: env:SHOP}, notes: {url: env:NOTES}}}\n", t.TempDir())
	if about := entryOf(t, box, "query_database").Tool.Definition.Description; !strings.Contains(about,
		"Databases: notes, shop.") {
		t.Errorf("%s", about)
	}
	if !slices.Contains(box.Runner.Settings().Redact, "postgres://clerk:pass@127.0.0.1/shop") {
		t.Errorf("the address is not kept secret: %q", box.Runner.Settings().Redact)
	}
}

func TestBadDatabases(t *testing.T) {
	getenv := func(name string) string {
		return map[string]string{"MYSQL": "mysql://clerk:pass@127.0.0.1/x", "NOWHERE": "sqlite:"}[name]
	}
	for text, want := range map[string]string{
		`{shop: {url: env:NONE}}`:                    "tools.databases.shop.url: env:NONE",
		`{shop: {url: env:MYSQL}}`:                   "tools.databases.shop.url: the address is neither postgres://.. nor sqlite:PATH",
		`{shop: {url: env:NOWHERE}}`:                 "neither postgres",
		`{shop: {url: "postgres://clerk:pass@h/x"}}`: "a secret does not stand in the file",
		`{shop: {adress: x}}`:                        "adress",
	} {
		file := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(file, []byte("wield: config/v1\ntools: {databases: "+text+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := config.Load(config.Options{File: file, Getenv: getenv})
		if err == nil {
			_, err = OpenToolbox(r.Config, ToolEnvironment{Getenv: getenv, Dir: t.TempDir()})
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "pass") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
