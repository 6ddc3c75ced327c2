package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/tool"
	"wield/tool/runner"
)

// A protected service wants a token, which its own login server gives. Tokens are named by their number.
type protected struct {
	url     string
	logins  atomic.Int64
	renewed atomic.Int64
	valid   atomic.Value // the token that is good now
	issuer  string       // that the metadata of the service names; empty: itself
}

// protect starts a service behind a login.
func protect(t *testing.T) *protected {
	t.Helper()
	p := &protected{}
	p.valid.Store("")
	s := everything("")
	mcp := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s },
		&sdk.StreamableHTTPOptions{Stateless: true})
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "); token == "" ||
			token != p.valid.Load() {
			w.Header().Set("WWW-Authenticate",
				`Bearer resource_metadata="`+p.url+`/.well-known/oauth-protected-resource/mcp"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mcp.ServeHTTP(w, r)
	})
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		issuer := p.url
		if p.issuer != "" {
			issuer = p.issuer
		}
		answer(w, map[string]any{"resource": p.url + "/mcp", "authorization_servers": []string{issuer}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"issuer": p.url, "authorization_endpoint": p.url + "/authorize",
			"token_endpoint": p.url + "/token", "registration_endpoint": p.url + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
			"token_endpoint_auth_methods_supported": []string{"none"}})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var m map[string]any
		json.NewDecoder(r.Body).Decode(&m)
		m["client_id"], m["token_endpoint_auth_method"] = "client-1", "none"
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		json.NewEncoder(w).Encode(m)
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("code_challenge_method") != "S256" || q.Get("resource") != p.url+"/mcp" {
			http.Error(w, "no PKCE or no resource", http.StatusBadRequest)
			return
		}
		http.Redirect(w, r, q.Get("redirect_uri")+"?code=c&state="+url.QueryEscape(q.Get("state")), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		r.ParseForm()
		token := "token-" + time.Now().Format("150405.000000000")
		if r.Form.Get("grant_type") == "refresh_token" {
			p.renewed.Add(1)
		} else {
			p.logins.Add(1)
		}
		p.valid.Store(token)
		answer(w, map[string]any{"access_token": token, "token_type": "Bearer", "refresh_token": "again",
			"expires_in": 3600})
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	p.url = srv.URL
	return p
}

// TestLogin checks a login: without one nothing works and the error says what to do; afterwards it lasts in other
// processes, and a token that is over is renewed and kept.
func TestLogin(t *testing.T) {
	p := protect(t)
	file := filepath.Join(t.TempDir(), "tokens.json")
	connect := func(address string) (*Server, []*tool.Tool, []error) {
		s := New(Options{Name: "p", URL: address, OAuth: &OAuth{Tokens: &Tokens{File: file}}})
		t.Cleanup(func() { s.Close() })
		tools, problems := s.Tools(t.Context())
		return s, tools, problems
	}
	s, tools, problems := connect(p.url + "/mcp")
	if len(tools) > 0 || len(problems) != 1 || !errors.Is(problems[0], ErrLogin) ||
		!strings.Contains(problems[0].Error(), "wield mcp login p") {
		t.Fatalf("%d tools, problems %v", len(tools), problems)
	}
	if err := s.Login(t.Context(), "", "http://127.0.0.1:1/callback", visited); err != nil {
		t.Fatal(err)
	}
	if _, tools, problems = connect(p.url + "/mcp"); len(tools) == 0 || p.logins.Load() != 1 {
		t.Fatalf("%d tools after %d logins, problems %v", len(tools), p.logins.Load(), problems)
	}
	kept := (&Tokens{File: file}).Get("p", "")
	if kept == nil || kept.Issuer != p.url || kept.Resource != p.url+"/mcp" {
		t.Fatalf("kept %+v", kept)
	}
	kept.Expires = time.Now().Add(-time.Hour)
	if err := (&Tokens{File: file}).Put("p", "", kept); err != nil {
		t.Fatal(err)
	}
	if _, tools, problems = connect(p.url + "/mcp"); len(tools) == 0 || p.renewed.Load() != 1 {
		t.Errorf("%d tools, renewed %d times, problems %v", len(tools), p.renewed.Load(), problems)
	}
	if now := (&Tokens{File: file}).Get("p", ""); now.Access != p.valid.Load() {
		t.Errorf("kept %s, good is %v", now.Access, p.valid.Load())
	}
	// The same name at another address gets no token of the first one.
	other := protect(t)
	if _, tools, problems = connect(other.url + "/mcp"); len(tools) > 0 ||
		!errors.Is(errors.Join(problems...), ErrLogin) {
		t.Errorf("%d tools of another service, problems %v", len(tools), problems)
	}
}

// TestLoginAddress checks that a service on the open network cannot send the login to an address of this machine.
func TestLoginAddress(t *testing.T) {
	client, err := guarded("https://tickets.example.com/mcp")
	if err != nil {
		t.Fatal(err)
	}
	p := protect(t)
	for _, address := range []string{p.url + "/token", "http://169.254.169.254/latest/meta-data/",
		"http://localhost:1/", "http://[::1]:1/"} {
		if resp, err := client.Get(address); err == nil {
			resp.Body.Close()
			t.Errorf("%s was asked", address)
		} else if !strings.Contains(err.Error(), "refused") || strings.Contains(err.Error(), "connection refused") {
			t.Errorf("%s: %v", address, err)
		}
	}
	own, err := guarded(p.url + "/mcp")
	if err != nil {
		t.Fatal(err)
	}
	resp, err := own.Get(p.url + "/.well-known/oauth-authorization-server")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

// TestTokens checks that tokens are kept for their owner alone, by server and by who has logged in.
func TestTokens(t *testing.T) {
	k := &Tokens{File: filepath.Join(t.TempDir(), "sub", "tokens.json")}
	for who, access := range map[string]string{"": "all", "ada": "hers"} {
		if err := k.Put("s", who, &Token{Access: access}); err != nil {
			t.Fatal(err)
		}
	}
	again := &Tokens{File: k.File}
	if a, b, c, d := again.Get("s", ""), again.Get("s", "ada"), again.Get("s", "eve"),
		again.Get("t", ""); a.Access != "all" || b.Access != "hers" || c != nil || d != nil {
		t.Errorf("%v %v %v %v", a, b, c, d)
	}
	if info, err := os.Stat(k.File); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := again.Forget("s", "ada"); err != nil || k.Get("s", "ada") != nil || k.Get("s", "") == nil {
		t.Errorf("after it was forgotten: %v", err)
	}
}

// TestEach checks that with Each everyone on whose behalf calls run has a program of their own, which ends with the
// server.
func TestEach(t *testing.T) {
	s := New(Options{Name: "p", Command: program(t, "stdio"), Each: true})
	tools, problems := s.Tools(t.Context())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var reg runner.Registry
	if err := reg.Add(tools...); err != nil {
		t.Fatal(err)
	}
	call := func(who string) {
		t.Helper()
		r := runner.New(runner.Settings{Tools: &reg, Scope: tool.Scope{By: who}})
		result, err := r.Call(context.Background(), "p__echo", `{"text":"hello"}`)
		if err != nil || string(result.Append(nil, tool.StylePlain)) != "hello" {
			t.Fatalf("%s: %+v, %v", who, result, err)
		}
	}
	call("")
	call("ada")
	call("ada")
	call("eve")
	ada, eve := s.of("ada"), s.of("eve")
	if len(s.persons) != 2 || ada.live == nil || eve.live == nil || ada.live == eve.live || s.live == ada.live {
		t.Errorf("connections %v", s.persons)
	}
	done := []chan struct{}{s.live.done, ada.live.done, eve.live.done}
	s.Close()
	for _, d := range done {
		select {
		case <-d:
		case <-time.After(10 * time.Second):
			t.Fatal("a program goes on")
		}
	}
}
