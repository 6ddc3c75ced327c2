package api

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"slices"
	"strings"
	"testing"
	"time"

	"wield/journal"
	"wield/tool/openapi"
)

// broken is a journal whose disk is gone.
type broken struct {
	journal.Store
	err error
}

func (b broken) Read(context.Context, journal.Query) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) { yield(journal.Entry{}, b.err) }
}

func (b broken) Heads(context.Context, journal.HeadQuery) iter.Seq2[journal.Head, error] {
	return func(yield func(journal.Head, error) bool) { yield(journal.Head{}, b.err) }
}

// TestDocument brings about every status that the document has for every route, and holds each answer to its schema.
func TestDocument(t *testing.T) {
	s := newService(t)
	sample := map[string]string{"{run}": "run_a", "{session}": "ses_run_a", "{capture}": "req_1", "{turn}": "0",
		"{model}": "home", "{server}": "stock", "{tool}": "stock__count"}
	sample["{approval}"], _ = s.filled()
	path := func(r *route) string {
		p := r.path
		for name, value := range sample {
			p = strings.ReplaceAll(p, name, value)
		}
		return p
	}
	bodies := map[string]string{"decideApproval": `{"decision":"allow"}`, "renameSession": `{"title":"x"}`,
		"logIn": `{"key":"k-admin"}`, "parse": `{"text":"x"}`, "connectModel": `{"url":"http://127.0.0.1:9/v1"}`,
		"acceptMCPTool": `{"name":"x","hash":"x"}`}
	over := s.ask("run_a", `{"path":"late"}`, time.Now().Add(-time.Minute))
	s.inspectable()
	var settled []*route
	for i := range s.api.routes {
		if r := &s.api.routes[i]; !r.driven && !ofSettings(r) {
			s.common(r, path(r), bodies[r.name])
			settled = append(settled, r)
		}
	}
	for _, tt := range []struct {
		method, path, key, body string
		status                  int
	}{
		{"POST", "/approvals/" + sample["{approval}"], "k-admin", `{"decision":"allow"}`, 200},
		{"POST", "/approvals/" + sample["{approval}"], "k-admin", `{"decision":"allow"}`, 409},
		{"POST", "/approvals/" + over, "k-admin", `{"decision":"allow"}`, 410},
		{"POST", "/login", "", `{"key":"k-none"}`, 415},
		{"POST", "/login", "k-admin", `{"key":"k-none"}`, 401},
		{"POST", "/login", "k-admin", `{"key":"k-admin"}`, 200},
		{"GET", "/login?token=x", "", "", 401},
		{"POST", "/logout", "", "", 204},
		{"GET", "/openapi.json", "", "", 200},
		{"GET", "/runs/run_a/scenario", "k-client", "", 409},
		{"POST", "/parse", "k-client", `{"text":"x"}`, 200},
		{"GET", "/whoami", "k-approver", "", 200},
		{"GET", "/connect", "k-admin", "", 200},
		{"POST", "/connect", "k-admin", `{"url":"http://127.0.0.1:9/v1","keep":true}`, 200},
		{"POST", "/connect", "k-admin", `{"url":"http://127.0.0.1:9/v1"}`, 409},
		{"GET", "/connect", "k-admin", "", 409},
		{"POST", "/mcp/stock/accept", "k-admin", `{"name":"list","hash":"now"}`, 204},
		{"POST", "/mcp/stock/accept", "k-admin", `{"name":"list","hash":"before"}`, 409},
		{"POST", "/mcp/other/accept", "k-admin", `{"name":"list","hash":"now"}`, 404},
		{"GET", "/tools/stock__count/app", "k-client", "", 200},
		{"GET", "/tools/other/app", "k-client", "", 404},
		{"GET", "/tools/stock__broken/app", "k-client", "", 503},
		{"PATCH", "/sessions/ses_run_a", "k-admin", `{"title":"x"}`, 200},
	} {
		if status, body := s.do(tt.method, tt.path, tt.key, tt.body); status != tt.status {
			t.Errorf("%s %s: %d %s, want %d", tt.method, tt.path, status, body, tt.status)
		}
	}
	for _, p := range []string{"/runs", "/runs/run_a", "/runs/run_a/records", "/approvals", "/approvals/" + over,
		"/sessions", "/sessions/ses_run_a", "/sessions/ses_run_a/transcript", "/sessions/ses_run_a/export",
		"/captures", "/captures/req_1", "/captures/req_1/timeline", "/inspect", "/runs/run_i/timeline",
		"/runs/run_i/scenario", "/runs/run_i/turns/0", "/tools", "/mcp", "/cluster", "/models", "/models/home/reach",
		"/stats", "/stats/overview", "/stats/export"} {
		if status, body := s.do("GET", p, "k-admin", ""); status != 200 {
			t.Errorf("%s: %d %s", p, status, body)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	for range s.follow(ctx, "/events?after=0", "k-admin", "") {
		break
	}
	cancel()
	lease, err := s.store.Claim(t.Context(), "run_b", "somebody", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	s.refused("DELETE", "/sessions/ses_run_b", "k-admin", "", 409)
	if err := s.store.Release(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	if status, _ := s.do("DELETE", "/sessions/ses_run_b", "k-admin", ""); status != 204 {
		t.Error(status)
	}
	s.origins()
	for _, o := range []struct {
		status int
		store  journal.Store
	}{{503, nil}, {503, broken{err: journal.ErrLocked}}, {500, broken{err: errors.New("the disk says boom")}}} {
		none := options(o.store)
		none.Captures, none.Cluster = nil, nil
		down := serve(t, none)
		down.seen = s.seen
		for i := range down.api.routes {
			if r := &down.api.routes[i]; r.stored && !r.driven {
				if f := down.refused(r.method, path(r), "k-admin", bodies[r.name], o.status); strings.Contains(
					f.Error.Message, "boom") {
					t.Errorf("%s tells of the inside: %s", r.name, f.Error.Message)
				}
			}
		}
		down.refused("GET", "/captures", "k-admin", "", 404)
		down.refused("GET", "/cluster", "k-admin", "", 404)
	}
	s.complete(settled)
	s.refused("GET", "/nothing", "k-admin", "", 404)
	s.refused("POST", "/runs/run_a/records", "k-admin", "", 405)
}

// complete reports what the document has of routes and was not answered.
func (s *service) complete(routes []*route) {
	s.t.Helper()
	for _, r := range routes {
		for status := range s.doc.Paths[r.path][strings.ToLower(r.method)].Responses {
			if !s.seen[r.name+" "+status] {
				s.t.Errorf("%s %s: nothing here was answered %s", r.method, r.path, status)
			}
		}
	}
}

// common brings about the statuses that routes have in common.
func (s *service) common(r *route, path, body string) {
	s.t.Helper()
	if r.in != nil && body == "" {
		s.t.Fatalf("the test has no body for %s", r.name)
	}
	if !r.open {
		s.refused(r.method, path, "", body, 401)
		s.refused(r.method, path, "k-wrong", body, 401)
	}
	for key, c := range keys {
		if !r.open && (c.Role == RoleWorker || !slices.Contains(r.may, c.Role)) {
			s.refused(r.method, path, key, body, 403)
		}
	}
	if len(r.query) > 0 || r.in != nil {
		s.refused(r.method, path+"?nonsense=1", "k-admin", body, 400)
	}
	for _, p := range r.query {
		if p.number || len(p.words) > 0 {
			s.refused(r.method, path+"?"+p.name+"=nonsense", "k-admin", body, 400)
		}
	}
	if r.in != nil {
		s.refused(r.method, path, "k-admin", `{"nonsense":1}`, 400)
		s.refused(r.method, path, "k-admin", `[]`, 400)
		s.refused(r.method, path, "k-admin", `{"x":"`+strings.Repeat("x", int(max(1<<20, r.most)))+`"}`, 413)
		s.media(r, path, body)
		s.slow(r, path)
	}
	if strings.Contains(r.path, "{") {
		s.refused(r.method, r.path, "k-admin", body, 404)
	}
}

// media sends a body with a cookie and no type of JSON.
func (s *service) media(r *route, path, body string) {
	s.t.Helper()
	req, _ := http.NewRequestWithContext(s.t.Context(), r.method, s.url+Prefix+path, strings.NewReader(body))
	req.AddCookie(&http.Cookie{Name: sessionCookie(req.Host),
		Value: s.api.logins.add(time.Now(), login{hash: sha256.Sum256([]byte("k-admin"))})})
	if status, text := s.send(http.DefaultClient, req); status != 415 {
		s.t.Errorf("%s: %d %s", path, status, text)
	}
}

// origins sends, with a cookie, what another page would.
func (s *service) origins() {
	s.t.Helper()
	for _, path := range []string{"/login", "/logout"} {
		req, _ := http.NewRequestWithContext(s.t.Context(), "POST", s.url+Prefix+path,
			strings.NewReader(`{"key":"k-admin"}`))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Sec-Fetch-Site", "cross-site")
		if status, text := s.send(http.DefaultClient, req); status != 403 {
			s.t.Errorf("%s: %d %s", path, status, text)
		}
	}
	jar, _ := cookiejar.New(nil)
	c := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	defer c.CloseIdleConnections()
	req, _ := http.NewRequestWithContext(s.t.Context(), "GET", s.url+Prefix+"/login?token="+s.api.Token(), nil)
	if status, text := s.send(c, req); status != 303 {
		s.t.Errorf("%d %s", status, text)
	}
}

// slow announces a body and never sends it.
func (s *service) slow(r *route, path string) {
	s.t.Helper()
	o := options(s.store)
	o.Hub = s.api.o.Hub
	o.BodyTimeout = 10 * time.Millisecond
	impatient := serve(s.t, o)
	conn, err := net.Dial("tcp", strings.TrimPrefix(impatient.url, "http://"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "%s %s%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k-admin\r\nContent-Length: 10\r\n\r\n{",
		r.method, Prefix, path)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 408 {
		s.t.Errorf("%s: %d %s", path, resp.StatusCode, body)
	}
	s.check(r.method, path, resp, body)
}

// TestReadDocument reads the document as one that tools are made of.
func TestReadDocument(t *testing.T) {
	s := newService(t)
	tools, err := openapi.Read(s.api.document,
		openapi.Options{Server: s.url + Prefix, Auth: map[string]openapi.Credential{"key": {Token: "k-admin"}},
			Methods: []string{"get", "post", "patch", "delete"}})
	if err != nil {
		t.Error(err)
	}
	names := map[string]bool{}
	for _, tt := range tools {
		names[strings.ReplaceAll(strings.ToLower(tt.Name()), "_", "")] = true
	}
	for i := range s.api.routes {
		if r := &s.api.routes[i]; !names[strings.ToLower(r.name)] {
			t.Errorf("no tool was made of %s: there are %v", r.name, slices.Sorted(maps.Keys(names)))
		}
	}
}

// TestAppFrames: an app is shown in a frame of wield's page alone, where the browser says what asks.
func TestAppFrames(t *testing.T) {
	s := newService(t)
	const refused, text = `{"error":`, "<!DOCTYPE html>"
	for _, tt := range []struct {
		dest, site, begin string
		status            int
	}{
		{"", "", text, 200}, {"iframe", "same-origin", text, 200},
		{"document", "none", refused, 403}, {"empty", "same-origin", refused, 403},
		{"frame", "same-origin", refused, 403}, {"iframe", "cross-site", refused, 403},
		{"iframe", "same-site", refused, 403}, {"iframe", "none", refused, 403},
		{"", "cross-site", refused, 403},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+Prefix+"/tools/stock__count/app", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer k-client")
		for name, value := range map[string]string{"Sec-Fetch-Dest": tt.dest, "Sec-Fetch-Site": tt.site} {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		if status, body := s.send(http.DefaultClient, req); status != tt.status ||
			!strings.HasPrefix(string(body), tt.begin) {
			t.Errorf("%q %q: %d %s", tt.dest, tt.site, status, body)
		}
	}
}
