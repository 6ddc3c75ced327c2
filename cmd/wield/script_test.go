package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"wield/internal/cli"
)

// script serve prints where it listens, answers there, and ends when it is told to, though a reply is under way.
func TestScriptServe(t *testing.T) {
	defer nobodyLeft(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	in, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"script", "serve", "--listen", "127.0.0.1:0", "--fault",
			"{on: anything, do: {stall: 1h}}", "demo", "weeklyLimit"},
			&cli.App{Stdin: strings.NewReader(""), Stdout: out, Stderr: io.Discard,
				Getenv: func(string) string { return "" }})
		out.Close()
	}()
	lines := bufio.NewScanner(in)
	var url string
	for lines.Scan() && !strings.Contains(lines.Text(), "weeklyLimit") {
		if u := regexp.MustCompile(`http://[0-9.:]+`).FindString(lines.Text()); u != "" {
			url = u
		}
	}
	go io.Copy(io.Discard, in)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func(model, text string) *http.Response {
		t.Helper()
		res, err := client.Post(url+"/v1/chat/completions", "application/json",
			strings.NewReader(`{"model":"`+model+`","stream":true,"messages":[{"role":"user","content":"`+text+`"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	res := ask("weeklyLimit", "hi")
	body, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if res.StatusCode != 429 || !strings.Contains(string(body), "Code: 2028") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	stalled := ask("demo", "hello")
	cancel()
	if code := <-ended; code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
	if _, err := io.ReadAll(stalled.Body); err == nil {
		t.Error("the reply under way was not cut")
	}
	stalled.Body.Close()
}
