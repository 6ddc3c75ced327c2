package gateway

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"time"

	"wield/chat"
	"wield/internal/modellist"
	outgoing "wield/model/exchange"
	"wield/wire/jsonbody"
	"wield/wire/ollama"
)

// ollamaVersion is the version of Ollama whose protocol is spoken. Clients look at it to find out what they may ask
// for.
const ollamaVersion = "0.12.0"

// ollamaFront is Ollama's own protocol.
var ollamaFront = &clientProtocol{
	name:        "ollama",
	decode:      ollama.DecodeRequest,
	whole:       func(h head) collector { return ollama.NewResponse(ollamaHead(h)) },
	stream:      func(h head) framer { return ollama.NewStreamWriter(ollamaHead(h)) },
	appendError: ollama.AppendError,
	status:      ollama.Status,
	messages:    "messages",
	form:        "format",
	tagged:      true,
	streamType:  []string{"application/x-ndjson"},
	// an empty line is an error to some clients
	keepAlive: `{"message":{"role":"assistant","content":""},"done":false}` + "\n",
}

// ollamaGenerate is the same protocol at the URL for a single prompt.
var ollamaGenerate = func() *clientProtocol {
	f := *ollamaFront
	f.decode = ollama.DecodeGenerate
	f.whole = func(h head) collector { return ollama.NewResponse(generateHead(h)) }
	f.stream = func(h head) framer { return ollama.NewStreamWriter(generateHead(h)) }
	f.messages = "prompt"
	f.keepAlive = `{"response":"","done":false}` + "\n"
	return &f
}()

func ollamaHead(h head) ollama.ResponseOptions {
	return ollama.ResponseOptions{ID: newID(""), Model: h.model, Created: h.now}
}

func generateHead(h head) ollama.ResponseOptions {
	o := ollamaHead(h)
	o.Generate = true
	return o
}

// ollamaAnswer answers with an answer of a model, or, to a request that says nothing to it, that it is loaded:
// clients send such a request ahead, so that the first answer does not have to wait.
func (x *exchange) ollamaAnswer(body []byte) *failure {
	req, err := x.front.decode(body)
	if e := chat.AsError(err); e != nil {
		if e.Code == jsonbody.CodeUnsupported && x.relays(body) {
			return x.relay(body)
		}
		return &failure{status: http.StatusBadRequest, err: e}
	}
	if f := manyStops(req); f != nil {
		return f
	}
	m, f := x.find(req.Model)
	if f != nil {
		return f
	}
	if len(req.Messages) > 0 {
		return x.converse(m, req)
	}
	h := ollamaHead(head{now: x.start, model: m.Name, req: req})
	h.Generate = x.front == ollamaGenerate
	x.body(http.StatusOK, ollama.AppendLoaded(nil, h, ollama.Unloads(req)))
	return nil
}

// relays reports whether the server of the model that a body names takes it as it is, though no model can be asked
// for that in a conversation: a prompt without its template, or with a text behind the answer.
func (x *exchange) relays(body []byte) bool {
	sent, err := readRelayed("application/json", body)
	if err != nil {
		return false
	}
	m, f := x.find(sent.model)
	return f == nil && m.Relay != nil && m.Speaks == chat.ProtocolOllama
}

func (x *exchange) ollamaModels() ([]modellist.OllamaModel, *failure) {
	if f := x.authenticate(); f != nil {
		return nil, f
	}
	var infos []modellist.OllamaModel
	for _, n := range x.g.visible(x.holder) {
		infos = append(infos, x.g.models[n].ollamaInfo(nil))
	}
	return infos, nil
}

// What a server may take to say what a model can do.
const (
	showTimeout = 2 * time.Second
	maxShown    = 16 << 20 // bytes: it also lists a model's tensors and licence
)

// served returns what an Ollama server says that a model can do; nil: it says nothing, or is no such server.
func (m *Model) served(ctx context.Context) (can []string) {
	if m.Relay == nil || m.Speaks != chat.ProtocolOllama {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, showTimeout)
	defer cancel()
	body, _ := json.Marshal(map[string]string{"model": m.upstream()})
	resp, err := m.Relay.Relay(ctx, outgoing.Relayed{Path: pathShow, Header: http.Header{"Content-Type": jsonType},
		Body: body})
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	var said struct{ Capabilities []string }
	if json.NewDecoder(io.LimitReader(resp.Body, maxShown)).Decode(&said) != nil {
		return nil
	}
	return said.Capabilities
}

// capabilities returns what a model can do: what its server says, but for tools, which wield gives to any model that
// completes, and for thinking and images, which the configuration may take away.
func (m *Model) capabilities(served []string) []string {
	can := slices.DeleteFunc(slices.Clone(served), func(c string) bool {
		return c == "tools" || c == "thinking" && !m.Thinking || c == "vision" && m.NoImages
	})
	if served == nil {
		can = append(can, "completion")
		if m.Thinking {
			can = append(can, "thinking")
		}
		if m.Speaks == chat.ProtocolAnthropic && !m.NoImages {
			can = append(can, "vision")
		}
	}
	if !m.NoTools && slices.Contains(can, "completion") {
		can = append(can, "tools")
	}
	return can
}

func (m *Model) ollamaInfo(served []string) modellist.OllamaModel {
	can := m.capabilities(served)
	return modellist.OllamaModel{Name: m.Name, Modified: m.Created, Family: m.OwnedBy, Capabilities: can}
}

// ollamaTags answers GET /api/tags.
func (x *exchange) ollamaTags() *failure {
	infos, f := x.ollamaModels()
	if f == nil {
		x.body(http.StatusOK, modellist.AppendOllamaTags(nil, infos))
	}
	return f
}

// ollamaRunning answers GET /api/ps. All models can answer at once as far as anybody here knows.
func (x *exchange) ollamaRunning() *failure {
	infos, f := x.ollamaModels()
	if f == nil {
		x.body(http.StatusOK, modellist.AppendOllamaRunning(nil, infos, x.start.Add(24*time.Hour)))
	}
	return f
}

// ollamaShow answers POST /api/show.
func (x *exchange) ollamaShow() *failure {
	if f := x.authenticate(); f != nil {
		return f
	}
	body, f := x.readBody()
	if f != nil {
		return f
	}
	req, err := ollama.DecodeRequest(body)
	if err != nil {
		return &failure{status: http.StatusBadRequest, err: chat.AsError(err)}
	}
	m, f := x.find(req.Model)
	if f != nil {
		return f
	}
	x.body(http.StatusOK, modellist.AppendOllamaModel(nil, m.ollamaInfo(m.served(x.r.Context()))))
	return nil
}

// ollamaVersion answers GET /api/version.
func (x *exchange) ollamaVersion() *failure {
	x.body(http.StatusOK, modellist.AppendOllamaVersion(nil, ollamaVersion))
	return nil
}

// ollamaManage answers what would change which models there are.
func (x *exchange) ollamaManage() *failure {
	return refuse(http.StatusNotImplemented, chat.ErrBadRequest, "unsupported_operation",
		"models are neither fetched nor changed here; which there are stands in the configuration of this service")
}
