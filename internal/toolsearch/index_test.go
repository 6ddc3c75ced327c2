package toolsearch

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wield/chat"
)

// A question has the tools that it can be answered with, and those that are right.
type question struct {
	ID       string `json:"bfcl_id"`
	Question []struct{ Role, Content string }
	Tools    []struct {
		Function struct {
			Name, Description string
			Parameters        json.RawMessage
		}
	}
	Gold []struct{ Name string }
}

// recorded reads the questions of the recorded answers, and all their tools; it skips the test without them.
func recorded(t *testing.T) (questions []question, tools []chat.Tool) {
	t.Helper()
	f, err := os.Open(filepath.FromSlash("../../../shared/data/bfcl-dev.jsonl.gz"))
	if err != nil {
		t.Skipf("the recorded answers are not here: %v", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<22)
	known, asked := map[string]bool{}, map[string]bool{}
	for lines.Scan() {
		_, id, _ := strings.Cut(lines.Text(), `"bfcl_id": "`)
		id, _, _ = strings.Cut(id, `"`)
		if asked[id] {
			continue
		}
		var q question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			t.Fatal(err)
		}
		for _, one := range q.Tools {
			if f := one.Function; !known[plainName(f.Name)] {
				known[plainName(f.Name)] = true
				tools = append(tools, chat.Tool{Name: f.Name, Description: f.Description, Parameters: f.Parameters})
			}
		}
		if len(q.Gold) > 0 && !asked[q.ID] {
			asked[q.ID] = true
			questions = append(questions, q)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return questions, tools
}

// TestRecordedQuestions looks for the tools of recorded questions among the tools of all of them, beside plain BM25
// over the same words without weights and endings. The figures are in docs/tool-search.md.
func TestRecordedQuestions(t *testing.T) {
	questions, tools := recorded(t)
	x, p := newIndex(tools), newPlain(tools)
	ours, plain, all := 0, 0, len(questions)
	for i := range questions {
		q := &questions[i]
		text := q.Question[len(q.Question)-1].Content
		if right(x.search(text, 5), q) {
			ours++
		} else if testing.Verbose() {
			t.Logf("%s: %.150q wants %v", q.ID, text, q.Gold)
		}
		if right(p.search(text, 5), q) {
			plain++
		}
	}
	t.Logf(
		"the right tools are among the first five of %d for %d of %d questions (%.1f %%), by plain BM25 for %d (%.1f %%)",
		len(tools), ours, all, 100*float64(ours)/float64(all), plain, 100*float64(plain)/float64(all))
	if ours <= plain {
		t.Error("plain BM25 finds as many")
	}
}

// right reports whether the first right tool of a question was found.
func right(found []chat.Tool, q *question) bool {
	return slices.ContainsFunc(found, func(t chat.Tool) bool { return plainName(t.Name) == plainName(q.Gold[0].Name) })
}

// plainName returns a name as models without dots in names have it.
func plainName(name string) string { return strings.ReplaceAll(name, ".", "_") }

// A plain index is BM25 with the usual constants over lower-case words.
type plain struct {
	tools []chat.Tool
	words map[string]map[int]float64 // how often they stand in which tool
	size  []float64
	mean  float64
}

func plainWords(text string) []string {
	other := func(r rune) bool { return !('a' <= r && r <= 'z' || '0' <= r && r <= '9') }
	return strings.FieldsFunc(strings.ToLower(text), other)
}

func newPlain(tools []chat.Tool) *plain {
	p := &plain{tools: tools, words: map[string]map[int]float64{}}
	for i, t := range tools {
		text := t.Name + " " + t.Description
		var schema any
		if json.Unmarshal(t.Parameters, &schema) == nil {
			describe(schema, func(s string) { text += " " + s })
		}
		words := plainWords(text)
		for _, w := range words {
			if p.words[w] == nil {
				p.words[w] = map[int]float64{}
			}
			p.words[w][i]++
		}
		p.size = append(p.size, float64(len(words)))
		p.mean += float64(len(words)) / float64(len(tools))
	}
	return p
}

func (p *plain) search(text string, n int) []chat.Tool {
	scores := map[int]float64{}
	for _, w := range plainWords(text) {
		has := float64(len(p.words[w]))
		idf := math.Log(1 + (float64(len(p.tools))-has+0.5)/(has+0.5))
		for i, count := range p.words[w] {
			scores[i] += idf * count * 2.2 / (count + 1.2*(0.25+0.75*p.size[i]/p.mean))
		}
	}
	best := slices.SortedFunc(maps.Keys(scores), func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), a-b)
	})
	var list []chat.Tool
	for _, i := range best[:min(n, len(best))] {
		list = append(list, p.tools[i])
	}
	return list
}
