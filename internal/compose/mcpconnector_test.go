package compose

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"wield/chat"
	"wield/internal/config"
	"wield/internal/gateway"
	"wield/internal/metrics"
	"wield/internal/runs"
	"wield/journal"
	"wield/journal/record"
	"wield/tool/runner"
)

const connectorScenario = `wield: scenario/v1
name: connected
turns:
  - {id: recalled, when: {user_contains: again}, reply: [{text: As I said.}]}
  - {id: done, when: {result_contains: "rolled"}, reply: [{text: "You rolled ${result}."}]}
  - {id: cut, when: {result_contains: "cut off"}, reply: [{text: "It was cut off."}]}
  - {id: nobody, when: {result_contains: "nobody to ask"}, reply: [{text: "Nobody was there."}]}
  - {id: failed, when: {result_contains: "no dice"}, reply: [{text: "There were none."}]}
  - {id: refused, when: {result_contains: "not run"}, reply: [{text: "Then not."}]}
  - {id: far, when: {user_contains: far}, reply: [{text: "So: "}, {call: {name: client-far__roll, args: {n: 6}}}]}
  - {id: fail, when: {user_contains: fail}, reply: [{call: {name: dice__fail, args: {}}}]}
  - id: both
    when: {user_contains: both}
    reply: [{call: {name: get_time, args: {}}}, {call: {name: dice__ask, args: {n: 6}}}]
  - {id: elicit, when: {user_contains: name}, reply: [{call: {name: dice__elicit, args: {n: 6}}}]}
  - {id: ask, when: {user_contains: ask}, reply: [{call: {name: dice__ask, args: {n: 6}}}]}
  - {id: roll, when: {user_contains: roll}, reply: [{call: {name: dice__roll, args: {n: 6}}}]}
  - {id: none, reply: [{text: "Hello."}]}
`

// A connected service has models whose requests may name MCP servers.
type connected struct {
	url, server string // of the service, and of an MCP server
	rolls       *atomic.Int64
	flooded     *atomic.Int64 // MiB that one answer of the server at /flood had at most
	store       journal.Store
	model       chat.Model // m
}

