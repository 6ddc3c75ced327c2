//go:build unix

package main

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"

	"wield/internal/pgtest"
	"wield/internal/testlevel"
)

// TestShared has one of two services do what the other one was told: keep a limit of requests a minute, decide a
// question, follow a rule that was kept. Both are ended and started in between.
func TestShared(t *testing.T) {
	testlevel.Long(t)
	t.Parallel()
	s := busyStory
	s.config = strings.NewReplacer("limits: {concurrent: 1}", "limits: {rpm: 40}",
		"models: {", "models: {plain: {backend: b}, ", ", workers: [build]", "").Replace(s.config)
	s.scenario = `
  - {id: first, when: {user_contains: first, turn: 0}, reply: [{call: {name: asks, args: {n: 1}}}]}
  - {id: second, when: {user_contains: second, turn: 0}, reply: [{call: {name: asks, args: {n: 2}}}]}
  - {id: answer, when: {}, reply: [{text: "All done."}]}
`
	m := newTeam(t, &s, pgtest.Start(t).Database(t), 2, "")
	begin := func(s *server, input string) (run shownRun) {
		t.Helper()
		if !s.call(t, "POST", "runs", map[string]string{"agent": "worker", "input": input}, &run) {
			t.Fatalf("no run begins: %s", s.log)
		}
		return run
	}
	ends := func(s *server, run shownRun) {
		t.Helper()
		await(t, "the run ends", func() bool {
			return s.call(t, "GET", "runs/"+run.ID, nil, &run) && run.State == "ended"
		})
	}
	decide := func(s *server, always bool) {
		t.Helper()
		var open struct{ Items []shownQuestion }
		await(t, "the question is seen elsewhere", func() bool {
			return s.call(t, "GET", "approvals", nil, &open) && len(open.Items) == 1
		})
		var said struct{ State string }
		if !s.call(t, "POST", "approvals/"+open.Items[0].ID, map[string]any{"decision": "allow", "always": always},
			&said) {
			t.Fatalf("it cannot be decided: %s", s.log)
		}
	}
	a, b := m.services[0], m.services[1]

	feed, err := http.NewRequestWithContext(t.Context(), "GET", b.base+"/api/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	feed.Header.Set("Authorization", "Bearer "+servedKey)
	stream, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(feed)
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan string, 1)
	go func() {
		defer close(heard)
		defer stream.Body.Close()
		for lines := bufio.NewScanner(stream.Body); lines.Scan(); {
			if strings.Contains(lines.Text(), `"run":"run_`) {
				heard <- lines.Text()
				return
			}
		}
	}()
	run := begin(a, "first")
	decide(b, true)
	ends(b, run)
	select {
	case line := <-heard:
		if !strings.Contains(line, run.ID) {
			t.Errorf("a page at the other service hears %q", line)
		}
	case <-time.After(patience):
		t.Error("a page at the other service hears of no run")
	}
	ends(a, begin(a, "first")) // it is not asked about any more
	ends(b, begin(b, "first"))

	waits := begin(a, "second")
	await(t, "it asks", func() bool {
		return b.call(t, "GET", "runs/"+waits.ID, nil, &waits) && waits.State == "waiting"
	})
	for i, s := range m.services {
		s.end(t)
		m.services[i] = m.start(t, i, "WIELD_TEST_NATS=")
	}
	a, b = m.services[0], m.services[1]
	a.meets(t, 2)
	b.meets(t, 2)
	decide(b, false)
	ends(a, waits)
	ends(a, begin(b, "first"))
	if got := m.effects(); strings.Count(got, "asks 1\n") != 4 || strings.Count(got, "asks 2\n") != 1 {
		t.Errorf("the tools did %q", got)
	}

	taken := func(s *server, every time.Duration) (n int) { // until the limit is met
		for ; n < 100; n++ {
			v := &visit{server: s}
			body := map[string]any{"model": "plain",
				"messages": []any{map[string]string{"role": "user", "content": "hello"}}}
			if v.status(t, "POST", "/v1/chat/completions", body,
				"Authorization: Bearer "+oneKey) == http.StatusTooManyRequests {
				break
			}
			time.Sleep(every)
		}
		return n
	}
	if n := taken(a, 0); n < 40 || n == 100 {
		t.Errorf("a service takes %d requests of a key that may make 40 a minute", n)
	}
	if n := taken(b, 100*time.Millisecond); n >= 20 { // it is told twice a second, and would take 40
		t.Errorf("the other service takes %d requests of the same minute", n)
	}
	for _, s := range m.services {
		s.end(t)
	}
}
