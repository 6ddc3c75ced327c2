package gateway

import (
	"bytes"
	"encoding/json"
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

// geminiArray is the same protocol with streams that are the elements of one JSON array.
var geminiArray = func() *clientProtocol {
	f := *geminiFront
	f.streamType, f.keepAlive = jsonType, "\n"
	f.framed = func(of framer, answers int) framer { return &arrayFramer{framer: of, left: answers} }
	return &f
}()

// An arrayFramer makes the elements of an array of the frames of a stream.
type arrayFramer struct {
	framer
	left  int  // answers that are not done
	begun bool // the array has an element
}

// Append implements framer.
func (f *arrayFramer) Append(dst []byte, e chat.Event) []byte {
	dst = f.elements(dst, f.framer.Append(nil, e))
	if e.Kind == chat.KindFinish {
		if f.left--; f.left == 0 {
			dst = append(dst, ']')
		}
	}
	return dst
}

// AppendError implements framer.
func (f *arrayFramer) AppendError(dst []byte, e *chat.Error) []byte {
	frames := f.framer.AppendError(nil, e)
	if len(frames) == 0 {
		return dst
	}
	return append(f.elements(dst, frames), ']')
}

func (f *arrayFramer) elements(dst, frames []byte) []byte {
	for frame := range bytes.SplitSeq(frames, []byte("\r\n\r\n")) {
		if len(frame) == 0 {
			continue
		}
		sign := byte(',')
		if !f.begun {
			f.begun, sign = true, '['
		}
		dst = append(append(append(dst, sign), bytes.TrimPrefix(frame, []byte("data: "))...), "\r\n"...)
	}
	return dst
}

func geminiHead(h head) gemini.ResponseOptions {
	return gemini.ResponseOptions{ID: h.newID("gen_"), Model: h.model, Choice: h.choice, Word: gemini.Word(h.req)}
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
		x.front = geminiArray
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
	var whole struct {
		Request json.RawMessage `json:"generateContentRequest"`
	}
	if json.Unmarshal(body, &whole) == nil && len(whole.Request) > 0 {
		body = whole.Request
	}
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
