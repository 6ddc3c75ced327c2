package compose

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"wield/internal/testlevel"
)

// TestBodiesAreGivenBack sends many large requests, each with texts of its own. What is kept of them, for captures and
// in caches, must not keep the bodies: a short text that is a part of a long one would.
func TestBodiesAreGivenBack(t *testing.T) {
	testlevel.Long(t)
	server := httptest.NewServer(costService(t))
	defer server.Close()
	send := func(path, body string) {
		resp, err := http.Post(server.URL+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	}
	held := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	const rounds, size, most = 12, 3 << 20, 10 << 20
	chat := func(i int, text, more string) string {
		return fmt.Sprintf(`{"model":"text","messages":[{"role":"user","content":"n%d %s"}]%s}`, i, text, more)
	}
	for _, c := range []struct {
		name, path string
		body       func(i int, text string) string
	}{
		{"a message", "/v1/chat/completions", func(i int, text string) string { return chat(i, text, "") }},
		{"a schema", "/v1/chat/completions", func(i int, text string) string {
			return chat(i, "",
				fmt.Sprintf(
					`,"tools":[{"type":"function","function":{"name":"f%d","parameters":{"type":"object","title":"%s"}}}]`, i, text[:1<<20]))
		}},
		{"a format", "/v1/chat/completions", func(i int, text string) string {
			return chat(i, text,
				fmt.Sprintf(
					`,"response_format":{"type":"json_schema","json_schema":{"name":"f%d","schema":{"type":"object","required":["k%d"]}}}`, i, i))
		}},
		{"a tool beside a message", "/v1/chat/completions", func(i int, text string) string {
			return chat(i, text,
				fmt.Sprintf(
					`,"tools":[{"type":"function","function":{"name":"f%d","description":"d%d","parameters":{"type":"object","properties":{"p%d":{"type":"string"}}}}}]`, i, i, i))
		}},
		{"a description", "/v1/chat/completions", func(i int, text string) string {
			return chat(i, "",
				fmt.Sprintf(
					`,"tools":[{"type":"function","function":{"name":"f%d","description":"%s","parameters":{"type":"object"}}}]`, i, text))
		}},
		{"a stop sequence", "/v1/chat/completions",
			func(i int, text string) string { return chat(i, text, fmt.Sprintf(`,"stop":["s%d"]`, i)) }},
		{"a user", "/v1/chat/completions", func(i int, text string) string {
			return chat(i, text, fmt.Sprintf(`,"user":"u%d"`, i))
		}},
		{"an unknown model", "/v1/chat/completions", func(i int, text string) string {
			return fmt.Sprintf(`{"model":"m%d","messages":[{"role":"user","content":"%s"}]}`, i, text)
		}},
		{"a tool of Anthropic", "/v1/messages", func(i int, text string) string {
			return fmt.Sprintf(
				`{"model":"text","max_tokens":9,"messages":[{"role":"user","content":"%s"}],"tools":[{"name":"f%d","description":"d","input_schema":{"type":"object"}}]}`, text, i)
		}},
		{"a response", "/v1/responses", func(i int, text string) string {
			return fmt.Sprintf(
				`{"model":"text","store":false,"input":"%s","tools":[{"type":"function","name":"f%d","parameters":{"type":"object"}}]}`, text, i)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := held()
			for i := range rounds {
				send(c.path, c.body(i, strings.Repeat("abcdefgh", size/8)))
			}
			more := held() - before
			t.Logf("%d KiB", more>>10)
			if more > most {
				t.Errorf("%d requests of %d MiB leave %d KiB", rounds, size>>20, more>>10)
			}
		})
	}
}
