package config

import (
	"maps"
	"slices"
	"strings"

	"wield/chat"
)

// A Kind of backends is a protocol that servers are spoken with, or a page that is.
type Kind struct {
	example string        // of a base address
	Stops   bool          // answers end at the stop sequences of requests by themselves
	Speaks  chat.Protocol // "": none
}

// Kinds are the kinds of backends that have an address.
var Kinds = map[string]Kind{
	"openai":    {"http://127.0.0.1:11434/v1", true, chat.ProtocolOpenAI},
	"responses": {"https://api.openai.com/v1", false, chat.ProtocolResponses},
	"ollama":    {"http://127.0.0.1:11434", true, chat.ProtocolOllama},
	"anthropic": {"https://api.anthropic.com", true, chat.ProtocolAnthropic},
	"lumo":      {"https://lumo.example/api", false, chat.ProtocolLumo},
	"browser":   {"https://chat.example", false, ""},
}

// Completing are the kinds of backends that complete a prompt which is already rendered.
var Completing = []string{"openai", "ollama"}

// kindNames lists the kinds that this version can use.
func kindNames() string {
	return strings.Join(append(slices.Sorted(maps.Keys(Kinds)), "script"), ", ")
}
