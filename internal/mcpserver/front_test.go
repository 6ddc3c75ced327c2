package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/tool/mcp"
	"wield/tool/runner"
)

// behind is an MCP server that has a bit of everything, and asks for a name within a call or with a result.
func behind(t *testing.T, stateless bool) *mcp.Server {
	t.Helper()
	s := sdk.NewServer(&sdk.Implementation{Name: "behind", Version: "1"}, &sdk.ServerOptions{
		SubscribeHandler:   func(context.Context, *sdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *sdk.UnsubscribeRequest) error { return nil },
		CompletionHandler: func(_ context.Context, r *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
			return &sdk.CompleteResult{
				Completion: sdk.CompletionResultDetails{Values: []string{r.Params.Ref.Name + "!"}}}, nil
		}})
	form := json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)
	said := func(answer *sdk.ElicitResult) *sdk.CallToolResult {
		return &sdk.CallToolResult{
			Content: []sdk.Content{&sdk.TextContent{Text: fmt.Sprint("hello ", answer.Content["name"])}}}
	}
	s.AddTool(&sdk.Tool{Name: "greet.user", Title: "Greets", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			if stateless {
				if answer, ok := r.Params.InputResponses["name"].(*sdk.ElicitResult); ok {
					return said(answer), nil
				}
				return &sdk.CallToolResult{RequestState: "s",
					InputRequests: sdk.InputRequestMap{"name": &sdk.ElicitParams{Message: "Who?",
						RequestedSchema: form}}}, nil
			}
			answer, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: "Who?", RequestedSchema: form})
			if err != nil {
				return nil, err
			}
			return said(answer), nil
		})
	s.AddTool(&sdk.Tool{Name: "sound", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{
				Content: []sdk.Content{&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("wave")}}}, nil
		})
	s.AddPrompt(&sdk.Prompt{Name: "hi"}, func(context.Context, *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Description: "says hi"}, nil
	})
	s.AddResource(&sdk.Resource{URI: "test://a", Name: "a"},
		func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "test://a", Text: "content"}}}, nil
		})
	srv := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s },
		&sdk.StreamableHTTPOptions{Stateless: stateless}))
	t.Cleanup(srv.Close)
	m := mcp.New(mcp.Options{Name: "be", URL: srv.URL, Prompts: true, Resources: true})
	t.Cleanup(func() { m.Close() })
	if _, problems := m.Tools(t.Context()); len(problems) > 0 {
		t.Fatal(problems)
	}
	return m
}

// fronted serves one server behind wield at /mcp and at /mcp/be, and returns the address. The key is whatever the
// header X-Key says.
func fronted(t *testing.T, m *mcp.Server) string { return frontedWith(t, m, FrontOptions{}) }

// frontedWith is fronted with other options.
func frontedWith(t *testing.T, m *mcp.Server, options FrontOptions) string {
	t.Helper()
	var reg runner.Registry
	tools, _ := m.Tools(t.Context())
	if err := reg.Add(tools...); err != nil {
		t.Fatal(err)
	}
	options.Open = func(caller Caller, server string) (Options, bool) {
		if server != "" && server != "be" || caller.Name == "nobody" {
			return Options{}, false
		}
		o := Options{Runner: runner.New(runner.Settings{Tools: &reg}), Servers: []*mcp.Server{m}, Own: server != ""}
		if o.Own && m.Sessions() {
			o.Dedicated = func(p mcp.Peer) *mcp.Server { return m.For(p) }
		}
		return o, true
	}
	f := NewFront(options)
	t.Cleanup(f.Reset)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.Serve(w, r, Caller{Name: r.Header.Get("X-Key")})
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestFront talks to servers of the older revisions and of 2026-07-28 behind wield, under their own names and beside
// others, and answers what they ask.
func TestFront(t *testing.T) {
	for _, stateless := range []bool{false, true} {
		for _, path := range []string{"/mcp/be", "/mcp"} {
			t.Run(fmt.Sprint(path, " stateless ", stateless), func(t *testing.T) {
				base := fronted(t, behind(t, stateless))
				client := sdk.NewClient(&sdk.Implementation{Name: "test"}, &sdk.ClientOptions{
					ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
						return &sdk.ElicitResult{Action: "accept",
							Content: map[string]any{"name": "Ada, asked " + r.Params.Message}}, nil
					}})
				revision := map[bool]string{true: "2026-07-28", false: "2025-11-25"}[stateless]
				session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: base + path},
					&sdk.ClientSessionOptions{ProtocolVersion: revision})
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
				prefix, own := "be__", "be__greet_user"
				if path == "/mcp/be" {
					prefix, own = "", "greet.user"
				}
				list, err := session.ListTools(t.Context(), nil)
				if err != nil || len(list.Tools) != 2 || list.Tools[0].Name != own || list.Tools[0].Title != "Greets" {
					t.Fatalf("tools %+v, %v", list, err)
				}
				r, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: prefix + "sound"})
				if err != nil || len(r.Content) == 0 {
					t.Fatalf("%+v, %v", r, err)
				}
				if a, ok := r.Content[len(r.Content)-1].(*sdk.AudioContent); !ok || string(a.Data) != "wave" {
					t.Errorf("the sound is %v", r.Content)
				}
				if stateless || path == "/mcp/be" {
					// elsewhere the connection is shared, and the server is told that nobody answers
					r, err = session.CallTool(t.Context(), &sdk.CallToolParams{Name: own})
					if err != nil || r.Content[0].(*sdk.TextContent).Text != "hello Ada, asked Who?" {
						t.Errorf("greeting %+v, %v", r, err)
					}
				}
				prompt, err := session.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: prefix + "hi"})
				if err != nil || prompt.Description != "says hi" {
					t.Errorf("prompt %+v, %v", prompt, err)
				}
				read, err := session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "test://a"})
				if err != nil || read.Contents[0].Text != "content" {
					t.Errorf("resource %+v, %v", read, err)
				}
				done, err := session.Complete(t.Context(),
					&sdk.CompleteParams{Ref: &sdk.CompleteReference{Type: "ref/prompt", Name: prefix + "hi"},
						Argument: sdk.CompleteParamsArgument{Name: "x"}})
				if err != nil || !slices.Equal(done.Completion.Values, []string{"hi!"}) {
					t.Errorf("completion %+v, %v", done, err)
				}
			})
		}
	}
}

