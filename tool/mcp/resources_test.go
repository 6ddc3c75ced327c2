package mcp

import (
	"context"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/chat"
	"wield/tool"
)

// TestResources reads resources and prompts by tools, where they are switched on.
func TestResources(t *testing.T) {
	s := everything("")
	s.AddResource(&sdk.Resource{URI: "test://a", Name: "a"},
		func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "test://a", Text: "the content"}}},
				nil
		})
	s.AddPrompt(&sdk.Prompt{Name: "hi", Arguments: []*sdk.PromptArgument{{Name: "who"}}},
		func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
			return &sdk.GetPromptResult{
				Messages: []*sdk.PromptMessage{
					{Role: "user", Content: &sdk.TextContent{Text: "Greet " + r.Params.Arguments["who"]}}}}, nil
		})
	address := service(t, s, true)
	plain := New(Options{Name: "e", URL: address})
	r := box(t, plain)
	if _, ok := r.Settings().Tools.Lookup("e__read_resource"); ok {
		t.Error("resources are there although they are not switched on")
	}
	r = box(t, New(Options{Name: "e", URL: address, Resources: true, Prompts: true}))
	for _, test := range []struct{ tool, arguments, want string }{
		{"e__list_resources", `{}`, `"uri":"test://a"`},
		{"e__read_resource", `{"uri":"test://a"}`, "the content"},
		{"e__read_resource", `{"uri":"test://b"}`, "Error: the MCP server e says:"},
		{"e__list_prompts", `{}`, `"name":"hi"`},
		{"e__get_prompt", `{"name":"hi","arguments":{"who":"Ada"}}`, "Greet Ada"},
	} {
		result, err := r.Call(t.Context(), test.tool, test.arguments)
		answer := result.Chat(&chat.Call{}, tool.StylePlain)
		m := chat.Message{Parts: answer.Parts}
		if got := m.Text(); err != nil || !strings.Contains(got, test.want) {
			t.Errorf("%s %s: %q, %v", test.tool, test.arguments, got, err)
		}
	}
}
