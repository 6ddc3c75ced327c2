package dialect

// The calls of an answer begin alike: the same opener, the same layout, often the same tool. They end alike, too. Nothing comes out of the
// bytes between the start of a candidate and that of its call, or between its arguments and its end, so there is no hurry to read
// them one chunk at a time. What stood there the last time is expected, and read as a whole when all of it came or the text went on
// in another way.

// A callHead is how a call began, and where.
type callHead struct {
	text      string
	beyond    int         // how many bytes of it stood behind the start, which they did not decide about
	ctx       lineContext // of the candidate
	confirmed bool        // it stood behind another call, in the same section
}

// headFrom returns where the bytes begin that may be the head of a call: behind what was told.
func (d *Decoder) headFrom() int { return max(d.last, d.candAt) }

// rememberHead takes the bytes up to the offset end for the way that calls begin in. One is about to start there.
func (d *Decoder) rememberHead(end int) {
	from := d.headFrom()
	if end <= from || end-from > maxHeader || d.sources != nil {
		return
	}
	h, text := &d.head, trimLeft(d.held(from, end))
	if n := len(h.text) - h.beyond; n != len(text) || h.text[:n] != text {
		h.text, h.beyond = text, 0
	}
	h.ctx, h.confirmed = d.candCtx, d.confirmed
}

// extendHead adds to what was remembered what stands behind the start, and did not decide that the call starts.
func (d *Decoder) extendHead(more string) {
	if h := &d.head; h.text != "" {
		h.text, h.beyond = h.text[:len(h.text)-h.beyond]+more, len(more)
	}
}

// headAgain reads a candidate at i that begins as the last call did, or lets it wait while that may be. It returns where to go on, and
// reports whether it did.
func (d *Decoder) headAgain(i int) (int, bool) {
	h, rest := &d.head, d.in[i:]
	if h.text == "" || rest[0] != h.text[0] || d.sources != nil {
		return i, false
	}
	if n := len(rest); n >= len(h.text) {
		n = d.sameHead(i)
		return i + n, n > 0
	} else if h.text[:n] != rest || h.confirmed || h.ctx != d.ctx {
		return i, false
	}
	if !d.holding {
		d.hold(d.base + i)
	}
	if !d.patient(i) {
		return i, false
	}
	d.await(i, h.text[len(rest):], nil)
	return len(d.in), true
}

// expectHead lets the rest of the input wait if it ends with what the last call began with.
func (d *Decoder) expectHead() {
	from := d.headFrom()
	if from < d.base || d.final || d.sources != nil {
		return
	}
	begun := trimLeft(d.in[from-d.base:])
	n := len(begun)
	if n == 0 || n >= len(d.head.text) || d.head.text[:n] != begun || d.confirmed != d.head.confirmed || d.candCtx != d.head.ctx || d.think.open {
		return
	}
	if d.waiting {
		d.expect, d.stop = d.head.text[n:], nil
	} else {
		d.await(len(d.in), d.head.text[n:], nil)
	}
}

// A callTail is what stood between the arguments of a call and its end.
type callTail struct {
	text    string
	dialect string
}

// rememberTail takes the bytes up to the offset end, where a call ends, for the way that calls end in.
func (d *Decoder) rememberTail(end int) {
	d.tail = callTail{}
	if n := end - d.last; n > 1 && n <= maxHeader && d.sources == nil && !d.final {
		d.tail = callTail{d.held(d.last, end), d.dialect}
	}
}

// awaitTail lets what follows the input wait, if a machine that has read all arguments of a call may end it as the last one ended. It
// reports whether it does.
func (d *Decoder) awaitTail() bool {
	if d.last < d.base || d.dialect != d.tail.dialect || !d.patient(len(d.in)) {
		return false
	}
	begun := d.in[d.last-d.base:]
	n := len(begun)
	if n >= len(d.tail.text) || d.tail.text[:n] != begun {
		return false
	}
	d.await(len(d.in), d.tail.text[n:], nil)
	return true
}

// trimLeft returns s without the white space that it begins with.
func trimLeft(s string) string {
	for s != "" && isBlank(s[0]) {
		s = s[1:]
	}
	return s
}
