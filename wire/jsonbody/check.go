package jsonbody

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"wield/schema/shape"
)

// check refuses what is no JSON text (RFC 8259, in UTF-8) or could be read in two ways, because an object has one name
// twice. Halves of surrogate pairs are allowed in escapes.
func check(body string) error {
	if at := invalidUTF8(body); at >= 0 {
		return &FieldError{Code: CodeInvalidJSON, Message: fmt.Sprintf("the body is not UTF-8 at byte %d", at)}
	}
	c := checker{s: body, names: make([]string, 0, 16)}
	c.space()
	switch {
	case c.i == len(body):
		return &FieldError{Code: CodeInvalidJSON, Message: "the body is empty; it must be a JSON object"}
	case !c.value(0):
		return &FieldError{Code: CodeInvalidJSON, Message: fmt.Sprintf("the body is not valid JSON at byte %d: %s",
			c.i, c.fault)}
	}
	if c.space(); c.i < len(body) {
		return &FieldError{Code: CodeInvalidJSON,
			Message: "the body is not valid JSON: something follows the JSON text"}
	}
	return nil
}

// invalidUTF8 returns where s stops being UTF-8, or -1.
func invalidUTF8(s string) int {
	if utf8.ValidString(s) {
		return -1
	}
	for i, r := range s {
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd") {
			return i
		}
	}
	return -1
}

// A checker reads a JSON text strictly, up to its first fault. Its methods report whether there was none so far.
type checker struct {
	s     string
	i     int      // where it is, and where the fault is
	fault string   // what is wrong there
	names []string // of the members so far of all objects that are open, as long as they are few
	many  int      // names of the others that are open
}

// expected says what should be here.
func (c *checker) expected(what string) bool {
	if c.i >= len(c.s) {
		c.i = len(c.s)
		return c.wrong("unexpected EOF")
	}
	r, _ := utf8.DecodeRuneInString(c.s[c.i:])
	return c.wrong(what + " expected, not " + strconv.QuoteRune(r))
}

func (c *checker) wrong(fault string) bool {
	c.fault = fault
	return false
}

func (c *checker) space() {
	for c.i < len(c.s) && (c.s[c.i] == ' ' || c.s[c.i] == '\n' || c.s[c.i] == '\t' || c.s[c.i] == '\r') {
		c.i++
	}
}

// at goes behind the byte b, and white space in front of it, if it is next.
func (c *checker) at(b byte) bool {
	c.space()
	if c.i < len(c.s) && c.s[c.i] == b {
		c.i++
		return true
	}
	return false
}

func (c *checker) value(depth int) bool {
	if depth == maxDepth {
		return c.wrong("nested too deeply")
	}
	c.space()
	if c.i == len(c.s) {
		return c.expected("a value")
	}
	switch b := c.s[c.i]; {
	case b == '"':
		c.i++
		return c.text()
	case b == '{':
		c.i++
		return c.object(depth)
	case b == '[':
		c.i++
		return c.array(depth)
	case b == '-' || isDigit(b):
		return c.number()
	case b == 't':
		return c.word("true")
	case b == 'f':
		return c.word("false")
	case b == 'n':
		return c.word("null")
	}
	return c.expected("a value")
}

func (c *checker) array(depth int) bool {
	if c.at(']') {
		return true
	}
	for {
		if !c.value(depth + 1) {
			return false
		}
		if c.at(']') {
			return true
		}
		if !c.at(',') {
			return c.expected("',' or ']'")
		}
	}
}

func (c *checker) object(depth int) bool {
	if c.at('}') {
		return true
	}
	var o members
	o.first = len(c.names)
	for {
		if !c.name(&o) {
			return false
		}
		if !c.at(':') {
			return c.expected("':'")
		}
		if !c.value(depth + 1) {
			return false
		}
		if c.at('}') {
			c.names, c.many = c.names[:o.first], c.many-len(o.many)
			return true
		}
		if !c.at(',') {
			return c.expected("',' or '}'")
		}
	}
}

