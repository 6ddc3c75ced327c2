//go:build unix

package docs

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A clientResult is how one case of a client of e2e ended, as the run noted it.
type clientResult struct {
	Kind, Client, Version, How, What string
	Behind                           string // what stood behind wield, of a library
	Stream                           bool
	Outcome                          string // passed, failed or skipped
}

// TestClients checks that the tables of clients are what the run of e2e whose results are in the repository found.
func TestClients(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(checkout(t), "e2e", "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var results []clientResult
	if err := json.Unmarshal(text, &results); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	libraries := clientTable{results: results, kind: "library"}
	libraries.write(&b, "library")
	b.WriteString("\n")
	agents := clientTable{results: results, kind: "agent"}
	agents.write(&b, "agent")
	holdTable(t, "compatibility.md", b.String())
}

// TestPinnedVersions checks that the results are those of the versions that are installed now.
func TestPinnedVersions(t *testing.T) {
	e2e := filepath.Join(checkout(t), "e2e")
	text, err := os.ReadFile(filepath.Join(e2e, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var results []clientResult
	if err := json.Unmarshal(text, &results); err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder // what the tests and the manifest say of versions
	files, err := filepath.Glob(filepath.Join(e2e, "*.js"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range append(files, filepath.Join(e2e, "package.json")) {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		sources.Write(text)
	}
	for _, r := range results {
		for v := range strings.SplitSeq(r.Version, " with ") {
			if !strings.Contains(sources.String(), `'`+v+`'`) && !strings.Contains(sources.String(), `"`+v+`"`) {
				t.Errorf("the results are of %s %s, which is not installed any more: run e2e again", r.Client,
					r.Version)
				return
			}
		}
	}
}

// A clientTable is the table of the clients of a kind: a row each, or one for several that end alike, which names the
// cases that did not pass.
type clientTable struct {
	results []clientResult
	kind    string
}

func (c *clientTable) write(b *strings.Builder, title string) {
	var rows [][3]string
	var cases []string
	for _, r := range c.results {
		if r.Kind != c.kind {
			continue
		}
		if row := [3]string{r.Client, r.Version, r.How}; !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
		if !slices.Contains(cases, r.What) {
			cases = append(cases, r.What)
		}
	}
	fmt.Fprintf(b, "| %s | version | protocol | passed |\n|---|---|---|---|\n", title)
	for i := 0; i < len(rows); {
		row, passed := rows[i], c.passed(rows[i], c.suite(rows[i], cases))
		how := []string{row[2]}
		for i++; i < len(rows) && rows[i][0] == row[0] && rows[i][1] == row[1] &&
			c.passed(rows[i], c.suite(rows[i], cases)) == passed; i++ {
			how = append(how, rows[i][2])
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", row[0], row[1], strings.Join(how, "; "), passed)
	}
}

// suite returns the cases of a row: those that it or a row with one of the same cases ran.
func (c *clientTable) suite(row [3]string, cases []string) []string {
	ran := make(map[[3]string][]string) // by row
	for _, r := range c.results {
		if r.Kind == c.kind {
			key := [3]string{r.Client, r.Version, r.How}
			ran[key] = append(ran[key], r.What)
		}
	}
	suite := make(map[string]bool)
	for _, what := range ran {
		if slices.ContainsFunc(what, func(w string) bool { return slices.Contains(ran[row], w) }) {
			for _, w := range what {
				suite[w] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(cases), func(what string) bool { return !suite[what] })
}

// passed says which cases of a row passed, and how those ended that did not. Others were not run.
func (c *clientTable) passed(row [3]string, cases []string) string {
	outcomes := make(map[string][]string)
	for _, what := range cases {
		cell := c.cell(row, what)
		outcomes[cell] = append(outcomes[cell], what)
	}
	all := "streamed, whole"
	if c.kind == "agent" {
		all = "passed"
	}
	good := outcomes[all]
	delete(outcomes, all)
	if len(outcomes) == 0 {
		return "all"
	}
	delete(outcomes, "not run")
	parts := []string{strings.Join(good, ", ")}
	for _, cell := range slices.Sorted(maps.Keys(outcomes)) {
		parts = append(parts, cell+": "+strings.Join(outcomes[cell], ", "))
	}
	return strings.Join(parts, "; ")
}

// cell says how a case ended, streamed and whole.
func (c *clientTable) cell(row [3]string, what string) string {
	var passed, other []string
	for _, r := range c.results {
		if r.Kind != c.kind || [3]string{r.Client, r.Version, r.How} != row || r.What != what {
			continue
		}
		form := map[bool]string{true: "streamed", false: "whole"}[r.Stream]
		if c.kind == "agent" {
			return r.Outcome
		}
		if r.Outcome == "passed" {
			passed = append(passed, form)
		} else {
			other = append(other, form+" with "+r.Behind+": "+r.Outcome)
		}
	}
	slices.Sort(passed)
	passed = slices.Compact(passed)
	if len(passed)+len(other) == 0 {
		return "not run"
	}
	return strings.Join(append(passed, other...), ", ")
}
