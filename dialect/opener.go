package dialect

// use says what an opener begins.
type openerUse uint8

const (
	useNone     openerUse = iota
	useJSON               // a section with JSON calls
	useCalls              // a section with a list of function calls
	useBody               // a body machine: at once, or in a section, when what must follow was read
	useThink              // reasoning
	useDrop               // a token without a meaning here
	useBOM                // a byte order mark
	useVerbatim           // the result of a tool, which is never read for calls
	useLabel              // a line that says that a call follows, in the form of one that needs no opener
	useEnd                // ends what calls stand in: left out behind a call
	useTurn               // tells whose turn it is, see turnMark
	useSection            // what openers with the same literal amount to: what follows decides the body
)

// An opener is a literal that may begin a call, and what the table says of it. Several dialects may share
// one; what stands behind it, after white space, then tells them apart: a JSON value, a list of function
// calls, a literal, or a word.
type opener struct {
	literal   string
	use       openerUse
	closer    string // sections, useThink, useVerbatim: the literal that ends it; "": its value does
	then      string // useBody: the literal that must follow in the section; the body begins behind it
	word      bool   // useBody: anything else may follow in the section, such as a name; the body begins with it
	body      func(d *driver, o *opener) body
	lineStart bool // only at the start of a line
	framing   bool // it stands around text as well, and is left out when no tools are on offer too
	anywhere  bool // useThink, useVerbatim: in the middle of a line too
	mixed     bool // useThink: models close it with the tag of another one, too
	// useDrop: only behind a call or a reasoning block; with a closer, that is left out too. useVerbatim: only behind a
	// call of the dialect
	tail     bool
	named    bool      // only if the dialect is the one that is expected most
	closes   bool      // useDrop: as the closer of one that was left out
	optional bool      // useJSON: the closer may be missing; if others share the literal, then only behind a list
	first    bool      // useDrop: only at the start of the message
	private  bool      // not behind words in a message for the user, who is shown it
	keyed    bool      // useJSON: a call is an object whose one key is the name of the tool
	keys     [2]string // useJSON: the keys of the name and of the arguments, where they are others than the usual ones
	mark     turnMark
	style    uint8 // of a role line, from 1: both lines have the same

	dialect string // filled in by the automaton, as the section is
	section
}

// A section describes what may follow an opener that opens one.
type section struct {
	json     string   // the dialect in which a JSON value may follow
	pythonic string   // the same for a list of function calls
	label    string   // the same for a call in a form that needs no opener
	ways     []opener // the bodies that may follow
	lists    bool     // behind a list the closer may be missing
	drop     bool     // where no call follows the literal is a token without a meaning
}

