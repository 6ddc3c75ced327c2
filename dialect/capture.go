package dialect

import (
	"strings"

	"wield/dialect/internal/chars"
)

// A capture reads the rest of a quoted string and decodes it.
type capture struct {
	quote   byte
	limit   int // bytes that it may have; 0: any number
	out     []byte
	esc     []byte // an escape being read
	odd     bool   // it had an escape that JSON does not have
	escapes bool   // it had any
}

func (c *capture) begin(quote byte) {
	*c = capture{quote: quote, out: c.out[:0], esc: c.esc[:0]}
}

func (c *capture) run(in string, i int) (int, progress) {
	for ; i < len(in); i++ {
		switch b := in[i]; {
		case len(c.esc) > 0:
			c.esc = append(c.esc, b)
			if c.esc[1] == 'u' && (len(c.esc) < 6 || isHighSurrogate(c.esc) && len(c.esc) < 12) {
				continue
			}
			c.unescape()
		case b == c.quote:
			return i + 1, done
		case b == '\\':
			c.esc = append(c.esc, b)
		default:
			end := chars.AnyQuote.Index(in, i+1)
			if c.limit > 0 {
				end = min(end, i+c.limit+1-len(c.out))
			}
			c.out = append(c.out, in[i:end]...)
			i = end - 1
		}
		if c.limit > 0 && len(c.out) > c.limit {
			return i, failed
		}
	}
	return i, going
}

// isHighSurrogate reports whether the escape wants a second one behind it.
func isHighSurrogate(esc []byte) bool {
	return len(esc) >= 6 && (esc[2] == 'd' || esc[2] == 'D') && strings.IndexByte("89abAB", esc[3]) >= 0
}

func (c *capture) unescape() {
	c.escapes = true
	if c.esc[1] == '\'' || c.esc[1] == '_' {
		c.out = append(c.out, c.esc[1])
		c.odd = true
	} else if s, ok := unquoteJSON(string(c.esc)); ok {
		c.out = append(c.out, s...)
	} else {
		c.out = append(c.out, c.esc...)
	}
	c.esc = c.esc[:0]
}
