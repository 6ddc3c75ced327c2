package api

import (
	"bytes"
	"crypto/sha256"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"wield/journal"
)

// TestOthers shows that what belongs to another key is answered as what does not exist, by every route.
func TestOthers(t *testing.T) {
	s := newService(t)
	_, others := s.filled()
	for _, tt := range []struct{ method, path, body, never string }{
		{"GET", "/runs/run_b", "", "/runs/run_none"},
		{"GET", "/runs/run_b/records", "", "/runs/run_none/records"},
		{"GET", "/sessions/ses_run_b", "", "/sessions/ses_none"},
		{"PATCH", "/sessions/ses_run_b", `{"title":"x"}`, "/sessions/ses_none"},
		{"DELETE", "/sessions/ses_run_b", "", "/sessions/ses_none"},
		{"GET", "/sessions/ses_run_b/transcript", "", "/sessions/ses_none/transcript"},
		{"GET", "/sessions/ses_run_b/export", "", "/sessions/ses_none/export"},
		{"GET", "/approvals/" + others, "", "/approvals/apr_none"},
	} {
		theirs := s.refused(tt.method, tt.path, "k-client", tt.body, 404)
		none := s.refused(tt.method, tt.never, "k-client", tt.body, 404)
		words := func(f *Failure) string {
			_, rest, _ := strings.Cut(f.Error.Message, `"`)
			return f.Error.Fix + rest[strings.LastIndex(rest, `"`):]
		}
		if theirs.Error.Kind != none.Error.Kind || words(theirs) != words(none) {
			t.Errorf("%s: what is another's (%+v) can be told from what is not there (%+v)", tt.path, theirs.Error,
				none.Error)
		}
	}
}

// TestLink shows what the token of a link is good for.
func TestLink(t *testing.T) {
	s := newService(t)
	id, others := s.filled()
	for _, tt := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/approvals/" + id + "?token=t-" + id, 200},
		{"GET", "/approvals/" + others + "?token=t-" + id, 401},
		{"GET", "/approvals/" + id + "?token=x", 401},
		{"GET", "/approvals?token=t-" + id, 401},
		{"GET", "/runs/run_a?token=t-" + id, 401},
		{"GET", "/whoami?token=t-" + id, 401},
	} {
		if status, body := s.do(tt.method, tt.path, "", ""); status != tt.status {
			t.Errorf("%s: %d %s, want %d", tt.path, status, body, tt.status)
		}
	}
	req, _ := http.NewRequestWithContext(t.Context(), "POST", s.url+Prefix+"/approvals/"+id+"?token=t-"+id,
		strings.NewReader(`{"decision":"deny"}`))
	req.Header.Set("Content-Type", "application/json")
	if status, body := s.send(http.DefaultClient, req); status != 200 || !bytes.Contains(body, []byte(`"by":"link"`)) {
		t.Errorf("%d %s", status, body)
	}
}

