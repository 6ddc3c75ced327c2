package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"wield/internal/cli"
)

// carelessScenario is a model that calls wrong tools and right ones in one answer, and reads the results.
const carelessScenario = `wield: scenario/v1
name: careless
summary: a model that calls tools that there are not
turns:
  - {id: seen, when: {last: tool, result_contains: "5535"}, reply: [{text: "It is 5535."}]}
  - id: never
    when: {user_contains: "for ever"}
    reply: [{raw: "<tool_call>{\"name\":\"abacus\",\"arguments\":{\"n\":1}}</tool_call>"}]
  - id: last
    when: {user_contains: "Limit reached"}
    reply: [{raw: "<tool_call>{\"name\":\"abacus\",\"arguments\":{\"n\":1}}</tool_call>"}]
  - id: fenced
    when: {user_contains: "fence"}
    reply: [{raw: "Deploying.\n` + "```" + `json\n{\"name\":\"deploy\",\"arguments\":{\"to\":\"prod\"}}\n` + "```" +
	`"}]
  - id: mixed
    when: {user_contains: "sum"}
    reply: [{raw: "Let me see.\n<tool_call>{\"name\":\"abacus\",\"arguments\":{\"n\":1}}</tool_call>\n<tool_call>{\"name\":\"calculator\",\"arguments\":{\"expression\": @@}}</tool_call>\n<tool_call>{\"name\":\"calculator\",\"arguments\":{\"expression\":\"123 * 45\"}}</tool_call>"}]
`

func carelessFile(t *testing.T, dir string) string {
	t.Helper()
	scenario := filepath.Join(dir, "careless.scenario.yaml")
	if err := os.WriteFile(scenario, []byte(carelessScenario), 0o644); err != nil {
		t.Fatal(err)
	}
	return `wield: config/v1
backends: {play: {kind: script, scenario: ` + filepath.ToSlash(scenario) + `}}
models:
  careless: {backend: play, mode: text, dialect: hermes, agent: {tools: [calculator]}}
tools: {root: ROOT}
`
}

// TestServeAttempts_D21: through HTTP, a call that cannot be used is a call with a result that the model
// reads, and no client sees its text or words about it.
func TestServeAttempts_D21(t *testing.T) {
	s, key, _ := startAgents(t, carelessFile(t, t.TempDir()))
	for _, stream := range []string{"true", "false"} {
		status, answer := post(t, s.base, `{"model":"careless","stream":`+stream+
			`,"messages":[{"role":"user","content":"the sum, please"}]}`, key...)
		var said strings.Builder
		for _, m := range deltas.FindAllStringSubmatch(answer, -1) {
			said.WriteString(m[2])
		}
		if got := said.String(); status != 200 || !strings.Contains(got, "Let me see.") ||
			!strings.Contains(got, "It is 5535.") || strings.Contains(got, "tool_call") ||
			strings.Contains(got, "could not call") || strings.Contains(got, "@@") {
			t.Errorf("stream %s: %d %q", stream, status, got)
		}
	}
	status, body := do(t, "POST", s.base+"/api/v1/runs", `{"agent":"careless","input":"the sum, please"}`, key...)
	var run struct{ ID string }
	if err := json.Unmarshal([]byte(body), &run); err != nil || status/100 != 2 {
		t.Fatalf("%d %s", status, body)
	}
	_, events := do(t, "GET", s.base+"/api/v1/runs/"+run.ID+"/events", "", key...)
	want := regexp.MustCompile(
		`(?s)"kind":"call_end".*"name":"abacus".*"arguments":"...n..:1}".*"kind":"call_end".*"kind":"call_end".*` +
			`"kind":"result".*Error: Tool abacus not found\. Available: calculator.*"is_error":true.*"kind":"result".*The call was not run: .*"is_error":true.*"kind":"result".*5535`)
	if !want.MatchString(events) || strings.Contains(events, `"kind":"rejected"`) {
		t.Errorf("events %s", events)
	}
	s.end(t, 0)
}

// TestRunAttempts: so it is on the command line, and a model that goes on until the limit wrote no valid call.
func TestRunAttempts(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	file := filepath.Join(dir, "wield.yaml")
	text := strings.ReplaceAll(carelessFile(t, dir), "ROOT", dir)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	code, out, log := runWield(t, dir, "", "run", "--config", file, "--model", "careless", "--tools", "calculator",
		"the sum, please")
	if code != cli.ExitOK || strings.TrimSpace(out) != "It is 5535." ||
		!strings.Contains(log, "Tool abacus not found. Available: calculator") {
		t.Errorf("exit code %d, output %q, log %q", code, out, log)
	}
	code, out, log = runWield(t, dir, "", "run", "--config", file, "--model", "careless", "--tools", "calculator",
		"--max-turns", "2", "a fence")
	if code != cli.ExitMalformed || strings.Contains(out, "```") || !strings.Contains(log, "wrote no valid call") {
		t.Errorf("in a fence: exit code %d, output %q, log %q", code, out, log)
	}
	code, out, log = runWield(t, dir, "", "run", "--config", file, "--model", "careless", "--tools", "calculator",
		"for ever")
	if code != cli.ExitMalformed || strings.Contains(out, "tool_call") ||
		!strings.Contains(log, "wrote no valid call") {
		t.Errorf("exit code %d, output %q, log %q", code, out, log)
	}
}
