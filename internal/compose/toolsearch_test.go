package compose

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestToolSearch: with models.X.tool_search, or where the client defers its tools, a model finds a tool by a search
// that no client sees.
func TestToolSearch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "search.scenario.yaml")
	text := `wield: scenario/v1
name: search
turns:
  - id: call
    when: {result_contains: '"name":"meteo_forecast"'}
    reply: [{fence: json, call: {name: meteo_forecast, args: {city: Ghent}}}]
  - id: search
    reply: [{fence: json, call: {name: search_tools, args: {query: weather forecast}}}]
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var functions, deferred []string
	for i := range 60 {
		functions = append(functions,
			fmt.Sprintf(
				`{"type":"function","function":{"name":"list_%d","description":"Lists register %d.","parameters":{"type":"object"}}}`, i, i))
		deferred = append(deferred,
			fmt.Sprintf(
				`{"name":"list_%d","description":"Lists register %d.","input_schema":{"type":"object"},"defer_loading":true}`, i, i))
	}
	const schema = `{"type":"object","properties":{"city":{"type":"string"}}}`
	functions = append(functions,
		`{"type":"function","function":{"name":"meteo_forecast","description":"Tells the weather.","parameters":`+
			schema+`}}`)
	deferred = append(deferred, `{"type":"tool_search_tool_bm25_20251119","name":"tool_search"}`,
		`{"name":"meteo_forecast","description":"Tells the weather.","defer_loading":true,"input_schema":`+schema+`}`)
	for _, tt := range []struct {
		path, model, tools string
		hear               func([]string, *heard)
	}{
		{"/v1/chat/completions", ", tool_search: 40", strings.Join(functions, ","), hearChat},
		{"/v1/messages", "", strings.Join(deferred, ","), hearMessages},
	} {
		front := matrixService(t, fmt.Sprintf("kind: script, scenario: %q", file), tt.model, "2m")
		for _, stream := range []bool{false, true} {
			body := fmt.Sprintf(
				`{"model":"m","stream":%v,"max_tokens":99,"messages":[{"role":"user","content":"Will it rain?"}],"tools":[%s]}`, stream, tt.tools)
			h := post(t, front+tt.path, rawBody(body), tt.hear)
			if h.status != 200 || h.name != "meteo_forecast" || strings.Contains(h.body, "search_tools") ||
				!json.Valid([]byte(h.args)) || !strings.Contains(h.args, "Ghent") {
				t.Errorf("%s, stream %v: %+v", tt.path, stream, h)
			}
		}
	}
}
