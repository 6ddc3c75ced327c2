package compose

import (
	"wield/chat"
	"wield/internal/config"
	"wield/model/anthropic"
	"wield/model/exchange"
	"wield/model/ollama"
	"wield/model/openai"
	"wield/model/responses"
	wireanthropic "wield/wire/anthropic"
	wireopenai "wield/wire/openai"
)

// A serverModel is a model behind a server, which keeps connections to it.
type serverModel interface {
	chat.Model
	Close()
}

// protocols make the models of the kinds of backends that have an address.
var protocols = map[string]func(b *config.Backend, o exchange.Options, key string) serverModel{
	"openai":    openAIServer,
	"responses": responsesServer,
	"ollama":    ollamaServer,
	"anthropic": anthropicServer,
	"lumo":      lumoServer,
	"browser":   browserServer,
}

func openAIServer(b *config.Backend, o exchange.Options, key string) serverModel {
	// A stream can be stopped where the answer should end, is cut off by no timeout for silence while a slow model
	// writes, and stops when its client leaves: llama-server finishes a whole answer for nobody while another slot
	// streams.
	return openai.New(openai.Options{AlwaysStream: true, URL: o.URL, Key: key, Headers: o.Headers,
		Connection: o.Connection, Request: wireopenai.RequestOptions{
			Forward: b.Forward, Constrain: Constrain(*b), CallIDs: callIDs[b.CallIDs],
		}})
}

// callIDs has the words of the configuration for ids that not every server takes.
var callIDs = map[string]wireopenai.CallIDs{"nine": wireopenai.CallIDsNine}

func responsesServer(b *config.Backend, o exchange.Options, key string) serverModel {
	return responses.New(responses.Options{URL: o.URL, Key: key, Headers: o.Headers, Forward: b.Forward,
		Connection: o.Connection})
}

func ollamaServer(b *config.Backend, o exchange.Options, key string) serverModel {
	return ollama.New(ollama.Options{URL: o.URL, Key: key, Headers: o.Headers, Forward: b.Forward,
		Connection: o.Connection})
}

func anthropicServer(b *config.Backend, o exchange.Options, key string) serverModel {
	return anthropic.New(anthropic.Options{URL: o.URL, Key: key, Headers: o.Headers, Connection: o.Connection,
		Request: wireanthropic.RequestOptions{Forward: b.Forward}})
}
