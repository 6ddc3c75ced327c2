package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"wield/chat"
	"wield/internal/cluster"
	"wield/internal/worker"
	"wield/tool"
	"wield/tool/runner"
)

// pair starts two services that know each other, of which the second one leaves and drains, and a server where
// workers of the first one connect.
func pair(t *testing.T) (first *cluster.Cluster, address string) {
	t.Helper()
	start := func(name string, j cluster.Join, load cluster.Load) *cluster.Cluster {
		c, err := cluster.Start(cluster.Options{Name: name, Version: "0.9.1", Join: j,
			Load: func() cluster.Load { return load }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
		return c
	}
	first = start("alpha", cluster.Join{Listen: "127.0.0.1:0", Secret: "s"},
		cluster.Load{Requests: 12, Runs: 3, Lag: 41 * time.Millisecond, Config: "5f1c09aa"})
	start("beta <b>", cluster.Join{Listen: "127.0.0.1:0", Secret: "s", Peers: []string{first.Address()}},
		cluster.Load{Requests: 1, Lag: 1500 * time.Millisecond, Config: "0d0d0d0d", Draining: true})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first.Serve(w, r, "build", func() bool { return true })
	}))
	t.Cleanup(server.Close)
	return first, server.URL
}

// offer starts a worker with one tool that runs until it is cancelled, and returns what tells it to end.
func offer(t *testing.T, address, name string) (leave func()) {
	t.Helper()
	tools := &runner.Registry{}
	if err := tools.Add(&tool.Tool{Definition: chat.Tool{Name: "run_tests", Description: "Runs the tests.",
		Parameters: json.RawMessage(`{"type":"object"}`)},
		Handler: tool.HandlerFunc(func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		})}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() {
		over <- worker.Run(ctx, worker.Options{Connect: address, Name: name, Version: "0.9.2", Concurrent: 1,
			Drain: time.Minute, Labels: map[string]string{"disk": "ssd"}, Runner: runner.New(runner.Settings{}),
			Tools: tools})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	return stop
}

// TestSettingsCluster: the settings show services, workers, waiting calls, leases and lag of a real cluster as they
// change, and say how to get one where there is none.
func TestSettingsCluster(t *testing.T) {
	b := browser(t)
	w := newWorld(t, shop, shopFiles)
	s := w.open(b, adminKey, "#/settings/cluster")
	s.wait("[role=alert]", "workers.enabled")

	first, address := pair(t)
	w.cluster.Store(first)
	s.reload()
	s.wait("table", "alpha", "answers you", "ready", "0.9.1", "12", "41 ms", "5f1c09aa", "beta <b>", "draining",
		"1.50 s")
	s.wait(".settings", "No workers are connected", "wield worker --connect URL")
	var row []string
	s.evaluate(&row,
		`[...document.querySelectorAll('tbody tr')[0].cells].map((c) => c.dataset.title + ' ' + c.innerText)`)
	for i, want := range map[int]string{4: "Workers 0", 5: "Requests 12", 6: "Run leases 3", 7: "Waiting calls 0",
		8: "Journal lag 41 ms"} {
		if len(row) != 10 || row[i] != want {
			t.Errorf("the row of a service is %q, without %q", row, want)
		}
	}

	leave := offer(t, address, "rack <i>1")
	s.wait("table", "build/rack <i>1", "0.9.2", "0 of 1", "disk=ssd", "run_tests")
	pool := cluster.Pool{Name: "build", Keys: []string{"build"}}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{}, 2)
	for range 2 { // one runs, the other one waits for it
		go func() {
			defer func() { ended <- struct{}{} }()
			registry := &runner.Registry{}
			if err := registry.Add(first.Tool(pool, first.Offers(&pool)[0])); err != nil {
				t.Error(err)
				return
			}
			_, _ = runner.New(runner.Settings{Tools: registry}).Call(ctx, "build__run_tests", "{}") // it is cancelled
		}()
	}
	s.wait("table", "1 of 1")
	s.wait(".caution", "Calls waiting for a worker: 1.")
	leave() // it waits for its call
	s.wait("table", "leaving")
	s.pictures("settings-cluster")
	for _, wide := range []int{1280, 1024} {
		s.view(wide, 800, false)
		var over [2]int
		if s.call(&over, "wide"); over[0] > over[1] {
			t.Errorf("at %d pixels the view is %d wide", wide, over[0])
		}
		s.picture("settings-cluster-" + map[int]string{1280: "1280", 1024: "1024"}[wide])
	}
	stop()
	<-ended
	<-ended
	s.wait(".settings", "No workers are connected")
	s.gone(".caution")
}
