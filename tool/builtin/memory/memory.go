// Package memory holds tools with which a model keeps notes for later conversations: add_memory, search_memories,
// get_memory, update_memory, delete_memory and get_memory_stats.
//
// A memory is a text with a type, tags and an importance. All of them lie in one file of the person's, so that every
// conversation that has the tools sees them. What a model once read anywhere may be told it again as a memory: give
// the tools only to models that the person would let write into their own notes.
package memory

import (
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"wield/tool"
)

// A Memory is one note.
type memory struct {
	ID         string   `json:"memory_id"`
	Content    string   `json:"content"`
	Type       string   `json:"memory_type"`
	Tags       []string `json:"tags"`
	Importance float64  `json:"importance"` // 0 to 1
	Created    string   `json:"created_at"` // RFC 3339
	Updated    string   `json:"updated_at"`
}

// Options say where memories are kept.
type Options struct {
	Path string           // of the file; it and its directory are made when the first memory is added
	Now  func() time.Time // nil: time.Now
	Max  int              // memories at most; 0: 10000

	others time.Duration // how long other processes that use the file are waited for; 0: 5 s
}

// Bounds of a memory.
const (
	maxContent = 16 << 10 // bytes
	maxTags    = 20
	maxTag     = 100 // bytes
	maxFound   = 50
	defaultMax = 10000

	defaultOthers = 5 * time.Second
)

// properties are the parts of a memory as the tools take them.
const properties = `"memory_type":{"type":"string","enum":["note","fact","preference","task","context"],"description":"kind of memory"},
"tags":{"type":"array","items":{"type":"string"},"maxItems":20,"description":"keywords to find it"},
"importance":{"type":"number","minimum":0,"maximum":1,"description":"importance from 0 to 1"}`

const id = `"memory_id":{"type":"string","description":"ID of the memory, as returned by add_memory or search_memories"}`

// tools are the definitions. Those that write need mode rw.
var tools = []struct {
	name, about, properties, required string
	writes                            bool
	run                               func(context.Context, *store, []byte) (any, error)
}{
	{"add_memory",
		`Save a memory for later conversations; returns it with its memory_id. Example: {"content": "Prefers metric units", "memory_type": "preference", "tags": ["units"]}`,
		`"content":{"type":"string","minLength":1,"description":"text to remember, at most 16 KiB"},` + properties,
		`"content"`, true, add},
	{"search_memories",
		`Find memories by words in the text or tags; returns {memories, count}, best match first. Without query: the latest ones. Example: {"query": "units", "limit": 5}`,
		`"query":{"type":"string","description":"words to find, or beginnings of words"},"limit":{"type":"integer","minimum":1,"maximum":50,"description":"maximum number of memories. Default: 10"},` + properties[:strings.Index(properties, `,`+"\n"+`"importance"`)], ``, false, search},
	{"get_memory", `Return one memory. Example: {"memory_id": "mem_1a2b3c4d5e6f"}`, id, `"memory_id"`, false, get},
	{"update_memory",
		`Change a memory. Omitted fields stay as they are. Example: {"memory_id": "mem_1a2b3c4d5e6f", "importance": 0.9}`,
		id + `,"content":{"type":"string","minLength":1,"description":"new text"},` + properties, `"memory_id"`, true,
		update},
	{"delete_memory", `Delete a memory permanently. Example: {"memory_id": "mem_1a2b3c4d5e6f"}`, id, `"memory_id"`,
		true, remove},
	{"get_memory_stats", `Return the number of memories by type and by age. Example: {}`, ``, ``, false, stats},
}

// Tools returns the tools.
func (o Options) Tools() []*tool.Tool {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Max <= 0 {
		o.Max = defaultMax
	}
	if o.others <= 0 {
		o.others = defaultOthers
	}
	turn := make(chan struct{}, 1)
	var list []*tool.Tool
	for _, d := range tools {
		schema := `{"type":"object","properties":{` + d.properties + `},"required":[` + d.required +
			`],"additionalProperties":false}`
		t := tool.Raw(d.name, d.about, json.RawMessage(schema), func(ctx context.Context, c *tool.Call) (tool.Result,
			error) {
			return o.call(ctx, c, turn, d.writes, d.run)
		})
		t.Facts.ReadOnly = !d.writes
		t.State, t.Style, t.Source = tool.StateDisabled, tool.StyleLLF, "builtin"
		list = append(list, t)
	}
	return list
}

