package bridge

import (
	"context"
	"testing"

	"wield/chat"
)

// TestReferences shows that a tool whose schema refers to what is not there costs nobody the request: the place is
// open, and that is told where the model reads a prompt; a server with function calling gets the schema as it is.
func TestReferences(t *testing.T) {
	parameters := `{"type":"object","properties":{"a":{"$ref":"https://schemas.example/a.json"},"b":{"$ref":"#/definitions/b"},"c":{"type":"integer"}},"required":["c"]}`
	for mode, want := range map[Mode]int{ModeNative: 0, ModeText: 2} {
		m := &sentModel{}
		notes := 0
		for e, err := range New(m, Options{Mode: mode}).Stream(context.Background(),
			&chat.Request{Tools: []chat.Tool{{Name: "f", Parameters: []byte(parameters)}},
				Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("hi")}}}) {
			if err != nil {
				t.Fatalf("%s: %v", mode, err)
			}
			if e.Kind == chat.KindNote && e.Detail.(*chat.NoteDetail).Kind == chat.NoteUnsent &&
				e.Detail.(*chat.NoteDetail).Path == "tools.f" {
				notes++
			}
		}
		if notes != want {
			t.Errorf("%s: %d notes, want %d", mode, notes, want)
		}
		if mode == ModeNative && string(m.sent.Tools[0].Parameters) != parameters {
			t.Errorf("the backend gets %s", m.sent.Tools[0].Parameters)
		}
	}
}
