package compose

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/internal/config"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/runner"
)

// remote starts an MCP server with two tools, one of which shows the token that it was sent.
func remote(t *testing.T) string {
	t.Helper()
	h := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		token := r.Header.Get("Authorization")
		s := sdk.NewServer(&sdk.Implementation{Name: "remote"}, nil)
		for _, name := range []string{"token", "other"} {
			s.AddTool(&sdk.Tool{Name: name, Description: "Tells a token.",
				InputSchema: json.RawMessage(`{"type":"object"}`)},
				func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
					return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "sent: " + token}}}, nil
				})
		}
		return s
	}, &sdk.StreamableHTTPOptions{Stateless: true})
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

// TestMCPServers reads servers from the configuration and from a directory of tools, which come and go while
// the program runs.
func TestMCPServers(t *testing.T) {
	url, dir := remote(t), t.TempDir()
	getenv := func(name string) string {
		return map[string]string{"TOKEN": "s3cret-token", "OTHER": "0ther-token"}[name]
	}
	text := fmt.Sprintf(`wield: config/v1
data: %s
tools: {dirs: [%s]}
mcp: {servers: {one: {url: %q, token: env:TOKEN, deny: [other]}}}
`, filepath.Join(dir, "state"), dir, url)
	file := filepath.Join(dir, "wield.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := config.Load(config.Options{File: file, Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	box, err := OpenToolbox(r.Config, ToolEnvironment{Getenv: getenv, File: r.File})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	names := func() (list []string) {
		for _, e := range box.Registry.Entries() {
			if e.Tool.Namespace != "" && e.State == tool.StateEnabled {
				list = append(list, e.Tool.Name())
			}
		}
		return list
	}
	if got := names(); len(box.Problems) > 0 || !slices.Equal(got, []string{"one__token"}) {
		t.Fatalf("tools %v, problems %v", got, box.Problems)
	}
	result, err := box.Runner.Call(t.Context(), "one__token", "{}")
	if got := string(result.Append(nil, tool.StylePlain)); err != nil || !strings.HasPrefix(got, "sent: Bearer ") ||
		strings.Contains(got, "s3cret") {
		t.Errorf("%q %v: the token reaches the server, and no result", got, err)
	}

	if err := os.WriteFile(filepath.Join(dir, "three"+config.MCPSuffix), []byte("url: "+url+"\ntoken: env:OTHER\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	again, err := OpenToolbox(r.Config, ToolEnvironment{Getenv: getenv, File: r.File})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	result, err = again.Runner.Call(t.Context(), "three__token", "{}")
	if got := string(result.Append(nil, tool.StylePlain)); err != nil || !strings.HasPrefix(got, "sent: Bearer ") ||
		strings.Contains(got, "0ther") {
		t.Errorf("%q %v: a secret that a file names reaches a result", got, err)
	}
	if err := os.Remove(filepath.Join(dir, "three"+config.MCPSuffix)); err != nil {
		t.Fatal(err)
	}

	added := filepath.Join(dir, "two"+config.MCPSuffix)
	if err := os.WriteFile(added, []byte("url: "+url+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	news, problems := box.Refresh(t.Context())
	if want := []string{"two__other", "two__token"}; len(problems) > 0 || !slices.Equal(news.Added, want) {
		t.Errorf("added %v, problems %v", news.Added, problems)
	}
	if news, _ = box.Refresh(t.Context()); !news.Empty() {
		t.Errorf("nothing has changed: %v", news)
	}
	if err := os.Remove(added); err != nil {
		t.Fatal(err)
	}
	if box.Refresh(t.Context()); !slices.Equal(names(), []string{"one__token"}) {
		t.Errorf("the server is gone, and its tools are not: %v", names())
	}
	if err := os.WriteFile(added, []byte("url: "+url+"\ntrust: ['*']\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, problems = box.Refresh(t.Context()); !strings.Contains(fmt.Sprint(problems), "trust is for mcp.servers") {
		t.Errorf("a file among tools may trust itself: %v", problems)
	}
}

// TestMCPPick checks which tools of servers a model has, and that a name that there is none of is told.
func TestMCPPick(t *testing.T) {
	url, dir := remote(t), t.TempDir()
	text := fmt.Sprintf(`wield: config/v1
data: %s
mcp: {servers: {one: {url: %q}, two: {url: %q}}}
backends: {s: {kind: script, scenario: calculator}}
models:
  all: {backend: s, mcp: ["*"]}
  some: {backend: s, agent: {tools: [calculator]}, mcp: [two, tow]}
  none: {backend: s, agent: {tools: [calculator]}}
`, dir, url, url)
	file := filepath.Join(dir, "wield.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := config.Load(config.Options{File: file})
	if err != nil {
		t.Fatal(err)
	}
	box, err := OpenToolbox(r.Config, ToolEnvironment{File: r.File})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	var log bytes.Buffer
	w := &builder{config: r.Config, box: box, env: Environment{Log: slog.New(slog.NewTextHandler(&log, nil))}}
	for model, want := range map[string]string{
		"all":  "read_output one__other one__token two__other two__token",
		"some": "calculator read_output two__other two__token",
		"none": "calculator read_output",
	} {
		var got []string
		for _, e := range w.pick(model).entries() {
			got = append(got, e.Tool.Name())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s has %v, want %s", model, got, want)
		}
		if !r.Config.RunsTools(model) {
			t.Errorf("%s runs no tools", model)
		}
	}
	if !strings.Contains(log.String(), "server=tow") || strings.Contains(log.String(), "server=two") {
		t.Errorf("log: %s", &log)
	}
}

// TestMCPFirst: the first request after the start waits for the servers that it is about, and for no other.
func TestMCPFirst(t *testing.T) {
	dir := t.TempDir()
	behind, err := url.Parse(remote(t))
	if err != nil {
		t.Fatal(err)
	}
	begin := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-begin
		httputil.NewSingleHostReverseProxy(behind).ServeHTTP(w, r)
	}))
	defer slow.Close()
	hung := make(chan struct{})
	never := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hung }))
	defer never.Close()
	defer close(hung)
	c := &config.Config{MCP: config.MCP{Servers: map[string]config.MCPServer{
		"slow":  {URL: config.URL(slow.URL)},
		"never": {URL: config.URL(never.URL), Start: config.Duration(time.Minute)}}}, Data: dir}
	box, err := OpenToolbox(c, ToolEnvironment{Behind: true})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	all := offeredTools{box: box, own: &runner.Registry{}, off: func(string) bool { return false }, server: "slow",
		wanted: []string{"*"}}
	if got := (&pick{box: box, off: all.off}).Offered(""); len(got) != 0 {
		t.Errorf("a model without servers is offered %v", got)
	}
	time.AfterFunc(50*time.Millisecond, func() { close(begin) })
	if got := all.Offered(""); len(got) != 2 {
		t.Errorf("of a server that was slow are offered %v", got)
	}
	some := &pick{box: box, names: []string{"slow__token"}, off: all.off}
	if got := some.Offered(""); len(got) != 1 {
		t.Errorf("a model with one of its tools is offered %v", got)
	}
	box.made = time.Now().Add(-beginTime)
	all.server = "never"
	if got := all.Offered(""); len(got) != 0 {
		t.Errorf("of a server that never answers are offered %v", got)
	}
}

