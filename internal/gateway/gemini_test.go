package gateway

import (
	"encoding/json"
	"strings"
	"testing"

	"wield/chat"
)

// TestGemini asks through Google's protocol: answers, streams, lists and errors in its shapes, with the key in its
// header.
func TestGemini(t *testing.T) {
	srv := serve(t,
		Options{Models: []Model{{Name: "google/m", Model: says(text("It is "), text("late."), finish(chat.FinishStop))},
			{Name: "word", Model: says(text(`"`), text(`A"`), finish(chat.FinishStop))},
			{Name: "broken", Model: fails(chat.Errorf(chat.ErrUnavailable, "gone"), text("It"), idle())}}})
	const ask = `{"contents":[{"parts":[{"text":"hi"}]}]}`
	const word = `{"contents":[{"parts":[{"text":"hi"}]}],"generationConfig":{"responseMimeType":"text/x.enum","responseSchema":{"type":"STRING","enum":["A","B"]}}}`
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/v1beta/models/google/m:generateContent", ask, 200,
			`"parts":[{"text":"It is late."}],"role":"model"},"finishReason":"STOP"`},
		{"POST", "/v1/models/google/m:generateContent", ask, 200, `"finishReason":"STOP"`},
		{"POST", "/v1beta/models/google/m:streamGenerateContent?alt=sse", ask, 200,
			`data: {"candidates":[{"content":{"parts":[{"text":"It is "}]`},
		{"POST", "/v1beta/models/google/m:streamGenerateContent", ask, 200,
			`[{"candidates":[{"content":{"parts":[{"text":"It is "}]`},
		{"POST", "/v1beta/models/google/m:streamGenerateContent",
			`{"contents":[{"parts":[{"text":"hi"}]}],"generationConfig":{"candidateCount":2}}`, 200, `"index":1`},
		{"POST", "/v1beta/models/broken:streamGenerateContent", ask, 200, `"status":"UNAVAILABLE"}}`},
		{"POST", "/v1beta/models/word:generateContent", word, 200, `"parts":[{"text":"A"}]`},
		{"POST", "/v1beta/models/word:streamGenerateContent", word, 200, `"parts":[{"text":"A"}]`},
		{"POST", "/v1beta/models/word:generateContent",
			`{"contents":[{"parts":[{"text":"hi"}]}],"generationConfig":{"responseMimeType":"text/x.enum"}}`, 400,
			"responseSchema"},
		{"POST", "/v1beta/models/google/m:countTokens", `{"generateContentRequest":{"model":"models/google/m",` +
			ask[1:] + "}", 200, `{"totalTokens":`},
		{"POST", "/v1beta/models/google/m:embedContent", ask, 404, `unknown URL: POST`},
		{"POST", "/v1beta/models/google/m:countTokens", ask, 200, `{"totalTokens":`},
		{"GET", "/v1beta/models", "", 200, `{"models":[{"name":"models/google/m"`},
		{"GET", "/v1beta/models/google/m", "", 200, `"supportedGenerationMethods"`},
		{"GET", "/v1beta/models/nobody", "", 404, `"status":"NOT_FOUND"`},
		{"POST", "/v1beta/models/nobody:generateContent", ask, 404, `"code":404`},
		{"POST", "/v1beta/models/google/m:generateContent", `{}`, 400, `contents: there must be`},
		{"POST", "/v1beta/model", "{}", 404, `{"error":{"code":404,`},
		{"POST", "/v1beta1/publishers/google/models/m:generateContent", ask, 404, `"status":"NOT_FOUND"`},
	} {
		resp, body := send(t, srv, tt.method, tt.path, tt.body)
		if resp.StatusCode != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("%s %s: %d %s, want %d with %s", tt.method, tt.path, resp.StatusCode, body, tt.status, tt.want)
		}
		if !strings.HasSuffix(tt.path, "alt=sse") && !json.Valid([]byte(body)) {
			t.Errorf("%s is no JSON: %s", tt.path, body)
		}
	}
}
