package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// keyed is an HTTP client that sends a key.
type keyed struct{ key string }

func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", k.key)
	return http.DefaultTransport.RoundTrip(r)
}

// mcpClient connects an official client to a place of a service.
func mcpClient(t *testing.T, address, key string) (*sdk.ClientSession, error) {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: address, HTTPClient: &http.Client{Transport: keyed{key}},
			MaxRetries: -1}, nil)
	if err == nil {
		t.Cleanup(func() { session.Close() })
	}
	return session, err
}

// mcpSaid calls a tool and returns the text of its result.
func mcpSaid(t *testing.T, session *sdk.ClientSession, name, arguments string) string {
	t.Helper()
	r, err := session.CallTool(context.Background(),
		&sdk.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		return "failed: " + err.Error()
	}
	var texts []string
	for _, c := range r.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// TestServeMCP: tools, models and the decoder are tools for MCP clients, for whose keys they are meant, and each call
// is in the journal.
func TestServeMCP(t *testing.T) {
	dir := t.TempDir()
	scenario := filepath.Join(dir, "m.scenario.yaml")
	writeFile(t, scenario,
		"wield: scenario/v1\nname: m\nturns:\n  - {id: any, when: {last: user}, reply: [{text: \"You said ${user}\"}]}\n")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"ADA": "ada-key-that-is-long-enough", "EVE": "eve-key-that-is-long-enough",
		"ROOT": "root-key-that-is-long-enough"}
	s := start(t, func(name string) string { return env[name] }, "--config", func() string {
		file := filepath.Join(dir, "wield.yaml")
		writeFile(t, file, strings.NewReplacer("SCENARIO", scenario, "DATA", dir, "WIELD",
			exe).Replace(`wield: config/v1
data: DATA
keys:
  - {name: ada, secret: env:ADA}
  - {name: eve, secret: env:EVE, tools: [parse_*]}
  - {name: root, secret: env:ROOT, role: admin}
backends: {s: {kind: script, scenario: SCENARIO}}
models: {helper: {backend: s, model: m, mode: text}}
mcp:
  serve: {enabled: true, agents: [helper], tools: [parse_tool_calls, "ask_*", get_current_date, calculator]}
`))
		return file
	}())
	ada, err := mcpClient(t, s.base+"/mcp", "Bearer "+env["ADA"])
	if err != nil {
		t.Fatal(err)
	}
	list, err := ada.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range list.Tools {
		names = append(names, one.Name)
	}
	if got := strings.Join(names, " "); got != "ask_helper calculator get_current_date parse_tool_calls" {
		t.Errorf("ada is offered %s", got)
	}
	for _, test := range []struct{ tool, arguments, want string }{
		{"get_current_date", `{"timezone":"UTC"}`, `"weekday"`},
		{"calculator", `{"expression":"6*7"}`, "42"},
		{"ask_helper", `{"task":"good day"}`, "You said"},
		{"parse_tool_calls",
			`{"text":"Sure. <tool_call>{\"name\":\"sum\",\"arguments\":{\"a\":\"1\"}}</tool_call>","tools":[{"name":"sum","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}]}`,
			`"calls":[{"name":"sum","arguments":"{\"a\":1}"}]`},
		{"command_exec", `{"command":"id"}`, "failed"},
	} {
		if got := mcpSaid(t, ada, test.tool, test.arguments); !strings.Contains(got, test.want) {
			t.Errorf("%s: %s, want %s", test.tool, got, test.want)
		}
	}
	eve, err := mcpClient(t, s.base+"/mcp", "Bearer "+env["EVE"])
	if err != nil {
		t.Fatal(err)
	}
	if got := mcpSaid(t, eve, "get_current_date", `{}`); !strings.HasPrefix(got, "failed") {
		t.Errorf("eve's key calls a tool that is not for it: %s", got)
	}
	if _, err := mcpClient(t, s.base+"/mcp", "Bearer nobody"); err == nil {
		t.Error("somebody without a key is let in")
	}
	status, body := do(t, http.MethodGet, s.base+"/api/v1/runs", "", "Authorization", "Bearer "+env["ROOT"])
	if status != http.StatusOK || strings.Count(body, `"agent":"mcp"`) < 3 || !strings.Contains(body, `"by":"ada"`) {
		t.Errorf("the journal has %d %s", status, body)
	}
	s.end(t, 0)
}

// TestServeMCPApprovals: a call by MCP waits for the page; its question is in the API, for whom the key allows.
func TestServeMCPApprovals(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{"ADA": "ada-key-that-is-long-enough", "BOSS": "boss-key-that-is-long-enough"}
	file := filepath.Join(dir, "wield.yaml")
	writeFile(t, file, strings.ReplaceAll(`wield: config/v1
data: DATA
keys: [{name: ada, secret: env:ADA}, {name: boss, secret: env:BOSS, role: approver}]
policies: {default: {default: ask}}
mcp:
  serve: {enabled: true, tools: [get_current_date], approvals: page}
`, "DATA", dir))
	s := start(t, func(name string) string { return env[name] }, "--config", file)
	ada, err := mcpClient(t, s.base+"/mcp", "Bearer "+env["ADA"])
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 1)
	go func() { said <- mcpSaid(t, ada, "get_current_date", `{"timezone":"UTC"}`) }()
	var list struct {
		Items []struct{ ID, Tool, Run string }
	}
	for deadline := time.Now().Add(20 * time.Second); len(list.Items) == 0; time.Sleep(20 * time.Millisecond) {
		_, body := do(t, http.MethodGet, s.base+"/api/v1/approvals", "", "Authorization", "Bearer "+env["ADA"])
		if err := json.Unmarshal([]byte(body), &list); err != nil || time.Now().After(deadline) {
			t.Fatal(body, err)
		}
	}
	asked := list.Items[0]
	path := s.base + "/api/v1/approvals/" + asked.ID
	if status, body := do(t, http.MethodPost, path, `{"decision":"allow"}`, "Authorization",
		"Bearer "+env["ADA"]); status != http.StatusForbidden {
		t.Errorf("a client decides: %d %s", status, body)
	}
	status := func(want string) func() bool { // the run's record of it follows the question and the result
		return func() bool {
			_, body := do(t, http.MethodGet, s.base+"/api/v1/runs/"+asked.Run, "", "Authorization",
				"Bearer "+env["ADA"])
			return strings.Contains(body, `"status":"`+want+`"`)
		}
	}
	awaitFor(t, 20*time.Second, "the run waits", status("needs_approval"))
	if status, body := do(t, http.MethodPost, path, `{"decision":"allow"}`, "Authorization",
		"Bearer "+env["BOSS"]); status != http.StatusOK || asked.Tool != "get_current_date" {
		t.Errorf("%d %s", status, body)
	}
	select {
	case got := <-said:
		if !strings.Contains(got, `"weekday"`) {
			t.Errorf("the call came to %s", got)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the call still waits")
	}

	awaitFor(t, 20*time.Second, "the run is done", status("done"))
	s.end(t, 0)
}
