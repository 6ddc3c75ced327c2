package agent_test

import (
	"context"
	"fmt"

	"wield/agent"
	"wield/bridge"
	"wield/chat"
	"wield/internal/script"
	"wield/tool"
)

func Example() {
	// A model that was told nothing of tools by its makers: it writes a call as text, and reads the result.
	scenario, err := script.Parse("weather.scenario.yaml", []byte(`
wield: scenario/v1
name: weather
turns:
  - {id: call, when: {last: user}, reply: [{call: {name: get_weather, args: {city: Oslo}}}]}
  - {id: answer, when: {last: tool}, reply: [{text: "In Oslo it is ${result}."}]}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	type place struct {
		City string `json:"city"`
	}
	weather := tool.Func("get_weather", "The weather of a city.", func(_ context.Context, p place) (string, error) {
		return "8 degrees and raining", nil
	})
	tools := new(tool.Registry)
	if err := tools.Add(weather); err != nil {
		fmt.Println(err)
		return
	}
	model := bridge.New(script.New(scenario, script.Options{}), bridge.Options{Mode: bridge.ModeText})
	a := agent.New(model, tool.NewRunner(tool.Settings{Tools: tools}), agent.Options{})

	run := a.Run(&chat.Request{Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("Do I need an umbrella in Oslo?")}}})
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
	// In Oslo it is 8 degrees and raining.
}
