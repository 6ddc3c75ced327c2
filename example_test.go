package wield_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"wield"
	"wield/chat"
	"wield/dialect"
	"wield/model/openai"
	"wield/tool"
)

// The model here writes calls as text, as models do whose servers know no function calling.
func ExampleNew() {
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
		City string `json:"city" jsonschema:"name of the city"`
	}
	weather := func(_ context.Context, p place) (string, error) { return "8 degrees and raining in " + p.City, nil }
	model := openai.New(openai.Options{URL: server.URL, Model: "any"})
	agent, err := wield.New(model, tool.Func("get_weather", "Tells the weather of a city.", weather))
	if err != nil {
		log.Fatal(err)
	}
	answer, err := agent.Ask(context.Background(), "Do I need an umbrella in Oslo?")
	fmt.Println(answer, err)
	// Output: Yes, it rains in Oslo. <nil>
}

// The events of a run tell what happens while it happens.
func ExampleNew_events() {
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
		City string `json:"city" jsonschema:"name of the city"`
	}
	weather := func(_ context.Context, p place) (string, error) { return "8 degrees and raining in " + p.City, nil }
	model := openai.New(openai.Options{URL: server.URL, Model: "any"})
	agent, err := wield.New(model, tool.Func("get_weather", "Tells the weather of a city.", weather))
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
	// -> 8 degrees and raining in Oslo
	// Yes, it rains in Oslo.
}

// The protocol need not be known: here it is one that Qwen's models write. "3" becomes 3, since the schema asks for
// an integer.
func ExampleDecode() {
	getWeather := chat.Tool{
		Name: "get_weather",
		Parameters: json.RawMessage(
			`{"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}`),
	}
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
	getWeather := chat.Tool{
		Name: "get_weather",
		Parameters: json.RawMessage(
			`{"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}`),
	}
	decoder, err := wield.NewDecoder(dialect.Options{Prefer: []string{"hermes"}}, getWeather)
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
	for _, chunk := range []string{"Sure.\n<tool", "_call>{\"name\": \"get_wea",
		"ther\", \"arguments\": {\"city\": \"Pa", "ris\"}}</tool_call>"} {
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

// A schema that cannot be read is an error that names the tool and the place.
func ExampleNewDecoder_error() {
	_, err := wield.NewDecoder(dialect.Options{}, chat.Tool{
		Name:       "weather",
		Parameters: json.RawMessage(`{"type": "object", "properties": {"city": {"$ref": "#/$defs/city"}}}`),
	})
	fmt.Println(err)
	// Output:
	// tool "weather": parameters: schema: at /properties/city/$ref: "#/$defs/city" leads nowhere: the schema has no /$defs
}
