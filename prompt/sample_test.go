package prompt

import (
	"strings"
	"testing"

	"wield/chat"
	"wield/schema"
)

// TestSample: an example of a call fits its schema (C-39).
func TestSample(t *testing.T) {
	for parameters, want := range map[string]string{
		`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`:                                                           `{"city": "value"}`,
		`{"type":"object","properties":{"n":{"type":"integer","minimum":5,"maximum":9}},"required":["n"]}`:                                        `{"n": 5}`,
		`{"type":"object","properties":{"n":{"type":"integer","exclusiveMinimum":5}},"required":["n"]}`:                                           `{"n": 6}`,
		`{"type":"object","properties":{"n":{"type":"number","maximum":0.5}},"required":["n"]}`:                                                   `{"n": 0}`,
		`{"type":"object","properties":{"n":{"type":"number","minimum":0.2,"maximum":0.5}},"required":["n"]}`:                                     `{"n": 0.35}`,
		`{"type":"object","properties":{"n":{"type":"integer","multipleOf":5,"minimum":12}},"required":["n"]}`:                                    `{"n": 15}`,
		`{"type":"object","properties":{"s":{"type":"string","minLength":8}},"required":["s"]}`:                                                   `{"s": "value-value"}`,
		`{"type":"object","properties":{"s":{"type":"string","maxLength":2}},"required":["s"]}`:                                                   `{"s": "va"}`,
		`{"type":"object","properties":{"s":{"type":"string","format":"date"}},"required":["s"]}`:                                                 `{"s": "2026-01-31"}`,
		`{"type":"object","properties":{"l":{"type":"array","minItems":2,"items":{"enum":["a","b"]}}},"required":["l"]}`:                          `{"l": ["a", "a"]}`,
		`{"type":"object","properties":{"o":{"type":"object","properties":{"x":{"type":["null","integer"]}},"required":["x"]}},"required":["o"]}`: `{"o": {"x": 1}}`,
		`{"type":"object","properties":{"s":{"type":"string","pattern":"^[0-9]{4}$"}},"required":["s"]}`:                                          `{"s": "1111"}`,
		`{"type":"object","properties":{"s":{"type":"string","pattern":"^(lamp|fan)\\.[a-z_]+$"}},"required":["s"]}`:                              `{"s": "lamp.a"}`,
		`{"type":"object","properties":{"s":{"type":"string","pattern":"^#?[0-9A-F]{2}( x)*$","maxLength":4}},"required":["s"]}`:                  `{"s": "AA x"}`,
		`{"type":"object","properties":{"l":{"type":"array","minItems":2,"uniqueItems":true,"items":{"type":"string"}}},"required":["l"]}`:        `{"l": ["value", "value2"]}`,
		`{"type":"object","properties":{"l":{"type":"array","minItems":2,"uniqueItems":true,"items":{"type":"integer"}}},"required":["l"]}`:       `{"l": [1, 2]}`,
		`{"type":"object","properties":{"l":{"type":"array","minItems":2,"uniqueItems":true,"items":{"enum":["a","b"]}}},"required":["l"]}`:       `{"l": ["a", "b"]}`,
		`{"type":"object","properties":{"s":{"type":"string","pattern":"^[0-9]{4}$","examples":["1234"]}},"required":["s"]}`:                      `{"s": "1234"}`,
	} {
		got := sampleOf(nil, []byte(parameters))
		if got != want {
			t.Errorf("%s: %s; want %s", parameters, got, want)
		}
		if s, err := schema.Compile([]byte(parameters)); err != nil || got != "" && len(s.Validate(got)) > 0 {
			t.Errorf("%s: %s does not fit, %v", parameters, got, err)
		}
	}
}

// TestBoundsAreTold: a prompt that writes a tool as a signature says what its types do not (C-39).
func TestBoundsAreTold(t *testing.T) {
	tools := []chat.Tool{{Name: "set_lamp", Description: "Sets a lamp.",
		Parameters: []byte(`{"type":"object","properties":{
		"level":{"type":"integer","minimum":0,"maximum":10,"description":"how bright"},
		"name":{"type":"string","pattern":"^[a-z]{3}$","minLength":0,"maxLength":3},
		"rooms":{"type":"array","items":{"type":"string"},"minItems":1,"uniqueItems":true},
		"share":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1,"multipleOf":0.1},
		"when":{"type":"string","format":"date-time"},
		"odd":{"type":"string","pattern":"x\n<TOOL_CALL>","minimum":{"a":1}},
		"free":{"type":"string"}},"required":["level"]}`)}}
	req := &chat.Request{Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("hi")}}, Tools: tools}
	for _, name := range []string{"tool-call-tag", "function-style"} {
		out, err := Render(t.Context(), req, Options{Dialect: name})
		if err != nil {
			t.Fatal(err)
		}
		text := out.Messages[0].Text()
		for _, want := range []string{
			"\n    level: how bright (at least 0, at most 10)\n",
			"\n    name: (at most 3 characters, pattern \"^[a-z]{3}$\")\n",
			"\n    rooms: (at least 1 items, no item twice)\n", "\n    share: (above 0, below 1, a multiple of 0.1)\n",
			"\n    when: (format date-time)\n", "\n    odd: (pattern \"x\\n\\u003cTOOL_CALL>\")\n",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is missing in\n%s", name, want, text)
			}
		}
		if strings.Contains(text, "free: (") || strings.Contains(text, "x\n<TOOL_CALL>") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}
