package jinja

import (
	"math"
	"slices"
	"strings"
	"time"
)

// A scope holds variables. Assignments in a loop or a macro do not reach what is around it.
type scope struct {
	vars   map[string]value
	parent *scope
}

func newScope(parent *scope) *scope { return &scope{map[string]value{}, parent} }

// env is the state of one rendering.
type env struct {
	out   *strings.Builder
	scope *scope
	now   time.Time
	left  *int // steps
	depth int
	jump  jumpNode // that ends the loop or its turn; "": none
}

func (e *env) step(line int) {
	if *e.left--; *e.left < 0 {
		fail(line, "rendering takes more than %d steps", maxSteps)
	}
}

func (e *env) write(s string, line int) {
	if e.out.Len()+len(s) > maxOutput {
		fail(line, "the output has more than %d bytes", maxOutput)
	}
	e.out.WriteString(s)
}

func (e *env) lookup(name string) value {
	for s := e.scope; s != nil; s = s.parent {
		if v, ok := s.vars[name]; ok {
			return v
		}
	}
	if f, ok := globals[name]; ok {
		return f
	}
	return undefined{name}
}

func (e *env) run(body []node) {
	for _, n := range body {
		if n.run(e); e.jump != "" {
			return
		}
	}
}

// capture renders what is written meanwhile into a text of its own.
func (e *env) capture(run func()) string {
	out := e.out
	e.out = &strings.Builder{}
	run()
	text := e.out.String()
	e.out = out
	return text
}

// within runs in a scope of its own inside another.
func (e *env) within(parent *scope, line int, run func()) {
	if e.depth++; e.depth > maxDepth {
		fail(line, "calls are nested too deeply")
	}
	before := e.scope
	e.scope = newScope(parent)
	run()
	e.scope = before
	e.depth--
}

type node interface{ run(e *env) }

type textNode string

func (n textNode) run(e *env) { e.write(string(n), 0) }

type printNode struct {
	value  expr
	line   int
	silent bool
}

func (n *printNode) run(e *env) {
	e.step(n.line)
	if v := n.value.eval(e); !n.silent {
		e.write(text(v), n.line)
	}
}

type groupNode struct {
	body   []node
	filter *filterExpr
	scoped bool
}

func (n *groupNode) run(e *env) {
	switch {
	case n.filter != nil:
		f := *n.filter
		f.of = constExpr{e.capture(func() { e.run(n.body) })}
		e.write(text(f.eval(e)), f.line)
	case n.scoped:
		e.within(e.scope, 0, func() { e.run(n.body) })
	default:
		e.run(n.body)
	}
}

type ifNode struct {
	conds  []expr
	bodies [][]node
	other  []node
}

func (n *ifNode) run(e *env) {
	for i, c := range n.conds {
		if truth(c.eval(e)) {
			e.run(n.bodies[i])
			return
		}
	}
	e.run(n.other)
}

type jumpNode string

func (n jumpNode) run(e *env) { e.jump = n }

type forNode struct {
	names       []string
	over, cond  expr
	body, other []node
	line        int
}

func (n *forNode) run(e *env) {
	items := iterate(n.over.eval(e), n.line)
	if n.cond != nil {
		var kept []value
		for _, item := range items {
			e.within(e.scope, n.line, func() {
				e.unpack(n.names, item, n.line)
				if truth(n.cond.eval(e)) {
					kept = append(kept, item)
				}
			})
		}
		items = kept
	}
	if len(items) == 0 {
		e.run(n.other)
		return
	}
	around := e.scope
	for i := range items {
		e.step(n.line)
		e.within(around, n.line, func() {
			e.scope.vars["loop"] = loopAt(items, i)
			e.unpack(n.names, items[i], n.line)
			e.run(n.body)
		})
		jump := e.jump
		if e.jump = ""; jump == "break" {
			return
		}
	}
}

func loopAt(items []value, i int) *dict {
	d := newDict()
	d.set("index", i+1)
	d.set("index0", i)
	d.set("revindex", len(items)-i)
	d.set("revindex0", len(items)-i-1)
	d.set("first", i == 0)
	d.set("last", i == len(items)-1)
	d.set("length", len(items))
	d.set("depth", 1)
	if i > 0 {
		d.set("previtem", items[i-1])
	}
	if i+1 < len(items) {
		d.set("nextitem", items[i+1])
	}
	d.set("cycle", function(func(e *env, c *callArgs) value {
		if len(c.args) == 0 {
			fail(c.line, "cycle takes arguments")
		}
		return c.args[i%len(c.args)]
	}))
	return d
}

