package dialect

// use says what an opener begins.
type use uint8

const (
	useNone     use = iota
	useElement      // a section: what follows decides the body
	useFunction     // <function=NAME>
	useTool         // <tool name="NAME">
	useLines        // TOOL: NAME
	useThink        // reasoning
	useDrop         // a token without a meaning here
	useBOM          // a byte order mark
	useVerbatim     // the result of a tool, which is never read for calls
)

// An opener is a literal that may begin a call, and what the table says of it.
type opener struct {
	literal   string
	dialect   string // that must be on; empty: always, or as the next fields say
	use       use
	closer    string // useElement, useThink: the literal that ends the section
	json      string // useElement: the dialect in which a JSON value may follow
	function  string // useElement: the same for <function=NAME>
	pythonic  string // useElement: the same for a list of function calls
	lineStart bool   // only at the start of a line
}

// The openers. Bare forms (a brace, a bracket, the name of a tool) have no literal and are not listed.
var openers = []opener{
	{literal: "<tool_call>", use: useElement, closer: "</tool_call>", json: "hermes", function: "qwen3-coder"},
	{literal: "<function=", dialect: "qwen3-coder", use: useFunction},
	{literal: "<TOOL_CALL>", use: useElement, closer: "</TOOL_CALL>", json: "tool-call-tag"},
	{literal: "<PTK_CALL>", use: useElement, closer: "</PTK_CALL>", json: "tool-call-tag"},
	{literal: "<tool name=", dialect: "xml-style", use: useTool},
	{literal: "TOOL:", dialect: "yaml-style", use: useLines, lineStart: true},
	{literal: "<|python_start|>", use: useElement, pythonic: "pythonic", json: "raw-json"},

	{literal: "<think>", use: useThink, closer: "</think>"},
	{literal: "<thinking>", use: useThink, closer: "</thinking>"},
	{literal: "[THINK]", use: useThink, closer: "[/THINK]"},
	{literal: "<seed:think>", use: useThink, closer: "</seed:think>"},
	{literal: "<|START_THINKING|>", use: useThink, closer: "<|END_THINKING|>"},
	{literal: "<|channel>thought\n", use: useThink, closer: "<channel|>"},

	{literal: "<|im_end|>", use: useDrop},
	{literal: "<|endoftext|>", use: useDrop},
	{literal: "<|eot_id|>", use: useDrop},
	{literal: "<|eom_id|>", use: useDrop},
	{literal: "<|end_of_text|>", use: useDrop},
	{literal: "<|python_tag|>", use: useDrop},
	{literal: "<|python_end|>", use: useDrop},
	{literal: "<｜end▁of▁sentence｜>", use: useDrop},

	{literal: "<tool_response>", use: useVerbatim, closer: "</tool_response>", lineStart: true},
	{literal: "<tool_result>", use: useVerbatim, closer: "</tool_result>", lineStart: true},

	{literal: "\ufeff", use: useBOM},
}

// enabled returns the opener with nothing but the dialects that are on, and whether any is.
func (o opener) enabled(on map[string]bool, tools bool) (opener, bool) {
	if o.use != useElement {
		return o, o.dialect == "" || tools && on[o.dialect]
	}
	any := false
	for _, name := range [...]*string{&o.json, &o.function, &o.pythonic} {
		if !on[*name] {
			*name = ""
		}
		any = any || *name != ""
	}
	return o, any && tools
}

// A trie is the automaton over all openers. Node 0 is the root.
type trie struct {
	nodes []trieNode
	root  [256]bool
}

type trieNode struct {
	c       byte
	child   int32
	sibling int32
	end     *opener
}

func (t *trie) add(o opener) {
	if len(t.nodes) == 0 {
		t.nodes = append(t.nodes, trieNode{})
	}
	t.root[o.literal[0]] = true
	at := int32(0)
	for i := 0; i < len(o.literal); i++ {
		next := t.next(at, o.literal[i])
		if next == 0 {
			next = int32(len(t.nodes))
			t.nodes = append(t.nodes, trieNode{c: o.literal[i], sibling: t.nodes[at].child})
			t.nodes[at].child = next
		}
		at = next
	}
	if t.nodes[at].end == nil {
		t.nodes[at].end = &o
	}
}

func (t *trie) starts(c byte) bool { return t.root[c] }

// next returns the node that c leads to from at, or 0.
func (t *trie) next(at int32, c byte) int32 {
	if len(t.nodes) == 0 {
		return 0
	}
	for n := t.nodes[at].child; n != 0; n = t.nodes[n].sibling {
		if t.nodes[n].c == c {
			return n
		}
	}
	return 0
}

// end returns the opener that ends at the node, or nil.
func (t *trie) end(at int32) *opener { return t.nodes[at].end }
