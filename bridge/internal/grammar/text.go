package grammar

import (
	"slices"
	"strconv"
	"strings"
)

// A matchNode is a node of the automaton that looks for some literals at once, as in Aho and Corasick's.
type matchNode struct {
	next map[rune]int
	fail int
	end  int // index of the literal that is complete here, -1: none
}

// automaton builds the states for literals of which none is part of another.
func automaton(literals []string) []matchNode {
	nodes := []matchNode{{next: map[rune]int{}, end: -1}}
	for i, l := range literals {
		at := 0
		for _, r := range l {
			to, ok := nodes[at].next[r]
			if !ok {
				to = len(nodes)
				nodes = append(nodes, matchNode{next: map[rune]int{}, end: -1})
				nodes[at].next[r] = to
			}
			at = to
		}
		nodes[at].end = i
	}
	for queue := []int{0}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		for r, to := range nodes[at].next {
			if at != 0 {
				nodes[to].fail = step(nodes, nodes[at].fail, r)
			}
			queue = append(queue, to)
		}
	}
	return nodes
}

// step returns the state behind a character.
func step(nodes []matchNode, at int, r rune) int {
	for {
		if to, ok := nodes[at].next[r]; ok {
			return to
		}
		if at == 0 {
			return 0
		}
		at = nodes[at].fail
	}
}

const (
	maxLiterals = 64 << 10 // bytes of all literals
	maxSteps    = 4 << 20  // states times characters
)

// free writes rules for text that ends before the first of some literals, and returns the name of the one for
// text behind the characters seen. What follows a literal is then(its index); "": the literal cannot be
// written. ends says that the text may end.
func (w *writer) free(kind string, literals []string, seen string, ends bool, then func(i int) string) string {
	size := 0
	for _, l := range literals {
		size += len(l)
	}
	if size > maxLiterals {
		panic(frameError{"the beginnings of the calls are too long"})
	}
	nodes := automaton(literals)
	name := func(i int) string { return kind + "-" + strconv.Itoa(i) }
	var letters []rune
	for i := range nodes {
		for r := range nodes[i].next {
			letters = append(letters, r)
		}
	}
	slices.Sort(letters)
	letters = slices.Compact(letters)
	if len(nodes)*len(letters) > maxSteps {
		panic(frameError{"the beginnings of the calls have too many characters"})
	}
	for i := range nodes {
		if nodes[i].end >= 0 {
			continue
		}
		var alternatives []string
		var known []rune
		for _, r := range letters {
			to := step(nodes, i, r)
			if to == 0 {
				continue
			}
			known = append(known, r)
			rest := name(to)
			if end := nodes[to].end; end >= 0 {
				if rest = then(end); rest == "" {
					continue
				}
			}
			alternatives = append(alternatives, literal(string(r))+" "+rest)
		}
		alternatives = append(alternatives, class(known, true)+" "+name(0))
		if ends {
			alternatives = append(alternatives, `""`)
		}
		w.add(name(i), strings.Join(alternatives, " | "))
	}
	at := 0
	for _, r := range seen {
		at = step(nodes, at, r)
	}
	return name(at)
}
