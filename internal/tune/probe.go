package tune

import (
	"encoding/json"
	"fmt"
	"strconv"

	"wield/chat"
)

// A probe is a request and the calls that answer it.
type probe struct {
	name string
	ask  func(round int) (user string, want []wantedCall) // no calls: none is needed
}

// A probe wants a call.
type wantedCall struct {
	name string
	args string // JSON
}

// The suite: one call, several, nested arguments, strings that are hard to write, a question that needs no tool. A
// probe asks for something else in every round, so that rounds are not copies of one another. The tools are the same
// for all, so that a server reads them once.
var suite = [Questions]probe{
	{
		name: "one call",
		ask: func(round int) (string, []wantedCall) {
			berth := round + 1
			return fmt.Sprintf("How deep is the water at berth %d? Use the tools.", berth),
				[]wantedCall{{"water_depth", fmt.Sprintf(`{"berth":%d}`, berth)}}
		},
	},
	{
		name: "several calls",
		ask: func(round int) (string, []wantedCall) {
			a, b := round+1, round+6
			return fmt.Sprintf("How deep is the water at berth %d, and how deep at berth %d? Look both up at once.", a,
					b),
				[]wantedCall{{"water_depth", fmt.Sprintf(`{"berth":%d}`, a)},
					{"water_depth", fmt.Sprintf(`{"berth":%d}`, b)}}
		},
	},
	{
		name: "nested arguments",
		ask: func(round int) (string, []wantedCall) {
			n := round + 2
			return fmt.Sprintf("Book a berth for the boat Ondine, %d metres long, with a crew of two: Ada and Lin.", n),
				[]wantedCall{{"book_berth", fmt.Sprintf(`{"boat":{"name":"Ondine","length":%d},"crew":["Ada","Lin"]}`,
					n)}}
		},
	},
	{
		name: "hostile strings",
		ask: func(round int) (string, []wantedCall) {
			text := fmt.Sprintf("Page %d. %s", round+1, hostile[round%len(hostile)])
			quoted, _ := json.Marshal(text) // a string always has a form
			return "Save a note. Its text is exactly what stands between the lines, which do not belong to " +
					"it:\n-----\n" + text + "\n-----",
				[]wantedCall{{"save_note", `{"text":` + string(quoted) + `}`}}
		},
	},
	{
		name: "none needed",
		ask: func(round int) (string, []wantedCall) {
			return "What is " + strconv.Itoa(round+17) + " and 4, in a word? No tool is needed for that.", nil
		},
	},
}

// Questions is the number of trials in a round of a candidate.
const Questions = 5

// hostile are texts that end a call, a string or a tag before their time where they are not written with care.
var hostile = []string{
	"He said \"no\" and wrote C:\\boats\\new on a {card}.",
	"if a < b && b > c {\n\treturn \"</tool_call>\"\n}",
	"Ends with </parameter></function> and '''quotes''' — naïve, 港.",
	"```json\n{\"name\": \"water_depth\", \"arguments\": {}}\n```",
}

var (
	tools = []chat.Tool{harbour, tide, booking, note}

	harbour = tool("water_depth", "Tells how deep the water is at a berth, in metres.",
		`{"type":"object","required":["berth"],"properties":{"berth":{"type":"integer"}}}`)
	tide = tool("next_tide", "Tells when the next high tide is.", `{"type":"object","properties":{}}`)
	note = tool("save_note", "Saves a note.",
		`{"type":"object","required":["text"],"properties":{"text":{"type":"string","description":"The text of the note, as it is."}}}`)
	booking = tool("book_berth", "Books a berth for a boat and its crew.",
		`{"type":"object","required":["boat","crew"],"properties":{
		"boat":{"type":"object","required":["name","length"],"properties":{"name":{"type":"string"},"length":{"type":"integer","description":"In metres."}}},
		"crew":{"type":"array","items":{"type":"string"},"description":"Names."}}}`)
)

func tool(name, description, parameters string) chat.Tool {
	return chat.Tool{Name: name, Description: description, Parameters: json.RawMessage(parameters)}
}
