package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/internal/cli"
	"wield/internal/config"
)

// TestFirstPolicy: a first configuration with the policy for everyday work can be read, and has it.
func TestFirstPolicy(t *testing.T) {
	file := filepath.Join(t.TempDir(), "wield.yaml")
	if err := os.WriteFile(file, []byte(firstText(nil, true)), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := config.Load(config.Options{File: file, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	def, err := r.PolicyDefinition("default")
	if err != nil || len(def.Rules) < 10 {
		t.Errorf("%d rules, %v", len(def.Rules), err)
	}
	if strings.Contains(firstText(nil, false), "policies:") {
		t.Error("the policy stands there unasked")
	}
}

// TestNobodyAtNullDevice: a program started without an input, as by cron or a container, is asked nothing.
func TestNobodyAtNullDevice(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if onTerminal(&cli.App{Stdin: null, Getenv: func(string) string { return "" }}) {
		t.Error("the null device is taken for a person")
	}
}
