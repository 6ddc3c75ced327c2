//go:build race

package testlevel

// Race reports whether the race detector watches.
const Race = true
