package toolsearch

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"wield/chat"
)

// The constants of BM25: how fast further occurrences of a word count less, and how much a long text counts less than a
// short one.
const (
	saturation = 1.2
	lengthPart = 0.6
)

// How often the words of each part of a definition count. Names are chosen with care, and are short.
const (
	nameWeight      = 2
	aboutWeight     = 1
	parameterWeight = 0.7
)

// An index finds tools by words. It is not changed once it is made.
type index struct {
	tools   []chat.Tool
	names   map[string]int // places among tools
	lengths []float64
	average float64
	words   map[string][]posting
}

// A posting says how much a word counts in a tool.
type posting struct {
	tool   int
	weight float64
}

// newIndex returns an index of tools by their names, descriptions and parameters.
func newIndex(tools []chat.Tool) *index {
	x := &index{
		tools: tools, names: map[string]int{}, lengths: make([]float64, len(tools)), words: map[string][]posting{},
	}
	for i := range tools {
		x.names[tools[i].Name] = i
		for word, weight := range weights(&tools[i]) {
			x.words[word] = append(x.words[word], posting{i, weight})
			x.lengths[i] += weight
		}
		x.average += x.lengths[i] / float64(len(tools))
	}
	return x
}

// search returns the tools that fit a text best, at most n of them, the best first.
func (x *index) search(text string, n int) []chat.Tool {
	scores := map[int]float64{}
	seen := map[string]bool{}
	for _, word := range words(text) {
		if seen[word] {
			continue
		}
		seen[word] = true
		found := x.words[word]
		rarity := math.Log(1 + (float64(len(x.tools)-len(found))+0.5)/(float64(len(found))+0.5))
		for _, p := range found {
			norm := 1 - lengthPart + lengthPart*x.lengths[p.tool]/x.average
			scores[p.tool] += rarity * p.weight * (saturation + 1) / (p.weight + saturation*norm)
		}
	}
	x.named(text, scores)
	best := slices.SortedFunc(maps.Keys(scores), func(a, b int) int {
		return cmp.Or(cmp.Compare(scores[b], scores[a]), a-b)
	})
	var list []chat.Tool
	for _, i := range best[:min(n, len(best))] {
		list = append(list, x.tools[i])
	}
	return list
}

// named puts the tools first whose whole names a text holds.
func (x *index) named(text string, scores map[int]float64) {
	const aboveAll = 1e6
	mark := func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;:\"'()`", r) }
	for name := range strings.FieldsFuncSeq(text, mark) {
		if i, ok := x.names[name]; ok {
			scores[i] += aboveAll
		}
	}
}

// weights returns the words of a definition, with what each counts.
func weights(t *chat.Tool) map[string]float64 {
	all := map[string]float64{}
	add := func(text string, weight float64) {
		for _, w := range words(text) {
			all[w] += weight
		}
	}
	add(t.Name, nameWeight)
	add(t.Description, aboutWeight)
	var schema any
	if json.Unmarshal(t.Parameters, &schema) == nil {
		describe(schema, func(text string) { add(text, parameterWeight) })
	}
	return all
}

// describe calls add with the names and descriptions of all properties, and with the values of enumerations.
func describe(schema any, add func(string)) {
	switch s := schema.(type) {
	case []any:
		for _, v := range s {
			describe(v, add)
		}
	case map[string]any:
		for key, v := range s {
			switch v := v.(type) {
			case string:
				if key == "description" || key == "title" {
					add(v)
				}
			case []any:
				if key != "enum" {
					describe(v, add)
					continue
				}
				for _, one := range v {
					if text, ok := one.(string); ok {
						add(text)
					}
				}
			case map[string]any:
				if key == "properties" {
					for name := range v {
						add(name)
					}
				}
				describe(v, add)
			}
		}
	}
}

// common are words that say nothing about what is looked for.
var common = setOf("a an and are as at be by can could do does for from get give given has have how i if in into " +
	"is it its let me my need of on or our please should show so some tell that the their then there these this to " +
	"us use " +
	"used using want was we what when where which who will with would you your also")

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// words returns the words of a text without their endings. Names in camel case and with underscores are several words.
func words(text string) []string {
	var list []string
	var word []rune
	end := func() {
		if w := string(word); len(word) > 0 && !common[w] {
			list = append(list, stem(w))
		}
		word = word[:0]
	}
	var before rune
	for _, r := range text {
		switch {
		case unicode.IsLetter(r):
			if unicode.IsUpper(r) && unicode.IsLower(before) || unicode.IsDigit(before) {
				end()
			}
			word = append(word, unicode.ToLower(r))
		case unicode.IsDigit(r):
			if !unicode.IsDigit(before) {
				end()
			}
			word = append(word, r)
		default:
			end()
		}
		before = r
	}
	end()
	return list
}

// endings of English words that are taken off, the longest first.
var endings = strings.Fields("ations ation ators ator ates ated ating ate ions ion ments ment ings ing ers er ors " +
	"or ed es al ly s e")

// shortest is the least length of a stem.
const shortest = 3

// stem takes the ending off a word, so that forms of a word meet.
func stem(word string) string {
	for _, e := range endings {
		if rest, ok := strings.CutSuffix(word, e); ok && len(rest) >= shortest {
			return rest
		}
	}
	return word
}
