package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"wield/internal/cli"
)

// TestUnknownModel: a server that does not know a model is asked which ones it has, and whoever reads the
// error is told.
func TestUnknownModel(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			if r.Header.Get("Authorization") != "Bearer sesame" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			fmt.Fprint(w,
				`{"data":[{"id":"a1"},{"id":"a2"},{"id":"a3"},{"id":"a4"},{"id":"qwen2.5-coder:14b"},{"id":"a6"},{"id":"a7"}]}`)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"error":{"message":"the model does not exist","code":"model_not_found"}}`)
	}))
	defer s.Close()
	key := filepath.Join(t.TempDir(), "key")
	writeFile(t, key, "sesame")
	server := []string{"--upstream", s.URL + "/v1", "--upstream-key", "file:" + key}
	for _, c := range []struct{ model, want string }{
		{"qwen2.5-codr:14b", `did you mean "qwen2.5-coder:14b"?`},
		{"gigantic", "the server has a1, a2, a3, a4, qwen2.5-coder:14b and 2 more"},
	} {
		args := append(server, "--model", c.model)
		_, out, log := runWield(t, t.TempDir(), "", append([]string{"run", "hi"}, args...)...)
		_, doctor, _ := runWield(t, t.TempDir(), "", append([]string{"doctor", "--quick"}, args...)...)
		g := start(t, nil, args...)
		_, answer := post(t, g.base, fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"hi"}]}`, c.model))
		for where, text := range map[string]string{"run": out + log, "doctor": doctor,
			"serve": strings.ReplaceAll(answer, `\"`, `"`)} {
			if !strings.Contains(text, c.want) {
				t.Errorf("%s of %s says nothing of %s:\n%s", where, c.model, c.want, text)
			}
		}
	}
}

// TestReachedElsewhere: a service that listens on all addresses says which ones others reach it by.
func TestReachedElsewhere(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "wield.yaml"), "wield: config/v1\nkeys: [{name: me, secret: env:KEY}]\n")
	s := start(t, func(name string) string { return map[string]string{"KEY": "wk_" + strings.Repeat("a", 40)}[name] },
		"--config", filepath.Join(dir, "wield.yaml"), "--listen", "0.0.0.0:0")
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.base, "http://127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	own = slices.DeleteFunc(own, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return !ok || n.IP.To4() == nil || n.IP.IsLoopback() || n.IP.IsLinkLocalUnicast()
	})
	if len(own) == 0 {
		t.Skip("this machine has no address but its own")
	}
	s.end(t, 0)
	want := "http://" + net.JoinHostPort(own[0].(*net.IPNet).IP.String(), port)
	if got := s.stdout.String(); !strings.Contains(got, want) || strings.Contains(got, "0.0.0.0") {
		t.Errorf("no %s in:\n%s", want, got)
	}
}

// TestServerFails: a server that answers with a failure of its own is not told as one that cannot be reached.
func TestServerFails(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(w, `{"error":{"message":"out of memory"}}`)
	}))
	defer s.Close()
	server := []string{"--upstream", s.URL + "/v1", "--model", "m"}
	_, out, log := runWield(t, t.TempDir(), "", append([]string{"run", "hi"}, server...)...)
	_, doctor, _ := runWield(t, t.TempDir(), "", append([]string{"doctor", "--quick"}, server...)...)
	for where, text := range map[string]string{"run": out + log, "doctor": doctor} {
		if !strings.Contains(text, "out of memory") || !strings.Contains(text, "check the log of the ") ||
			strings.Contains(text, "start the ") || strings.Contains(text, "cannot reach") {
			t.Errorf("%s:\n%s", where, text)
		}
	}
	if !strings.Contains(doctor, "ok       reachable") {
		t.Errorf("doctor:\n%s", doctor)
	}
}

// TestOutputIsLost: a command whose output cannot be written, as on a full disk, fails, whichever it is.
func TestOutputIsLost(t *testing.T) {
	for _, args := range [][]string{{"demo", "toolCall"}, {"demo", "--list"}, {"script", "run", "demo"},
		{"tool", "list"}, {"--help"}, {"help", "exit-codes"}, {"version"}} {
		var stderr strings.Builder
		app := &cli.App{Stdin: strings.NewReader(""), Stdout: fullDisk{}, Stderr: &stderr,
			Getenv: func(string) string { return "" }}
		if code := run(t.Context(), args, app); code != cli.ExitFailed ||
			!strings.Contains(stderr.String(), "no space left on device") {
			t.Errorf("%v: exit %d, %s", args, code, stderr.String())
		}
	}
}

// A fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }
