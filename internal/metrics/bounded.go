package metrics

import (
	"hash/maphash"
	"strings"
	"sync"
)

// otherName is the label of all names beyond those that have one of their own.
const otherName = "other"

// maxNames is how many tools have a label of their own, and maxNameLen how long the name of one may be.
const (
	maxNames   = 100
	maxNameLen = 64
)

// names are the names of tools that have a label. The zero value is ready.
type names struct {
	mu   sync.RWMutex
	seen map[string]string
}

// label returns name, if it is one of the first maxNames, or else otherName.
func (n *names) label(name string) string {
	n.mu.RLock()
	known := n.seen[name]
	n.mu.RUnlock()
	if known != "" {
		return known
	}
	if name == "" || len(name) > maxNameLen {
		return otherName
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.seen[name] != "":
		return n.seen[name]
	case len(n.seen) >= maxNames:
		return otherName
	case n.seen == nil:
		n.seen = make(map[string]string, maxNames)
	}
	name = strings.Clone(name) // the rest of a request's body is not kept for it
	n.seen[name] = name
	return name
}

// maxResults bounds each of the two generations of results.
const maxResults = 1 << 14

// results remembers which results were counted, by hashes, in two generations of which the older one is forgotten
// when the younger is full. The zero value is ready.
type results struct {
	mu         sync.Mutex
	seed       maphash.Seed
	young, old map[uint64]struct{}
}

// add remembers a result and reports whether it is new.
func (r *results) add(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.young == nil {
		r.seed, r.young = maphash.MakeSeed(), map[uint64]struct{}{}
	}
	h := maphash.String(r.seed, key)
	_, young := r.young[h]
	_, old := r.old[h]
	if young || old {
		return false
	}
	if len(r.young) >= maxResults {
		r.old, r.young = r.young, make(map[uint64]struct{}, maxResults)
	}
	r.young[h] = struct{}{}
	return true
}
