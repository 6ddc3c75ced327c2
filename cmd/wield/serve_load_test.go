package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"wield/internal/testlevel"
)

// TestServeEndsUnderLoad ends a service with a signal while it reads large requests, streams slow answers and waits for
// bodies that never come. It ends in good order, and every client has got a whole answer or an error.
func TestServeEndsUnderLoad(t *testing.T) {
	testlevel.Long(t)
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dir := t.TempDir()
	cmd := exec.CommandContext(ctx, self, "serve", "--listen", "127.0.0.1:0", "--log-format", "json")
	cmd.Args[0] = "wield" // which TestMain runs as the program
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, quickEnd, "WIELD_TIMEOUTS_DRAIN=2s"}
	out := &lockedBuffer{}
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var base string
	await(t, "the service listens", func() bool {
		if m := listens.FindStringSubmatch(out.String()); m != nil {
			base = m[1]
		}
		return base != ""
	})
	message := `{"role":"user","content":"What is the weather in Oslo?"}`
	large := `{"model":"demo","stream":true,"messages":[` +
		strings.Repeat(message+`,{"role":"assistant","content":"x"},`, 3_000) + message + `]}`
	var busy atomic.Int64
	var clients sync.WaitGroup
	stop := make(chan struct{})
	post := func(body io.Reader) (answered bool) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v1/chat/completions", body)
		if err != nil {
			t.Error(err)
			return false
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false // refused, or cut before an answer: an error that the client sees
		}
		defer resp.Body.Close()
		busy.Add(1)
		text, err := io.ReadAll(resp.Body)
		if resp.StatusCode == http.StatusOK && err == nil && !whole.Match(text) {
			t.Errorf("an answer ends like a whole one, and is none: %q", text[max(0, len(text)-200):])
		}
		return err == nil
	}
	for n := range 12 {
		clients.Go(func() {
			if n%4 == 3 {
				hung, w := io.Pipe()
				go func() { _, _ = w.Write([]byte(`{"model":"demo",`)); <-stop; w.Close() }()
				post(hung)
				return
			}
			for post(strings.NewReader(large)) {
			}
		})
	}
	await(t, "answers arrive", func() bool { return busy.Load() >= 12 })
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	close(stop)
	clients.Wait()
	if err != nil {
		t.Errorf("%v\n%s", err, &stderr)
	}
	checkLog(t, stderr.String())
}

// whole matches answers that have ended: as they should, or with an error that says so.
var whole = regexp.MustCompile(`(?s)(data: \[DONE\]|"error":\s*\{.*)\s*$`)
