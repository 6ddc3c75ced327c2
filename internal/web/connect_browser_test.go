package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// modelServer is a server with two models that wants the key k-right.
func modelServer(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !strings.HasPrefix(r.URL.Path, "/v1/"):
			w.WriteHeader(404)
		case r.Header.Get("Authorization") != "Bearer k-right":
			w.WriteHeader(401)
			fmt.Fprint(w, `{"error": {"message": "no such key"}}`)
		case r.URL.Path == "/v1/models":
			fmt.Fprint(w, `{"data": [{"id": "qwen3:8b"}, {"id": "gemma3:4b"}]}`)
		default:
			fmt.Fprint(w,
				`{"choices": [{"message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}]}`)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestConnect: without a model the first screen connects one. What is wrong is said at its field, and what
// answers is kept.
func TestConnect(t *testing.T) {
	b := browser(t)
	w := newWorld(t, "", nil)
	server := modelServer(t)
	s := w.open(b, adminKey, "#/chat")
	s.wait(".connect h2", "Connect a model")
	s.wait(".welcome", "Or try the demo first")
	s.pictures("connect-empty")
	s.write(".connect input[name=url]", "127.0.0.1:9")
	s.press("Enter")
	s.wait(".connect .said", "Nothing listens at 127.0.0.1:9", "correct the address")
	s.wait(".connect input[name=url][aria-invalid]")
	s.pictures("connect-nobody")
	s.write(".connect input[name=url]", server)
	s.press("Enter")
	s.wait(".connect .said", "The server requires a key")
	s.wait(".connect input[type=password]:focus")
	s.write("", "k-wrong")
	s.press("Enter")
	s.wait(".connect .said", "The server rejects the key (status 401). It says: no such key")
	s.write(".connect input[type=password]", "k-right")
	s.press("Enter")
	s.wait(".connect .said", "The server has 2 models")
	s.pictures("connect-choose")
	if got := s.text(".connect input[name=url]"); got != server+"/v1" {
		t.Errorf("the address is %q", got)
	}
	s.click("qwen3:8b", ".connect .choices")
	s.wait(".connect .said", "qwen3:8b answers")
	s.pictures("connect-answers")
	s.click("Use this model")
	s.told("qwen3:8b is connected")
	s.gone(".connect")
	s.wait("select[aria-label=Model]", "qwen3:8b")
	text, err := os.ReadFile(filepath.Join(w.dir, "connected.yaml"))
	if err != nil || !strings.Contains(string(text), "url: "+server+"/v1") ||
		strings.Contains(string(text), "k-right") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestConnectAdmin: who may not write the configuration is shown no form for it.
func TestConnectAdmin(t *testing.T) {
	b := browser(t)
	w := newWorld(t, "", nil)
	s := w.open(b, clientKey, "#/chat")
	s.wait(".notice", "no model")
	if n := s.count(".connect"); n != 0 {
		t.Error("a client is shown how to connect a model")
	}
	if status := w.ask(clientKey, "POST", "/connect", map[string]string{"url": "http://127.0.0.1:9"},
		nil); status != 403 {
		t.Errorf("a client's connection is answered with %d", status)
	}
}

// TestPlaygroundFilled: the playground opens with an example that was read to its end.
func TestPlaygroundFilled(t *testing.T) {
	b := browser(t)
	s := newWorld(t, plain, nil).open(b, approverKey, "#/playground")
	s.wait(".reading", "get_weather")
	s.wait(".page-body", "205 of 205 bytes")
	var atEnd bool
	s.evaluate(&atEnd,
		`(() => { const r = document.querySelector('input[type=range]'); return r.max > 0 && r.value === r.max; })()`)
	if !atEnd {
		t.Error("the slider is not at its end")
	}
	s.pictures("playground-filled")
}
