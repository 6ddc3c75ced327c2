package tools

import (
	"slices"
	"strings"
	"testing"

	"wield/chat"
	"wield/tool/builtin/clock"
	"wield/tool/builtin/database"
	"wield/tool/runner"
)

// good is a definition with nothing wrong.
func good() chat.Tool {
	return chat.Tool{Name: "read_file",
		Description: `Reads a text file and gives back its content. Example: {"path":"a.txt"}`,
		Parameters: []byte(
			`{"type":"object","properties":{"path":{"type":"string","description":"path in the workspace"}},"required":["path"]}`)}
}

func TestLint_C47_D25_D26(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(d *chat.Tool)
		want   string
	}{
		{"good", func(*chat.Tool) {}, ""},
		{"no parameters", func(d *chat.Tool) {
			d.Parameters, d.Description = nil, "Tells the time at the place of the machine."
		}, ""},
		{"namespace", func(d *chat.Tool) { d.Name = "disk__read_file" }, ""},
		{"capitals", func(d *chat.Tool) { d.Name = "readFile" }, "name-case"},
		{"hyphen", func(d *chat.Tool) { d.Name = "read-file" }, "name-case"},
		{"newline_XE29", func(d *chat.Tool) { d.Name = "read_file\n" }, "name-case"},
		{"vague", func(d *chat.Tool) { d.Name = "do_stuff" }, "name-vague"},
		{"short", func(d *chat.Tool) { d.Description = `{"path":"a"}` }, "description description-vague"},
		{"says nothing", func(d *chat.Tool) { d.Description = `This tool reads a file. {"path":"a.txt"}` }, ""},
		{"nothing but the name", func(d *chat.Tool) { d.Description = "This is a tool to read the file." },
			"description-vague description-example"},
		{"no example", func(d *chat.Tool) { d.Description = "Reads a text file and gives back its content." },
			"description-example"},
		{"wrong example", func(d *chat.Tool) {
			d.Description = `Reads a text file, gives back its content. {"file":"a"}`
		}, "description-example"},
		{"no words for a parameter", func(d *chat.Tool) {
			d.Parameters = []byte(
				`{"type":"object","properties":{"path":{"type":"string"},"o":{"type":"object","description":"options","properties":{"deep":{"type":"boolean"}}}}}`)
		}, "parameter-description parameter-description"},
		{"no type", func(d *chat.Tool) {
			d.Parameters = []byte(`{"type":"object","properties":{"path":{"description":"path"}}}`)
		}, "parameter-type"},
		{"required is none", func(d *chat.Tool) {
			d.Parameters = []byte(
				`{"type":"object","properties":{"path":{"type":"string","description":"path"}},"required":["file"]}`)
		}, "description-example required-exists"},
		{"schema", func(d *chat.Tool) { d.Parameters = []byte(`{"type":"objekt"}`) }, "schema"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := good()
			test.change(&d)
			var rules []string
			for _, f := range lint([]chat.Tool{d}) {
				rules = append(rules, f.Rule)
			}
			if got := strings.Join(rules, " "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestLintUnique(t *testing.T) {
	a, b := good(), good()
	b.Name = "Read.File"
	found := lint([]chat.Tool{a, b})
	if n := len(slices.DeleteFunc(found, func(f finding) bool { return f.Rule != "name-unique" })); n != 2 {
		t.Errorf("%d findings, want 2", n)
	}
}

func TestLintOwnTools(t *testing.T) {
	defs := []chat.Tool{new(runner.Shared).ReadOutput().Definition}
	for _, own := range slices.Concat(clock.Clock{}.Tools(), database.Options{}.Tools()) {
		defs = append(defs, own.Definition)
	}
	if found := lint(defs); found != nil {
		t.Errorf("%v", found)
	}
}
