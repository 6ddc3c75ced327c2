package main

import (
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/internal/browser/chromium"
	"wield/internal/chatpage"
	"wield/internal/cli"
	"wield/internal/script"
	"wield/internal/testlevel"
)

// TestServeBrowser plays rounds with a tool with a model behind a web page: the model writes its calls into the page,
// results are typed into it, and when the service ends, so has the browser.
func TestServeBrowser(t *testing.T) {
	testlevel.Long(t)
	if _, err := chromium.Find(""); err != nil {
		t.Skipf("SKIPPED, nothing behind a web page is tested: %v", err)
	}
	live, err := script.Find(script.Catalogue(""), "demo", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	page := &chatpage.Page{Answer: chatpage.Model(live.Model(script.Options{}))}
	site := httptest.NewServer(page)
	defer site.Close()
	tmp, err := chromium.TestDir()
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	file := filepath.Join(t.TempDir(), "wield.yaml")
	t.Setenv("TMPDIR", tmp)
	selectors := chatpage.Selectors
	text := fmt.Sprintf(
		"wield: config/v1\nbackends:\n  page:\n    kind: browser\n    url: %q\n    browser: {prompt: %q, answer: %q, send: %q, stop: %q, settle: 300ms, sandbox: %v}\nmodels:\n  web: {backend: page}\n",
		site.URL, selectors.Prompt, selectors.Answer, selectors.Send, selectors.Stop, os.Getuid() != 0)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, nil, "--config", file)
	checkRound(t, s.base, "web")
	talks := page.Talks()
	if len(talks) != 4 || len(talks[1]) != 3 || !strings.Contains(talks[0][0].Text, "get_weather") ||
		strings.Contains(talks[1][2].Text, "[") {
		t.Errorf("the page was asked %d times: %.2000v", len(talks), talks)
	}
	s.end(t, 0)
	if left := chromium.Running(tmp); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if list, _ := os.ReadDir(tmp); len(list) > 0 {
		t.Errorf("files are left: %v", list)
	}
}

// TestBrowserLogin: what a person is told who cannot log in.
func TestBrowserLogin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "wield.yaml")
	const text = "wield: config/v1\nbackends: {page: {kind: browser, url: \"http://127.0.0.1:9\", browser: {prompt: \"#p\", answer: \"#a\"%s}}}\nmodels: {web: {backend: page}}\n"
	for _, c := range []struct {
		more, want string
		code       int
	}{
		{"", "backends.page.browser.profile is empty", cli.ExitUsage},
		{", profile: " + filepath.Join(t.TempDir(), "profile") + ", program: /nowhere/chromium", "browser.program",
			cli.ExitModel},
	} {
		if err := os.WriteFile(file, fmt.Appendf(nil, text, c.more), 0o600); err != nil {
			t.Fatal(err)
		}
		var stderr strings.Builder
		a := &cli.App{Stdin: strings.NewReader(""), Stdout: &strings.Builder{}, Stderr: &stderr,
			Getenv: func(string) string { return "" }}
		if code := run(t.Context(), []string{"browser", "login", "--config", file}, a); code != c.code ||
			!strings.Contains(stderr.String(), c.want) {
			t.Errorf("%q: code %d, %s", c.more, code, stderr.String())
		}
	}
}
