package compose

import (
	"testing"

	"wield/internal/config"
)

// TestRelay: what is no conversation can be asked of models whose server has it, under the name that the server knows.
func TestRelay(t *testing.T) {
	c := config.Default()
	c.Backends, c.Models = map[string]config.Backend{}, map[string]config.Model{}
	for name, kind := range map[string]string{"a": "openai", "b": "ollama", "c": "anthropic"} {
		b := config.DefaultBackend()
		b.Kind, b.URL = kind, "http://127.0.0.1:1"
		c.Backends[name] = b
		m := config.DefaultModel(name)
		m.Model = "upstream-" + name
		c.Models[name] = m
	}
	c.AddScripted("d", "demo")
	s, err := New(c, Environment{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, m := range s.Gateway.Models {
		if relays := m.Name != "d"; (m.Relay != nil) != relays || relays && m.Upstream != "upstream-"+m.Name {
			t.Errorf("%s: relay %v under the name %q", m.Name, m.Relay, m.Upstream)
		}
	}
}
