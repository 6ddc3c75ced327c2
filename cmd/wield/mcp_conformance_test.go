package main

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"wield/internal/testport"
)

// conformance returns the program of the official conformance suite, which .ci/run installs.
func conformance(t *testing.T) string {
	t.Helper()
	suite := os.Getenv("WIELD_CONFORMANCE")
	if suite == "" {
		t.Skip("the official conformance suite of MCP runs only in the heavy level of .ci/run (WIELD_CONFORMANCE)")
	}
	return suite
}

// everythingServer starts the server of the Go SDK that has all that the suite asks for, and returns its address.
func everythingServer(t *testing.T, program string, flags ...string) string {
	t.Helper()
	address := testport.Reserve(t)
	cmd := exec.Command(program, append([]string{"-http", address}, flags...)...)
	logs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	ready := make(chan struct{})
	go func() {
		lines := bufio.NewScanner(logs)
		for first := true; lines.Scan(); first = false {
			if first {
				close(ready)
			}
		}
	}()
	<-ready
	for range 100 { // it listens right behind that line
		if r, err := http.Get("http://" + address); err == nil {
			r.Body.Close()
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return "http://" + address
}

// withKey returns the address of a proxy that adds a key to requests, since the suite has none. Hosts and origins
// stay as they are.
func withKey(t *testing.T, base, key string) string {
	t.Helper()
	to, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+key)
	}}
	srv := httptest.NewServer(proxy)
	t.Cleanup(srv.Close)
	return srv.URL
}

// required returns the scenarios of a revision for servers or for clients.
func required(t *testing.T, suite, side, revision string) []string {
	t.Helper()
	out, err := exec.Command("node", suite, "list", "--requirements", revision).Output()
	if err != nil {
		t.Fatalf("the suite: %v", err)
	}
	_, part, _ := strings.Cut(string(out), side+" scenarios")
	part, _, _ = strings.Cut(part, "\n\n")
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^\s+- (\S+)$`).FindAllStringSubmatch(part, -1) {
		names = append(names, m[1])
	}
	if len(names) < 10 {
		t.Fatalf("the suite names %d scenarios:\n%s", len(names), out)
	}
	return names
}

// scored fails the test for each required scenario in which not every check passed.
func scored(t *testing.T, dir string, names []string) {
	t.Helper()
	for _, name := range names {
		found, err := filepath.Glob(filepath.Join(dir, "*"+strings.ReplaceAll(name, "/", "-")+"*", "checks.json"))
		if more, _ := filepath.Glob(filepath.Join(dir, "*", strings.TrimPrefix(name, "auth/")+"*", "checks.json")); len(
			found) == 0 {
			found = more
		}
		if err != nil || len(found) == 0 {
			t.Errorf("%s: the suite left no result", name)
			continue
		}
		checks, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(checks), `"status": "FAILURE"`) ||
			!strings.Contains(string(checks), `"status": "SUCCESS"`) {
			t.Errorf("%s: not all checks passed:\n%s", name, checks)
		}
	}
}

// TestConformanceServer runs the scenarios for servers of both revisions against /mcp/NAME of wield serve, behind
// which stands the SDK's own server: what is tested is that wield passes on all that MCP has, under policy and keys.
func TestConformanceServer(t *testing.T) {
	suite := conformance(t)
	program := filepath.Join(t.TempDir(), "everything")
	if out, err := exec.Command("go", "build", "-o", program,
		"github.com/modelcontextprotocol/go-sdk/conformance/everything-server").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s, key, _ := startAgents(t, strings.NewReplacer("NEW", everythingServer(t, program), "OLD",
		everythingServer(t, program, "-stateless=false")).Replace(`wield: config/v1
mcp:
  serve: {enabled: true}
  servers:
    new: {url: NEW, prompts: true, resources: true, trust: ["*"]}
    old: {url: OLD, prompts: true, resources: true, trust: ["*"]}
`))
	base := withKey(t, s.base, strings.TrimPrefix(key[1], "Bearer "))
	for _, one := range []struct{ server, revision string }{{"new", "2026-07-28"}, {"old", "2025-11-25"}} {
		t.Run(one.revision, func(t *testing.T) {
			results := t.TempDir()
			out, _ := exec.Command("node", suite, "server", "--url", base+"/mcp/"+one.server, "--requirements",
				one.revision, "-o", results).CombinedOutput()
			t.Logf("%s", out)
			scored(t, results, required(t, suite, "Server", one.revision))
		})
	}
	s.end(t, 0)
}
