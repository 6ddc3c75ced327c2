package dialect

import "wield/schema/shape"

// Repair says how much of a broken call may be repaired. Every repair is a Note.
type Repair uint8

// The levels. The zero value is full, the default of the decoder; a call that wield runs itself is read at
// most at Safe.
const (
	RepairFull Repair = iota
	RepairSafe
	RepairOff
)

// ParseRepair returns the level named off, safe or full.
func ParseRepair(s string) (Repair, bool) {
	for i, n := range repairNames {
		if n == s {
			return Repair(i), true
		}
	}
	return 0, false
}

func (r Repair) String() string {
	if int(r) < len(repairNames) {
		return repairNames[r]
	}
	return "unknown"
}

var repairNames = [...]string{"full", "safe", "off"}

// Thinking says what a decoder makes of reasoning.
type Thinking struct {
	Open   bool   // the prompt ended inside a reasoning block: the text begins in one
	Off    bool   // no tag is read as reasoning
	Opener string // the model's own tags, read besides the built-in ones
	Closer string // alone: it ends what the prompt opened
	Calls  ThinkingCalls
}

// ThinkingCalls says what becomes of whole calls that stand in reasoning.
type ThinkingCalls uint8

// The readings. A model that quotes a call goes on to close the block, one that means it may forget to: hence
// the zero value.
const (
	CallsUnclosed ThinkingCalls = iota // calls if nothing closes the block
	CallsNever                         // reasoning, whatever follows
	CallsAlways                        // calls, for models that make them while they think
)

// ParseThinkingCalls returns the reading named unclosed, never or always.
func ParseThinkingCalls(s string) (ThinkingCalls, bool) {
	for i, n := range thinkingCallsNames {
		if n == s {
			return ThinkingCalls(i), true
		}
	}
	return 0, false
}

func (c ThinkingCalls) String() string {
	if int(c) < len(thinkingCallsNames) {
		return thinkingCallsNames[c]
	}
	return "unknown"
}

var thinkingCallsNames = [...]string{"unclosed", "never", "always"}

// Headers lists the words by which a family of models marks whose turn begins. Behind one of another party nothing is
// a call; the model's own is left out at the start of a text, and ends the turn behind content.
type Headers struct {
	Others []string // such as <|im_start|>user
	Own    []string // such as <|im_start|>assistant
}

// Options say how a text is to be read. The zero value reads nothing but reasoning tags, since no tool is offered.
type Options struct {
	// the dialect that is expected: it and the safe others are on; "" or "auto": all but those that are on by name only
	Dialect string
	Only    bool // Dialect alone, or Own, without the safe others
	// dialects that are likely, the likeliest first: they claim first what others have too, and turn none off
	Prefer   []string
	Own      *Dialect     // one that is not in the table, made by a Layout: it is on, and expected most
	Tools    []shape.Tool // the tools on offer; only these can be called. wield.NewDecoder makes them of JSON schemas
	Prefix   string       // in front of every tool name in the text, such as "user:"; never part of an event
	Repair   Repair
	Thinking Thinking
	Drop     []string // special tokens to leave out wherever they stand, besides the built-in list
	Headers  Headers  // of turns, besides the built-in ones
	Trace    bool     // emit a Candidate event for every opener

	// Edits reads fenced blocks that can hardly be anything else as calls of read, edit and create, whatever
	// the dialect: those that name their file behind === FILE:, groups of search and replace text with the
	// name of a file, patches, and blocks of the language read. It is for conversations in which a person
	// sees what a call would do. A block of a language, a diff, a file below its name may be meant to be
	// looked at, and are calls under the dialect cli-block alone.
	Edits bool
	Cache *Cache // of automata; nil: unless nothing but tools is given, one is built for each decoder
}
