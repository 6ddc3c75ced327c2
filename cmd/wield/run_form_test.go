package main

import (
	"encoding/json"
	"strings"
	"testing"

	"wield/internal/cli"
)

// An answer that has to have a form gets one more chance, behind tools too, however the model is given them. Turns
// that call are held to nothing.
func TestRunOutputSchema(t *testing.T) {
	for _, mode := range []string{"native", "text"} {
		for _, tt := range []struct {
			name    string
			answers []string // after the call
			code    int
			value   string
		}{
			{"at once", []string{`{"sum": 3}`}, 0, `{"sum":3}`},
			{"in a code block", []string{"```json\n{\"sum\": 3}\n```"}, 0, `{"sum":3}`},
			{"at the second try", []string{"It is three.", `{"sum": 3}`}, 0, `{"sum":3}`},
			{"a wrong type", []string{`{"sum": "three"}`, `{"sum": 3}`}, 0, `{"sum":3}`},
			{"never", []string{"It is three.", "I said three."}, cli.ExitMalformed, ""},
		} {
			t.Run(mode+"/"+tt.name, func(t *testing.T) {
				dir := workspace(t)
				t.Chdir(dir)
				n := 0
				server := &upstreamServer{answer: func(m []upstreamMessage) upstreamAnswer {
					n++
					switch {
					case n > 1:
						return upstreamAnswer{text: tt.answers[min(n-2, len(tt.answers)-1)]}
					case mode == "native":
						return upstreamAnswer{call: "calculator", args: `{"expression":"1 + 2"}`}
					}
					return upstreamAnswer{
						text: "I look.\n<tool_call>\n{\"name\": \"calculator\", \"arguments\": {\"expression\": \"1 + 2\"}}\n</tool_call>"}
				}}
				code, out, log := runWield(t, dir, "", "run", "--upstream", server.start(t), "--model", "m", "--mode",
					mode, "--tools", "calculator", "--output-schema", "answer.schema", "--output", "json",
					"What is 1 + 2?")
				var end struct {
					Calls int             `json:"calls"`
					Value json.RawMessage `json:"value"`
				}
				if err := json.Unmarshal([]byte(out), &end); err != nil {
					t.Fatalf("%v: %s%s", err, out, log)
				}
				if value := strings.ReplaceAll(string(end.Value), " ", ""); code != tt.code || value != tt.value ||
					end.Calls != 1 || n != 1+len(tt.answers) {
					t.Errorf("exit %d after %d requests: %s%s", code, n, out, log)
				}
			})
		}
	}
}
