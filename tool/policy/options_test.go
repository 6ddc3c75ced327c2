package policy

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wield/chat"
)

// An optionSample is an option of testdata/options.txt with what its program's manual says of it.
type optionSample struct{ class, command, option string }

func optionSamples(t *testing.T) (samples []optionSample) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "options.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		class, rest, _ := strings.Cut(line, " | ")
		command, options, ok := strings.Cut(rest, " | ")
		if _, known := optionValues[class]; !ok || !known {
			t.Fatalf("no sample: %s", line)
		}
		for _, option := range strings.Fields(options) {
			samples = append(samples, optionSample{class, command, option})
		}
	}
	return samples
}

// optionValues are values for the options of a class: those that are allowed where a rule allows the program, and those
// that are not. "" is the option by itself.
var optionValues = map[string]struct{ good, bad []string }{
	"flag":     {good: []string{""}},
	"sub":      {good: []string{""}},
	"do":       {bad: []string{""}},
	"text":     {[]string{"main", "id_rsa"}, []string{"../x"}},
	"free":     {good: []string{"main", "../x"}},
	"name":     {[]string{"main"}, []string{"--output=x"}},
	"look":     {[]string{"main", "id_rsa"}, []string{"../x"}},
	"read":     {[]string{"main"}, []string{"../x", "id_rsa"}},
	"make":     {[]string{"main"}, []string{"../x", "id_rsa"}},
	"output":   {[]string{"main"}, []string{"../x", "id_rsa", "main.go"}},
	"run":      {bad: []string{"main", "../x"}},
	"write":    {bad: []string{"main", "../x"}},
	"net":      {bad: []string{"main", "h.example:80"}},
	"one":      {bad: []string{"zz.9", "../x"}},
	"awk":      {[]string{"1"}, []string{`'BEGIN{system("x")}'`}},
	"sed":      {[]string{"p"}, []string{"1e", "wmain.go"}},
	"glob":     {[]string{"'*.go'"}, []string{".env"}},
	"range":    {[]string{"1,2:a.txt"}, []string{"1,2:../x"}},
	"query":    {[]string{".a"}, []string{"'$ENV'"}},
	"report":   {[]string{"xml"}, []string{"xml:main.go"}},
	"variable": {[]string{"main"}, []string{"PATH"}},
	"sent":     {[]string{"main", "x@id_rsa"}, []string{"@../x", "@id_rsa"}},
	"encoded":  {[]string{"x=main"}, []string{"x@../x", "x@id_rsa"}},
	"form":     {[]string{"x=main"}, []string{"x=@../x", "x=@id_rsa", "'x=<id_rsa'"}},
	"shown":    {[]string{"X"}, []string{"X main"}},
	"printed":  {bad: []string{"main %p"}},
	"named":    {[]string{"x main"}, []string{"x ../x", "x id_rsa"}},
	"made":     {[]string{"x lint"}, []string{"x ../x"}},
}

// TestOptions asks about every option of the samples with several values, in all ways to write it, where a rule allows
// the program. The samples have all options of the table that do something.
func TestOptions(t *testing.T) {
	root, table, asked := t.TempDir(), programs(), map[*program]map[string]bool{}
	policies := map[string]*Policy{}
	for _, s := range optionSamples(t) {
		named, _, _ := strings.Cut(s.command, " --")
		p := policies[named]
		if p == nil {
			var err error
			if p, err = New(Definition{Rules: []Rule{{Decision: chat.DecisionAllow,
				Selector: Selector{Command: []string{named}}}}}); err != nil {
				t.Fatal(err)
			}
			policies[named] = p
		}
		decide := func(words string) chat.Decision {
			return p.Decide(Action{Tool: "sh", Shell: s.command + " " + words, Root: root}).Decision
		}
		name, joined := strings.CutSuffix(s.option, "=") // it takes no value that is a word of its own
		name, value, _ := strings.Cut(name, "=")
		for row, options := range entriesOf(table, s.command) {
			if _, ok := options[name]; ok {
				if asked[row] == nil {
					asked[row] = map[string]bool{}
				}
				asked[row][name] = true
			}
		}
		values := optionValues[s.class]
		if s.class == "one" {
			values.good = []string{value}
		}
		for _, v := range values.good {
			if words := spellings(name, v, joined)[0]; decide(words) != chat.DecisionAllow {
				t.Errorf("%s (%s): %s %s asks", s.option, s.class, s.command, words)
			}
		}
		if s.class == "flag" && strictness(decide(name+" id_rsa")) < strictness(decide("id_rsa")) {
			t.Errorf("%s: the word behind it is taken for its value: %s", s.option, s.command)
		}
		for _, v := range values.bad {
			for _, words := range spellings(name, v, joined) {
				if decide(words) == chat.DecisionAllow {
					t.Errorf("%s (%s): %s %s is allowed", s.option, s.class, s.command, words)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		row := table[name]
		if asked[row] == nil {
			asked[row] = map[string]bool{}
		}
		for _, option := range slices.Sorted(maps.Keys(row.options)) {
			if o := row.options[option]; !o.taken && acts(o) && !asked[row][option] && allowedAtAll(name) {
				asked[row][option] = true
				t.Errorf("no sample of %s %s", name, option)
			}
		}
	}
}

// spellings are the ways to write an option with a value.
func spellings(name, value string, joined bool) (all []string) {
	if name == "." { // an operand
		return []string{value}
	}
	if value == "" {
		return []string{name}
	}
	if !joined {
		all = append(all, name+" "+value)
	}
	if strings.Contains(value, " ") || name[0] == '+' {
		return all
	}
	if len(name) == 2 {
		return append(all, name+value)
	}
	return append(all, name+"="+value)
}

// acts reports whether an option does more than to choose how its program works.
func acts(o option) bool {
	return o.effect != effectNone && o.effect != effectLook || slices.ContainsFunc(o.kinds, func(k kind) bool {
		return k != kindText && k != kindFree && !k.lists()
	})
}

// entriesOf yields the entries of the table for the beginnings of a command, with their options.
func entriesOf(table map[string]*program, command string) map[*program]map[string]option {
	entries, key := map[*program]map[string]option{}, ""
	for word := range strings.FieldsSeq(strings.Replace(command, "python -m", "python-m", 1)) {
		key = strings.TrimPrefix(key+"."+word, ".")
		for _, row := range []*program{table[key], table[word]} {
			if row != nil {
				entries[row] = row.options
			}
		}
	}
	if strings.HasSuffix(command, " --") {
		for row := range maps.Clone(entries) {
			if behind := table[row.behind]; behind != nil {
				entries[behind] = behind.options
			}
		}
	}
	return entries
}

// allowedAtAll reports whether some line of a program is allowed where a rule allows it: of the others every line asks.
func allowedAtAll(name string) bool {
	command := strings.Replace(strings.ReplaceAll(name, ".", " "), "python-m", "python -m", 1)
	p, err := New(Definition{Rules: []Rule{{Decision: chat.DecisionAllow, Selector: Selector{Command: []string{command}}}}})
	if err != nil {
		return false
	}
	for _, words := range []string{"", " main", " main main"} {
		if p.Decide(Action{Tool: "sh", Shell: command + words, Root: "/nonexistent"}).Decision == chat.DecisionAllow {
			return true
		}
	}
	return false
}
