package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"wield/chat"
	"wield/internal/near"
)

// Bounds of the question which models a server has: it only makes a message better.
const (
	suggestTime = 2 * time.Second
	suggestBody = 1 << 20
	suggestMost = 5 // names in a message
)

// suggest adds to an error what the model may be called, where the server does not know the name that it was asked for.
func (p protocol) suggest(ctx context.Context, model string, e *chat.Error) {
	if e.Code == CodePath {
		return
	}
	if p.o.Model != "" {
		model = p.o.Model
	}
	names := p.served(ctx)
	hint := near.Hint(model, names)
	switch more := len(names) - suggestMost; {
	case hint != "" || len(names) == 0:
	case more > 0:
		hint = fmt.Sprintf("; the server has %s and %d more", strings.Join(names[:suggestMost], ", "), more)
	default:
		hint = "; the server has " + strings.Join(names, ", ")
	}
	e.Message = strings.TrimSuffix(e.Message, ".") + hint
}

// served asks the server for the names of its models. A server that does not say has none.
func (p protocol) served(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, suggestTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(p.o.URL, "/")+"/models", nil)
	if err != nil {
		return nil
	}
	if p.o.Key != "" {
		r.Header.Set("Authorization", "Bearer "+p.o.Key)
	}
	maps.Copy(r.Header, p.o.Headers)
	transport := p.o.Transport
	if transport == nil {
		transport = &http.Transport{DisableKeepAlives: true}
	}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if resp.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(resp.Body, suggestBody)).Decode(&list) != nil {
		return nil
	}
	var names []string
	for _, m := range list.Data {
		if m.ID != "" && len(m.ID) < 200 && !slices.Contains(names, m.ID) {
			names = append(names, m.ID)
		}
	}
	return names
}
