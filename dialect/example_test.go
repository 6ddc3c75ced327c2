package dialect_test

import (
	"fmt"

	"wield/chat"
	"wield/dialect"
	"wield/schema/shape"
)

// A decoder reads calls in any dialect. Without the schemas of the arguments, values stay as they were written.
func Example() {
	answer, err := dialect.Parse("Let me look.\n[TOOL_CALLS]get_weather[ARGS]{\"city\": \"Oslo\"}",
		dialect.Options{Tools: []shape.Tool{{Name: "get_weather"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%q\n", answer.Content())
	for _, call := range answer.Calls {
		fmt.Println(call.Dialect, call.Name, call.Arguments)
	}
	// Output:
	// "Let me look."
	// mistral-args get_weather {"city": "Oslo"}
}

// A dialect also writes calls, as a model of its family would.
func ExampleLookup() {
	call := chat.Call{Name: "get_weather", Arguments: `{"city": "Oslo"}`, Complete: true}
	for _, name := range []string{"hermes", "qwen3-coder", "pythonic"} {
		d, ok := dialect.Lookup(name)
		if !ok {
			fmt.Println("unknown:", name)
			continue
		}
		text, err := d.AppendCalls(nil, []chat.Call{call})
		fmt.Printf("%s %v\n", text, err)
	}
	// Output:
	// <tool_call>
	// {"name": "get_weather", "arguments": {"city": "Oslo"}}
	// </tool_call> <nil>
	// <tool_call>
	// <function=get_weather>
	// <parameter=city>
	// Oslo
	// </parameter>
	// </function>
	// </tool_call> <nil>
	// [get_weather(city="Oslo")] <nil>
}
