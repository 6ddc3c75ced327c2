package agent_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"wield/agent"
	"wield/bridge"
	"wield/chat"
	"wield/model/openai"
	"wield/tool"
	"wield/tool/runner"
)

func Example() {
	// A model that writes calls as text, as models do whose servers know no function calling.
	answers := []string{
		`<tool_call>{"name": "get_weather", "arguments": {"city": "Oslo"}}</tool_call>`,
		"Yes, it rains in Oslo.",
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"choices": [{"message": {"content": %q}, "finish_reason": "stop"}]}`, answers[0])
		answers = answers[1:]
	}))
	defer server.Close()

	type place struct {
		City string `json:"city"`
	}
	weather := tool.Func("get_weather", "The weather of a city.", func(_ context.Context, p place) (string, error) {
		return "8 degrees and raining", nil
	})
	tools := new(runner.Registry)
	if err := tools.Add(weather); err != nil {
		fmt.Println(err)
		return
	}
	model := bridge.New(openai.New(openai.Options{URL: server.URL, Model: "any"}),
		bridge.Options{Mode: bridge.ModeText})
	a := agent.New(model, runner.New(runner.Settings{Tools: tools}),
		agent.Options{Limits: agent.Limits{Iterations: 5}})

	run := a.Run(
		&chat.Request{
			Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("Do I need an umbrella in Oslo?")}}})
	for event, err := range run.Events(context.Background()) {
		switch {
		case err != nil:
			fmt.Println(err)
		case event.Kind == chat.KindText:
			fmt.Print(event.Text)
		case event.Kind == chat.KindCallEnd:
			fmt.Println(event.Name, event.Detail.(*chat.Call).Arguments)
		}
	}
	// Output:
	// get_weather {"city": "Oslo"}
	// Yes, it rains in Oslo.
}
