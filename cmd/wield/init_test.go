package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wield/internal/cli"
	"wield/internal/compose"
	"wield/internal/config"
	"wield/tool/policy"
)

// TestFirstPolicy: a first configuration with the policy for everyday work can be read, and has all of its rules.
func TestFirstPolicy(t *testing.T) {
	rules := func(text string) (list []string) {
		file := filepath.Join(t.TempDir(), "wield.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := config.Load(config.Options{File: file, Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		def, err := r.PolicyDefinition("default")
		if err != nil {
			t.Fatal(err)
		}
		for _, rule := range def.Rules {
			list = append(list, rule.String())
		}
		return list
	}
	if got, want := rules(firstText(nil, true)), rules(policy.Everyday()); !slices.Equal(got, want) {
		t.Errorf("%d rules, want the %d of the everyday policy", len(got), len(want))
	}
	if strings.Contains(firstText(nil, false), "policies:") {
		t.Error("the policy stands there unasked")
	}
}

// modelServer lists models and answers every question. With a key it answers nobody else.
func modelServer(t *testing.T, key string, models ...string) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case key != "" && r.Header.Get("Authorization") != "Bearer "+key:
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/v1/models":
			fmt.Fprintf(w, `{"data":[{"id":%q}`, models[0])
			for _, m := range models[1:] {
				fmt.Fprintf(w, `,{"id":%q}`, m)
			}
			fmt.Fprint(w, "]}")
		default:
			fmt.Fprint(w, `{"choices":[{"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/v1"
}

// TestInterview answers the three questions of wield init in the ways that people do.
func TestInterview(t *testing.T) {
	open, locked := modelServer(t, "", "qwen3:8b", "gemma3:4b"), modelServer(t, "s3cret", "big")
	both := []compose.Found{{Name: "ollama", URL: open, Models: []string{"gemma3:4b", "qwen3:8b"}},
		{Name: "vllm", URL: open, Models: []string{"llama"}}}
	for _, tt := range []struct {
		name    string
		found   []compose.Found
		answers string
		models  string // of the file; empty: no file
		key     string
		policy  bool
		says    string
	}{
		{"all", both, "\n\n\n", "gemma3:4b llama qwen3:8b", "", true, "Next:"},
		{"one of many", both, "2\n\n\n", "qwen3:8b", "", true, "model qwen3:8b\n  ok       reachable"},
		{"no such number", both, "7\nfirst\n1, 3\nn\ny\n", "gemma3:4b llama", "", false, "Type numbers from 1 to 3"},
		{"not written", both, "\n\nn\n", "", "", false, "Nothing was written."},
		{"input ends", both, "\n", "", "", false, "Nothing was written."},
		{"only one", both[1:], "\n\n\n", "llama", "", true, "Use this model?"},
		{"none found", nil, "\n\n\n", "demo", "", true, "Found no model server on this machine."},
		{"an address", nil, open + "/chat/completions\n1\n\n\n", "gemma3:4b", "", true, "Which models?"},
		{"a wrong address", nil, "http://127.0.0.1:9\n" + open + "\n2\n\n\n", "qwen3:8b", "", true,
			"Nothing listens at 127.0.0.1:9."},
		{"a key", nil, locked + "\nUNSET\nLLM_KEY\n\n\n", "big", "env:LLM_KEY", true, "The variable UNSET is not set"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			getenv := func(name string) string { return map[string]string{"LLM_KEY": "s3cret"}[name] }
			var out strings.Builder
			app := &cli.App{Stdin: strings.NewReader(tt.answers), Stdout: &out, Stderr: &out, Getenv: getenv}
			file := filepath.Join(t.TempDir(), "wield.yaml")
			if err := initialise(t.Context(), app, file, tt.found,
				firstOptions{ask: true, everyday: true}); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), tt.says) || strings.Contains(out.String(), "s3cret") {
				t.Errorf("it says\n%s", out.String())
			}
			r, err := config.Load(config.Options{File: file, Getenv: getenv})
			if tt.models == "" {
				if err == nil {
					t.Error("a file was written")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(r.ModelNames(), " "); got != tt.models {
				t.Errorf("models: %s, want %s", got, tt.models)
			}
			if _, ok := r.Policies["default"]; ok != tt.policy {
				t.Errorf("policy: %v", ok)
			}
			if got := fmt.Sprint(r.Backends["server"].Key); got != tt.key {
				t.Errorf("key: %q", got)
			}
		})
	}
}

// TestNobodyAtNullDevice: a program started without an input, as by cron or a container, is asked nothing.
func TestNobodyAtNullDevice(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if onTerminal(&cli.App{Stdin: null, Getenv: func(string) string { return "" }}) {
		t.Error("the null device is taken for a person")
	}
}
