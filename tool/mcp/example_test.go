package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/tool"
	"wield/tool/mcp"
	"wield/tool/runner"
)

// The tools of an MCP server are tools like any other. This server is a small one of its own; a program is reached
// with Options.Command in place of Options.URL.
func ExampleNew() {
	type person struct {
		Name string `json:"name"`
	}
	type greeting struct {
		Text string `json:"text"`
	}
	greeter := sdk.NewServer(&sdk.Implementation{Name: "greeter", Version: "1"}, nil)
	sdk.AddTool(greeter, &sdk.Tool{Name: "greet", Description: "Greets somebody."},
		func(_ context.Context, _ *sdk.CallToolRequest, p person) (*sdk.CallToolResult, greeting, error) {
			return nil, greeting{"hello " + p.Name}, nil
		})
	service := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return greeter }, nil))
	defer service.Close()

	ctx := context.Background()
	server := mcp.New(mcp.Options{Name: "greeter", URL: service.URL})
	defer server.Close()
	list, problems := server.Tools(ctx)
	for _, err := range problems {
		fmt.Println(err)
	}
	tools := new(runner.Registry)
	if err := tools.Add(list...); err != nil {
		fmt.Println(err)
		return
	}
	r := runner.New(runner.Settings{Tools: tools})
	result, err := r.Call(ctx, "greeter__greet", `{"name": "Ann"}`)
	fmt.Printf("%s %v\n", result.Append(nil, tool.StylePlain), err)
	// Output: {"text":"hello Ann"} <nil>
}
