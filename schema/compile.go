package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"wield/schema/near"
	"wield/schema/shape"
)

// Bounds of a schema.
const (
	maxSchemaDepth = 256
	maxSchemaCost  = 20_000 // subschemas that look at one and the same value
	maxPatterns    = 50_000 // instructions of the patterns, see patternSize
	maxProblems    = 128    // that one error lists
)

// draft is a version of JSON Schema.
type draft int

const (
	draft7    draft = 7
	draft2019 draft = 2019
	draft2020 draft = 2020
)

// An Error is a place in a schema that makes it unusable. Compile joins several of them (errors.Join).
type Error struct {
	Pointer string // JSON pointer into the schema
	Message string // what is wrong there and how to mend it
}

// Error says what is wrong, and where in the schema.
func (e *Error) Error() string {
	if e.Pointer == "" {
		return "schema: " + e.Message
	}
	return "schema: at " + e.Pointer + ": " + e.Message
}

// Compile compiles the JSON Schema in raw. Empty or null raw allows everything.
//
// "$schema" chooses between draft-07 and 2020-12; drafts in between and before are read as the nearer of the
// two. A schema without it is read as 2020-12 that also allows what older schemas and OpenAPI write: a list
// of schemas as "items", "dependencies", true and false as "exclusiveMinimum". "nullable" and the type names
// of other languages (int, float, str, list, dict ...) are understood everywhere. "format" and all
// annotations are not checked.
//
// A reference leads to a place in raw or to a metaschema; nothing else is loaded. Patterns are regular expressions of
// ECMA-262 without what needs backtracking. Patterns that are too large together are refused, and so are schemas of
// more than 4 000 names and values in which references by $id, dynamic references or unevaluated keywords stand: these
// take quadratic time.
//
// The error is an *Error, or several joined, each with a JSON pointer into raw. Keywords that are not of JSON
// Schema are ignored, as its specification demands.
func Compile(raw json.RawMessage) (*Schema, error) {
	s, err := compile(string(raw))
	if err != nil {
		return nil, err
	}
	return s, nil
}

// compile returns the schema as far as it can be made out, even beside an error.
func compile(src string) (*Schema, error) {
	src = strings.TrimSpace(src)
	if src == "" || src == "null" {
		return &Schema{}, nil
	}
	t, serr := read(src, strictness{depth: maxSchemaDepth})
	if serr != nil {
		return &Schema{}, &Error{Pointer: serr.Pointer, Message: serr.Error()}
	}
	t = t.keep()
	c := compiler{tape: t, nodes: make(map[int]*node), finders: make(map[int]finder), lists: make(map[int][]int),
		draft: draft2020, lenient: true}
	c.chooseDraft()
	root := c.schema(0, nil)
	affordable := c.chargeLibrary()
	s := &Schema{root: root, tape: t, patterns: c.patterns}
	if affordable && c.bounded() {
		s.shape = shapeOf(root, len(t.tokens))
	}
	if len(c.problems) > 0 {
		return s, errors.Join(c.problems...)
	}
	if c.beyond != "" {
		lib, err := newLibrary(t, c.draft)
		if err != nil {
			return s, err
		}
		s.library = lib
	}
	return s, nil
}

// chargeLibrary counts what the library takes, as if it were patterns: references by $id and unevaluated keywords take
// quadratic time, of subschemas that are true or false too. 4 000 names and values take at most 0.4 s.
// It reports whether that is not too much.
func (c *compiler) chargeLibrary() bool {
	if c.beyond == "" {
		return true
	}
	n := min(len(c.tokens), 10_000) // more is too much anyway
	if c.patterns = min(c.patterns+n*n/400, maxPatterns+1); c.patterns > maxPatterns {
		c.fail(nil, "the schema is too large for one with %s: split it, or do without that", c.beyond)
	}
	return c.patterns <= maxPatterns
}

