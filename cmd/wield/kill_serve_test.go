package main

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"wield/internal/cli"
	"wield/internal/testlevel"
)

const (
	servedKey    = "a-key-of-this-test-alone"
	servedConfig = `listen: 127.0.0.1:0
keys: [{name: person, secret: env:WIELD_TEST_KEY, role: admin}]
timeouts: {drain: 300ms}
backends: {b: {kind: script, scenario: model.yaml}}
models: {worker: {backend: b, mode: text, agent: {tools: [look, save, again, asks, fails]}}}
policies: {default: {default: ask, rules: [{allow: {tool: [look, save, again, fails]}}]}}
`
)

// servedStory is a run behind the gateway.
var servedStory = story{name: "served", calls: 6, deny: `{"n":5}`, config: servedConfig, scenario: stories[1].scenario}

// A server is a process of wield serve.
type server struct {
	cmd      *exec.Cmd
	out, log *lockedBuffer
	trace    string
	base     string        // empty: it ended before it listened
	gone     chan struct{} // closed when it ended
}

var listens = regexp.MustCompile(`wield listens on (\S+)\n`)

// serve starts a service and waits until it listens, or has ended.
func (w *world) serve(t *testing.T, env ...string) *server {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, "model.yaml"), []byte(scenarioHead+w.scenario), 0o644); err != nil {
		t.Fatal(err)
	}
	s := &server{cmd: exec.Command(cmp.Or(w.program, "wield-mortal"), "serve", "--config", "wield.yaml"),
		out: &lockedBuffer{}, log: &lockedBuffer{}, trace: filepath.Join(w.dir, fmt.Sprint("trace", w.lives)),
		gone: make(chan struct{})}
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = w.dir, s.out, s.log
	s.cmd.Env = append(os.Environ(), mortalTrace+"="+s.trace,
		mortalClock+"="+(time.Duration(w.lives)*time.Minute).String(), "WIELD_TEST_KEY="+servedKey, "TMPDIR="+w.temp(),
		databaseVariable+"="+w.database, quickEnd)
	s.cmd.Env = append(s.cmd.Env, env...)
	w.lives++
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.gone)
		_ = s.cmd.Wait() // how it ended says its state
	}()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // mostly it has ended
		<-s.gone
	})
	await(t, "the service listens", func() bool {
		if m := listens.FindStringSubmatch(s.out.String()); m != nil {
			s.base = m[1]
		}
		return s.base != "" || s.ended()
	})
	return s
}

func (s *server) ended() bool {
	select {
	case <-s.gone:
		return true
	default:
		return false
	}
}

// steps returns how many steps the process took.
func (s *server) steps() []string {
	text, _ := os.ReadFile(s.trace) // there is none before the first
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// request makes a request with the key of the service and more headers. It fails when the service is gone.
func (s *server) request(t *testing.T, method, path string, in any, headers ...string) (*http.Response, error) {
	t.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.base+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+servedKey)
	req.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	client := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // of the test's own service
	return client.Do(req)
}

// call makes a request, of the API where the path begins without a slash. It reports false when the service is gone.
func (s *server) call(t *testing.T, method, path string, in, out any) bool {
	t.Helper()
	if !strings.HasPrefix(path, "/") {
		path = "/api/v1/" + path
	}
	resp, err := s.request(t, method, path, in)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil || resp.StatusCode >= 300 {
		return false // what is killed while it answers closes or resets its connections
	}
	if err := json.Unmarshal(text, out); err != nil {
		t.Fatalf("%s %s: %v: %s", method, path, err, text)
	}
	return true
}

// A shownRun and a shownQuestion are what a client looks at of a run and of a question.
type (
	shownRun      struct{ ID, State string }
	shownQuestion struct {
		ID        string
		Arguments json.RawMessage
	}
)

// look returns the runs and the open questions. When the service is being killed it waits for that, and reports false.
func (s *server) look(t *testing.T) (list []shownRun, open []shownQuestion, ok bool) {
	t.Helper()
	var runs struct{ Items []shownRun }
	var questions struct{ Items []shownQuestion }
	if !s.call(t, "GET", "runs", nil, &runs) || !s.call(t, "GET", "approvals", nil, &questions) {
		<-s.gone
		return nil, nil, false
	}
	return runs.Items, questions.Items, true
}

