package terminal

import (
	"unicode"
	"unicode/utf8"
)

// Characters that cannot be seen.
const (
	nonJoiner  = 0x200c
	zeroJoiner = 0x200d
	softHyphen = 0xad
	textSign   = 0xfe0e // the sign before it is to be shown as text,
	emojiSign  = 0xfe0f // as a picture
	keycap     = 0x20e3 // a key around the digit before it
)

// An unseen replaces characters that cannot be seen. Where they belong to what stands beside them they are
// shown with it; elsewhere they could hide something, or be there by mistake.
type unseen struct {
	from, to rune
	belongs  func(before, after rune) bool // nil: never
	spelled  bool                          // elsewhere; else left out
}

// unseens are these characters. What is in no row, such as those that turn the direction of text, tags, and blanks
// without a width, is spelled.
var unseens = [...]unseen{
	{from: softHyphen, to: softHyphen}, // where a word may be broken
	{from: nonJoiner, to: nonJoiner, belongs: bothJoin},
	{from: zeroJoiner, to: zeroJoiner, belongs: func(before, after rune) bool {
		return pictographic(before) && pictographic(after) || bothJoin(before, after)
	}},
	{from: 0xfe00, to: textSign - 1,
		belongs: func(before, _ rune) bool {
			return unicode.Is(unicode.Sm, before) || unicode.Is(unicode.Han, before)
		}, spelled: true},
	{from: textSign, to: emojiSign,
		belongs: func(before, after rune) bool { return pictographic(before) || after == keycap }},
	// with any other sign they are hidden text
	{from: 0xe0100, to: 0xe01ef, belongs: func(before, _ rune) bool { return unicode.Is(unicode.Han, before) },
		spelled: true},
}

// unseenOf returns the row of a character, or nil.
func unseenOf(r rune) *unseen {
	for i := range unseens {
		if u := &unseens[i]; r >= u.from && r <= u.to {
			return u
		}
	}
	return nil
}

// bothJoin reports whether letters may be joined, or kept apart, by what stands between them.
func bothJoin(before, after rune) bool {
	return unicode.In(before, joining...) && unicode.In(after, joining...)
}

// joining are the scripts in which letters are joined.
var joining = []*unicode.RangeTable{unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari,
	unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada,
	unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar}

// pictographic reports whether a character may be part of a picture that several of them make.
func pictographic(r rune) bool { return unicode.Is(pictures, r) }

// pictures are the characters that Unicode calls pictographic, and the colours of skin.
var pictures = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0xa9, 0xa9, 1}, {0xae, 0xae, 1}, {0x203c, 0x203c, 1}, {0x2049, 0x2049, 1}, {0x2122, 0x2122, 1},
		{0x2139, 0x2139, 1}, {0x2194, 0x2199, 1}, {0x21a9, 0x21aa, 1}, {0x231a, 0x231b, 1}, {0x2328, 0x2328, 1},
		{0x23cf, 0x23cf, 1}, {0x23e9, 0x23f3, 1}, {0x23f8, 0x23fa, 1}, {0x24c2, 0x24c2, 1}, {0x25aa, 0x25ab, 1},
		{0x25b6, 0x25b6, 1}, {0x25c0, 0x25c0, 1}, {0x25fb, 0x25fe, 1}, {0x2600, 0x2605, 1}, {0x2607, 0x2612, 1},
		{0x2614, 0x2685, 1}, {0x2690, 0x2705, 1}, {0x2708, 0x2712, 1}, {0x2714, 0x2714, 1}, {0x2716, 0x2716, 1},
		{0x271d, 0x271d, 1}, {0x2721, 0x2721, 1}, {0x2728, 0x2728, 1}, {0x2733, 0x2734, 1}, {0x2744, 0x2744, 1},
		{0x2747, 0x2747, 1}, {0x274c, 0x274c, 1}, {0x274e, 0x274e, 1}, {0x2753, 0x2755, 1}, {0x2757, 0x2757, 1},
		{0x2763, 0x2767, 1}, {0x2795, 0x2797, 1}, {0x27a1, 0x27a1, 1}, {0x27b0, 0x27b0, 1}, {0x27bf, 0x27bf, 1},
		{0x2934, 0x2935, 1}, {0x2b05, 0x2b07, 1}, {0x2b1b, 0x2b1c, 1}, {0x2b50, 0x2b50, 1}, {0x2b55, 0x2b55, 1},
		{0x3030, 0x3030, 1}, {0x303d, 0x303d, 1}, {0x3297, 0x3297, 1}, {0x3299, 0x3299, 1},
	},
	R32: []unicode.Range32{
		{0x1f000, 0x1f0ff, 1}, {0x1f10d, 0x1f10f, 1}, {0x1f12f, 0x1f12f, 1}, {0x1f16c, 0x1f171, 1},
		{0x1f17e, 0x1f17f, 1}, {0x1f18e, 0x1f18e, 1}, {0x1f191, 0x1f19a, 1}, {0x1f1ad, 0x1f1e5, 1},
		{0x1f201, 0x1f20f, 1}, {0x1f21a, 0x1f21a, 1}, {0x1f22f, 0x1f22f, 1}, {0x1f232, 0x1f23a, 1},
		{0x1f23c, 0x1f23f, 1}, {0x1f249, 0x1f53d, 1}, {0x1f546, 0x1f64f, 1}, {0x1f680, 0x1f6ff, 1},
		{0x1f774, 0x1f77f, 1}, {0x1f7d5, 0x1f7ff, 1}, {0x1f80c, 0x1f80f, 1}, {0x1f848, 0x1f84f, 1},
		{0x1f85a, 0x1f85f, 1}, {0x1f888, 0x1f88f, 1}, {0x1f8ae, 0x1f8ff, 1}, {0x1f90c, 0x1f93a, 1},
		{0x1f93c, 0x1f945, 1}, {0x1f947, 0x1faff, 1}, {0x1fc00, 0x1fffd, 1},
	},
	LatinOffset: 2,
}

// sign returns how many bytes of cleaned text make its first sign, with all that belongs to it, and how many cells it
// takes at most: terminals that do not know a sequence show its parts one beside the other.
func sign(s string) (n, wide int) {
	r, n := utf8.DecodeRuneInString(s)
	wide = runeWidth(r)
	for n < len(s) && s[n] >= utf8.RuneSelf {
		next, size := utf8.DecodeRuneInString(s[n:])
		switch {
		case next == zeroJoiner && pictographic(r):
			n += size
			part, w := sign(s[n:])
			return n + part, wide + w
		case next == emojiSign && wide == 1:
			wide = 2
		case runeWidth(next) > 0 || next >= pasteBase && next < pasteBase+maxPastes:
			return n, wide
		}
		n += size
	}
	return n, wide
}
