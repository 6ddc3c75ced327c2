package dialect

import "strings"

// The calls of an answer begin alike: the same opener, the same layout, often the same tool. They end alike, too. Nothing comes out of the
// bytes between the start of a candidate and that of its call, or between its arguments and its end, so there is no hurry to read
// them one chunk at a time. What stood there the last time is expected, and read as a whole when all of it came or the text went on
// in another way.

// A callHead is how a call began, and where.
type callHead struct {
	text      string
	beyond    int         // how many bytes of it stood behind the start, of which only the last decided about it
	id        idPlace     // of which each call has another
	ctx       lineContext // of the candidate
	confirmed bool        // it stood behind another call, in the same section
}

// headFrom returns where the bytes begin that may be the head of a call: behind what was told.
func (d *Decoder) headFrom() int { return max(d.last, d.candAt) }

// rememberHead takes the bytes up to the offset end for the way that calls begin in. One is about to start there.
func (d *Decoder) rememberHead(id string, end int) {
	h, from := &d.head, d.headFrom()
	switch {
	case end <= from, end-from > maxHeader, d.sources != nil:
		return
	case d.alike && !d.confirmed && h.text != "" && !h.confirmed:
		return // it is the same one
	}
	text := trimLeft(d.held(from, end))
	if known := h.text[:len(h.text)-h.beyond]; text != known {
		if n, _ := h.id.match(known, text); n != len(text) {
			h.text, h.beyond = text, 0
			h.id, _ = findID(text, id)
		}
	}
	h.ctx, h.confirmed = d.candCtx, d.confirmed
}

// rest returns how a head that begins like begun goes on, if it is like the last one but for the id, which ends in begun; "" if it is not.
func (h *callHead) rest(begun string) string {
	if n := len(begun); n < len(h.text) && h.text[:n] == begun {
		return h.text[n:]
	}
	if h.id.to == 0 || len(begun) <= h.id.at {
		return ""
	}
	if rest, ok := h.id.rest(h.text, begun); ok {
		return rest
	}
	return ""
}

// An idPlace is where the id of a call stands in a text; zero: nowhere.
type idPlace struct{ at, to int }

// findID returns where the id of the call stands in text under the one key that means it. It reports whether it does, or there is none.
func findID(text, id string) (idPlace, bool) {
	const end = `id":`
	at := strings.Index(text, end) + len(end)
	if id == "" || at < len(end) {
		return idPlace{}, id == ""
	}
	key := text[strings.LastIndexByte(text[:at-2], '"')+1 : at-2]
	if k, _ := meaning([]byte(key)); k.class != keyID || strings.Count(text, `id"`) > 1 || strings.IndexByte(text, '\\') >= 0 {
		return idPlace{}, false // of two keys the last one counts
	}
	if at < len(text) && text[at] == ' ' {
		at++
	}
	rest, ok := strings.CutPrefix(text[at:], `"`+id)
	if !ok || rest == "" || rest[0] != '"' {
		return idPlace{}, false
	}
	return idPlace{at + 1, at + 1 + len(id)}, true
}

// rest reports whether a text that begins with in may be text but for the id, and how it most likely goes on then; "": with an id.
func (p idPlace) rest(text, in string) (rest string, ok bool) {
	if p.to == 0 {
		return strings.CutPrefix(text, in)
	}
	if n := len(in); n < p.at && text[:n] == in {
		return text[n:p.at], true
	}
	if len(in) < p.at || in[:p.at] != text[:p.at] {
		return "", false
	}
	to := indexEscaped(in, p.at)
	if to-p.at > maxWait/2 {
		return "", false
	}
	behind, text := in[to:], text[p.to:]
	if !strings.HasPrefix(text, behind) || behind == text {
		return "", false
	}
	if behind != "" {
		rest = text[len(behind):]
	}
	return rest, true
}

// match returns how long what in begins with is if that is text but for the id, and the id there; 0 if it is something else.
func (p idPlace) match(text, in string) (n int, id string) {
	if p.to == 0 {
		if strings.HasPrefix(in, text) {
			n = len(text)
		}
		return n, ""
	}
	if !strings.HasPrefix(in, text[:p.at]) {
		return 0, ""
	}
	to := min(p.at+maxHeader, len(in))
	to = indexEscaped(in[:to], p.at)
	if to == p.at || !strings.HasPrefix(in[to:], text[p.to:]) {
		return 0, ""
	}
	return to + len(text) - p.to, in[p.at:to]
}

// extendHead adds to what was remembered what stands behind the start, of which nothing but the last byte decided that the call starts.
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
		return d.beginAgain(i)
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
	h, from, end := &d.head, d.headFrom(), d.base+len(d.in)
	if end-from > maxHeader || d.final || d.sources != nil || d.confirmed != h.confirmed || d.think.open {
		return
	}
	if d.state == inText { // what is held are blanks, and separators of calls
		if !d.waiting && d.ctx == h.ctx {
			d.await(len(d.in), h.text, nil)
		}
		return
	}
	var begun string
	if from >= d.base {
		begun = trimLeft(d.in[from-d.base:])
	} else {
		begun = trimLeft(d.arena.slice(from-d.holdAt, end-d.holdAt)) // an earlier input ended behind a blank, or in an id
	}
	if begun == "" {
		if !d.waiting && d.state == inBody && d.confirmed {
			d.await(len(d.in), h.text, nil)
		}
		return
	}
	switch rest := h.rest(begun); {
	case rest == "" || strings.HasPrefix(d.expect, rest) || d.candCtx != h.ctx:
	case d.waiting:
		d.expect, d.stop = rest, nil
	default:
		d.await(len(d.in), rest, nil)
	}
}

// passesID lets a chunk wait as well that differs from what is expected in nothing but the id of the call. It reports whether it does.
func (d *Decoder) passesID(chunk string) bool {
	h := &d.head
	if d.expect == "" || !strings.HasSuffix(h.text, d.expect) {
		return false
	}
	at := len(h.text) - len(d.expect) + d.met // where the chunk begins in it
	same := common(h.text[at:], chunk)
	if at+same < h.id.at || at > h.id.to {
		return false
	}
	end := d.base + len(d.in) + d.met + len(chunk)
	to := indexEscaped(chunk, max(0, h.id.at-at))
	rest, ok := strings.CutPrefix(h.text[h.id.to:], chunk[to:])
	if !ok || rest == "" || end-d.unread > maxHeader {
		return false
	}
	d.arena.write(d.expect[:d.met])
	d.arena.write(chunk)
	d.in, d.base, d.spilled, d.expect, d.met = "", end, end, rest, 0
	return true
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
