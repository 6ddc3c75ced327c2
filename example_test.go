package wield_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"wield"
	"wield/chat"
	"wield/internal/script"
	"wield/tool"
)

// A model that knows nothing of tools: it writes a call as text, and reads the result. A real one is made by a
// package below model, such as openai.New(openai.Options{URL: "http://127.0.0.1:11434/v1", Model: "qwen3"}).
func weatherModel() chat.Model {
	scenario, err := script.Parse("weather.scenario.yaml", []byte(`
wield: scenario/v1
name: weather
turns:
  - {id: call, when: {last: user}, reply: [{call: {name: get_weather, args: {city: Oslo}}}]}
  - {id: answer, when: {last: tool}, reply: [{text: "In Oslo it is ${result}."}]}
`))
	if err != nil {
		log.Fatal(err)
	}
	return script.New(scenario, script.Options{})
}

type place struct {
	City string `json:"city" jsonschema:"name of the city"`
}

func weather(_ context.Context, p place) (string, error) { return "8 degrees and raining", nil }

func ExampleNew() {
	agent, err := wield.New(weatherModel(), tool.Func("get_weather", "Tells the weather of a city.", weather))
	if err != nil {
		log.Fatal(err)
	}
	answer, err := agent.Ask(context.Background(), "Do I need an umbrella in Oslo?")
	fmt.Println(answer, err)
	// Output: In Oslo it is 8 degrees and raining. <nil>
}

// The events of a run tell what happens while it happens.
func ExampleNew_events() {
	agent, err := wield.New(weatherModel(), tool.Func("get_weather", "Tells the weather of a city.", weather))
	if err != nil {
		log.Fatal(err)
	}
	question := chat.Message{Role: chat.RoleUser, Parts: chat.Text("Do I need an umbrella in Oslo?")}
	for event, err := range agent.Stream(context.Background(), &chat.Request{Messages: []chat.Message{question}}) {
		switch {
		case err != nil:
			fmt.Println(err)
		case event.Kind == chat.KindCallEnd:
			fmt.Println(event.Name, event.Detail.(*chat.Call).Arguments)
		case event.Kind == chat.KindResult:
			fmt.Println("->", event.Detail.(*chat.Result).Parts[0].Text)
		case event.Kind == chat.KindText:
			fmt.Print(event.Text)
		}
	}
	// Output:
	// get_weather {"city": "Oslo"}
	// -> 8 degrees and raining
	// In Oslo it is 8 degrees and raining.
}

var getWeather = chat.Tool{
	Name: "get_weather",
	Parameters: json.RawMessage(
		`{"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}`),
}

// The protocol need not be known: here it is one that Qwen's models write. "3" becomes 3, since the schema asks for
// an integer.
func ExampleDecode() {
	answer, err := wield.Decode("Let me look.\n"+
		"<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
		getWeather)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", answer.Content())
	for _, call := range answer.Calls {
		fmt.Println(call.Dialect, call.Name, call.Arguments)
	}
	// Output:
	// "Let me look."
	// qwen3-coder get_weather {"city":"Paris","days":3}
}

// How the text is cut changes nothing but where one piece of text ends and the next begins.
func ExampleNewDecoder() {
	decoder, err := wield.NewDecoder(getWeather)
	if err != nil {
		log.Fatal(err)
	}
	var events []chat.Event
	show := func() {
		for _, e := range events {
			switch e.Kind {
			case chat.KindText:
				fmt.Printf("text %q\n", e.Text)
			case chat.KindCallStart:
				fmt.Println("begins", e.Name)
			case chat.KindCallEnd:
				call := e.Detail.(*chat.Call)
				fmt.Println("call", call.Name, call.Arguments)
			}
		}
	}
	for _, chunk := range []string{"Sure.\n<tool", "_call>{\"name\": \"get_wea", "ther\", \"arguments\": {\"city\": \"Pa", "ris\"}}</tool_call>"} {
		events = decoder.Feed(events[:0], chunk)
		show()
	}
	events = decoder.Close(events[:0])
	show()
	// Output:
	// text "Sure."
	// begins get_weather
	// call get_weather {"city": "Paris"}
}
