package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"wield/internal/testport"
)

// realIssuer starts an authorization server of the package oidc-provider.
func realIssuer(t *testing.T) string {
	t.Helper()
	provider := os.Getenv("WIELD_OIDC_PROVIDER")
	if provider == "" {
		t.Skip("an OAuth issuer runs only in the heavy level of .ci/run (WIELD_OIDC_PROVIDER)")
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join("testdata", "issuer.mjs"), provider)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "http://") {
			return lines.Text()
		}
	}
	t.Fatal("the issuer does not start")
	return ""
}

// TestIssuerOAuth goes the way of a client that knows only the address of /mcp: it is told where tokens are had, gets
// one of a real issuer, and uses it. Tokens for others, without the scope or without a grant let nobody in.
func TestIssuerOAuth(t *testing.T) {
	issuer := realIssuer(t)
	dir, address := t.TempDir(), testport.Reserve(t)
	place := "http://" + address + "/mcp"
	file := filepath.Join(dir, "wield.yaml")
	writeFile(t, file, strings.NewReplacer("DATA", dir, "ISSUER", issuer, "PLACE", place).Replace(`wield: config/v1
data: DATA
keys:
  - {name: desk, secret: env:DESK, tools: [get_current_date]}
  - {name: root, secret: env:ROOT, role: admin}
mcp:
  serve:
    enabled: true
    tools: [get_current_date, calculator]
    oauth: {issuer: "ISSUER", resource: "PLACE", scopes: [tools], keys: [{claim: groups, value: staff, key: desk}]}
`))
	env := map[string]string{"DESK": "desk-key-that-is-long-enough", "ROOT": "root-key-that-is-long-enough"}
	s := start(t, func(name string) string { return env[name] }, "--config", file, "--listen", address)

	status, header := sent(t, place, "", beginMCP)
	challenges, err := oauthex.ParseWWWAuthenticate(header.Values("WWW-Authenticate"))
	if err != nil || status != http.StatusUnauthorized || len(challenges) != 1 ||
		challenges[0].Params["scope"] != "tools" {
		t.Fatalf("%d %v, %v", status, header, err)
	}
	resource, err := oauthex.GetProtectedResourceMetadata(t.Context(), challenges[0].Params["resource_metadata"],
		place, http.DefaultClient)
	if err != nil || resource.AuthorizationServers[0] != issuer {
		t.Fatalf("%+v, %v", resource, err)
	}
	token := func(client, scope, resource string) string {
		t.Helper()
		form := url.Values{"grant_type": {"client_credentials"}, "scope": {scope}, "resource": {resource}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, issuer+"/token",
			strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.SetBasicAuth(client, client+"-secret")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var got struct {
			Token string `json:"access_token"`
		}
		if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || got.Token == "" {
			t.Fatalf("no token for %s: %d, %v", client, resp.StatusCode, err)
		}
		return got.Token
	}
	good := token("ada", "tools", resource.Resource)
	session, err := mcpClient(t, place, "Bearer "+good)
	if err != nil {
		t.Fatal(err)
	}
	if got := mcpSaid(t, session, "get_current_date", `{"timezone":"UTC"}`); !strings.Contains(got, `"weekday"`) {
		t.Errorf("%s", got)
	}
	if got := mcpSaid(t, session, "calculator", `{"expression":"1+1"}`); !strings.HasPrefix(got, "failed") {
		t.Errorf("a tool beyond the rights of the key: %s", got)
	}
	if _, body := do(t, http.MethodGet, s.base+"/api/v1/runs", "", "Authorization",
		"Bearer "+env["ROOT"]); !strings.Contains(body, `"by":"desk/ada"`) {
		t.Errorf("the journal has %s", body)
	}
	for _, test := range []struct {
		name, token string
		status      int
		challenge   string
	}{
		{"for another resource", token("ada", "tools", "https://other.example.com/mcp"), 401, `error="invalid_token"`},
		{"without the scope", token("idle", "other", place), 403, `error="insufficient_scope"`},
		{"without a grant", token("eve", "tools", place), 403, `error="insufficient_scope"`},
		{"changed", good[:len(good)-8] + "AAAAAAAA", 401, `error="invalid_token"`},
	} {
		status, header := sent(t, place, test.token, beginMCP)
		if status != test.status || !strings.Contains(header.Get("WWW-Authenticate"), test.challenge) {
			t.Errorf("%s: %d %s", test.name, status, header.Get("WWW-Authenticate"))
		}
	}
	if status, _ := sent(t, s.base+"/api/v1/runs", good, ""); status != http.StatusUnauthorized {
		t.Errorf("a token of /mcp is taken by the API: %d", status)
	}
	if status, _ := sent(t, place, env["DESK"], beginMCP); status != http.StatusOK {
		t.Errorf("a key: %d", status)
	}
	s.end(t, 0)
}

const beginMCP = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// sent posts JSON with a token, and returns the status and the header.
func sent(t *testing.T, address, token, body string) (int, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode, resp.Header
}
