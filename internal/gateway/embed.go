package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"time"

	"wield/chat"
	outgoing "wield/model/exchange"
	"wield/wire/jsonbody"
)

// pathEmbed and pathEmbeddings are those of Ollama's protocol; the second is the older one, for a single text.
const (
	pathEmbed      = "/api/embed"
	pathEmbeddings = "/api/embeddings"
)

// embedFields are the fields of such a request that are carried out, or say nothing to a server of another protocol.
var embedFields = []string{"model", "input", "prompt", "dimensions", "keep_alive"}

// maxEmbeddings bounds an answer with embeddings that is translated.
const maxEmbeddings = 256 << 20

// embed answers POST /api/embed and /api/embeddings. A backend of the OpenAI protocol is asked in that.
func (x *exchange) embed(body []byte) *failure {
	var sent struct {
		Model      string
		Input      json.RawMessage
		Prompt     *string
		Dimensions int
	}
	var fields map[string]json.RawMessage
	if err := cmp.Or(json.Unmarshal(body, &sent), json.Unmarshal(body, &fields)); err != nil {
		return badField("", jsonbody.CodeInvalidValue, "the body is not what the protocol says: "+err.Error())
	}
	m, f := x.find(sent.Model)
	if f != nil {
		return f
	}
	if m.Relay == nil || m.Speaks != chat.ProtocolOpenAI {
		return x.relay(body)
	}
	request := struct {
		Model      string          `json:"model"`
		Input      json.RawMessage `json:"input"`
		Format     string          `json:"encoding_format"`
		Dimensions int             `json:"dimensions,omitempty"`
	}{m.upstream(), sent.Input, "float", sent.Dimensions}
	if x.r.URL.Path == pathEmbeddings {
		if sent.Prompt == nil {
			return badField("prompt", jsonbody.CodeInvalidValue, "prompt: this must be a text")
		}
		request.Input, _ = json.Marshal(*sent.Prompt)
	}
	if len(request.Input) == 0 {
		return badField("input", jsonbody.CodeInvalidValue, "input: this must be a text or a list of texts")
	}
	translated, err := json.Marshal(&request)
	if err != nil {
		return badField("input", jsonbody.CodeInvalidValue, err.Error())
	}
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	resp, err := m.Relay.Relay(ctx, outgoing.Relayed{Path: "/v1/embeddings", Header: contentType("application/json"),
		Body: translated})
	if err != nil {
		return x.modelFailure(ctx, err)
	}
	defer resp.Body.Close()
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(embedFields, key) && string(fields[key]) != "null" {
			x.drop(&chat.NoteDetail{Kind: chat.NoteUnsent, Path: key})
		}
	}
	x.tellDropped()
	return x.embedded(ctx, m, resp)
}

// embedded translates the server's answer.
func (x *exchange) embedded(ctx context.Context, m *Model, resp *http.Response) *failure {
	var got struct {
		Data []struct {
			Index     int
			Embedding json.RawMessage
		}
		Usage struct {
			Prompt int `json:"prompt_tokens"`
		}
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxEmbeddings))
	if err != nil {
		return x.modelFailure(ctx, err)
	}
	if err := json.Unmarshal(text, &got); err != nil || len(got.Data) == 0 {
		return x.modelFailure(ctx, chat.Errorf(chat.ErrProtocol, "the server's answer holds no embeddings"))
	}
	list := make([]json.RawMessage, len(got.Data))
	for _, one := range got.Data {
		if one.Index < 0 || one.Index >= len(list) || list[one.Index] != nil {
			return x.modelFailure(ctx, chat.Errorf(chat.ErrProtocol,
				"the server numbers its embeddings in a way of its own"))
		}
		list[one.Index] = one.Embedding
	}
	var answer any = struct {
		Embedding json.RawMessage `json:"embedding"`
	}{list[0]}
	if x.r.URL.Path == pathEmbed {
		answer = struct {
			Model      string            `json:"model"`
			Embeddings []json.RawMessage `json:"embeddings"`
			Total      int64             `json:"total_duration"`
			Prompt     int               `json:"prompt_eval_count"`
		}{m.Name, list, time.Since(x.start).Nanoseconds(), got.Usage.Prompt}
	}
	out, err := json.Marshal(answer)
	if err != nil {
		return x.modelFailure(ctx, chat.Errorf(chat.ErrProtocol, "the server's embeddings are no JSON: %w", err))
	}
	x.body(http.StatusOK, out)
	return nil
}
