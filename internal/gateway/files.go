package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"wield/chat"
	"wield/internal/shorten"
	outgoing "wield/model/exchange"
	"wield/schema/shape"
	"wield/wire/jsonbody"
)

// The URLs of files and batches, which the model's server keeps. Both vendors have files at the same one.
const (
	pathFiles          = "/v1/files"
	pathBatches        = "/v1/batches"
	pathMessageBatches = pathMessages + "/batches"
)

// headerModel names the model whose server is meant, where a request names none.
const headerModel = "X-Wield-Model"

// keep passes on a request for files or batches to the server that keeps them. The names of models in a batch become
// those that the server knows.
func (x *exchange) keep(body []byte) *failure {
	m, f := x.owner()
	if f != nil {
		return f
	}
	q := outgoing.Relayed{Method: x.r.Method, Path: x.r.URL.EscapedPath(), Header: http.Header{}, Body: body}
	if x.r.URL.RawQuery != "" {
		q.Path += "?" + x.r.URL.RawQuery
	}
	for _, name := range []string{"Content-Type", headerBetas} {
		if v := x.r.Header.Values(name); len(v) > 0 {
			q.Header[name] = v
		}
	}
	rename := func(name string) string { return x.renamed(m, name) }
	switch x.r.Method + " " + x.r.URL.Path {
	case http.MethodPost + " " + pathMessageBatches:
		q.Body = renameIn(body, []string{"requests", "params", "model"}, rename)
	case http.MethodPost + " " + pathFiles:
		q.Body = renameLines(q.Header.Get("Content-Type"), body, rename)
	}
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	resp, err := m.Relay.Relay(ctx, q)
	if err != nil {
		return x.modelFailure(ctx, err)
	}
	defer resp.Body.Close()
	if x.front == messagesFront && strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		return x.passResults(ctx, resp)
	}
	return x.passOn(ctx, resp)
}

// owner returns the model whose server keeps what a request is about: the one of the header, or of the only backend of
// the protocol.
func (x *exchange) owner() (*Model, *failure) {
	speaks := []chat.Protocol{chat.ProtocolOpenAI, chat.ProtocolResponses}
	if x.front == messagesFront {
		speaks = []chat.Protocol{chat.ProtocolAnthropic}
	}
	keeps := func(m *Model) bool { return m.Relay != nil && slices.Contains(speaks, m.Speaks) }
	if name := x.r.Header.Get(headerModel); name != "" {
		m, f := x.find(name)
		if f == nil && !keeps(m) {
			f = refuse(http.StatusNotFound, chat.ErrNotFound, codeNoRelay,
				"the backend of the model "+shorten.Quoted(m.Name)+" has no "+shownPath(x.r.URL.Path))
		}
		return m, f
	}
	var found *Model
	for _, name := range x.g.visible(x.holder) {
		m := x.g.models[name]
		switch {
		case !keeps(m) || m.NeedsKey && x.holder == nil:
		case found == nil:
			found = m
		case found.Backend != m.Backend:
			return nil, badField(headerModel, codeNoRelay, "several backends have "+shownPath(x.r.URL.Path)+
				": name a model of the one that is meant in the header "+headerModel)
		}
	}
	if found == nil {
		return nil, refuse(http.StatusNotFound, chat.ErrNotFound, codeNoRelay,
			"no model here is on a server of the protocol of "+shownPath(x.r.URL.Path)+
				": it needs a backend of kind anthropic for Anthropic's clients, openai or responses for OpenAI's")
	}
	x.model = found.Name
	return found, nil
}

// renamed returns the name that the backend of m knows for a model, or the name itself.
func (x *exchange) renamed(m *Model, name string) string {
	other := x.g.lookUp(name)
	if other == nil || other.Backend != m.Backend || !x.holder.maySee(other.Name) {
		return name
	}
	return other.upstream()
}

// renameIn replaces the text at a path of a JSON object, in every element of the lists on the way. What cannot be read
// is left for the server to refuse.
func renameIn(body []byte, path []string, rename func(string) string) []byte {
	s := jsonbody.Scanner{Bytes: body}
	var out []byte
	at := 0
	var walk func(path []string)
	walk = func(path []string) {
		switch {
		case len(path) == 0 && s.Peek() == '"':
			start := s.Pos
			name := s.Str()
			out = append(out, body[at:start]...)
			out, at = shape.AppendQuoted(out, rename(name)), s.Pos
		case len(path) > 0 && s.Peek() == '[':
			for s.Enter('['); s.Next(']'); {
				walk(path)
			}
		case len(path) > 0 && s.Peek() == '{':
			for s.Enter('{'); s.Next('}'); {
				if s.Name() == path[0] {
					walk(path[1:])
				} else {
					s.Skip()
				}
			}
		default:
			s.Skip()
		}
	}
	if walk(path); s.Err != nil {
		return body
	}
	return append(out, body[at:]...)
}

// renameLines replaces the names of models in a file of requests that is uploaded for a batch.
func renameLines(kind string, body []byte, rename func(string) string) []byte {
	r, err := readRelayed(kind, body)
	if err != nil || r.boundary == "" || !forBatch(r) {
		return body
	}
	out := bytes.NewBuffer(make([]byte, 0, len(body)+256))
	w := multipart.NewWriter(out)
	if w.SetBoundary(r.boundary) != nil {
		return body
	}
	parts := multipart.NewReader(bytes.NewReader(body), r.boundary)
	for {
		p, err := parts.NextRawPart()
		if err == io.EOF {
			w.Close() // to memory
			return out.Bytes()
		}
		if err != nil {
			return body
		}
		content, err := io.ReadAll(p)
		if err != nil {
			return body
		}
		dst, _ := w.CreatePart(p.Header)
		for line := range bytes.Lines(content) {
			if p.FormName() == "file" && json.Valid(line) {
				line = renameIn(line, []string{"body", "model"}, rename)
			}
			dst.Write(line)
		}
	}
}

// forBatch reports whether the purpose of a file is a batch.
func forBatch(r *relayedBody) bool {
	parts := multipart.NewReader(bytes.NewReader(r.body), r.boundary)
	for {
		p, err := parts.NextRawPart()
		if err != nil {
			return false
		}
		if p.FormName() == "purpose" {
			text, err := io.ReadAll(io.LimitReader(p, 64))
			return err == nil && string(text) == "batch"
		}
	}
}

// resultsURL is where a batch says that its results are: clients take them from there.
var resultsURL = regexp.MustCompile(`("results_url"\s*:\s*")https?://[^/"]*[^"]*?(/v1/messages/batches/[^"]*")`)

// maxBatchAnswer bounds an answer about batches, which is read whole.
const maxBatchAnswer = 64 << 20

// passResults answers with what the server says of batches, with the addresses of results here.
func (x *exchange) passResults(ctx context.Context, resp *http.Response) *failure {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBatchAnswer))
	if err != nil {
		return x.modelFailure(ctx, err)
	}
	scheme := "http://"
	if x.r.TLS != nil || x.r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https://"
	}
	x.w.Header().Set("Content-Type", "application/json")
	here := "${1}" + strings.ReplaceAll(scheme+x.r.Host, "$", "") + "${2}"
	x.body(resp.StatusCode, resultsURL.ReplaceAll(body, []byte(here)))
	return nil
}
