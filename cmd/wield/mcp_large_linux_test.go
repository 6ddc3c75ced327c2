package main

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// TestServeMCPLarge measures the memory of a call with 8 MiB of arguments, that of the client among it. Only with
// WIELD_COST=1, since it wants a quiet machine.
func TestServeMCPLarge(t *testing.T) {
	if os.Getenv("WIELD_COST") == "" {
		t.Skip("requests of 8 MiB are not measured: WIELD_COST is not set")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "wield.yaml")
	writeFile(t, file, "wield: config/v1\ndata: "+dir+"\nkeys: [{name: ada, secret: env:ADA}]\n"+
		"backends: {s: {kind: script, scenario: demo}}\nmodels: {m: {backend: s}}\n"+
		"tools: {builtin: {calculator: {enabled: true}}}\nmcp: {serve: {enabled: true, tools: [calculator]}}\n")
	env := map[string]string{"ADA": "ada-key-that-is-long-enough"}
	s := start(t, func(name string) string { return env[name] }, "--config", file)
	session, err := mcpClient(t, s.base+"/mcp", "Bearer ada-key-that-is-long-enough")
	if err != nil {
		t.Fatal(err)
	}
	if text := mcpSaid(t, session, "calculator", `{"expression":"1+1"}`); text != "2" {
		t.Fatal(text)
	}
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Skip("peak memory cannot be reset:", err)
	}
	before := peak(os.Getpid())
	text := mcpSaid(t, session, "calculator", `{"expression":"`+strings.Repeat("1+", 4<<20-1<<16)+`1"}`)
	most := peak(os.Getpid()) - before
	if !strings.Contains(text, "may have") || len(text) > 1000 {
		t.Errorf("answer of %d bytes: %.200s", len(text), text)
	}
	if t.Logf("%d MB", most/1e6); most > 200e6 {
		t.Errorf("at most 200 MB, not %d", most/1e6)
	}
	session.Close()
}
