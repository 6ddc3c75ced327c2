package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestDemoAgent: without a configuration serve plays an agent that asks before it changes a file; a person
// changes what is written, sees it written, refuses a command, and finds nothing left behind.
func TestDemoAgent(t *testing.T) {
	s := start(t, nil)
	key := adminOf(t, s)
	api := s.base + "/api/v1"
	status, body := do(t, "POST", api+"/runs", `{"agent":"demo-agent","input":"Open the shop on Sundays."}`, key...)
	var run struct{ ID, Dir string }
	if err := json.Unmarshal([]byte(body), &run); err != nil || status != 201 {
		t.Fatalf("%d %s", status, body)
	}
	question := func() (id, tool string) {
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			_, body := do(t, "GET", api+"/approvals", "", key...)
			if m := regexp.MustCompile(`"id":"(apr_\w+)".*"tool":"(\w+)"`).FindStringSubmatch(body); m != nil {
				return m[1], m[2]
			}
		}
		t.Fatal("nothing is asked")
		return "", ""
	}
	id, tool := question()
	if tool != "edit_file" {
		t.Fatalf("it asks about %s", tool)
	}
	edited := `{"decision":"edit","arguments":{"path":"hours.md","old_string":"Sunday: closed","new_string":"Sunday: noon to two"}}`
	if status, body := do(t, "POST", api+"/approvals/"+id, edited, key...); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	if id, tool = question(); tool != "command_exec" {
		t.Fatalf("it asks about %s", tool)
	}
	if text, err := os.ReadFile(filepath.Join(run.Dir, "hours.md")); err != nil ||
		!strings.Contains(string(text), "\nSunday: noon to two\n") {
		t.Errorf("%v: %s", err, text)
	}
	if status, body := do(t, "POST", api+"/approvals/"+id, `{"decision":"deny"}`, key...); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	status, body = do(t, "GET", api+"/runs/"+run.ID+"/events", "", key...)
	said := ""
	for line := range strings.Lines(body) { // it may come piece by piece, as it is written
		var e struct{ Kind, Text string }
		if data, ok := strings.CutPrefix(line, "data: "); ok && json.Unmarshal([]byte(data), &e) == nil &&
			e.Kind == "text" {
			said += e.Text
		}
	}
	if status != 200 || !strings.Contains(said, "I leave it at that") {
		t.Errorf("%d %s", status, body)
	}
	s.end(t, 0)
	if _, err := os.Stat(run.Dir); !os.IsNotExist(err) {
		t.Errorf("the directory %s is still there: %v", run.Dir, err)
	}
}

// TestDemoAgentAlone: where there is a configuration file, or another catalogue, no agent is added that changes files.
func TestDemoAgentAlone(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "wield.yaml")
	writeFile(t, file, "wield: config/v1\ndata: "+dir+"\n")
	s := start(t, nil, "--config", file)
	if _, body := get(t, s.base+"/v1/models"); !strings.Contains(body, `"demo"`) || strings.Contains(body, demoAgent) {
		t.Errorf("with a configuration: %s", body)
	}
}