func connectedService(t *testing.T) connected {
	t.Helper()
	c := connected{rolls: &atomic.Int64{}, flooded: &atomic.Int64{}, store: &journal.Memory{}}
	h := sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		s := sdk.NewServer(&sdk.Implementation{Name: "dice"}, nil)
		schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
		for _, name := range []string{"roll", "ask", "fail", "hidden", "elicit", "odd"} {
			if name == "odd" && r.URL.Path != "/odd" {
				continue
			}
			schema := schema
			if name == "odd" {
				schema = json.RawMessage(`{"type":"object","properties":{"n":{"$ref":"#/nowhere"}}}`)
			}
			s.AddTool(&sdk.Tool{Name: name, Description: "Dice.", InputSchema: schema,
				Annotations: &sdk.ToolAnnotations{ReadOnlyHint: name == "roll"}},
				func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
					if name == "elicit" {
						question := &sdk.ElicitParams{Mode: "form", Message: "Who?", RequestedSchema: json.RawMessage(
							`{"type":"object","properties":{"name":{"type":"string"}}}`)}
						return &sdk.CallToolResult{RequestState: "s",
							InputRequests: sdk.InputRequestMap{"who": question}}, nil
					}
					text := fmt.Sprintf("rolled %d %s", c.rolls.Add(1), token)
					if name == "fail" {
						text = "no dice"
					}
					return &sdk.CallToolResult{IsError: name == "fail",
						Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
				})
		}
		return s
	}, &sdk.StreamableHTTPOptions{Stateless: true})
	mux := http.NewServeMux()
	mux.Handle("/", h)
	mux.HandleFunc("/flood", c.flood)
	met := map[string]chan struct{}{"/pair/1": make(chan struct{}), "/pair/2": make(chan struct{})}
	var once [2]sync.Once
	mux.HandleFunc("/pair/", func(w http.ResponseWriter, r *http.Request) { // each answers once both are asked
		body, _ := io.ReadAll(r.Body) // until then the server does not notice that a client has gone
		r.Body = io.NopCloser(bytes.NewReader(body))
		once[r.URL.Path[len("/pair/")]-'1'].Do(func() { close(met[r.URL.Path]) })
		for _, other := range met {
			select {
			case <-other:
			case <-r.Context().Done():
			}
		}
		h.ServeHTTP(w, r)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	c.server = server.URL
	file := filepath.Join(t.TempDir(), "connected.scenario.yaml")
	if err := os.WriteFile(file, []byte(connectorScenario), 0o600); err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(server.URL, "http://")
	read, err := config.Parse("config.yaml", []byte(fmt.Sprintf(`wield: config/v1
backends:
  s: {kind: script, scenario: %q}
keys: [{name: lena, secret: env:LENA, tools: ["dice__r*"]}]
mcp: {servers: {dice: {url: %q}, other: {url: %[2]q}}}
models:
  m: {backend: s, mode: text, server_tools: {mcp_servers: [dice], mcp_hosts: [%q]}}
  public: {backend: s, mode: text, server_tools: {mcp_hosts: ["*"]}}
  bare: {backend: s, mode: text}
policies:
  default:
    default: ask
    rules:
      - {allow: {tool: ["dice__roll", "dice__fail", "client-far__roll"]}}
      - {deny: {tool: ["dice__hidden"]}}
`, file, c.server, host)), config.Options{Getenv: env("LENA", "k-lena")})
	if err != nil {
		t.Fatal(err)
	}
	hub := runs.New(runs.Options{Journal: c.store})
	s, err := New(read.Config, Environment{Hub: hub, Metrics: metrics.New(""), Getenv: env("LENA", "k-lena")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Release() })
	for i := range s.Gateway.Models {
		if m := &s.Gateway.Models[i]; m.NeedsKey != (m.Name != "bare") {
			t.Errorf("%s needs a key: %v", m.Name, m.NeedsKey)
		}
		if s.Gateway.Models[i].NeedsKey = false; s.Gateway.Models[i].Name == "m" {
			c.model = s.Gateway.Models[i].Model
		}
	}
	s.Gateway.Keys = nil
	front := httptest.NewServer(gateway.New(s.Gateway))
	t.Cleanup(front.Close)
	c.url = front.URL
	return c
}

// flood answers without an end, but for the memory of this test.
func (c connected) flood(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{"x":"`))
	for n, block := int64(0), bytes.Repeat([]byte("x"), 1<<20); n < 64; n++ {
		if _, err := w.Write(block); err != nil {
			return
		}
		c.flooded.Store(max(c.flooded.Load(), n+1))
	}
}

// ask asks m in the name of a key, and returns what a client is shown.
func (c connected) ask(t *testing.T, caller, question string, said ...chat.Part) (text string) {
	t.Helper()
	raw := json.RawMessage(`{"type":"mcp","server_label":"dice","require_approval":"never"}`)
	req := &chat.Request{Model: "m", Caller: caller, Tools: []chat.Tool{{Name: "mcp", Raw: raw,
		Protocol: chat.ProtocolResponses, Hosted: chat.HostedRequired}}}
	req.Messages = []chat.Message{{Role: chat.RoleUser, Parts: chat.Text(question)}}
	if len(said) > 0 {
		req.Messages = append(req.Messages, chat.Message{Role: chat.RoleAssistant, Parts: said})
	}
	for e, err := range c.model.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		text += e.Text
		if o, ok := e.Detail.(chat.Opaque); ok {
			text += string(o[0].Value)
		}
	}
	return text
}

// over reports questions that wait, and calls whose runs have not ended.
func (c connected) over(t *testing.T) {
	t.Helper()
	approvals := journal.Approvals{Store: c.store}
	for p, err := range approvals.Waiting(t.Context()) {
		t.Errorf("a question waits: %+v, %v", p, err)
	}
	open := map[string]bool{}
	for e, err := range c.store.Read(t.Context(), journal.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Record.Kind {
		case record.KindRun:
			open[e.Stream] = true
		case record.KindEnd:
			delete(open, e.Stream)
		}
	}
	if len(open) > 0 {
		t.Errorf("runs have not ended: %v", open)
	}
}

// TestConnector: tools of MCP servers that requests name run within the answer, and are shown as the protocol has them.
func TestConnector(t *testing.T) {
	c := connectedService(t)
	responses := func(model, ask, tool, more string) string {
		return fmt.Sprintf(`{"model":%q,"input":%q,"tools":[%s]%s}`, model, ask, tool, more)
	}
	messages := func(model, ask, servers, more string) string {
		return fmt.Sprintf(
			`{"model":%q,"max_tokens":99,"messages":[{"role":"user","content":%q}],"mcp_servers":[%s]%s}`,
			model, ask, servers, more)
	}
	const (
		never  = `"require_approval":"never"`
		dice   = `{"type":"mcp","server_label":"dice",` + never + `}`
		named  = `{"type":"url","url":"","name":"dice"}`
		stream = `,"stream":true`
	)
	far := fmt.Sprintf(`{"type":"mcp","server_label":"far","server_url":%q,"authorization":"t0ken-0f-the-client",%s}`,
		c.server, never)
	labelled := func(label, path string) string {
		return fmt.Sprintf(`{"type":"mcp","server_label":%q,"server_url":%q}`, label, c.server+path)
	}
	farURL := fmt.Sprintf(`{"type":"url","url":%q,"name":"far","authorization_token":"t0ken-0f-the-client"}`, c.server)
	toolset := func(more string) string {
		return `,"tools":[{"type":"mcp_toolset","mcp_server_name":"dice",` + more + `}]`
	}
	for name, tt := range map[string]struct {
		path, body string
		status     int
		want       []string
		not        string
	}{
		"by label": {"/v1/responses", responses("m", "roll", dice, ""), 200, []string{
			`"type":"mcp_list_tools","server_label":"dice"`, `"name":"ask"`, `"input_schema":{`, `"annotations":{`,
			`"type":"mcp_call","server_label":"dice","name":"roll","arguments":"{\"n\": 6}"`, `"output":"rolled`,
			`"status":"completed"`, `You rolled`}, "hidden"},
		"streamed": {"/v1/responses", responses("m", "roll", dice, stream), 200, []string{
			`event: response.mcp_list_tools.in_progress`, `event: response.mcp_list_tools.completed`,
			`event: response.mcp_call.in_progress`, `event: response.mcp_call_arguments.delta`,
			`"arguments":"{\"n\": 6}"`, `event: response.mcp_call_arguments.done`, `event: response.mcp_call.completed`,
			`You rolled`, `event: response.completed`}, ""},
		"failing": {"/v1/responses", responses("m", "fail", dice, stream), 200, []string{
			`event: response.mcp_call.failed`, `"status":"failed"`, `"type":"mcp_tool_execution_error"`, `no dice`,
			`There were none.`}, ""},
		"by address": {"/v1/responses", responses("m", "far", far, ""), 200, []string{
			`"server_label":"far"`, `"output":"rolled`, `You rolled`}, `t0ken-0f-the-client`},
		"a label with a space": {"/v1/responses", responses("m", "hi", labelled("my server", ""), ""), 200, []string{
			`"server_label":"my server"`, `"name":"roll"`}, ""},
		"a label like a host": {"/v1/responses", responses("m", "hi", labelled("api.example.com", ""), ""), 200,
			[]string{
				`"name":"roll"`}, ""},
		"a long label": {"/v1/responses", responses("m", "hi", labelled(strings.Repeat("long", 16), ""), ""), 200,
			[]string{
				`"name":"roll"`}, ""},
		"labels alike": {"/v1/responses", responses("m", "hi", labelled("Far", "")+","+labelled("far", ""), ""), 400,
			[]string{"look the same", `"param":"tools[1]"`}, ""},
		"a label of signs": {"/v1/responses", responses("m", "hi", labelled("._.", ""), ""), 400,
			[]string{"needs a letter"}, ""},
		"a tool that cannot be used": {"/v1/responses", responses("m", "hi", labelled("far", "/odd"), ""), 200,
			[]string{
				`"name":"roll"`}, `"name":"odd"`},
		"an endless list": {"/v1/responses", responses("m", "hi", labelled("far", "/flood"), ""), 502,
			[]string{"cannot be listed"}, ""},
		"connected at once": {"/v1/responses", responses("m", "hi", labelled("one", "/pair/1")+","+
			labelled("two", "/pair/2"), ""), 200, []string{`"server_label":"two"`}, ""},
		"required": {"/v1/responses", responses("m", "roll", dice, `,"tool_choice":"required"`), 200, []string{
			`"output":"rolled`}, ""},
		"chosen": {"/v1/responses", responses("m", "roll", dice,
			`,"tool_choice":{"type":"mcp","server_label":"dice"}`), 200, []string{`"output":"rolled`}, ""},
		"chosen by name": {"/v1/responses", responses("m", "roll", dice+","+labelled("far", ""),
			`,"tool_choice":{"type":"mcp","server_label":"dice","name":"roll"}`), 200, []string{
			`"type":"mcp_call","server_label":"dice","name":"roll"`, `"output":"rolled`}, ""},
		"allowed by server": {"/v1/responses", responses("m", "roll", dice+","+far,
			`,"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"mcp","server_label":"far"}]}`), 200,
			[]string{`dice__roll`}, `"type":"mcp_call","server_label":"dice"`},
		"chosen, not offered": {"/v1/responses", responses("m", "roll", dice,
			`,"tool_choice":{"type":"mcp","server_label":"dice","name":"fly"}`), 400,
			[]string{"mcp dice fly", `"param":"tool_choice"`}, ""},
		"chosen of another server": {"/v1/responses", responses("m", "roll", dice,
			`,"tool_choice":{"type":"mcp","server_label":"far"}`), 400, []string{"mcp far", `"param":"tool_choice"`},
			""},
		"allowed, not offered": {"/v1/responses", responses("m", "roll", dice,
			`,"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"mcp","server_label":"far"}]}`), 400,
			[]string{"none of the tools", `"param":"tool_choice"`}, ""},
		"Messages, required": {"/v1/messages", messages("m", "roll", named, `,"tool_choice":{"type":"any"}`), 200,
			[]string{
				`"type":"mcp_tool_use"`, `rolled`}, ""},
		"Messages, chosen": {"/v1/messages",
			messages("m", "roll", named, `,"tool_choice":{"type":"tool","name":"roll"}`), 200,
			[]string{`"type":"mcp_tool_use"`, `rolled`}, ""},
		"Messages, not offered": {"/v1/messages",
			messages("m", "roll", named, `,"tool_choice":{"type":"tool","name":"fly"}`), 400,
			[]string{"fly", "do not offer"}, ""},
		"Messages, required of no server": {"/v1/messages", messages("m", "roll", "", `,"tool_choice":{"type":"any"}`),
			400, []string{"tool_choice"}, ""},
		"allowed tools": {"/v1/responses", responses("m", "hi",
			`{"type":"mcp","server_label":"dice","allowed_tools":["ask"]}`, ""), 200,
			[]string{`"name":"ask"`, `Hello.`}, `"name":"roll"`},
		"read-only tools": {"/v1/responses", responses("m", "hi",
			`{"type":"mcp","server_label":"dice","allowed_tools":{"read_only":true}}`, ""), 200,
			[]string{`"name":"roll"`}, `"name":"ask"`},
		"another address": {"/v1/responses", responses("m", "hi",
			`{"type":"mcp","server_label":"dice","server_url":"https://example.com/mcp"}`, ""), 400,
			[]string{"another address"}, ""},
		"a connector": {"/v1/responses", responses("m", "hi",
			`{"type":"mcp","server_label":"x","connector_id":"connector_gmail"}`, ""), 400,
			[]string{"connector_id", `"param":"tools[0]"`}, ""},
		"not listed": {"/v1/responses", responses("m", "hi", `{"type":"mcp","server_label":"other"}`, ""), 400,
			[]string{"may not name", "mcp_servers"}, ""},
		"a host that is not listed": {"/v1/responses", responses("m", "hi",
			`{"type":"mcp","server_label":"x","server_url":"https://example.com/mcp"}`, ""), 400,
			[]string{"mcp_hosts"}, ""},
		"a private address": {"/v1/responses", responses("public", "hi", far, ""), 400, []string{"mcp_hosts"}, ""},
		"off":               {"/v1/responses", responses("bare", "hi", dice, ""), 400, []string{"mcp"}, ""},
		"Messages": {"/v1/messages", messages("m", "roll", named, ""), 200, []string{
			`"type":"mcp_tool_use"`, `"name":"roll","server_name":"dice","input":{"n":6}`, `"type":"mcp_tool_result"`,
			`"is_error":false`, `rolled`, `"stop_reason":"end_turn"`}, ""},
		"Messages, streamed": {"/v1/messages", messages("m", "roll", named, stream), 200, []string{
			`"type":"mcp_tool_use"`, `"partial_json":"{\"n\":6}"`, `"type":"mcp_tool_result"`, `You rolled`,
			`"stop_reason":"end_turn"`}, ""},
		"Messages, by address": {"/v1/messages", messages("m", "far", farURL, ""), 200, []string{
			`"server_name":"far"`, `rolled`}, `t0ken-0f-the-client"`},
		"Messages, failing": {"/v1/messages", messages("m", "fail", named, ""), 200, []string{
			`"is_error":true`, `There were none.`}, ""},
		"Messages, off": {"/v1/messages", messages("bare", "hi", named, ""), 400, []string{"mcp_servers"}, ""},
		"tool_configuration": {"/v1/messages", messages("m", "roll",
			`{"type":"url","url":"","name":"dice","tool_configuration":{"enabled":true,"allowed_tools":["ask"]}}`, ""),
			200,
			[]string{`dice__roll`}, `mcp_tool_use`},
		"a toolset": {"/v1/messages", messages("m", "roll", named,
			toolset(`"default_config":{"enabled":false},"configs":{"roll":{"enabled":true}}`)), 200,
			[]string{`mcp_tool_use`}, ""},
		"a toolset without the tool": {"/v1/messages", messages("m", "roll", named,
			toolset(`"configs":{"roll":{"enabled":false}}`)), 200, []string{`dice__roll`}, `mcp_tool_use`},
		"a toolset of no server": {"/v1/messages", messages("m", "roll", "", toolset(`"configs":{}`)), 400,
			[]string{"not among mcp_servers"}, ""},
	} {
		status, got, header := send(t, c.url+tt.path, tt.body)
		if status != tt.status || tt.not != "" && strings.Contains(got, tt.not) {
			t.Errorf("%s: status %d, want %d and no %q:\n%s", name, status, tt.status, tt.not, got)
		}
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %s in\n%s", name, want, got)
				break
			}
		}
		if d := header.Get("X-Wield-Dropped"); d != "" {
			t.Errorf("%s: %s is dropped", name, d)
		}
	}
	if n := c.flooded.Load(); n > 32 {
		t.Errorf("%d MiB of an endless answer were read", n)
	}
}