// The openers that belong to no dialect. Those of the dialects stand in their rows.
var commonOpeners = []opener{
	{literal: "<think>", use: useThink, closer: "</think>"},
	{literal: "<thinking>", use: useThink, closer: "</thinking>"},
	{literal: "[THINK]", use: useThink, closer: "[/THINK]", anywhere: true},
	{literal: "<seed:think>", use: useThink, closer: "</seed:think>", anywhere: true},
	{literal: "<|START_THINKING|>", use: useThink, closer: "<|END_THINKING|>", anywhere: true},
	{literal: "<|channel>thought\n", use: useThink, closer: "<channel|>", anywhere: true},
	{literal: "<|channel>", use: useThink, closer: "<channel|>", anywhere: true},
	{literal: "<|inner_prefix|>", use: useThink, closer: "<|inner_suffix|>"},
	{literal: "<mm:think>", use: useThink, closer: "</mm:think>"},
	{literal: "<|plamo:begin_think:plamo|>", use: useThink, closer: "<|plamo:end_think:plamo|>", anywhere: true},
	{literal: "<longcat_think>", use: useThink, closer: "</longcat_think>"},
	{use: useThink, closer: "[BEGIN FINAL RESPONSE]"}, // Apriel: nothing opens it but the prompt

	{literal: "<|im_end|>", use: useDrop},
	{literal: "<|endoftext|>", use: useDrop},
	{literal: "<|eot_id|>", use: useDrop},
	{literal: "<|eom_id|>", use: useDrop},
	{literal: "<end_of_turn>", use: useDrop},
	{literal: "<turn|>", use: useDrop},
	{literal: "<|start_header_id|>", use: useDrop},
	{literal: "<|end_header_id|>", use: useDrop},
	{literal: "<|end_of_text|>", use: useDrop},
	{literal: "<|eot|>", use: useDrop},
	{literal: "<|assistant_end|>", use: useDrop},
	{literal: "<|message_sep|>", use: useDrop},
	{literal: "<|START_RESPONSE|>", use: useDrop},
	{literal: "<|END_RESPONSE|>", use: useDrop},
	{literal: "<|START_TEXT|>", use: useDrop},
	{literal: "<|END_TEXT|>", use: useDrop},
	{literal: "<|END_OF_TURN_TOKEN|>", use: useDrop},
	{literal: "<|START_OF_TURN_TOKEN|>", use: useDrop},
	{literal: "<|CHATBOT_TOKEN|>", use: useDrop},
	{literal: "<|python_tag|>", use: useDrop},
	{literal: "<|python_end|>", use: useDrop},
	{literal: "<｜end▁of▁sentence｜>", use: useDrop},
	{literal: "<|plamo:tag|>", use: useDrop},
	{literal: "<|plamo:end_think:plamo|>", use: useDrop},
	{literal: "<|role_end|>", use: useDrop},
	{literal: "<channel|>", use: useDrop},

	{literal: "[BEGIN FINAL RESPONSE]", use: useDrop},
	{literal: "[END FINAL RESPONSE]", use: useDrop},
	{literal: "</s>", use: useDrop, tail: true},
	{literal: "<0x0A>", use: useDrop, tail: true}, // ERNIE
	{literal: "<answer>", use: useDrop, tail: true, closer: "</answer>"},
	{literal: "</answer>", use: useDrop, tail: true, closes: true},
	{literal: "<response>", use: useDrop, tail: true, closer: "</response>"},
	{literal: "</response>", use: useDrop, closes: true},

	{literal: "<tool_response>", use: useVerbatim, closer: "</tool_response>", lineStart: true},
	{literal: "<tool_result>", use: useVerbatim, closer: "</tool_result>", lineStart: true},
	{literal: "<longcat_tool_response>", use: useVerbatim, closer: "</longcat_tool_response>", lineStart: true},
	{literal: "<TOOL_RESPONSE>", use: useVerbatim, closer: "</TOOL_RESPONSE>", lineStart: true},
	{literal: "[TOOL_RESULTS]", use: useVerbatim, closer: "[/TOOL_RESULTS]", lineStart: true},
	{literal: "<｜tool▁output▁begin｜>", use: useVerbatim, closer: "<｜tool▁output▁end｜>", lineStart: true},
	{literal: "<｜tool▁outputs▁begin｜>", use: useVerbatim, closer: "<｜tool▁outputs▁end｜>", lineStart: true},
	{literal: "<|START_TOOL_RESULT|>", use: useVerbatim, closer: "<|END_TOOL_RESULT|>", lineStart: true},

	{literal: "\ufeff", use: useBOM},
}

// sectioned reports whether what follows the opener is still to be told.
func (o *opener) sectioned() bool {
	return o.use == useJSON || o.use == useCalls || o.use == useLabel || o.use == useSection ||
		o.use == useBody && (o.then != "" || o.word)
}

// join adds to a section the ways that another opener with the same literal goes on. The first to claim a way keeps it.
func (o *opener) join(other opener) {
	if o.use != useSection {
		first := *o
		*o = opener{literal: o.literal, use: useSection, closer: o.closer, lineStart: o.lineStart, optional: o.optional,
			keyed: o.keyed, private: o.private, keys: o.keys}
		o.join(first)
	}
	switch {
	case other.use == useJSON:
		o.lists, o.optional = o.lists || other.optional, o.optional && other.optional
		if o.json == "" {
			o.json = other.dialect
		}
	case other.use == useLabel:
		o.label = other.dialect
	case other.use == useCalls && o.pythonic == "":
		o.pythonic = other.dialect
	case other.use == useBody && !(other.word && o.wordWay() != nil):
		o.ways = append(o.ways, other)
	}
	if o.closer == "" {
		o.closer = other.closer
	}
}

