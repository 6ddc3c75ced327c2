package profile

import (
	"slices"
	"strings"
	"unicode"
)

// A Table is a list of profiles. Where the patterns of several fit a model, the first of them has it: special models
// stand before their families.
type Table []Profile

// Find returns the first profile with a pattern that fits the model's name, and that pattern.
//
// Names and patterns are compared word by word, upper and lower case alike. A word is a run of letters or of digits,
// and whatever stands between words only separates them: llama3.1, Llama-3.1 and LLAMA_3_1 are the same three words.
// A pattern fits where its words stand in the name one after another; a star in a pattern stands for any number of
// words.
//
// Only what stands behind the last slash is looked at, since what is before it says who published a model and where
// it lies; if no pattern fits that, the whole name is. Tags and file endings need no care: they are more words.
func (t Table) Find(model string) (p Profile, pattern string, ok bool) {
	whole := words(model)
	last := words(model[strings.LastIndexAny(strings.TrimRight(model, `/\`), `/\`)+1:])
	if p, pattern, ok := t.find(last); ok || len(last) == len(whole) {
		return p, pattern, ok
	}
	return t.find(whole)
}

func (t Table) find(name []string) (Profile, string, bool) {
	for _, p := range t {
		for _, pattern := range p.Patterns {
			if fits(pattern, name) {
				return p, pattern, true
			}
		}
	}
	return Profile{}, "", false
}

// Lookup returns the profile of this name.
func (t Table) Lookup(name string) (Profile, bool) {
	if i := slices.IndexFunc(t, func(p Profile) bool { return p.Name == name }); i >= 0 {
		return t[i], true
	}
	return Profile{}, false
}

// Names returns the names of the profiles in the order of the table.
func (t Table) Names() []string {
	names := make([]string, len(t))
	for i := range t {
		names[i] = t[i].Name
	}
	return names
}

// Sort puts the profiles whose patterns say most first, for a table that nobody has put in order: one with more words
// goes before one with fewer, and equal ones by their names.
func (t Table) Sort() {
	most := func(p *Profile) (n int) {
		for _, pattern := range p.Patterns {
			n = max(n, len(words(pattern)))
		}
		return n
	}
	slices.SortStableFunc(t, func(a, b Profile) int {
		if n := most(&b) - most(&a); n != 0 {
			return n
		}
		return strings.Compare(a.Name, b.Name)
	})
}

// HasWords reports whether a pattern has a word. One without fits no name.
func HasWords(pattern string) bool { return len(words(pattern)) > 0 }

// fits reports whether the words of a pattern stand in the name: those of each part between its stars together, and
// the parts in order. To take the first place for each part is enough, since it leaves most of the name to the next.
func fits(pattern string, name []string) bool {
	if !HasWords(pattern) {
		return false
	}
	for part := range strings.SplitSeq(pattern, "*") {
		w := words(part)
		at := index(name, w)
		if at < 0 {
			return false
		}
		name = name[at+len(w):]
	}
	return true
}

// index returns where the words w stand in name, or -1.
func index(name, w []string) int {
	for i := 0; i+len(w) <= len(name); i++ {
		if slices.Equal(name[i:i+len(w)], w) {
			return i
		}
	}
	return -1
}

// words cuts a name into its words, in lower case.
func words(name string) []string {
	var list []string
	from, kind := 0, byte(0)
	end := func(at int) {
		if kind != 0 {
			list = append(list, strings.ToLower(name[from:at]))
		}
	}
	for i, r := range name {
		next := byte(0)
		switch {
		case unicode.IsLetter(r):
			next = 'a'
		case unicode.IsDigit(r):
			next = '0'
		}
		if next != kind {
			end(i)
			from, kind = i, next
		}
	}
	end(len(name))
	return list
}
