package schema

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"wield/schema/shape"
)

// ShapeOf returns the shape of the schema in raw as far as it can be made out. A schema that Compile refuses,
// for a type name that does not exist or a reference that leads nowhere, still has one, in which a value of
// an unknown type may be anything. Nil means that nothing is known.
func ShapeOf(raw json.RawMessage) *shape.Shape {
	s, _ := compile(string(raw))
	return s.Shape()
}

// alts are schemas of which a value obeys one list, and all in that list.
type alts [][]*node

// A shaper makes shapes of nodes. The same alternatives share one shape, which is what makes the shapes of
// recursive schemas end. In-place cycles must have been ruled out.
type shaper struct {
	shapes map[string]*shape.Shape
	read   map[*node]facts
	ids    map[*node]string
	depth  int
	left   int // how many more facts may be joined or written down
}

// Bounds of shapes: how deep one is followed whose alternatives keep changing, how many alternatives a place
// may have, and of how many schemas at once one of them may be. Where many places refer to the same large
// schema beside something of their own, each of them has a shape as large: what all shapes say together is
// bounded by the length of the schema. Beyond these nothing is known.
const (
	maxShapeDepth  = 64
	maxAlts        = 32
	maxAlt         = 32
	freeFacts      = 10_000
	factsPerTokens = 4
)

func shapeOf(root *node, tokens int) *shape.Shape {
	s := shaper{shapes: make(map[string]*shape.Shape), read: make(map[*node]facts), ids: make(map[*node]string),
		left: freeFacts + factsPerTokens*tokens}
	return s.shape(alts{{root}})
}

