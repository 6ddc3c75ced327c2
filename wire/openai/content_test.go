package openai

import "testing"

// TestContentShapes_AR25: the shapes in which clients write text.
func TestContentShapes_AR25(t *testing.T) {
	for content, want := range map[string]string{
		`"a"`:                                "a",
		`["a","b"]`:                          "a\nb",
		`[{"text":"a"},"b"]`:                 "a\nb",
		`{"text":"a"}`:                       "a",
		`{"type":"text","text":"a"}`:         "a",
		`[{"type":"input_text","text":"a"}]`: "a",
	} {
		req, err := DecodeRequest([]byte(`{"messages":[{"role":"user","content":` + content + `}]}`))
		if err != nil || req.Messages[0].Text() != want {
			t.Errorf("%s: %v, %v", content, req, err)
		}
	}
	for _, content := range []string{`7`, `[7]`, `{}`, `[{"x":1}]`, `[null]`} {
		if _, err := DecodeRequest([]byte(`{"messages":[{"role":"user","content":` + content + `}]}`)); err == nil {
			t.Errorf("%s is taken", content)
		}
	}
}
