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
	arenaSize  = 16 << 10
	arenaMost  = 256 << 10
	arenaSmall = 512 // a hold up to this size is copied rather than parted
)

// mark begins a new hold.
func (a *arena) mark() { a.full, a.size, a.from = a.full[:0], 0, len(a.b) }

// cut lets go of the first n bytes of the hold.
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
	a.b = make([]byte, 0, max(n+arenaSmall, min(arenaMost, max(arenaSize, a.size/4))))
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

// end returns the last n bytes of the hold, which begin at from in it.
func (a *arena) end(n, from int) string {
	if len(a.b)-a.from >= n {
		return a.last(len(a.b) - n)
	}
	return a.slice(from, from+n)
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

// A builder makes texts of arguments, one after the other. Short ones lie in one block: whoever keeps one of them keeps that of all.
type builder struct {
	b    []byte // the text; of what is behind it in the block nothing is used yet
	size int    // of the block
}

const (
	smallArgs = 96      // most arguments are so short that they never grow again
	argsBlock = 1 << 10 // the largest block for several
)

// begin begins another text.
func (b *builder) begin() {
	if b.b = b.b[len(b.b):]; cap(b.b) > argsBlock {
		b.b = nil // it is what a long one left over
	}
}

// grow makes room for n bytes.
func (b *builder) grow(n int) {
	if cap(b.b)-len(b.b) < n {
		b.next(n)
	}
}

// next begins a block for the text so far and n bytes more, doubling: what the append of Go does copies a long text many times.
func (b *builder) next(n int) {
	b.size = min(max(2*b.size, smallArgs), argsBlock)
	block := make([]byte, len(b.b), max(2*len(b.b)+n, b.size))
	copy(block, b.b)
	b.b = block
}

func (b *builder) writeString(s string) {
	b.grow(len(s))
	n := len(b.b)
	b.b = b.b[:n+len(s)]
	copy(b.b[n:], s)
}

func (b *builder) write(s []byte) { b.writeString(unsafe.String(unsafe.SliceData(s), len(s))) }

func (b *builder) writeByte(c byte) {
	b.grow(1)
	b.b = append(b.b, c)
}

func (b *builder) len() int { return len(b.b) }

// string returns the text so far. It stays as it is.
func (b *builder) string() string { return unsafe.String(unsafe.SliceData(b.b), len(b.b)) }
