package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"wield/bridge"
	"wield/chat"
)

// A writer is a model that knows nothing of tools: it writes one text.
type writer string

func (w writer) Stream(context.Context, *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		if yield(chat.Event{Kind: chat.KindText, Text: string(w)}, nil) {
			yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}}, nil)
		}
	}
}

func Example() {
	model := bridge.New(
		writer("I'll check.\n```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n```"),
		bridge.Options{Mode: bridge.ModeText})
	req := &chat.Request{
		Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("What's the weather in Paris?")}},
		Tools: []chat.Tool{{Name: "get_weather", Description: "Get weather for a city",
			Parameters: json.RawMessage(
				`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}},
	}
	for e, err := range model.Stream(context.Background(), req) {
		switch {
		case err != nil:
			fmt.Println(err)
		case e.Kind == chat.KindText:
			fmt.Println("text:", e.Text)
		case e.Kind == chat.KindCallEnd:
			fmt.Println("call:", e.Name, e.Detail.(*chat.Call).Arguments)
		case e.Kind == chat.KindFinish:
			fmt.Println("finish:", e.Detail.(*chat.Finish).Reason)
		}
	}
	// Output:
	// text: I'll check.
	// call: get_weather {"city": "Paris"}
	// finish: tool_calls
}
