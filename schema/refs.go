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
func (c *compiler) reference(v int, at string) *node {
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
		c.fail(at, "%q is another document, and none is loaded; copy the schema into $defs and refer to it as \"#/$defs/NAME\"", ref)
		return nil
	}
	name, err := url.PathUnescape(fragment)
	if err != nil {
		c.fail(at, "%q is not a valid reference: %v", ref, err)
		return nil
	}
	if name != "" && name[0] != '/' {
		if tok, ok := c.anchor(name); ok {
			return c.schema(tok, c.pointerTo(tok))
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
	return c.schema(tok, name)
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
	return strings.HasPrefix(document, "http://json-schema.org/") || strings.HasPrefix(document, "https://json-schema.org/")
}

// hasIdentifiers reports whether a schema within has an $id, which gives references another base.
func (c *compiler) hasIdentifiers() bool {
	for i := 1; i < len(c.tokens); i++ {
		if c.tokens[i].kind != shape.Object {
			continue
		}
		if id, ok := c.member(i, "$id"); ok && c.tokens[id].kind == shape.String && !strings.HasPrefix(c.str(id), "#") {
			return true
		}
	}
	return false
}

// anchor finds the schema that is named by $anchor, or in draft-07 by an $id that is a fragment.
func (c *compiler) anchor(name string) (int, bool) {
	keyword, value := "$anchor", name
	if c.draft == draft7 {
		keyword, value = "$id", "#"+name
	}
	for i := range c.tokens {
		if c.tokens[i].kind != shape.Object {
			continue
		}
		if a, ok := c.member(i, keyword); ok && c.tokens[a].kind == shape.String && c.str(a) == value {
			return i, true
		}
		if a, ok := c.member(i, "$dynamicAnchor"); ok && c.draft == draft2020 && c.tokens[a].kind == shape.String && c.str(a) == name {
			return i, true
		}
	}
	return 0, false
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
		return c.member(tok, name)
	}
	want, err := strconv.Atoi(name)
	if c.tokens[tok].kind != shape.Array || err != nil || want < 0 || want >= c.tokens[tok].n {
		return 0, false
	}
	found := 0
	c.elements(tok, func(i, el int) {
		if i == want {
			found = el
		}
	})
	return found, true
}

// pointerTo returns the JSON pointer to token target.
func (c *compiler) pointerTo(target int) string {
	var path []step
	for tok := 0; tok != target; {
		next, s := 0, step{}
		if c.tokens[tok].kind == shape.Object {
			for i := tok + 1; i < c.tokens[tok].next; i = c.tokens[i+1].next {
				if i+1 <= target && target < c.tokens[i+1].next {
					next, s = i+1, step{name: i}
				}
			}
		} else {
			c.elements(tok, func(i, el int) {
				if el <= target && target < c.tokens[el].next {
					next, s = el, step{index: i + 1}
				}
			})
		}
		tok, path = next, append(path, s)
	}
	return c.pointer(path)
}

// regexp compiles a pattern of ECMA-262.
func (c *compiler) regexp(pattern, at string) *regexp.Regexp {
	re, err := compilePattern(pattern)
	if err == nil {
		return re
	}
	var serr *syntax.Error
	if errors.As(err, &serr) {
		switch serr.Code {
		case syntax.ErrInvalidPerlOp, syntax.ErrMissingRepeatArgument:
			if strings.Contains(serr.Expr, "(?") {
				c.fail(at, "the pattern %q uses %q; patterns are matched in linear time, without looking around: say it with not, allOf or another pattern", pattern, serr.Expr)
				return nil
			}
		case syntax.ErrInvalidEscape:
			c.fail(at, "the pattern %q uses %q, which patterns here do not have", pattern, serr.Expr)
			return nil
		}
		c.fail(at, "the pattern %q is no regular expression: %s: %s", pattern, serr.Code, serr.Expr)
		return nil
	}
	c.fail(at, "the pattern %q cannot be used: %v", pattern, err)
	return nil
}

// compilePattern translates what ECMA-262 writes differently from Go.
func compilePattern(pattern string) (*regexp.Regexp, error) {
	if strings.IndexByte(pattern, '\\') < 0 {
		return regexp.Compile(pattern)
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
	return regexp.Compile(b.String())
}

// ecmaSpace is what \s stands for in ECMA-262, as the inside of a class.
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
