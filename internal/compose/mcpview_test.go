package compose

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/internal/api"
	"wield/internal/config"
	"wield/tool"
)

// TestAppMCP: the app of a tool is there while the tool is enabled, for the keys that may call it.
func TestAppMCP(t *testing.T) {
	s := sdk.NewServer(&sdk.Implementation{Name: "board"}, nil)
	const address = "ui://board/view"
	s.AddTool(&sdk.Tool{Name: "show", InputSchema: json.RawMessage(`{"type":"object"}`),
		Meta: sdk.Meta{"ui": map[string]any{"resourceUri": address}}},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{}, nil
		})
	s.AddResource(&sdk.Resource{URI: address, Name: "view"},
		func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{
				{URI: address, MIMEType: "text/html;profile=mcp-app", Text: "<p>app"}}}, nil
		})
	server := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s },
		&sdk.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	file := filepath.Join(dir, "wield.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, `wield: config/v1
data: %s
keys:
  - {name: all, secret: env:ALL}
  - {name: some, secret: env:SOME, tools: ["board__*"]}
  - {name: others, secret: env:OTHERS, tools: [read_file]}
mcp: {servers: {board: {url: %q, apps: true}}}
`, filepath.Join(dir, "state"), server.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string {
		return map[string]string{"ALL": "k-0123456789-a", "SOME": "k-0123456789-b", "OTHERS": "k-0123456789-c"}[name]
	}
	r, err := config.Load(config.Options{File: file, Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	box, err := OpenToolbox(r.Config, ToolEnvironment{Getenv: getenv, File: r.File})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	box.Refresh(t.Context())
	shown := func(tool, by string, want bool) {
		t.Helper()
		text, err := box.AppMCP(t.Context(), tool, by)
		var f *api.Fault
		if want && (err != nil || text != "<p>app") || !want && (!errors.As(err, &f) || f.Kind != api.KindNotFound) {
			t.Errorf("%s for %s: %q, %v", tool, by, text, err)
		}
	}
	shown("board__show", "all", true)
	shown("board__show", "some", true)
	shown("board__show", "others", false)
	shown("read_file", "all", false)
	if err := box.Registry.Set("board__show", tool.StateDisabled); err != nil {
		t.Fatal(err)
	}
	shown("board__show", "all", false)
}
