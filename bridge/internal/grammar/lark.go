package grammar

import (
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// A symbol is a part of the grammar of a text.
type symbol struct {
	op          op
	chars       []rune // opChars: first and last of each range
	rule        string // opRule
	list        []*symbol
	least, most int // opRepeat; most -1: any number
}

type op uint8

const (
	opSequence op = iota
	opChoice
	opRepeat
	opChars
	opRule
)

// A textGrammar describes a text. The text is not cut into words first, so that it is never narrower than the
// notation that it was read from.
type textGrammar map[string]*symbol

// start is the rule of the whole text.
const start = "start"

// MaxCost limits the cost of a grammar of a text that is read, and of those of all tools of a request together.
const MaxCost = 64 << 10

// Cost returns what it costs to read a grammar: its bytes, and more for each class of Unicode and each range that may
// be wide, which take long.
func Cost(definition string) int {
	if len(definition) > MaxCost {
		return len(definition)
	}
	return len(definition) + 250*len(costly.FindAllStringIndex(definition, -1))
}

var costly = regexp.MustCompile(`\\[pPdsw]|-[^\x00-\x5b\x5d-\x7f]`)

const (
	maxSize  = 20_000 // symbols of those that are written for some tools
	maxRules = 500
	maxDepth = 100 // of parentheses
)

// textOf reads the grammar of a text in one of the notations that clients have.
func textOf(syntax, definition string) (textGrammar, error) {
	switch {
	case Cost(definition) > MaxCost:
		return nil, fmt.Errorf("the grammar costs too much to read")
	case syntax == "lark":
		return ofLark(definition)
	case syntax == "regex":
		return ofRegexp(definition)
	}
	return nil, fmt.Errorf("there is no notation %q", syntax)
}

// ofRegexp returns the grammar of a regular expression that describes a whole text.
func ofRegexp(pattern string) (textGrammar, error) {
	n, err := ofPattern(pattern, "")
	if err != nil {
		return nil, err
	}
	g := textGrammar{start: n}
	return g, g.check()
}

func ofPattern(pattern, flags string) (*symbol, error) {
	if flags != "" {
		pattern = "(?" + flags + ")" + pattern
	}
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	return translated(re)
}

// translated translates a regular expression.
func translated(re *syntax.Regexp) (*symbol, error) {
	n := &symbol{}
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			n.list = append(n.list, &symbol{op: opChars, chars: folds(r, re.Flags&syntax.FoldCase != 0)})
		}
		return n, nil
	case syntax.OpCharClass:
		return &symbol{op: opChars, chars: re.Rune}, nil
	case syntax.OpAnyCharNotNL:
		return &symbol{op: opChars, chars: []rune{0, '\n' - 1, '\n' + 1, unicode.MaxRune}}, nil
	case syntax.OpAnyChar:
		return &symbol{op: opChars, chars: []rune{0, unicode.MaxRune}}, nil
	case syntax.OpEmptyMatch:
		return n, nil
	case syntax.OpConcat, syntax.OpCapture:
	case syntax.OpAlternate:
		n.op = opChoice
	case syntax.OpStar:
		n.op, n.most = opRepeat, -1
	case syntax.OpPlus:
		n.op, n.least, n.most = opRepeat, 1, -1
	case syntax.OpQuest:
		n.op, n.most = opRepeat, 1
	case syntax.OpRepeat:
		n.op, n.least, n.most = opRepeat, re.Min, re.Max
	default:
		return nil, fmt.Errorf("the regular expression %s looks at what is around a place", re)
	}
	for _, sub := range re.Sub {
		s, err := translated(sub)
		if err != nil {
			return nil, err
		}
		n.list = append(n.list, s)
	}
	return n, nil
}

// folds returns a character as a range, or with those that differ from it in case.
func folds(r rune, fold bool) []rune {
	chars := []rune{r, r}
	for o := unicode.SimpleFold(r); fold && o != r; o = unicode.SimpleFold(o) {
		chars = append(chars, o, o)
	}
	return chars
}

// check finds rules that are not there, and those that llama.cpp refuses: that begin with themselves, or repeat what
// may be empty.
func (g textGrammar) check() error {
	switch {
	case g.size() > maxSize || len(g) > maxRules:
		return fmt.Errorf("the grammar is too large")
	case g[start] == nil:
		return fmt.Errorf("there is no rule start")
	}
	empty := map[string]bool{}
	for changed := true; changed; {
		changed = false
		for name, n := range g {
			if !empty[name] && n.empty(empty) {
				empty[name], changed = true, true
			}
		}
	}
	for name, n := range g {
		if err := g.known(n, empty); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		seen := map[string]bool{}
		if g.begins(n, name, empty, seen) {
			return fmt.Errorf("%s begins with itself", name)
		}
	}
	return nil
}

func (g textGrammar) size() (size int) {
	for _, n := range g {
		size += n.size()
	}
	return size
}

// size returns how many characters and ranges of them a server has to look at, which write repetitions out.
func (n *symbol) size() int {
	size := max(1, len(n.chars)/2)
	for _, s := range n.list {
		size = min(size+s.size(), maxSize+1)
	}
	return min(size*max(n.least, n.most, 1), maxSize+1)
}

