package compose

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"wield/chat"
	"wield/internal/config"
	"wield/internal/gateway"
)

// TestKeyInErrors: a server that repeats the key that it got, in an error or in the middle of a stream, tells
// it to no client and no capture, whatever protocol they speak; nor does one that repeats the secret of
// another.
func TestKeyInErrors(t *testing.T) {
	const key, other = "plain words of mine", `another "secret"/+`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := json.Marshal(fmt.Sprintf("not with %s nor %s", strings.TrimPrefix(r.Header.Get("Authorization"),
			"Bearer "), other))
		if err != nil {
			t.Error(err)
		}
		if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), "begin") {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w,
				"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"one\"}}]}\n\ndata: {\"error\":{\"message\":%s}}\n\n", text)
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":%s,"code":%s}}`, text, text)
	}))
	defer server.Close()
	c, err := config.Parse("config.yaml", []byte(`wield: config/v1
backends:
  b: {kind: openai, url: "`+server.URL+`/v1", key: env:KEY, retry: {attempts: 1}}
  c: {kind: openai, url: "`+server.URL+`/v1", key: env:OTHER}
models: {m: {backend: b}}
`), config.Options{Getenv: env("KEY", key, "OTHER", other)})
	if err != nil {
		t.Fatal(err)
	}
	ring, err := Captures(c.Config, env("KEY", key, "OTHER", other))
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(c.Config, Environment{Getenv: env("KEY", key, "OTHER", other), Capture: ring})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	g := gateway.New(s.Gateway)
	asked := 0
	ask := func(path string, body object) {
		asked++
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost"+path, strings.NewReader(string(text))))
		if answer := w.Body.String(); !strings.Contains(answer, "not with [masked] nor [masked]") ||
			strings.Contains(answer, "plain words") {
			t.Errorf("%s: status %d: %s", path, w.Code, answer)
		}
	}
	for _, f := range matrixFronts {
		for _, stream := range []bool{false, true} {
			for _, question := range []string{"hello", "begin"} {
				body := f.body(told{question: question})
				body["model"], body["stream"] = "m", stream
				ask(f.path, body)
			}
		}
	}
	ask("/v1/embeddings", object{"model": "m", "input": "hello"})
	records, err := json.Marshal(ring.All())
	if err != nil || len(ring.All()) != asked || strings.Contains(string(records), "plain words") ||
		strings.Contains(string(records), "another ") {
		t.Errorf("%d captures: %v: %.2000s", len(ring.All()), err, records)
	}
}

// TestEverySecretIsHidden: whatever field refers to a secret, Hide knows it, and the password in an address.
func TestEverySecretIsHidden(t *testing.T) {
	secrets := map[string]string{}
	var pairs []string
	ref := func(value string) string {
		name := fmt.Sprintf("S%d", len(secrets))
		secrets[name] = value
		pairs = append(pairs, name, value)
		return "env:" + name
	}
	text := fmt.Sprintf(`wield: config/v1
keys: [{name: a, secret: %s}]
backends: {b: {kind: openai, url: "http://127.0.0.1:1/v1", key: %s, headers: {X-Key: %s}}}
models: {m: {backend: b}}
journal: {store: postgres, url: %s}
trace: {endpoint: "http://127.0.0.1:1/v1/traces", headers: {Authorization: %s}}
webhooks: [{url: "http://127.0.0.1:1/", secret: %s}]
modules: {r: {kind: redact, words: ["%s"]}, x: {kind: exec, command: [cat], hooks: [on_message], settings: {token: %s}}}
mcp: {servers: {s: {url: "http://127.0.0.1:1/", token: %s, headers: {X-Token: %s}}, p: {command: [cat], env: {A_TOKEN: %s}}}}
tools:
  search: {key: %s}
  databases: {d: {url: %s}}
  http: {h: {description: d, url: "http://127.0.0.1:1/", basic: {user: %s, password: %s}}}
`, ref("key of a client"), ref("key of a backend"), ref("in a header"), ref("postgres://u:word-of-store@127.0.0.1/x"),
		ref("of the collector"), ref("that signs webhooks"), ref("a redacted word"), ref("of a program"),
		ref("of a server"), ref("in its header"), ref("in its environment"),
		ref("of the search"), ref("postgres://u:word-of-base@127.0.0.1/x"), ref("name of a user"),
		ref("word of a user"))
	c, err := config.Parse("config.yaml", []byte(text), config.Options{Getenv: env(pairs...)})
	if err != nil {
		t.Fatal(err)
	}
	hide := c.Hide(env(pairs...))
	for _, secret := range append(slices.Collect(maps.Values(secrets)), "word-of-store", "word-of-base") {
		if got := hide("it is " + secret + "!"); got != "it is [masked]!" {
			t.Errorf("%q is shown: %s", secret, got)
		}
	}
}

// TestKeyInAnswer: a server that says the key that it got as the model's words tells it to no client, however it cuts
// it.
func TestKeyInAnswer(t *testing.T) {
	const key = "a-key-of-twenty-bytes-1"
	text := "before " + key + " and " + key[:9] + ", " + key + key[:5]
	want := strings.ReplaceAll(text, key, strings.Repeat("*", len(key)))
	for size := 1; size <= len(text); size++ {
		var events []chat.Event
		for at := 0; at < len(text); at += size {
			end := min(at+size, len(text))
			events = append(events, chat.Event{Kind: chat.KindText, Text: text[at:end], At: at, End: end},
				chat.Event{Kind: chat.KindIdle})
		}
		events = append(events, chat.Event{Kind: chat.KindCallStart, At: len(text), End: len(text)})
		var said strings.Builder
		at := 0
		for e, err := range (hidden{next: replayed(events), hide: func(s string) string { return s },
			own: []string{key}}).Stream(t.Context(), nil) {
			if e.Kind == chat.KindIdle {
				continue
			}
			if err != nil || e.At != at || e.Kind == chat.KindText && e.End-e.At != len(e.Text) {
				t.Fatalf("%d: %+v stands at %d: %v", size, e, at, err)
			}
			said.WriteString(e.Text)
			at = e.End
		}
		if said.String() != want {
			t.Fatalf("%d: %q", size, said.String())
		}
	}
	for range (hidden{next: replayed{{Kind: chat.KindText, Text: "x" + key[:3]}}, own: []string{key}}).Stream(
		t.Context(), nil) {
		break // nothing is passed on to one who has left
	}
	headers := http.Header{"Authorization": {"Bearer " + key}, "Referer": {"https://example.com/application"}}
	const other = "Bearer of-a-header-with-any-name"
	if got := ownKeys([]string{"ollama", other}, headers); !slices.Equal(got, []string{other[7:], key}) {
		t.Errorf("%q", got)
	}
}

// replayed is a model that says the same again.
type replayed []chat.Event

func (r replayed) Stream(context.Context, *chat.Request) iter.Seq2[chat.Event, error] {
	return func(yield func(chat.Event, error) bool) {
		for _, e := range r {
			if !yield(e, nil) {
				return
			}
		}
	}
}
