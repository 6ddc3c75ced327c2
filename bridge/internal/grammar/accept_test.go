package grammar

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

// A parsed grammar of llama.cpp's notation, as a test reads and samples it. It knows no more than the notation: nothing
// of how this package writes.
type parsed struct {
	rules map[string]*expr
	least map[*expr]int // length of the shortest derivation
}

type expr struct {
	op    byte // l literal, c class, r reference, s sequence, | choice, * repetition
	text  string
	not   bool
	set   [][2]rune
	list  []*expr
	least int
	most  int // -1: any number
}

func parseGBNF(text string) (*parsed, error) {
	p := &parsed{rules: map[string]*expr{}}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		name, body, ok := strings.Cut(line, " ::= ")
		if !ok {
			return nil, fmt.Errorf("no rule: %q", line)
		}
		if p.rules[name] != nil {
			return nil, fmt.Errorf("%s stands twice", name)
		}
		r := &reader{s: body}
		p.rules[name] = r.choice()
		if r.err != nil || r.s != "" {
			return nil, fmt.Errorf("%s: %v at %q", name, r.err, r.s)
		}
	}
	for name, e := range p.rules {
		if missing := p.missing(e); missing != "" {
			return nil, fmt.Errorf("%s refers to %s, which is not there", name, missing)
		}
	}
	p.measure()
	return p, nil
}

func (p *parsed) missing(e *expr) string {
	if e.op == 'r' && p.rules[e.text] == nil {
		return e.text
	}
	for _, x := range e.list {
		if m := p.missing(x); m != "" {
			return m
		}
	}
	return ""
}

type reader struct {
	s   string
	err error
}

func (r *reader) blank() { r.s = strings.TrimLeft(r.s, " ") }

func (r *reader) choice() *expr {
	e := &expr{op: '|'}
	for {
		e.list = append(e.list, r.sequence())
		if r.blank(); !strings.HasPrefix(r.s, "|") {
			return e
		}
		r.s = r.s[1:]
	}
}

func (r *reader) sequence() *expr {
	e := &expr{op: 's'}
	for r.blank(); r.s != "" && r.err == nil && !strings.ContainsAny(r.s[:1], "|)"); r.blank() {
		e.list = append(e.list, r.repeated(r.one()))
	}
	return e
}

