package openai

import (
	"testing"

	"wield/chat"
)

// TestMediaOfResults: results hold text alone in this protocol, so that their images follow as a message of the user,
// once behind all results that stand together.
func TestMediaOfResults(t *testing.T) {
	picture := chat.Part{Kind: chat.PartImage, MediaType: "image/png", Data: []byte("abc")}
	result := func(id string, parts ...chat.Part) chat.Message {
		return chat.Message{Role: chat.RoleTool, CallID: id, Parts: parts}
	}
	req := &chat.Request{Model: "m", Messages: []chat.Message{
		result("a", chat.Part{Text: "A map:"}, picture),
		result("b", chat.Part{Text: "text"}),
		{Role: chat.RoleUser, Parts: []chat.Part{picture}},
		result("c", picture),
	}}
	const image = `{"type":"image_url","image_url":{"url":"data:image/png;base64,YWJj"}}`
	const shown = `{"role":"user","content":[{"type":"text","text":"From the results above:"},` + image + `]}`
	want := `{"model":"m","messages":[` +
		`{"role":"tool","tool_call_id":"a","content":"A map:\n[see the next message: image, image/png, 3 bytes]"},` +
		`{"role":"tool","tool_call_id":"b","content":"text"},` + shown + `,` +
		`{"role":"user","content":[` + image + `]},` +
		`{"role":"tool","tool_call_id":"c","content":"[see the next message: image, image/png, 3 bytes]"},` +
		shown + `]`
	got, err := AppendRequest(nil, req, RequestOptions{})
	if err != nil || string(got[:min(len(got), len(want))]) != want {
		t.Errorf("%s\n%v, want it to begin with\n%s", got, err, want)
	}
}
