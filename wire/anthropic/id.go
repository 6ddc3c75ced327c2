package anthropic

import (
	"strings"
)

// The protocol wants ids of calls to be made of letters, digits, - and _, and its own begin with toolu_. Ids that
// other servers and wield make are shown to clients under a prefix that says how to get them back, so that no table
// of them is needed.
const (
	ownID    = "toolu_"   // what the protocol's own servers begin an id with
	mappedID = "toolu_w_" // what an id begins with that was another
)

const hexDigits = "0123456789abcdef"

// clientID returns the id under which a client of this protocol knows a call. It differs for ids that differ.
func clientID(id string) string {
	if strings.HasPrefix(id, ownID) && !strings.HasPrefix(id, mappedID) && isPlainID(id) {
		return id
	}
	return escapeID(id)
}

// serverID returns the id under which a server of this protocol knows a call.
func serverID(id string) string {
	if isPlainID(id) && !strings.HasPrefix(id, mappedID) {
		return id
	}
	return escapeID(id)
}

func isPlainID(id string) bool {
	for i := range len(id) {
		if !isIDByte(id[i]) {
			return false
		}
	}
	return id != ""
}

func isIDByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// escapeID writes id behind the prefix, with _xHH for a byte that the protocol does not allow, and for a _ that could
// be taken for the beginning of such an escape.
func escapeID(id string) string {
	b := make([]byte, 0, len(mappedID)+len(id)+9)
	b = append(b, mappedID...)
	for i := range len(id) {
		c := id[i]
		if isIDByte(c) && !(c == '_' && i+1 < len(id) && id[i+1] == 'x') {
			b = append(b, c)
			continue
		}
		b = append(b, '_', 'x', hexDigits[c>>4], hexDigits[c&15])
	}
	return string(b)
}

// originalID undoes clientID and serverID.
func originalID(id string) string {
	rest, ok := strings.CutPrefix(id, mappedID)
	if !ok {
		return id
	}
	b := make([]byte, 0, len(rest))
	for i := 0; i < len(rest); i++ {
		if strings.HasPrefix(rest[i:], "_x") {
			if i+4 > len(rest) {
				return id // not one of ours
			}
			high, low := strings.IndexByte(hexDigits, rest[i+2]), strings.IndexByte(hexDigits, rest[i+3])
			if high < 0 || low < 0 {
				return id
			}
			b = append(b, byte(high<<4|low))
			i += 3
			continue
		}
		b = append(b, rest[i])
	}
	return string(b)
}