// TestConnectorKeys: a request names the tools that its key may call.
func TestConnectorKeys(t *testing.T) {
	c := connectedService(t)
	for caller, want := range map[string]bool{"lena": false, "ada": true} {
		got := c.ask(t, caller, "hi")
		if !strings.Contains(got, `"name":"roll"`) || strings.Contains(got, `"name":"ask"`) != want {
			t.Errorf("%s is shown:\n%s", caller, got)
		}
	}
	if got := c.ask(t, "lena", "ask"); strings.Contains(got, "mcp_approval_request") {
		t.Errorf("it calls a tool that its key may not call:\n%s", got)
	}
}

var (
	questionID = regexp.MustCompile(`"id":"(mcpr_\w+)","type":"mcp_approval_request"`)
	responseID = regexp.MustCompile(`"id":"(resp_\w+)"`)
)

// TestConnectorApprovals: a call that the client or the policy asks about runs once it is approved, whoever was first.
func TestConnectorApprovals(t *testing.T) {
	c := connectedService(t)
	approvals := journal.Approvals{Store: c.store}
	decide := func(id string, state runner.ApprovalState) {
		t.Helper()
		id = strings.TrimPrefix(id, "mcpr_")
		if _, err := approvals.Decide(t.Context(), id, runner.Answer{State: state, By: "page"}); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		ask, mode string
		page      runner.ApprovalState // decides first; empty: nobody does
		client    string               // what it says; empty: nothing
		want      string
		runs      int64
	}{
		"the client approves":             {"ask", "never", "", "true", "You rolled", 1},
		"the client denies":               {"ask", "never", "", "false", "Then not.", 0},
		"the page approves":               {"ask", "never", runner.ApprovalApproved, "", "You rolled", 1},
		"the page denies":                 {"ask", "never", runner.ApprovalDenied, "", "Then not.", 0},
		"the page denies first":           {"ask", "never", runner.ApprovalDenied, "true", "Then not.", 0},
		"the page approves first":         {"ask", "never", runner.ApprovalApproved, "false", "You rolled", 1},
		"the client's own gate":           {"roll", "always", "", "true", "You rolled", 1},
		"the client's own gate stays":     {"roll", "always", "", "false", "Then not.", 0},
		"the client's own gate, no reply": {"roll", "always", "", "", "Then not.", 0},
	} {
		before := c.rolls.Load()
		tools := `"tools":[{"type":"mcp","server_label":"dice","require_approval":"` + tt.mode + `"}]`
		_, first, _ := send(t, c.url+"/v1/responses", `{"model":"m","input":"`+tt.ask+`",`+tools+`}`)
		m, r := questionID.FindStringSubmatch(first), responseID.FindStringSubmatch(first)
		if m == nil || r == nil || strings.Contains(first, `"mcp_call"`) || c.rolls.Load() != before {
			t.Errorf("%s: no question:\n%s", name, first)
			continue
		}
		if tt.page != "" {
			decide(m[1], tt.page)
		}
		input := `[]`
		if tt.client != "" {
			input = `[{"type":"mcp_approval_response","approval_request_id":"` + m[1] + `","approve":` + tt.client +
				`}]`
		}
		body := `{"model":"m","previous_response_id":"` + r[1] + `","input":` + input + `,` + tools + `}`
		_, second, _ := send(t, c.url+"/v1/responses", body)
		if !strings.Contains(second, tt.want) || c.rolls.Load()-before != tt.runs ||
			strings.Contains(second, `"type":"mcp_list_tools"`) ||
			tt.runs == 1 && !strings.Contains(second, `"approval_request_id":"`+m[1]+`"`) {
			t.Errorf("%s: %d runs:\n%s", name, c.rolls.Load()-before, second)
		}
		_, again, _ := send(t, c.url+"/v1/responses", body)
		if tt.mode == "never" && c.rolls.Load()-before != tt.runs {
			t.Errorf("%s: it ran again:\n%s", name, again)
		}
		r = responseID.FindStringSubmatch(second)
		_, third, _ := send(t, c.url+"/v1/responses",
			`{"model":"m","previous_response_id":"`+r[1]+`","input":"again",`+tools+`}`)
		if !strings.Contains(third, "As I said.") || tt.mode == "never" && c.rolls.Load()-before != tt.runs {
			t.Errorf("%s: the conversation does not go on:\n%s", name, third)
		}
	}
}

