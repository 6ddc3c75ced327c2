package prompt

import (
	"bytes"
	"hash/maphash"
	"strings"
	"sync"

	"wield/chat"
)

// Bounds of a Cache. A client offers the same few lists of tools again and again.
const (
	cacheSize  = 64
	cacheBytes = 8 << 20        // of keys and blocks
	cacheEach  = cacheBytes / 4 // of one; a larger one is rendered each time
)

// A Cache keeps tool blocks by the hash of what they are made from. The zero value is ready, and safe for concurrent
// use. A nil *Cache keeps nothing.
type Cache struct {
	mu      sync.Mutex
	seed    maphash.Seed
	entries map[uint64]*cacheEntry
	bytes   int
}

// A cacheEntry has the key in full: a hash may collide, and a wrong block would show one client's tools to another.
type cacheEntry struct {
	settings settings
	tools    []chat.Tool
	block    block
	size     int
}

// settings hold all that a block depends on beside the tools.
type settings struct {
	dialect, prefix, forTools, onlyCalls string
	maxCalls                             int
	bare, apart                          bool
}

// block returns the tool block, from the cache if it is there.
func (c *Cache) block(o *Options, d variant, tools []chat.Tool, bare bool) block {
	if c == nil || len(tools) == 0 {
		return renderBlock(o, d, tools, bare)
	}
	c.mu.Lock()
	if c.entries == nil {
		c.seed, c.entries = maphash.MakeSeed(), make(map[uint64]*cacheEntry)
	}
	var h maphash.Hash
	h.SetSeed(c.seed)
	with := settings{o.dialect(), o.Prefix, o.ForTools, o.OnlyCalls, o.MaxCalls, bare, o.apart()}
	maphash.WriteComparable(&h, with)
	for i := range tools {
		h.WriteString(tools[i].Name)
		h.WriteByte(0)
		h.WriteString(tools[i].Description)
		h.WriteByte(0)
		h.Write(tools[i].Parameters)
		h.WriteByte(0)
	}
	key := h.Sum64()
	e := c.entries[key]
	c.mu.Unlock()

	if e.matches(with, tools) {
		return e.block
	}
	made := renderBlock(o, d, tools, bare)
	size := len(made.tools) + len(made.rules) + sizeOf(tools)
	if size > cacheEach {
		return made
	}
	e = &cacheEntry{settings: with, tools: copyTools(tools), block: made, size: size}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.entries[key]; old != nil {
		c.bytes -= old.size
		delete(c.entries, key)
	}
	for k, old := range c.entries { // any: what is in use comes back
		if len(c.entries) < cacheSize && c.bytes+size <= cacheBytes {
			break
		}
		c.bytes -= old.size
		delete(c.entries, k)
	}
	c.entries[key] = e
	c.bytes += size
	return made
}

// toolBytes estimates the memory of a chat.Tool beside its texts.
const toolBytes = 200

// sizeOf returns how many bytes the definitions of tools take.
func sizeOf(tools []chat.Tool) int {
	n := len(tools) * toolBytes
	for i := range tools {
		n += len(tools[i].Name) + len(tools[i].Description) + len(tools[i].Parameters)
	}
	return n
}

func (e *cacheEntry) matches(with settings, tools []chat.Tool) bool {
	if e == nil || e.settings != with || len(e.tools) != len(tools) {
		return false
	}
	for i := range tools {
		a, b := &e.tools[i], &tools[i]
		if a.Name != b.Name || a.Description != b.Description || !bytes.Equal(a.Parameters, b.Parameters) {
			return false
		}
	}
	return true
}

// copyTools copies what the key needs: the buffers of a request may be used again by whoever owns them, and a text of a
// request's body would keep the whole body in memory.
func copyTools(tools []chat.Tool) []chat.Tool {
	list := make([]chat.Tool, len(tools))
	for i := range tools {
		list[i] = chat.Tool{Name: strings.Clone(tools[i].Name), Description: strings.Clone(tools[i].Description),
			Parameters: bytes.Clone(tools[i].Parameters)}
	}
	return list
}
