package schema

import (
	"fmt"
	"slices"
	"strings"

	"wield/schema/near"
	"wield/schema/shape"
)

// A validator walks over the tokens of one document.
type validator struct {
	*tape
	path  []step
	found []Violation
	inner int // how many explanations of alternatives this is inside of
	quiet int // not zero: only whether something is wrong matters
	steps int // left before the validator gives up, which is when they are negative
}

// check reports whether the value at token i obeys n, and records what it breaks unless the validator is quiet.
func (v *validator) check(n *node, i int) bool {
	if v.steps--; v.steps < 0 {
		return false
	}
	if n.never {
		return v.fail("false", "nothing is allowed here")
	}
	kind := v.tokens[i].kind
	if n.types != 0 && !v.isType(n.types, i) {
		if v.quiet > 0 {
			return false
		}
		return v.fail("type", "want %s, got %s", listTypes(n.types), v.describe(i))
	}
	ok := v.checkValues(n, i)
	if !ok && v.quiet > 0 {
		return false
	}
	switch {
	case kind == shape.Number && n.number != nil:
		ok = v.checkNumber(n.number, i) && ok
	case kind == shape.String && n.str != nil:
		ok = v.checkString(n.str, i) && ok
	case kind == shape.Array && n.array != nil:
		ok = v.checkArray(n.array, i) && ok
	case kind == shape.Object && n.object != nil:
		ok = v.checkObject(n.object, i) && ok
	}
	if !ok && v.quiet > 0 {
		return false
	}
	return v.checkCombined(n, i) && ok
}

// fail records a violation at the current path. It returns false.
func (v *validator) fail(keyword, format string, args ...any) bool {
	if v.quiet == 0 && len(v.found) < maxViolations {
		v.found = append(v.found, Violation{Pointer: v.pointer(v.path), Keyword: keyword,
			Message: fmt.Sprintf(format, args...)})
	}
	return false
}

// holds reports whether the value obeys n, and records nothing.
func (v *validator) holds(n *node, i int) bool {
	v.quiet++
	ok := v.check(n, i)
	v.quiet--
	return ok
}

func (v *validator) isType(t shape.Types, i int) bool {
	kind := v.tokens[i].kind
	if t.Has(kind) {
		return true
	}
	return kind == shape.Number && t.Has(shape.Integer) && isWhole(v.text(i))
}

func (v *validator) checkValues(n *node, i int) bool {
	if n.enum != nil && !v.inEnum(n.enum, i) {
		if v.quiet > 0 {
			return false
		}
		return v.fail("enum", "%s is not allowed; want %s", preview(v.text(i)), n.enum.list())
	}
	if n.konst != nil && !v.inEnum(n.konst, i) {
		if v.quiet > 0 {
			return false
		}
		return v.fail("const", "%s is not allowed; want %s", preview(v.text(i)), n.konst.list())
	}
	return true
}

func (v *validator) inEnum(e *enum, i int) bool {
	for _, value := range e.values {
		if equal(v.tape, i, e.tape, value) {
			return true
		}
	}
	return false
}

func (v *validator) checkNumber(r *numberRules, i int) bool {
	text, ok := v.text(i), true
	if r.min != nil && r.min.cmp(text) < 0 {
		ok = v.fail("minimum", "%s is too small; want at least %s", preview(text), r.min.text)
	}
	if r.max != nil && r.max.cmp(text) > 0 {
		ok = v.fail("maximum", "%s is too large; want at most %s", preview(text), r.max.text)
	}
	if r.above != nil && r.above.cmp(text) <= 0 {
		ok = v.fail("exclusiveMinimum", "%s is too small; want more than %s", preview(text), r.above.text)
	}
	if r.below != nil && r.below.cmp(text) >= 0 {
		ok = v.fail("exclusiveMaximum", "%s is too large; want less than %s", preview(text), r.below.text)
	}
	if r.multiple != nil && !r.multiple.divides(text) {
		ok = v.fail("multipleOf", "%s is not a multiple of %s", preview(text), r.multiple.text)
	}
	return ok
}

