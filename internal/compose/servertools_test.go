package compose

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/internal/config"
	"wield/internal/gateway"
	"wield/internal/metrics"
	"wield/internal/runs"
	"wield/journal"
)

const serverToolScenario = `wield: scenario/v1
name: served
turns:
  - {id: recalled, when: {user_contains: again}, reply: [{text: As I said.}]}
  - {id: searched, when: {result_contains: heavy rain}, reply: [{text: It rains.}]}
  - {id: fetched, when: {result_contains: "<h1>"}, reply: [{text: "I read it."}]}
  - {id: ran, when: {result_contains: ran 6*7}, reply: [{text: It is 42.}]}
  - {id: failed, when: {result_contains: cannot be fetched}, reply: [{text: That failed.}]}
  - id: search
    when: {user_contains: rain}
    reply: [{fence: json, call: {name: web_search, args: {query: rain in Ghent}}}]
  - id: fetch
    when: {user_contains: page}
    reply: [{fence: json, call: {name: web_fetch, args: {url: "https://ghent.example/a"}}}]
  - {id: run, reply: [{fence: json, call: {name: code_execution, args: {code: "6*7"}}}]}
`

// servedModels serves models whose server tools a web server carries out; "bare" has none.
func servedModels(t *testing.T) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/search":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"results":[
				{"url":"https://ghent.example/weather","title":"Weather","snippet":"heavy rain for %s"},
				{"url":"https://ghent.example/b","title":"B"}]}`, r.FormValue("q"))
		case "/page":
			io.WriteString(w, "<h1>"+r.FormValue("url")+"</h1>")
		default:
			io.WriteString(w, "ran "+r.FormValue("code"))
		}
	}))
	t.Cleanup(web.Close)
	file := filepath.Join(t.TempDir(), "served.scenario.yaml")
	if err := os.WriteFile(file, []byte(serverToolScenario), 0o600); err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(web.URL, "http://")
	c, err := config.Parse("config.yaml", []byte(fmt.Sprintf(`wield: config/v1
backends:
  s: {kind: script, scenario: %q}
models:
  m: {backend: s, mode: text, server_tools: {web_search: find, web_fetch: page, code_execution: calc}}
  bare: {backend: s, mode: text}
tools:
  http:
    find: {description: Finds pages., url: "%[2]s/search?q={q}", params: {q: {required: true}}}
    page: {description: Reads a page., url: "%[2]s/page?url={url}", params: {url: {required: true}}}
    calc: {description: Calculates., url: "%[2]s/calc?code={code}", params: {code: {required: true}}}
