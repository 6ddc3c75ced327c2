//go:build !linux

package sandbox_test

import (
	"errors"
	"testing"

	"wield/tool/sandbox"
)

func otherMains() { sandbox.Main() }

// TestLevelsElsewhere checks that walls are refused where there are none.
func TestLevelsElsewhere(t *testing.T) {
	for _, l := range []sandbox.Level{sandbox.Workspace, sandbox.Strict} {
		_, err := sandbox.Run(t.Context(), sandbox.Command{Argv: []string{"true"}, Level: l})
		var e *sandbox.Error
		if !errors.Is(err, sandbox.ErrLevel) || !errors.As(err, &e) || len(e.Missing) == 0 {
			t.Errorf("%s: %v", l, err)
		}
	}
}