// call carries a call out on the file. Calls take turns: SQLite lets whoever finds a file in use ask again now and
// then, and on a slow disk it is always another one who is there first, until there is no patience left.
func (o Options) call(ctx context.Context, c *tool.Call, turn chan struct{}, writes bool,
	run func(context.Context, *store, []byte) (any, error)) (tool.Result, error) {
	if writes && c.Guard != nil && c.Guard.Mode != tool.ModeRW {
		return tool.Result{}, tool.Errorf(tool.ErrSecurity, "Operation write not allowed in read-only mode")
	}
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return tool.Result{}, ctx.Err()
	}
	s, err := o.open(ctx, writes)
	if err != nil {
		return tool.Result{}, err
	}
	defer s.close()
	out, err := run(ctx, s, []byte(c.Arguments))
	if err != nil {
		return tool.Result{}, err
	}
	data, err := json.Marshal(out)
	return tool.Result{OK: true, Data: data}, err
}

// in holds the arguments of all tools. A field that was left out is nil.
type in struct {
	ID         string    `json:"memory_id"`
	Content    *string   `json:"content"`
	Type       *string   `json:"memory_type"`
	Tags       *[]string `json:"tags"`
	Importance *float64  `json:"importance"`
	Query      string    `json:"query"`
	Limit      int       `json:"limit"`
}

func read(arguments []byte) (v in, err error) {
	if err := json.Unmarshal(arguments, &v); err != nil {
		return v, tool.Errorf(tool.ErrInvalid, "Invalid arguments: %w", err)
	}
	return v, nil
}

// into changes what the arguments name, and says what does not fit.
func (v *in) into(m *memory) error {
	if v.Content != nil {
		m.Content = *v.Content
	}
	if v.Type != nil {
		m.Type = *v.Type
	}
	if v.Importance != nil {
		m.Importance = *v.Importance
	}
	if v.Tags != nil {
		m.Tags = *v.Tags
	}
	switch {
	case strings.TrimSpace(m.Content) == "":
		return tool.Errorf(tool.ErrInvalid, "content is empty")
	case len(m.Content) > maxContent:
		return tool.Errorf(tool.ErrLimit,
			"content has %d bytes; a memory holds %d. Keep what matters, or write a file",
			len(m.Content), maxContent)
	case len(m.Tags) > maxTags:
		return tool.Errorf(tool.ErrLimit, "%d tags; a memory has at most %d", len(m.Tags), maxTags)
	}
	for _, t := range m.Tags {
		if t == "" || len(t) > maxTag || !utf8.ValidString(t) {
			return tool.Errorf(tool.ErrInvalid, "a tag has between 1 and %d bytes of text", maxTag)
		}
	}
	return nil
}

func add(ctx context.Context, s *store, arguments []byte) (any, error) {
	v, err := read(arguments)
	if err != nil {
		return nil, err
	}
	m := &memory{Type: "note", Importance: 0.5, Tags: []string{}}
	if err := v.into(m); err != nil {
		return nil, err
	}
	return m, s.add(ctx, m)
}

// found is the result of search_memories.
type searchResult struct {
	Memories []memory `json:"memories"`
	Count    int      `json:"count"`
}

func search(ctx context.Context, s *store, arguments []byte) (any, error) {
	v, err := read(arguments)
	if err != nil {
		return nil, err
	}
	if v.Limit <= 0 {
		v.Limit = 10
	}
	list, err := s.search(ctx, &v)
	return searchResult{list, len(list)}, err
}

func get(ctx context.Context, s *store, arguments []byte) (any, error) {
	v, err := read(arguments)
	if err != nil {
		return nil, err
	}
	return s.get(ctx, v.ID)
}

func update(ctx context.Context, s *store, arguments []byte) (any, error) {
	v, err := read(arguments)
	if err != nil {
		return nil, err
	}
	return s.update(ctx, v.ID, v.into)
}

func remove(ctx context.Context, s *store, arguments []byte) (any, error) {
	v, err := read(arguments)
	if err != nil {
		return nil, err
	}
	return struct {
		ID      string `json:"memory_id"`
		Deleted bool   `json:"deleted"`
	}{v.ID, true}, s.delete(ctx, v.ID)
}

func stats(ctx context.Context, s *store, _ []byte) (any, error) { return s.stats(ctx) }
