//go:build unix

package docs

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// A schemaNode holds the parts of the configuration's JSON Schema that the table needs.
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
	var table keyTable
	if err := table.sections(&root); err != nil {
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

// A keyTable writes the keys of the configuration: a list of those at the top, then one for each section.
type keyTable struct {
	strings.Builder
	seen map[string]string // of a section, by the words of a line: the node whose key has them first
	run  [][2]string       // keys that an earlier node has in the same words, and their words
	of   [2]string         // the nodes of those keys: theirs and the earlier one
}

// A namedNode is a property of a node.
type namedNode struct {
	name string
	schemaNode
}

// properties returns the properties of a node in their order.
func properties(n *schemaNode) ([]namedNode, error) {
	if len(n.Properties) == 0 {
		return nil, nil
	}
	var found []namedNode
	dec := json.NewDecoder(bytes.NewReader(n.Properties)) // a map would lose the order
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		child := namedNode{name: fmt.Sprint(name)}
		if err := dec.Decode(&child.schemaNode); err != nil {
			return nil, err
		}
		found = append(found, child)
	}
	return found, nil
}

// entry returns the node of an entry of a list or a map, and how its path goes on.
func (n *schemaNode) entry() (*schemaNode, string) {
	if n.Items != nil && len(n.Items.Properties) > 0 {
		return n.Items, "[]"
	}
	var entry schemaNode
	if json.Unmarshal(n.Additional, &entry) == nil && len(entry.Properties) > 0 { // false is no node
		return &entry, ".NAME"
	}
	return nil, ""
}

func (k *keyTable) sections(root *schemaNode) error {
	nodes, err := properties(root)
	if err != nil {
		return err
	}
	k.WriteString("\n")
	for _, n := range nodes {
		if entry, _ := n.entry(); entry == nil && len(n.Properties) == 0 {
			k.row("", &n)
		}
	}
	for _, n := range nodes {
		if entry, _ := n.entry(); entry == nil && len(n.Properties) == 0 {
			continue
		}
		k.seen = make(map[string]string)
		fmt.Fprintf(k, "\n### `%s`\n\n%s\n\n", n.name, marks.Replace(n.Description))
		if err := k.node(n.name, &n.schemaNode); err != nil {
			return err
		}
	}
	return nil
}

// node writes the rows of the keys below a node.
func (k *keyTable) node(path string, n *schemaNode) error {
	if entry, more := n.entry(); entry != nil {
		return k.node(path+more, entry)
	}
	nodes, err := properties(n)
	if err != nil {
		return err
	}
	alike := make(map[string]string) // by their properties: nodes with keys of their own
	for _, child := range nodes {
		entry, _ := child.entry()
		at := path + "." + child.name
		first, again := alike[string(child.Properties)]
		switch {
		case len(child.Properties) == 0 && entry == nil:
			k.row(path, &child)
			continue
		case again:
			child.Description += " Keys as under `" + first + "`."
			k.row(path, &child)
			continue
		case entry != nil:
			k.row(path, &child)
		}
		k.end()
		if len(child.Properties) > 0 {
			alike[string(child.Properties)] = child.name
		}
		if err := k.node(at, &child.schemaNode); err != nil {
			return err
		}
	}
	k.end()
	return nil
}

// row writes a line for a key, or keeps it for a line of several if an earlier node of the section has it in the same
// words.
func (k *keyTable) row(path string, n *namedNode) {
	key := n.name
	if path != "" {
		key = path + "." + n.name
	}
	words := fmt.Sprintf("%s: %s", defaultOf(n), meaningOf(n))
	if first, ok := k.seen[n.name+words]; ok {
		if of := [2]string{path, first}; of != k.of {
			k.end()
			k.of = of
		}
		k.run = append(k.run, [2]string{n.name, words})
		return
	}
	k.end()
	if k.seen != nil {
		k.seen[n.name+words] = path
	}
	fmt.Fprintf(k, "- `%s`%s\n", key, words)
}

// end writes the keys that were kept, several in one line.
func (k *keyTable) end() {
	switch {
	case len(k.run) == 1:
		fmt.Fprintf(k, "- `%s.%s`%s\n", k.of[0], k.run[0][0], k.run[0][1])
	case len(k.run) > 1:
		var names []string
		for _, key := range k.run {
			names = append(names, "`"+key[0]+"`")
		}
		fmt.Fprintf(k, "- `%s.` %s: as in `%s`.\n", k.of[0], strings.Join(names, ", "), k.of[1])
	}
	k.run, k.of = nil, [2]string{}
}

// marks are what the page writes in place of words that stand at many keys; it explains them above its table.
var marks = strings.NewReplacer(
	", as env:NAME or file:PATH", " *(secret)*",
	", as text, env:NAME or file:PATH", " *(text or secret)*",
	"; secrets as env:NAME or file:PATH", " *(text or secret)*",
	"; * is a wildcard", " *(patterns)*",
)

func meaningOf(n *namedNode) string {
	meaning := marks.Replace(n.Description)
	values := slices.DeleteFunc(slices.Clone(n.Enum), func(v string) bool { return v == "" })
	said := regexp.MustCompile(`[a-z_]+`).FindAllString(meaning, -1)
	explained := !slices.ContainsFunc(values, func(v string) bool { return !slices.Contains(said, v) })
	if len(values) > 1 && len(values) < 12 && !explained {
		meaning += " Values: `" + strings.Join(values, "`, `") + "`."
	}
	return strings.TrimSpace(meaning)
}

func defaultOf(n *namedNode) string {
	var compact bytes.Buffer
	if len(n.Default) > 0 && json.Compact(&compact, n.Default) != nil {
		return ""
	}
	switch def := compact.String(); def {
	case "", `""`, "[]", "{}", "null", "false", "0":
		return ""
	default:
		return " (`" + strings.Trim(def, `"`) + "`)"
	}
}
