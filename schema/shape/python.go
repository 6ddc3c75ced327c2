package shape

import (
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// pythonJSON translates src, one Python literal, into JSON text: dicts, lists, tuples and sets of literals, strings
// of all quotes and prefixes except bytes, numbers, True, False and None. The words true, false and null are
// understood as well, since models mix the two languages. Anything else, such as a name, a call, or a number that
// JSON cannot carry, makes ok false. Keys that are no strings become strings as in Python's own json module. A
// backslash before an underscore, which comes from Markdown, is dropped.
func pythonJSON(src string) (json string, ok bool) {
	p := python{src: src, out: make([]byte, 0, len(src)+8)}
	p.space()
	if !p.value(maxDepth) {
		return "", false
	}
	p.space()
	if p.pos != len(src) {
		return "", false
	}
	return string(p.out), true
}

// python reads a literal at pos and appends its JSON to out. Every method reports whether it understood what it saw.
type python struct {
	src string
	pos int
	out []byte
}

func (p *python) peek() byte {
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

// space skips white space and comments.
func (p *python) space() {
	for p.pos < len(p.src) {
		switch b := p.src[p.pos]; {
		case isSpace(b):
			p.pos++
		case b == '#':
			if n := strings.IndexByte(p.src[p.pos:], '\n'); n >= 0 {
				p.pos += n
			} else {
				p.pos = len(p.src)
			}
		default:
			return
		}
	}
}

func (p *python) value(depth int) bool {
	switch b := p.peek(); {
	case b == '{' || b == '[' || b == '(':
		if depth == 0 {
			return false
		}
		return p.container(depth - 1)
	case b == '"' || b == '\'':
		return p.strings()
	case isDigit(b) || b == '-' || b == '+' || b == '.':
		return p.number()
	}
	if p.prefixed() {
		return p.strings()
	}
	return p.word()
}

var pythonWords = [...]struct{ word, json string }{
	{"True", "true"}, {"False", "false"}, {"None", "null"}, {"true", "true"}, {"false", "false"}, {"null", "null"},
}

func (p *python) word() bool {
	rest := p.src[p.pos:]
	for _, w := range pythonWords {
		if after, ok := strings.CutPrefix(rest, w.word); ok && !startsName(after) {
			p.pos += len(w.word)
			p.out = append(p.out, w.json...)
			return true
		}
	}
	return false
}

func startsName(s string) bool {
	if s == "" {
		return false
	}
	b := s[0]
	return b == '_' || isDigit(b) || 'a' <= b|0x20 && b|0x20 <= 'z' || b >= utf8.RuneSelf
}

var pythonClosers = map[byte]byte{'{': '}', '[': ']', '(': ')'}

// container reads a dict, set, list or tuple. One value in round brackets without a comma is that value.
func (p *python) container(depth int) bool {
	open := p.src[p.pos]
	closer := pythonClosers[open]
	p.pos++
	start := len(p.out)
	p.out = append(p.out, '[')
	dict, n, comma := false, 0, true
	for {
		p.space()
		if p.peek() == closer {
			break
		}
		if !comma {
			return false
		}
		if n > 0 {
			p.out = append(p.out, ',')
		}
		at := len(p.out)
		if !p.value(depth) {
			return false
		}
		p.space()
		colon := open == '{' && p.peek() == ':'
		if n > 0 && colon != dict {
			return false
		}
		if dict = colon; dict && !p.entry(at, depth) {
			return false
		}
		n++
		p.space()
		if comma = p.peek() == ','; comma {
			p.pos++
		}
	}
	p.pos++
	switch {
	case dict || open == '{' && n == 0:
		p.out[start] = '{'
		p.out = append(p.out, '}')
	case open == '(' && n == 1 && !comma:
		p.out = append(p.out[:start], p.out[start+1:]...)
	default:
		p.out = append(p.out, ']')
	}
	return true
}

// entry reads the colon and the value of a dict's entry, whose key stands in out[at:].
func (p *python) entry(at, depth int) bool {
	switch p.out[at] {
	case '[', '{':
		return false
	case '"':
	default:
		p.out = append(p.out, '"', '"')
		copy(p.out[at+1:], p.out[at:len(p.out)-2])
		p.out[at] = '"'
	}
	p.pos++
	p.space()
	p.out = append(p.out, ':')
	return p.value(depth)
}

// number reads an integer of any base or a float, with underscores between digits.
func (p *python) number() bool {
	at := p.pos
	for p.pos < len(p.src) {
		b := p.src[p.pos]
		exp := p.pos > at && p.src[p.pos-1]|0x20 == 'e' && (b == '-' || b == '+')
		first := p.pos == at && (b == '-' || b == '+')
		if !(startsName(p.src[p.pos:]) || b == '.' || exp || first) {
			break
		}
		p.pos++
	}
	text := p.src[at:p.pos]
	if strings.IndexByte(text, '_') >= 0 {
		if strings.Contains(text, "__") || strings.HasSuffix(text, "_") || text[0] == '_' {
			return false
		}
		text = strings.ReplaceAll(text, "_", "")
	}
	text = strings.TrimPrefix(text, "+")
	if n, ok := parseNumber(text); ok {
		if !finite(text) {
			return false
		}
		p.out = append(p.out, n.json()...)
		return true
	}
	digits := strings.TrimPrefix(text, "-")
	if len(digits) < 3 || len(digits) > 256 || digits[0] != '0' || !strings.ContainsRune("xXoObB", rune(digits[1])) {
		return false
	}
	n, ok := new(big.Int).SetString(text, 0)
	if !ok {
		return false
	}
	p.out = n.Append(p.out, 10)
	return true
}

// prefixed reports whether a string with a prefix comes next. Bytes and f-strings are not literals of text.
func (p *python) prefixed() bool {
	rest := p.src[p.pos:]
	if len(rest) < 2 || (rest[1] != '"' && rest[1] != '\'') {
		return false
	}
	return rest[0]|0x20 == 'r' || rest[0]|0x20 == 'u'
}

// strings reads one string or several side by side, which Python joins.
func (p *python) strings() bool {
	p.out = append(p.out, '"')
	for {
		raw := p.peek()|0x20 == 'r'
		if b := p.peek(); b != '"' && b != '\'' {
			p.pos++
		}
		if !p.string(raw) {
			return false
		}
		end := p.pos
		p.space()
		if b := p.peek(); b != '"' && b != '\'' && !p.prefixed() {
			p.pos = end
			break
		}
	}
	p.out = append(p.out, '"')
	return true
}

func (p *python) string(raw bool) bool {
	quote := p.src[p.pos : p.pos+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(p.src[p.pos:], triple) {
		quote = triple
	}
	p.pos += len(quote)
	start := p.pos
	for p.pos < len(p.src) {
		switch rest := p.src[p.pos:]; {
		case rest[0] == quote[0] && strings.HasPrefix(rest, quote):
			p.out = AppendEscaped(p.out, p.src[start:p.pos])
			p.pos += len(quote)
			return true
		case rest[0] != '\\':
			p.pos++
		case len(rest) < 2:
			return false
		case raw:
			p.pos += 2
		default:
			p.out = AppendEscaped(p.out, p.src[start:p.pos])
			p.escape()
			start = p.pos
		}
	}
	return false
}

// escape reads one escape. One that Python does not have stands for itself, backslash included.
func (p *python) escape() {
	rest := p.src[p.pos:]
	c := rest[1]
	if size := hexDigits(c); size > 0 {
		if r, ok := hex(rest, 2, size); ok {
			n := 2 + size
			if c == 'u' {
				r, n = escapedRune([]byte(rest[2:min(len(rest), 12)]))
				n += 2
			}
			p.rune(r)
			p.pos += n
			return
		}
	}
	p.pos += 2
	switch c {
	case '\n':
	case '\\', '\'', '"', '_':
		p.rune(rune(c))
	case 'a':
		p.rune('\a')
	case 'v':
		p.rune('\v')
	case 'b', 'f', 'n', 'r', 't':
		p.rune(rune(simpleEscape(c)))
	case '0', '1', '2', '3', '4', '5', '6', '7':
		n := 2
		for n < 4 && n < len(rest) && '0' <= rest[n] && rest[n] <= '7' {
			n++
		}
		v, _ := strconv.ParseUint(rest[1:n], 8, 16)
		p.rune(rune(v))
		p.pos += n - 2
	default:
		p.out = append(p.out, '\\', '\\')
		p.pos-- // what follows the backslash is read as it stands
	}
}

// hexDigits returns how many digits the escape \c has.
func hexDigits(c byte) int {
	switch c {
	case 'x':
		return 2
	case 'u':
		return 4
	case 'U':
		return 8
	}
	return 0
}

func (p *python) rune(r rune) {
	var buf [utf8.UTFMax]byte
	p.out = AppendEscaped(p.out, string(utf8.AppendRune(buf[:0], r)))
}
