package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// A held server takes requests and answers none before their clients leave.
type held struct {
	running, seen atomic.Int32
}

func (h *held) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") { // asked for the model's chat template
		http.NotFound(w, r)
		return
	}
	h.running.Add(1)
	defer h.running.Add(-1)
	io.Copy(io.Discard, r.Body)
	h.seen.Add(1)
	<-r.Context().Done()
}

// longHistory is a request of many messages, in which there is much to render.
func longHistory(stream bool) string {
	said := `{"role":"user","content":"a"},{"role":"assistant","content":"b"},`
	return fmt.Sprintf(`{"model":"m","stream":%v,"messages":[%s{"role":"user","content":"hi"}],"tools":[%s]}`, stream,
		strings.Repeat(said, 10_000), weatherTool)
}

// TestUnderLoad lets clients with long histories leave, and tells the service to end while others wait. Nothing goes
// on for those that left, nothing is left behind, and every other client gets an answer or sees the connection end.
func TestUnderLoad(t *testing.T) {
	back := new(held)
	upstream := httptest.NewServer(back)
	defer upstream.Close()
	defer upstream.CloseClientConnections() // where the test has failed
	file := filepath.Join(t.TempDir(), "wield.yaml")
	text := "wield: config/v1\ntimeouts: {drain: 100ms}\nbackends: {b: {kind: openai, url: \"" + upstream.URL +
		"/v1\", retry: {attempts: 1}}}\nmodels: {m: {backend: b, mode: text}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, nil, "--config", file)
	const leaving, staying = 3, 3 // a backend takes four at a time
	ctx, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	ask := func(ctx context.Context, i int) {
		all.Go(func() {
			req, err := http.NewRequestWithContext(ctx, "POST", s.base+"/v1/chat/completions",
				strings.NewReader(longHistory(i%2 == 0)))
			if err != nil {
				t.Error(err)
				return
			}
			resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
			if err != nil {
				return // it left, or was cut off
			}
			defer resp.Body.Close()
			if body, _ := io.ReadAll(resp.Body); resp.StatusCode < 500 && !strings.Contains(string(body), "error") {
				t.Errorf("status %d: %.200s", resp.StatusCode, body)
			}
		})
	}
	for i := range leaving {
		ask(ctx, i)
	}
	await(t, "the model is asked", func() bool { return back.seen.Load() == leaving })
	leave()
	await(t, "nothing goes on for those that left", func() bool { return back.running.Load() == 0 })
	for i := range staying {
		ask(t.Context(), i)
	}
	await(t, "the model is asked again", func() bool { return back.running.Load() == staying })
	for i := range 2 * staying { // these may wait for their turn, or be in the middle of being rendered
		ask(t.Context(), i)
	}
	s.stop()
	all.Wait()
	s.code <- <-s.code // it has ended
	await(t, "nothing is left", func() bool { return back.running.Load() == 0 })
}