// TestUnmatchedPattern: a pattern that fits no tool is in the log once, however often the tools are listed.
func TestUnmatchedPattern(t *testing.T) {
	box, err := OpenToolbox(&config.Config{Data: t.TempDir()}, ToolEnvironment{})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	var log strings.Builder
	offered := offeredTools{box: box, own: &runner.Registry{}, off: func(string) bool { return false },
		wanted:    []string{"get_current_*", "nothing_*"},
		unmatched: warnOnce(slog.New(slog.NewTextHandler(&log, nil)), "no tool matches")}
	for range 3 {
		if len(offered.Offered("")) == 0 {
			t.Fatal("nothing is offered")
		}
	}
	if got := log.String(); strings.Count(got, "pattern=") != 1 || !strings.Contains(got, "pattern=nothing_*") {
		t.Errorf("the log has %s", got)
	}
}

// TestNoToolsYet: the policy without a configuration stands when there is no tool yet, as before MCP servers have
// answered.
func TestNoToolsYet(t *testing.T) {
	c, err := parse(t, `wield: config/v1`)
	if err != nil {
		t.Fatal(err)
	}
	def, err := runPolicy(c.Config, "", nil, RunRules{})
	if err == nil {
		_, err = policy.New(def)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestMCPCache: a program with the network keeps what it fetches in a cache of its own, unless the file leads it
// elsewhere.
func TestMCPCache(t *testing.T) {
	dir := t.TempDir()
	s := &mcpSource{box: &Toolbox{Runner: runner.New(runner.Settings{Sandbox: runner.Box{Cache: dir}})}, getenv: env()}
	for _, net := range []bool{true, false} {
		o, err := s.server("docs", &config.MCPServer{Command: []string{"npx"}, Net: net})
		own := filepath.Join(dir, "mcp", "docs")
		if err != nil || slices.Contains(o.Command.Writable, own) != net ||
			slices.Contains(o.Command.Env, "XDG_CACHE_HOME="+own) != net {
			t.Errorf("net %t: %v, %v, %v", net, err, o.Command.Writable, o.Command.Env)
		}
	}
}
