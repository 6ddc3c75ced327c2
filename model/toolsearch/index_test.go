package toolsearch

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
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
	ours, plain, all := 0, 0, 0
	step := 8
	if testing.Verbose() {
		step = 1
	}
	for i := 0; i < len(questions); i += step {
		all++
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
	t.Logf("the right tools are among the first five of %d for %d of %d questions (%.1f %%), by plain BM25 for %d (%.1f %%)",
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
	words []map[string]float64
	size  []float64
	has   map[string]float64
	mean  float64
}

func plainWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !('a' <= r && r <= 'z' || '0' <= r && r <= '9') })
}

func newPlain(tools []chat.Tool) *plain {
	p := &plain{tools: tools, has: map[string]float64{}}
	for _, t := range tools {
		m := map[string]float64{}
		text := t.Name + " " + t.Description
		var schema any
		if json.Unmarshal(t.Parameters, &schema) == nil {
			describe(schema, func(s string) { text += " " + s })
		}
		for _, w := range plainWords(text) {
			if m[w]++; m[w] == 1 {
				p.has[w]++
			}
			p.mean += 1 / float64(len(tools))
		}
		size := 0.0
		for _, n := range m {
			size += n
		}
		p.words, p.size = append(p.words, m), append(p.size, size)
	}
	return p
}

func (p *plain) search(text string, n int) []chat.Tool {
	type scored struct {
		tool  chat.Tool
		score float64
	}
	var all []scored
	asked := plainWords(text)
	for i, m := range p.words {
		score := 0.0
		for _, w := range asked {
			if m[w] > 0 {
				idf := math.Log(1 + (float64(len(p.tools))-p.has[w]+0.5)/(p.has[w]+0.5))
				score += idf * m[w] * 2.2 / (m[w] + 1.2*(0.25+0.75*p.size[i]/p.mean))
			}
		}
		all = append(all, scored{p.tools[i], score})
	}
	var list []chat.Tool
	for range n {
		best := 0
		for i := range all {
			if all[i].score > all[best].score {
				best = i
			}
		}
		list = append(list, all[best].tool)
		all[best].score = -1
	}
	return list
}
