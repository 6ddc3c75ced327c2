package compose

import (
	"strings"
	"testing"

	"wield/internal/config"
)

const browserFile = `wield: config/v1
backends:
  p: {kind: browser, url: "https://chat.example", browser: {prompt: "#p", answer: ".a", profile: /tmp/p}, key: env:K}
  o: {kind: openai, url: "http://127.0.0.1:1", browser: {prompt: "#p"}}
models:
  web: {backend: p}
  other: {backend: p, dialect: hermes, instructions: {injectInto: last}}
`

// TestBrowserDefaults: what a model behind a page gets where the file says nothing, and what is said of what has no
// effect.
func TestBrowserDefaults(t *testing.T) {
	r, err := config.Parse("config.yaml", []byte(browserFile), config.Options{Getenv: env("K", "v")})
	if err != nil {
		t.Fatal(err)
	}
	if m := r.Models["web"]; m.Mode != "text" || m.Dialect != "json-fence" || m.Instructions.InjectInto != "first" {
		t.Errorf("web: %s, %s, %s", m.Mode, m.Dialect, m.Instructions.InjectInto)
	}
	if m := r.Models["other"]; m.Dialect != "hermes" || m.Instructions.InjectInto != "last" {
		t.Errorf("other: %s, %s", m.Dialect, m.Instructions.InjectInto)
	}
	var got []string
	for _, w := range r.Warnings {
		got = append(got, w.Path)
	}
	if strings.Join(got, " ") != "backends.p.key backends.o.browser models.other.dialect" {
		t.Errorf("warnings: %q", got)
	}
	if o, err := LoginOptions(r.Config, ""); err != nil || o.URL != "https://chat.example" || !o.Browser.Visible ||
		o.Browser.Profile != "/tmp/p" || o.Browser.NoSandbox {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := LoginOptions(r.Config, "o"); err == nil ||
		!strings.Contains(err.Error(), `no backend "o" of kind browser`) {
		t.Error(err)
	}
}

// TestBrowserProblems: what cannot be.
func TestBrowserProblems(t *testing.T) {
	for text, want := range map[string]string{
		strings.Replace(browserFile, `answer: ".a", `, "",
			1): "the key browser.answer is missing",
		strings.Replace(browserFile, "web: {", "web: {mode: native, ",
			1): "a web page has no function calling",
		strings.Replace(browserFile, `url: "https://chat.example", `, "", 1):           "the key url is missing",
		strings.Replace(browserFile, `profile: /tmp/p`, "profile: /p, pages: 1000", 1): "backends.p.browser.pages",
	} {
		if _, err := config.Parse("config.yaml", []byte(text), config.Options{Getenv: env("K", "v")}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for text, want := range map[string]string{
		strings.Replace(browserFile, ", profile: /tmp/p", "", 1):       "backends.p.browser.profile is empty",
		strings.Replace(browserFile, "kind: browser", "kind: lumo", 1): "no backend of kind browser",
		browserFile + "  # more\n":                                     "",
	} {
		r, err := config.Parse("config.yaml", []byte(text), config.Options{Getenv: env("K", "v")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := LoginOptions(r.Config, ""); want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
