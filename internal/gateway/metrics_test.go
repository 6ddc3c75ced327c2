package gateway

import (
	"slices"
	"strings"
	"testing"

	"wield/internal/metrics"
)

// TestMetrics_AR42 shows that the numbers need no key, count what the others do, and hold no path that a client made
// up.
func TestMetrics_AR42(t *testing.T) {
	o := one(says(text("hi")))
	o.Keys = []Key{{Name: "k", Hash: HashKey("s")}}
	o.Metrics = metrics.New("v")
	srv := serve(t, o)
	ask(t, srv, hello, "Authorization", "Bearer s")
	ask(t, srv, helloStream, "Authorization", "Bearer s")
	ask(t, srv, hello, "Authorization", "Bearer wrong")
	send(t, srv, "GET", "/v1/models/x/y/z", "")
	send(t, srv, "GET", "/made/up", "")
	resp, body := send(t, srv, "GET", pathMetrics, "")
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != metrics.ContentType {
		t.Fatalf("%d %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	lines := strings.Split(body, "\n")
	for _, want := range []string{
		`wield_http_requests_total{endpoint="/v1/chat/completions",method="POST",status="200",streaming="false"} 1`,
		`wield_http_requests_total{endpoint="/v1/chat/completions",method="POST",status="200",streaming="true"} 1`,
		`wield_http_requests_total{endpoint="/v1/chat/completions",method="POST",status="401",streaming="false"} 1`,
		`wield_http_requests_total{endpoint="/v1/models/*",method="GET",status="401",streaming="false"} 1`,
		`wield_http_requests_total{endpoint="unknown",method="GET",status="404",streaming="false"} 1`,
		`wield_auth_failures_total{reason="key"} 2`,
		`wield_errors_total{type="auth"} 2`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("missing: %s", want)
		}
	}
	if strings.Contains(body, "made/up") {
		t.Error("a path that a client made up became a label")
	}
	if resp, _ := send(t, srv, "GET", pathMetrics, "", "Host", "evil.example"); resp.StatusCode != 403 {
		t.Errorf("the numbers are told under any name: status %d", resp.StatusCode)
	}
}
