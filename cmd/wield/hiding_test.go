package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/internal/cli"
	"wield/internal/config"
)

// TestErrorStreamHidesSecrets: what is said on the error stream holds no secret of the configuration that was read,
// whoever says it.
func TestErrorStreamHidesSecrets(t *testing.T) {
	const key = "plain words of mine"
	file := filepath.Join(t.TempDir(), "wield.yaml")
	if err := os.WriteFile(file,
		[]byte(
			"wield: config/v1\nbackends: {b: {kind: openai, url: \"http://127.0.0.1:1/v1\", key: env:KEY}}\nmodels: {m: {backend: b}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	app := &cli.App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &stderr,
		Getenv: func(name string) string { return map[string]string{"KEY": key}[name] }}
	if code := run(context.Background(), []string{"config", "check", file}, app); code != cli.ExitOK {
		t.Fatalf("code %d: %s", code, stderr.String())
	}
	if _, err := app.Load(config.Options{File: file, Getenv: app.Getenv}); err != nil {
		t.Fatal(err)
	}
	if n, err := fmt.Fprintf(app.Stderr, "wield: not with %s\n", key); err != nil ||
		n != len("wield: not with \n")+len(key) {
		t.Errorf("%d bytes, %v", n, err)
	}
	if got := stderr.String(); !strings.Contains(got, "not with [masked]") || strings.Contains(got, key) {
		t.Errorf("shown: %s", got)
	}
}

// TestUpstreamErrorsHideTheKey: a server that repeats the key it was sent makes no command show it.
func TestUpstreamErrorsHideTheKey(t *testing.T) {
	const key = "plain words of mine"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":"no such key: %s"}}`, strings.TrimPrefix(r.Header.Get("Authorization"),
			"Bearer "))
	}))
	defer server.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "wield.yaml")
	if err := os.WriteFile(file,
		[]byte("wield: config/v1\ndata: "+dir+"\nbackends: {b: {kind: openai, url: \""+server.URL+
			"/v1\", key: env:KEY, retry: {attempts: 1}}}\nmodels: {m: {backend: b}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"run", "--config", file, "--model", "m", "hello"},
		{"doctor", "--config", file},
		{"tune", "--config", file, "m"},
	} {
		var out strings.Builder
		code := run(context.Background(), args, &cli.App{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out,
			Getenv:  func(name string) string { return map[string]string{"KEY": key, "HOME": dir}[name] },
			Journal: cli.ConfiguredJournal})
		if code == cli.ExitOK || strings.Contains(out.String(), key) || !strings.Contains(out.String(), "no such key") {
			t.Errorf("%v: code %d: %s", args, code, out.String())
		}
	}
}
