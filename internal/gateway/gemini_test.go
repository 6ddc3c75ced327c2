package gateway

import (
	"strings"
	"testing"

	"wield/chat"
)

// TestGemini asks through Google's protocol: answers, streams, lists and errors in its shapes, with the key in its
// header.
func TestGemini(t *testing.T) {
	srv := serve(t, Options{Models: []Model{{Name: "google/m", Model: says(text("It is "), text("late."), finish(chat.FinishStop))}}})
	const ask = `{"contents":[{"parts":[{"text":"hi"}]}]}`
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/v1beta/models/google/m:generateContent", ask, 200, `"parts":[{"text":"It is late."}],"role":"model"},"finishReason":"STOP"`},
		{"POST", "/v1/models/google/m:generateContent", ask, 200, `"finishReason":"STOP"`},
		{"POST", "/v1beta/models/google/m:streamGenerateContent?alt=sse", ask, 200, `data: {"candidates":[{"content":{"parts":[{"text":"It is "}]`},
		{"POST", "/v1beta/models/google/m:streamGenerateContent", ask, 400, "alt=sse"},
		{"POST", "/v1beta/models/google/m:countTokens", ask, 200, `{"totalTokens":`},
		{"GET", "/v1beta/models", "", 200, `{"models":[{"name":"models/google/m"`},
		{"GET", "/v1beta/models/google/m", "", 200, `"supportedGenerationMethods"`},
		{"GET", "/v1beta/models/nobody", "", 404, `"status":"NOT_FOUND"`},
		{"POST", "/v1beta/models/nobody:generateContent", ask, 404, `"code":404`},
		{"POST", "/v1beta/models/google/m:generateContent", `{}`, 400, `contents: there must be`},
		{"POST", "/v1beta/model", "{}", 404, `"status":`},
	} {
		resp, body := send(t, srv, tt.method, tt.path, tt.body)
		if resp.StatusCode != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("%s %s: %d %s, want %d with %s", tt.method, tt.path, resp.StatusCode, body, tt.status, tt.want)
		}
	}
}
