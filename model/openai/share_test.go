package openai

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"wield/chat"
	"wield/model/exchange"
)

// TestCredentials: a key counts for more than a name and a password in the address, and a header of the configuration
// most.
func TestCredentials(t *testing.T) {
	for _, c := range []struct {
		user, key string
		header    http.Header
		want      string
	}{
		{"", "", nil, ""},
		{"ann:secret@", "", nil, "Basic YW5uOnNlY3JldA=="},
		{"ann@", "", nil, "Basic YW5uOg=="},
		{"ann:secret@", "k", nil, "Bearer k"},
		{"ann:secret@", "k", http.Header{"authorization": {"Token t"}}, "Token t"},
	} {
		var got string
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got = r.Header.Get("Authorization")
			io.WriteString(w, hello+finish+done)
		}))
		defer s.Close()
		o := Options{URL: strings.Replace(s.URL, "//", "//"+c.user, 1), Key: c.key, Headers: c.header}
		asked := New(o)
		if _, err := play(t.Context(), asked, ask()); err != nil || got != c.want {
			t.Errorf("%q, key %q, %v: sent %q, %v", c.user, c.key, c.header, got, err)
		}
		asked.Close()
	}
}

// TestSideBySide runs many exchanges of one model at once, streamed and whole, each of which must get its own answer.
func TestSideBySide(t *testing.T) {
	m := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, rest, _ := strings.Cut(string(body), `"content":"`)
		said, _, _ := strings.Cut(rest, `"`)
		if strings.Contains(rest, `"stream":true`) {
			for _, c := range said {
				fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", string(c))
			}
			io.WriteString(w, finish+done)
			return
		}
		fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"content":%q},"finish_reason":"stop"}]}`, said)
	})
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			for i := range 20 {
				want := strings.Repeat(string(rune('a'+n)), 1+i*37)
				req := &chat.Request{Model: "m", Stream: i%2 == 0,
					Messages: []chat.Message{{Role: chat.RoleUser, Parts: chat.Text(want)}}}
				var texts []string
				for e, err := range m.Stream(context.Background(), req) {
					if err != nil {
						t.Error(err)
					}
					if e.Kind == chat.KindText {
						texts = append(texts, e.Text)
					}
				}
				if got := strings.Join(texts, ""); got != want {
					t.Errorf("asked for %.20q, got %.20q", want, got)
				}
			}
		})
	}
	all.Wait()
}

// A silent transport answers at once with the same body.
type silent string

func (s silent) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Body.Close()
	return &http.Response{StatusCode: http.StatusOK, Request: r, ContentLength: int64(len(s)),
		Body: io.NopCloser(strings.NewReader(string(s)))}, nil
}

// BenchmarkExchange measures an exchange without its transport.
func BenchmarkExchange(b *testing.B) {
	for name, body := range map[string]string{
		"whole": `{"choices":[{"index":0,"message":{"content":"` + strings.Repeat("lorem ipsum ", 58) +
			`"},"finish_reason":"stop"}]}`,
		"stream": strings.Repeat(hello, 50) + finish + done,
	} {
		b.Run(name, func(b *testing.B) {
			m := New(Options{URL: "http://localhost/v1", Connection: exchange.Connection{Transport: silent(body)}})
			req := ask()
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range m.Stream(b.Context(), req) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
