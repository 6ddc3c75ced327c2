package value

import (
	"strings"

	"wield/dialect/internal/chars"
)

// A Text reads the rest of a quoted string and decodes it.
type Text struct {
	Quote   byte
	Limit   int // bytes that it may have; 0: any number
	Out     []byte
	esc     []byte // an escape being read
	Odd     bool   // it had an escape that JSON does not have
	Escapes bool   // it had any
}

func (c *Text) Begin(quote byte) {
	*c = Text{Quote: quote, Out: c.Out[:0], esc: c.esc[:0]}
}

func (c *Text) Run(in string, i int) (int, Progress) {
	for ; i < len(in); i++ {
		switch b := in[i]; {
		case len(c.esc) > 0:
			c.esc = append(c.esc, b)
			if c.esc[1] == 'u' && (len(c.esc) < 6 || isHighSurrogate(c.esc) && len(c.esc) < 12) {
				continue
			}
			c.unescape()
		case b == c.Quote:
			return i + 1, Done
		case b == '\\':
			c.esc = append(c.esc, b)
		default:
			end := chars.AnyQuote.Index(in, i+1)
			if c.Limit > 0 {
				end = min(end, i+c.Limit+1-len(c.Out))
			}
			c.Out = append(c.Out, in[i:end]...)
			i = end - 1
		}
		if c.Limit > 0 && len(c.Out) > c.Limit {
			return i, Failed
		}
	}
	return i, Going
}

// isHighSurrogate reports whether the escape wants a second one behind it.
func isHighSurrogate(esc []byte) bool {
	return len(esc) >= 6 && (esc[2] == 'd' || esc[2] == 'D') && strings.IndexByte("89abAB", esc[3]) >= 0
}

func (c *Text) unescape() {
	c.Escapes = true
	if c.esc[1] == '\'' || c.esc[1] == '_' {
		c.Out = append(c.Out, c.esc[1])
		c.Odd = true
	} else if s, ok := Unquote(string(c.esc)); ok {
		c.Out = append(c.Out, s...)
	} else {
		c.Out = append(c.Out, c.esc...)
	}
	c.esc = c.esc[:0]
}
