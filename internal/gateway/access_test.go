package gateway

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wield/chat"
	"wield/internal/metrics"
)

func names(t *testing.T, body string) string {
	t.Helper()
	var list struct {
		Object string
		Data   []struct {
			ID, Object string
			Created    int64
			OwnedBy    string `json:"owned_by"`
		}
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil || list.Object != "list" {
		t.Fatalf("%v: %s", err, body)
	}
	var ids []string
	for _, m := range list.Data {
		ids = append(ids, m.ID)
		if m.Object != "model" || m.OwnedBy == "" {
			t.Errorf("entry %+v", m)
		}
	}
	return strings.Join(ids, " ")
}

// TestKeys: who may use what.
func TestKeys(t *testing.T) {
	models := []Model{
		{Name: "home", Model: says(text("a"))},
		{Name: "home/big", Model: says(text("b"))},
		{Name: "work", Model: says(text("c"))},
		{Name: "agent", Model: says(text("d")), NeedsKey: true},
	}
	keys := []Key{
		{Name: "all", Hash: HashKey("k-all")},
		{Name: "home", Hash: HashKey("k-home"), Models: []string{"home*"}},
		{Name: "admin", Hash: HashKey("k-admin"), Role: RoleAdmin},
		{Name: "approver", Hash: HashKey("k-approver"), Role: RoleApprover},
	}
	for _, tt := range []struct {
		name       string
		keys       []Key
		open       bool
		key, model string
		status     int
		list       string // the models that are listed
	}{
		{"no keys at all", nil, false, "", "work", 200, "home home/big work agent"},
		{"no keys, one sent", nil, false, "whatever", "work", 200, "home home/big work agent"},
		{"no keys, one needed", nil, false, "whatever", "agent", 401, "home home/big work agent"},
		{"none sent", keys, false, "", "work", 401, ""},
		{"wrong one", keys, false, "k-al", "work", 401, ""},
		{"right one", keys, false, "k-all", "agent", 200, "home home/big work agent"},
		{"pattern fits", keys, false, "k-home", "home", 200, "home home/big"},
		{"pattern fits a slash", keys, false, "k-home", "home/big", 200, "home home/big"},
		{"pattern does not fit", keys, false, "k-home", "work", 404, "home home/big"},
		{"admin", keys, false, "k-admin", "work", 200, "home home/big work agent"},
		{"approver", keys, false, "k-approver", "work", 403, ""},
		{"open, none sent", keys, true, "", "work", 200, "home home/big work agent"},
		{"open, wrong one", keys, true, "x", "work", 200, "home home/big work agent"},
		{"open, one needed", keys, true, "", "agent", 401, "home home/big work agent"},
		{"open, needed and sent", keys, true, "k-all", "agent", 200, "home home/big work agent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := serve(t, Options{Models: models, Keys: tt.keys, Open: tt.open})
			body := `{"model":"` + tt.model + `","messages":[{"role":"user","content":"hi"}]}`
			for _, header := range [][]string{{"Authorization", "Bearer " + tt.key},
				{"Authorization", "bearer " + tt.key}, {"X-Api-Key", tt.key}, {"X-Goog-Api-Key", tt.key},
				{"Authorization", tt.key}} {
				if resp, got := ask(t, srv, body, header...); resp.StatusCode != tt.status {
					t.Errorf("%v: status %d, want %d: %s", header, resp.StatusCode, tt.status, got)
				} else if strings.Contains(got, "work") && tt.key == "k-home" && tt.model != "work" {
					t.Error("told of a model that the key may not see")
				} else if tt.status == 401 && !strings.Contains(got, "wield config key makes one") {
					t.Errorf("the answer does not say where a key is found: %s", got)
				}
			}
			resp, got := send(t, srv, "GET", pathModels, "", "Authorization", "Bearer "+tt.key)
			if tt.list == "" {
				if resp.StatusCode < 400 {
					t.Errorf("list: status %d", resp.StatusCode)
				}
			} else if n := names(t, got); n != tt.list {
				t.Errorf("list: %s, want %s", n, tt.list)
			}
			if resp, _ := send(t, srv, "GET", pathHealth, ""); resp.StatusCode != 200 {
				t.Errorf("health needs a key: status %d", resp.StatusCode)
			}
		})
	}
}

