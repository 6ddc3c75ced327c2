package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConnect: a service that plays the demo is connected with a first model over its interface. It serves
// that from then on, and after a new start; the key stands in a file of its own and nowhere else.
func TestConnect(t *testing.T) {
	const secret = "sk-hush-0123456789"
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer "+secret:
			w.WriteHeader(401)
		case r.URL.Path == "/v1/models":
			fmt.Fprint(w, `{"data": [{"id": "qwen3:8b"}]}`)
		default:
			fmt.Fprint(w,
				`{"choices": [{"message": {"role": "assistant", "content": "Ahoy."}, "finish_reason": "stop"}]}`)
		}
	}))
	t.Cleanup(upstream.Close)
	home := t.TempDir()
	getenv := func(name string) string {
		if name == "HOME" {
			return home
		}
		return ""
	}
	s := start(t, getenv)
	api := s.base + "/api/v1"
	key := adminOf(t, s)
	if _, body := do(t, "GET", api+"/models", "", key...); !strings.Contains(body, `"connect":true`) ||
		!strings.Contains(body, `"demo-agent"`) {
		t.Errorf("before: %s", body)
	}
	if status, body := do(t, "POST", api+"/connect", `{"url":"`+upstream.URL+`","key":"sk-hush-wrong","keep":true}`,
		key...); status != 200 || !strings.Contains(body, `"field":"key"`) {
		t.Errorf("a wrong key: %d %s", status, body)
	}
	file := filepath.Join(home, ".config", "wield", "config.yaml")
	if _, err := os.Stat(file); err == nil {
		t.Error("what does not answer is kept")
	}
	in := `{"url":"` + upstream.URL + `","key":"` + secret + `","keep":true}`
	if status, body := do(t, "POST", api+"/connect", in, key...); status != 200 || !strings.Contains(body, `"file":`) {
		t.Fatalf("%d %s", status, body)
	}
	if _, body := do(t, "GET", api+"/models", "", key...); strings.Contains(body, "connect") ||
		strings.Contains(body, "demo") || !strings.Contains(body, "qwen3:8b") {
		t.Errorf("after: %s", body)
	}
	if status, body := do(t, "POST", api+"/connect", in, key...); status != 409 {
		t.Errorf("a second one: %d %s", status, body)
	}
	asks := func(s *service) {
		t.Helper()
		if status, body := post(t, s.base,
			`{"model":"qwen3:8b","messages":[{"role":"user","content":"hi"}]}`); status != 200 ||
			!strings.Contains(body, "Ahoy.") {
			t.Errorf("%d %s", status, body)
		}
	}
	asks(s)
	// The file is watched from now on, although there was none at the start.
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), "hush") {
		t.Errorf("%v\n%s", err, text)
	}
	s.end(t, 0)
	if log := s.stderr.String() + s.stdout.String(); strings.Contains(log, "hush") {
		t.Errorf("the key is told:\n%s", log)
	}
	asks(start(t, getenv))
}