func (n *symbol) empty(rules map[string]bool) bool {
	switch n.op {
	case opChars:
		return false
	case opRule:
		return rules[n.rule]
	case opRepeat:
		return n.least == 0 || n.list[0].empty(rules)
	}
	for _, s := range n.list {
		if s.empty(rules) == (n.op == opChoice) {
			return n.op == opChoice
		}
	}
	return n.op == opSequence
}

func (g textGrammar) known(n *symbol, empty map[string]bool) error {
	if n.op == opRule && g[n.rule] == nil {
		return fmt.Errorf("there is no rule %s", n.rule)
	}
	if n.op == opRepeat && n.most != 1 && n.list[0].empty(empty) {
		return fmt.Errorf("what is repeated may be empty")
	}
	for _, s := range n.list {
		if err := g.known(s, empty); err != nil {
			return err
		}
	}
	return nil
}

// begins reports whether a rule may be the first of a symbol.
func (g textGrammar) begins(n *symbol, rule string, empty, seen map[string]bool) bool {
	if n.op == opRule {
		if n.rule == rule {
			return true
		}
		if seen[n.rule] || g[n.rule] == nil {
			return false
		}
		seen[n.rule] = true
		return g.begins(g[n.rule], rule, empty, seen)
	}
	for _, s := range n.list {
		if g.begins(s, rule, empty, seen) {
			return true
		}
		if n.op == opSequence && !s.empty(empty) {
			return false
		}
	}
	return false
}

// string writes the rules for a string that holds the text, and returns its body.
func (g textGrammar) string(w *writer, n notation) string {
	from, rules := len(w.rules), slices.Sorted(maps.Keys(g))
	names := map[string]string{}
	for _, name := range rules {
		names[name] = w.add(w.next("input"), "") // a rule may stand in one before it
	}
	for i, name := range rules {
		w.set(from+i, g[name].gbnf(names, n))
	}
	return sequence(`"\""`, names[start], `"\""`)
}

// gbnf returns a symbol as a string of a notation has it.
func (n *symbol) gbnf(names map[string]string, in notation) string {
	switch n.op {
	case opRule:
		return names[n.rule]
	case opChars:
		return inString(n.chars, in)
	case opRepeat:
		return "(" + n.list[0].gbnf(names, in) + ")" + n.times()
	}
	var parts []string
	for i := 0; i < len(n.list); i++ {
		text := ""
		for ; n.op == opSequence && i < len(n.list) && n.list[i].single(); i++ { // neighbours are one literal
			text += charInString(n.list[i].chars[0], in)
		}
		if text != "" {
			parts = append(parts, literal(text))
		}
		if i < len(n.list) {
			parts = append(parts, n.list[i].gbnf(names, in))
		}
	}
	if n.op == opChoice {
		return choice(nonEmpty(parts)...)
	}
	return sequence(parts...)
}

// times writes how often a part may be repeated.
func (n *symbol) times() string {
	switch {
	case n.most == 1 && n.least == 0:
		return "?"
	case n.most < 0 && n.least < 2:
		return string("*+"[n.least])
	case n.most < 0:
		return fmt.Sprintf("{%d,}", n.least)
	}
	return fmt.Sprintf("{%d,%d}", n.least, n.most)
}

// single reports whether a symbol is one certain character.
func (n *symbol) single() bool {
	return n.op == opChars && len(n.chars) == 2 && n.chars[0] == n.chars[1]
}

// escapes are the characters that stand in a string as an escape.
var escapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}

// special reports whether a character stands in a string as an escape only.
func special(r rune, in notation) bool {
	return r < 0x20 || r == 0x7f || escapes[r] != "" || r == '<' && in.kind == elementNotation.kind
}

// charInString returns a character as a string has it.
func charInString(r rune, in notation) string {
	switch {
	case escapes[r] != "":
		return escapes[r]
	case special(r, in):
		return fmt.Sprintf(`\u%04x`, r)
	}
	return string(r)
}

// inString returns what one character of some ranges is within a string. Out of many, control characters without a
// short escape are left out.
func inString(chars []rune, in notation) string {
	var alternatives []string
	var set strings.Builder
	add := func(first, last rune) {
		switch {
		case first > last:
		case first < 0xd800 && last > 0xdfff: // what lies between is no character
			set.WriteString(classRange(first, 0xd7ff) + classRange(0xe000, last))
		default:
			set.WriteString(classRange(first, last))
		}
	}
	for i := 0; i < len(chars); i += 2 {
		first, last := chars[i], chars[i+1]
		for r := first; r <= min(last, 0x7f); r++ {
			if !special(r, in) {
				continue
			}
			add(first, r-1)
			first = r + 1
			if escapes[r] != "" || r == '<' || chars[i] == last {
				alternatives = append(alternatives, literal(charInString(r, in)))
			}
		}
		add(first, last)
	}
	if set.Len() == 0 && len(alternatives) == 0 { // nothing but such characters
		return literal(charInString(chars[0], in))
	}
	if set.Len() > 0 {
		alternatives = append(alternatives, "["+set.String()+"]")
	}
	return choice(alternatives...)
}

// classRange writes a range of characters.
func classRange(first, last rune) string {
	inside := func(r rune) string { c := class([]rune{r}, false); return c[1 : len(c)-1] }
	if first == last {
		return inside(first)
	}
	return inside(first) + "-" + inside(last)
}
