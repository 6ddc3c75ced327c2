package schema

import (
	"regexp"

	"wield/schema/shape"
)

// A node is one compiled schema or subschema: what it demands of a value, by the type that the demand is
// about. Nodes refer to one another by $ref and may form cycles.
type node struct {
	pointer *place // in the schema
	token   int    // in the schema's tape
	never   bool   // the schema false

	types shape.Types // 0: any
	enum  *enum
	konst *enum

	number *numberRules
	str    *stringRules
	array  *arrayRules
	object *objectRules

	// In-place applicators: subschemas that look at the same value.
	ref            *node
	all, some, one []*node // allOf, anyOf, oneOf
	not            *node
	cond           *node // if
	then, els      *node

	state state // of measure
	cost  int   // how many nodes look at one value, in-place applicators followed
}

// A place locates a value in a schema; nil is the schema itself. It is written down only where somebody
// has to be told: names can be long, and all that is below one would repeat it.
type place struct {
	up      *place
	name    string
	written bool // name is a whole JSON pointer
}

func (p *place) to(name string) *place { return &place{up: p, name: name} }

// String returns the place as a JSON pointer.
func (p *place) String() string {
	switch {
	case p == nil:
		return ""
	case p.written:
		return p.name
	}
	return p.up.String() + "/" + escapePointer(p.name)
}

// inPlace calls f for every subschema that looks at the same value.
func (n *node) inPlace(f func(*node)) {
	for _, sub := range []*node{n.ref, n.not, n.cond, n.then, n.els} {
		if sub != nil {
			f(sub)
		}
	}
	for _, list := range [][]*node{n.all, n.some, n.one} {
		for _, sub := range list {
			f(sub)
		}
	}
	if n.object != nil {
		for _, d := range n.object.dependent {
			if d.schema != nil {
				f(d.schema)
			}
		}
	}
}

// state records the progress of measuring a node.
type state uint8

const (
	unmeasured state = iota
	measuring
	measured
)

// measure sets the cost of n. It fails when n applies itself to the same value.
func (n *node) measure() bool {
	if n.state != unmeasured {
		return n.state == measured
	}
	n.state, n.cost = measuring, 1
	ok := true
	n.inPlace(func(sub *node) {
		ok = ok && sub.measure()
		n.cost = min(n.cost+sub.cost, maxSchemaCost+1)
	})
	if ok {
		n.state = measured
	}
	return ok
}

// An enum is a list of values, which stand in the schema's own tape.
type enum struct {
	tape   *tape
	values []int // tokens
}

type numberRules struct {
	min, max, above, below, multiple *bound
}

type stringRules struct {
	min, max int // in code points; -1: no limit
	pattern  *regexp.Regexp
	source   string // of pattern, as in the schema
}

type arrayRules struct {
	prefix                   []*node
	rest                     *node // elements behind prefix
	restKeyword              string
	min, max                 int
	unique                   bool
	contains                 *node
	minContains, maxContains int
}

type objectRules struct {
	props     []property
	index     map[string]int // of props, if there are many
	patterns  []patternRule
	rest      *node // properties that neither props nor patterns name
	names     *node // propertyNames
	required  []string
	min, max  int
	dependent []dependency
}

type property struct {
	name string
	node *node
}

type patternRule struct {
	re   *regexp.Regexp
	node *node
}

// A dependency holds if the object has the property name.
type dependency struct {
	name     string
	keyword  string
	required []string
	schema   *node
}

// fewProps is up to how many properties are looked for one by one.
const fewProps = 8

// prop returns the schema of the property name, nil if props does not name it.
func (o *objectRules) prop(name string) *node {
	if o.index != nil {
		if i, ok := o.index[name]; ok {
			return o.props[i].node
		}
		return nil
	}
	for i := range o.props {
		if o.props[i].name == name {
			return o.props[i].node
		}
	}
	return nil
}

func (o *objectRules) propNames() []string {
	names := make([]string, len(o.props))
	for i := range o.props {
		names[i] = o.props[i].name
	}
	return names
}

func (n *node) numbers() *numberRules {
	if n.number == nil {
		n.number = new(numberRules)
	}
	return n.number
}

func (n *node) strings() *stringRules {
	if n.str == nil {
		n.str = &stringRules{min: -1, max: -1}
	}
	return n.str
}

func (n *node) arrays() *arrayRules {
	if n.array == nil {
		n.array = &arrayRules{min: -1, max: -1, minContains: -1, maxContains: -1}
	}
	return n.array
}

func (n *node) objects() *objectRules {
	if n.object == nil {
		n.object = &objectRules{min: -1, max: -1}
	}
	return n.object
}
