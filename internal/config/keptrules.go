package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"wield/tool/policy"
)

// KeptRulesFile is the name of the file in the data directory with the rules that a person kept for a directory when
// they were asked about a call. It is theirs: what lies in a directory can never allow anything by itself.
const KeptRulesFile = "rules.yaml"

// keptRules is the file. It is written as configuration files are, so that people can read and change it.
type keptRules struct {
	Directories []keptDirectory `key:"directories" doc:"Directories, and what runs in them without a question."`
}

type keptDirectory struct {
	Path  string `key:"path" doc:"The directory, without links."`
	Rules []Rule `key:"rules" doc:"Rules of wield chat, beside those of the policy. The strictest rule decides."`
}

const keptHead = `# Rules that were kept for a directory when wield chat asked about a call. Remove one to be asked again.
`

// LoadKeptRules returns the rules that are kept for a directory. A file that is not there has none.
func LoadKeptRules(file, dir string) ([]policy.Rule, error) {
	all, err := loadKept(file)
	if err != nil {
		return nil, err
	}
	var rules []policy.Rule
	for i := range all.Directories {
		if d := &all.Directories[i]; d.Path == dir {
			for k := range d.Rules {
				rules = append(rules, d.Rules[k].rule())
			}
		}
	}
	return rules, nil
}

func loadKept(file string) (*keptRules, error) {
	all := new(keptRules)
	data, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return all, nil
	case err != nil:
		return nil, fmt.Errorf("kept rules: %w", err)
	}
	d := newDecoder(file)
	d.decode(data, all)
	if p := d.done(); len(p) > 0 {
		return nil, fmt.Errorf("kept rules: %w", p)
	}
	return all, nil
}

// KeepRules adds rules for a directory, those that are not there yet. Programs that do so at the same time wait for
// each other, and the file is replaced as a whole.
func KeepRules(file, dir string, rules []policy.Rule) error {
	return ChangeFile("kept rules", file, func() ([]byte, error) {
		all, err := loadKept(file)
		if err != nil {
			return nil, err
		}
		var text strings.Builder
		text.WriteString(keptHead + "directories:\n")
		found := false
		for i := range all.Directories {
			d := &all.Directories[i]
			var lines []string
			for k := range d.Rules {
				lines = append(lines, d.Rules[k].rule().String())
			}
			if d.Path == dir && !found {
				lines, found = addRules(lines, rules), true
			}
			writeKept(&text, d.Path, lines)
		}
		if !found {
			writeKept(&text, dir, addRules(nil, rules))
		}
		return []byte(text.String()), nil
	})
}

// addRules adds the rules that are not among the lines.
func addRules(lines []string, rules []policy.Rule) []string {
	for _, r := range rules {
		if line := r.String(); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

func writeKept(out *strings.Builder, dir string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(out, "  - path: %s\n    rules:\n", strconv.Quote(dir))
	for _, l := range lines {
		out.WriteString("      - " + l + "\n")
	}
}
