package compose

import (
	"testing"

	"wield/internal/config"
)

// TestStanding composes a configuration again: what has not changed is taken over, with its queue and connections, what
// has changed is made anew.
func TestStanding(t *testing.T) {
	build := func(text string, key string, before *Service) *Service {
		t.Helper()
		r, err := config.Parse("config.yaml", []byte(text), config.Options{Getenv: env()})
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(r.Config, Environment{Getenv: env("KEY", key), Before: before})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const head = "wield: config/v1\nmodels: {m: {backend: b}, n: {backend: c}}\nbackends:\n  c: {url: http://127.0.0.1:2}\n"
	const text = head + "  b: {url: http://127.0.0.1:1, key: env:KEY}\n"
	old := build(text, "one", nil)
	for _, tt := range []struct {
		name, text, key string
		same            bool
	}{
		{"nothing changed", text, "one", true},
		{"another model", "listen: 127.0.0.1:1\n" + text, "one", true},
		{"another address", head + "  b: {url: http://127.0.0.1:3, key: env:KEY}\n", "one", false},
		{"another limit", head + "  b: {url: http://127.0.0.1:1, key: env:KEY, concurrent: 9}\n", "one", false},
		{"another secret", text, "two", false},
		{"another timeout", "timeouts: {idle: 1s}\n" + text, "one", false},
		{"another header", head + "  b: {url: http://127.0.0.1:1, key: env:KEY, headers: {X-A: b}}\n", "one", false},
	} {
		s := build(tt.text, tt.key, old)
		if same := s.servers["b"] == old.servers["b"]; same != tt.same {
			t.Errorf("%s: taken over is %v", tt.name, same)
		}
		s.Close()
	}
}