// TestConnectorPause: the Messages protocol has no question, so that the answer pauses, and goes on once the page has
// decided.
func TestConnectorPause(t *testing.T) {
	c := connectedService(t)
	ask := func(messages string) (string, string) {
		_, got, _ := send(t, c.url+"/v1/messages", `{"model":"m","max_tokens":99,"messages":[`+messages+
			`],"mcp_servers":[{"type":"url","url":"","name":"dice"}]}`)
		_, content, _ := strings.Cut(got, `"content":`)
		content, _, _ = strings.Cut(content, `,"stop_reason"`)
		return got, `{"role":"assistant","content":` + content + `}`
	}
	const question = `{"role":"user","content":"ask"}`
	first, said := ask(question)
	id := regexp.MustCompile(`"mcptoolu_(apr_\w+)"`).FindStringSubmatch(first)
	if id == nil || !strings.Contains(first, `"stop_reason":"pause_turn"`) {
		t.Fatalf("no pause:\n%s", first)
	}
	if second, _ := ask(question + "," + said); !strings.Contains(second, `"stop_reason":"pause_turn"`) {
		t.Errorf("it does not wait any more:\n%s", second)
	}
	approvals := journal.Approvals{Store: c.store}
	if _, err := approvals.Decide(t.Context(), id[1],
		runner.Answer{State: runner.ApprovalApproved, By: "page"}); err != nil {
		t.Fatal(err)
	}
	third, rest := ask(question + "," + said)
	if !strings.Contains(third, `"tool_use_id":"mcptoolu_`+id[1]) || !strings.Contains(third, "You rolled") ||
		c.rolls.Load() != 1 {
		t.Errorf("%d runs:\n%s", c.rolls.Load(), third)
	}
	fourth, _ := ask(question + "," + said + "," + rest + `,{"role":"user","content":"again"}`)
	if !strings.Contains(fourth, "As I said.") || c.rolls.Load() != 1 {
		t.Errorf("%d runs:\n%s", c.rolls.Load(), fourth)
	}
}

