package dialect

import (
	"slices"
	"sort"
	"strings"

	"wield/dialect/internal/chars"
	"wield/schema/shape"
)

// names resolves what a model wrote as a tool's name.
//
// A name must be that of a declared tool, to the byte, behind the declared prefix if there is one. Beyond
// that a dot, an underscore and a hyphen count as the same byte when exactly one declared tool then fits:
// model families differ in which of them they were trained to write.
type names struct {
	tools  []shape.Tool
	prefix string
	sorted []foldedName   // by folded
	first  [256]bool      // bytes that a name can begin with
	last   map[string]int // tools with a module by what follows the last dot of their names; -1: several
}

type foldedName struct {
	folded string
	tool   int
}

func newNames(tools []shape.Tool, prefix string) names {
	n := names{tools: tools, prefix: prefix, sorted: make([]foldedName, 0, len(tools))}
	for i, t := range tools {
		if t.Name == "" {
			continue
		}
		n.sorted = append(n.sorted, foldedName{chars.Fold(prefix + t.Name), i})
		dot := strings.LastIndexByte(t.Name, '.')
		if dot < 0 {
			continue
		}
		if n.last == nil {
			n.last = map[string]int{}
		}
		last := t.Name[dot+1:]
		if _, several := n.last[last]; several {
			n.last[last] = -1
		} else {
			n.last[last] = i
		}
	}
	slices.SortStableFunc(n.sorted, func(a, b foldedName) int { return strings.Compare(a.folded, b.folded) })
	for _, f := range n.sorted {
		c := f.folded[0]
		n.first[c] = true
		if c == '_' {
			n.first['.'], n.first['-'] = true, true
		}
	}
	return n
}

// resolve returns the index of the tool that the text s names. noted says that s was not the declared name.
func (n *names) resolve(s string) (tool int, noted, ok bool) {
	want := chars.Fold(s)
	at := sort.Search(len(n.sorted), func(i int) bool { return n.sorted[i].folded >= want })
	bare, prefixed := strings.CutPrefix(s, n.prefix)
	several, exact := false, false
	for i := at; i < len(n.sorted) && n.sorted[i].folded == want; i++ {
		switch k := n.sorted[i].tool; {
		case prefixed && n.tools[k].Name == bare:
			tool, exact = k, true // the last of the same name counts
		case i == at:
			tool = k
		default:
			several = true // declared names that differ only in these bytes
		}
		ok = true
	}
	switch {
	case exact:
		return tool, false, true
	case several || len(s) > maxHeader:
		return 0, false, false
	case !ok:
		if half := len(s) / 2; len(s)%2 == 1 && s[half] == '.' && s[:half] == s[half+1:] {
			// NAME.NAME: a module with one function
			return n.resolve(s[:half])
		}
		return 0, false, false
	}
	return tool, true, true
}

// resolveRest returns the index of the tool that s names behind a prefix of its own that ends with a dot,
// such as that of a module.
func (n *names) resolveRest(s string) (tool int, ok bool) {
	for len(s) <= maxHeader {
		if _, s, ok = strings.Cut(s, "."); !ok {
			break
		}
		if tool, _, ok := n.resolve(s); ok {
			return tool, true
		}
	}
	return 0, false
}

// resolveLast returns the index of the only tool whose name is s behind a module's name and a dot.
func (n *names) resolveLast(s string) (tool int, ok bool) {
	tool, ok = n.last[s]
	return max(tool, 0), ok && tool >= 0 && s != ""
}

// A nameRange is the part of the sorted names that begin with what was read so far.
type nameRange struct{ lo, hi, n int }

func (n *names) begin() nameRange { return nameRange{0, len(n.sorted), 0} }

// narrow goes on by one byte. The range is empty when no declared name goes on like this.
func (n *names) narrow(r nameRange, c byte) nameRange {
	c = chars.FoldByte(c)
	if r.hi == r.lo+1 { // as nearly always behind the first bytes
		if s := n.sorted[r.lo].folded; len(s) <= r.n || s[r.n] != c {
			r.hi = r.lo
		}
		r.n++
		return r
	}
	lo := r.lo + sort.Search(r.hi-r.lo, func(i int) bool {
		s := n.sorted[r.lo+i].folded
		return len(s) > r.n && s[r.n] >= c
	})
	hi := lo + sort.Search(r.hi-lo, func(i int) bool {
		s := n.sorted[lo+i].folded
		return len(s) <= r.n || s[r.n] > c
	})
	return nameRange{lo, hi, r.n + 1}
}

func (r nameRange) empty() bool { return r.lo >= r.hi }
