package sandbox_test

import (
	"strings"
	"testing"

	"wield/tool/sandbox"
)

// TestLeastLimits checks that the smallest limits that are accepted leave the supervisor, and a small program, enough,
// and that the program cannot raise them.
func TestLeastLimits(t *testing.T) {
	for _, l := range levels(t) {
		// The input comes when the supervisor has said that the program runs.
		c := sandbox.Command{Level: l, Stdin: strings.NewReader("go\n"),
			Limits: sandbox.ProcessLimits{Memory: 64 << 20, OpenFiles: 64, Processes: 8, FileSize: 1 << 10}}
		out, exit, err := sh(t, c, "(setsid sleep 1000 &) ; read go; ulimit -Hd; ulimit -Hf; ulimit -Hn; ulimit -Hc")
		if want := "65536\n2\n64\n0\n"; err != nil || exit.Code != 0 || out != want {
			t.Errorf("%s: %+v, %v: the limits are %q, want %q", l, exit, err, out, want)
		}
	}
}