// A compiler makes nodes of the tokens of a schema.
type compiler struct {
	*tape
	draft    draft
	lenient  bool // the schema does not say which draft it follows
	id       string
	nodes    map[int]*node  // by token
	finders  map[int]finder // of the objects that references lead through, by token
	lists    map[int][]int  // and the elements of such arrays
	known    names
	order    []*node
	problems []error
	patterns int    // their size
	beyond   string // the first keyword that only the library knows
}

func (c *compiler) fail(where *place, format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, &Error{Pointer: where.String(), Message: fmt.Sprintf(format, args...)})
	}
}

func (c *compiler) chooseDraft() {
	if i, ok := c.member(0, "$id"); ok && c.tokens[i].kind == shape.String {
		c.id = strings.TrimSuffix(c.str(i), "#")
	}
	i, ok := c.member(0, "$schema")
	if !ok {
		return
	}
	if c.tokens[i].kind != shape.String {
		c.fail((*place)(nil).to("$schema"),
			"$schema must be a string, such as \"https://json-schema.org/draft/2020-12/schema\"")
		return
	}
	switch s := c.str(i); {
	case strings.Contains(s, "2020-12"):
		c.draft, c.lenient = draft2020, false
	case strings.Contains(s, "2019-09"):
		c.draft, c.lenient = draft2019, false
	case strings.Contains(s, "draft-07"), strings.Contains(s, "draft-06"):
		c.draft, c.lenient = draft7, false
	case strings.Contains(s, "draft-0"):
		c.draft = draft7
	}
}

// schema returns the node of the schema at token tok.
func (c *compiler) schema(tok int, where *place) *node {
	if n := c.nodes[tok]; n != nil {
		return n
	}
	n := &node{pointer: where, token: tok}
	c.nodes[tok] = n
	c.order = append(c.order, n)
	switch c.tokens[tok].kind {
	case shape.Boolean:
		n.never = c.text(tok) == "false"
	case shape.Object:
		c.object(n)
	default:
		c.fail(where, "a schema must be an object, true or false, not %s", c.describe(tok))
	}
	return n
}

func (c *compiler) object(n *node) {
	if ref, ok := c.member(n.token, "$ref"); ok && c.draft == draft7 {
		c.keyword(n, "$ref", ref) // everything beside it is ignored
		if defs, ok := c.member(n.token, "definitions"); ok {
			c.keyword(n, "definitions", defs)
		}
		return
	}
	c.members(n.token, func(name string, value int) { c.keyword(n, name, value) })
	c.finish(n)
}

// finish does what needs more than one keyword.
func (c *compiler) finish(n *node) {
	if null, ok := c.member(n.token, "nullable"); ok && c.text(null) == "true" && n.types != 0 {
		n.types |= shape.Null
	}
	if o := n.object; o != nil && len(o.props) > fewProps {
		o.index = make(map[string]int, len(o.props))
		for i, p := range o.props {
			o.index[p.name] = i
		}
	}
	if a := n.array; a != nil && a.contains == nil {
		a.minContains, a.maxContains = -1, -1
	}
	if n.cond == nil {
		n.then, n.els = nil, nil
	}
}

// keyword compiles one keyword of the schema n.
func (c *compiler) keyword(n *node, name string, v int) {
	at := n.pointer.to(name)
	switch name {
	case "$ref":
		n.ref = c.reference(v, at)
	case "$id", "$anchor", "id":
		c.identifier(n, name, v)
	case "$defs", "definitions":
		c.schemaMap(v, at)
	case "type":
		n.types = c.typeSet(v, at)
	case "enum":
		n.enum = c.enumeration(v, at)
	case "const":
		n.konst = &enum{tape: c.tape, values: []int{v}}
	case "allOf":
		n.all = append(n.all, c.schemaList(v, at)...)
	case "anyOf":
		n.some = c.schemaList(v, at)
	case "oneOf":
		n.one = c.schemaList(v, at)
	case "not":
		n.not = c.schema(v, at)
	case "if":
		n.cond = c.schema(v, at)
	case "then":
		n.then = c.schema(v, at)
	case "else":
		n.els = c.schema(v, at)
	case "unevaluatedProperties", "unevaluatedItems":
		if c.draft != draft7 {
			c.schema(v, at)
			c.goBeyond(name)
		}
	case "$dynamicRef", "$recursiveRef":
		if c.draft != draft7 {
			c.dynamic(n, v)
			c.goBeyond(name)
		}
	default:
		if !c.numberKeyword(n, name, v, at) && !c.stringKeyword(n, name, v, at) && !c.arrayKeyword(n, name, v, at) {
			c.objectKeyword(n, name, v, at)
		}
	}
}

