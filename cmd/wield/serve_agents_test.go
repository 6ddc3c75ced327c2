package main

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"wield/journal"
	"wield/journal/record"
	"wield/journal/sqlite"
	"wield/tool/runner"
)

// agentsFile is a configuration with a model that wield runs a tool for, and one that it runs none for.
const agentsFile = `wield: config/v1
backends:
  sums: {kind: script, scenario: calculator}
  talk: {kind: script, scenario: demo}
models:
  sums: {backend: sums, model: calculator, agent: {tools: [calculator], activity: ACTIVITY}}
  demo: {backend: talk, mode: text}
tools: {root: ROOT}
`

var madeKey = regexp.MustCompile(`key: (wk_[0-9a-f]{40})`)

// startAgents starts the service and returns it with the key that it made.
func startAgents(t *testing.T, text string) (s *service, key []string, dir string) {
	t.Helper()
	dir = t.TempDir()
	text = strings.NewReplacer("ROOT", dir, "ACTIVITY", "hidden").Replace(text)
	file := filepath.Join(dir, "wield.yaml")
	writeFile(t, file, text+"data: "+dir+"\n")
	s = start(t, nil, "--config", file)
	return s, adminOf(t, s), dir
}

// adminOf returns the header with the key that a service made.
func adminOf(t *testing.T, s *service) []string {
	t.Helper()
	for range 100 {
		if m := madeKey.FindStringSubmatch(s.stdout.String()); m != nil {
			return []string{"Authorization", "Bearer " + m[1]}
		}
		if status, _ := get(t, s.base+"/health"); status != 200 { // by then the whole welcome is printed
			t.Fatal("the service is not healthy")
		}
	}
	t.Fatalf("no key is printed:\n%s", s.stdout)
	return nil
}

// TestServeAgents: a model that wield runs tools for answers through every front as any other does, and needs the key.
func TestServeAgents(t *testing.T) {
	s, key, dir := startAgents(t, agentsFile)
	const want = "123 * 45 is 5535."
	const ask = `What is 123 * 45?`
	for _, front := range []struct{ path, body string }{
		{"/v1/chat/completions", `"messages":[{"role":"user","content":"` + ask + `"}]`},
		{"/v1/responses", `"input":"` + ask + `"`},
		{"/v1/messages", `"max_tokens":99,"messages":[{"role":"user","content":"` + ask + `"}]`},
		{"/api/chat", `"messages":[{"role":"user","content":"` + ask + `"}]`},
	} {
		for _, stream := range []string{"true", "false"} {
			body := `{"model":"sums","stream":` + stream + `,` + front.body + `}`
			if status, answer := do(t, "POST", s.base+front.path, body); status != 401 {
				t.Errorf("%s without a key: %d %s", front.path, status, answer)
			}
			status, answer := do(t, "POST", s.base+front.path, body, key...)
			var said strings.Builder
			for _, m := range deltas.FindAllStringSubmatch(answer, -1) {
				said.WriteString(m[2])
			}
			if status != 200 || !strings.Contains(said.String(), want) || strings.Contains(answer, `"calculator"`) {
				t.Errorf("%s: %d %s", front.path, status, answer)
			}
		}
	}
	if status, answer := post(t, s.base, weatherRequest("demo", false)); status != 200 {
		t.Errorf("a model without tools of wield's: %d %s", status, answer)
	}
	s.end(t, 0)
	if log := s.stderr.String(); strings.Count(log, `"tool":"calculator"`)+
		strings.Count(log, "tool=calculator") != 8 || !strings.Contains(log, "tool call") ||
		!strings.Contains(log, "time") {
		t.Errorf("the log does not tell of 8 calls:\n%s", log)
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "journal.db"), sqlite.Options{Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	n := 0
	for h, err := range store.Heads(t.Context(), journal.HeadQuery{Opened: record.KindRun}) {
		if n++; err != nil || h.State != record.StateEnded {
			t.Errorf("run %s is %s, %v", h.Stream, h.State, err)
		}
	}
	if n != 8 {
		t.Errorf("%d runs are in the journal", n)
	}
}

var deltas = regexp.MustCompile(`"(content|delta|text)":\s*"([^"]*)"`)

// TestServeAgentsAsk: where the policy asks, the answer says so, and the next one goes on when somebody has
// answered, here in another process.
func TestServeAgentsAsk(t *testing.T) {
	s, key, dir := startAgents(t, agentsFile+"policies: {default: {default: ask}}\n")
	const user = `{"role":"user","content":"What is 123 * 45?"}`
	status, first := post(t, s.base, `{"model":"sums","messages":[`+user+`]}`, key...)
	found := regexp.MustCompile(`\(approval (apr_\w+) of (run_\w+)\)`).FindStringSubmatch(first)
	if status != 200 || found == nil {
		t.Fatalf("%d %s", status, first)
	}
	if where := s.base + "/#/approvals/" + found[1]; !strings.Contains(first, where) {
		t.Errorf("the answer does not say that it is decided at %s: %s", where, first)
	}
	store, err := sqlite.Open(t.Context(), filepath.Join(dir, "journal.db"), sqlite.Options{Existing: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	approvals := journal.Approvals{Store: store}
	if _, err := approvals.Decide(context.Background(), found[1],
		runner.Answer{State: runner.ApprovalApproved, By: "somebody"}); err != nil {
		t.Fatal(err)
	}
	status, second := post(t, s.base, `{"model":"sums","messages":[`+user+`,{"role":"assistant","content":"x `+found[0]+
		`"},{"role":"user","content":"And 123 * 45 again?"}]}`, key...)
	if status != 200 ||
		!strings.Contains(second, "The approval of calculator is approved by somebody.\\n\\n123 * 45 is 5535.") {
		t.Errorf("%d %s", status, second)
	}
}
