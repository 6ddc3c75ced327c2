package main

import (
	"os"
	"testing"
)

// TestNobodyAtNullDevice: a program started without an input, as by cron or a container, is asked nothing.
func TestNobodyAtNullDevice(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if onTerminal(&app{stdin: null, getenv: func(string) string { return "" }}) {
		t.Error("the null device is taken for a person")
	}
}
