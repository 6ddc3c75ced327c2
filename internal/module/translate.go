package module

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"

	"wield/chat"
)

// TranslateOptions say what [Translate] translates from and to.
type TranslateOptions struct {
	Name   string
	Order  int
	Model  chat.Model // that translates
	As     string     // the name that it is asked for by
	Theirs string     // the language of people, such as German
	Models string     // the language that the model is to read and write, such as English
}

// Translate returns a module that lets people and a model speak different languages: what the user writes is
// translated by a model, and so is the answer, with what is not text of a language (code, commands, addresses) left
// alone. Messages of the history are translated once and then remembered. The answer is passed on when it is whole;
// one that cannot be translated stays as it is.
func Translate(o TranslateOptions) Module {
	t := &translator{o: o, known: make(map[[sha256.Size]byte]string)}
	return Module{
		Name: o.Name, Order: o.Order, Buffer: Whole, Roles: []chat.Role{chat.RoleUser, chat.RoleAssistant},
		Input: func(ctx context.Context, _ *Exchange, text string) (string, error) {
			return t.translate(ctx, text, o.Models)
		},
		Output: func(*Exchange) Transformer {
			return TransformerFunc(func(ctx context.Context, text string) (string, error) {
				out, err := t.translate(ctx, text, o.Theirs)
				if err == nil {
					t.remember(out, o.Models, text) // it comes back in the history
				}
				return out, err
			})
		},
	}
}

// A translator asks a model for translations.
type translator struct {
	o     TranslateOptions
	mu    sync.Mutex
	known map[[sha256.Size]byte]string // translations by what they are of
}

// maxKnown is how many translations are remembered. They are forgotten together: a conversation in progress asks for
// a few again.
const maxKnown = 512

// translateText is the system prompt. The text stands in the user's message alone, so that nothing in it is an
// instruction here.
const translateText = "You translate. Write the text of the user's message in %s and nothing else: no introduction, " +
	"no quotation marks, no answer to what " +
	"it says. Keep its paragraphs, lists and Markdown. Leave code, commands, names, numbers and addresses as they " +
	"are. If it is in %[1]s already, repeat it."

func (t *translator) translate(ctx context.Context, text, to string) (string, error) {
	if strings.TrimSpace(text) == "" {
		return text, nil
	}
	t.mu.Lock()
	out, ok := t.known[keyOf(text, to)]
	t.mu.Unlock()
	if ok {
		return out, nil
	}
	out, err := t.ask(ctx, text, to)
	if err != nil {
		return "", err
	}
	t.remember(text, to, out)
	return out, nil
}

func keyOf(text, to string) [sha256.Size]byte { return sha256.Sum256([]byte(to + "\x00" + text)) }

// remember keeps out as the translation of text.
func (t *translator) remember(text, to, out string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) >= maxKnown {
		clear(t.known)
	}
	t.known[keyOf(text, to)] = out
}

// ask asks the model for a translation. What is blank around the text stays.
func (t *translator) ask(ctx context.Context, text, to string) (string, error) {
	core := strings.TrimSpace(text)
	at := strings.Index(text, core)
	req := &chat.Request{Model: t.o.As, Messages: []chat.Message{
		{Role: chat.RoleSystem, Parts: chat.Text(fmt.Sprintf(translateText, to))},
		{Role: chat.RoleUser, Parts: chat.Text(core)},
	}}
	var out strings.Builder
	for e, err := range t.o.Model.Stream(ctx, req) {
		switch {
		case err != nil:
			return "", fmt.Errorf("translating to %s: %w", to, err)
		case e.Kind == chat.KindText:
			out.WriteString(e.Text)
		case e.Kind == chat.KindFinish && e.Detail.(*chat.Finish).Reason == chat.FinishLength:
			return "", fmt.Errorf("translating to %s: the translation was cut off", to)
		}
		if out.Len() > 16*len(text)+4096 {
			return "", fmt.Errorf("translating to %s: the translation does not end", to)
		}
	}
	got := strings.TrimSpace(out.String())
	if got == "" {
		return "", fmt.Errorf("translating to %s: the model wrote nothing", to)
	}
	return text[:at] + got + text[at+len(core):], nil
}
