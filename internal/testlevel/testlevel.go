// Package testlevel says how much of their work tests do. Plain `go test` is for everyday use: tests with thousands of
// inputs take a sample, and tests that wait for time limits or start a dozen services are skipped. WIELD_TEST=all asks
// for everything.
package testlevel

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"
)

// All reports whether everything is asked for.
func All() bool { return os.Getenv("WIELD_TEST") == "all" }

// Every returns how many inputs there are for each that a test should take: 1 if everything is asked for, otherwise n.
// Under the race detector, which learns nothing from more inputs, it is at least 30.
func Every(n int) int {
	switch {
	case Race:
		return max(n, 30)
	case All():
		return 1
	}
	return n
}

// Main runs the tests of a package that allocates little but garbage: collections are rare, unless GOGC is set or a
// benchmark runs.
func Main(m *testing.M) {
	flag.Parse()
	if os.Getenv("GOGC") == "" && flag.Lookup("test.bench").Value.String() == "" {
		debug.SetGCPercent(400)
	}
	m.Run()
}

// Long skips a test unless everything is asked for.
func Long(t testing.TB) {
	t.Helper()
	if !All() {
		t.Skip("takes long: set WIELD_TEST=all")
	}
}
