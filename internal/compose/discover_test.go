package compose

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"wield/internal/config"
)

// TestDiscover finds what speaks the protocol, and composes what it writes of it.
func TestDiscover(t *testing.T) {
	listens := func(name, body string) usual {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/models" {
				w.WriteHeader(404)
			}
			fmt.Fprint(w, body)
		}))
		t.Cleanup(srv.Close)
		_, port, err := net.SplitHostPort(srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(port)
		if err != nil {
			t.Fatal(err)
		}
		return usual{name, n}
	}
	found := discover(t.Context(), []usual{
		listens("one", `{"data":[{"id":"qwen3:8b"},{"id":"nomic-embed-text"},{"id":"a\"b: {c}"},{"id":"qwen3:8b"}]}`),
		listens("page", `<html>`),
		listens("other", `{"data":[]}`),
		listens("two", `{"data":[{"id":"qwen3:8b"}]}`),
		{"nobody", 9},
	})
	if len(found) != 2 || found[0].Name != "one" || found[1].Name != "two" ||
		fmt.Sprint(found[0].Models) != `[a"b: {c} qwen3:8b]` {
		t.Fatalf("%+v", found)
	}
	r, err := config.Parse("config.yaml", []byte(First(found)), config.Options{Getenv: env()})
	if err != nil {
		t.Fatalf("%v\n%s", err, First(found))
	}
	if got := strings.Join(r.ModelNames(), "|"); got != `a"b: {c}|qwen3:8b|two/qwen3:8b` {
		t.Errorf("models: %s", got)
	}
	if r.Models["two/qwen3:8b"].Model != "qwen3:8b" || len(r.Warnings) > 0 {
		t.Errorf("%+v %v", r.Models["two/qwen3:8b"], r.Warnings)
	}
	if _, err := New(r.Config, Environment{Getenv: env()}); err != nil {
		t.Error(err)
	}
}

// TestFirstWithout reads the file that is written when nothing was found, also without its comments.
func TestFirstWithout(t *testing.T) {
	for _, text := range []string{First(nil), strings.ReplaceAll(First(nil), "  # ", "  ")} {
		if strings.Contains(text, "  kind: openai") {
			text = strings.ReplaceAll(text, "scripted: no", "# scripted: no")
			text = strings.ReplaceAll(text, "  Ollama;", "  # Ollama;")
			text = strings.ReplaceAll(text, "  if the", "  # if the")
			text = strings.ReplaceAll(text, "  text: describe", "  # text: describe")
		}
		r, err := config.Parse("config.yaml", []byte(text), config.Options{Getenv: env()})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if len(r.Warnings) > 0 || r.Models["demo"].Backend != "demo" {
			t.Errorf("%v\n%s", r.Warnings, text)
		}
	}
}

// TestExplain takes values from every layer. A secret is never among them.
func TestExplain(t *testing.T) {
	const file = `wield: config/v1
keys: [{name: a, secret: env:KEY, models: ["m*"]}]
backends:
  b: {url: http://127.0.0.1:1, headers: {X-Key: env:KEY}}
models:
  qwen3: {backend: b, instructions: {replacePatterns: [{pattern: x}]}}
`
	r, err := config.Parse("f.yaml", []byte(file), config.Options{
		Getenv: env("KEY", "hush-hush", "WIELD_TIMEOUTS_IDLE", "9s"),
		Flags:  []config.Flag{{Name: "--listen", Path: "listen", Value: "127.0.0.1:1"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, x := range r.Explain() {
		if _, ok := got[x.Path]; ok {
			t.Errorf("%s stands twice", x.Path)
		}
		got[x.Path] = strings.TrimSpace(strings.Join([]string{x.Value, x.Layer, x.From, x.Note}, " "))
		if strings.Contains(fmt.Sprint(x), "hush") {
			t.Errorf("a secret: %v", x)
		}
	}
	for path, want := range map[string]string{
		"wield":                    "config/v1 file f.yaml:1:1",
		"listen":                   "127.0.0.1:1 flag --listen",
		"timeouts.idle":            "9s environment WIELD_TIMEOUTS_IDLE",
		"timeouts.connect":         "10s default",
		"keys[0].secret":           "env:KEY file f.yaml:2:18",
		"keys[0].models":           "[m*] file f.yaml:2:35",
		"keys[0].role":             "client default",
		"backends.b.headers.X-Key": "env:KEY file f.yaml:4:42",
		"models.qwen3.model":       "default  qwen3",
		"models.qwen3.profile":     "auto default  qwen3",
		"models.qwen3.instructions.replacePatterns[0].pattern": "x file f.yaml:6:57",
	} {
		if got[path] != want {
			t.Errorf("%s: %q, want %q", path, got[path], want)
		}
	}
}
