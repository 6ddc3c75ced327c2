package dialect

import (
	"slices"
	"sync"
)

// cacheSize is how many automata a Cache keeps. A program reads texts in a few ways only: for each family of models with tools and
// without.
const cacheSize = 64

// A Cache keeps what options compile to, tools apart, so that a decoder for other tools costs little. The zero value is ready, and
// safe for concurrent use.
type Cache struct {
	mu      sync.Mutex
	entries []cacheEntry // the latest last
}

type cacheEntry struct {
	key cacheKey
	*automaton
}

// A cacheKey is what an automaton depends on.
type cacheKey struct {
	dialect        string
	prefer, drop   []string
	only, tools    bool
	off            bool
	opener, closer string
}

func keyOf(o *Options) cacheKey {
	return cacheKey{
		dialect: o.Dialect, prefer: o.Prefer, drop: o.Drop, only: o.Only, tools: len(o.Tools) > 0,
		off: o.Thinking.Off, opener: o.Thinking.Opener, closer: o.Thinking.Closer,
	}
}

// auto reports whether the options leave everything but the tools as it is by default.
func (k *cacheKey) auto() bool {
	return (k.dialect == "" || k.dialect == "auto") && len(k.prefer)+len(k.drop) == 0 && !k.off && k.closer == ""
}

func (k *cacheKey) equal(l *cacheKey) bool {
	return k.dialect == l.dialect && k.only == l.only && k.tools == l.tools && k.off == l.off && k.opener == l.opener && k.closer == l.closer &&
		slices.Equal(k.prefer, l.prefer) && slices.Equal(k.drop, l.drop)
}

// automaton returns the automaton of a set. A nil Cache keeps none.
func (c *Cache) automaton(s *set) *automaton {
	key := keyOf(&s.opts)
	switch {
	case key.auto() && key.tools:
		return autoAutomaton()
	case key.auto():
		return plainAutomaton()
	case c == nil:
		return newAutomaton(s)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.entries {
		if c.entries[i].key.equal(&key) {
			return c.entries[i].automaton
		}
	}
	if len(c.entries) == cacheSize {
		c.entries = slices.Delete(c.entries, 0, 1)
	}
	key.prefer, key.drop = slices.Clone(key.prefer), slices.Clone(key.drop)
	c.entries = append(c.entries, cacheEntry{key, newAutomaton(s)})
	return c.entries[len(c.entries)-1].automaton
}
