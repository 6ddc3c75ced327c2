package browser

import "wield/internal/chromium"

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
