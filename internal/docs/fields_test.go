//go:build unix

package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// requestTypes are the types that hold the fields of a request, by the fronts of the page.
var requestTypes = map[string]string{"chat completions": "ChatCompletionCreateParamsBase",
	"Responses": "ResponseCreateParamsBase", "Messages": "MessageCreateParamsBase", "Ollama": "ChatRequest"}

// handlings are what may become of a field, before servers of any kind, for what the page says of it.
var handlings = []struct {
	says string
	fits func(outcomes []string) bool
}{
	{"supported", func(all []string) bool {
		return slices.ContainsFunc(all, func(o string) bool { return o != "told" })
	}},
	{"same protocol", func(all []string) bool { return slices.ContainsFunc(all, holds("told")) }},
	{"reported", func(all []string) bool { return !slices.ContainsFunc(all, lacks("told")) }},
	{"refused", func(all []string) bool { return !slices.ContainsFunc(all, lacks("refused")) }},
}

func holds(word string) func(string) bool {
	return func(outcome string) bool { return strings.Contains(outcome, word) }
}

func lacks(word string) func(string) bool {
	return func(outcome string) bool { return !strings.Contains(outcome, word) }
}

// TestHandling checks that what the page says of a field is what e2e found to become of it.
func TestHandling(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(checkout(t), "e2e", "fields.json"))
	if err != nil {
		t.Fatal(err)
	}
	var found map[string]map[string]string
	if err := json.Unmarshal(text, &found); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(checkout(t), "docs", "compatibility.md"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for row := range strings.Lines(string(page)) {
		cells := strings.Split(row, "|")
		if len(cells) != 5 {
			continue
		}
		front, says := strings.TrimSpace(cells[1]), strings.TrimSpace(cells[3])
		fields, _, _ := strings.Cut(cells[2], ", the rest of")
		for _, field := range regexp.MustCompile("`([\\w-]+)`").FindAllStringSubmatch(fields, -1) {
			outcome, known := found[front][requestTypes[front]+"."+field[1]]
			for _, h := range handlings {
				if known && strings.HasPrefix(says, h.says) {
					if checked++; !h.fits(strings.Fields(outcome)) {
						t.Errorf("%s: the page says of %s %q, e2e found: %s", front, field[1], says, outcome)
					}
				}
			}
		}
	}
	if checked < 60 {
		t.Errorf("only %d fields were compared", checked)
	}
}
