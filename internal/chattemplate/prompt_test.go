package chattemplate_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wield/chat"
	"wield/internal/chattemplate"
)

// conversation is one with a call and its result.
func conversation() *chat.Request {
	return &chat.Request{
		Tools: []chat.Tool{{Name: "depth", Description: "Depth of the water.",
			Parameters: []byte(`{"type":"object","properties":{"berth":{"type":"integer"}}}`)}},
		Messages: []chat.Message{
			{Role: chat.RoleUser, Parts: chat.Text("How deep is berth 3?")},
			{Role: chat.RoleAssistant,
				Calls: []chat.Call{{ID: "call_of_a_client", Name: "depth", Arguments: `{"berth": 3}`}}},
			{Role: chat.RoleTool, CallID: "call_of_a_client", Parts: chat.Text("12 metres")},
		}}
}

// TestPrompt renders a conversation with the templates of several families: tools, calls and results as each writes
// them, and what begins a turn of the user.
func TestPrompt(t *testing.T) {
	for _, tt := range []struct {
		file   string
		holds  []string
		ends   string
		header string
	}{
		{"hermes.jinja",
			[]string{`"name": "depth"`,
				"<tool_call>\n{\"name\": \"depth\", \"arguments\": {\"berth\": 3}}\n</tool_call>",
				"<tool_response>\n12 metres"},
			"<|im_start|>assistant\n", "<|im_start|>user"},
		{"coder.jinja", []string{"<function=depth>\n<parameter=berth>\n3\n</parameter>", "12 metres"}, "<think>\n",
			"<|im_start|>user"},
		{"llama.jinja", []string{`"parameters": {"berth": 3}`, "12 metres"}, "",
			"<|start_header_id|>user<|end_header_id|>"},
		{"mistral.jinja", []string{`"id": "call00001"`, "12 metres"}, "", "[INST]"},
		{"ollama-hermes.gotmpl", []string{"depth", "<tool_call>", "12 metres"}, "<|im_start|>assistant\n",
			"<|im_start|>user"},
	} {
		t.Run(tt.file, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", tt.file))
			if err != nil {
				t.Fatal(err)
			}
			tpl, err := chattemplate.Read(data)
			if err != nil {
				t.Fatal(err)
			}
			found, err := tpl.Inspect()
			if err != nil {
				t.Fatal(err)
			}
			if found.Header != tt.header {
				t.Errorf("header %q, want %q", found.Header, tt.header)
			}
			text, err := tpl.Prompt(conversation(), &found, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range tt.holds {
				if !strings.Contains(text, part) {
					t.Errorf("%q is not in it", part)
				}
			}
			if !strings.HasSuffix(text, tt.ends) || t.Failed() {
				t.Errorf("prompt:\n%s", text)
			}
		})
	}
}

func TestPromptTokensAndTime(t *testing.T) {
	tpl, err := chattemplate.Read([]byte(`{"eos_token": {"content": "<end>"},
		"chat_template": "{{ bos_token }}{{ strftime_now('%Y') }}{% for m in messages %}{{ m.role }}:{{ m.content }}{{ eos_token }}{% endfor %}"}`))
	if err != nil {
		t.Fatal(err)
	}
	req := &chat.Request{Messages: []chat.Message{{Role: chat.RoleDeveloper, Parts: chat.Text("Be brief.")},
		{Role: chat.RoleUser, Parts: chat.Text("Hi.")}}}
	text, err := tpl.Prompt(req, &chattemplate.Found{}, time.Date(2031, time.May, 1, 0, 0, 0, 0, time.UTC))
	if want := "2031system:Be brief.<end>user:Hi.<end>"; err != nil || text != want {
		t.Errorf("%q, %v, want %q", text, err, want)
	}
	req.Messages[1].Parts = append(req.Messages[1].Parts, chat.Part{Kind: chat.PartImage, Data: []byte("x"),
		MediaType: "image/png"})
	if _, err := tpl.Prompt(req, &chattemplate.Found{}, time.Now()); err == nil ||
		!strings.Contains(err.Error(), "messages[1]: a prompt is text") {
		t.Errorf("%v", err)
	}
}
