//go:build race

package dialect_test

// sample is how many of the tests there is one that runs. A decoder is used by one goroutine; what several share is a
// compiled set and a cache, which each of them uses.
const sample = 30
