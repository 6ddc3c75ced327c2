package compose

import (
	"strings"
	"testing"
)

// TestComposeProfile checks that a profile reaches the model: the prompt teaches its dialect, unless one is
// named, and the answer is read with its tokens left out.
func TestComposeProfile(t *testing.T) {
	s := newServer(t,
		"<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call><|stop|>")
	service, err := compose(t, `
backends: {local: {url: "URL"}}
profiles: {acme: {base: glm, match: [acme], drop: ["<|stop|>"]}}
models:
  found: {backend: local, model: acme-7b, mode: text}
  glm-4.6: {backend: local, mode: text}
  named: {backend: local, model: acme-7b, mode: text, dialect: yaml-style}
  none: {backend: local, model: acme-7b, mode: text, profile: none}
`, s.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ model, want, taught string }{
		{"found", `[get_weather{"city":"Paris"}]`, "<arg_key>"},
		{"glm-4.6", `[get_weather{"city":"Paris"}]<|stop|>`, "<arg_key>"},
		{"none", `[get_weather{"city":"Paris"}]<|stop|>`, "```json"},
		{"named", "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>",
			"TOOL:"},
	} {
		if got := ask(t, service, c.model, ""); got != c.want {
			t.Errorf("%s: %q, want %q", c.model, got, c.want)
		}
		last := s.requests[len(s.requests)-1]
		if !strings.Contains(last.Messages[0].Content, c.taught) {
			t.Errorf("%s: the prompt has no %s: %s", c.model, c.taught, last.Messages[0].Content)
		}
	}
}
