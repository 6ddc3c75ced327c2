//go:build unix

package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wield/dialect"
	"wield/dialect/dialecttest"
)

// repairTool is the tool of the table in docs/repair.md.
var repairTool = dialecttest.Tool{Type: "function",
	Function: dialecttest.Function{Name: "set_lamp",
		Parameters: []byte(`{"type":"object","required":["room"],"properties":{` +
			`"room":{"type":"string"},"on":{"type":"boolean"},"level":{"type":"integer"},"warmth":{"type":"number"},"color":{"type":"string","enum":["red","green"]},` +
			`"tags":{"type":"array","items":{"type":"string"}},"scene":{"type":"object"}}}`)}}

// A repairRow is a text with a mistake, and the name of the mistake.
type repairRow struct{ what, text string }

// repairRows are the rows, in the order of the levels at which they are repaired.
var repairRows = []repairRow{
	{"byte order mark", "\ufeff{\"name\":\"set_lamp\",\"arguments\":{\"room\":\"hall\"}}"},
	{"arguments as a string", `{"name":"set_lamp","arguments":"{\"room\":\"hall\"}"}`},
	{"trailing comma", `{"name":"set_lamp","arguments":{"room":"hall",}}`},
	{"single quotes", `{"name":"set_lamp","arguments":{'room':'hall'}}`},
	{"Python and JavaScript literals", `{"name":"set_lamp","arguments":{"room":"hall","on":True,"scene":undefined}}`},
	{"raw line break in a string", "{\"name\":\"set_lamp\",\"arguments\":{\"room\":\"hall\nand stairs\"}}"},
	{"number in a string", `{"name":"set_lamp","arguments":{"room":"hall","level":"40"}}`},
	{"Python dict in a string", `{"name":"set_lamp","arguments":{"room":"hall","scene":"{'warm': True}"}}`},
	{"unquoted key", `{"name":"set_lamp","arguments":{room:"hall"}}`},
	{"alias of `arguments` (`input`, `args`, `parameters`)", `{"name":"set_lamp","input":{"room":"hall"}}`},
	{"missing closing tag", "<tool_call>\n{\"name\":\"set_lamp\",\"arguments\":{\"room\":\"hall\"}}"},
	{"missing brace", "<tool_call>\n{\"name\":\"set_lamp\",\"arguments\":{\"room\":\"hall\"}\n</tool_call>"},
	{"enum value in other case", `{"name":"set_lamp","arguments":{"room":"hall","color":"Red"}}`},
	{"single value for a list", `{"name":"set_lamp","arguments":{"room":"hall","tags":"evening"}}`},
	{"duplicate key; the last wins", `{"name":"set_lamp","arguments":{"room":"hall","room":"stairs"}}`},
	{"arguments beside the name", `{"name":"set_lamp","room":"hall"}`},
	{"arithmetic in a function call", `set_lamp(room="hall", warmth=27/10)`},
	{"tool name as the key", `{"set_lamp":{"room":"hall"}}`},
	{"other type for a string", `{"name":"set_lamp","arguments":{"room":7}}`},
	{"word for a number", `{"name":"set_lamp","arguments":{"room":"hall","level":"high"}}`},
	{"misspelled name", `{"name":"set_lamps","arguments":{"room":"hall"}}`},
	{"cut off in a string", "<tool_call>\n{\"name\":\"set_lamp\",\"arguments\":{\"room\":\"ha"},
}

const repairHeading = "## What is repaired\n"

// TestRepairs compares the table of repairs with what the decoder does; with -update it writes it.
func TestRepairs(t *testing.T) {
	path := filepath.Join(checkout(t), "docs", "repair.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), repairHeading)
	_, after, more := strings.Cut(rest, "\n## ")
	if !ok || !more {
		t.Fatalf("docs/repair.md has no section %q with another one behind it", strings.TrimSpace(repairHeading))
	}
	made := before + repairHeading + repairTable(t) + "\n## " + after
	switch {
	case made == string(page):
	case *update:
		if err := os.WriteFile(path, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the table in docs/repair.md is not what the decoder does: go test ./internal/docs -args -update")
	}
}

func repairTable(t *testing.T) string {
	shapes, err := dialecttest.Shapes([]dialecttest.Tool{repairTool})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString(
		"\nThe tool `set_lamp` has the arguments `room` (a required string), `on` (boolean), `level` (integer), `warmth` (number), `color` (`red` or `green`),\n" +
			"`tags` (list of strings) and `scene` (object). `⏎` is a line break, `·` a byte order mark, `{..}` a call with the arguments shown.\n\n" +
			"| mistake | example | repaired to | level | note |\n|---|---|---|---|---|\n")
	for _, row := range repairRows {
		var by []string // level
		var notes []string
		for _, level := range repairLevels {
			got, err := dialect.Parse(row.text, dialect.Options{Tools: shapes, Repair: level})
			if err != nil {
				t.Fatal(err)
			}
			by = append(by, repaired(got, row.text))
			notes = notes[:0]
			for _, n := range got.Notes {
				if kind := "`" + string(n.Kind) + "`"; !slices.Contains(notes, kind) {
					notes = append(notes, kind)
				}
			}
		}
		from := slices.Index(by, by[len(by)-1])
		result, level := by[from], repairLevels[from].String()
		if from == 0 {
			level = "never"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", row.what, strings.ReplaceAll(inline(row.text), "\ufeff", "·"),
			result, level, strings.Join(notes, ", "))
	}
	return b.String()
}

var repairLevels = []dialect.Repair{dialect.RepairOff, dialect.RepairSafe, dialect.RepairFull}

// repaired says what became of a text.
func repaired(got *dialect.Collector, text string) string {
	switch {
	case len(got.Rejected) > 0:
		return "rejected"
	case len(got.Calls) == 0:
		return "plain text"
	case !got.Calls[0].Complete:
		return "an incomplete call"
	case strings.Contains(text, `"arguments":`+got.Calls[0].Arguments):
		return "the call as written"
	}
	return inline(got.Calls[0].Arguments)
}
