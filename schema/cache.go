package schema

import (
	"container/list"
	"crypto/sha256"
	"encoding/json"
	"sync"

	"wield/schema/shape"
)

// Bounds of a Cache.
const (
	maxCached      = 512
	maxCachedBytes = 32 << 20 // of texts, and about what is made of them
	tokenBytes     = 200      // of a token of the text, and of what is made of it
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
	s, err := c.compile(raw)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Shape returns the shape of the schema in raw as ShapeOf does, from the cache if it is there.
func (c *Cache) Shape(raw json.RawMessage) *shape.Shape {
	s, _ := c.compile(raw)
	return s.Shape()
}

func (c *Cache) compile(raw json.RawMessage) (*Schema, error) {
	if c == nil {
		return compile(string(raw))
	}
	e := c.entry(raw)
	e.once.Do(func() {
		e.schema, e.err = compile(string(raw))
		c.weigh(e)
	})
	return e.schema, e.err
}

// weigh adds what a schema takes, which is known when it is compiled.
func (c *Cache) weigh(e *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if el := c.entries[e.key]; el != nil && el.Value.(*cached) == e {
		more := patternBytes * e.schema.Patterns()
		if e.schema.tape != nil {
			more += tokenBytes * len(e.schema.tape.tokens)
		}
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
