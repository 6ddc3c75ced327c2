package dialect

// Arguments of a function call that are written like those of the last one.

// usual reads the arguments at i, with all that shows that they are those of a call, if they are written as the last ones. It returns 0 if
// they are not.
func (r *pyReader) usual(d *Decoder, i int) (int, verdict) {
	if r.quote != 0 || r.braces || d.sources != nil {
		return 0, more
	}
	u := &d.readers.keywords
	n, end := u.read(&keywordNotation, d.set.names.tools[r.tool].Args, d.in, i)
	if n == 0 {
		return 0, more
	}
	begun := d.base + i
	switch {
	case r.alone(d):
		if end == len(d.in) || d.in[end] != '\n' || d.base+end-r.argsAt >= maxAlone {
			return 0, more
		}
		begun = r.argsAt
	case r.closer == "":
		begun += len(u.keys[0].key) + len("=")
	}
	r.startUsual(d, begun, d.in, n, d.base+end)
	return r.endCall(d, end)
}

// awaitsUsual leaves the arguments of a call on a line of its own unread from i on, if they may be the usual ones and nothing of them can
// decide yet: up to a parenthesis or the end of a line, and once more from a parenthesis to the byte behind it.
func (r *pyReader) awaitsUsual(d *Decoder, i int) bool {
	u, in := &d.readers.keywords, d.in[i:]
	if r.waited > 1 || len(in) >= maxCalm || d.final || d.sources != nil || !r.alone(d) || !u.mayBegin(d.set.names.tools[r.tool].Args, in) {
		return false
	}
	stop := &callStop
	switch k := stop.index(in, 0); {
	case k == len(in):
	case k == len(in)-1 && in[k] == ')':
		stop = nil
	default:
		return false
	}
	d.await(i, "", stop)
	d.most = maxCalm
	r.waited++
	return true
}

// maxCalm is how many bytes behind the parenthesis of a call may wait before their number decides something.
const maxCalm = maxHeader - maxWait

// startUsual opens the call, whose name was read up to the offset begun, and writes the n arguments that were found in in; the text
// was read up to end.
func (r *pyReader) startUsual(d *Decoder, begun int, in string, n, end int) {
	if r.got == 0 {
		d.rememberHead("", begun)
	}
	d.openCall(r.tool, r.name, "", r.at, begun)
	r.got++
	d.readers.keywords.write(d, &keywordNotation, in, n, end)
}

// follow has the decoder follow the arguments, if it can.
func (r *pyReader) follow(d *Decoder) {
	v := r.val
	if r.quote != 0 || r.braces || r.n > 0 || !v.kwargs || v.quoted {
		return
	}
	switch {
	case r.state == pValue && v.state == vQuote1 && v.quote == '"' && !v.raw && !v.escaped && !v.hold.on:
		v.state = vValue // the quote is read again
		d.follow(&d.readers.keywords, &keywordNotation, v, 1)
		if !d.follows {
			v.state = vQuote1
		}
	case r.state == pKeyword && len(v.stack) == 0 && v.state == vValue:
		r.state = pArg // the word is read again
		u, n := &d.readers.keywords, len(r.word)
		if u.shape == d.call.tool.Args && len(u.keys) > 0 && len(u.keys[0].key) >= n && u.keys[0].key[:n] == string(r.word) && r.wordAt+n == d.base+len(d.in) {
			d.follow(u, &keywordNotation, v, n)
		}
		if !d.follows {
			r.state = pKeyword
		}
	case r.state == pValue && (v.state == vString || v.state == vAfter || v.state == vValue), r.state == pAfter, r.state == pArg && len(v.stack) == 0:
		d.follow(&d.readers.keywords, &keywordNotation, v, 0)
	}
}

// followFrom has the decoder follow the arguments from i on, if it can, and returns where to go on.
func (r *pyReader) followFrom(d *Decoder, i int) (int, verdict) {
	if r.quote != 0 || r.braces || r.state == pWrapped {
		return i, more
	}
	return d.followFrom(&d.readers.keywords, &keywordNotation, r.val, i)
}

// resume goes on where the decoder followed the arguments to.
func (r *pyReader) resume() {
	switch v := r.val; {
	case v.state == vAfter:
		r.keyed, r.state = true, pAfter
	case len(v.stack) > 0:
		r.keyed, r.state = true, pValue
	default:
		r.state = pArg
	}
}
