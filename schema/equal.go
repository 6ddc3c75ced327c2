package schema

import (
	"hash/maphash"

	"wield/schema/shape"
)

// equal reports whether two JSON values are the same: numbers by their exact value, strings by their content, objects
// in any order.
func equal(a *tape, i int, b *tape, j int) bool {
	x, y := &a.tokens[i], &b.tokens[j]
	if x.kind != y.kind || x.n != y.n {
		return false
	}
	switch x.kind {
	case shape.Number:
		s, t := a.text(i), b.text(j)
		return s == t || parseDecimal(s) == parseDecimal(t)
	case shape.String:
		if !x.escaped && !y.escaped {
			return a.text(i) == b.text(j)
		}
		return a.str(i) == b.str(j)
	case shape.Array:
		i, j = i+1, j+1
		for range x.n {
			if !equal(a, i, b, j) {
				return false
			}
			i, j = a.tokens[i].next, b.tokens[j].next
		}
		return true
	case shape.Object:
		in := b.finder(j, x.n)
		for m := i + 1; m < x.next; m = a.tokens[m+1].next {
			other, ok := in.member(a.str(m))
			if !ok || !equal(a, m+1, b, other) {
				return false
			}
		}
		return true
	}
	return a.text(i) == b.text(j)
}

// fewItems is up to how many elements are compared pair by pair.
const fewItems = 8

// duplicates finds two equal elements of the array arr and returns their indexes.
func duplicates(t *tape, arr int) (first, second int, found bool) {
	if t.tokens[arr].n > fewItems {
		return manyDuplicates(t, arr)
	}
	var seen [fewItems]int
	n := 0
	for i := arr + 1; i < t.tokens[arr].next; i = t.tokens[i].next {
		for k, other := range seen[:n] {
			if equal(t, i, t, other) {
				return k, n, true
			}
		}
		seen[n] = i
		n++
	}
	return 0, 0, false
}

var seed = maphash.MakeSeed()

func manyDuplicates(t *tape, arr int) (first, second int, found bool) {
	type item struct{ index, token int }
	seen := make(map[uint64][]item, t.tokens[arr].n)
	n := 0
	for i := arr + 1; i < t.tokens[arr].next; i = t.tokens[i].next {
		h := hash(t, i)
		for _, other := range seen[h] {
			if equal(t, i, t, other.token) {
				return other.index, n, true
			}
		}
		seen[h] = append(seen[h], item{n, i})
		n++
	}
	return 0, 0, false
}

// hash returns a number that equal values share.
func hash(t *tape, i int) uint64 {
	tok := &t.tokens[i]
	h := uint64(tok.kind)
	switch tok.kind {
	case shape.Number:
		d := parseDecimal(t.text(i))
		h ^= maphash.String(seed, d.digits) + uint64(d.exp)
		if d.neg {
			h = ^h
		}
	case shape.String:
		h ^= maphash.String(seed, t.str(i))
	case shape.Array:
		for el := i + 1; el < tok.next; el = t.tokens[el].next {
			h = mix(h, hash(t, el))
		}
	case shape.Object:
		for m := i + 1; m < tok.next; m = t.tokens[m+1].next {
			h += mix(maphash.String(seed, t.str(m)), hash(t, m+1))
		}
	default:
		h ^= maphash.String(seed, t.text(i))
	}
	return h
}

// mix joins two hashes into one that depends on their order.
func mix(a, b uint64) uint64 {
	return maphash.Comparable(seed, [2]uint64{a, b})
}
