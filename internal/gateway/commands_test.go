package gateway

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"wield/chat"
)

// TestCommands: a message that is a command is answered without the model, and nothing else is.
func TestCommands(t *testing.T) {
	asked := ""
	model := fake(func(_ context.Context, req *chat.Request, emit func(chat.Event) bool) error {
		asked = req.Messages[len(req.Messages)-1].Text()
		emit(text("from the model"))
		emit(finish(chat.FinishStop))
		return nil
	})
	srv := serve(t, Options{Models: []Model{
		{Name: "m", Model: Commands(model, CommandOptions{Name: "m", WakeWord: "wield"})},
		{Name: "plain", Model: model},
	}})
	for _, tc := range []struct{ model, said, answer, asked string }{
		{"m", "/help", "Commands:\n/help shows this list", ""},
		{"m", " /HELP ", "Commands:", ""},
		{"m", "wield help", "Commands:", ""},
		{"m", "Wield, help!", "Commands:", ""},
		{"m", "/model", "m, with 0 earlier messages and 0 tools.", ""},
		{"m", "/save it", "your program keeps the conversation", ""},
		{"m", "/ole", "¡Olé!", ""},
		{"m", "/title", "from the model",
			"Write a title for this conversation: at most six words, without quotes and without a full stop. Answer with the title alone."},
		{"m", "/etc/passwd is a file", "from the model", "/etc/passwd is a file"},
		{"m", "/unheard of", "from the model", "/unheard of"},
		{"m", "help", "from the model", "help"},
		{"m", "wield the sword", "from the model", "wield the sword"},
		{"m", "what does /help do?", "from the model", "what does /help do?"},
		{"plain", "/help", "from the model", "/help"},
	} {
		for _, stream := range []bool{false, true} {
			asked = ""
			resp, body := ask(t, srv, fmt.Sprintf(`{"model":%q,"stream":%v,"messages":[{"role":"user","content":%q}]}`,
				tc.model, stream, tc.said))
			want := strings.ReplaceAll(tc.answer, "\n", `\n`)
			if resp.StatusCode != 200 || !strings.Contains(body, want) || asked != tc.asked {
				t.Errorf("%s %q: %s; the model was asked %q", tc.model, tc.said, body, asked)
			}
		}
	}
}
