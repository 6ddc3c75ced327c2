package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"sync"
	"time"

	"wield/internal/apikey"
)

// A Role says what the holder of a key may do.
type Role string

// The roles.
const (
	RoleClient   Role = "client"   // ask models
	RoleApprover Role = "approver" // decide approvals, and nothing else
	RoleAdmin    Role = "admin"    // everything
	RoleWorker   Role = "worker"   // run calls of tools, and nothing else
)

// A Key lets a client in. It holds the hash of the secret, never the secret.
type Key struct {
	Name       string // for the log
	Hash       [sha256.Size]byte
	Role       Role     // empty: client
	Models     []string // patterns of the names it may use, with * and ?; empty: all
	RPM        int      // completions a minute; 0: no limit
	Concurrent int      // completions at a time; 0: no limit
}

// HashKey returns the hash of a key's secret. Secrets are long and random, so that a plain hash is enough.
func HashKey(secret string) [sha256.Size]byte { return sha256.Sum256([]byte(secret)) }

// A holder is a key in use.
type holder struct {
	Key
	*keyUse
}

// A keyUse counts against the limits of a key.
type keyUse struct {
	mu     sync.Mutex
	tokens float64   // completions it may start now
	filled time.Time // when tokens was right
	active int

	// What services that share the limits tell each other.
	started  int // since the last report
	reported int // of active, last
	others   map[string]otherUse
	share    float64 // of the limits that this service may use; 0: all
}

// mayAsk reports whether the holder may use models at all. Nobody in particular may, where no key is needed.
func (h *holder) mayAsk() bool { return h == nil || h.Role != RoleApprover && h.Role != RoleWorker }

// maySee reports whether the holder may use the model of this name.
func (h *holder) maySee(model string) bool {
	if h == nil || len(h.Models) == 0 {
		return true
	}
	for _, p := range h.Models {
		if match(p, model) {
			return true
		}
	}
	return false
}

// keyName is the name for the log.
func (h *holder) keyName() string {
	if h == nil {
		return ""
	}
	return h.Name
}

// start takes a place within the limits, which end gives back. If there is none, it says which limit it was
// and how long to wait.
func (h *holder) start(now time.Time) (limit string, wait time.Duration) {
	if h == nil {
		return "", 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.Concurrent > 0 && float64(h.active+h.elsewhere(now)) >= h.limit(h.Concurrent) {
		return "concurrent", time.Second
	}
	if h.RPM > 0 {
		rate := h.fill(now)
		if h.tokens < 1 {
			return "rpm", time.Duration((1 - h.tokens) / rate)
		}
		h.tokens--
	}
	h.active++
	h.started++
	return "", 0
}

func (h *holder) end() {
	if h == nil {
		return
	}
	h.mu.Lock()
	h.active--
	h.mu.Unlock()
}

func newHolders(keys []Key, now time.Time) []*holder {
	holders := make([]*holder, len(keys))
	for i, k := range keys {
		holders[i] = &holder{Key: k, keyUse: &keyUse{tokens: float64(k.RPM), filled: now}}
	}
	return holders
}

// takeUses lets keys go on with what the limits of the keys of the same names before them remember.
func takeUses(next, before []*holder) {
	for _, h := range next {
		if b := holderNamed(before, h.Name); b != nil {
			h.keyUse = b.keyUse
		}
	}
}

// holderNamed returns the holder of the key of a name, or nil.
func holderNamed(holders []*holder, name string) *holder {
	if i := slices.IndexFunc(holders, func(h *holder) bool { return h.Name == name }); i >= 0 {
		return holders[i]
	}
	return nil
}

// identify finds who sends a request. A nil holder without failure is nobody in particular, where that is allowed.
func (g *Gateway) identify(r *http.Request) (*holder, *failure) {
	if len(g.holders) == 0 {
		return nil, nil
	}
	secret := apikey.FromHeader(r.Header)
	found := g.holderOf(secret)
	if found != nil || g.opts.Open {
		return found, nil
	}
	return nil, g.unknownKey(r)
}

// unknownKey refuses a request that needs a key and has none that is right.
func (g *Gateway) unknownKey(r *http.Request) *failure {
	if apikey.FromHeader(r.Header) == "" || len(g.holders) == 0 {
		return noKey
	}
	return g.refuseKey(r)
}

// holderOf returns whose key a secret is, or nil.
func (g *Gateway) holderOf(secret string) *holder {
	if secret == "" {
		return nil
	}
	var found *holder
	hash := HashKey(secret)
	for _, h := range g.holders { // all of them, so that the time says nothing
		if subtle.ConstantTimeCompare(hash[:], h.Hash[:]) == 1 {
			found = h
		}
	}
	return found
}

// match reports whether name fits pattern, in which * stands for any text, slashes included, and ? for one byte.
func match(pattern, name string) bool {
	star, mark := -1, 0 // the last * and how far name had got there
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
