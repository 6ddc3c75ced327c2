package dialect_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wield/chat"
	"wield/dialect"
	"wield/dialect/dialecttest"
	"wield/schema"
	"wield/schema/shape"
)

// blockTools are tools whose calls fit into blocks.
var blockTools = map[string]string{
	"make":  `{"path":{"type":"string"},"content":{"type":"string"}}`,
	"run":   `{"code":{"type":"string"},"seconds":{"type":"integer"}}`,
	"fetch": `{"paths":{"type":"array","items":{"type":"string"}}}`,
	"page":  `{"file_path":{"type":"string"}}`,
}

// blockWords are what a text must not be taken for in a block.
var blockWords = []string{"", "a", "\n", "\r\n", "\r", "  ", "```", "````", "```\n", "```sh\n", "~~~\n", "    ```",
	"=== FILE:", "=== FILE: x\n", "===", "<tool_call>", "é", "`", "\"", "\\", "\t"}

// TestBlockRoundTrip renders texts full of fences as blocks, or as what is read beside them, and reads them back.
func TestBlockRoundTrip(t *testing.T) {
	d, _ := dialect.Lookup("cli-block")
	var tools []shape.Tool
	for name, props := range blockTools {
		tools = append(tools,
			shape.Tool{Name: name,
				Args: schema.ShapeOf(json.RawMessage(`{"type":"object","properties":` + props + `}`))})
	}
	blocks := 0
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(blockWords), 0, 6).Draw(t, label), "")
		}
		args := map[string]any{}
		name := rapid.SampledFrom([]string{"make", "run", "fetch", "page"}).Draw(t, "name")
		switch name {
		case "make":
			args["path"], args["content"] = draw("path"), draw("content")
		case "run":
			args["code"] = draw("code")
		case "fetch":
			args["paths"] = []string{draw("first"), draw("second")}
		case "page":
			args["file_path"] = draw("path")
		}
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		calls := []chat.Call{{Name: name, Arguments: string(raw), Complete: true},
			{Name: "run", Arguments: `{"code":"ls"}`, Complete: true}}
		text, err := d.AppendCalls(nil, calls)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "```json") {
			blocks++
		}
		for _, text := range []string{string(text), "Before.\n" + string(text) + "\n\nAfter."} {
			o := dialect.Options{Dialect: "cli-block", Tools: tools}
			got, err := dialect.Parse(text, o)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Calls) != len(calls) || len(got.Rejected) > 0 {
				t.Fatalf("%q: read %+v, rejected %+v", text, got.Calls, got.Rejected)
			}
			for i, c := range got.Calls {
				if c.Name != calls[i].Name || !c.Complete || !sameValue(value(calls[i].Arguments), value(c.Arguments)) {
					t.Fatalf("%q: call %d: rendered %s, read %s", text, i, calls[i].Arguments, c.Arguments)
				}
			}
			if err := dialecttest.Quick(maker(o), text); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		}
	})
	if blocks == 0 {
		t.Error("no call was written as a block")
	}
}
