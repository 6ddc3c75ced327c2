package schema

import (
	"errors"
	"net/url"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"

	"wield/schema/shape"
)

// reference returns the node that the $ref at token v leads to, nil if it leads nowhere or beyond the document.
func (c *compiler) reference(v int, at *place) *node {
	if c.tokens[v].kind != shape.String {
		c.fail(at, "$ref must be a string, not %s", c.describe(v))
		return nil
	}
	ref := c.str(v)
	document, fragment, _ := strings.Cut(ref, "#")
	if document != "" && !c.self(document) {
		if isMetaschema(document) || c.hasIdentifiers() {
			c.goBeyond("$ref")
			return nil
		}
		c.fail(at, "%q is another document, and none is loaded; copy the schema into $defs and refer to it as "+
			"\"#/$defs/NAME\"", ref)
		return nil
	}
	name, err := url.PathUnescape(fragment)
	if err != nil {
		c.fail(at, "%q is not a valid reference: %v", ref, err)
		return nil
	}
	if name != "" && name[0] != '/' {
		if tok, ok := c.anchor(name); ok {
			return c.schema(tok, c.placeOf(tok))
		}
		if c.hasIdentifiers() {
			c.goBeyond("$ref")
			return nil
		}
		c.fail(at, "no schema here has the $anchor %q", name)
		return nil
	}
	tok, missing, ok := c.resolve(name)
	if !ok {
		if c.hasIdentifiers() {
			c.goBeyond("$ref")
			return nil
		}
		c.fail(at, "%q leads nowhere: the schema has no %s", ref, missing)
		return nil
	}
	if name == "" {
		return c.schema(tok, nil)
	}
	return c.schema(tok, &place{written: true, name: name})
}

// self reports whether a document's address is that of the schema itself.
func (c *compiler) self(document string) bool {
	if c.id == "" {
		return false
	}
	base, err := url.Parse(c.id)
	if err != nil {
		return document == c.id
	}
	u, err := base.Parse(document)
	return err == nil && u.String() == base.String()
}

func isMetaschema(document string) bool {
	return strings.HasPrefix(document, "http://json-schema.org/") ||
		strings.HasPrefix(document, "https://json-schema.org/")
}

// names maps references to the schemas in a document. It is filled when the first reference asks.
type names struct {
	gathered    bool
	identifiers bool           // a schema within has an $id, which gives references another base
	anchors     map[string]int // tokens by $anchor, or in draft-07 by an $id that is a fragment
	// for each value the token of the member's name, or minus the element's number, that leads to it
	above  []int
	within []int // and the token of the object or array that it is in
}

// hasIdentifiers reports whether a schema within has an $id, which gives references another base.
func (c *compiler) hasIdentifiers() bool {
	c.gather()
	return c.known.identifiers
}

// anchor finds the schema of a name.
func (c *compiler) anchor(name string) (int, bool) {
	c.gather()
	tok, ok := c.known.anchors[name]
	return tok, ok
}

func (c *compiler) gather() {
	k := &c.known
	if k.gathered {
		return
	}
	*k = names{gathered: true, anchors: make(map[string]int), above: make([]int, len(c.tokens)),
		within: make([]int, len(c.tokens))}
	for i := range c.tokens {
		switch c.tokens[i].kind {
		case shape.Object:
			for m := i + 1; m < c.tokens[i].next; m = c.tokens[m+1].next {
				k.above[m+1], k.within[m+1] = m, i
				c.gatherName(i, c.str(m), m+1)
			}
		case shape.Array:
			c.elements(i, func(n, el int) { k.above[el], k.within[el] = -n, i })
		}
	}
}

// gatherName takes down the name that a member of an object gives it, if it does. Of several schemas of one
// name the first counts.
func (c *compiler) gatherName(obj int, member string, value int) {
	if len(member) == 0 || member[0] != '$' || c.tokens[value].kind != shape.String {
		return
	}
	name := c.str(value)
	fragment, isFragment := strings.CutPrefix(name, "#")
	switch {
	case member == "$id" && !isFragment:
		c.known.identifiers = c.known.identifiers || obj > 0
		return
	case member == "$id" && c.draft == draft7:
		name = fragment
	case member == "$anchor" && c.draft != draft7, member == "$dynamicAnchor" && c.draft == draft2020:
	default:
		return
	}
	if _, ok := c.known.anchors[name]; !ok {
		c.known.anchors[name] = obj
	}
}

// resolve follows a JSON pointer. When it leads nowhere, missing is the part of it that does not exist.
func (c *compiler) resolve(pointer string) (tok int, missing string, ok bool) {
	for at := 0; at < len(pointer); {
		end := at + 1
		for end < len(pointer) && pointer[end] != '/' {
			end++
		}
		name := strings.ReplaceAll(strings.ReplaceAll(pointer[at+1:end], "~1", "/"), "~0", "~")
		if tok, ok = c.child(tok, name); !ok {
			return 0, pointer[:end], false
		}
		at = end
	}
	return tok, "", true
}

