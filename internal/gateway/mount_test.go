package gateway

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestMount: who gets to what other packages answer.
func TestMount(t *testing.T) {
	shows := func(name string) func(http.ResponseWriter, *http.Request, Caller) {
		return func(w http.ResponseWriter, r *http.Request, by Caller) {
			io.WriteString(w, name+" "+by.Name+"/"+string(by.Role))
		}
	}
	o := one(says(text("a")))
	o.Keys = []Key{
		{Name: "c", Hash: HashKey("k-c")},
		{Name: "p", Hash: HashKey("k-p"), Role: RoleApprover},
		{Name: "a", Hash: HashKey("k-a"), Role: RoleAdmin},
	}
	o.Origins = []string{"https://app.example"}
	o.Mounts = []Mount{
		{Prefix: "/", Linked: true, Serve: shows("page")},
		{Prefix: "/api/v1/", Roles: []Role{RoleApprover, RoleAdmin}, Serve: shows("api")},
		{Prefix: "/api/v1/open", Serve: shows("open")},
	}
	followed := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
	srv := serve(t, o)
	for _, tt := range []struct {
		method, path, key string
		header            []string
		status            int
		body              string
	}{
		{method: "GET", path: "/", status: 200, body: "page /"},
		{method: "GET", path: "/", key: "k-c", status: 200, body: "page c/client"},
		{method: "GET", path: "/", key: "wrong", status: 200, body: "page /"},
		{method: "GET", path: "/", header: []string{"Host", "evil.example"}, status: 403},
		{method: "GET", path: "/", header: followed, status: 200, body: "page /"},
		{method: "POST", path: "/", header: followed, status: 403},
		{method: "GET", path: "/", header: []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors",
			"Sec-Fetch-Dest", "script"}, status: 403},
		{method: "GET", path: "/", header: []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate",
			"Sec-Fetch-Dest", "iframe"}, status: 403},
		{method: "GET", path: "/api/v1/open", header: followed, status: 403},
		{method: "GET", path: "/health", header: followed, status: 403},
		{method: "GET", path: "/v1/chat/complet", status: 404}, // the root is no prefix
		{method: "POST", path: "/api/v1/runs", key: "k-a", header: []string{"Origin", "https://evil.example"},
			status: 403},
		{method: "OPTIONS", path: "/api/v1/runs", header: []string{"Origin", "https://app.example"}, status: 204},
		{method: "GET", path: "/api/v1/runs", status: 401},
		{method: "GET", path: "/api/v1/runs", key: "wrong", status: 401},
		{method: "GET", path: "/api/v1/runs", key: "k-c", status: 403},
		{method: "DELETE", path: "/api/v1/runs", key: "k-p", status: 200, body: "api p/approver"},
		{method: "GET", path: "/api/v1/runs", key: "k-a", status: 200, body: "api a/admin"},
		{method: "GET", path: "/api/v1/open", status: 200, body: "open /"},
		{method: "GET", path: "/api/v1/open/not", status: 401},
		{method: "GET", path: "/health", status: 200}, // the gateway's own
		{method: "PUT", path: "/health", status: 405},
	} {
		if tt.key != "" {
			tt.header = append(tt.header, "Authorization", "Bearer "+tt.key)
		}
		resp, body := send(t, srv, tt.method, tt.path, "", tt.header...)
		if resp.StatusCode != tt.status || tt.body != "" && body != tt.body {
			t.Errorf("%s %s with key %q: %d %s", tt.method, tt.path, tt.key, resp.StatusCode, body)
		}
	}
}

// Who was let in for longer than a request is known as long as their key is in force.
func TestWho(t *testing.T) {
	o := one(says())
	o.Keys = []Key{{Name: "c", Hash: HashKey("k-c")}}
	g := New(o)
	c, ok := g.Who("k-c")
	if !ok || c.Name != "c" || c.Role != RoleClient || !g.Known(c) {
		t.Errorf("the key's holder is %+v, %t", c, ok)
	}
	if _, ok := g.Who(""); ok {
		t.Error("no key is somebody's")
	}
	o.Keys = nil
	g.Replace(o)
	if _, ok := g.Who("k-c"); ok || g.Known(c) {
		t.Error("a key that was taken away still lets in")
	}
}

