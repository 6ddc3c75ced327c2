package prompt_test

import (
	"context"
	"encoding/json"
	"fmt"

	"wield/chat"
	"wield/prompt"
)

func ExampleRender() {
	req := &chat.Request{
		Messages: []chat.Message{
			{Role: chat.RoleUser, Parts: chat.Text("What's the weather in Paris?")},
			{Role: chat.RoleAssistant, Parts: chat.Text("I'll check."),
				Calls: []chat.Call{{ID: "c1", Name: "get_weather", Arguments: `{"city":"Paris"}`}}},
			{Role: chat.RoleTool, CallID: "c1", Parts: chat.Text("18 degrees")},
		},
		Tools: []chat.Tool{{Name: "get_weather", Description: "Get weather for a city",
			Parameters: json.RawMessage(
				`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}},
	}
	out, err := prompt.Render(context.Background(), req,
		prompt.Options{Dialect: "function-style", ForTools: "Call a tool on a line of its own:\n{{tools}}"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range out.Messages {
		fmt.Printf("%s: %s\n", m.Role, m.Text())
	}
	// Output:
	// system: Call a tool on a line of its own:
	// - get_weather(city: string): Get weather for a city
	// user: What's the weather in Paris?
	// assistant: I'll check.
	// get_weather(city="Paris")
	// user: TOOL_RESULT: {"success":true,"data":"18 degrees","error":null,"from":"get_weather","call_id":"c1"}
}
