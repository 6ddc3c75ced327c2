//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"wield/internal/cli"
	"wield/internal/cluster"
	"wield/internal/pgtest"
	"wield/internal/testlevel"
	"wield/internal/testport"
)

// teamConfig is a service that stands beside others.
const teamConfig = `listen: 127.0.0.1:0
keys:
  - {name: person, secret: env:WIELD_TEST_KEY, role: admin}
  - {name: build, secret: env:WIELD_TEST_WORKER, role: worker}
  - {name: one, secret: env:WIELD_TEST_ONE, limits: {concurrent: 1}}
timeouts: {drain: 5s, leave: 1s}
workers: {enabled: true}
backends: {b: {kind: script, scenario: model.yaml}}
models: {worker: {backend: b, mode: text, agent: {tools: [look, save, again, asks, fails]}}}
policies: {default: {default: ask, rules: [{allow: {tool: [look, save, again, fails]}}]}}
mcp: {serve: {enabled: true, tools: [again, asks], approvals: client, tasks: {after: 1ms}}}
`

const oneKey = "a-key-that-may-ask-once-at-a-time"

// A team is services that stand beside each other.
type team struct {
	*world
	services []*server
	meet     []string // where others connect to each, by its number
}

// newTeam starts services with a journal in a database. They meet each other, or at an external server of messages.
func newTeam(t *testing.T, s *story, database string, n int, nats string) *team {
	t.Helper()
	story := *s
	if nats == "" {
		story.config += "cluster: {secret: env:WIELD_TEST_KEY, listen: \"127.0.0.1:0\", peers: [PEERS]}\n"
	} else {
		story.config += "cluster: {nats: env:WIELD_TEST_NATS}\n"
	}
	team := &team{}
	for range n {
		team.meet = append(team.meet, testport.Reserve(t))
	}
	story.config = strings.Replace(story.config, "PEERS", `"`+strings.Join(team.meet, `", "`)+`"`, 1)
	var err error
	if team.world, err = newWorld(t.TempDir(), &story, database); err != nil {
		t.Fatal(err)
	}
	team.program = "wield"
	for i := range n {
		team.services = append(team.services, team.start(t, i, "WIELD_TEST_NATS="+nats))
	}
	for _, s := range team.services {
		s.meets(t, n)
	}
	return team
}

// start starts the service of a number.
func (m *team) start(t *testing.T, i int, env ...string) *server {
	t.Helper()
	env = append(env, fmt.Sprintf("WIELD_CLUSTER_NAME=s%d", i), "WIELD_TEST_WORKER="+workerKey,
		"WIELD_TEST_ONE="+oneKey, "WIELD_TEST_NEW_WORKER=another-key-of-workers",
		"WIELD_TEST_NEW_ONE=another-key-of-a-client")
	if env[0] == "WIELD_TEST_NATS=" {
		env = append(env, "WIELD_CLUSTER_LISTEN="+m.meet[i])
	}
	s := m.serve(t, append([]string{databaseVariable + "=" + writesAs(m.database, i, m.lives)}, env...)...)
	if s.base == "" {
		t.Fatalf("service %d ends: %s", i, s.log)
	}
	return s
}

// meets waits until a service knows so many.
func (s *server) meets(t *testing.T, n int) (status cluster.Status) {
	t.Helper()
	await(t, fmt.Sprintf("%d services know each other", n), func() bool {
		return s.call(t, "GET", "cluster", nil, &status) && len(status.Services) == n
	})
	return status
}

// said follows a run at a service to its end. It returns what the model says, and when the first words of it came.
func said(t *testing.T, s *server, run string) (text string, first time.Duration) {
	t.Helper()
	began := time.Now()
	resp, err := s.request(t, "GET", "/api/v1/runs/"+run+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		var e struct{ Text string }
		if !ok || json.Unmarshal([]byte(data), &e) != nil {
			continue
		}
		if text += e.Text; first == 0 && text != "" {
			first = time.Since(began)
		}
	}
	return text, first
}