// A mounted answer that streams does so, and is told when the service ends.
func TestMountStreams(t *testing.T) {
	o := one(says())
	var g *Gateway
	o.Mounts = []Mount{{Prefix: "/tail", Serve: func(w http.ResponseWriter, r *http.Request, _ Caller) {
		io.WriteString(w, "first\n")
		http.NewResponseController(w).Flush()
		<-g.Stopping()
		io.WriteString(w, "last\n")
	}}}
	g = New(o)
	srv := httptest.NewUnstartedServer(nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- g.Serve(ctx, srv.Listener, time.Minute) }()
	resp, err := http.Get("http://" + srv.Listener.Addr().String() + "/tail")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	first := make([]byte, 6)
	if _, err := io.ReadFull(resp.Body, first); err != nil || string(first) != "first\n" {
		t.Errorf("%q, %v", first, err)
	}
	cancel()
	rest, err := io.ReadAll(resp.Body)
	if string(rest) != "last\n" || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
}

// TestWholeBodies: a mount that wants bodies whole never sees one that is too long, holds too many objects or breaks
// off.
func TestWholeBodies(t *testing.T) {
	o := one(says(text("a")))
	o.MaxBody = 1 << 20
	o.Mounts = []Mount{{Prefix: "/in", Whole: true, Serve: func(w http.ResponseWriter, r *http.Request, _ Caller) {
		n, err := io.Copy(w, r.Body)
		if err != nil || n == 0 && r.Method == http.MethodPost {
			t.Errorf("%d bytes, %v", n, err)
		}
	}}}
	srv := serve(t, o)
	for body, want := range map[string]int{
		"[" + items(40_000, "{}") + "]":               200,
		"[" + items(50_001, "{}") + "]":               400,
		"[" + items(200_001, "1") + "]":               400,
		`"` + strings.Repeat("a,[{", 90_000) + `"`:    200,
		`"` + strings.Repeat("a", 1<<20) + `"`:        413,
		`{"jsonrpc":"2.0","method":"ping","id":"{{"}`: 200,
	} {
		resp, err := http.Post(srv.URL+"/in", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != want || want == 200 && string(answer) != body {
			t.Errorf("%.40s: status %d, %.80s", body, resp.StatusCode, answer)
		}
	}
	if resp, err := http.Get(srv.URL + "/in"); err != nil || resp.StatusCode != 200 {
		t.Errorf("without a body: %v, %v", resp, err)
	}
}

// TestMountCounted: requests of one method count within the limits of a key, others do not.
func TestMountCounted(t *testing.T) {
	m := Mount{Prefix: "/rpc", Roles: []Role{RoleClient}, Whole: true, Counted: "tools/call",
		Serve: func(w http.ResponseWriter, r *http.Request, _ Caller) { io.Copy(w, r.Body) }}
	srv := serve(t, Options{Mounts: []Mount{m}, Keys: []Key{{Name: "a", Hash: HashKey("secret-of-a"), RPM: 2}}})
	for _, tt := range []struct {
		body   string
		status int
	}{
		{`{"method":"tools/call","params":{"arguments":{"a":"` + strings.Repeat("x", 70_000) + `"}}}`, 200},
		{`{"method":"tools/list"}`, 200}, {`{"method":"tools/call","params":{}}`, 200},
		{`{"method":"tools/call"}`, 429}, {`{"method":"tools/list"}`, 200}, {`[`, 200},
		{`{"method":"` + strings.Repeat("x", 200) + `"}`, 400},
		{`{"method":"tools/call","params":{"arguments":{},"name":"` + strings.Repeat("x", 70_000) + `"}}`, 400},
		{`{"method":"tools/call","params":["` + strings.Repeat("x", 70_000) + `"]}`, 400},
		{`{"method":"prompts/get","params":{"arguments":{"a":"` + strings.Repeat("x", 70_000) + `"}}}`, 400},
		{`{"method":"tools/call","params":{"arguments":{"a":"` + strings.Repeat("x", 70_000) + `"}}}`, 429},
	} {
		resp, got := send(t, srv, "POST", "/rpc", tt.body, "Authorization", "Bearer secret-of-a")
		if resp.StatusCode != tt.status || tt.status == 200 && got != tt.body {
			t.Errorf("%.200s: %d %.200s", tt.body, resp.StatusCode, got)
		}
	}
}