func (v *validator) checkString(r *stringRules, i int) bool {
	ok := true
	if r.min >= 0 || r.max >= 0 {
		n := v.length(i)
		if r.min >= 0 && n < r.min {
			ok = v.fail("minLength", "%s has %s; want at least %d", preview(v.text(i)), count(n, "character"), r.min)
		}
		if r.max >= 0 && n > r.max {
			ok = v.fail("maxLength", "%s has %s; want at most %d", preview(v.text(i)), count(n, "character"), r.max)
		}
	}
	if r.pattern != nil && !r.pattern.MatchString(v.str(i)) {
		ok = v.fail("pattern", "%s does not match the pattern %s", preview(v.text(i)), r.source)
	}
	return ok
}

func (v *validator) checkArray(r *arrayRules, arr int) bool {
	ok, n := true, v.tokens[arr].n
	if r.min >= 0 && n < r.min {
		ok = v.fail("minItems", "has %s; want at least %d", count(n, "item"), r.min)
	}
	if r.max >= 0 && n > r.max {
		ok = v.fail("maxItems", "has %s; want at most %d", count(n, "item"), r.max)
	}
	if (ok || v.quiet == 0) && (len(r.prefix) > 0 || r.rest != nil) {
		ok = v.checkItems(r, arr) && ok
	}
	if r.unique && n > 1 && (ok || v.quiet == 0) {
		if a, b, same := duplicates(v.tape, arr); same {
			ok = v.fail("uniqueItems", "items %d and %d are equal; want every item only once", a, b)
		}
	}
	if r.contains != nil && (ok || v.quiet == 0) {
		ok = v.checkContains(r, arr) && ok
	}
	return ok
}

func (v *validator) checkItems(r *arrayRules, arr int) bool {
	ok, n := true, 0
	v.path = append(v.path, step{})
	for i := arr + 1; i < v.tokens[arr].next; i = v.tokens[i].next {
		sub := r.rest
		if n < len(r.prefix) {
			sub = r.prefix[n]
		}
		n++
		if sub == nil {
			break
		}
		v.path[len(v.path)-1] = step{index: n}
		if sub.never && n > len(r.prefix) {
			ok = v.fail(r.restKeyword, "too many items; want at most %d", len(r.prefix))
		} else {
			ok = v.check(sub, i) && ok
		}
		if !ok && v.quiet > 0 {
			break
		}
	}
	v.path = v.path[:len(v.path)-1]
	return ok
}

func (v *validator) checkContains(r *arrayRules, arr int) bool {
	n := 0
	for i := arr + 1; i < v.tokens[arr].next; i = v.tokens[i].next {
		if v.holds(r.contains, i) {
			n++
		}
	}
	least := 1
	if r.minContains >= 0 {
		least = r.minContains
	}
	switch {
	case n < least && r.minContains >= 0:
		return v.fail("minContains", "has %s of the kind that contains demands; want at least %d", count(n, "item"),
			least)
	case n < least:
		return v.fail("contains", "no item is of the kind that contains demands")
	case r.maxContains >= 0 && n > r.maxContains:
		return v.fail("maxContains", "has %s of the kind that contains demands; want at most %d", count(n, "item"),
			r.maxContains)
	}
	return true
}

func (v *validator) checkObject(r *objectRules, obj int) bool {
	ok, n := true, v.tokens[obj].n
	has := v.finder(obj, len(r.required))
	for _, name := range r.required {
		if _, there := has.member(name); !there {
			if v.quiet > 0 {
				return false
			}
			ok = v.missing("required", "missing required property", name)
		}
	}
	if len(r.props) > 0 || len(r.patterns) > 0 || r.rest != nil || r.names != nil {
		ok = v.checkMembers(r, obj) && ok
	}
	if r.min >= 0 && n < r.min {
		ok = v.fail("minProperties", "has %s; want at least %d", count(n, "property"), r.min)
	}
	if r.max >= 0 && n > r.max {
		ok = v.fail("maxProperties", "has %s; want at most %d", count(n, "property"), r.max)
	}
	for i := range r.dependent {
		ok = v.checkDependency(&r.dependent[i], obj) && ok
	}
	return ok
}

