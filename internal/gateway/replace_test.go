package gateway

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"wield/chat"
)

// TestReplace changes what is served while a stream is under way: the stream ends as it began, the next request gets
// what is new, and what a key has used up stays used up.
func TestReplace(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	old := fake(func(ctx context.Context, _ *chat.Request, emit func(chat.Event) bool) error {
		emit(text("old "))
		emit(idle())
		close(begun)
		<-goOn
		emit(text("model"))
		emit(finish(chat.FinishStop))
		return nil
	})
	o := one(old)
	o.Keys = []Key{{Name: "k", Hash: HashKey("s"), RPM: 2}}
	g := New(o)
	srv := serveHandler(t, g)

	req, err := http.NewRequestWithContext(t.Context(), "POST", srv.URL+pathCompletions, strings.NewReader(helloStream))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer s")
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	<-begun

	o = one(says(text("new model")))
	o.Keys = []Key{{Name: "k", Hash: HashKey("another"), RPM: 2}}
	g.Replace(o)
	if resp, body := ask(t, srv, hello, "Authorization", "Bearer s"); resp.StatusCode != 401 {
		t.Errorf("the old secret still opens: %d %s", resp.StatusCode, body)
	}
	if _, body := ask(t, srv, hello, "Authorization", "Bearer another"); !strings.Contains(body, "new model") {
		t.Errorf("the new model does not answer: %s", body)
	}
	if resp, _ := ask(t, srv, hello, "Authorization", "Bearer another"); resp.StatusCode != 429 {
		t.Errorf("status %d: the key has forgotten the requests before the change", resp.StatusCode)
	}
	if _, body := send(t, srv, "GET", pathHealth, ""); !strings.Contains(body, `"pending":1`) {
		t.Errorf("the stream under way is not counted any more: %s", body)
	}
	close(goOn)
	rest, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(rest), "model") || !strings.HasSuffix(string(rest), "data: [DONE]\n\n") {
		t.Errorf("the stream did not end as it began: %v\n%s", err, rest)
	}
}