// The members of an object are compared one by one as long as they are few.
type members struct {
	first int             // of their names in checker.names
	many  map[string]bool // their names, once there are many
}

const (
	fewMembers = 32
	maxMembers = 100_000 // of an object with those around it: names take much more memory than in the body
)

// name reads the name of a member of o.
func (c *checker) name(o *members) bool {
	if !c.at('"') {
		return c.expected("a name in quotes")
	}
	from := c.i
	if !c.text() {
		return false
	}
	name := c.s[from : c.i-1]
	if strings.IndexByte(name, '\\') >= 0 {
		name = string(shape.AppendUnquoted(nil, []byte(name)))
	}
	if o.many == nil && len(c.names)-o.first == fewMembers {
		o.many = make(map[string]bool, 2*fewMembers)
		for _, n := range c.names[o.first:] {
			o.many[n] = true
		}
		c.many += len(o.many)
	}
	if o.many[name] || o.many == nil && slices.Contains(c.names[o.first:], name) {
		c.i = from - 1
		return c.wrong("duplicate name " + strconv.Quote(Excerpt([]byte(name))))
	}
	switch {
	case o.many != nil && c.many >= maxMembers:
		c.i = from - 1
		return c.wrong("an object has more than " + strconv.Itoa(maxMembers) + " fields")
	case o.many != nil:
		o.many[name] = true
		c.many++
	default:
		c.names = append(c.names, name)
	}
	return true
}

// text goes behind the end of a string that has begun.
func (c *checker) text() bool {
	for {
		c.i += shape.PlainLen(c.s[c.i:])
		if c.i == len(c.s) {
			return c.expected("'\"'")
		}
		switch b := c.s[c.i]; {
		case b == '"':
			c.i++
			return true
		case b == '\\':
			if !c.escape() {
				return false
			}
		case b < utf8.RuneSelf:
			return c.wrong("a control character in a string must be escaped")
		default: // it is known to be UTF-8
			for c.i < len(c.s) && c.s[c.i] >= utf8.RuneSelf {
				c.i++
			}
		}
	}
}

// escape goes behind an escape.
func (c *checker) escape() bool {
	c.i++
	if c.i == len(c.s) || strings.IndexByte(`"\/bfnrtu`, c.s[c.i]) < 0 {
		return c.expected("an escape of JSON")
	}
	c.i++
	if c.s[c.i-1] != 'u' {
		return true
	}
	for range 4 {
		if c.i == len(c.s) || !isHex(c.s[c.i]) {
			return c.expected("a hexadecimal digit")
		}
		c.i++
	}
	return true
}

func isDigit(b byte) bool { return '0' <= b && b <= '9' }

func isHex(b byte) bool { return isDigit(b) || 'a' <= b|0x20 && b|0x20 <= 'f' }

func (c *checker) word(w string) bool {
	if strings.HasPrefix(c.s[c.i:], w) {
		c.i += len(w)
		return true
	}
	return c.expected(w)
}

func (c *checker) number() bool {
	if c.s[c.i] == '-' {
		c.i++
	}
	if c.i < len(c.s) && c.s[c.i] == '0' {
		c.i++
	} else if !c.digits() {
		return false
	}
	if c.i < len(c.s) && c.s[c.i] == '.' {
		c.i++
		if !c.digits() {
			return false
		}
	}
	if c.i < len(c.s) && c.s[c.i]|0x20 == 'e' {
		c.i++
		if c.i < len(c.s) && (c.s[c.i] == '+' || c.s[c.i] == '-') {
			c.i++
		}
		return c.digits()
	}
	return true
}

// digits goes behind one digit or more.
func (c *checker) digits() bool {
	from := c.i
	for c.i < len(c.s) && isDigit(c.s[c.i]) {
		c.i++
	}
	return c.i > from || c.expected("a digit")
}
