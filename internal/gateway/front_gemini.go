package gateway

import (
	"net/http"
	"strconv"

	"wield/chat"
	"wield/internal/gemini"
	"wield/wire/anthropic"
)

// pathGemini is where the models of the Gemini API are. What is asked of one stands behind its name and a colon.
const pathGemini = "/v1beta/models"

// geminiFront is Google's Gemini API.
var geminiFront = &clientProtocol{
	name:        "gemini",
	decode:      gemini.DecodeRequest,
	whole:       func(h head) collector { return gemini.NewResponse(geminiHead(h)) },
	stream:      func(h head) framer { return gemini.NewStreamWriter(geminiHead(h)) },
	choices:     gemini.Choices,
	join:        joiner(gemini.AppendChoices),
	appendError: gemini.AppendError,
	status:      gemini.Status,
	messages:    "contents",
	form:        "generationConfig.responseSchema",
	streamType:  []string{"text/event-stream; charset=utf-8"},
	keepAlive:   keepAliveComment,
}

func geminiHead(h head) gemini.ResponseOptions {
	return gemini.ResponseOptions{ID: h.newID("gen_"), Model: h.model, Choice: h.choice}
}

// generate answers POST MODEL:generateContent, generateStream POST MODEL:streamGenerateContent.
func (x *exchange) generate(body []byte) *failure       { return x.generateContent(body, false) }
func (x *exchange) generateStream(body []byte) *failure { return x.generateContent(body, true) }

func (x *exchange) generateContent(body []byte, stream bool) *failure {
	req, m, f := x.decodeContent(body)
	if f != nil {
		return f
	}
	if req.Stream = stream; stream && x.r.URL.Query().Get("alt") != "sse" {
		return badField("alt", codeNoRelay,
			"streams are server-sent events here: add ?alt=sse to the URL, as Google's SDKs do")
	}
	return x.converse(m, req)
}

// decodeContent reads a request whose model stands in the URL.
func (x *exchange) decodeContent(body []byte) (*chat.Request, *Model, *failure) {
	req, err := x.front.decode(body)
	if err != nil {
		return nil, nil, &failure{status: http.StatusBadRequest, err: chat.AsError(err)}
	}
	if f := manyStops(req); f != nil {
		return nil, nil, f
	}
	req.Model = x.arg
	m, f := x.find(req.Model)
	return req, m, f
}

// countContent answers POST MODEL:countTokens with an estimate. No model is asked.
func (x *exchange) countContent(body []byte) *failure {
	req, _, f := x.decodeContent(body)
	if f != nil {
		return f
	}
	b := strconv.AppendInt([]byte(`{"totalTokens":`), int64(anthropic.CountTokens(req)), 10)
	x.body(http.StatusOK, append(b, '}'))
	return nil
}

// listGemini answers GET /v1beta/models, showGemini GET /v1beta/models/NAME.
func (x *exchange) listGemini() *failure {
	if f := x.authenticate(); f != nil {
		return f
	}
	x.body(http.StatusOK, gemini.AppendModels(nil, x.g.visible(x.holder)))
	return nil
}

func (x *exchange) showGemini() *failure {
	if f := x.authenticate(); f != nil {
		return f
	}
	m := x.g.lookUp(x.arg)
	if m == nil || !x.holder.maySee(m.Name) {
		return unknownModel(x.arg, x.g.visible(x.holder))
	}
	x.body(http.StatusOK, gemini.AppendModel(nil, m.Name))
	return nil
}
