package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
)

// maxTemplate bounds the answer of a server that is asked for its chat template.
const maxTemplate = 8 << 20

// Template asks the server at o.URL for what it knows of a model's chat template: Ollama's /api/show, else
// llama.cpp's /props. It returns the answer as the server gave it, which chattemplate.Read reads. It follows no
// redirect.
func Template(ctx context.Context, o Options, model string) ([]byte, error) {
	root := strings.TrimSuffix(strings.TrimRight(o.URL, "/"), "/v1")
	body, err := json.Marshal(map[string]string{"model": model})
	if err != nil {
		return nil, err
	}
	answer, err := fetch(ctx, o, http.MethodPost, root+"/api/show", body)
	if err == nil && answer != nil {
		return answer, nil
	}
	props, err := fetch(ctx, o, http.MethodGet, root+"/props", nil)
	switch {
	case err != nil:
		return nil, err
	case props == nil:
		return nil, errors.New("the server tells no chat template: neither Ollama's /api/show nor llama.cpp's /props " +
			"answers")
	}
	return props, nil
}

// fetch returns the JSON object that the server answers with, nil if it answers with anything else.
func fetch(ctx context.Context, o Options, method, url string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if o.Key != "" {
		r.Header.Set("Authorization", "Bearer "+o.Key)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	maps.Copy(r.Header, o.Headers)
	resp, err := o.once().Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxTemplate+1))
	switch {
	case err != nil:
		return nil, err
	case len(answer) > maxTemplate:
		return nil, fmt.Errorf("%s: the answer has more than %d bytes", url, maxTemplate)
	case resp.StatusCode != http.StatusOK || !bytes.HasPrefix(bytes.TrimSpace(answer), []byte("{")):
		return nil, nil
	}
	return answer, nil
}
