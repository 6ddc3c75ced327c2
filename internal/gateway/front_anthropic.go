package gateway

import (
	"net/http"

	"wield/internal/modellist"
	"wield/wire/anthropic"
)

// The URLs of the Anthropic protocol.
const (
	pathMessages    = "/v1/messages"
	pathCountTokens = pathMessages + "/count_tokens"
)

// headerBetas lists the features in beta that a request uses.
const headerBetas = "Anthropic-Beta"

// messagesFront is the Anthropic Messages protocol.
var messagesFront = &clientProtocol{
	name:        "anthropic",
	decode:      anthropic.DecodeRequest,
	whole:       func(h head) collector { return anthropic.NewResponse(messagesHead(h)) },
	stream:      func(h head) framer { return anthropic.NewStreamWriter(messagesHead(h)) },
	appendError: anthropic.AppendError,
	status:      anthropic.Status,
	messages:    "messages",
	form:        "output_config.format",
	streamType:  []string{"text/event-stream; charset=utf-8"},
	keepAlive:   anthropic.KeepAlive,
	idHeader:    "Request-Id",
}

func messagesHead(h head) anthropic.ResponseOptions {
	return anthropic.ResponseOptions{ID: newID("msg_"), Model: h.model, Thinking: anthropic.ThinkingOf(h.req),
		Request: h.req}
}

// countTokens answers POST /v1/messages/count_tokens with an estimate. No model is asked.
func (x *exchange) countTokens(body []byte) *failure {
	req, _, f := x.decode(body)
	if f != nil {
		return f
	}
	x.body(http.StatusOK, anthropic.AppendTokens(nil, anthropic.CountTokens(req)))
	return nil
}

// tellMessages finds out which protocol a client speaks at a URL that several share: clients of this one say the
// version, those of the Gemini API have a header of their own for the key.
func (x *exchange) tellMessages() {
	if x.r.Header.Get("Anthropic-Version") != "" {
		x.front = messagesFront
	}
	if x.r.Header.Get("X-Goog-Api-Key") != "" {
		x.front = geminiFront
	}
}

// appendMessagesModels appends the list of models of these names.
func (g *Gateway) appendMessagesModels(dst []byte, names []string) []byte {
	infos := make([]modellist.AnthropicModel, len(names))
	for i, n := range names {
		infos[i] = g.models[n].messagesInfo()
	}
	return modellist.AppendAnthropicModels(dst, infos)
}

func (m *Model) messagesInfo() modellist.AnthropicModel {
	return modellist.AnthropicModel{ID: m.Name, Created: m.Created}
}
