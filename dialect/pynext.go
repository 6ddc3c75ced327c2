package dialect

// A pyNext is how a call of a list or a section followed the one before it: what stood between the closing parenthesis of that and the place
// where a call is one, and what was found there. The tools, what calls may look like and where the reader stands are the same wherever
// it is looked at again, so that the same bytes mean the same.
type pyNext struct {
	text  string // with the byte behind it that decided
	at    int    // where the name begins
	paren int    // and where it ends
	name  string
	tool  int

	list   bool
	closer string
}

// fits reports whether n is how r goes on behind a call, if the text does.
func (n *pyNext) fits(r *pyReader) bool {
	return n.text != "" && n.list == r.list && n.closer == r.closer && r.quote == 0 && !r.braces
}

// learnNext takes the way from the last call to that which is about to start at i for that to the next one. A keyword was read if the
// call could not start without one.
func (r *pyReader) learnNext(d *Decoder, i int) {
	if r.got == 0 || r.quote != 0 || r.braces || d.sources != nil {
		return
	}
	n, end := &d.readers.next, d.base+i+1
	if end-r.behind > maxWait || n.fits(r) && d.held(r.behind, end) == n.text {
		return
	}
	text, paren := d.held(r.behind, end), r.argsAt-1-r.behind
	if key := text[paren+1 : len(text)-1]; key != "" && (key != string(r.word)+"=" || !usualWord(key[:len(key)-1])) {
		return // there are blanks
	}
	*n = pyNext{text: text, at: r.nameAt - r.behind, paren: paren, name: r.name, tool: r.tool, list: r.list, closer: r.closer}
}

// again reads a call behind the last one, at i, that follows it as that followed the one before, or lets its beginning wait while it may
// be one. It reports whether it did.
func (r *pyReader) again(d *Decoder, i int) (int, verdict, bool) {
	n, in := &d.readers.next, d.in[i:]
	switch {
	case !n.fits(r) || d.sources != nil:
		return i, more, false
	case len(in) < len(n.text):
		if n.text[:len(in)] != in || !d.patient(i) {
			return i, more, false
		}
		d.await(i, n.text[len(in):], nil)
		return i, left, true
	case in[:len(n.text)] != n.text:
		return i, more, false
	}
	at, end := d.base+i, i+len(n.text)-1
	r.nameAt, r.at = at+n.at, at+n.at
	r.begin(n.name, n.tool, at+n.paren+1)
	r.start(d, end)
	r.state = pArg // the keyword is read again
	j, v := r.followFrom(d, i+n.paren+1)
	return j, v, true
}

// awaitNext lets what follows a call that ends the input wait.
func (r *pyReader) awaitNext(d *Decoder, i int) {
	if n := &d.readers.next; d.base+i == r.behind && n.fits(r) && d.patient(i) {
		d.await(i, n.text, nil)
	}
}