// decide answers questions as the world wants them answered.
func (w *world) decide(t *testing.T, s *server, questions []shownQuestion) {
	t.Helper()
	var any json.RawMessage
	for _, q := range questions {
		decision := "allow"
		if string(q.Arguments) == w.deny {
			decision = "deny"
		}
		s.call(t, "POST", "approvals/"+q.ID, map[string]string{"decision": decision}, &any)
	}
}

// drive starts the run if there is none, and answers its questions, until it is over. It reports false when the
// service is gone.
func (w *world) drive(t *testing.T, s *server) (over bool) {
	t.Helper()
	await(t, "the run comes to its end", func() bool {
		runs, questions, ok := s.look(t)
		switch {
		case !ok:
			return true
		case len(runs) == 0:
			var any json.RawMessage
			s.call(t, "POST", "runs", map[string]string{"agent": "worker", "input": "go"}, &any)
			return false
		}
		w.run = runs[0].ID
		w.decide(t, s, questions)
		over = runs[0].State == "ended"
		return over
	})
	return over
}

// end tells the service to end, and checks that it did.
func (s *server) end(t *testing.T) {
	t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	await(t, "the service ends", s.ended)
	if code := s.cmd.ProcessState.ExitCode(); code != cli.ExitOK {
		t.Errorf("exit code %d, log %s", code, s.log)
	}
}

func servedWorld(t *testing.T, s *story) *world {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the tools of this test are shell scripts")
	}
	w, err := newWorld(t.TempDir(), s, "")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestKilledServe kills wield serve at the steps of a run that it carries on for nobody in particular. The next one
// takes the run up by itself and brings it to its end.
//
// WIELD_KILL says how many of the points are taken.
func TestKilledServe(t *testing.T) {
	w := servedWorld(t, &servedStory)
	s := w.serve(t)
	if !w.drive(t, s) {
		t.Fatalf("it ended by itself: %s", s.log)
	}
	s.end(t)
	if err := w.check(t.Context()); err != nil {
		t.Fatalf("not killed: %v", err)
	}
	killSteps(t, s.steps(), 83, killServe)
}

// killSteps kills a service at steps that it takes, before, after and within a write, in the worlds that kill makes.
func killSteps(t *testing.T, steps []string, few int, kill func(*testing.T, death)) {
	every, _ := killing(t, few)
	kills := 0
	for n := range steps {
		for i, how := range []manner{dieBefore, dieAfter, dieTorn} {
			if (3*n+i)%every != 0 {
				continue
			}
			kills++
			d := death{n + 1, how, 60}
			t.Run(d.String(), func(t *testing.T) {
				t.Parallel()
				kill(t, d)
			})
		}
	}
	t.Logf("%d kills at %d steps", kills, len(steps))
}

func killServe(t *testing.T, d death) {
	w := servedWorld(t, &servedStory)
	if s := w.serve(t, mortalDeath+"="+d.String()); w.drive(t, s) {
		s.end(t) // the run was over before; steps of several goroutines are not always as many
	}
	s := w.serve(t)
	if !w.drive(t, s) {
		t.Fatalf("%v: the second one ended by itself: %s", d, s.log)
	}
	s.end(t)
	if err := w.check(t.Context()); err != nil {
		t.Errorf("%v: %v", d, err)
	}
}

// TestDrainServe ends wield serve, in good order and by force, while a tool runs. The next one continues the run.
func TestDrainServe(t *testing.T) {
	for i, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		for k, name := range []string{"again", "save"} {
			if (i+k)%testlevel.Every(2) > 0 {
				continue
			}
			t.Run(signal.String()+" "+name, func(t *testing.T) {
				t.Parallel()
				story := slowStory
				story.config, story.scenario = servedConfig, strings.ReplaceAll(slowStory.scenario, "NAME", name)
				w := servedWorld(t, &story)
				writeSlow(t, w, name)
				s := w.serve(t)
				var any json.RawMessage
				s.call(t, "POST", "runs", map[string]string{"agent": "worker", "input": "go"}, &any)
				await(t, "the tool runs", func() bool { return exists(filepath.Join(w.dir, "process")) })
				if signal == syscall.SIGTERM {
					s.end(t)
				} else if err := s.cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				await(t, "the service is gone", s.ended)
				checkGone(t, filepath.Join(w.dir, "process"))
				writeFile(t, filepath.Join(w.dir, "quick"), "")
				next := w.serve(t)
				if !w.drive(t, next) {
					t.Fatalf("it ended by itself: %s", next.log)
				}
				next.end(t)
				if err := w.check(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
