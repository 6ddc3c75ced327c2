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
var repairTool = dialecttest.Tool{Type: "function", Function: dialecttest.Function{Name: "set_lamp", Parameters: []byte(`{"type":"object","required":["room"],"properties":{` +
	`"room":{"type":"string"},"on":{"type":"boolean"},"level":{"type":"integer"},"warmth":{"type":"number"},"color":{"type":"string","enum":["red","green"]},` +
	`"tags":{"type":"array","items":{"type":"string"}},"scene":{"type":"object"}}}`)}}

// A repairRow is a text with something to mend, and what it is.
type repairRow struct{ what, text string }

// repairRows are the rows, in the order of the levels at which they are mended.
var repairRows = []repairRow{
	{"a byte order mark", "\ufeff{\"name\":\"set_lamp\",\"arguments\":{\"room\":\"hall\"}}"},
	{"arguments as a string", `{"name":"set_lamp","arguments":"{\"room\":\"hall\"}"}`},
	{"null arguments", `{"name":"set_lamp","arguments":null}`},
	{"a trailing comma", `{"name":"set_lamp","arguments":{"room":"hall",}}`},
	{"a comment", `{"name":"set_lamp","arguments":{"room":"hall" /* the big one */}}`},
	{"single quotes", `{"name":"set_lamp","arguments":{'room':'hall'}}`},
	{"literals of Python and JavaScript", `{"name":"set_lamp","arguments":{"room":"hall","on":True,"scene":undefined}}`},
	{"a raw line break in a string", "{\"name\":\"set_lamp\",\"arguments\":{\"room\":\"hall\nand stairs\"}}"},
	{"an escape that JSON does not have", `{"name":"set_lamp","arguments":{"room":"east\_hall"}}`},
	{"a number in a string", `{"name":"set_lamp","arguments":{"room":"hall","level":"40"}}`},
	{"an integer with zeros behind the point", `{"name":"set_lamp","arguments":{"room":"hall","level":40.0}}`},
	{"a boolean in a string", `{"name":"set_lamp","arguments":{"room":"hall","on":"true"}}`},
	{"an object of Python in a string", `{"name":"set_lamp","arguments":{"room":"hall","scene":"{'warm': True}"}}`},
	{"keys without quotes", `{"name":"set_lamp","arguments":{room:"hall"}}`},
	{"another word for `arguments`", `{"name":"set_lamp","input":{"room":"hall"}}`},
	{"a missing tag", "<tool_call>\n{\"name\":\"set_lamp\",\"arguments\":{\"room\":\"hall\"}}"},
	{"a missing brace", "<tool_call>\n{\"name\":\"set_lamp\",\"arguments\":{\"room\":\"hall\"}\n</tool_call>"},
	{"an enum value in another case", `{"name":"set_lamp","arguments":{"room":"hall","color":"Red"}}`},
	{"one value for a list", `{"name":"set_lamp","arguments":{"room":"hall","tags":"evening"}}`},
	{"a list for one value", `{"name":"set_lamp","arguments":{"room":["hall"]}}`},
	{"a key that stands twice", `{"name":"set_lamp","arguments":{"room":"hall","room":"stairs"}}`},
	{"arguments beside the name", `{"name":"set_lamp","room":"hall"}`},
	{"arithmetic in a function call", `set_lamp(room="hall", warmth=27/10)`},
	{"the tool's name as the key", `{"set_lamp":{"room":"hall"}}`},
	{"another value for a string", `{"name":"set_lamp","arguments":{"room":7}}`},
	{"a word that is no number", `{"name":"set_lamp","arguments":{"room":"hall","level":"high"}}`},
	{"a fraction for an integer", `{"name":"set_lamp","arguments":{"room":"hall","level":40.5}}`},
	{"a name that is nearly right", `{"name":"set_lamps","arguments":{"room":"hall"}}`},
	{"a string that was cut off", "<tool_call>\n{\"name\":\"set_lamp\",\"arguments\":{\"room\":\"ha"},
}

const repairHeading = "## Each of them\n"

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
	b.WriteString("\nA tool `set_lamp` is on offer. It needs a `room`, a string, and takes `on`, a boolean, `level`, an integer, `warmth`, a number, `color`, `red` or `green`,\n" +
		"`tags`, a list of strings, and `scene`, an object. `⏎` stands for a line break, `·` for a byte order mark. A call\n" +
		"that is left as it is written may not fit the schema: [what then](#what-happens-to-a-call-that-stays-wrong).\n\n" +
		"| what | the model writes | mended, its arguments are | from | else | note |\n|---|---|---|---|---|---|\n")
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
		mended, level, otherwise := by[from], repairLevels[from].String(), by[0]
		if from == 0 {
			mended, level = "", "never"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", row.what, strings.ReplaceAll(inline(row.text), "\ufeff", "·"), mended, level, otherwise, strings.Join(notes, ", "))
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
		return "text"
	case !got.Calls[0].Complete:
		return "a call that is not complete"
	case strings.Contains(text, `"arguments":`+got.Calls[0].Arguments):
		return "a call as it is written"
	}
	return inline(got.Calls[0].Arguments)
}
