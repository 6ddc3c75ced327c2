package compose

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"wield/internal/gateway"
)

// TestB16Lisbon: the published flow of the strict protocol through everything that a service consists of, streamed and
// whole, with a model that writes the request of the book.
func TestB16Lisbon(t *testing.T) {
	s, err := compose(t, `
backends: {s: {kind: script, scenario: toolRequest}}
models: {assistant: {backend: s, mode: text, expose: tool_request}}
`, "")
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(gateway.New(s.Gateway))
	t.Cleanup(srv.Close)
	say := func(body string) string {
		t.Helper()
		resp, err := srv.Client().Post(srv.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("status %d, %v: %s", resp.StatusCode, err, answer)
		}
		return string(answer)
	}
	for _, stream := range []string{"false", "true"} {
		head := `{"model":"assistant","stream":` + stream + `,"conversation_id":"c` + stream + `","messages":[`
		first := say(head + `{"role":"user","content":"What is the weather in Lisbon?"}]}`)
		for _, want := range []string{`"tool_request":{"name":"lookup_weather","arguments":{`, `"Lisbon"`,
			`"content":""`, `"finish_reason":"stop"`, `"conversation_id":"c` + stream + `"`} {
			if !strings.Contains(first, want) {
				t.Errorf("stream %s: %s is not in %s", stream, want, first)
			}
		}
		if strings.Contains(first, "tool_calls") {
			t.Errorf("stream %s: %s", stream, first)
		}
		second := say(head + `{"role":"tool_result","name":"lookup_weather","content":"Lisbon is 18°C and clear."}]}`)
		if strings.Contains(second, "tool_request") ||
			stream == "false" && !strings.Contains(second, `"content":"Lisbon is 18°C and clear."`) ||
			!strings.Contains(second, "clear") {
			t.Errorf("stream %s: %s", stream, second)
		}
	}
}
