package compose

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/internal/api"
	"wield/internal/config"
)

// modelServer is a server with two models behind /v1 that wants a key.
func modelServer(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	authorised := func(w http.ResponseWriter, r *http.Request) bool {
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if key != "right" {
			w.WriteHeader(401)
			fmt.Fprintf(w, `{"error": {"message": "the key %s is wrong"}}`, key)
		}
		return key == "right"
	}
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, r *http.Request) {
		if authorised(w, r) {
			fmt.Fprint(w, `{"data": [{"id": "qwen3:8b"}, {"id": "gemma3:4b"}]}`)
		}
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Model string }
		switch {
		case !authorised(w, r):
		case json.NewDecoder(r.Body).Decode(&in) != nil || in.Model != "qwen3:8b" && in.Model != "gemma3:4b":
			w.WriteHeader(404)
			fmt.Fprintf(w, `{"error": {"message": "model not found"}}`)
		default:
			fmt.Fprint(w,
				`{"choices": [{"message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}]}`)
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

// TestTry types in what people type in, and reads what they are told.
func TestTry(t *testing.T) {
	server := modelServer(t)
	host := strings.TrimPrefix(server, "http://")
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "<html>")
	}))
	t.Cleanup(page.Close)
	for _, x := range []struct {
		name  string
		in    api.Connection
		field string // that is to be changed; empty: the model answers
		says  string // part of the problem, or the address where there is none
		fix   string
	}{
		{"right", api.Connection{URL: server + "/v1", Key: "right", Model: "qwen3:8b"}, "", server + "/v1", ""},
		{"a variable", api.Connection{URL: server + "/v1", Variable: "LLM_KEY", Model: "qwen3:8b"}, "", server + "/v1",
			""},
		{"no /v1", api.Connection{URL: server, Key: "right", Model: "qwen3:8b"}, "", server + "/v1", ""},
		{"no scheme", api.Connection{URL: " " + host + "/v1/ ", Key: "right", Model: "qwen3:8b"}, "", server + "/v1",
			""},
		{"an endpoint", api.Connection{URL: server + "/v1/chat/completions", Key: "right", Model: "qwen3:8b"}, "",
			server + "/v1", ""},
		{"nothing", api.Connection{}, "url", "missing", "such as http://"},
		{"no address", api.Connection{URL: "my server"}, "url", "not a valid base URL", "http://HOST:PORT/v1"},
		{"a password", api.Connection{URL: "http://me:hush@" + host}, "url", "not a valid base URL", "without user"},
		{"nobody", api.Connection{URL: "http://127.0.0.1:9/v1"}, "url", "Nothing listens at 127.0.0.1:9",
			"Start the server"},
		{"https", api.Connection{URL: "https://" + host + "/v1"}, "url", "speaks http, not https", ""},
		{"a page", api.Connection{URL: page.URL}, "url", "is not a model server", "ends in /v1"},
		{"no key", api.Connection{URL: server + "/v1"}, "key", "requires a key (status 401)", "Enter it"},
		{"a wrong key", api.Connection{URL: server, Key: "sk-hush"}, "key",
			"rejects the key (status 401). It says: the key *** is wrong", "complete"},
		{"two keys", api.Connection{URL: server, Key: "a", Variable: "B"}, "key", "Both a key and a variable", ""},
		{"half a key", api.Connection{URL: server, Key: "a\nb"}, "key", "no spaces", ""},
		{"no variable", api.Connection{URL: server, Variable: "NOT_SET"}, "variable", "NOT_SET is not set for wield",
			""},
		{"no name of one", api.Connection{URL: server, Variable: "$LLM_KEY"}, "variable", "not a variable name", ""},
		{"no model", api.Connection{URL: server, Key: "right"}, "model", "has 2 models", "Choose one"},
		{"an unknown model", api.Connection{URL: server, Key: "right", Model: "qwen3"}, "model", "has no model qwen3",
			`did you mean "qwen3:8b"?`},
	} {
		t.Run(x.name, func(t *testing.T) {
			got := Try(t.Context(), x.in, env("LLM_KEY", "right"))
			if x.field == "" {
				if !got.OK || got.URL != x.says || got.Problem != "" {
					t.Errorf("%+v", got)
				}
				return
			}
			if got.OK || got.Field != x.field || !strings.Contains(got.Problem, x.says) ||
				!strings.Contains(got.Fix, x.fix) {
				t.Errorf("%+v", got)
			}
			if strings.Contains(fmt.Sprint(got), "hush") && x.name != "a password" {
				t.Errorf("the key is told: %+v", got)
			}
		})
	}
}

// TestKeep writes what was tried, into a new file or behind what stands in one, and a key beside it.
func TestKeep(t *testing.T) {
	server := modelServer(t)
	c := api.Connection{URL: server + "/v1", Key: "right", Model: "qwen3:8b"}
	for name, x := range map[string]struct{ old, err string }{
		"none":     {"", ""},
		"of tools": {"wield: config/v1\ntimeouts: {idle: 9s} # mine", ""},
		"backends": {"wield: config/v1\nbackends: {mine: {url: http://127.0.0.1:1}}\n", "add this yourself"},
		"flow":     {"{wield: config/v1}\n", "add this yourself"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "deep", "config.yaml")
			if x.old != "" {
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(x.old), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := Keep(file, c, env())
			text, _ := os.ReadFile(file)
			if strings.Contains(string(text), "right") || !strings.HasPrefix(string(text), x.old) {
				t.Errorf("%s", text)
			}
			if x.err != "" {
				left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*.key"))
				if err == nil || !strings.Contains(err.Error(), x.err) || string(text) != x.old || len(left) > 0 {
					t.Errorf("%v %v\n%s", err, left, text)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			r, err := config.Load(config.Options{File: file, Getenv: env()})
			if err != nil {
				t.Fatal(err)
			}
			key, err := r.Backends[r.Models["qwen3:8b"].Backend].Key.Resolve(env())
			if err != nil || key != "right" {
				t.Errorf("%q %v", key, err)
			}
		})
	}
}