func (s *shaper) shape(of alts) *shape.Shape {
	of = of.followed()
	key := s.key(of)
	if sh, ok := s.shapes[key]; ok {
		return sh
	}
	if s.depth == maxShapeDepth || s.left < 0 {
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
	s.left -= f.size()
	sh.Types = f.said()
	sh.Enum = f.enum
	sh.Props = make([]shape.Prop, 0, len(f.props))
	required := among(f.required)
	for _, p := range f.props {
		sh.Props = append(sh.Props, shape.Prop{Name: p.name, Required: required(p.name), Shape: s.shape(p.of)})
	}
	sh.Index()
	if len(f.items) > 0 {
		sh.Items = s.shape(f.items)
	}
	if len(f.rest) > 0 {
		sh.Extra = s.shape(f.rest)
	}
}

func (s *shaper) anyOf(of alts) facts {
	var j joint
	for _, list := range of {
		if len(list) == 1 && list[0].never {
			continue
		}
		s.join(&j, s.allOf(list), (*joint).or)
	}
	return j.facts
}

func (s *shaper) allOf(list []*node) facts {
	if len(list) == 1 {
		return s.facts(list[0])
	}
	var j joint
	for _, n := range list {
		s.join(&j, s.facts(n), (*joint).and)
	}
	return j.facts
}

// join joins facts with those in j, if there is room for them.
func (s *shaper) join(j *joint, f facts, how func(*joint, facts)) {
	if s.left -= f.size(); s.left < 0 {
		return
	}
	if !j.begun {
		j.begin(f)
		return
	}
	how(j, f)
}

// facts returns what n and the schemas that it applies to the same value say.
func (s *shaper) facts(n *node) facts {
	if n.ref != nil && n.plain() {
		return s.facts(n.ref)
	}
	if f, ok := s.read[n]; ok {
		return f
	}
	j := joint{facts: own(n), begun: true}
	if n.ref != nil {
		s.join(&j, s.facts(n.ref), (*joint).and)
	}
	s.join(&j, s.allOf(n.all), (*joint).and)
	for _, list := range [][]*node{n.some, n.one} {
		of := make(alts, len(list))
		for i := range list {
			of[i] = list[i : i+1]
		}
		s.join(&j, s.anyOf(of), (*joint).and)
	}
	for _, sub := range []*node{n.then, n.els} {
		if sub != nil {
			s.join(&j, s.facts(sub), (*joint).maybe)
		}
	}
	s.read[n] = j.facts
	return j.facts
}

// facts join the demands of schemas that look at one value. What lies below the value is left for later.
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
		f.required = slices.Clip(o.required)
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

// size counts the facts.
func (f *facts) size() int { return 1 + len(f.enum) + len(f.props) + len(f.required) }

// A joint joins facts about one value, one after another. What it joins is not changed.
type joint struct {
	facts
	begun  bool
	at     map[string]int // where in props a name is; nil: not looked up yet
	values map[string]bool
}

// begin takes the first facts.
func (j *joint) begin(f facts) {
	j.facts, j.begun = f, true
	j.enum, j.props, j.required = slices.Clone(f.enum), slices.Clone(f.props), slices.Clone(f.required)
}

// and adds facts that hold as well.
func (j *joint) and(g facts) {
	switch {
	case j.types == 0:
		j.types = g.types
	case g.types != 0 && j.types&g.types != 0:
		j.types &= g.types
	}
	switch {
	case j.enum == nil:
		j.enum = slices.Clone(g.enum)
	case g.enum != nil:
		j.enum = both(j.enum, g.enum)
	}
	j.joinProps(g.props, alts.and)
	j.required = append(j.required, g.required...)
	j.items = j.items.and(g.items)
	j.rest = j.rest.and(g.rest)
	j.closed = j.closed || g.closed
	j.object = j.object || g.object
	j.array = j.array || g.array
}

// or adds facts that may hold instead.
func (j *joint) or(g facts) {
	jt, gt := j.said(), g.said()
	switch {
	case jt == 0 || gt == 0: // one of them allows anything
		j.types = anyType
	default:
		j.types = jt | gt
	}
	switch {
	case j.enum == nil && jt == shape.Null:
		j.enum = []string{"null"}
	case g.enum == nil && gt == shape.Null:
		g.enum = []string{"null"}
	}
	j.orEnum(g.enum)
	if j.object && g.object {
		j.required = both(j.required, g.required)
		j.closed = j.closed && g.closed
	} else if g.object {
		j.required, j.closed = slices.Clone(g.required), g.closed
	}
	j.joinProps(g.props, alts.or)
	j.items = j.items.or(g.items)
	j.rest = j.rest.or(g.rest)
	j.object = j.object || g.object
	j.array = j.array || g.array
}

// orEnum adds values that are allowed as well, all if they are nil.
func (j *joint) orEnum(values []string) {
	if j.enum == nil || values == nil {
		j.enum, j.values = nil, nil
		return
	}
	if j.values == nil {
		j.values = make(map[string]bool, len(j.enum))
		for _, v := range j.enum {
			j.values[v] = true
		}
	}
	for _, v := range values {
		if !j.values[v] {
			j.values[v] = true
			j.enum = append(j.enum, v)
		}
	}
}

// maybe adds the properties of facts that hold only sometimes. They forbid nothing.
func (j *joint) maybe(g facts) {
	known := len(j.props)
	j.joinProps(g.props, func(a, _ alts) alts { return a })
	j.object = j.object || len(j.props) > known
}

func (j *joint) joinProps(props []propFact, join func(a, b alts) alts) {
	if len(props) == 0 {
		return
	}
	if j.at == nil {
		j.at = make(map[string]int, len(j.props)+len(props))
		for i := range slices.Backward(j.props) { // of two of one name the first counts
			j.at[j.props[i].name] = i
		}
	}
	for _, p := range props {
		if i, ok := j.at[p.name]; ok {
			j.props[i].of = join(j.props[i].of, p.of)
		} else {
			j.at[p.name] = len(j.props)
			j.props = append(j.props, p)
		}
	}
}

// both returns what of a is in b, in the room of a.
func both(a, b []string) []string {
	in := among(b)
	return slices.DeleteFunc(a, func(v string) bool { return !in(v) })
}

// among returns a function that reports whether a text is one of list.
func among(list []string) func(string) bool {
	if len(list) <= fewProps {
		return func(s string) bool { return slices.Contains(list, s) }
	}
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return func(s string) bool { return set[s] }
}

// said returns the types of f, inferred if it names none.
func (f *facts) said() shape.Types {
	if f.types != 0 {
		return f.types
	}
	return f.inferred()
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
	return !n.never && n.types == 0 && n.enum == nil && n.konst == nil && n.number == nil && n.str == nil &&
		n.array == nil && n.object == nil && n.all == nil && n.some == nil && n.one == nil && n.not == nil &&
		n.cond == nil
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

// and combines every alternative of a with every one of b. Beyond the bound it keeps a, which is less than
// what is known.
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
				if len(list) < maxAlt && !slices.Contains(list, n) {
					list = append(list, n)
				}
			}
			both = both.or(alts{list})
		}
	}
	return both
}