// leads reports whether a literal that tells how the section goes on begins with c.
func (o *opener) leads(c byte) bool {
	for i := range o.ways {
		if w := &o.ways[i]; !w.word && w.then[0] == c {
			return true
		}
	}
	return false
}

// wordWay returns the way that the section continues a word, or nil.
func (o *opener) wordWay() *opener {
	for i := range o.ways {
		if o.ways[i].word {
			return &o.ways[i]
		}
	}
	return nil
}

// A trie is the automaton over all openers. Node 0 is the root.
type trie struct {
	nodes  []trieNode
	tables [][256]uint16 // the children of nodes that have several
	root   [256]bool
}

type trieNode struct {
	c     byte   // the byte that leads to its only child
	child uint16 // that child; 0: none, or several
	table uint16 // one more than the index of its table; 0: it has none
	end   *opener

	// of the first opener that was added of those that lead through it, up to the end of the first on the way
	rest string
	to   int32 // where that ends
}

func (t *trie) add(o opener) {
	if len(t.nodes) == 0 {
		t.nodes = append(t.nodes, trieNode{})
	}
	t.root[o.literal[0]] = true
	at := int32(0)
	for i := 0; i < len(o.literal); i++ {
		if t.nodes[at].rest == "" {
			t.nodes[at].rest = o.literal[i:]
		}
		next := t.next(at, o.literal[i])
		if next == 0 {
			next = int32(len(t.nodes))
			t.nodes = append(t.nodes, trieNode{})
			t.link(&t.nodes[at], o.literal[i], uint16(next))
		}
		at = next
	}
	switch first := t.nodes[at].end; {
	case first == nil && o.sectioned():
		o.join(o)
		t.nodes[at].end = &o
	case first == nil:
		t.nodes[at].end = &o
	case first.use == useSection && o.sectioned():
		first.join(o)
	case first.use == useSection && o.use == useDrop:
		first.drop = true
	}
}

// link adds a child to a node.
func (t *trie) link(n *trieNode, c byte, child uint16) {
	switch {
	case n.table != 0:
		t.tables[n.table-1][c] = child
	case n.child == 0:
		n.c, n.child = c, child
	default:
		t.tables = append(t.tables, [256]uint16{})
		several := &t.tables[len(t.tables)-1]
		several[n.c], several[c] = n.child, child
		n.child, n.table = 0, uint16(len(t.tables))
	}
}

// seal finds where the likeliest ways through the automaton end, once all openers are in it.
func (t *trie) seal() {
	for i := len(t.nodes) - 1; i >= 0; i-- { // a child stands behind its parent
		n := &t.nodes[i]
		if n.rest == "" {
			continue
		}
		n.to = t.next(int32(i), n.rest[0])
		length := 1
		if child := &t.nodes[n.to]; child.end == nil && child.rest != "" {
			n.to, length = child.to, 1+len(child.rest)
		}
		n.rest = n.rest[:length]
	}
}

// likely returns how an opener most likely goes on from a node, and the node where it ends.
func (t *trie) likely(at int32) (rest string, to int32) {
	if int(at) >= len(t.nodes) {
		return "", 0
	}
	return t.nodes[at].rest, t.nodes[at].to
}

func (t *trie) starts(c byte) bool { return t.root[c] }

// next returns the node that c leads to from at, or 0.
func (t *trie) next(at int32, c byte) int32 {
	if int(at) >= len(t.nodes) {
		return 0
	}
	n := &t.nodes[at]
	switch {
	case n.table != 0:
		return int32(t.tables[n.table-1][c])
	case n.c == c:
		return int32(n.child)
	}
	return 0
}

// goesOn reports whether a longer opener begins with the one that ends at the node.
func (t *trie) goesOn(at int32) bool { return t.nodes[at].child != 0 || t.nodes[at].table != 0 }

// end returns the opener that ends at the node, or nil.
func (t *trie) end(at int32) *opener { return t.nodes[at].end }
