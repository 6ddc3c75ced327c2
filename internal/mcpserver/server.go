// Package mcpserver offers the tools of a runner to clients of the Model Context Protocol.
package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/chat"
	"wield/tool"
)

// A Server offers the tools that a runner has on offer. Calls go through every stage of the runner: schema,
// policy, approvals, sandbox, limits.
type Server struct {
	SDK *sdk.Server // to be run over a transport

	runner *tool.Runner
	calls  atomic.Int64

	mu      sync.Mutex
	offered map[string]string // hashes of the definitions, by name
}

// New returns a server with the tools that are on offer now.
func New(r *tool.Runner, version string, log *slog.Logger) *Server {
	s := &Server{runner: r, offered: map[string]string{}}
	s.SDK = sdk.NewServer(&sdk.Implementation{Name: "wield", Version: version}, &sdk.ServerOptions{
		Logger:       log,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: true}},
	})
	s.Sync()
	return s
}

// Sync offers what the runner has on offer now. Clients are told if that is something else than before.
func (s *Server) Sync() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := map[string]string{}
	for _, d := range s.runner.Offered("") {
		hash := tool.Hash(d)
		if now[d.Name] = hash; s.offered[d.Name] != hash {
			s.SDK.AddTool(definition(d), s.call)
		}
	}
	for name := range s.offered {
		if now[name] == "" {
			s.SDK.RemoveTools(name)
		}
	}
	s.offered = now
}

// definition returns a tool as the protocol has it. The schema of its arguments is an object's.
func definition(d chat.Tool) *sdk.Tool {
	var object struct{ Type string }
	parameters := d.Parameters
	if json.Unmarshal(parameters, &object) != nil || object.Type != "object" {
		parameters = json.RawMessage(`{"type":"object"}`)
	}
	return &sdk.Tool{Name: d.Name, Description: d.Description, InputSchema: parameters}
}

// call carries out one call.
func (s *Server) call(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	arguments := string(r.Params.Arguments)
	if arguments == "" {
		arguments = "{}"
	}
	call := chat.Call{ID: fmt.Sprint("mcp_", s.calls.Add(1)), Name: r.Params.Name, Arguments: arguments, Complete: true}
	var result *chat.Result
	steps := 0.0
	for e, err := range s.runner.RunAll(ctx, []chat.Call{call}) {
		if err != nil {
			return nil, err
		}
		switch e.Kind {
		case chat.KindProgress:
			if token := r.Params.GetProgressToken(); token != nil {
				p := e.Detail.Progress
				steps = max(steps+1, p.Done) // it must grow
				r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
					ProgressToken: token, Progress: steps, Total: p.Total, Message: p.Text,
				})
			}
		case chat.KindResult:
			result = e.Detail.Result
		}
	}
	if result == nil {
		return nil, fmt.Errorf("the call of %s ended without a result", r.Params.Name)
	}
	return content(result), nil
}

// content returns a result as the protocol has it.
func content(r *chat.Result) *sdk.CallToolResult {
	out := &sdk.CallToolResult{IsError: r.IsError, Content: []sdk.Content{}}
	for _, p := range r.Parts {
		switch p.Kind {
		case chat.PartImage:
			if p.Data == nil {
				out.Content = append(out.Content, &sdk.ResourceLink{URI: p.URL, Name: p.Name, MIMEType: p.MediaType})
				continue
			}
			out.Content = append(out.Content, &sdk.ImageContent{MIMEType: p.MediaType, Data: p.Data})
		default:
			out.Content = append(out.Content, &sdk.TextContent{Text: p.Text})
		}
		var object map[string]json.RawMessage
		if !r.IsError && len(r.Parts) == 1 && json.Unmarshal([]byte(p.Text), &object) == nil {
			out.StructuredContent = json.RawMessage(p.Text)
		}
	}
	return out
}
