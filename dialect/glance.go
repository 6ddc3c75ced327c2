package dialect

// skim returns the offset of the first byte from i on, in the middle of a line, that the bytes of in alone do
// not show to be harmless, and whether it stands in inline code.
func (d *Decoder) skim(in string, i int) (at int, ticks bool) {
	mid, trie := &d.set.mid, &d.set.trie
	ticks = d.ctx.ticks
	for i = mid.Index(in, i); i+1 < len(in); i = mid.Index(in, i+1) {
		switch c, next := in[i], in[i+1]; {
		case c == '\n':
			if d.ctx.torn || !d.set.calm(in[i+1:]) || d.mayWrap(next) && (i == 0 || mayLead(in[i-1])) {
				return i, ticks
			}
			ticks = false
		case c == '`' && next != '`':
			ticks = !ticks
		case c == '`' || c == '\r':
			return i, ticks
		case ticks:
		case c == '{' && d.set.midJSON || d.set.opts.Trace || !trie.stray(c, next):
			return i, ticks
		}
	}
	return i, ticks
}

// calm reports whether nothing begins with the line that in begins with, and it does not begin with a blank.
func (s *set) calm(in string) bool {
	switch in[0] {
	case ' ', '\t', '\n', '\r', '`', '~', '>':
		return false
	}
	return !s.mayBegin(in)
}

// mayBegin reports whether something may begin with in at the start of a line.
func (s *set) mayBegin(in string) bool {
	c := in[0]
	if !s.trie.starts(c) {
		return s.startsBare(c)
	}
	return len(in) == 1 || s.opts.Trace || c == '>' || !s.trie.stray(c, in[1]) || s.startsBare(c)
}

// stray reports whether c, and next behind it, begin no opener.
func (t *trie) stray(c, next byte) bool {
	at := t.next(0, c)
	return at == 0 || t.end(at) == nil && t.next(at, next) == 0
}
