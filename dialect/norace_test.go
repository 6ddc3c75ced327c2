//go:build !race

package dialect_test

// sample is how many of the tests there is one that runs: all of them do.
const sample = 1