// TestServices lets three services share a journal in PostgreSQL. What is asked of one reaches the one that it
// concerns.
func TestServices(t *testing.T) {
	testlevel.Long(t)
	database := pgtest.Start(t)
	s := slowStory
	s.config = teamConfig
	s.scenario = `
  - {id: slow, when: {user_contains: slowly, turn: 0}, reply: [{text: "The first words. "}, {pause: 1500ms}, {text: "The last."}]}
  - {id: long, when: {user_contains: forever, turn: 0}, reply: [{text: "Now. "}, {pause: 60s}, {text: "Never."}]}
  - {id: ask, when: {user_contains: ask, turn: 0}, reply: [{call: {name: asks, args: {n: 1}}}]}
  - {id: talk, when: {user_contains: talk, turn: 0}, reply: [{pause: 500ms}, {call: {name: look, args: {n: 1}}}]}
  - {id: heard, when: {user_contains: Listen}, reply: [{text: "I heard you."}]}
  - {id: answer, when: {}, reply: [{text: "All done."}]}
`
	m := newTeam(t, &s, database.Database(t), 3, "")
	a, b, c := m.services[0], m.services[1], m.services[2]
	t.Cleanup(func() {
		if t.Failed() {
			for i, s := range m.services {
				writeFile(t, filepath.Join(os.TempDir(), fmt.Sprint("service", i)), s.log.String())
			}
		}
	})
	begin := func(t *testing.T, s *server, input string) (run struct{ ID, State string }) {
		t.Helper()
		if !s.call(t, "POST", "runs", map[string]string{"agent": "worker", "input": input}, &run) {
			t.Fatalf("no run begins: %s", s.log)
		}
		return run
	}
	ends := func(t *testing.T, s *server, id string) {
		t.Helper()
		var run struct{ State string }
		await(t, "the run ends", func() bool { return s.call(t, "GET", "runs/"+id, nil, &run) && run.State == "ended" })
	}

	t.Run("follow", func(t *testing.T) {
		run := begin(t, a, "slowly")
		text, first := said(t, b, run.ID)
		if strings.Count(text, "The first words. The last.") != 1 || len(text) != len("The first words. The last.") {
			t.Errorf("another service tells %q", text)
		}
		if first == 0 || first > 1200*time.Millisecond { // the turn ends after 1500 ms
			t.Errorf("the first words came after %v, with the end of the turn", first)
		}
	})
	t.Run("cancel", func(t *testing.T) {
		run := begin(t, a, "forever")
		var any json.RawMessage
		if !c.call(t, "POST", "runs/"+run.ID+"/cancel", map[string]string{}, &any) {
			t.Error("another service does not cancel the run")
		}
		ends(t, b, run.ID)
	})
	t.Run("send", func(t *testing.T) {
		run := begin(t, b, "talk")
		var any json.RawMessage
		if !c.call(t, "POST", "runs/"+run.ID+"/messages", map[string]string{"text": "Listen"}, &any) {
			t.Error("another service does not pass a message on")
		}
		ends(t, a, run.ID)
		if text, _ := said(t, a, run.ID); !strings.Contains(text, "I heard you.") {
			t.Errorf("the message did not reach the run, which says %q", text)
		}
	})
	t.Run("approve", func(t *testing.T) {
		run := begin(t, a, "ask")
		var open struct{ Items []shownQuestion }
		await(t, "the question is seen elsewhere",
			func() bool { return c.call(t, "GET", "approvals", nil, &open) && len(open.Items) > 0 })
		m.decide(t, c, open.Items)
		ends(t, b, run.ID)
	})
	t.Run("limits", func(t *testing.T) {
		ask := func(s *server, words string) *http.Response {
			resp, err := s.request(t, "POST", "/v1/chat/completions",
				map[string]any{"model": "worker",
					"messages": []any{map[string]string{"role": "user", "content": words}}},
				"Authorization: Bearer "+oneKey)
			if err != nil {
				t.Error(err)
				return nil
			}
			_, _ = io.Copy(io.Discard, resp.Body) // its status is asked for
			resp.Body.Close()
			return resp
		}
		over := make(chan struct{})
		go func() {
			defer close(over)
			ask(a, "slowly")
		}()
		time.Sleep(1100 * time.Millisecond) // twice as long as until others are told
		if resp := ask(b, "hello"); resp == nil || resp.StatusCode != http.StatusTooManyRequests {
			t.Errorf("a second request of a key that may make one at a time: %v", resp)
		}
		<-over
		await(t, "the key may ask elsewhere", func() bool {
			r := ask(c, "hello")
			return r != nil && r.StatusCode == http.StatusOK
		})
	})
	t.Run("tasks", func(t *testing.T) { // one that asks, begun at a, seen and answered at b
		client, other := newTasksClient(), newTasksClient()
		var begun struct{ TaskID, ResultType string }
		if !client.ask(t, a, "tools/call", "asks", map[string]any{"name": "asks", "arguments": map[string]any{"n": 7}},
			&begun) {
			t.Fatal("a is gone")
		}
		var seen struct {
			Status        string
			InputRequests map[string]json.RawMessage
		}
		await(t, "the task asks elsewhere", func() bool {
			return other.ask(t, b, "tasks/get", begun.TaskID, map[string]any{"taskId": begun.TaskID}, &seen) &&
				len(seen.InputRequests) > 0
		})
		responses := map[string]any{}
		for key := range seen.InputRequests {
			responses[key] = map[string]any{"action": "accept", "content": map[string]any{"decision": "allow once"}}
		}
		var ack json.RawMessage
		other.ask(t, b, "tasks/update", begun.TaskID,
			map[string]any{"taskId": begun.TaskID, "inputResponses": responses}, &ack)
		await(t, "the task is over", func() bool {
			return other.ask(t, c, "tasks/get", begun.TaskID, map[string]any{"taskId": begun.TaskID}, &seen) &&
				seen.Status != "working"
		})
		if seen.Status != "completed" || strings.Count(m.effects(), "asks 7") != 1 {
			t.Errorf("the task is %s, and the tool did %q", seen.Status, m.effects())
		}
	})
	t.Run("reload", func(t *testing.T) {
		if err := a.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		for _, s := range m.services[1:] {
			await(t, "a reload reaches the others",
				func() bool { return strings.Contains(s.log.String(), "cause=\"another service\"") })
		}
	})
	t.Run("workers", func(t *testing.T) { // a worker of c runs a call of a
		h := m.worker(t, c.base, "w", "again")
		writeFile(t, filepath.Join(h.dir, "quick"), "x")
		for _, s := range m.services {
			s.knows(t, 3, 1)
		}
		shown := m.wield(t, "cluster", "status", "--connect", b.base, "--key", "env:WIELD_TEST_KEY")
		version, names := cli.ThisBuild().Version, []string{"s0", "s1", "s2", "build/w"}
		for line := range strings.Lines(shown) { // NAME, a star for the service that was asked, ID and VERSION
			row := strings.Fields(strings.Replace(line, " * ", " ", 1))
			if len(row) > 2 && len(names) > 0 && row[0] == names[0] && row[2] == version {
				names = names[1:]
			}
		}
		if version == "" || len(names) > 0 {
			t.Errorf("wield cluster status does not show the versions of %v:\n%s", names, shown)
		}
	})
	t.Run("status", func(t *testing.T) {
		status := b.meets(t, 3)
		for i, one := range status.Services {
			if one.Name != fmt.Sprint("s", i) || one.Self != (i == 1) || one.Config == "" ||
				one.Config != status.Services[0].Config {
				t.Errorf("service %d: %+v", i, one)
			}
		}
	})
	t.Run("metrics", func(t *testing.T) {
		resp, err := b.request(t, "GET", "/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body) // what is missing is missed below
		for _, line := range []string{"wield_cluster_services 3", "wield_cluster_calls_waiting 0",
			"wield_cluster_runs 0", "wield_cluster_journal_lag_seconds "} {
			if !strings.Contains(string(text), "\n"+line) {
				t.Errorf("the metrics do not hold %s", line)
			}
		}
	})
	t.Run("leave", func(t *testing.T) { // a stream ends within the drain time, while another service goes on
		run := begin(t, a, "slowly")
		if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		await(t, "load balancers are told", func() bool {
			resp, err := a.request(t, "GET", "/health", nil)
			if err == nil {
				resp.Body.Close()
			}
			return err == nil && resp.StatusCode == http.StatusServiceUnavailable
		})
		late := begin(t, a, "hello") // who was not told yet
		await(t, "the service ends", a.ended)
		if code := a.cmd.ProcessState.ExitCode(); code != cli.ExitOK {
			t.Errorf("exit code %d", code)
		}
		ends(t, b, late.ID)
		ends(t, b, run.ID)
		if text, _ := said(t, b, run.ID); !strings.Contains(text, "The last.") {
			t.Errorf("the run did not end well: it says %q", text)
		}
		b.meets(t, 2)
	})
	for _, s := range m.services[1:] {
		s.end(t)
	}
	_ = os.Remove(filepath.Join(m.dir, "quick"))
}
