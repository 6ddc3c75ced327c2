package chattemplate_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/chat"
	"wield/internal/chattemplate"
)

// TestInspect looks at templates in testdata, which are written for this test in the manner of the families that they
// are named for.
func TestInspect(t *testing.T) {
	all := chat.Rules{NoTool: true, NoCalls: true, NoTools: true}
	for _, c := range []struct {
		file, dialect string
		by            chattemplate.Evidence
		rules         chat.Rules
		opens         string
	}{
		{"hermes.jinja", "hermes", chattemplate.ByCall, chat.Rules{}, ""},
		{"coder.jinja", "qwen3-coder", chattemplate.ByCall, chat.Rules{SystemFirst: true, NeedsUser: true}, "<think>"},
		{"llama.jinja", "llama3-json", chattemplate.ByCall, chat.Rules{}, ""},
		{"mistral.jinja", "mistral-array", chattemplate.ByCall,
			chat.Rules{SystemFirst: true, UserFirst: true, NeedsUser: true, Alternate: true}, ""},
		{"gemma.jinja", "", "", chat.Rules{NoSystem: true, UserFirst: true, Alternate: true, NoTool: true,
			NoCalls: true, NoTools: true}, ""},
		{"glm.jinja", "glm", chattemplate.ByCall, chat.Rules{}, ""},
		{"kimi.jinja", "kimi-k2", chattemplate.ByCall, chat.Rules{}, ""},
		{"granite.jinja", "granite3", chattemplate.ByPrompt, chat.Rules{NoCalls: true}, ""},
		{"dsml.jinja", "deepseek-dsml", chattemplate.ByCall, chat.Rules{}, ""},
		{"plain.jinja", "", "", all, ""},
		{"folded.jinja", "", "", chat.Rules{SystemFirst: true, UserFirst: true, NeedsUser: true, Alternate: true,
			NoTool: true, NoCalls: true, NoTools: true}, ""},
		{"ollama-hermes.gotmpl", "hermes", chattemplate.ByCall, chat.Rules{}, ""},
		{"ollama-prompt.gotmpl", "", "", all, ""},
		{"tokenizer_config.json", "hermes", chattemplate.ByCall, chat.Rules{}, ""},
		{"show.json", "qwen3-coder", chattemplate.ByParser, chat.Rules{NoTool: true, NoCalls: true, NoTools: true}, ""},
	} {
		t.Run(c.file, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", c.file))
			if err != nil {
				t.Fatal(err)
			}
			tpl, err := chattemplate.Read(data)
			if err != nil {
				t.Fatal(err)
			}
			f, err := tpl.Inspect()
			if err != nil {
				t.Fatal(err)
			}
			if f.Dialect != c.dialect || f.By != c.by || f.Opens != c.opens {
				t.Errorf("dialect %q by %q, opens %q; want %q by %q, %q\n%s", f.Dialect, f.By, f.Opens, c.dialect,
					c.by, c.opens, f.Example)
			}
			if f.Rules != c.rules {
				t.Errorf("rules: %s\n want: %s", f.Rules, c.rules)
			}
		})
	}
}

func TestReadFails(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{`{"model_max_length": 4096}`, "no chat template"},
		{`{"chat_template": 3}`, "neither a text nor a list"},
		{`{"chat_template": [{"name": "rag", "template": "x"}]}`, "no chat template"},
		{`{"chat_template": `, "neither JSON nor a chat template"},
		{"{% for m in messages %}", "line 1: endfor is missing"},
	} {
		if _, err := chattemplate.Read([]byte(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.file, err, c.want)
		}
	}
	if _, err := chattemplate.Read([]byte("{}")); !errors.Is(err, chattemplate.ErrNoTemplate) {
		t.Errorf("%v", err)
	}
	tpl, err := chattemplate.Jinja("{{ messages[0].colour.name }}")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tpl.Inspect(); err == nil || !strings.Contains(err.Error(), "cannot render a question") {
		t.Errorf("%v", err)
	}
}

// TestNamedTemplates checks that of several templates the one for tools counts.
func TestNamedTemplates(t *testing.T) {
	tpl, err := chattemplate.Read(
		[]byte(
			`{"chat_template": [{"name": "default", "template": "{% for m in messages %}{{ m.content }}\n{% endfor %}"},
		{"name": "tool_use", "template": "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}<tool_call>{{ c.function|tojson }}</tool_call>{% endfor %}\n{% endfor %}"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if f, err := tpl.Inspect(); err != nil || f.Dialect != "hermes" {
		t.Errorf("%+v, %v", f, err)
	}
}
