package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// A result that is kept is used again by the next program; one that is not, is not.
func TestRunKeepsResults(t *testing.T) {
	for _, tt := range []struct {
		name, tools string
		asked       int32
	}{
		{"kept", "results: {persist: true}, builtin: {search_internet: {enabled: true, cache: 1h}}", 1},
		{"in memory", "builtin: {search_internet: {enabled: true, cache: 1h}}", 2},
		{"no cache", "results: {persist: true}, builtin: {search_internet: {enabled: true}}", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := workspace(t)
			t.Chdir(dir)
			var asked atomic.Int32
			engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				json.NewEncoder(w).Encode(
					map[string]any{
						"results": []map[string]string{{"title": "T", "content": "C", "url": "https://example.com/"}}})
			}))
			defer engine.Close()
			server := &upstreamServer{answer: func(m []upstreamMessage) upstreamAnswer {
				if m[len(m)-1].Role == "user" {
					return upstreamAnswer{call: "search_internet", args: `{"query":"lisbon"}`}
				}
				return upstreamAnswer{text: m[len(m)-1].Content}
			}}
			text := "wield: config/v1\nbackends: {b: {kind: openai, url: \"" + server.start(t) +
				"\"}}\nmodels: {m: {backend: b, mode: native}}\n" + "tools: {search: {engine: searxng, url: \"" +
				engine.URL + "\"}, " + tt.tools + "}\n"
			file := filepath.Join(dir, "wield.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				code, out, log := runWield(t, dir, "", "run", "--config", file, "--allow", "search_internet",
					"Search for lisbon.")
				if code != 0 || !strings.Contains(out, "https://example.com/") {
					t.Fatalf("exit %d: %s%s", code, out, log)
				}
			}
			if n := asked.Load(); n != tt.asked {
				t.Errorf("the engine was asked %d times", n)
			}
		})
	}
}

// A later run finds what an earlier one was about.
func TestRunFindsConversations(t *testing.T) {
	dir := workspace(t)
	t.Chdir(dir)
	server := &upstreamServer{answer: func(m []upstreamMessage) upstreamAnswer {
		last := m[len(m)-1]
		switch {
		case last.Role == "user" && strings.Contains(last.Content, "before"):
			return upstreamAnswer{call: "conversation_search", args: `{"query":"drawer"}`}
		case last.Role == "user":
			return upstreamAnswer{text: "The invoice is in the drawer."}
		}
		return upstreamAnswer{text: last.Content}
	}}
	args := []string{"run", "--upstream", server.start(t), "--model", "m", "--mode", "native", "--tools",
		"conversation_search,conversation_read"}
	if code, out, log := runWield(t, dir, "", append(args, "Where is the invoice?")...); code != 0 {
		t.Fatalf("exit %d: %s%s", code, out, log)
	}
	code, out, log := runWield(t, dir, "", append(args, "What did you say before?")...)
	if code != 0 || !strings.Contains(out, "The invoice is in the drawer.") || !strings.Contains(out, "ses_") {
		t.Errorf("exit %d: %s%s", code, out, log)
	}
}