func (c *compiler) child(tok int, name string) (int, bool) {
	if c.tokens[tok].kind == shape.Object {
		f, ok := c.finders[tok]
		if !ok {
			f = c.finder(tok, c.tokens[tok].n)
			c.finders[tok] = f
		}
		return f.member(name)
	}
	want, err := strconv.Atoi(name)
	if c.tokens[tok].kind != shape.Array || err != nil || want < 0 || want >= c.tokens[tok].n {
		return 0, false
	}
	list, ok := c.lists[tok]
	if !ok {
		c.elements(tok, func(_, el int) { list = append(list, el) })
		c.lists[tok] = list
	}
	return list[want], true
}

// placeOf returns the place of token target.
func (c *compiler) placeOf(target int) *place {
	c.gather()
	if target == 0 {
		return nil
	}
	up := c.placeOf(c.known.within[target])
	at := c.known.above[target]
	if at > 0 {
		return up.to(c.str(at))
	}
	return up.to(itoa(-at))
}

// regexp compiles a pattern of ECMA-262.
func (c *compiler) regexp(pattern string, at *place) *regexp.Regexp {
	if c.patterns > maxPatterns {
		return nil // it was said
	}
	translated := translatePattern(pattern)
	if len(translated) > maxPatterns { // to parse it takes as long as its program
		c.patterns = maxPatterns + 1
	} else if parsed, err := syntax.Parse(translated, syntax.Perl); err == nil {
		c.patterns += patternBase + patternSize(parsed)
	}
	if c.patterns > maxPatterns {
		c.fail(at, "the patterns of the schema are too large together: shorten them, or repeat less in them, as in "+
			"{1,1000}")
		return nil
	}
	re, err := regexp.Compile(translated)
	if err == nil {
		return re
	}
	pattern = preview(pattern)
	var serr *syntax.Error
	if errors.As(err, &serr) {
		switch serr.Code {
		case syntax.ErrInvalidPerlOp, syntax.ErrMissingRepeatArgument:
			if strings.Contains(serr.Expr, "(?") {
				c.fail(at, "the pattern %q uses %q; patterns are matched in linear time, without looking around: say "+
					"it with not, allOf or another pattern", pattern, preview(serr.Expr))
				return nil
			}
		case syntax.ErrInvalidEscape:
			c.fail(at, "the pattern %q uses %q, which patterns here do not have", pattern, preview(serr.Expr))
			return nil
		}
		c.fail(at, "the pattern %q is no regular expression: %s: %s", pattern, serr.Code, preview(serr.Expr))
		return nil
	}
	c.fail(at, "the pattern %q cannot be used: %v", pattern, err)
	return nil
}

// patternBase counts the cost of a pattern beside its program.
const patternBase = 50

// patternSize is about how many instructions the program of a pattern has.
func patternSize(re *syntax.Regexp) int {
	size := 1 + len(re.Rune)/16
	for _, sub := range re.Sub {
		size += patternSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min+1, re.Max, 1)
	}
	return min(size, maxPatterns+1)
}

// compilePattern compiles a pattern of ECMA-262.
func compilePattern(pattern string) (*regexp.Regexp, error) {
	return regexp.Compile(translatePattern(pattern))
}

// translatePattern translates what ECMA-262 writes differently from Go.
func translatePattern(pattern string) string {
	if strings.IndexByte(pattern, '\\') < 0 {
		return pattern
	}
	var b strings.Builder
	class := false
	for i := 0; i < len(pattern); i++ {
		ch := pattern[i]
		switch {
		case ch == '[':
			class = true
		case ch == ']':
			class = false
		}
		if ch != '\\' || i+1 == len(pattern) {
			b.WriteByte(ch)
			continue
		}
		i++
		i += translateEscape(&b, pattern[i:], class)
	}
	return b.String()
}

// ecmaSpace lists the characters of \s in ECMA-262, as the inside of a class.
const ecmaSpace = `\t\n\v\f\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`

// translateEscape writes the escape whose letter is s[0] and returns how many further bytes it took.
func translateEscape(b *strings.Builder, s string, class bool) int {
	switch c := s[0]; {
	case c == 'u' && hex4(s[1:]) >= 0:
		b.WriteString(`\x{` + s[1:5] + `}`)
		return 4
	case c == 'u' && strings.HasPrefix(s, "u{"):
		b.WriteString(`\x`)
	case c == 'c' && len(s) > 1:
		b.WriteString(`\x{` + strconv.FormatUint(uint64(s[1]&31), 16) + `}`)
		return 1
	case c == 's' && class:
		b.WriteString(ecmaSpace)
	case c == 's':
		b.WriteString("[" + ecmaSpace + "]")
	case c == 'S' && !class:
		b.WriteString("[^" + ecmaSpace + "]")
	case c == '0' && (len(s) == 1 || s[1] < '0' || s[1] > '9'):
		b.WriteString(`\x00`)
	case c == 'b' && class:
		b.WriteString(`\x08`)
	default:
		b.WriteString(`\` + s[:1])
	}
	return 0
}