func (e *env) unpack(names []string, v value, line int) {
	if len(names) == 1 {
		e.scope.vars[names[0]] = v
		return
	}
	items := iterate(v, line)
	if len(items) != len(names) {
		fail(line, "%d values for %d names", len(items), len(names))
	}
	for i, name := range names {
		e.scope.vars[name] = items[i]
	}
}

func iterate(v value, line int) []value {
	switch v := v.(type) {
	case undefined:
		return nil
	case *list:
		return slices.Clone(v.items)
	case *dict:
		return keysOf(v)
	case string:
		var items []value
		for _, r := range v {
			items = append(items, string(r))
		}
		return items
	}
	fail(line, "%s cannot be iterated", kindOf(v))
	return nil
}

func keysOf(d *dict) []value {
	items := make([]value, len(d.keys))
	for i, k := range d.keys {
		items[i] = d.key(k)
	}
	return items
}

func kindOf(v value) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case undefined:
		return v.name + ", which is undefined,"
	case bool:
		return "a boolean"
	case int, float64:
		return "a number"
	case string:
		return "a string"
	case *list:
		return "a list"
	case *dict:
		return "a mapping"
	}
	return "a function"
}

type setNode struct {
	names   []string
	member  string
	value   expr
	block   bool
	filters []filterExpr
	body    []node
	line    int
}

func (n *setNode) run(e *env) {
	e.step(n.line)
	var v value
	if n.block {
		v = e.capture(func() { e.run(n.body) })
		for _, f := range n.filters {
			f.of = constExpr{v}
			v = f.eval(e)
		}
	} else {
		v = n.value.eval(e)
	}
	if n.member == "" {
		e.unpack(n.names, v, n.line)
		return
	}
	d, ok := e.lookup(n.names[0]).(*dict)
	if !ok {
		fail(n.line, "%s is no namespace", n.names[0])
	}
	d.set(n.member, v)
}

type macroNode struct {
	name     string
	params   []string
	defaults []expr
	body     []node
	line     int
}

func (n *macroNode) run(e *env) {
	around := e.scope
	e.scope.vars[n.name] = function(func(e *env, c *callArgs) value {
		if len(c.args) > len(n.params) {
			fail(c.line, "%s takes %d arguments", n.name, len(n.params))
		}
		var text string
		e.within(around, c.line, func() {
			for i, p := range n.params {
				v, ok := c.arg(i, p)
				switch {
				case ok:
				case n.defaults[i] != nil:
					v = n.defaults[i].eval(e)
				default:
					v = undefined{p}
				}
				e.scope.vars[p] = v
			}
			text = e.capture(func() { e.run(n.body) })
		})
		return text
	})
}

type expr interface{ eval(e *env) value }

type constExpr struct{ v value }

func (x constExpr) eval(*env) value { return x.v }

type nameExpr struct{ name string }

func (x *nameExpr) eval(e *env) value { return e.lookup(x.name) }

type listExpr struct {
	items []expr
	tuple bool
}

func (x *listExpr) eval(e *env) value {
	l := &list{tuple: x.tuple}
	for _, item := range x.items {
		l.items = append(l.items, item.eval(e))
	}
	return l
}

type dictExpr struct{ keys, values []expr }

func (x *dictExpr) eval(e *env) value {
	d := newDict()
	for i := range x.keys {
		key := x.keys[i].eval(e)
		if _, ok := key.(string); !ok {
			if d.others == nil {
				d.others = map[string]value{}
			}
			d.others[text(key)] = key
		}
		d.set(text(key), x.values[i].eval(e))
	}
	return d
}

type condExpr struct{ cond, yes, no expr }

func (x *condExpr) eval(e *env) value {
	switch {
	case truth(x.cond.eval(e)):
		return x.yes.eval(e)
	case x.no != nil:
		return x.no.eval(e)
	}
	return undefined{"the value without else"}
}

type logicExpr struct {
	or   bool
	a, b expr
}