// TestRoles asks at every URL with a key of each role: those of clients and admins use models, the others do not, and
// what others have said is for admins alone.
func TestRoles(t *testing.T) {
	keys := map[Role]string{RoleClient: "k-client", RoleApprover: "k-approver", RoleAdmin: "k-admin",
		RoleWorker: "k-worker"}
	o := Options{Models: []Model{{Name: "home", Model: says(text("a"))}}}
	for role, secret := range keys {
		o.Keys = append(o.Keys, Key{Name: string(role), Hash: HashKey(secret), Role: role})
	}
	srv := serve(t, o)
	everybody := []Role{RoleClient, RoleApprover, RoleAdmin, RoleWorker}
	may := map[string][]Role{
		pathHealth: everybody, pathMetrics: everybody, "/api/version": everybody, // they tell nobody's words
		"/api/pull": everybody, "/api/push": everybody, "/api/create": everybody, "/api/copy": everybody, // 501 for all
		"/api/delete": everybody,
		pathCaptures:  {RoleAdmin}, pathCaptures + "/*": {RoleAdmin},
	}
	all := slices.Concat(slices.Collect(maps.Values(endpoints.exact))...)
	for _, p := range endpoints.patterns {
		all = append(all, p.endpoints...)
	}
	for _, e := range all {
		allowed, special := may[e.path]
		if !special {
			allowed = []Role{RoleClient, RoleAdmin}
		}
		body := ""
		if e.method == http.MethodPost {
			body = `{}`
		}
		for role, secret := range keys {
			resp, got := send(t, srv, e.method, strings.ReplaceAll(e.path, "*", "x"), body, "Authorization",
				"Bearer "+secret)
			if refused := resp.StatusCode == http.StatusForbidden; refused == slices.Contains(allowed, role) {
				t.Errorf("%s %s with a key of the role %s: %d %s", e.method, e.path, role, resp.StatusCode, got)
			}
		}
		delete(may, e.path)
	}
	if len(may) > 0 {
		t.Errorf("there is no URL of %v", may)
	}
}

// TestLimits: a key's limits, and that places are given back.
func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHolders([]Key{{RPM: 2, Concurrent: 2}}, time.Now())[0]
		want := func(limit string, wait time.Duration) {
			t.Helper()
			if l, w := h.start(time.Now()); l != limit || w.Round(time.Second) != wait {
				t.Errorf("limit %q, wait %v; want %q, %v", l, w, limit, wait)
			}
		}
		want("", 0)
		want("", 0)
		want("concurrent", time.Second)
		h.end()
		want("rpm", 30*time.Second)
		time.Sleep(10 * time.Second)
		want("rpm", 20*time.Second)
		time.Sleep(20 * time.Second)
		want("", 0)
		h.end()
		h.end()
		time.Sleep(time.Hour) // no more than a minute's worth is saved up
		want("", 0)
		h.end()
		want("", 0)
		h.end()
		want("rpm", 30*time.Second)
	})
}

// A hookedWriter is a client that does something as soon as it has seen a text.
type hookedWriter struct {
	*httptest.ResponseRecorder
	text string
	then func()
}

func (w *hookedWriter) Write(b []byte) (int, error) {
	n, err := w.ResponseRecorder.Write(b)
	if then := w.then; then != nil && strings.Contains(string(b), w.text) {
		w.then = nil
		then()
	}
	return n, err
}

// TestLimitGivenBack: who has seen the end of an answer may ask for the next one, whatever the service has left to do.
func TestLimitGivenBack(t *testing.T) {
	for body, end := range map[string]string{hello: "}", helloStream: "[DONE]"} {
		o := one(says(text(strings.Repeat("a", 64<<10))))
		o.Keys = []Key{{Name: "k", Hash: HashKey("k"), Concurrent: 1}}
		g, key := New(o), []string{"Authorization", "Bearer k"}
		next := 0
		w := &hookedWriter{httptest.NewRecorder(), end,
			func() { next, _ = direct(t.Context(), g, "POST", pathCompletions, body, key...) }}
		req := httptest.NewRequestWithContext(t.Context(), "POST", pathCompletions, strings.NewReader(body))
		req.Host = "localhost"
		req.Header.Set(key[0], key[1])
		g.ServeHTTP(w, req)
		if w.Code != 200 || next != 200 {
			t.Errorf("%s: %d, and then %d", body, w.Code, next)
		}
		if n := g.running.Load(); n != 0 {
			t.Errorf("%d are running", n)
		}
	}
}

// TestLimitAnswer: over the limit is 429, with the time to wait.
func TestLimitAnswer(t *testing.T) {
	o := one(says(text("a")))
	o.Keys = []Key{{Name: "k", Hash: HashKey("k"), RPM: 1, Concurrent: 1}}
	srv := serve(t, o)
	if resp, body := ask(t, srv, hello, "Authorization", "Bearer k"); resp.StatusCode != 200 {
		t.Fatalf("status %d: %s", resp.StatusCode, body)
	}
	resp, body := ask(t, srv, hello, "Authorization", "Bearer k")
	checkError(t, resp, body, 429, "", codeRate, "1 requests a minute")
	if r := resp.Header.Get("Retry-After"); r != "60" {
		t.Errorf("Retry-After %q", r)
	}
}