// TestConnectorOwner: nobody approves the call of another key, even with the id of its approval.
func TestConnectorOwner(t *testing.T) {
	c := connectedService(t)
	item := func(kind, raw string) chat.Part {
		return chat.Part{Kind: chat.PartOpaque, Protocol: chat.ProtocolResponses, Name: kind, Raw: json.RawMessage(raw)}
	}
	ask := func(caller string, said ...chat.Part) string { return c.ask(t, caller, "ask", said...) }
	first := ask("ada")
	m := questionID.FindStringSubmatch(first)
	if m == nil {
		t.Fatalf("no question: %s", first)
	}
	question := item("mcp_approval_request",
		`{"id":"`+m[1]+`","server_label":"dice","name":"ask","arguments":"{\"n\": 6}"}`)
	yes := item("mcp_approval_response", `{"approval_request_id":"`+m[1]+`","approve":true}`)
	if got := ask("eve", question, yes); !strings.Contains(got, "no such approval") || c.rolls.Load() != 0 {
		t.Errorf("another key: %d runs: %s", c.rolls.Load(), got)
	}
	other := item("mcp_approval_request",
		`{"id":"`+m[1]+`","server_label":"dice","name":"ask","arguments":"{\"n\": 7}"}`)
	if got := ask("ada", other, yes); strings.Contains(got, "You rolled") || c.rolls.Load() != 0 {
		t.Errorf("other arguments: %d runs: %s", c.rolls.Load(), got)
	}
	if got := ask("ada", question, yes); !strings.Contains(got, "You rolled") || c.rolls.Load() != 1 {
		t.Errorf("its own key: %d runs: %s", c.rolls.Load(), got)
	}
	c.over(t)
}

