package browser

// CloseTabs closes all tabs of a model's browser, as a user could.
func CloseTabs(m *Model) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.pages {
		go p.tab.Close()
	}
}
