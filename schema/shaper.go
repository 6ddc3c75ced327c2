package schema

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"wield/schema/shape"
)

// ShapeOf returns the shape of the schema in raw as far as it can be made out. A schema that Compile refuses, for a type name
// that does not exist or a reference that leads nowhere, still has one, in which a value of an unknown type may be anything.
// Nil means that nothing is known.
func ShapeOf(raw json.RawMessage) *shape.Shape {
	s, _ := compile(string(raw))
	return s.Shape()
}

// alts are schemas of which a value obeys one list, and all in that list.
type alts [][]*node

// A shaper makes shapes of nodes. The same alternatives share one shape, which is what makes the shapes of recursive schemas
// end. In-place cycles must have been ruled out.
type shaper struct {
	shapes map[string]*shape.Shape
	read   map[*node]facts
	ids    map[*node]string
	depth  int
}

// Bounds of shapes: how deep one is followed whose alternatives keep changing, and how many alternatives a place may have.
const (
	maxShapeDepth = 64
	maxAlts       = 32
)

func shapeOf(root *node) *shape.Shape {
	s := shaper{shapes: make(map[string]*shape.Shape), read: make(map[*node]facts), ids: make(map[*node]string)}
	return s.shape(alts{{root}})
}

func (s *shaper) shape(of alts) *shape.Shape {
	of = of.followed()
	key := s.key(of)
	if sh, ok := s.shapes[key]; ok {
		return sh
	}
	if s.depth == maxShapeDepth {
		return nil
	}
	s.depth++
	defer func() { s.depth-- }()
	f := s.anyOf(of)
	if f.empty() {
		s.shapes[key] = nil
		return nil
	}
	sh := &shape.Shape{Open: !f.closed}
	s.shapes[key] = sh
	s.fill(sh, f)
	return sh
}

// key names alternatives.
func (s *shaper) key(of alts) string {
	var b strings.Builder
	for _, list := range of {
		for _, n := range list {
			if s.ids[n] == "" {
				s.ids[n] = itoa(len(s.ids) + 1)
			}
			b.WriteString(s.ids[n])
			b.WriteByte('&')
		}
		b.WriteByte('|')
	}
	return b.String()
}

func (s *shaper) fill(sh *shape.Shape, f facts) {
	sh.Types = f.said()
	sh.Enum = f.enum
	sh.Props = make([]shape.Prop, 0, len(f.props))
	for _, p := range f.props {
		sh.Props = append(sh.Props, shape.Prop{Name: p.name, Required: slices.Contains(f.required, p.name), Shape: s.shape(p.of)})
	}
	if len(f.items) > 0 {
		sh.Items = s.shape(f.items)
	}
	if len(f.rest) > 0 {
		sh.Extra = s.shape(f.rest)
	}
}

func (s *shaper) anyOf(of alts) (f facts) {
	first := true
	for _, list := range of {
		one := s.allOf(list)
		switch {
		case len(list) == 1 && list[0].never:
		case first:
			f, first = one, false
		default:
			f = f.or(one)
		}
	}
	return f
}

func (s *shaper) allOf(list []*node) (f facts) {
	for i, n := range list {
		if i == 0 {
			f = s.facts(n)
		} else {
			f = f.and(s.facts(n))
		}
	}
	return f
}

// facts returns what n and the schemas that it applies to the same value say.
func (s *shaper) facts(n *node) facts {
	if f, ok := s.read[n]; ok {
		return f
	}
	f := own(n)
	if n.ref != nil {
		f = f.and(s.facts(n.ref))
	}
	f = f.and(s.allOf(n.all))
	for _, list := range [][]*node{n.some, n.one} {
		var of alts
		for _, sub := range list {
			of = append(of, []*node{sub})
		}
		f = f.and(s.anyOf(of))
	}
	for _, sub := range []*node{n.then, n.els} {
		if sub != nil {
			f = f.maybe(s.facts(sub))
		}
	}
	s.read[n] = f
	return f
}

// facts are what schemas that look at one value say of it together. What lies below the value is left for later.
type facts struct {
	types    shape.Types // 0: not said
	enum     []string    // nil: not said
	props    []propFact
	required []string
	items    alts
	rest     alts
	closed   bool
	object   bool // something was said of objects,
	array    bool // or of arrays
}

type propFact struct {
	name string
	of   alts
}

func (f *facts) empty() bool {
	return f.types == 0 && f.enum == nil && !f.object && !f.array
}

// inferred returns the types of a schema that says none.
func (f *facts) inferred() (t shape.Types) {
	if f.object {
		t |= shape.Object
	}
	if f.array {
		t |= shape.Array
	}
	if t != 0 {
		return t
	}
	for _, v := range f.enum {
		t |= enumType(v)
	}
	return t
}

// enumType returns the type of a JSON text. A number that is whole is an integer.
func enumType(v string) shape.Types {
	switch v[0] {
	case '"':
		return shape.String
	case '{':
		return shape.Object
	case '[':
		return shape.Array
	case 't', 'f':
		return shape.Boolean
	case 'n':
		return shape.Null
	}
	if isWhole(v) {
		return shape.Integer
	}
	return shape.Number | shape.Integer
}

