package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/internal/cli"
)

// TestToolWatch follows a directory: each change is one line.
func TestToolWatch(t *testing.T) {
	dir := t.TempDir()
	config, file := filepath.Join(dir, "wield.yaml"), filepath.Join(dir, "tools", "greet")
	err := errors.Join(os.Mkdir(filepath.Dir(file), 0o755),
		os.WriteFile(config, []byte("wield: config/v1\ntools: {dirs: ["+filepath.Dir(file)+"]}\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out, stdout := io.Pipe()
	problems, stderr := io.Pipe()
	done := make(chan error, 1)
	go func() {
		a := &cli.App{Stdin: strings.NewReader(""), Stdout: stdout, Stderr: stderr, Getenv: func(name string) string {
			return map[string]string{"XDG_STATE_HOME": dir}[name]
		}}
		root := newRootCmd(a)
		root.SetArgs([]string{"tool", "watch", "--config", config, "--every", "10ms"})
		done <- root.ExecuteContext(ctx)
		stdout.Close()
		stderr.Close()
	}()
	lines, faults := bufio.NewScanner(out), bufio.NewScanner(problems)
	next := func(s *bufio.Scanner, want string) {
		t.Helper()
		if !s.Scan() || !strings.Contains(s.Text(), want) {
			t.Fatalf("%q; want %q", s.Text(), want)
		}
	}
	script := func(text string) {
		t.Helper()
		// elsewhere, for whoever looks at the directory meanwhile would find a tool of that name in it as well
		written := filepath.Join(dir, "written")
		if err := errors.Join(os.WriteFile(written, []byte(text), 0o755), os.Rename(written, file)); err != nil {
			t.Fatal(err)
		}
	}
	next(faults, "watching")
	for _, step := range []struct {
		text, out, fault string
	}{
		{"#!/bin/sh\n# description: Greets somebody.\n", "added greet", ""},
		{"#!/bin/sh\n# description: Greets somebody else.\n", "changed greet", ""},
		{"#!/bin/sh\n# description: d\n# param x: y\n", "", "greet:3:"},
	} {
		if script(step.text); step.out != "" {
			next(lines, step.out)
		} else {
			next(faults, step.fault)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	next(lines, "removed greet")
	cancel()
	go io.Copy(io.Discard, problems)
	go io.Copy(io.Discard, out)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
