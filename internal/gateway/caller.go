package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
)

// WhoHas returns whose key has a hash, for who has let its holder in for longer than a request and keeps no keys. It
// reports false if it is nobody's, or not any more.
func (g *Gateway) WhoHas(hash [sha256.Size]byte) (Caller, bool) {
	var found *holder
	for _, h := range g.current.Load().holders { // all of them, so that the time says nothing
		if subtle.ConstantTimeCompare(hash[:], h.Hash[:]) == 1 {
			found = h
		}
	}
	return found.caller(), found != nil
}

// Sees reports whether the holder of the key of a name may use a model.
func (g *Gateway) Sees(key, model string) bool {
	h := holderNamed(g.current.Load().holders, key)
	return h != nil && h.maySee(model)
}
