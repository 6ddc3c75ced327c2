package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"wield/chat"
)

// TestInputTokens checks that a client gets an estimate of its prompt, which counts the tools and what the request
// continues, and the errors that a response would have.
func TestInputTokens(t *testing.T) {
	answer := []chat.Event{text("done"), finish(chat.FinishStop)}
	g := aService(t, Options{Models: []Model{{Name: "m", Model: steps(answer)}}})
	count := func(body string) int {
		t.Helper()
		code, answer := direct(t.Context(), g, "POST", pathInputTokens, body)
		var got struct {
			Object string `json:"object"`
			Tokens int    `json:"input_tokens"`
		}
		if err := json.Unmarshal([]byte(answer), &got); err != nil || code != http.StatusOK ||
			got.Object != "response.input_tokens" {
			t.Fatalf("%d %s", code, answer)
		}
		return got.Tokens
	}
	short := count(`{"model":"m","input":"hello"}`)
	if long := count(`{"model":"m","input":"` + strings.Repeat("hello ", 50) + `"}`); short < 1 || long < short+50 {
		t.Errorf("%d for a word, %d for fifty", short, long)
	}
	if n := count(
		`{"model":"m","input":"hello","tools":[{"type":"function","name":"get_weather","parameters":{"type":"object"}}]}`); n <= short {
		t.Errorf("%d with a tool, %d without", n, short)
	}
	_, first := direct(t.Context(), g, "POST", pathResponses,
		`{"model":"m","input":"`+strings.Repeat("a long story ", 30)+`"}`)
	if n := count(`{"model":"m","input":"hello","previous_response_id":"` + readResponse(t, first).ID +
		`"}`); n < short+60 {
		t.Errorf("%d with a story before it, %d without", n, short)
	}
	for body, want := range map[string]int{`{"model":"m","input":7}`: 400, `{"model":"nobody","input":"hello"}`: 404,
		`{"model":"m","input":"x","previous_response_id":"resp_0"}`: 404} {
		if code, answer := direct(t.Context(), g, "POST", pathInputTokens, body); code != want {
			t.Errorf("%s: %d %s, want %d", body, code, answer, want)
		}
	}
}
