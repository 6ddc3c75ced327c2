package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"wield/chat"
)

// TestAnnotations: what the backend itself ran is told of where that is wanted, and nowhere else.
func TestAnnotations(t *testing.T) {
	events := []chat.Event{
		{Kind: chat.KindText, Text: "a"},
		{Kind: chat.KindNativeCall, ID: "1", Name: "web_search", Text: `{"query":"x"}`},
		{Kind: chat.KindNativeCall, ID: "2", Name: "weather", Text: `{}`},
		{Kind: chat.KindNativeResult, ID: "1", Name: "web_search",
			Text: `{"results":[{"title":"T\n","url":"https://host.example/1"},{"title":"no page"}]}`},
		{Kind: chat.KindNativeResult, ID: "9", Name: "title", Text: "News", Detail: &chat.Result{IsError: true}},
		{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}},
	}
	native := func(id, name, args, result, failed string) string {
		return `{"type":"native_tool","native_tool":{"id":"` + id + `","name":"` + name + `","arguments":` + args +
			`,"result":` + result + `,"is_error":` + failed + `}}`
	}
	search := native("1", "web_search", `"{\"query\":\"x\"}"`,
		`"{\"results\":[{\"title\":\"T\\n\",\"url\":\"https://host.example/1\"},{\"title\":\"no page\"}]}"`, "false") +
		`,{"type":"url_citation","url_citation":{"url":"https://host.example/1","title":"T\n","start_index":0,"end_index":0}}`
	title := native("9", "title", `""`, `"News"`, "true")
	open := native("2", "weather", `"{}"`, `null`, "false")

	for _, wanted := range []bool{true, false} {
		o := ResponseOptions{ID: "i", Model: "m", Annotations: wanted}
		w, whole := NewStreamWriter(o), NewResponse(o)
		var stream []byte
		for _, e := range events {
			stream = w.Append(stream, e)
			whole.Add(e)
		}
		body := whole.Append(nil)
		if !json.Valid(body) {
			t.Fatalf("not JSON: %s", body)
		}
		all := `"annotations":[` + search + "," + title + "," + open + "]"
		if got := strings.Contains(string(body), all); got != wanted ||
			!wanted && strings.Contains(string(body), "annotations") {
			t.Errorf("wanted %v: %s", wanted, body)
		}
		for _, list := range []string{search, title, open} {
			if got := strings.Contains(string(stream), `"delta":{"annotations":[`+list+`]}`); got != wanted {
				t.Errorf("wanted %v: %s in %s", wanted, list, stream)
			}
		}
		for _, f := range strings.Split(string(stream), "\n\n") {
			if data, ok := strings.CutPrefix(f, "data: {"); ok && !json.Valid([]byte("{"+data)) {
				t.Errorf("not JSON: %s", f)
			}
		}
	}
}
