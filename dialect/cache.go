package dialect

import (
	"slices"
	"sync"
)

// cacheSize limits the rules in a Cache. A program reads texts in a few ways only: for each family of
// models with tools and without.
const cacheSize = 256

// A Cache keeps what options compile to, tools apart, so that a decoder for other tools costs little. The
// zero value is ready, and safe for concurrent use.
type Cache struct {
	mu      sync.Mutex
	entries []cacheEntry // the latest last
}

type cacheEntry struct {
	key cacheKey
	*rules
}

// A cacheKey holds all that rules depend on.
type cacheKey struct {
	dialect        string
	ours           *Dialect
	prefer, drop   []string
	others, own    []string
	only, tools    bool
	off            bool
	opener, closer string
}

func keyOf(o *Options) cacheKey {
	return cacheKey{
		dialect: o.Dialect, ours: o.Own, prefer: o.Prefer, drop: o.Drop, others: o.Headers.Others, own: o.Headers.Own,
		only: o.Only, tools: len(o.Tools) > 0, off: o.Thinking.Off, opener: o.Thinking.Opener,
		closer: o.Thinking.Closer,
	}
}

// auto reports whether the options leave everything but the tools as it is by default.
func (k *cacheKey) auto() bool {
	return (k.dialect == "" || k.dialect == "auto") && k.ours == nil &&
		len(k.prefer)+len(k.drop)+len(k.others)+len(k.own) == 0 && !k.off && k.opener+k.closer == ""
}

func (k *cacheKey) equal(l *cacheKey) bool {
	return k.dialect == l.dialect && k.ours == l.ours && k.only == l.only && k.tools == l.tools && k.off == l.off &&
		k.opener == l.opener && k.closer == l.closer && slices.Equal(k.prefer, l.prefer) &&
		slices.Equal(k.drop, l.drop) && slices.Equal(k.others, l.others) && slices.Equal(k.own, l.own)
}

// rules returns the rules that o compiles to. A nil Cache keeps none.
func (c *Cache) rules(o *Options) (*rules, error) {
	key := keyOf(o)
	switch {
	case key.auto() && key.tools:
		return autoRules()
	case key.auto():
		return plainRules()
	case c == nil:
		return newRules(o)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.entries {
		if c.entries[i].key.equal(&key) {
			return c.entries[i].rules, nil
		}
	}
	r, err := newRules(o)
	if err != nil {
		return nil, err
	}
	if len(c.entries) == cacheSize {
		c.entries = slices.Delete(c.entries, 0, 1)
	}
	key.prefer, key.drop, key.others, key.own = slices.Clone(key.prefer), slices.Clone(key.drop),
		slices.Clone(key.others), slices.Clone(key.own)
	c.entries = append(c.entries, cacheEntry{key, r})
	return r, nil
}
