//go:build unix

package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wield/internal/cli"
	"wield/internal/pgtest"
	"wield/internal/testlevel"
)

// TestDatabaseIsGone kills PostgreSQL under a run, while a tool runs; it, and a run that begins afterwards,
// ends with the exit code of a failure and says what failed.
func TestDatabaseIsGone(t *testing.T) {
	cluster := pgtest.Start(t)
	story := slowStory
	story.scenario = strings.ReplaceAll(slowStory.scenario, "NAME", "again")
	w, err := newWorld(t.TempDir(), &story, cluster.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "tools", "again"), []byte("#!/bin/sh\n"+killTools["again"]+waiting),
		0o755); err != nil {
		t.Fatal(err)
	}
	p, err := w.start()
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the tool runs", func() bool { return exists(filepath.Join(w.dir, "process")) })
	cluster.Kill()
	if err := os.WriteFile(filepath.Join(w.dir, "quick"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		if n == 1 { // a new one
			w.run = ""
			if p, err = w.start(); err != nil {
				t.Fatal(err)
			}
		}
		e, err := p.end()
		if err != nil {
			t.Fatal(err)
		}
		if e.killed || e.code != cli.ExitFailed || !strings.Contains(e.log, "cannot be reached") {
			t.Errorf("exit code %d, log %s", e.code, e.log)
		}
	}
}

// ready waits until load balancers are told whether a service is ready.
func (s *server) ready(t *testing.T, is bool) {
	t.Helper()
	want := map[bool]string{true: `200 OK "status":"ok"`,
		false: `503 Service Unavailable "status":"journal unavailable"`}[is]
	awaitFor(t, time.Minute, "/health says "+want, func() bool {
		resp, err := s.request(t, "GET", "/health", nil)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		status, body, _ := strings.Cut(want, ` "`)
		return err == nil && resp.Status == status && strings.Contains(string(text), `"`+body)
	})
}

// TestReady ends PostgreSQL under two services, and starts it again. Load balancers are told, and what needs no journal
// is answered all the time.
func TestReady(t *testing.T) {
	testlevel.Long(t)
	database := pgtest.Start(t)
	s := busyStory
	s.config = strings.Replace(s.config, "models: {", "models: {plain: {backend: b}, ", 1)
	m := newTeam(t, &s, database.Database(t), 2, "")
	answers := func(s *server) {
		t.Helper()
		resp, err := s.request(t, "POST", "/v1/chat/completions",
			map[string]any{"model": "plain", "messages": []any{map[string]string{"role": "user", "content": "hello"}}})
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("a request that needs no journal is answered %s", resp.Status)
		}
	}
	looks := func(ready bool) {
		t.Helper()
		for _, s := range m.services {
			s.ready(t, ready)
			answers(s)
		}
	}
	looks(true)
	database.Kill()
	looks(false)
	database.Restart(t)
	looks(true)
	for _, s := range m.services {
		s.end(t)
	}
}
