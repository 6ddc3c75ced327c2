package gateway

import (
	"strings"
	"testing"

	"wield/bridge"
)

// TestLineBreaks: line breaks reach the client as the model wrote them, around calls as well, however calls
// are written.
func TestLineBreaks(t *testing.T) {
	const call = `{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Rome\"}}`
	for _, br := range []string{`\n`, `\r\n`} {
		for name, around := range map[string][2]string{"fence": {"```json", "```"},
			"tag": {"<tool_call>", "</tool_call>"}} {
			for _, stream := range []string{"false", "true"} {
				wrote := strings.Join([]string{"First.", "Second.", around[0], call, around[1], "Third.", "Fourth."},
					br)
				srv, _ := spoken(t, bridge.Options{Mode: bridge.ModeText}, []string{`{"content":"` + wrote + `"}`})
				_, body := ask(t, srv, `{"model":"m","stream":`+stream+`,`+weatherTool+
					`,"messages":[{"role":"user","content":"hi"}]}`)
				if !strings.Contains(body, `"name":"get_weather"`) || !strings.Contains(body, "First."+br+"Second.") ||
					!strings.Contains(body, "Third."+br+"Fourth.") || strings.Contains(body, around[0]) ||
					strings.Contains(body, around[1]) {
					t.Errorf("%s, %s, stream %s: %s", name, br, stream, body)
				}
			}
		}
	}
}