func TestLogin(t *testing.T) {
	s := newService(t)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	t.Cleanup(c.CloseIdleConnections)
	do := func(method, path, body string, headers ...string) (int, []byte) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.url+Prefix+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		return s.send(c, req)
	}
	const ct, isJSON = "Content-Type", "application/json"
	steps := []struct {
		method, path, body string
		headers            []string
		status             int
	}{
		{"GET", "/whoami", "", nil, 401},
		{"POST", "/login", `{"key":"k-wrong"}`, []string{ct, isJSON}, 401},
		{"POST", "/login", `{"key":"k-admin"}`, nil, 415},
		{"POST", "/login", `{"key":"k-admin"}`, []string{ct, isJSON, "Sec-Fetch-Site", "cross-site"}, 403},
		{"POST", "/login", `{"key":"k-admin"}`, []string{ct, isJSON}, 200},
		{"GET", "/whoami", "", nil, 200},
		{"PATCH", "/sessions/ses_x", `{"title":"a"}`, []string{ct, isJSON, "Sec-Fetch-Site", "same-site"}, 403},
		{"PATCH", "/sessions/ses_x", `{"title":"a"}`, []string{ct, isJSON, "Origin", "http://127.0.0.1:1"}, 403},
		{"PATCH", "/sessions/ses_x", `{"title":"a"}`, []string{ct, "text/plain", "Sec-Fetch-Site", "same-origin"}, 415},
		{"PATCH", "/sessions/ses_x", `{"title":"a"}`, []string{ct, isJSON, "Sec-Fetch-Site", "same-origin"}, 404},
		{"POST", "/logout", "", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"POST", "/logout", "", nil, 204},
		{"GET", "/whoami", "", nil, 401},
		{"GET", "/whoami", "", []string{"X-Goog-Api-Key", "k-admin"}, 200},
		{"GET", "/whoami", "", []string{"Authorization", "k-admin"}, 200},
		{"GET", "/whoami", "", []string{"Authorization", "Bearer k-wrong"}, 401},
		{"GET", "/login?token=" + s.api.Token(), "", nil, 303},
		{"GET", "/whoami", "", nil, 200},
		{"GET", "/whoami", "", []string{"Authorization", "Basic dTpw"}, 200}, // of a proxy, beside the cookie
	}
	for _, tt := range steps {
		if status, body := do(tt.method, tt.path, tt.body, tt.headers...); status != tt.status {
			t.Errorf("%s %s %v: %d %s, want %d", tt.method, tt.path, tt.headers, status, body, tt.status)
		}
	}
	token := s.api.Token()
	if status, _ := do("GET", "/login?token="+token, ""); status != 303 {
		t.Errorf("a token: %d", status)
	}
	if status, _ := do("GET", "/login?token="+token, ""); status != 401 {
		t.Errorf("a token that was used: %d", status)
	}
	resp, err := c.Post(s.url+Prefix+"/login", isJSON, strings.NewReader(`{"key":"k-client"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := resp.Header.Get("Set-Cookie"); !strings.Contains(got, "HttpOnly") ||
		!strings.Contains(got, "SameSite=Strict") {
		t.Errorf("the cookie is %q", got)
	}
}

// TestKeyTakenAway shows that a cookie is worth nothing without its key.
func TestKeyTakenAway(t *testing.T) {
	o := options(&journal.Memory{})
	there := true
	all := o.Holder
	o.Holder = func(hash [sha256.Size]byte) (Caller, bool) {
		if !there {
			return Caller{}, false
		}
		return all(hash)
	}
	s := serve(t, o)
	req := httptest.NewRequest("GET", Prefix+"/whoami", nil)
	req.AddCookie(&http.Cookie{Name: sessionCookie(req.Host),
		Value: s.api.logins.add(time.Now(), login{hash: sha256.Sum256([]byte("k-admin"))})})
	for _, want := range []int{200, 401} {
		w := httptest.NewRecorder()
		s.api.ServeHTTP(w, req)
		if w.Code != want {
			t.Errorf("%d %s, want %d", w.Code, w.Body, want)
		}
		there = false
	}
}

func TestLoginsAreBounded(t *testing.T) {
	var l logins
	now := time.Now()
	first := l.add(now, login{self: true})
	for i := range maxLogins {
		l.add(now.Add(time.Duration(i+1)*time.Second), login{self: true})
	}
	if len(l.byHash) > maxLogins {
		t.Errorf("%d logins", len(l.byHash))
	}
	if _, ok := l.find(now, first, true); ok {
		t.Error("the oldest login is still there")
	}
	last := l.add(now, login{self: true})
	if _, ok := l.find(now.Add(loginAge+time.Second), last, true); ok {
		t.Error("a login that nobody used lasts")
	}
}

// TestLoginClock: whoever uses a login keeps it, whichever way the clock is set, and one that nobody uses ends.
func TestLoginClock(t *testing.T) {
	begin := time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		jump time.Duration
		in   bool
	}{{-100 * 365 * 24 * time.Hour, true}, {-time.Hour, true}, {0, true}, {loginAge, true}, {loginAge + 1, false},
		{100 * 365 * 24 * time.Hour, false}} {
		var l logins
		cookie, token := l.add(begin, login{self: true}), l.token(begin)
		now := begin.Add(c.jump)
		if _, ok := l.find(now, cookie, true); ok != c.in {
			t.Errorf("%v: in: %t", c.jump, ok)
		}
		if _, ok := l.find(now.Add(loginAge+time.Second), cookie, true); ok {
			t.Errorf("%v: a login that nobody used lasts", c.jump)
		}
		if ok := l.redeem(now, token); ok != (c.jump <= tokenAge) || l.redeem(begin, token) {
			t.Errorf("%v: the token lets in: %t, or again", c.jump, ok)
		}
	}
}

// TestSessionCookie: two services on one machine, at two ports, do not replace each other's cookie.
func TestSessionCookie(t *testing.T) {
	for host, want := range map[string]string{"127.0.0.1:8420": "wield_session_8420", "[::1]:9": "wield_session_9",
		"wield.example.com": "wield_session"} {
		if got := sessionCookie(host); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
}
