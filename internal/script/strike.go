package script

import (
	"slices"
	"time"
)

// A Piece tells a fault what it needs to know of a part of an answer: of a step in process, of a frame over HTTP.
type Piece struct {
	Chunk bool          // it counts as a chunk
	Wait  time.Duration // before it
	Size  int           // bytes
}

// Point returns the index of the piece before which the fault strikes: at its cut, else in the middle of the chunks.
func (d *Do) Point(list []Piece) int {
	if d.Cut == nil {
		return behind(list, (len(chunks(list))+1)/2)
	}
	if d.Cut.Unit == CutChunks {
		return behind(list, d.Cut.N)
	}
	var wait time.Duration
	size := 0
	for i, p := range list {
		wait += p.Wait
		size += p.Size
		if d.Cut.Unit == CutTime && wait > d.Cut.After || d.Cut.Unit == CutBytes && size > d.Cut.N {
			return i
		}
	}
	return len(list)
}

// Order returns the indexes of the pieces in the order in which they are sent: with one twice, two changed about, or as
// they are.
func (d *Do) Order(list []Piece) []int {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	at := chunks(list)
	if n := d.Dup; n > 0 && n <= len(at) {
		order = slices.Insert(order, at[n-1]+1, at[n-1])
		at = slices.Insert(at, n, at[n-1]+1) // of places in order, from here on
		for i := n + 1; i < len(at); i++ {
			at[i]++
		}
	}
	if n := d.Reorder; n > 0 && n < len(at) {
		i, j := at[n-1], at[n]
		order[i], order[j] = order[j], order[i]
	}
	return order
}

// chunks returns the indexes of the chunks.
func chunks(list []Piece) []int {
	var at []int
	for i, p := range list {
		if p.Chunk {
			at = append(at, i)
		}
	}
	return at
}

// behind returns the index behind the first n chunks: of none, that of the first chunk.
func behind(list []Piece, n int) int {
	at := chunks(list)
	switch {
	case n > len(at) || len(at) == 0:
		return len(list)
	case n == 0:
		return at[0]
	}
	return at[n-1] + 1
}
