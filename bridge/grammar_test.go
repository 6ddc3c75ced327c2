package bridge

import (
	"encoding/json"
	"strings"
	"testing"

	"wield/bridge/internal/grammar"
	"wield/chat"
)

// TestTextGrammars: the grammar of a freeform tool is read from where its protocol has it, as the model is told it.
func TestTextGrammars(t *testing.T) {
	const form = `"format":{"type":"grammar","syntax":"regex","definition":"a"}`
	const nested = `"format":{"type":"grammar","grammar":{"syntax":"regex","definition":"a"}}`
	for _, tt := range []struct {
		protocol chat.Protocol
		raw      string
		held     bool
	}{
		{chat.ProtocolOpenAI, `{"type":"custom","custom":{"name":"p",` + nested + `}}`, true},
		{chat.ProtocolOpenAI, `{"type":"custom","custom":{"name":"p",` + form + `}}`, true},
		{chat.ProtocolOpenAI, `{"type":"custom","custom":{"name":"p"},` + form + `}`, false},
		{chat.ProtocolOpenAI, `{"type":"custom","custom":{"name":"p",` + strings.ToUpper(form[:8]) + form[8:] + `}}`, false},
		{chat.ProtocolOpenAI, `{"type":"custom","custom":{"name":"p","format":null}}`, false},
		{chat.ProtocolResponses, `{"type":"custom","name":"p",` + form + `}`, true},
		{chat.ProtocolResponses, `{"type":"custom","name":"p",` + nested + `}`, false},
		{chat.ProtocolResponses, `{"type":"tool_search","execution":"client",` + form + `}`, false},
		{chat.ProtocolResponses, ``, false},
	} {
		tools := make([]tool, 1)
		textGrammars(tools, []chat.Tool{{Name: "p", Protocol: tt.protocol, Raw: json.RawMessage(tt.raw)}})
		if held := tools[0].syntax == "regex" && tools[0].definition == "a"; held != tt.held {
			t.Errorf("%s: %q %q", tt.raw, tools[0].syntax, tools[0].definition)
		}
	}
}

// TestTextGrammarsLarge: together the grammars that are kept cost no more than one may.
func TestTextGrammarsLarge(t *testing.T) {
	var offered []chat.Tool
	for _, n := range []int{grammar.MaxCost + 1, grammar.MaxCost / 2, grammar.MaxCost / 2, 1} {
		offered = append(offered, chat.Tool{Protocol: chat.ProtocolResponses, Raw: json.RawMessage(
			`{"type":"custom","format":{"syntax":"regex","definition":"` + strings.Repeat("a", n) + `"}}`)})
	}
	tools := make([]tool, len(offered))
	textGrammars(tools, offered)
	for i, want := range []int{0, grammar.MaxCost / 2, grammar.MaxCost / 2, 0} {
		if got := len(tools[i].definition); got != want {
			t.Errorf("tool %d: %d bytes, want %d", i, got, want)
		}
	}
}