// TestOrigin: which hosts and origins are let in, on every URL.
func TestOrigin(t *testing.T) {
	o := one(says(text("a")))
	o.Hosts = []string{"wield.lan"}
	o.Origins = []string{"https://app.example"}
	srv := serve(t, o)
	for _, tt := range []struct {
		name   string
		header []string
		code   string // empty: let in
	}{
		{"address", []string{"Host", "127.0.0.1:8420"}, ""},
		{"IPv6 address", []string{"Host", "[::1]:8420"}, ""},
		{"IPv6 address without port", []string{"Host", "[::1]"}, ""},
		{"address of the network", []string{"Host", "192.168.1.7"}, ""},
		{"localhost", []string{"Host", "LocalHost:8420"}, ""},
		{"below localhost", []string{"Host", "wield.localhost"}, ""},
		{"listed name", []string{"Host", "Wield.LAN:8420"}, ""},
		{"other name", []string{"Host", "attacker.example:8420"}, "host_not_allowed"},
		{"name that begins well", []string{"Host", "localhost.attacker.example"}, "host_not_allowed"},
		{"address in a name", []string{"Host", "127.0.0.1.attacker.example"}, "host_not_allowed"},
		{"own page", []string{"Host", "localhost:8420", "Origin", "http://localhost:8420"}, ""},
		{"own name, other port", []string{"Host", "localhost:8420", "Origin", "http://localhost:3000"},
			"origin_not_allowed"},
		{"listed origin", []string{"Origin", "https://app.example"}, ""},
		{"other origin", []string{"Origin", "https://attacker.example"}, "origin_not_allowed"},
		{"no origin to speak of", []string{"Origin", "null"}, "origin_not_allowed"},
		{"both of a foreign name", []string{"Host", "attacker.example", "Origin", "http://attacker.example"},
			"host_not_allowed"},
		{"image of another site", []string{"Sec-Fetch-Site", "cross-site"}, "origin_not_allowed"},
		{"address bar", []string{"Sec-Fetch-Site", "none"}, ""},
		{"own page's fetch", []string{"Sec-Fetch-Site", "same-origin"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, u := range []struct{ method, path, body string }{
				{"POST", pathCompletions, hello}, {"GET", pathModels, ""}, {"GET", pathHealth, ""},
				{"GET", "/nothing", ""},
			} {
				resp, body := send(t, srv, u.method, u.path, u.body, tt.header...)
				if tt.code != "" {
					checkError(t, resp, body, 403, "", tt.code, "configuration")
				} else if resp.StatusCode == 403 {
					t.Errorf("%s: %s", u.path, body)
				}
			}
		})
	}
}

// TestPreflight: a browser is told what a listed origin may do, and nothing else is.
func TestPreflight(t *testing.T) {
	o := one(says(text("a")))
	o.Origins = []string{"https://app.example"}
	srv := serve(t, o)
	resp, _ := send(t, srv, "OPTIONS", pathCompletions, "", "Origin", "https://app.example",
		"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers",
		"authorization,content-type,x-stainless-os")
	h := resp.Header
	if resp.StatusCode != 204 || h.Get("Access-Control-Allow-Origin") != "https://app.example" ||
		h.Get("Access-Control-Allow-Methods") != "POST" ||
		h.Get("Access-Control-Allow-Headers") != "authorization,content-type,x-stainless-os" {
		t.Errorf("status %d, %v", resp.StatusCode, h)
	}
	if resp, _ := ask(t, srv, hello, "Origin",
		"https://app.example"); resp.Header.Get("Access-Control-Allow-Origin") != "https://app.example" ||
		resp.Header.Get("Vary") == "" {
		t.Errorf("answer: %v", resp.Header)
	}
	if resp, _ := ask(t, srv, hello); resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("without origin: %v", resp.Header)
	}
}

// TestA19ModelsInSeconds: created counts seconds.
func TestA19ModelsInSeconds(t *testing.T) {
	made := time.Unix(1700000000, 999)
	srv := serve(t, Options{Models: []Model{{Name: "a/b", Model: says(), Created: made}}})
	for _, path := range []string{pathModels, pathModels + "/a/b"} {
		if _, body := send(t, srv, "GET", path, ""); !strings.Contains(body, `"created":1700000000,`) ||
			!strings.Contains(body, `"id":"a/b"`) {
			t.Errorf("%s: %s", path, body)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"*", "", true}, {"*", "a/b", true}, {"home*", "home", true}, {"home*", "homer", true}, {"home*", "hom", false},
		{"*coder*", "qwen2.5-coder:14b", true}, {"a?c", "abc", true}, {"a?c", "ac", false}, {"", "", true},
		{"", "a", false}, {"a*b*c", "aXbXbYc", true}, {"a*b*c", "aXc", false}, {"[a]", "a", false},
		{"[a]", "[a]", true},
	} {
		if got := match(tt.pattern, tt.name); got != tt.want {
			t.Errorf("match(%q, %q) = %v", tt.pattern, tt.name, got)
		}
	}
}