// dynamic takes a dynamic reference as a static one, for the shape and for the measure of the work. The
// library follows it.
func (c *compiler) dynamic(n *node, v int) {
	if c.tokens[v].kind != shape.String {
		return
	}
	ref := c.str(v)
	if ref == "#" {
		n.all = append(n.all, c.schema(0, nil))
	} else if tok, ok := c.anchor(strings.TrimPrefix(ref, "#")); ok {
		n.all = append(n.all, c.schema(tok, c.placeOf(tok)))
	}
}

func (c *compiler) goBeyond(keyword string) {
	if c.beyond == "" {
		c.beyond = keyword
	}
}

// identifier looks at a name that a schema gives itself. One that moves the base of references inside is for
// the library.
func (c *compiler) identifier(n *node, name string, v int) {
	if c.tokens[v].kind != shape.String {
		if name != "id" {
			c.fail(n.pointer.to(name), "%s must be a string, not %s", name, c.describe(v))
		}
		return
	}
	if name == "$id" && n.pointer != nil && !strings.HasPrefix(c.str(v), "#") {
		c.goBeyond(name)
	}
}

func (c *compiler) numberKeyword(n *node, name string, v int, at *place) bool {
	switch name {
	case "minimum":
		n.numbers().min = c.bound(v, at)
	case "maximum":
		n.numbers().max = c.bound(v, at)
	case "exclusiveMinimum", "exclusiveMaximum":
		c.exclusive(n, name, v, at)
	case "multipleOf":
		b := c.bound(v, at)
		if b != nil && b.dec.sign() <= 0 {
			c.fail(at, "multipleOf must be greater than 0, not %s", b.text)
			return true
		}
		n.numbers().multiple = b
	default:
		return false
	}
	return true
}

// exclusive reads a bound that is not reached. In draft-04 it was a flag beside minimum or maximum.
func (c *compiler) exclusive(n *node, name string, v int, at *place) {
	limit, other := &n.numbers().above, "minimum"
	if name == "exclusiveMaximum" {
		limit, other = &n.numbers().below, "maximum"
	}
	if c.tokens[v].kind != shape.Boolean || !c.lenient {
		*limit = c.bound(v, at)
		return
	}
	if o, ok := c.member(n.token, other); ok && c.text(v) == "true" {
		*limit = c.bound(o, n.pointer.to(other))
	}
}

func (c *compiler) bound(v int, at *place) *bound {
	if c.tokens[v].kind != shape.Number {
		c.fail(at, "%s must be a number, not %s", at.name, c.describe(v))
		return nil
	}
	return newBound(c.text(v))
}

func (c *compiler) stringKeyword(n *node, name string, v int, at *place) bool {
	switch name {
	case "minLength":
		n.strings().min = c.count(v, at)
	case "maxLength":
		n.strings().max = c.count(v, at)
	case "pattern":
		if c.tokens[v].kind != shape.String {
			c.fail(at, "pattern must be a string that holds a regular expression, not %s", c.describe(v))
			return true
		}
		s := n.strings()
		s.source = c.str(v)
		s.pattern = c.regexp(s.source, at)
	default:
		return false
	}
	return true
}

