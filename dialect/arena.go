package dialect

import "unsafe"

// An arena keeps held bytes. Strings cut from it stay valid, since bytes are only ever added; what a small hold leaves
// unused serves the next one. A long hold lies in several blocks, so that growing does not copy it.
type arena struct {
	full []string // the blocks of the hold that are used up
	size int      // of full
	b    []byte   // the last block; bytes that are in it never change
	from int      // where the hold, or what of it is not in full, begins in b
}

const (
	arenaFirst = 1 << 10 // the first block: most answers are short
	arenaSize  = 16 << 10
	arenaMost  = 256 << 10
	arenaSmall = 512 // a hold up to this size is copied rather than parted
)

// mark begins a new hold.
func (a *arena) mark() { a.full, a.size, a.from = a.full[:0], 0, len(a.b) }

// cut drops the first n bytes of the hold.
func (a *arena) cut(n int) {
	for len(a.full) > 0 && n >= len(a.full[0]) {
		n -= len(a.full[0])
		a.size -= len(a.full[0])
		a.full = a.full[1:]
	}
	if len(a.full) > 0 {
		a.full[0] = a.full[0][n:]
		a.size -= n
		return
	}
	a.from += n
}

func (a *arena) write(s string) {
	if cap(a.b)-len(a.b) < len(s) {
		a.next(len(s))
	}
	n := len(a.b)
	a.b = a.b[:n+len(s)]
	copy(a.b[n:], s)
}

// next begins a block that has room for n bytes.
func (a *arena) next(n int) {
	last := a.last(a.from)
	size := max(arenaFirst, min(4*cap(a.b), arenaSize), min(a.size/4, arenaMost))
	a.b = make([]byte, 0, max(n+arenaSmall, size))
	if len(last) <= arenaSmall {
		a.b = append(a.b, last...)
	} else {
		a.full, a.size = append(a.full, last), a.size+len(last)
	}
	a.from = 0
}

// last returns the last block from the offset from on.
func (a *arena) last(from int) string {
	return unsafe.String(unsafe.SliceData(a.b[from:]), len(a.b)-from)
}

// part returns the bytes of the hold from from on, as many up to to as lie in one block.
func (a *arena) part(from, to int) string {
	if from >= a.size {
		return a.last(a.from)[from-a.size : to-a.size]
	}
	at := 0
	for _, s := range a.full {
		if from < at+len(s) {
			return s[from-at : min(to-at, len(s))]
		}
		at += len(s)
	}
	return "" // not reached: from lies in a block
}

// slice returns the bytes [from, to) of the hold.
func (a *arena) slice(from, to int) string {
	if from >= a.size {
		return a.last(a.from)[from-a.size : to-a.size]
	}
	if to-from > arenaSize {
		return a.text()[from:to]
	}
	part := make([]byte, 0, to-from)
	at := 0
	for _, s := range a.full {
		if from < at+len(s) && to > at {
			part = append(part, s[max(0, from-at):min(len(s), to-at)]...)
		}
		at += len(s)
	}
	if to > at {
		part = append(part, a.b[a.from+max(0, from-at):a.from+to-at]...)
	}
	return string(part)
}

// text returns the hold, in one piece from now on.
func (a *arena) text() string {
	last := a.last(a.from)
	if len(a.full) == 0 {
		return last
	}
	b := make([]byte, 0, a.size+len(last)+arenaSmall)
	for _, s := range a.full {
		b = append(b, s...)
	}
	b = append(b, last...)
	a.full, a.size, a.b, a.from = a.full[:0], 0, b, 0
	return a.last(0)
}
