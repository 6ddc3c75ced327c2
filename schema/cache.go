package schema

import (
	"container/list"
	"crypto/sha256"
	"encoding/json"
	"sync"
)

// Bounds of a Cache.
const (
	maxCached      = 512
	maxCachedBytes = 16 << 20 // of schema text, and of compiled patterns
	patternBytes   = 64       // of an instruction of a pattern
)

// A Cache keeps compiled schemas by the hash of their text, the errors of those that do not compile too, and
// forgets what was not used for the longest time. The zero value is ready. Several goroutines may use it at
// once.
type Cache struct {
	mu      sync.Mutex
	entries map[[sha256.Size]byte]*list.Element
	recent  list.List // of *cached; the front was used last
	bytes   int
}

type cached struct {
	key    [sha256.Size]byte
	size   int
	once   sync.Once
	schema *Schema
	err    error
}

// Compile returns the schema compiled from raw as Compile does, from the cache if it is there. One text is
// compiled once, even when several goroutines ask for it at the same time. A nil Cache compiles every time.
func (c *Cache) Compile(raw json.RawMessage) (*Schema, error) {
	if c == nil {
		return Compile(raw)
	}
	e := c.entry(raw)
	e.once.Do(func() {
		e.schema, e.err = Compile(raw)
		c.weigh(e)
	})
	return e.schema, e.err
}

// weigh adds what the patterns of a schema take, which is known when it is compiled.
func (c *Cache) weigh(e *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el := c.entries[e.key]; el != nil && el.Value.(*cached) == e {
		more := patternBytes * e.schema.Patterns()
		e.size += more
		c.bytes += more
		c.forget()
	}
}

func (c *Cache) entry(raw json.RawMessage) *cached {
	key := sha256.Sum256(raw)
	c.mu.Lock()
	defer c.mu.Unlock()
	if el := c.entries[key]; el != nil {
		c.recent.MoveToFront(el)
		return el.Value.(*cached)
	}
	if c.entries == nil {
		c.entries = make(map[[sha256.Size]byte]*list.Element)
	}
	e := &cached{key: key, size: len(raw)}
	c.entries[key] = c.recent.PushFront(e)
	c.bytes += e.size
	c.forget()
	return e
}

// forget takes out what was not used for the longest time until the rest is small enough.
func (c *Cache) forget() {
	for c.recent.Len() > 1 && (c.recent.Len() > maxCached || c.bytes > maxCachedBytes) {
		old := c.recent.Remove(c.recent.Back()).(*cached)
		delete(c.entries, old.key)
		c.bytes -= old.size
	}
}
