package dialect

import "wield/dialect/internal/chars"

// parens finds the parenthesis that closes the arguments of a call.
type parens struct {
	depth int
	quote byte
	esc   bool
	word  bool // the last byte belonged to a word
	shut  bool // the last byte may have closed single quotes
	lines int  // line ends so far
	open  bool // a line ended inside quotes
}

// stray reports whether what was read, n bytes, is prose rather than arguments: a string never spans lines, and
// arguments without a keyword that do are short.
func (p *parens) stray(n int) bool { return p.open || p.lines > 0 && n > maxHeader }

// stops returns the bytes of which the next one needs a look, where all others only belong to what is read; nil: any
// may.
func (p *parens) stops() *chars.Set {
	switch {
	case p.esc || p.shut:
		return nil
	case p.quote == 0:
		return &parenStop
	}
	return &chars.Quoted
}

// run returns the offset of the parenthesis, or limit, or that of a line's end inside quotes.
func (p *parens) run(in string, i, limit int) int {
	for ; i < limit; i++ {
		if stop := p.stops(); stop != nil {
			if j := min(stop.Index(in, i), limit); j > i {
				p.word, i = chars.IsWord(in[j-1]), j
				if i == limit {
					break
				}
			}
		}
		c := in[i]
		word := p.word
		p.word = chars.IsWord(c)
		if p.shut && (p.word || c == '\'') {
			p.quote = '\'' // see vShut
		}
		p.shut = false
		if c == '\n' {
			p.lines++
			p.open = p.open || p.quote != 0 && !p.esc
			if p.open {
				return i
			}
		}
		switch {
		case p.esc:
			p.esc = false
		case c == '\\':
			p.esc = true
		case p.quote != 0:
			if c == p.quote {
				p.quote, p.shut = 0, c == '\''
			}
		case c == '"' || c == '\'' && !word:
			p.quote = c // an apostrophe stands behind a letter
		case c == '(' || c == '[' || c == '{':
			p.depth++
		case c == ')' && p.depth == 0:
			return i
		case c == ')' || c == ']' || c == '}':
			p.depth--
		}
	}
	return i
}