func (c *compiler) arrayKeyword(n *node, name string, v int, at *place) bool {
	switch name {
	case "items":
		c.items(n, v, at)
	case "prefixItems":
		if c.draft == draft2020 {
			n.arrays().prefix = c.schemaList(v, at)
		}
	case "additionalItems":
		c.additionalItems(n, v, at)
	case "minItems":
		n.arrays().min = c.count(v, at)
	case "maxItems":
		n.arrays().max = c.count(v, at)
	case "uniqueItems":
		n.arrays().unique = c.flag(v, at)
	case "contains":
		n.arrays().contains = c.schema(v, at)
	case "minContains", "maxContains":
		if c.draft == draft7 {
			break
		}
		if name == "minContains" {
			n.arrays().minContains = c.count(v, at)
		} else {
			n.arrays().maxContains = c.count(v, at)
		}
	default:
		return false
	}
	return true
}

func (c *compiler) items(n *node, v int, at *place) {
	a := n.arrays()
	if c.tokens[v].kind != shape.Array {
		a.rest, a.restKeyword = c.schema(v, at), "items"
		return
	}
	if c.draft == draft2020 && !c.lenient {
		c.fail(at, "items must be one schema in draft 2020-12; write prefixItems for a list of schemas")
		return
	}
	a.prefix = c.schemaList(v, at)
}

// additionalItems has a meaning only beside a list of schemas as items.
func (c *compiler) additionalItems(n *node, v int, at *place) {
	if c.draft == draft2020 && !c.lenient {
		return
	}
	sub := c.schema(v, at)
	if items, ok := c.member(n.token, "items"); ok && c.tokens[items].kind == shape.Array {
		n.arrays().rest, n.arrays().restKeyword = sub, "additionalItems"
	}
}

func (c *compiler) objectKeyword(n *node, name string, v int, at *place) {
	switch name {
	case "properties":
		o := n.objects()
		o.props = append(o.props, c.schemaMap(v, at)...)
	case "patternProperties":
		o := n.objects()
		for _, p := range c.schemaMap(v, at) {
			if re := c.regexp(p.name, at.to(p.name)); re != nil {
				o.patterns = append(o.patterns, patternRule{re: re, node: p.node})
			}
		}
	case "additionalProperties":
		n.objects().rest = c.schema(v, at)
	case "propertyNames":
		n.objects().names = c.schema(v, at)
	case "required":
		c.required(n, v, at)
	case "minProperties":
		n.objects().min = c.count(v, at)
	case "maxProperties":
		n.objects().max = c.count(v, at)
	case "dependentRequired", "dependentSchemas", "dependencies":
		c.dependencies(n, name, v, at)
	}
}

func (c *compiler) required(n *node, v int, at *place) {
	if c.tokens[v].kind == shape.Boolean {
		if !c.lenient {
			c.fail(at, "required must be a list of property names; it stands beside properties, not inside a property")
		}
		return // draft-03 wrote it inside the property; there it says nothing about this value
	}
	n.objects().required = c.names(v, at)
}

// dependencies reads the three keywords that say what goes with a property.
func (c *compiler) dependencies(n *node, keyword string, v int, at *place) {
	switch {
	case keyword == "dependencies" && c.draft == draft2020 && !c.lenient,
		keyword != "dependencies" && c.draft == draft7:
		return
	case c.tokens[v].kind != shape.Object:
		c.fail(at, "%s must be an object, not %s", keyword, c.describe(v))
		return
	}
	o := n.objects()
	c.members(v, func(name string, value int) {
		d := dependency{name: name, keyword: keyword}
		here := at.to(name)
		if keyword == "dependentRequired" || keyword == "dependencies" && c.tokens[value].kind == shape.Array {
			d.required = c.names(value, here)
		} else {
			d.schema = c.schema(value, here)
		}
		o.dependent = append(o.dependent, d)
	})
}