policies: {default: {default: allow, rules: [{allow: {host: [%q]}}]}}
`, file, web.URL, host)), config.Options{Getenv: env()})
	if err != nil {
		t.Fatal(err)
	}
	hub := runs.New(runs.Options{Journal: &journal.Memory{}})
	s, err := New(c.Config, Environment{Hub: hub, Metrics: metrics.New(""), Getenv: env()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Release() })
	if m := s.Gateway.Models; !m[1].NeedsKey || m[0].NeedsKey {
		t.Error("a model that runs tools can be used without a key, or another cannot")
	}
	for i := range s.Gateway.Models {
		s.Gateway.Models[i].NeedsKey = false
	}
	front := httptest.NewServer(gateway.New(s.Gateway))
	t.Cleanup(front.Close)
	return front.URL
}

func send(t *testing.T, url, body string) (status int, text string, header http.Header) {
	t.Helper()
	res, err := http.Post(url, "application/json", bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(all), res.Header
}

// TestServerTools: tools that the servers of a protocol run are carried out by wield's, and their results come back in
// the blocks of the protocol.
func TestServerTools(t *testing.T) {
	front := servedModels(t)
	messages := func(model, ask, tool, more string) string {
		return fmt.Sprintf(`{"model":%q,"max_tokens":99,"messages":[{"role":"user","content":%q}],"tools":[%s]%s}`,
			model, ask, tool, more)
	}
	responses := func(ask, tool, more string) string {
		return fmt.Sprintf(`{"model":"m","input":%q,"tools":[%s]%s}`, ask, tool, more)
	}
	contents := func(ask, tool string) string {
		return fmt.Sprintf(`{"contents":[{"role":"user","parts":[{"text":%q}]}],"tools":[%s]}`, ask, tool)
	}
	const (
		search  = `{"type":"web_search_20250305","name":"web_search"}`
		fetch   = `{"type":"web_fetch_20250910","name":"web_fetch",`
		code    = `{"type":"code_execution_20250825","name":"code_execution"}`
		chosen  = `,"tool_choice":{"type":"tool","name":"web_search"}`
		stream  = `,"stream":true`
		content = "/v1beta/models/m:generateContent"
	)
	for name, tt := range map[string]struct {
		path, body string
		want       []string
	}{
		"search": {"/v1/messages", messages("m", "rain?", search, ""), []string{
			`"type":"server_tool_use"`, `"input":{"query":"rain in Ghent"}`, `"type":"web_search_tool_result"`,
			`"url":"https://ghent.example/weather"`, `"title":"B"`, `It rains.`, `"stop_reason":"end_turn"`}},
		"search, streamed": {"/v1/messages", messages("m", "rain?", search, stream), []string{
			`"type":"server_tool_use"`, `"input":{}`, `"partial_json":"{\"query\":\"rain in Ghent\"}"`,
			`"type":"web_search_tool_result"`, `It rains.`, `"stop_reason":"end_turn"`}},
		"required": {"/v1/messages", messages("m", "rain?", search, chosen), []string{
			`It rains.`, `"stop_reason":"end_turn"`}},
		"fetch": {"/v1/messages", messages("m", "page?", fetch+`"allowed_domains":["ghent.example"]}`, ""), []string{
			`"type":"web_fetch_result"`, `\u003ch1\u003ehttps://ghent.example/a`, `I read it.`}},
		"fetch elsewhere": {"/v1/messages", messages("m", "page?", fetch+`"blocked_domains":["ghent.example"]}`, ""),
			[]string{`"error_code":"url_not_allowed"`, `That failed.`}},
		"code": {"/v1/messages", messages("m", "6*7?", code, ""), []string{
			`"type":"code_execution_tool_result"`, `"stdout":"ran 6*7"`, `"return_code":0`, `It is 42.`}},
		"Responses, search": {"/v1/responses", responses("rain?", `{"type":"web_search"}`, ""), []string{
			`"type":"web_search_call"`, `"query":"rain in Ghent"`, `"url":"https://ghent.example/b"`, `It rains.`,
			`"status":"completed"`}},
		"Responses, search, streamed": {"/v1/responses", responses("rain?", `{"type":"web_search_preview"}`, stream),
			[]string{`response.output_item.added`, `"type":"web_search_call"`, `It rains.`}},
		"Responses, code": {"/v1/responses",
			responses("6*7?", `{"type":"code_interpreter","container":{"type":"auto"}}`, ""),
			[]string{`"type":"code_interpreter_call"`, `"logs":"ran 6*7"`, `It is 42.`}},
		"Gemini, search": {content, contents("rain?", `{"googleSearch":{}}`), []string{
			`"webSearchQueries":["rain in Ghent"]`, `"uri":"https://ghent.example/b"`, `It rains.`}},
		"Gemini, page": {"/v1beta/models/m:streamGenerateContent?alt=sse", contents("page?", `{"urlContext":{}}`),
			[]string{`"retrievedUrl":"https://ghent.example/a"`, `I read it.`}},
		"Gemini, code": {content, contents("6*7?", `{"codeExecution":{}}`), []string{
			`"executableCode"`, `"output":"ran 6*7"`, `It is 42.`}},
		"chat": {"/v1/chat/completions",
			`{"model":"m","messages":[{"role":"user","content":"rain?"}],"web_search_options":{}}`,
			[]string{`It rains.`, `"finish_reason":"stop"`}},
	} {
		status, got, header := send(t, front+tt.path, tt.body)
		for _, want := range tt.want {
			if status != 200 || !strings.Contains(got, want) {
				t.Errorf("%s: status %d without %s:\n%s", name, status, want, got)
				break
			}
		}
		if d := header.Get("X-Wield-Dropped"); d != "" {
			t.Errorf("%s: %s is dropped", name, d)
		}
	}

	status, got, _ := send(t, front+"/v1/messages", messages("bare", "rain?", search, ""))
	if status != 400 || !strings.Contains(got, "web_search") {
		t.Errorf("a model without: %d %s", status, got)
	}
	located := strings.TrimSuffix(search, "}") + `,"blocked_domains":["a.example"],"user_location":{}}`
	_, _, header := send(t, front+"/v1/messages", messages("m", "rain?", located, ""))
	if d := header.Get("X-Wield-Dropped"); d != "tools.blocked_domains, tools.user_location" {
		t.Errorf("%q is reported as dropped", d)
	}
}

// TestServerToolsRecalled: blocks that a client sends back are calls and results again.
func TestServerToolsRecalled(t *testing.T) {
	front := servedModels(t)
	const search = `{"type":"web_search_20250305","name":"web_search"}`
	ask := func(messages string) (int, string, http.Header) {
		return send(t, front+"/v1/messages",
			`{"model":"m","max_tokens":99,"messages":[`+messages+`],"tools":[`+search+`]}`)
	}
	const question = `{"role":"user","content":"rain?"}`
	_, first, _ := ask(question)
	_, content, _ := strings.Cut(first, `"content":`)
	content, _, _ = strings.Cut(content, `,"stop_reason"`)
	answered := `,{"role":"assistant","content":` + content + `}`
	status, got, header := ask(question + answered + `,{"role":"user","content":"again?"}`)
	if d := header.Get("X-Wield-Dropped"); status != 200 || !strings.Contains(got, "As I said.") || d != "" {
		t.Errorf("status %d, dropped %q:\n%s", status, d, got)
	}
}
