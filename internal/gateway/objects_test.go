package gateway

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestManyObjects sends bodies of as many objects as are taken, and of more, to every front.
func TestManyObjects(t *testing.T) {
	srv := serve(t, one(says(text("a"))))
	for _, c := range []struct {
		path, body string
		status     int
	}{
		{pathCompletions, `{"model": "m", "messages": [` + items(40_000, `{"role":"user","content":"x"}`) + `]}`, 200},
		{pathCompletions, `{"model": "m", "messages": [` + items(50_001, `{"role":"user","content":"x"}`) + `]}`, 400},
		{pathCompletions, `{"model": "m", "messages": [{"role":"user","content":"` + strings.Repeat(`{\\\"{`, 60_000) +
			`"}]}`, 200},
		{pathCompletions, `{"model": "m", "messages": [{"role":"user","content":"x"}], "stop": [` +
			items(1001, `"s"`) + `]}`, 400},
		{pathMessages, `{"model": "m", "max_tokens": 9, "messages": [` +
			items(50_001, `{"role":"user","content":"x"}`) + `]}`, 400},
		{pathResponses, `{"model": "m", "input": [` + items(50_001, `{"role":"user","content":"x"}`) + `]}`, 400},
		{pathChat, `{"model": "m", "messages": [` + items(50_001, `{"role":"user","content":"x"}`) + `]}`, 400},
		{pathChat, `{"model": "m", "messages": [{"role":"user","content":"x"}], "options": {"stop": [` +
			items(1001, `"s"`) + `]}}`, 400},
		{pathChat, `{"model": "m", "messages": [{"role":"user","content":"x","images":[` + items(10_001, `"AAAA"`) +
			`]}]}`, 400},
	} {
		resp, err := http.Post(srv.URL+c.path, "application/json", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != c.status || c.status == 400 && !strings.Contains(string(answer), "more than") {
			t.Errorf("%s, %.60s: %d %.200s", c.path, c.body, resp.StatusCode, answer)
		}
	}
}

func items(n int, item string) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