// own returns what n itself says.
func own(n *node) (f facts) {
	f.types = n.types
	for _, e := range []*enum{n.konst, n.enum} {
		if e == nil || f.enum != nil {
			continue
		}
		f.enum = []string{}
		for _, v := range e.values {
			f.enum = append(f.enum, e.canonical(v))
		}
	}
	if o := n.object; o != nil {
		f.object = true
		for _, p := range o.props {
			f.props = append(f.props, propFact{p.name, alts{{p.node}}})
		}
		f.required = o.required
		if o.rest != nil && o.rest.never {
			f.closed = len(o.patterns) == 0
		} else if o.rest != nil && len(o.patterns) == 0 {
			f.rest = alts{{o.rest}}
		}
	}
	if a := n.array; a != nil {
		f.array = true
		if a.rest != nil && !a.rest.never {
			f.items = alts{{a.rest}}
		}
		if len(a.prefix) > 0 {
			f.items = nil // the elements have no one shape
		}
	}
	return f
}

// canonical returns the JSON text of the value v without needless escapes and white space.
func (e *enum) canonical(v int) string {
	text := e.tape.text(v)
	switch e.tape.tokens[v].kind {
	case shape.String:
		return shape.Quote(e.tape.str(v))
	case shape.Array, shape.Object:
		var b bytes.Buffer
		if json.Compact(&b, []byte(text)) == nil {
			return b.String()
		}
	}
	return text
}

// and joins facts that hold together.
func (f facts) and(g facts) facts {
	switch {
	case f.types == 0:
		f.types = g.types
	case g.types != 0 && f.types&g.types != 0:
		f.types &= g.types
	}
	switch {
	case f.enum == nil:
		f.enum = g.enum
	case g.enum != nil:
		f.enum = slices.DeleteFunc(slices.Clone(f.enum), func(v string) bool { return !slices.Contains(g.enum, v) })
	}
	f.props = joinProps(f.props, g.props, alts.and)
	f.required = append(slices.Clip(f.required), g.required...)
	f.items = f.items.and(g.items)
	f.rest = f.rest.and(g.rest)
	f.closed = f.closed || g.closed
	f.object = f.object || g.object
	f.array = f.array || g.array
	return f
}

// or joins facts of which one set holds.
func (f facts) or(g facts) facts {
	ft, gt := f.said(), g.said()
	switch {
	case ft == 0 || gt == 0: // one of them allows anything
		f.types = anyType
	default:
		f.types = ft | gt
	}
	switch {
	case f.enum == nil && ft == shape.Null:
		f.enum = []string{"null"}
	case g.enum == nil && gt == shape.Null:
		g.enum = []string{"null"}
	}
	if f.enum == nil || g.enum == nil {
		f.enum = nil
	} else {
		f.enum = slices.Clip(f.enum)
		for _, v := range g.enum {
			if !slices.Contains(f.enum, v) {
				f.enum = append(f.enum, v)
			}
		}
	}
	if f.object && g.object {
		f.required = slices.DeleteFunc(slices.Clone(f.required), func(v string) bool { return !slices.Contains(g.required, v) })
		f.closed = f.closed && g.closed
	} else if g.object {
		f.required, f.closed = g.required, g.closed
	}
	f.props = joinProps(f.props, g.props, alts.or)
	f.items = f.items.or(g.items)
	f.rest = f.rest.or(g.rest)
	f.object = f.object || g.object
	f.array = f.array || g.array
	return f
}

// said returns the types of f, inferred if it names none.
func (f *facts) said() shape.Types {
	if f.types != 0 {
		return f.types
	}
	return f.inferred()
}

// maybe adds the properties of facts that hold only sometimes. They forbid nothing.
func (f facts) maybe(g facts) facts {
	known := f.props
	f.props = joinProps(f.props, g.props, func(a, _ alts) alts { return a })
	f.object = f.object || len(f.props) > len(known)
	return f
}

func joinProps(a, b []propFact, join func(a, b alts) alts) []propFact {
	a = slices.Clone(a)
	for _, p := range b {
		if i := slices.IndexFunc(a, func(q propFact) bool { return q.name == p.name }); i >= 0 {
			a[i].of = join(a[i].of, p.of)
		} else {
			a = append(a, p)
		}
	}
	return a
}

// followed returns a with nodes that only refer to another replaced by that one, so that they share its shape.
func (a alts) followed() (b alts) {
	for _, list := range a {
		var to []*node
		for _, n := range list {
			if n = n.target(); !slices.Contains(to, n) {
				to = append(to, n)
			}
		}
		b = b.or(alts{to})
	}
	return b
}

// target returns the node that n stands for when it is nothing but a reference.
func (n *node) target() *node {
	for n.ref != nil && n.plain() {
		n = n.ref
	}
	return n
}

// plain reports whether n says nothing but its reference.
func (n *node) plain() bool {
	return !n.never && n.types == 0 && n.enum == nil && n.konst == nil && n.number == nil && n.str == nil && n.array == nil && n.object == nil &&
		n.all == nil && n.some == nil && n.one == nil && n.not == nil && n.cond == nil
}

// or joins alternatives.
func (a alts) or(b alts) alts {
	a = slices.Clip(a)
	for _, list := range b {
		if len(a) < maxAlts && !slices.ContainsFunc(a, func(l []*node) bool { return slices.Equal(l, list) }) {
			a = append(a, list)
		}
	}
	return a
}

// and combines every alternative of a with every one of b. Beyond the bound it keeps a, which is less than what is known.
func (a alts) and(b alts) (both alts) {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0 || len(a)*len(b) > maxAlts:
		return a
	}
	for _, l := range a {
		for _, m := range b {
			list := slices.Clone(l)
			for _, n := range m {
				if !slices.Contains(list, n) {
					list = append(list, n)
				}
			}
			both = both.or(alts{list})
		}
	}
	return both
}
