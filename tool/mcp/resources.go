package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/chat"
	"wield/tool"
)

// An asker is the handler of a tool that asks a server for its resources or prompts: what MCP clients see as such,
// models reach by tools. What a server says of them is a result, which is data, and no part of a definition.
type asker struct {
	server *Server
	ask    func(ctx context.Context, s *sdk.ClientSession, arguments string) (*sdk.CallToolResult, error)
}

// Run implements [tool.Handler].
func (a *asker) Run(ctx context.Context, c *tool.Call) (tool.Result, error) {
	s := a.server
	if s.o.Each && c.Scope.By != "" {
		s = s.of(c.Scope.By)
	}
	session, err := s.Session(ctx)
	if err != nil {
		return tool.Result{}, tool.Errorf(tool.ErrNotAvailable, "the MCP server %s cannot be reached: %v", s.o.Name,
			err)
	}
	r, err := a.ask(ctx, session, c.Arguments)
	if err != nil {
		return tool.Result{}, tool.Errorf(tool.ErrTool, "the MCP server %s says: %v", s.o.Name, err)
	}
	return result(r), nil
}

// ForModels reports whether a tool is there for models alone, since MCP clients have the same in another way.
func ForModels(t *tool.Tool) bool {
	_, ok := t.Handler.(*asker)
	return ok
}

// askers returns the tools with which models reach resources and prompts.
func (s *Server) askers() (list []*tool.Tool) {
	add := func(name, description, parameters string, ask func(context.Context, *sdk.ClientSession,
		string) (*sdk.CallToolResult, error)) {
		list = append(list, &tool.Tool{
			Definition: chat.Tool{Name: OfferedName(s.o.Name, name), Description: description,
				Parameters: json.RawMessage(parameters)},
			Handler: &asker{s, ask}, Source: "mcp server " + s.o.Name, Namespace: s.o.Name,
			Facts: tool.Facts{ReadOnly: true, Network: s.o.URL != ""},
		})
	}
	const nothing = `{"type":"object","properties":{},"additionalProperties":false}`
	if s.o.Resources {
		add("list_resources", "Lists the resources of the server "+s.o.Name+", with their addresses.", nothing,
			func(context.Context, *sdk.ClientSession, string) (*sdk.CallToolResult, error) {
				o := s.Offers()
				return written(map[string]any{"resources": o.Resources, "templates": o.Templates})
			})
		add("read_resource", "Reads a resource of the server "+s.o.Name+".",
			`{"type":"object","properties":{"uri":{"type":"string","description":"its address, from the list or made by a template"}},"required":["uri"],"additionalProperties":false}`,
			func(ctx context.Context, session *sdk.ClientSession, arguments string) (*sdk.CallToolResult, error) {
				params := &sdk.ReadResourceParams{}
				if err := json.Unmarshal([]byte(arguments), params); err != nil {
					return nil, err
				}
				r, err := session.ReadResource(ctx, params)
				if err != nil {
					return nil, err
				}
				if r.NeedsInput() {
					return nil, errAsks
				}
				out := &sdk.CallToolResult{}
				for _, c := range r.Contents {
					out.Content = append(out.Content, &sdk.EmbeddedResource{Resource: c})
				}
				return out, nil
			})
	}
	if s.o.Prompts {
		add("list_prompts", "Lists the prompts of the server "+s.o.Name+", which are texts for common tasks.", nothing,
			func(context.Context, *sdk.ClientSession, string) (*sdk.CallToolResult, error) {
				return written(map[string]any{"prompts": s.Offers().Prompts})
			})
		add("get_prompt", "Returns a prompt of the server "+s.o.Name+".",
			`{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object","additionalProperties":{"type":"string"}}},"required":["name"],"additionalProperties":false}`,
			func(ctx context.Context, session *sdk.ClientSession, arguments string) (*sdk.CallToolResult, error) {
				params := &sdk.GetPromptParams{}
				if err := json.Unmarshal([]byte(arguments), params); err != nil {
					return nil, err
				}
				r, err := session.GetPrompt(ctx, params)
				if err != nil {
					return nil, err
				}
				if r.NeedsInput() {
					return nil, errAsks
				}
				out := &sdk.CallToolResult{}
				for _, m := range r.Messages {
					out.Content = append(out.Content, &sdk.TextContent{Text: string(m.Role) + ":"}, m.Content)
				}
				return out, nil
			})
	}
	return list
}

// errAsks reports a resource or a prompt that a server gives only for an answer.
var errAsks = fmt.Errorf("it asks for input that only a person can give")

// written returns a list as a result.
func written(v any) (*sdk.CallToolResult, error) {
	text, err := json.Marshal(v)
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}, err
}
