package script_test

import (
	"context"
	"fmt"

	"wield/chat"
	"wield/internal/script"
)

func ExampleNew() {
	s, err := script.Parse("weather.scenario.yaml", []byte(`
wield: scenario/v1
name: weather
turns:
  - id: ask
    when: {user: "/weather in (?<city>[^?]+)/", last: user}
    reply: [{fence: json, call: {name: get_weather, args: {city: "${city}"}}}]
  - id: answer
    when: {last: tool}
    reply: [{text: "It is ${result.temp} degrees in ${city}."}]
`))
	if err != nil {
		panic(err)
	}
	m := script.New(s, script.Options{})
	conversation := []chat.Message{
		{Role: chat.RoleUser, Parts: chat.Text("What's the weather in Paris?")},
	}
	for e, err := range m.Stream(context.Background(), &chat.Request{Messages: conversation}) {
		if err != nil {
			panic(err)
		}
		if e.Kind == chat.KindText {
			fmt.Println(e.Text)
		}
	}
	conversation = append(conversation,
		chat.Message{Role: chat.RoleAssistant,
			Calls: []chat.Call{{ID: "1", Name: "get_weather", Arguments: `{"city": "Paris"}`}}},
		chat.Message{Role: chat.RoleTool, CallID: "1", Parts: chat.Text(`{"temp": 18}`)})
	for e := range m.Stream(context.Background(), &chat.Request{Messages: conversation}) {
		fmt.Print(e.Text)
	}
	// Output:
	// ```json
	// {"name": "get_weather", "arguments": {"city": "Paris"}}
	// ```
	// It is 18 degrees in Paris.
}
