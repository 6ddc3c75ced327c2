//go:build unix

package docs

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/internal/config"
)

var update = flag.Bool("update", false, "write the tables that are made from the program")

// A table in a page that is made from the program stands between these lines.
const (
	tableBegin = "<!-- The table is made by: go test ./internal/docs -args -update -->\n"
	tableEnd   = "<!-- End of the table. -->\n"
)

// A schemaNode is what the table needs of the configuration's JSON Schema.
type schemaNode struct {
	Description string          `json:"description"`
	Enum        []string        `json:"enum"`
	Default     json.RawMessage `json:"default"`
	Properties  json.RawMessage `json:"properties"`
	Additional  json.RawMessage `json:"additionalProperties"`
	Items       *schemaNode     `json:"items"`
}

// TestConfigurationKeys checks that the page of the configuration has every key, with the words of the program.
func TestConfigurationKeys(t *testing.T) {
	text, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var root schemaNode
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("| key | default | meaning |\n|---|---|---|\n")
	if err := keyRows(&table, "", &root); err != nil {
		t.Fatal(err)
	}
	holdTable(t, "configuration.md", table.String())
}

// holdTable checks that the table of a page is the one that the program gives.
func holdTable(t *testing.T, name, table string) {
	t.Helper()
	page := filepath.Join(checkout(t), "docs", name)
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(old), tableBegin)
	_, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", page)
	}
	made := before + tableBegin + table + tableEnd + after
	if made == string(old) {
		return
	}
	if !*update {
		t.Fatalf("the table in docs/%s is not that of the program: go test ./internal/docs -args -update", name)
	}
	if err := os.WriteFile(page, []byte(made), 0o644); err != nil {
		t.Fatal(err)
	}
}

// keyRows writes the rows of a node's properties, each under its path.
func keyRows(b *strings.Builder, path string, n *schemaNode) error {
	if len(n.Properties) == 0 {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(n.Properties)) // a map would lose the order
	if _, err := dec.Token(); err != nil {
		return err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var child schemaNode
		if err := dec.Decode(&child); err != nil {
			return err
		}
		at := path + fmt.Sprint(name)
		meaning := strings.ReplaceAll(child.Description, "|", `\|`)
		if len(child.Enum) > 0 && len(child.Enum) < 12 {
			meaning += " One of `" + strings.Join(child.Enum, "`, `") + "`."
		}
		var compact bytes.Buffer
		if len(child.Default) > 0 {
			if err := json.Compact(&compact, child.Default); err != nil {
				return err
			}
		}
		def := compact.String()
		if def == `""` || def == "[]" || def == "{}" || def == "null" {
			def = ""
		}
		if def != "" {
			def = "`" + strings.Trim(def, `"`) + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", at, def, strings.TrimSpace(meaning))
		if err := keyRows(b, at+".", &child); err != nil {
			return err
		}
		if child.Items != nil {
			if err := keyRows(b, at+"[].", child.Items); err != nil {
				return err
			}
		}
		var entry schemaNode
		if json.Unmarshal(child.Additional, &entry) == nil { // false is no node
			if err := keyRows(b, at+".NAME.", &entry); err != nil {
				return err
			}
		}
	}
	return nil
}
