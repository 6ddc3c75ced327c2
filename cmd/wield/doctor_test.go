package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wield/internal/capture"
	"wield/internal/doctor"
)

// TestPrefixes: doctor names each client of the captures on disk, and quotes the worst change at the front of its
// prompts.
func TestPrefixes(t *testing.T) {
	dir := t.TempDir()
	lines := []string{
		`{"key":"ada","model":"m"}`,
		`{"key":"ada","model":"m","prefix":{"share":1}}`,
		`{"key":"ada","model":"m","prefix":{"share":0.5,"at":40,"where":"system, line 2","line":"Now it is 12:01"}}`,
		`{"key":"ada","model":"m","prefix":{"share":0.9,"at":90,"where":"user, line 1","line":"later"}}`,
		`{"model":"m","prefix":{"share":0.99}}`,
		`{"key":"ada","mod`, // cut short by a full disk
	}
	if err := os.WriteFile(filepath.Join(dir, capture.File), []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	found := prefixes(dir)
	want := []doctor.Finding{
		{About: "client ada of m", State: doctor.Note,
			Says: "2 of 3 prompts did not begin with the previous prompt; at worst, " +
				"50 % of the previous prompt is at the front of this one; the first difference is at byte 40 (system, line 2): Now it is 12:01"},
		{About: "client without a key of m", State: doctor.OK, Says: "1 prompt began with the previous prompt"},
	}
	if len(found) != len(want) {
		t.Fatalf("got %v", found)
	}
	for i, w := range want {
		if f := found[i]; f.About != w.About || f.State != w.State || f.Says != w.Says ||
			(f.Fix == "") != (w.State == doctor.OK) {
			t.Errorf("got %+v, want %+v", f, w)
		}
	}
	if found := prefixes(t.TempDir()); found != nil {
		t.Errorf("without captures: %v", found)
	}
}
