package dialect

// In the middle of a line of text nearly every chunk passes without a look, see [Decoder.plainTable]. Of those that do not most have
// something harmless in them: a line break, or a bracket that opens nothing. To take the long way
// for these costs more than all the rest of the text together, so they are glanced at first.

// glance appends the event of a chunk of a line of text in which no call can begin, and reports whether chunk is one. It
// decides what the long way would, from the bytes that chunk has, and leaves the decoder alone where they do not suffice.
func (d *Decoder) glance(chunk string) bool {
	if d.set.opts.Trace {
		return false // even what opens nothing is reported
	}
	mid, ticks := &d.set.mid, d.ctx.ticks
	for i := mid.index(chunk, 0); i < len(chunk); i = mid.index(chunk, i+1) {
		if i+1 == len(chunk) {
			return false
		}
		switch c, next := chunk[i], chunk[i+1]; {
		case c == '\n':
			if !d.set.calm(next) {
				return false
			}
			ticks = false
		case c == '`' && next != '`':
			ticks = !ticks
		case c == '`' || c == '\r':
			return false
		case ticks:
		case c == '{' && d.set.midJSON || !d.set.trie.stray(c, next):
			return false
		}
	}
	d.ctx.ticks = ticks
	d.dst = d.pass(d.dst, chunk)
	return true
}

// calm reports whether nothing begins with c at the start of a line, and c is not blank.
func (s *set) calm(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\r', '`', '~', '>':
		return false
	}
	return !s.trie.starts(c) && !s.startsBare(c)
}

// stray reports whether c, and next behind it, begin no opener.
func (t *trie) stray(c, next byte) bool {
	at := t.next(0, c)
	return at == 0 || t.end(at) == nil && t.next(at, next) == 0
}
