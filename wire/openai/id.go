package openai

import (
	"hash/fnv"
)

// CallIDs says which ids of calls a server takes.
type CallIDs uint8

// The choices.
const (
	callIDsAny  CallIDs = iota
	CallIDsNine         // nine letters and digits, which is all that Mistral's servers take
)

const shortIDLen = 9

// A shortener makes ids of nine letters and digits of the ids of a request: of one id always the same, and of two
// never one. What an id becomes depends on itself alone, but for the rare one that meets another, so that it stays
// the same from request to request. Nothing has to be made long again: calls of such a server have ids that it takes.
type shortener struct {
	short map[string]string
	taken map[string]bool
}

func (s *shortener) of(id string) string {
	if short, ok := s.short[id]; ok {
		return short
	}
	if s.short == nil {
		s.short, s.taken = map[string]string{}, map[string]bool{}
	}
	short := id
	for salt := byte(0); !isShortID(short) || s.taken[short]; salt++ {
		short = hashID(id, salt)
	}
	s.short[id], s.taken[short] = short, true
	return short
}

func isShortID(id string) bool {
	for i := range len(id) {
		if c := id[i] | 0x20; (c < 'a' || c > 'z') && (id[i] < '0' || id[i] > '9') {
			return false
		}
	}
	return len(id) == shortIDLen
}

func hashID(id string, salt byte) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	h := fnv.New64a()
	h.Write([]byte{salt})
	h.Write([]byte(id))
	v := h.Sum64()
	var b [shortIDLen]byte
	for i := range b {
		b[i] = digits[v%uint64(len(digits))]
		v /= uint64(len(digits))
	}
	return string(b[:])
}
