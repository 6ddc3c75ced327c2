package builtin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"wield/dialect"
	"wield/schema"
	"wield/schema/shape"
	"wield/tool"
	"wield/tool/runner"
)

// TestProtocol makes the calls that the Tool Calling Protocol's own prompt teaches, from their text to the
// result that it shows: each tool of the prompt with the arguments that stand there.
func TestProtocol(t *testing.T) {
	root := tree(t, map[string]string{"notes.md": "# Notes\nbuy rope\n", "app/one.ts": "let rope = 1\n",
		"app/deep/two.ts": "export {}\n", "go.mod": "no such thing\n", "m.go": "package m\n"})
	r := unheld(t, root)
	var shapes []shape.Tool
	for _, e := range r.Settings().Tools.(*runner.Registry).Entries() {
		if e.Guard != nil {
			e.Guard.Mode = tool.ModeRW
		}
		d := e.Tool.Definition
		shapes = append(shapes, shape.Tool{Name: d.Name, Args: schema.ShapeOf(d.Parameters)})
	}
	for _, c := range []struct{ tool, args, want string }{
		{"read_file", `{"path": "notes.md"}`, `{"success":true,"data":"# Notes\nbuy rope\n","error":null}`},
		{"read_file", `{"path": "no.md"}`, `{"success":false,"data":null,"error":"File not found: no.md"}`},
		{"read_file", `{"path": "../no.md"}`,
			`{"success":false,"data":null,"error":"read \"../no.md\": outside the root`},
		{"write_file", `{"path": "new/list.md", "content": "rope\n"}`,
			`{"success":true,"data":{"path":"new/list.md","bytes_written":5},"error":null}`},
		{"list_files", `{"directory": "."}`,
			`{"success":true,"data":{"files":["app/","go.mod","m.go","new/","notes.md"],"count":5},"error":null}`},
		{"list_files", `{"directory": ".", "pattern": "**/*.ts"}`,
			`{"success":true,"data":{"files":["app/one.ts","app/deep/two.ts"],"count":2},"error":null}`},
		{"list_files", `{"directory": "app"}`,
			`{"success":true,"data":{"files":["deep/","one.ts"],"count":2},"error":null}`},
		{"search_code", `{"query": "buy"}`,
			`{"success":true,"data":{"matches":[{"path":"notes.md","line":2,"text":"buy rope"}],"count":1},"error":null}`},
		{"search_code", `{"query": "rope", "options": {"path": "app"}}`,
			`{"success":true,"data":{"matches":[{"path":"app/one.ts","line":1,"text":"let rope = 1"}],"count":1},"error":null}`},
		{"get_diagnostics", `{}`, `{"success":true,"data":{"diagnostics":[`},
		{"get_diagnostics", `{"file": "m.go"}`, `{"success":true,"data":{"diagnostics":[`},
		{"get_diagnostics", `{"file": "no.go"}`, `{"success":false,"data":null,"error":"File not found: no.go"}`},
	} {
		t.Run(c.tool+c.args, func(t *testing.T) {
			text := fmt.Sprintf(
				"<TOOL_CALL>\n{\n  \"tool\": %q,\n  \"args\": %s,\n  \"reasoning\": \"to see\"\n}\n</TOOL_CALL>",
				c.tool, c.args)
			read, err := dialect.Parse(text, dialect.Options{Dialect: "tool-call-tag", Tools: shapes})
			if err != nil || len(read.Calls) != 1 {
				t.Fatalf("%+v %v", read, err)
			}
			result, err := r.Call(t.Context(), read.Calls[0].Name, read.Calls[0].Arguments)
			if err != nil {
				t.Fatal(err)
			}
			got := string(result.Append(nil, tool.StyleC))
			if !strings.HasPrefix(got, c.want) || !json.Valid([]byte(got)) {
				t.Errorf("%s", got)
			}
		})
	}
}