func (r *reader) one() *expr {
	switch c := r.s[0]; {
	case c == '(':
		r.s = r.s[1:]
		e := r.choice()
		if r.blank(); !strings.HasPrefix(r.s, ")") {
			r.err = fmt.Errorf("a group is not closed")
			return e
		}
		r.s = r.s[1:]
		return e
	case c == '"':
		r.s = r.s[1:]
		var b strings.Builder
		for r.s != "" && r.s[0] != '"' {
			b.WriteRune(r.char())
		}
		r.s = strings.TrimPrefix(r.s, `"`)
		return &expr{op: 'l', text: b.String()}
	case c == '[':
		r.s = r.s[1:]
		e := &expr{op: 'c'}
		if e.not = strings.HasPrefix(r.s, "^"); e.not {
			r.s = r.s[1:]
		}
		for r.s != "" && r.s[0] != ']' {
			from := r.char()
			to := from
			if len(r.s) > 1 && r.s[0] == '-' && r.s[1] != ']' {
				r.s = r.s[1:]
				to = r.char()
			}
			e.set = append(e.set, [2]rune{from, to})
		}
		r.s = strings.TrimPrefix(r.s, "]")
		return e
	}
	n := strings.IndexFunc(r.s, func(c rune) bool { return c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') })
	if n < 0 {
		n = len(r.s)
	}
	if n == 0 {
		r.err = fmt.Errorf("nothing begins with this")
		return &expr{op: 's'}
	}
	e := &expr{op: 'r', text: r.s[:n]}
	r.s = r.s[n:]
	return e
}

func (r *reader) char() rune {
	if r.s[0] != '\\' {
		c, n := utf8.DecodeRuneInString(r.s)
		r.s = r.s[n:]
		return c
	}
	c := r.s[1]
	r.s = r.s[2:]
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'x':
		var v rune
		if _, err := fmt.Sscanf(r.s[:2], "%02X", &v); err != nil {
			r.err = err
		}
		r.s = r.s[2:]
		return v
	case '"', '\\', '[', ']':
		return rune(c)
	}
	r.err = fmt.Errorf("no escape: %c", c)
	return 0
}

func (r *reader) repeated(e *expr) *expr {
	if r.s == "" {
		return e
	}
	x := &expr{op: '*', list: []*expr{e}}
	switch r.s[0] {
	case '*':
		x.most = -1
	case '+':
		x.least, x.most = 1, -1
	case '?':
		x.most = 1
	case '{':
		bounds, rest, _ := strings.Cut(r.s[1:], "}")
		if n, err := fmt.Sscanf(bounds, "%d,%d", &x.least, &x.most); n == 1 && err != nil {
			x.most = x.least
		}
		r.s = rest
		return x
	default:
		return e
	}
	r.s = r.s[1:]
	return x
}

// A place is where a rule is looked for; the ends are where it may have been found.
type place struct {
	rule string
	at   int
}

type matcher struct {
	*parsed
	s    []rune
	ends map[place]map[int]bool
}

// accepts reports whether the grammar derives a text.
func (p *parsed) accepts(text string) bool {
	m := matcher{p, []rune(text), map[place]map[int]bool{}}
	return m.match(&expr{op: 'r', text: "root"}, 0)[len(m.s)]
}

func (m *matcher) match(e *expr, at int) map[int]bool {
	switch e.op {
	case 'l':
		w := []rune(e.text)
		if at+len(w) <= len(m.s) && string(m.s[at:at+len(w)]) == e.text {
			return map[int]bool{at + len(w): true}
		}
		return nil
	case 'c':
		if at < len(m.s) && e.has(m.s[at]) {
			return map[int]bool{at + 1: true}
		}
		return nil
	case 'r':
		k := place{e.text, at}
		if known, ok := m.ends[k]; ok {
			return known
		}
		m.ends[k] = nil
		m.ends[k] = m.match(m.rules[e.text], at)
		return m.ends[k]
	case '|':
		all := map[int]bool{}
		for _, x := range e.list {
			for end := range m.match(x, at) {
				all[end] = true
			}
		}
		return all
	case 's':
		now := map[int]bool{at: true}
		for _, x := range e.list {
			now = m.step(x, now)
		}
		return now
	}
	now, all := map[int]bool{at: true}, map[int]bool{}
	for n := 0; len(now) > 0; n++ {
		fresh := map[int]bool{}
		for end := range now {
			if n >= e.least && !all[end] {
				all[end], fresh[end] = true, true
			}
		}
		if n == e.most || n >= e.least && len(fresh) == 0 {
			break
		}
		if n >= e.least {
			now = fresh
		}
		now = m.step(e.list[0], now)
	}
	return all
}

func (m *matcher) step(e *expr, from map[int]bool) map[int]bool {
	to := map[int]bool{}
	for at := range from {
		for end := range m.match(e, at) {
			to[end] = true
		}
	}
	return to
}

func (e *expr) has(r rune) bool {
	for _, s := range e.set {
		if s[0] <= r && r <= s[1] {
			return !e.not
		}
	}
	return e.not
}

// measure finds the shortest derivation of each expression.
func (p *parsed) measure() {
	p.least = map[*expr]int{}
	const far = 1 << 20
	cost := func(e *expr) int {
		if n, ok := p.least[e]; ok {
			return n
		}
		return far
	}
	var visit func(e *expr) bool
	visit = func(e *expr) (changed bool) {
		for _, x := range e.list {
			changed = visit(x) || changed
		}
		n := far
		switch e.op {
		case 'l':
			n = 0
		case 'c':
			n = 1
		case 'r':
			n = 1 + cost(p.rules[e.text])
		case '|':
			for _, x := range e.list {
				n = min(n, cost(x))
			}
		case 's':
			n = 0
			for _, x := range e.list {
				n += cost(x)
			}
		case '*':
			n = e.least * cost(e.list[0])
		}
		if n < cost(e) {
			p.least[e], changed = n, true
		}
		return changed
	}
	for changed := true; changed; {
		changed = false
		for _, e := range p.rules {
			changed = visit(e) || changed
		}
	}
}

// palette holds the characters that classes are sampled from.
var palette = []rune("abe fTn1 0.-\"'<>/{}[]`\\:,=\n|éß中")

// sample derives a text at random. When it is deep or long, it takes the shortest way to the end.
func (p *parsed) sample(r *rand.Rand) string {
	var b strings.Builder
	left := 400
	var walk func(e *expr, depth int)
	walk = func(e *expr, depth int) {
		left--
		switch e.op {
		case 'l':
			b.WriteString(e.text)
		case 'r':
			walk(p.rules[e.text], depth+1)
		case 's':
			for _, x := range e.list {
				walk(x, depth)
			}
		case '|':
			pick := e.list[r.IntN(len(e.list))]
			if depth > 60 || left < 0 || p.least[pick] > 1000 {
				for _, x := range e.list {
					if p.least[x] < p.least[pick] {
						pick = x
					}
				}
			}
			walk(pick, depth)
		case '*':
			n := e.least
			if depth <= 60 && left > 0 {
				most := e.most
				if most < 0 {
					most = e.least + 4
				}
				n += r.IntN(most - e.least + 1)
			}
			for range n {
				walk(e.list[0], depth+1)
			}
		case 'c':
			for range 200 {
				if c := palette[r.IntN(len(palette))]; e.has(c) {
					b.WriteRune(c)
					return
				}
			}
			b.WriteRune(e.set[0][0])
		}
	}
	walk(p.rules["root"], 0)
	return b.String()
}