func (c *compiler) typeSet(v int, at *place) (t shape.Types) {
	switch c.tokens[v].kind {
	case shape.String:
		return c.typeName(v, at)
	case shape.Array:
		if c.tokens[v].n == 0 && !c.lenient {
			c.fail(at, "type must not be an empty list; leave it out to allow every type")
		}
		c.elements(v, func(i, el int) {
			here := at.to(itoa(i))
			if c.tokens[el].kind != shape.String {
				c.fail(here, "a type must be a string, not %s", c.describe(el))
				return
			}
			t |= c.typeName(el, here)
		})
		return t
	}
	c.fail(at, "type must be a type name or a list of them, not %s", c.describe(v))
	return 0
}

func (c *compiler) typeName(v int, at *place) shape.Types {
	name := c.str(v)
	if t, ok := typeOf(name); ok {
		return t
	}
	var names []string
	for _, t := range typeNames {
		names = append(names, t.name)
	}
	if hint := near.Hint(name, names); hint != "" {
		c.fail(at, "there is no type %q%s", name, hint)
	} else {
		c.fail(at, "there is no type %q; the types are %s", name, listOr(names))
	}
	return anyType
}

func (c *compiler) enumeration(v int, at *place) *enum {
	if c.tokens[v].kind != shape.Array {
		c.fail(at, "enum must be a list of the values allowed, not %s", c.describe(v))
		return nil
	}
	e := &enum{tape: c.tape}
	c.elements(v, func(_, el int) { e.values = append(e.values, el) })
	return e
}

func (c *compiler) schemaList(v int, at *place) (list []*node) {
	if c.tokens[v].kind != shape.Array || c.tokens[v].n == 0 {
		c.fail(at, "%s must be a list of at least one schema, not %s", at.name, c.describe(v))
		return nil
	}
	c.elements(v, func(i, el int) { list = append(list, c.schema(el, at.to(itoa(i)))) })
	return list
}

func (c *compiler) schemaMap(v int, at *place) (list []property) {
	if c.tokens[v].kind != shape.Object {
		c.fail(at, "%s must be an object that maps names to schemas, not %s", at.name, c.describe(v))
		return nil
	}
	c.members(v, func(name string, value int) {
		list = append(list, property{name: name, node: c.schema(value, at.to(name))})
	})
	return list
}

func (c *compiler) names(v int, at *place) (names []string) {
	if c.tokens[v].kind != shape.Array {
		c.fail(at, "%s must be a list of property names, not %s", at.name, c.describe(v))
		return nil
	}
	c.elements(v, func(i, el int) {
		if c.tokens[el].kind != shape.String {
			c.fail(at.to(itoa(i)), "a property name must be a string, not %s", c.describe(el))
			return
		}
		names = append(names, c.str(el))
	})
	return names
}

// count reads a number of things. One beyond all measure is as good as none.
func (c *compiler) count(v int, at *place) int {
	if c.tokens[v].kind == shape.Number {
		d := parseDecimal(c.text(v))
		if d.whole() && d.sign() >= 0 {
			if d.exp > 15 {
				return 1 << 50
			}
			n := 0
			for i := range int(d.exp) {
				n *= 10
				if i < len(d.digits) {
					n += int(d.digits[i] - '0')
				}
			}
			return n
		}
	}
	c.fail(at, "%s must be a whole number of at least 0, not %s", at.name, c.describe(v))
	return -1
}

func (c *compiler) flag(v int, at *place) bool {
	if c.tokens[v].kind != shape.Boolean {
		c.fail(at, "%s must be true or false, not %s", at.name, c.describe(v))
	}
	return c.text(v) == "true"
}

// bounded fails for schemas that come back to themselves without going deeper into the value, which could
// never end, and for those whose combinations are too many to try.
func (c *compiler) bounded() bool {
	for _, n := range c.order {
		if !n.measure() {
			c.fail(n.pointer,
				"the schema refers to itself without going deeper into the value, so checking it would never end")
			return false
		}
		if n.cost > maxSchemaCost {
			c.fail(n.pointer, "the schema combines too many subschemas for one value")
			return false
		}
	}
	return true
}
