package bridge

import (
	"context"
	"iter"
	"strings"
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
	search := chat.Tool{Name: "web_search", Raw: []byte(`{"type":"web_search"}`), Protocol: chat.ProtocolResponses,
		Hosted: chat.HostedOptional}
	files := search
	files.Name, files.Hosted = "file_search", chat.HostedRequired
	set := chat.Tool{Name: "set", Raw: files.Raw, Protocol: chat.ProtocolAnthropic, Hosted: chat.HostedRequired,
		Members: []chat.Tool{{Name: "set__a"}, {Name: "set__b"}}}
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
		{"its own protocol", Options{Mode: ModeNative, Server: Server{Protocol: chat.ProtocolResponses}},
			[]chat.Tool{search, plain}, chat.Choice{}, 2, 0, ""},
		{"its own protocol, as text", Options{Mode: ModeText, Server: Server{Protocol: chat.ProtocolResponses}},
			[]chat.Tool{search, plain}, chat.Choice{}, 0, 1, ""},
		{"one that cannot be left out", Options{Mode: ModeNative}, []chat.Tool{plain, files}, chat.Choice{}, 0, 0,
			"tools[1]"},
		{"a set that the client can run", Options{Mode: ModeNative}, []chat.Tool{plain, set}, named("set__b"), 3, 0, ""},
		{"a set of its own protocol", Options{Mode: ModeNative, Server: Server{Protocol: chat.ProtocolAnthropic}},
			[]chat.Tool{plain, set}, chat.Choice{}, 2, 0, ""},
		{"a set that must be called as a whole", Options{Mode: ModeNative}, []chat.Tool{plain, set}, named("set"), 0, 0,
			"tool_choice"},
		{"one that must be called", Options{Mode: ModeNative}, []chat.Tool{search, plain}, named("web_search"), 0, 0,
			"tool_choice"},
		{"one of none must be called", Options{Mode: ModeNative}, []chat.Tool{search},
			chat.Choice{Mode: chat.ChoiceRequired}, 0, 0, "tool_choice"},
		{"one of such must be called", Options{Mode: ModeNative}, []chat.Tool{search, plain},
			chat.Choice{Mode: chat.ChoiceRequired, Allowed: []string{"web_search"}}, 0, 0, "tool_choice"},
		{"one of such or another must be called", Options{Mode: ModeNative}, []chat.Tool{search, plain},
			chat.Choice{Mode: chat.ChoiceRequired, Allowed: []string{"web_search", "f"}}, 1, 1, ""},
		{"none are wanted", Options{NoTools: true}, []chat.Tool{search, plain}, chat.Choice{}, 0, 1, ""},
		{"none are wanted, none may be called", Options{NoTools: true}, []chat.Tool{plain},
			chat.Choice{Mode: chat.ChoiceNone}, 0, 0, ""},
		{"none are wanted, one must be called", Options{NoTools: true}, []chat.Tool{plain}, named("f"), 0, 0,
			"tool_choice"},
		{"none are wanted, any must be called", Options{NoTools: true, Mode: ModeText}, []chat.Tool{plain},
			chat.Choice{Mode: chat.ChoiceRequired}, 0, 0, "tool_choice"},
		{"no other may be called", Options{Mode: ModeNative}, []chat.Tool{search, plain},
			chat.Choice{Allowed: []string{"web_search"}}, 1, 1, ""},
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
			if n.Kind != chat.NoteUnsent ||
				n.Path+n.Before != "tools[0]web_search" && (n.Path != "tools" || !tt.o.NoTools) {
				t.Errorf("%s: note %+v", tt.name, n)
			}
		}
		if len(tt.choice.Allowed) == 1 && refused == "" && m.sent.Choice.Mode != chat.ChoiceNone {
			t.Errorf("%s: the choice became %+v", tt.name, m.sent.Choice)
		}
	}
}

// TestLoose: references that lead nowhere are reported, but not where the server is sent them as they are.
func TestLoose(t *testing.T) {
	loose := []byte(`{"type":"object","properties":{"a":{"$ref":"https://example.com/a"}}}`)
	for _, tt := range []struct {
		name string
		o    Options
		req  chat.Request
		want string
	}{
		{"a tool in the text", Options{Mode: ModeText},
			chat.Request{Tools: []chat.Tool{{Name: "f", Parameters: loose}}}, "tools.f"},
		{"a function", Options{Mode: ModeNative}, chat.Request{Tools: []chat.Tool{{Name: "f", Parameters: loose}}}, ""},
		{"a format in the text", Options{Mode: ModeText},
			chat.Request{Format: &chat.Format{Kind: chat.FormatSchema, Schema: loose}}, "response_format"},
		{"a format that is sent", Options{Mode: ModeNative, Server: Server{Constraint: ConstraintOpenAI}},
			chat.Request{Format: &chat.Format{Kind: chat.FormatSchema, Schema: loose}}, ""},
	} {
		tt.req.Messages = []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("hi")}}
		got := ""
		for e, err := range New(&sentModel{}, tt.o).Stream(t.Context(), &tt.req) {
			if err != nil {
				t.Fatal(err)
			}
			if n, ok := e.Detail.(*chat.NoteDetail); ok && n.Kind == chat.NoteUnsent {
				got += n.Path
			}
		}
		if got != tt.want {
			t.Errorf("%s: told of %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestHidden shows that calls of tools which the model is not shown count, and that tools which are too large cost the
// request nothing if they are hidden.
func TestHidden(t *testing.T) {
	large := []byte(`{"type":"object","description":"` + strings.Repeat("x", maxSchemas) + `"}`)
	for _, mode := range []Mode{ModeText, ModeNative} {
		for _, parameters := range [][]byte{nil, large} {
			m := &sentModel{}
			hidden := chat.Tool{Name: "late", Parameters: parameters, Hidden: true, Deferred: true}
			for _, err := range New(m, Options{Mode: mode}).Stream(t.Context(),
				&chat.Request{Tools: []chat.Tool{{Name: "f"}, hidden},
					Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text("hi")}}}) {
				if err != nil {
					t.Fatal(err)
				}
			}
			if n := len(m.sent.Tools); mode == ModeNative && n != 1 ||
				strings.Contains(m.sent.Messages[0].Text(), "late") {
				t.Errorf("%s: the model is sent %d tools, and %q", mode, n, m.sent.Messages[0].Text())
			}
		}
	}
}
