package compose

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"wield/bridge"
	"wield/chat"
	"wield/internal/chattemplate"
	"wield/internal/config"
	"wield/model/openai"
)

// A chatTemplate is the chat template of a model: that of a file, or the one that the server tells once it is needed.
type chatTemplate struct {
	server openai.Options
	served string

	mu       sync.Mutex
	template *chattemplate.Template // nil: not known yet
	found    chattemplate.Found
}

// chatTemplate returns the template of a model; nil if there is neither a file nor a server that could tell it.
func (w *builder) chatTemplate(m *config.Model, name string) (bridge.Template, error) {
	b := w.config.Backends[m.Backend]
	if m.ChatTemplate != "" {
		at := "models." + name + ".chat_template"
		data, err := os.ReadFile(m.ChatTemplate)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		t := new(chatTemplate)
		if err := t.read(data); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", at, m.ChatTemplate, err)
		}
		return t, nil
	}
	if !slices.Contains(config.Completing, b.Kind) || !strings.HasPrefix(string(b.URL), "http") {
		return nil, nil
	}
	server, err := TemplateServer(&b, w.env.Getenv)
	if err != nil {
		return nil, fmt.Errorf("backends.%s.%w", m.Backend, err)
	}
	return &chatTemplate{server: server, served: m.Model}, nil
}

func (t *chatTemplate) read(data []byte) error {
	template, err := chattemplate.Read(data)
	if err != nil {
		return err
	}
	if t.found, err = template.Inspect(); err == nil {
		t.template = template
	}
	return err
}

// Inspect implements [bridge.Template]. Other requests wait while the server is asked.
func (t *chatTemplate) Inspect(ctx context.Context) (bridge.TemplateTraits, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.template == nil {
		if ctx.Err() != nil {
			return bridge.TemplateTraits{}, errors.New("the chat template is not known until the server has been asked")
		}
		ctx, cancel := context.WithTimeout(ctx, templateTime)
		defer cancel()
		data, err := openai.Template(ctx, t.server, t.served)
		if err == nil {
			err = t.read(data)
		}
		if err != nil {
			return bridge.TemplateTraits{}, fmt.Errorf("%w; name a file in chat_template", err)
		}
	}
	f := &t.found
	traits := bridge.TemplateTraits{Dialect: f.Dialect, Rules: f.Rules, Opens: f.Opens != ""}
	if f.Header != "" {
		traits.Stop = []string{f.Header}
	}
	return traits, nil
}

// Render implements [bridge.Template].
func (t *chatTemplate) Render(req *chat.Request) (string, error) {
	t.mu.Lock()
	template, found := t.template, &t.found
	t.mu.Unlock()
	return template.Prompt(req, found, time.Now())
}