// TestConnectorAsksOnce: a call that was approved asks nothing further.
func TestConnectorAsksOnce(t *testing.T) {
	c := connectedService(t)
	m := questionID.FindStringSubmatch(c.ask(t, "ada", "name"))
	if m == nil {
		t.Fatal("no question")
	}
	item := func(kind, raw string) chat.Part {
		return chat.Part{Kind: chat.PartOpaque, Protocol: chat.ProtocolResponses, Name: kind, Raw: json.RawMessage(raw)}
	}
	got := c.ask(t, "ada", "name", item("mcp_approval_request",
		`{"id":"`+m[1]+`","server_label":"dice","name":"elicit","arguments":"{\"n\": 6}"}`),
		item("mcp_approval_response", `{"approval_request_id":"`+m[1]+`","approve":true}`))
	if !strings.Contains(got, "Nobody was there.") || strings.Contains(got, "not run") {
		t.Errorf("the client is shown:\n%s", got)
	}
	c.over(t)
}

// TestConnectorBeside: an approval counts, too, if the same turn called a function of the client.
func TestConnectorBeside(t *testing.T) {
	c := connectedService(t)
	const schema = `{"type":"object","properties":{}}`
	tools := `"tools":[{"type":"mcp","server_label":"dice","require_approval":"never"},` +
		`{"type":"function","name":"get_time","parameters":` + schema + `}]`
	_, first, _ := send(t, c.url+"/v1/responses", `{"model":"m","input":"both",`+tools+`}`)
	m, r := questionID.FindStringSubmatch(first), responseID.FindStringSubmatch(first)
	call := regexp.MustCompile(`"call_id":"([^"]+)"`).FindStringSubmatch(first)
	if m == nil || r == nil || call == nil {
		t.Fatalf("no question and call:\n%s", first)
	}
	_, second, _ := send(t, c.url+"/v1/responses", `{"model":"m","previous_response_id":"`+r[1]+`",`+tools+`,"input":[`+
		`{"type":"function_call_output","call_id":"`+call[1]+`","output":"noon"},`+
		`{"type":"mcp_approval_response","approval_request_id":"`+m[1]+`","approve":true}]}`)
	if !strings.Contains(second, "You rolled") || c.rolls.Load() != 1 {
		t.Errorf("%d runs:\n%s", c.rolls.Load(), second)
	}
	messages := func(more string) string {
		_, got, _ := send(t, c.url+"/v1/messages", `{"model":"m","max_tokens":99,"mcp_servers":[`+
			`{"type":"url","url":"","name":"dice"}],"tools":[{"name":"get_time","input_schema":`+schema+
			`}],"messages":[{"role":"user","content":"both"}`+more+`]}`)
		return got
	}
	first = messages("")
	id := regexp.MustCompile(`"mcptoolu_(apr_\w+)"`).FindStringSubmatch(first)
	call = regexp.MustCompile(`"type":"tool_use","id":"([^"]+)"`).FindStringSubmatch(first)
	_, content, _ := strings.Cut(first, `"content":`)
	content, _, _ = strings.Cut(content, `,"stop_reason"`)
	if id == nil || call == nil {
		t.Fatalf("no pause and call:\n%s", first)
	}
	approvals := journal.Approvals{Store: c.store}
	if _, err := approvals.Decide(t.Context(), id[1],
		runner.Answer{State: runner.ApprovalApproved, By: "page"}); err != nil {
		t.Fatal(err)
	}
	third := messages(`,{"role":"assistant","content":` + content + `},{"role":"user","content":[` +
		`{"type":"tool_result","tool_use_id":"` + call[1] + `","content":"noon"}]}`)
	if !strings.Contains(third, "You rolled") || c.rolls.Load() != 2 {
		t.Errorf("%d runs:\n%s", c.rolls.Load(), third)
	}
}

// TestConnectorCutOff: a call that was running when the client of the Messages protocol left does not run again.
func TestConnectorCutOff(t *testing.T) {
	c := connectedService(t)
	_, got, _ := send(t, c.url+"/v1/messages", `{"model":"m","max_tokens":99,"messages":[`+
		`{"role":"user","content":"roll"},{"role":"assistant","content":[{"type":"mcp_tool_use","id":"mcptoolu_w1",`+
		`"name":"roll","server_name":"dice","input":{"n":6}}]}],"mcp_servers":[{"type":"url","url":"","name":"dice"}]}`)
	if !strings.Contains(got, `"tool_use_id":"mcptoolu_w1","is_error":true`) ||
		!strings.Contains(got, "It is not known whether it took effect") || c.rolls.Load() != 0 {
		t.Errorf("%d runs:\n%s", c.rolls.Load(), got)
	}
}
