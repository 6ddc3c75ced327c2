package config

import "testing"

// TestPart: keys as other programs write them lead to wield's own.
func TestPart(t *testing.T) {
	known := []field{{name: "kind"}, {name: "url"}, {name: "key"}}
	for name, want := range map[string]string{
		"base_url": `; did you mean "url"?`, "api-key": `; did you mean "key"?`, "API_KEY": `; did you mean "key"?`,
		"url_base": "", "model": "", "_": "",
	} {
		if got := part(name, known); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
