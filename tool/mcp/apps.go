package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/tool"
)

const (
	appsExtension = "io.modelcontextprotocol/ui"
	appType       = "text/html;profile=mcp-app"
	maxApp        = 8 << 20 // bytes of a document
	maxAppAddress = 2 << 10
)

// knowApps says that documents which show a tool's results are understood.
func knowApps(c *sdk.ClientCapabilities) {
	c.AddExtension(appsExtension, map[string]any{"mimeTypes": []string{appType}})
}

// appOf returns the address of the document that shows a tool's results, if there is one, and whether models may see
// the tool. Members are read one by one: what is wrong with one of them hides no other. Who may see a tool must be
// clear.
func appOf(t *sdk.Tool) (address string, forModels bool, err error) {
	var ui map[string]json.RawMessage
	if raw, err := json.Marshal(t.Meta["ui"]); err != nil || json.Unmarshal(raw, &ui) != nil {
		return "", true, nil
	}
	if json.Unmarshal(ui["resourceUri"], &address) != nil || !strings.HasPrefix(address, "ui://") ||
		len(address) > maxAppAddress {
		address = ""
	}
	raw, ok := ui["visibility"]
	if !ok {
		return address, true, nil
	}
	var visibility []string
	if err := json.Unmarshal(raw, &visibility); err != nil || visibility == nil {
		return address, false, errors.New("its _meta.ui.visibility is not a list of strings, and models do not see it")
	}
	return address, slices.Contains(visibility, "model"), nil
}

// App reads the document that shows the results of a tool of the server, on behalf of somebody. It is text from
// outside: whoever shows it gives it no rights.
func (s *Server) App(ctx context.Context, t *tool.Tool, by string) (string, error) {
	if s.o.Each && by != "" {
		s = s.of(by)
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.o.Start, defaultStart))
	defer cancel()
	session, err := s.Session(ctx)
	if err != nil {
		return "", &ServerError{s.o.Name, err}
	}
	r, err := session.ReadResource(ctx, &sdk.ReadResourceParams{URI: t.App})
	if err != nil {
		return "", &ServerError{s.o.Name, err}
	}
	for _, c := range r.Contents {
		if c.URI != t.App {
			continue
		}
		if kind, params, err := mime.ParseMediaType(c.MIMEType); err != nil || kind != "text/html" ||
			params["profile"] != "mcp-app" {
			return "", &ServerError{s.o.Name, fmt.Errorf("its app is of the type %.80q, not %s", c.MIMEType, appType)}
		}
		text := cmp.Or(c.Text, string(c.Blob))
		if len(text) > maxApp {
			return "", &ServerError{s.o.Name, fmt.Errorf("its app has more than %d bytes", maxApp)}
		}
		return text, nil
	}
	return "", &ServerError{s.o.Name, fmt.Errorf("it has no app at %.200q", t.App)}
}