func (x *logicExpr) eval(e *env) value {
	if v := x.a.eval(e); truth(v) == x.or {
		return v
	}
	return x.b.eval(e)
}

type notExpr struct{ x expr }

func (x *notExpr) eval(e *env) value { return !truth(x.x.eval(e)) }

type binaryExpr struct {
	op   string
	a, b expr
	line int
}

func (x *binaryExpr) eval(e *env) value {
	e.step(x.line)
	a, b := x.a.eval(e), x.b.eval(e)
	switch x.op {
	case "~":
		return x.join(text(a), text(b))
	case "==":
		return equal(a, b)
	case "!=":
		return !equal(a, b)
	case "in":
		return contains(b, a, x.line)
	case "not in":
		return !contains(b, a, x.line)
	case "<", ">", "<=", ">=":
		return x.ordered(a, b)
	}
	return x.arithmetic(a, b)
}

func (x *binaryExpr) join(a, b string) string {
	if len(a)+len(b) > maxOutput {
		fail(x.line, "a text has more than %d bytes", maxOutput)
	}
	return a + b
}

func contains(in, v value, line int) bool {
	switch in := in.(type) {
	case undefined:
		return false
	case string:
		s, ok := v.(string)
		return ok && strings.Contains(in, s)
	case *list:
		return slices.ContainsFunc(in.items, func(item value) bool { return equal(item, v) })
	case *dict:
		s, ok := v.(string)
		_, has := in.values[s]
		return ok && has
	}
	fail(line, "%s contains nothing", kindOf(in))
	return false
}

