package policy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wield/chat"
)

// hosts is a policy that allows hosts.
func hosts(t testing.TB, allow ...string) *Policy {
	t.Helper()
	p, err := New(Definition{Default: chat.DecisionDeny,
		Rules: []Rule{{Decision: chat.DecisionAllow, Selector: Selector{Host: allow}}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestURLs(t *testing.T) {
	p := hosts(t, "*", "localhost:8080", "10.1.0.0/16", "internal.example:8443")
	for _, c := range []struct {
		url  string
		want chat.Decision
	}{
		{"https://example.com/a?b=c#d", "allow"},
		{"http://example.com:80/", "allow"},
		{"http://example.com./", "allow"},
		{"http://localhost:8080/v1", "allow"},
		{"http://10.1.2.3/", "allow"},
		{"https://internal.example:8443/", "allow"},
		{"http://localhost/", "deny"},
		{"http://localhost:8081/", "deny"},
		{"http://10.2.0.1/", "deny"},
		{"http://127.0.0.1/", "deny"},
		{"http://127.0.0.1:8080/", "deny"},
		{"http://127.1/", "deny"},
		{"http://2130706433/", "deny"},
		{"http://0x7f.1/", "deny"},
		{"http://0177.0.0.1/", "deny"},
		{"http://0.0.0.0/", "deny"},
		{"http://169.254.169.254/latest", "deny"},
		{"http://168.63.129.16/", "deny"},
		{"http://[::1]/", "deny"},
		{"http://[::]/", "deny"},
		{"http://[::ffff:127.0.0.1]/", "deny"},
		{"http://[::ffff:7f00:1]/", "deny"},
		{"http://[::127.0.0.1]/", "deny"},
		{"http://[64:ff9b::a00:1]/", "deny"},
		{"http://[2002:a00:1::]/", "deny"},
		{"http://[2001:0:1::1]/", "deny"},
		{"http://[fe80::1%25eth0]/", "deny"},
		{"http://[fc00::1]/", "deny"},
		{"http://[ff02::1]/", "deny"},
		{"http://[4000::1]/", "deny"},
		{"http://224.0.0.1/", "deny"},
		{"http://255.255.255.255/", "deny"},
		{"http://198.18.0.1/", "deny"},
		{"http://metadata.google.internal/", "deny"},
		{"http://a.localhost/", "deny"},
		{"http://LOCALHOST./", "deny"},
		{"http://printer.local/", "deny"},
		{"http://intranet/", "deny"},
		{"http://user@example.com/", "deny"},
		{"http://example.com@127.0.0.1/", "deny"},
		{`http://example.com\@127.0.0.1/`, "deny"},
		{"http://example.com /", "deny"},
		{"http://exa\tmple.com/", "deny"},
		{"http://exa\u200bmple.com/", "deny"},
		{"http://①②⑦.⓪.⓪.①/", "deny"},
		{"http://127。0。0。1/", "deny"},
		{"http://еxample.com/", "deny"},
		{"http://example.com:22/", "deny"},
		{"http://example.com:0/", "deny"},
		{"http://example.com:99999/", "deny"},
		{"file:///etc/passwd", "deny"},
		{"ftp://example.com/", "deny"},
		{"gopher://example.com/", "deny"},
		{"jar:http://x!/", "deny"},
		{"data:text/plain,x", "deny"},
		{"http:example.com", "deny"},
		{"//example.com/", "deny"},
		{"example.com", "deny"},
		{"http:///x", "deny"},
		{"", "deny"},
		{"HTTP://127.0.0.1/", "deny"},
		{"http://[::ffff:0:127.0.0.1]/", "deny"},
		{"http://[64:ff9b::7f00:1]/", "deny"},
		{"http://[64:ff9b:1::a00:1]/", "deny"},
		{"http://[2001:0:53aa:64c:0:0:f5ff:fffe]/", "deny"},
		{"http://017700000001/", "deny"},
		{"http://127.000.000.001/", "deny"},
		{"http://169.254.43518/", "deny"},
		{"http://0x7f.0x0.0x0.0x1/", "deny"},
		{"http://4294967297/", "deny"},
		{"http://x.127.0.0.1/", "deny"},
		{"http://127.0.0.1../", "deny"},
		{"http://127%2e0%2e0%2e1/", "deny"},
		{"http://localhost%00.example.com/", "deny"},
		{"http://localhost%2eexample.com/", "deny"},
		{"http://example.com%2f@127.0.0.1/", "deny"},
		{"http://[::1]:80@example.com/", "deny"},
		{"http://[::1].example.com/", "deny"},
		{"http://[127.0.0.1]/", "deny"},
		{"http://[v1.x]/", "deny"},
		{"http://example.com:65616/", "deny"},
		{"http://example.com:+80/", "deny"},
		{"http://example.com:８０/", "deny"},
		{"http:/127.0.0.1/", "deny"},
		{"http:////127.0.0.1/", "deny"},
		{"http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "deny"},
		{"http://loc\u00adalhost/", "deny"},
		{"http://LOCALHOST\u2024/", "deny"},
		{"http://localhost../", "deny"},
		{"http+unix://%2fvar%2frun%2fdocker.sock/x", "deny"},
		{"http://localhost6.localdomain6/", "deny"},
		{"http://kubernetes.default.svc/", "deny"},
		{"http://a.corp/", "deny"},
		{"http://a.home/", "deny"},
		{"http://a.private/", "deny"},
		{"http://example..com/", "deny"},
		{"http://x.onion/", "deny"},
	} {
		if v := p.Decide(Action{Tool: "fetch", URLs: []string{c.url}}); v.Decision != c.want {
			t.Errorf("%q: %s, want %s", c.url, v, c.want)
		}
	}
}

// A fixedResolver answers from a table; each look-up of a name takes the next of its answers, and the last one stays.
type fixedResolver struct {
	answers map[string][][]string
	asked   map[string]int
}

func (r *fixedResolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	sets := r.answers[host]
	if len(sets) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	n := min(r.asked[host], len(sets)-1)
	r.asked[host]++
	var addrs []netip.Addr
	for _, a := range sets[n] {
		addrs = append(addrs, netip.MustParseAddr(a))
	}
	return addrs, nil
}

const publicAddr = "93.184.216.34"

// outside is an egress whose public addresses are all those of a local server. It counts the connections.
func outside(t *testing.T, p *Policy, resolver *fixedResolver, handler http.Handler) (*Egress, *atomic.Int64) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	var dialled atomic.Int64
	resolver.asked = map[string]int{}
	return p.Egress("fetch",
		EgressOptions{Resolver: resolver, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			dialled.Add(1)
			var d net.Dialer
			return d.DialContext(ctx, network, server.Listener.Addr().String())
		}}), &dialled
}

// TestX_E28 goes to addresses of the own network in all the ways that an address can be reached: by name, by any of
// several answers, by a redirect. None of them makes a connection.
func TestX_E28(t *testing.T) {
	resolver := &fixedResolver{answers: map[string][][]string{
		"ok.example":     {{publicAddr}},
		"evil.example":   {{"127.0.0.1"}},
		"mixed.example":  {{publicAddr, "10.0.0.1"}},
		"six.example":    {{"::ffff:169.254.169.254"}},
		"rebind.example": {{publicAddr}, {"127.0.0.1"}},
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("/to/", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("u"), http.StatusFound)
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/loop", http.StatusFound)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("body")) })
	g, dialled := outside(t, hosts(t, "*"), resolver, mux)
	client := g.Client()
	defer client.CloseIdleConnections()
	get := func(url string) error {
		resp, err := client.Get(url)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	for _, url := range []string{
		"http://evil.example/", "http://mixed.example/", "http://six.example/", "http://127.0.0.1:8000/v1/models",
		"http://169.254.169.254/latest/meta-data/", "http://[::1]/", "http://0x7f000001/", "http://ok.example:6379/",
	} {
		before := dialled.Load()
		if err := get(url); !errors.Is(err, ErrEgress) {
			t.Errorf("%s: %v", url, err)
		}
		if n := dialled.Load() - before; n > 0 {
			t.Errorf("%s: %d connections", url, n)
		}
	}
	for _, to := range []string{"http://127.0.0.1/", "http://evil.example/", "file:///etc/passwd", "http://localhost/",
		"//169.254.169.254/", "http://ok.example:22/", "http://u:p@ok.example/"} {
		if err := get("http://ok.example/to/?u=" + to); !errors.Is(err, ErrEgress) {
			t.Errorf("redirect to %s: %v", to, err)
		}
	}
	if err := get("http://ok.example/loop"); !errors.Is(err, ErrEgress) ||
		!strings.Contains(err.Error(), "more than 5 redirects") {
		t.Errorf("a loop of redirects: %v", err)
	}
	if err := get("http://ok.example/to/?u=http://ok.example/fine"); err != nil {
		t.Errorf("a good redirect: %v", err)
	}
	// The answer changes between two requests. The connection of the first one is not used again for another answer.
	if err := get("http://rebind.example/"); err != nil {
		t.Errorf("before the answer changes: %v", err)
	}
	client.CloseIdleConnections()
	if err := get("http://rebind.example/"); !errors.Is(err, ErrEgress) {
		t.Errorf("after it changed: %v", err)
	}
}

// TestControl checks the address at the moment of the connection, whatever was looked up before.
func TestControl(t *testing.T) {
	g := hosts(t, "*", "10.1.0.0/16").Egress("fetch", EgressOptions{})
	for address, ok := range map[string]bool{
		publicAddr + ":443": true, "10.1.2.3:80": true, "10.2.2.3:80": false, "127.0.0.1:80": false,
		"[::1]:443": false, "[::ffff:10.0.0.1]:80": false, "[fe80::1%eth0]:80": false, "[2606:4700::1]:443": true,
		"nonsense": false,
	} {
		if err := g.Control("tcp", address, nil); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	d := net.Dialer{Control: g.Control}
	if conn, err := d.DialContext(t.Context(), "tcp", server.Listener.Addr().String()); !errors.Is(err, ErrEgress) {
		if conn != nil {
			conn.Close()
		}
		t.Errorf("a dialer with Control reached a local server: %v", err)
	}
}

// TestProxyOfEnvironment_arg056 checks that a proxy that the environment names is not used: it would hide where
// connections go.
func TestProxyOfEnvironment_arg056(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the proxy was asked")
	}))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	g, _ := outside(t, hosts(t, "*"), &fixedResolver{answers: map[string][][]string{"ok.example": {{publicAddr}}}},
		http.NotFoundHandler())
	client := g.Client()
	defer client.CloseIdleConnections()
	resp, err := client.Get("http://ok.example/")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

// TestSlowAnswer: a server has 30 s until its answer begins, unless the Egress leaves the time to the request.
func TestSlowAnswer(t *testing.T) {
	for wait, want := range map[time.Duration]bool{0: false, -1: true} {
		synctest.Test(t, func(t *testing.T) {
			p, err := New(Definition{Default: "allow"})
			if err != nil {
				t.Fatal(err)
			}
			dial := func(context.Context, string, string) (net.Conn, error) {
				near, far := net.Pipe()
				go func() {
					if _, err := http.ReadRequest(bufio.NewReader(far)); err != nil {
						t.Error(err)
					}
					time.Sleep(time.Minute)
					io.WriteString(far, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
					far.Close()
				}()
				return near, nil
			}
			resolver := &fixedResolver{answers: map[string][][]string{"slow.example.com": {{"93.184.216.34"}}},
				asked: map[string]int{}}
			client := p.Egress("test", EgressOptions{Resolver: resolver, Dial: dial, Answer: wait}).Client()
			resp, err := client.Get("http://slow.example.com/")
			if err == nil {
				resp.Body.Close()
			}
			if (err == nil) != want {
				t.Errorf("with %d: %v", wait, err)
			}
			time.Sleep(2 * time.Minute) // the server is done
		})
	}
}

// TestRefusedAddressNamesItsRule takes the rule that a refusal proposes, and asks again.
func TestRefusedAddressNamesItsRule(t *testing.T) {
	for _, url := range []string{"http://localhost:8080/v1", "http://127.0.0.1/", "https://10.1.2.3:8443/x",
		"http://[::1]:9000/"} {
		v := hosts(t, "*").Decide(Action{Tool: "fetch", URLs: []string{url}})
		_, rule, ok := strings.Cut(v.String(), `allow: {host: ["`)
		rule, _, _ = strings.Cut(rule, `"`)
		if v.Decision != chat.DecisionDeny || !ok {
			t.Errorf("%s: %s", url, v)
			continue
		}
		if v := hosts(t, rule).Decide(Action{Tool: "fetch", URLs: []string{url}}); v.Decision != chat.DecisionAllow {
			t.Errorf("%s with a rule for %s: %s", url, rule, v)
		}
	}
}
