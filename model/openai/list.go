package openai

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// A Listing holds a server's answer to the question which models it has.
type Listing struct {
	Names   []string // in the server's order; nil: the answer is no list
	Status  int      // of the answer
	Message string   // of the error that the server answers with; empty: none
}

// maxListing bounds the answer, maxName the name of a model.
const (
	maxListing = 1 << 20
	maxName    = 200
)

// List asks the server at o.URL for its models. It follows no redirect. The error says why there was no answer.
func List(ctx context.Context, o Options) (Listing, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(o.URL, "/")+"/models", nil)
	if err != nil {
		return Listing{}, err
	}
	if o.Key != "" {
		r.Header.Set("Authorization", "Bearer "+o.Key)
	}
	maps.Copy(r.Header, o.Headers)
	resp, err := o.once().Do(r)
	if err != nil {
		return Listing{}, err
	}
	defer resp.Body.Close()
	l := Listing{Status: resp.StatusCode}
	var answer struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.NewDecoder(io.LimitReader(resp.Body, maxListing)).Decode(&answer) != nil {
		return l, nil
	}
	l.Message = answer.Error.Message
	if answer.Data == nil || l.Status != http.StatusOK {
		return l, nil
	}
	l.Names = []string{}
	for _, m := range answer.Data {
		if m.ID != "" && len(m.ID) < maxName && !slices.Contains(l.Names, m.ID) {
			l.Names = append(l.Names, m.ID)
		}
	}
	return l, nil
}

// once returns a client for a single question, which follows no redirect.
func (o *Options) once() *http.Client {
	transport := o.Transport
	if transport == nil {
		transport = &http.Transport{DisableKeepAlives: true}
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
