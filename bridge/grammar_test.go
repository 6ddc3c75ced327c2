package bridge

import (
	"strings"
	"testing"

	"wield/bridge/internal/grammar"
	"wield/chat"
)

// TestTextGrammars: together the grammars that are kept cost no more than one may.
func TestTextGrammars(t *testing.T) {
	var offered []chat.Tool
	for _, n := range []int{grammar.MaxCost + 1, grammar.MaxCost / 2, grammar.MaxCost / 2, 1} {
		offered = append(offered, chat.Tool{Syntax: "regex", Grammar: strings.Repeat("a", n)})
	}
	tools := make([]tool, len(offered))
	textGrammars(tools, offered)
	for i, want := range []int{0, grammar.MaxCost / 2, grammar.MaxCost / 2, 0} {
		if got := len(tools[i].definition); got != want {
			t.Errorf("tool %d: %d bytes, want %d", i, got, want)
		}
	}
}