// missing records that the property name is not there.
func (v *validator) missing(keyword, message, name string) bool {
	if v.quiet == 0 && len(v.found) < maxViolations {
		v.found = append(v.found, Violation{
			Pointer: v.pointer(v.path) + "/" + escapePointer(name), Keyword: keyword, Message: message, Missing: name})
	}
	return false
}

func (v *validator) checkMembers(r *objectRules, obj int) bool {
	ok := true
	v.path = append(v.path, step{})
	for i := obj + 1; i < v.tokens[obj].next; i = v.tokens[i+1].next {
		v.path[len(v.path)-1] = step{name: i}
		ok = v.checkMember(r, i) && ok
		if !ok && v.quiet > 0 {
			break
		}
	}
	v.path = v.path[:len(v.path)-1]
	return ok
}

// checkMember checks the member whose name is at token i.
func (v *validator) checkMember(r *objectRules, i int) bool {
	name, ok, known := v.str(i), true, false
	if sub := r.prop(name); sub != nil {
		known = true
		ok = v.check(sub, i+1)
	}
	for _, p := range r.patterns {
		if p.re.MatchString(name) {
			known = true
			ok = v.check(p.node, i+1) && ok
		}
	}
	if !known && r.rest != nil {
		if r.rest.never {
			ok = v.unknown(r, name)
		} else {
			ok = v.check(r.rest, i+1) && ok
		}
	}
	if r.names != nil && !v.holds(r.names, i) {
		ok = v.fail("propertyNames", "the name %s is not allowed%s", preview(v.text(i)), v.why(r.names, i))
	}
	return ok
}

func (v *validator) unknown(r *objectRules, name string) bool {
	if v.quiet > 0 {
		return false
	}
	names := r.propNames()
	if hint := near.Hint(name, names); hint != "" {
		return v.fail("additionalProperties", "unknown property%s", hint)
	}
	switch {
	case len(names) == 0:
		return v.fail("additionalProperties", "unknown property; none is allowed here")
	case len(names) > 20:
		names = append(names[:20:20], "...")
	}
	return v.fail("additionalProperties", "unknown property; want only %s", strings.Join(names, ", "))
}

func (v *validator) checkDependency(d *dependency, obj int) bool {
	if _, has := v.member(obj, d.name); !has {
		return true
	}
	ok := true
	for _, name := range d.required {
		if _, has := v.member(obj, name); !has {
			ok = v.missing(d.keyword, fmt.Sprintf("missing property, which is required beside %q", d.name), name)
		}
	}
	if d.schema != nil {
		ok = v.check(d.schema, obj) && ok
	}
	return ok
}

// checkCombined checks the subschemas that look at the same value.
func (v *validator) checkCombined(n *node, i int) bool {
	ok := n.ref == nil || v.check(n.ref, i)
	for _, sub := range n.all {
		if !ok && v.quiet > 0 {
			return false
		}
		ok = v.check(sub, i) && ok
	}
	if n.some != nil && !v.anyHolds(n.some, i) {
		ok = v.noneFits("anyOf", n.some, i)
	}
	if n.one != nil {
		ok = v.checkOne(n.one, i) && ok
	}
	if n.not != nil && v.holds(n.not, i) {
		ok = v.fail("not", "%s is not allowed here", v.describe(i))
	}
	if n.cond != nil {
		branch := n.els
		if v.holds(n.cond, i) {
			branch = n.then
		}
		if branch != nil {
			ok = v.check(branch, i) && ok
		}
	}
	return ok
}

func (v *validator) anyHolds(list []*node, i int) bool {
	for _, sub := range list {
		if v.holds(sub, i) {
			return true
		}
	}
	return false
}

