// Package chatpage is a web page with a chat, for tests: a model of one's own answers in it.
//
// The page does what makes real ones hard to read: it shows Markdown as elements and drops tags that it does not
// know, it makes all of an answer anew with every piece that arrives, and it takes old messages out of the document.
// Its variants do worse.
package chatpage

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"wield/chat"
	"wield/internal/browser"
)

// A Variant is one way in which a page can be.
type Variant string

// The variants.
const (
	Plain   Variant = ""        // a text area and a button
	Login   Variant = "login"   // asks to log in, until somebody has
	Signing Variant = "signing" // asks to log in, and somebody does
	Loading Variant = "loading" // loads itself anew in the middle of an answer
	// is made late, throws away what was typed before, and takes its time to see what is typed
	Slow     Variant = "slow"
	Editable Variant = "editable" // has a field that is no form element, and sends at the Enter key
	Deaf     Variant = "deaf"     // has a button without effect
	Asking   Variant = "asking"   // opens a dialog when it is loaded
)

// Selectors are those of the page in every variant.
var Selectors = browser.Selectors{Prompt: "#prompt", Answer: ".answer", Send: "#send", Stop: "#stop", Login: "#login"}

// A Message is one that stands in the page.
type Message struct {
	Role string `json:"role"`
	Text string `json:"text"`
}

// A Page is the server of one.
type Page struct {
	// Answer writes an answer to a conversation. Its context ends when the page stops it.
	Answer func(ctx context.Context, talk []Message, write func(string)) error

	mu      sync.Mutex
	variant Variant
	talks   [][]Message
	stopped int
}

//go:embed page.html
var pageHTML []byte

// Be makes pages that are loaded from now on be of a variant.
func (p *Page) Be(v Variant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.variant = v
}

// Talks returns the conversations that were answered, each as it was then.
func (p *Page) Talks() [][]Message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([][]Message{}, p.talks...)
}

// Stopped returns how many answers were stopped.
func (p *Page) Stopped() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopped
}

// ServeHTTP implements http.Handler.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		p.mu.Lock()
		defer p.mu.Unlock()
		_, _ = fmt.Fprintf(w, "<!doctype html>\n<html data-variant=%q>\n%s", p.variant, pageHTML)
	case "/answer":
		p.answer(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (p *Page) answer(w http.ResponseWriter, r *http.Request) {
	var talk []Message
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 16<<20)).Decode(&talk); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	p.talks = append(p.talks, talk)
	p.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	flush := http.NewResponseController(w)
	err := p.Answer(r.Context(), talk, func(s string) {
		_, _ = w.Write([]byte(s))
		_ = flush.Flush()
	})
	if r.Context().Err() != nil {
		p.mu.Lock()
		p.stopped++
		p.mu.Unlock()
	} else if err != nil {
		_, _ = w.Write([]byte("The model failed."))
	}
}

// Model returns an Answer that asks a model, which is told nothing but the conversation in words.
func Model(m chat.Model) func(context.Context, []Message, func(string)) error {
	return func(ctx context.Context, talk []Message, write func(string)) error {
		req := &chat.Request{Stream: true}
		for _, said := range talk {
			req.Messages = append(req.Messages, chat.Message{Role: chat.Role(said.Role), Parts: chat.Text(said.Text)})
		}
		for e, err := range m.Stream(ctx, req) {
			if err != nil {
				return err
			}
			if e.Kind == chat.KindText {
				write(e.Text)
			}
		}
		return nil
	}
}

// InPieces writes a text in pieces of so many characters, with a pause between them.
func InPieces(ctx context.Context, write func(string), text string, size int, pause time.Duration) error {
	runes := []rune(text)
	for len(runes) > 0 {
		n := min(size, len(runes))
		write(string(runes[:n]))
		runes = runes[n:]
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
	return nil
}
