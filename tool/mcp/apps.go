package mcp

import (
	"cmp"
	"context"
	"encoding/json"
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

// appOf returns the address of the document that shows a tool's results, if there is one, and whether models may see the tool.
func appOf(t *sdk.Tool) (address string, forModels bool) {
	var ui struct {
		ResourceURI string   `json:"resourceUri"`
		Visibility  []string `json:"visibility"`
	}
	raw, err := json.Marshal(t.Meta["ui"])
	if err != nil || json.Unmarshal(raw, &ui) != nil {
		return "", true
	}
	if strings.HasPrefix(ui.ResourceURI, "ui://") && len(ui.ResourceURI) <= maxAppAddress {
		address = ui.ResourceURI
	}
	return address, ui.Visibility == nil || slices.Contains(ui.Visibility, "model")
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
		if kind, params, err := mime.ParseMediaType(c.MIMEType); err != nil || kind != "text/html" || params["profile"] != "mcp-app" {
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
