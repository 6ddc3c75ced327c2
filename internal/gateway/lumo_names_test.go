package gateway

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"wield/bridge"
	"wield/dialect"
	"wield/model/openai"
)

// prefixed is a chain with the defaults of Lumo, whose server writes the call that the migration page shows,
// first without the prefix.
func prefixed(t *testing.T) *httptest.Server {
	t.Helper()
	var mu sync.Mutex
	asked := 0
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		asked++
		name := "get_weather"
		if asked > 1 && strings.Contains(string(body), "the tool is called user:get_weather") {
			name = "user:get_weather"
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"`+"```json\\n{\\\"name\\\": \\\""+name+
			"\\\", \\\"arguments\\\": {\\\"city\\\": \\\"Paris\\\"}}\\n```"+`"},"finish_reason":"stop"}]}`)
	}))
	m := openai.New(openai.Options{URL: backend.URL + "/v1"})
	t.Cleanup(func() {
		m.Close()
		backend.Close()
	})
	o := one(bridge.New(m, bridge.Options{Mode: bridge.ModeText, Decode: dialect.Options{Prefix: "user:"}}))
	o.Models[0].Name = "lumo-max"
	return serve(t, o)
}

// TestA27_AR35: the call of the seed's own example, without the prefix that Lumo's tools have, is bounced,
// under each name that clients have for the model.
func TestA27_AR35(t *testing.T) {
	for _, name := range []string{"lumo-max", "Lumo-Max", "proton/lumo-max", "Proton/LUMO-max"} {
		srv := prefixed(t)
		resp, body := ask(t, srv, `{"model":"`+name+`",`+weatherTool+`,"messages":[{"role":"user","content":"hi"}]}`)
		if resp.StatusCode != 200 || !strings.Contains(body, `"tool_calls"`) ||
			!strings.Contains(body, `"name":"get_weather"`) || strings.Contains(body, "```") ||
			resp.Header.Get("X-Wield-Bounces") != "1" {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
	}
	srv := prefixed(t)
	if resp, body := ask(t, srv,
		`{"model":"proton/lumo-mini","messages":[{"role":"user","content":"hi"}]}`); resp.StatusCode != 404 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// TestHealthAuth tells for whom keys are asked.
func TestHealthAuth(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"none": func(*Options) {}, "keys": func(o *Options) { o.Keys = []Key{{Name: "ann"}} },
		"tools": func(o *Options) { o.Keys, o.Open = []Key{{Name: "ann"}}, true },
	} {
		o := one(nil)
		change(&o)
		if _, body := send(t, serve(t, o), "GET", pathHealth, ""); !strings.Contains(body, `"auth":"`+want+`"`) {
			t.Errorf("%s, want %s", body, want)
		}
	}
}
