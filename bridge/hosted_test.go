package bridge

import (
	"context"
	"iter"
	"testing"

	"wield/chat"
)

// A sentModel answers with a word and keeps what it was sent.
type sentModel struct{ sent *chat.Request }

func (m *sentModel) Stream(_ context.Context, req *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		m.sent = req
		_ = yield(chat.Event{Kind: chat.KindText, Text: "ok"}, nil) &&
			yield(chat.Event{Kind: chat.KindFinish, Detail: &chat.Finish{Reason: chat.FinishStop}}, nil)
	}
}

// TestHosted shows what becomes of tools that only servers of their own protocol run.
func TestHosted(t *testing.T) {
	search := chat.Tool{Name: "web_search", Raw: []byte(`{"type":"web_search"}`), Protocol: chat.ProtocolResponses, Hosted: chat.HostedOptional}
	files := search
	files.Name, files.Hosted = "file_search", chat.HostedRequired
	plain := chat.Tool{Name: "f"}
	named := func(name string) chat.Choice { return chat.Choice{Mode: chat.ChoiceNamed, Name: name} }
	for _, tt := range []struct {
		name    string
		o       Options
		tools   []chat.Tool
		choice  chat.Choice
		sent    int    // tools that the model is sent
		noted   int    // notes
		refused string // field of the error
	}{
		{"another protocol", Options{Mode: ModeNative}, []chat.Tool{search, plain}, chat.Choice{}, 1, 1, ""},
		{"its own protocol", Options{Mode: ModeNative, Server: Server{Protocol: chat.ProtocolResponses}}, []chat.Tool{search, plain}, chat.Choice{}, 2, 0, ""},
		{"its own protocol, as text", Options{Mode: ModeText, Server: Server{Protocol: chat.ProtocolResponses}}, []chat.Tool{search, plain}, chat.Choice{}, 0, 1, ""},
		{"one that cannot be left out", Options{Mode: ModeNative}, []chat.Tool{plain, files}, chat.Choice{}, 0, 0, "tools[1]"},
		{"one that must be called", Options{Mode: ModeNative}, []chat.Tool{search, plain}, named("web_search"), 0, 0, "tool_choice"},
		{"one of none must be called", Options{Mode: ModeNative}, []chat.Tool{search}, chat.Choice{Mode: chat.ChoiceRequired}, 0, 0, "tool_choice"},
		{"no other may be called", Options{Mode: ModeNative}, []chat.Tool{search, plain}, chat.Choice{Allowed: []string{"web_search"}}, 1, 1, ""},
	} {
		m := &sentModel{}
		var notes []chat.NoteDetail
		refused := ""
		for e, err := range New(m, tt.o).Stream(context.Background(), &chat.Request{Tools: tt.tools, Choice: tt.choice,
			Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("hi")}}}) {
			if err != nil {
				refused = chat.AsError(err).Param
			}
			if e.Kind == chat.KindNote {
				notes = append(notes, *e.Detail.(*chat.NoteDetail))
			}
		}
		sent := 0
		if m.sent != nil {
			sent = len(m.sent.Tools)
		}
		if refused != tt.refused || sent != tt.sent || len(notes) != tt.noted {
			t.Errorf("%s: refused %q, %d tools sent, notes %v", tt.name, refused, sent, notes)
		}
		for _, n := range notes {
			if n.Kind != chat.NoteUnsent || n.Path != "tools[0]" || n.Before != "web_search" {
				t.Errorf("%s: note %+v", tt.name, n)
			}
		}
		if tt.choice.Allowed != nil && m.sent.Choice.Mode != chat.ChoiceNone {
			t.Errorf("%s: the choice became %+v", tt.name, m.sent.Choice)
		}
	}
}
