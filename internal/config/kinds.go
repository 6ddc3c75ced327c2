package config

import (
	"strings"

	"wield/chat"
	"wield/model/anthropic"
	"wield/model/exchange"
	"wield/model/ollama"
	"wield/model/openai"
	"wield/model/responses"
	wire "wield/wire/openai"
)

// A kind of backends is a protocol that servers are spoken with, or a page that is.
type kind struct {
	example string        // of a base address
	stops   bool          // answers end at the stop sequences of requests by themselves
	speaks  chat.Protocol // "": none
	model   func(b *Backend, o exchange.Options, key string) serverModel
}

// A serverModel is a model behind a server, which keeps connections to it.
type serverModel interface {
	chat.Model
	Close()
}

// kinds are the kinds of backends that have an address. Those that wield runs inside itself stand in workshop.backend.
var kinds = map[string]kind{
	"openai":    {"http://127.0.0.1:11434/v1", true, chat.ProtocolOpenAI, openAIServer},
	"responses": {"https://api.openai.com/v1", false, chat.ProtocolResponses, responsesServer},
	"ollama":    {"http://127.0.0.1:11434", true, chat.ProtocolOllama, ollamaServer},
	"anthropic": {"https://api.anthropic.com", true, chat.ProtocolAnthropic, anthropicServer},
	"lumo":      {"https://lumo.example/api", false, chat.ProtocolLumo, lumoServer},
	"browser":   {"https://chat.example", false, "", browserServer},
}

// kindNames lists the kinds that this version can use.
func kindNames() string {
	return strings.Join(append(sortedKeys(kinds), "script"), ", ")
}

func openAIServer(b *Backend, o exchange.Options, key string) serverModel {
	return openai.New(openai.Options{URL: o.URL, Key: key, Headers: o.Headers, Forward: b.Forward, Constrain: constrains[b.Constrain], CallIDs: callIDs[b.CallIDs],
		Connect: o.Connect, FirstByte: o.FirstByte, Idle: o.Idle})
}

// callIDs has the words of the configuration for ids that not every server takes.
var callIDs = map[string]wire.CallIDs{"nine": wire.CallIDsNine}

func responsesServer(b *Backend, o exchange.Options, key string) serverModel {
	return responses.New(responses.Options{URL: o.URL, Key: key, Headers: o.Headers, Forward: b.Forward,
		Connect: o.Connect, FirstByte: o.FirstByte, Idle: o.Idle})
}

func ollamaServer(b *Backend, o exchange.Options, key string) serverModel {
	return ollama.New(ollama.Options{URL: o.URL, Key: key, Headers: o.Headers, Forward: b.Forward,
		Connect: o.Connect, FirstByte: o.FirstByte, Idle: o.Idle})
}

func anthropicServer(b *Backend, o exchange.Options, key string) serverModel {
	return anthropic.New(anthropic.Options{URL: o.URL, Key: key, Headers: o.Headers, Forward: b.Forward,
		Connect: o.Connect, FirstByte: o.FirstByte, Idle: o.Idle})
}
