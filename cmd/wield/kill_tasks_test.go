package main

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"wield/journal"
)

// tasksStory is calls by MCP that become tasks. No model is asked.
var tasksStory = story{name: "tasks", scenario: "\n  - {id: any, when: {}, reply: [{text: none}]}\n",
	config: servedConfig + "mcp: {serve: {enabled: true, tools: [save, again], tasks: {after: 1ms}}}\n"}

// taskCalls are the calls that a tasksClient makes.
var taskCalls = []struct{ tool, effect string }{{"save", "save 1"}, {"again", "again 2"}, {"save", "save 3"},
	{"again", "again 4"}}

// A tasksClient is a client of MCP that knows tasks.
type tasksClient struct {
	tasks map[string]string // effects of calls, by the ids of their tasks
	quick []string          // effects of calls that had ended before they could become tasks
	ends  map[string]taskEnd
}

// A taskEnd is the end of a task.
type taskEnd struct {
	Status string
	Result struct {
		IsError bool
		Content []struct{ Text string }
	}
}

// ask sends a request of MCP. It reports false when the service is gone.
func (c *tasksClient) ask(t *testing.T, s *server, method, name string, params map[string]any, out any) bool {
	t.Helper()
	const prefix, revision = "io.modelcontextprotocol/", "2026-07-28"
	params["_meta"] = map[string]any{prefix + "protocolVersion": revision,
		prefix + "clientInfo": map[string]string{"name": "t", "version": "1"},
		prefix + "clientCapabilities": map[string]any{"elicitation": struct{}{},
			"extensions": map[string]any{prefix + "tasks": struct{}{}}}}
	message := map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
	resp, err := s.request(t, http.MethodPost, "/mcp", message, "Accept: application/json, text/event-stream",
		"Mcp-Protocol-Version: "+revision, "Mcp-Method: "+method, "Mcp-Name: "+name)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if _, data, ok := bytes.Cut(text, []byte("data: ")); ok {
		text, _, _ = bytes.Cut(data, []byte("\n"))
	}
	var answer struct{ Result, Error json.RawMessage }
	if err != nil || json.Unmarshal(text, &answer) != nil {
		return false // killed while it answers
	}
	if answer.Error != nil {
		if bytes.Contains(answer.Error, []byte("journal")) || bytes.Contains(answer.Error, []byte("recorded")) {
			return false // to others its disk fails first
		}
		t.Fatalf("%s %s: %s", method, name, answer.Error)
	}
	if err := json.Unmarshal(answer.Result, out); err != nil {
		t.Fatalf("%s: %v: %s", method, err, answer.Result)
	}
	return true
}

// begin makes the calls. It reports false when the service is gone; calls that had no answer are not made again.
func (c *tasksClient) begin(t *testing.T, s *server) bool {
	t.Helper()
	for _, call := range taskCalls {
		_, n, _ := strings.Cut(call.effect, " ")
		var r struct{ TaskID, ResultType string }
		if !c.ask(t, s, "tools/call", call.tool,
			map[string]any{"name": call.tool, "arguments": map[string]any{"n": json.Number(n)}}, &r) {
			return false
		}
		if r.ResultType == "task" {
			c.tasks[r.TaskID] = call.effect
		} else {
			c.quick = append(c.quick, call.effect)
		}
	}
	return true
}

// finish asks for all tasks until they are over. It reports false when the service is gone.
func (c *tasksClient) finish(t *testing.T, s *server) bool {
	t.Helper()
	for _, id := range slices.Sorted(maps.Keys(c.tasks)) {
		for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
			var e taskEnd
			if !c.ask(t, s, "tasks/get", id, map[string]any{"taskId": id}, &e) {
				return false
			}
			if c.ends[id] = e; e.Status != "working" {
				break
			}
			if time.Since(begun) > patience {
				t.Fatalf("task %s (%s) does not end", id, c.tasks[id])
			}
		}
	}
	return true
}

// check holds what the client was told against what was done, and against the journal.
func (c *tasksClient) check(t *testing.T, w *world) {
	t.Helper()
	did := map[string]int{}
	for line := range strings.Lines(w.effects()) {
		did[strings.TrimSpace(line)]++
	}
	for effect, n := range did {
		if strings.HasPrefix(effect, "save") && n > 1 {
			t.Errorf("%s was done %d times", effect, n)
		}
	}
	for id, effect := range c.tasks {
		e := c.ends[id]
		switch {
		case e.Status != "completed", len(e.Result.Content) != 1:
			t.Errorf("%s: %+v", effect, e)
		case !e.Result.IsError && did[effect] == 0:
			t.Errorf("%s is said to be done, and is not", effect)
		case e.Result.IsError &&
			(!strings.HasPrefix(effect, "save") || !strings.Contains(e.Result.Content[0].Text, "not known whether")):
			t.Errorf("%s: %+v", effect, e)
		}
	}
	for _, effect := range c.quick {
		if did[effect] != 1 {
			t.Errorf("%s was done %d times", effect, did[effect])
		}
	}
	s, err := w.journal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if report, err := journal.Verify(t.Context(), s, journal.Hash{}); err != nil || len(report.Problems) > 0 {
		t.Errorf("the chain: %v, %v", report.Problems, err)
	}
	for id := range c.tasks {
		calls, err := journal.Calls(s.Read(t.Context(), journal.Query{Stream: id}))
		if err != nil || len(calls) != 1 || calls[0].Result == nil || !calls[0].Start.Idempotent && calls[0].Runs > 1 {
			t.Errorf("%s: %v, %+v", c.tasks[id], err, calls)
		}
	}
}

// TestKilledTasks kills wield serve at steps of tasks. The client asks the next process for those that it knows of:
// each comes to an end there. A call that may run again does, of another one it is told that its outcome is not known.
//
// WIELD_KILL says how many of the points are taken.
func TestKilledTasks(t *testing.T) {
	w := servedWorld(t, &tasksStory)
	s, c := w.serve(t), newTasksClient()
	if !c.begin(t, s) || !c.finish(t, s) {
		t.Fatalf("it ended by itself: %s", s.log)
	}
	s.end(t)
	if c.check(t, w); len(c.tasks) == 0 {
		t.Error("no call became a task")
	}
	killSteps(t, s.steps(), 59, killTasks)
}

func newTasksClient() *tasksClient {
	return &tasksClient{tasks: map[string]string{}, ends: map[string]taskEnd{}}
}

func killTasks(t *testing.T, d death) {
	w, c := servedWorld(t, &tasksStory), newTasksClient()
	s := w.serve(t, mortalDeath+"="+d.String())
	if s.base == "" || c.begin(t, s) && c.finish(t, s) {
		_ = s.cmd.Process.Kill() // steps of several goroutines are not always as many
	}
	await(t, "the service dies", s.ended)
	s = w.serve(t)
	if !c.finish(t, s) {
		t.Fatalf("%v: the second one ended by itself: %s", d, s.log)
	}
	s.end(t)
	c.check(t, w)
}