func compare(a, b value, line int) int {
	if s, ok := a.(string); ok {
		if t, ok := b.(string); ok {
			return strings.Compare(s, t)
		}
	}
	x, ok := number(a)
	y, also := number(b)
	if !ok || !also {
		fail(line, "%s and %s cannot be compared", kindOf(a), kindOf(b))
	}
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

func (x *binaryExpr) ordered(a, b value) bool {
	switch n := compare(a, b, x.line); x.op {
	case "<":
		return n < 0
	case ">":
		return n > 0
	case "<=":
		return n <= 0
	default:
		return n >= 0
	}
}

func (x *binaryExpr) arithmetic(a, b value) value {
	switch s := a.(type) {
	case string:
		if t, ok := b.(string); ok && x.op == "+" {
			return x.join(s, t)
		}
		if n, ok := b.(int); ok && x.op == "*" {
			if n = max(n, 0); n > 0 && len(s) > maxOutput/n {
				fail(x.line, "a text has more than %d bytes", maxOutput)
			}
			return strings.Repeat(s, n)
		}
	case *list:
		if l, ok := b.(*list); ok && x.op == "+" {
			return &list{items: append(slices.Clone(s.items), l.items...)}
		}
	}
	f, ok := number(a)
	g, also := number(b)
	if !ok || !also {
		fail(x.line, "%s and %s do not go with %s", kindOf(a), kindOf(b), x.op)
	}
	if (x.op == "/" || x.op == "//" || x.op == "%") && g == 0 {
		fail(x.line, "division by zero")
	}
	var r float64
	switch x.op {
	case "+":
		r = f + g
	case "-":
		r = f - g
	case "*":
		r = f * g
	case "/":
		return f / g
	case "//":
		r = math.Floor(f / g)
	case "%":
		r = f - g*math.Floor(f/g)
	default:
		r = math.Pow(f, g)
	}
	_, float := a.(float64)
	_, floats := b.(float64)
	if !float && !floats && math.Abs(r) < 1<<53 && r == math.Trunc(r) {
		return int(r)
	}
	return r
}

type memberExpr struct {
	of, key expr
	line    int
	dotted  bool
}

func (x *memberExpr) eval(e *env) value {
	e.step(x.line)
	of, key := x.of.eval(e), x.key.eval(e)
	if u, ok := of.(undefined); ok {
		fail(x.line, "%s is undefined", u.name)
	}
	name, named := key.(string)
	if d, ok := of.(*dict); ok && (named || d.others != nil) {
		if v, ok := d.values[text(key)]; ok {
			return v
		}
	}
	if i, ok := key.(int); ok {
		if v, ok := itemAt(of, i); ok {
			return v
		}
	}
	if named && x.dotted {
		if m := method(of, name); m != nil {
			return m
		}
	}
	return undefined{text(key)}
}

func itemAt(of value, i int) (value, bool) {
	switch of := of.(type) {
	case *list:
		if i < 0 {
			i += len(of.items)
		}
		if i >= 0 && i < len(of.items) {
			return of.items[i], true
		}
	case string:
		runes := []rune(of)
		if i < 0 {
			i += len(runes)
		}
		if i >= 0 && i < len(runes) {
			return string(runes[i]), true
		}
	}
	return nil, false
}

type sliceExpr struct {
	of    expr
	parts [3]expr
	line  int
}

func (x *sliceExpr) eval(e *env) value {
	of := x.of.eval(e)
	items := iterate(of, x.line)
	part := func(k, missing int) int {
		if x.parts[k] == nil {
			return missing
		}
		switch n := x.parts[k].eval(e).(type) {
		case int:
			return n
		case nil:
			return missing
		}
		fail(x.line, "the bound of a slice is no number")
		return 0
	}
	step := part(2, 1)
	if step == 0 {
		fail(x.line, "the step of a slice is 0")
	}
	low, high := 0, len(items)
	if step < 0 {
		low, high = -1, len(items)-1
	}
	bound := func(k, missing int) int {
		if x.parts[k] == nil {
			return missing
		}
		n := part(k, missing)
		if n < 0 {
			n += len(items)
		}
		return min(max(n, low), high)
	}
	var kept []value
	if step > 0 {
		for i, end := bound(0, 0), bound(1, len(items)); i < end; i += step {
			kept = append(kept, items[i])
		}
	} else {
		for i, end := bound(0, len(items)-1), bound(1, -1); i > end; i += step {
			kept = append(kept, items[i])
		}
	}
	if _, ok := of.(string); ok {
		var b strings.Builder
		for _, v := range kept {
			b.WriteString(v.(string))
		}
		return b.String()
	}
	return &list{items: kept}
}

type argument struct {
	name  string
	value expr
}

// callArgs hold the arguments of a function.
type callArgs struct {
	args  []value
	named map[string]value
	line  int
}

// arg returns an argument by its place or its name.
func (c *callArgs) arg(i int, name string) (value, bool) {
	if i < len(c.args) {
		return c.args[i], true
	}
	v, ok := c.named[name]
	return v, ok
}

// or returns an argument, or d.
func (c *callArgs) or(i int, name string, d value) value {
	if v, ok := c.arg(i, name); ok {
		return v
	}
	return d
}

func (c *callArgs) str(i int, name, d string) string {
	v, ok := c.arg(i, name)
	if s, isString := v.(string); isString {
		return s
	}
	if ok && v != nil {
		fail(c.line, "an argument is %s and no string", kindOf(v))
	}
	return d
}

func (e *env) arguments(args []argument, line int) *callArgs {
	c := &callArgs{line: line}
	for _, a := range args {
		v := a.value.eval(e)
		if a.name == "" {
			c.args = append(c.args, v)
			continue
		}
		if c.named == nil {
			c.named = map[string]value{}
		}
		c.named[a.name] = v
	}
	return c
}

type callExpr struct {
	of   expr
	args []argument
	line int
}

func (x *callExpr) eval(e *env) value {
	e.step(x.line)
	f, ok := x.of.eval(e).(function)
	if !ok {
		fail(x.line, "%s is called and no function", describe(x.of))
	}
	return f(e, e.arguments(x.args, x.line))
}

func describe(x expr) string {
	switch x := x.(type) {
	case *nameExpr:
		return x.name
	case *memberExpr:
		if k, ok := x.key.(constExpr); ok {
			return text(k.v)
		}
	}
	return "something"
}

type filterExpr struct {
	of   expr
	name string
	args []argument
	line int
}

func (x *filterExpr) eval(e *env) value {
	e.step(x.line)
	f, ok := filters[x.name]
	if !ok {
		fail(x.line, "the filter %q is not known", x.name)
	}
	return f(e, x.of.eval(e), e.arguments(x.args, x.line))
}

type testExpr struct {
	of   expr
	name string
	args []argument
	line int
}

func (x *testExpr) eval(e *env) value {
	return test(x.name, x.of.eval(e), e.arguments(x.args, x.line))
}
