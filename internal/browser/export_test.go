package browser

import (
	"context"

	"wield/internal/browser/chromium"
)

// CloseTabs closes all tabs of a model's browser, as a user could.
func CloseTabs(m *Model) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.pages {
		go p.tab.Close()
	}
}

// Lend gives a model a browser that runs already.
func Lend(m *Model, b *chromium.Browser) { m.browser = b }

// TakeBack takes it from a model that is about to be closed, so that the browser goes on.
func TakeBack(m *Model) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.browser = nil
}

// Type writes into the prompt field of a model's first page.
func Type(ctx context.Context, m *Model, text string) error {
	p := m.pages[0]
	if err := p.call(ctx, nil, "focus"); err != nil {
		return err
	}
	return p.tab.Insert(ctx, text)
}

// Send sends a prompt that was typed.
func Send(ctx context.Context, m *Model, prompt string) (sent bool, err error) {
	return m.pages[0].send(ctx, prompt)
}