// TestFrontKeys checks that a session is its key's alone, and that what is not there is not found.
func TestFrontKeys(t *testing.T) {
	base := fronted(t, behind(t, false))
	send := sender(t, base)
	first := send("/mcp", "ada", "", beginning)
	session := first.Header.Get("Mcp-Session-Id")
	if first.StatusCode != http.StatusOK || session == "" {
		t.Fatalf("status %d, session %q", first.StatusCode, session)
	}
	ping := `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	for _, test := range []struct {
		path, key, session, body string
		want                     int
	}{
		{"/mcp", "ada", session, ping, http.StatusOK},
		{"/mcp", "eve", session, ping, http.StatusNotFound},
		{"/mcp/be", "ada", session, ping, http.StatusNotFound},
		{"/mcp/other", "ada", "", beginning, http.StatusNotFound},
		{"/mcp", "nobody", "", beginning, http.StatusNotFound},
	} {
		if got := send(test.path, test.key, test.session, test.body).StatusCode; got != test.want {
			t.Errorf("%s as %s: %d, want %d", test.path, test.key, got, test.want)
		}
	}
}

const beginning = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// sender returns what posts a message as the holder of a key.
func sender(t *testing.T, base string) func(path, key, session, body string) *http.Response {
	return func(path, key, session, body string) *http.Response {
		t.Helper()
		method := http.MethodPost
		if body == "" {
			method = http.MethodDelete
		}
		r, _ := http.NewRequest(method, base+path, strings.NewReader(body))
		for name, value := range map[string]string{"X-Key": key, "Mcp-Session-Id": session,
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream"} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp
	}
}

// TestFrontSessions: a key has so many sessions and no more, over all its paths; one that ends makes room, and other
// keys have their own.
func TestFrontSessions(t *testing.T) {
	send := sender(t, frontedWith(t, behind(t, false), FrontOptions{Sessions: 3}))
	var ids []string
	for i, path := range []string{"/mcp", "/mcp/be", "/mcp", "/mcp", "/mcp/be"} {
		resp := send(path, "ada", "", beginning)
		if want := map[bool]int{true: http.StatusOK,
			false: http.StatusTooManyRequests}[i < 3]; resp.StatusCode != want {
			t.Errorf("session %d: %d, want %d", i, resp.StatusCode, want)
		}
		ids = append(ids, resp.Header.Get("Mcp-Session-Id"))
	}
	if got := send("/mcp", "eve", "", beginning).StatusCode; got != http.StatusOK {
		t.Errorf("another key: %d", got)
	}
	send("/mcp", "ada", ids[0], "")
	if got := send("/mcp/be", "ada", "", beginning).StatusCode; got != http.StatusOK {
		t.Errorf("after one has ended: %d", got)
	}
}
