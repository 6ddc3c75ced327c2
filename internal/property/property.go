// Package property checks properties of code with drawn values.
package property

import (
	"flag"
	"testing"

	"pgregory.net/rapid"
)

// Values are the same in every run, so that a change is never blamed for what a new draw finds. To draw others say
// -rapid.seed 0 on the command line.
func init() {
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
}

// Check checks that prop holds for the values it draws.
func Check(t *testing.T, prop func(*rapid.T)) {
	t.Helper()
	rapid.Check(t, prop)
}