// TestDrain: the server lets exchanges end, then cuts them off in their own form, and says so to whoever asks for its
// health.
func TestDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipeListener()
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		g := New(one(fake(func(ctx context.Context, req *chat.Request, emit func(chat.Event) bool) error {
			emit(text("begun"))
			emit(idle())
			wait := time.Hour
			if req.Messages[0].Text() == "short" {
				wait = 5 * time.Second
			}
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return ctx.Err()
			}
			emit(finish(chat.FinishStop))
			return nil
		})))
		go func() { served <- g.Serve(ctx, l, 10*time.Second) }()
		c := l.client()
		short := open(t, c, "http://localhost", strings.Replace(helloStream, "hello", "short", 1))
		long := open(t, c, "http://localhost", helloStream)
		whole := make(chan string)
		go func() {
			resp := open(t, c, "http://localhost", hello)
			body, _ := io.ReadAll(resp.Body)
			whole <- resp.Status + string(body)
		}()
		synctest.Wait()
		stop()
		start := time.Now()
		synctest.Wait()
		w := &countingWriter{header: make(http.Header)}
		r, err := http.NewRequest("GET", "http://localhost"+pathHealth, nil)
		if err != nil {
			t.Fatal(err)
		}
		g.ServeHTTP(w, r)
		if !strings.Contains(w.body.String(), `"draining"`) || !strings.Contains(w.body.String(), `"pending":3`) {
			t.Errorf("health: %s", w.body.String())
		}
		body, err := io.ReadAll(short.Body)
		if err != nil || !strings.HasSuffix(string(body), "data: [DONE]\n\n") || time.Since(start) > 6*time.Second {
			t.Errorf("short after %v: %q, %v", time.Since(start), body, err)
		}
		body, err = io.ReadAll(long.Body)
		if err != nil || strings.Contains(string(body), "[DONE]") || !strings.Contains(string(body), codeStopping) {
			t.Errorf("long: %q, %v", body, err)
		}
		if got := <-whole; !strings.HasPrefix(got, "503 ") || !strings.Contains(got, codeStopping) {
			t.Errorf("whole: %s", got)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		if d := time.Since(start).Round(time.Second); d != 10*time.Second {
			t.Errorf("served for %v more", d)
		}
		c.CloseIdleConnections()
	})
}

// TestEveryRouteIsChecked sends what a page of another site, and one whose name points here, would send, to every URL
// there is.
func TestEveryRouteIsChecked(t *testing.T) {
	o := one(says(text("hi")))
	o.Metrics = metrics.New("v")
	srv := serve(t, o)
	var all []endpoint
	for _, found := range endpoints.exact {
		all = append(all, found...)
	}
	for _, p := range endpoints.patterns {
		all = append(all, p.endpoints...)
	}
	for _, e := range all {
		path := strings.Replace(e.path, "*", "x", 1)
		for _, header := range [][]string{{"Host", "evil.example"}, {"Origin", "https://evil.example"},
			{"Sec-Fetch-Site", "cross-site"}} {
			if resp, body := send(t, srv, e.method, path, hello, header...); resp.StatusCode != 403 {
				t.Errorf("%s %s with %s: status %d %s", e.method, path, header, resp.StatusCode, body)
			}
		}
	}
}

// TestRest: memory is given back once after each time of work, and not while there is work.
func TestRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(one(says(text("a"), finish(chat.FinishStop))))
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		freed := 0
		go g.rest(ctx, func() { freed++ })
		ask := func() {
			w := httptest.NewRecorder()
			g.ServeHTTP(w, httptest.NewRequest("POST", "http://localhost"+pathCompletions, strings.NewReader(hello)))
			if w.Code != 200 {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
		}
		for _, step := range []struct {
			asks, want int
			wait       time.Duration
		}{
			{0, 0, time.Hour},         // there is nothing to give back
			{20, 0, time.Second},      // at work
			{1, 1, 2 * restAfter},     // at rest
			{0, 1, time.Hour},         // still
			{100, 1, 9 * time.Second}, // at work
			{1, 2, 2 * restAfter},
		} {
			for range max(step.asks, 1) {
				if step.asks > 0 {
					ask()
				}
				time.Sleep(step.wait)
			}
			synctest.Wait()
			if freed != step.want {
				t.Errorf("%+v: memory was given back %d times", step, freed)
			}
		}
	})
}