func (v *validator) checkOne(list []*node, i int) bool {
	first := -1
	for k, sub := range list {
		if !v.holds(sub, i) {
			continue
		}
		if first >= 0 {
			return v.fail("oneOf", "fits more than one of the forms allowed (%d and %d); want exactly one", first+1,
				k+1)
		}
		first = k
	}
	if first < 0 {
		return v.noneFits("oneOf", list, i)
	}
	return true
}

// noneFits says why a value has none of the forms in list. If only one of them is of the value's type, what is wrong
// with that one says it best.
func (v *validator) noneFits(keyword string, list []*node, i int) bool {
	if v.quiet > 0 {
		return false
	}
	if v.inner == maxInner {
		return v.fail(keyword, "fits none of the %d forms allowed", len(list))
	}
	reasons := make([][]Violation, len(list))
	for k, sub := range list {
		reasons[k] = v.reasons(sub, i)
	}
	if likely := meant(reasons, len(v.pointer(v.path))); likely != nil {
		v.found = append(v.found, likely...)
		return false
	}
	var texts []string
	for _, r := range reasons {
		if len(r) > 0 && len(texts) < 8 {
			texts = append(texts, strings.TrimPrefix(r[0].String(), v.pointer(v.path)+": "))
		}
	}
	return v.fail(keyword, "fits none of the %d forms allowed: %s", len(list), strings.Join(texts, "; or "))
}

// meant returns the reasons against the one form that a value was likely meant to have; nil: there is no such form.
func meant(reasons [][]Violation, depth int) []Violation {
	var likely, best [][]Violation
	for _, r := range reasons {
		if len(r) == 0 || len(r[0].Pointer) <= depth && isShallow(r[0].Keyword) {
			continue
		}
		likely = append(likely, r)
		if !slices.ContainsFunc(r, func(v Violation) bool { return v.Keyword == "const" }) {
			best = append(best, r)
		}
	}
	if len(likely) != 1 {
		likely = best // a const tells one form from another
	}
	if len(likely) != 1 {
		return nil
	}
	return likely[0]
}

// maxInner limits the depth to which nested alternatives are explained.
const maxInner = 3

// isShallow reports whether a violation of keyword means that a value is something else altogether.
func isShallow(keyword string) bool {
	return keyword == "type" || keyword == "const" || keyword == "enum"
}

// reasons returns the violations of n alone.
func (v *validator) reasons(n *node, i int) []Violation {
	kept := v.found
	v.found = nil
	v.inner++
	v.check(n, i)
	v.inner--
	r := v.found
	v.found = kept
	return r
}

// why returns the reason why the value breaks n, to be put behind a message.
func (v *validator) why(n *node, i int) string {
	if v.quiet > 0 {
		return ""
	}
	if r := v.reasons(n, i); len(r) > 0 {
		return ": " + r[0].Message
	}
	return ""
}

// walk applies n to the value at token i and all below without stopping at what is decided, as the library does, and so
// finds out whether that would take too many steps.
func (v *validator) walk(n *node, i int) {
	if v.steps--; v.steps < 0 {
		return
	}
	n.inPlace(func(sub *node) { v.walk(sub, i) })
	switch tok := v.tokens[i]; {
	case tok.kind == shape.Array && n.array != nil:
		v.walkItems(n.array, i)
	case tok.kind == shape.Object && n.object != nil:
		for m := i + 1; m < tok.next; m = v.tokens[m+1].next {
			v.walkMember(n.object, m)
		}
	}
}

func (v *validator) walkItems(r *arrayRules, arr int) {
	k := 0
	for i := arr + 1; i < v.tokens[arr].next; i = v.tokens[i].next {
		sub := r.rest
		if k < len(r.prefix) {
			sub = r.prefix[k]
		}
		k++
		if sub != nil {
			v.walk(sub, i)
		}
		if r.contains != nil {
			v.walk(r.contains, i)
		}
	}
}

func (v *validator) walkMember(r *objectRules, m int) {
	if sub := r.prop(v.str(m)); sub != nil {
		v.walk(sub, m+1)
	}
	for _, p := range r.patterns {
		v.walk(p.node, m+1)
	}
	if r.rest != nil {
		v.walk(r.rest, m+1)
	}
}
