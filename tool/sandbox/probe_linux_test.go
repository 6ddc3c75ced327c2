package sandbox

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestMeans checks on machines of all kinds that a level is given or refused, and never lowered.
func TestMeans(t *testing.T) {
	const wrap = "/usr/bin/bwrap"
	for _, c := range []struct {
		name  string
		facts facts
		level Level
		want  Level  // empty: refused
		needs string // what is missing then
	}{
		{"all", facts{7, true, wrap}, Workspace, Workspace, ""},
		{"all", facts{7, true, wrap}, Strict, Strict, ""},
		{"no bubblewrap", facts{7, true, ""}, Workspace, Workspace, ""},
		{"no bubblewrap", facts{7, true, ""}, Strict, "", "bubblewrap"},
		{"old Landlock", facts{4, true, wrap}, Workspace, Strict, ""},
		{"old Landlock alone", facts{4, true, ""}, Workspace, "", "landlock ABI 6 (there is 4)"},
		{"no Landlock", facts{0, true, wrap}, Strict, Strict, ""},
		{"no seccomp", facts{7, false, wrap}, Workspace, "", "seccomp"},
		{"no seccomp", facts{7, false, wrap}, Strict, "", "seccomp"},
		{"nothing", facts{}, Workspace, "", "landlock"},
		{"nothing", facts{}, Strict, "", "bubblewrap"},
		{"nothing", facts{}, Limits, Limits, ""},
		{"nothing", facts{}, None, None, ""},
	} {
		got, with, err := c.facts.means(c.level)
		if got != c.want || (err == nil) != (c.want != "") || got == Strict && with == "" {
			t.Errorf("%s, %s: %q, %q, %v; want %q", c.name, c.level, got, with, err, c.want)
		}
		if err == nil {
			if !got.atLeast(c.level) {
				t.Errorf("%s, %s: lowered to %s", c.name, c.level, got)
			}
			continue
		}
		var e *Error
		if !errors.Is(err, ErrLevel) || !errors.As(err, &e) ||
			!slices.ContainsFunc(e.Missing, func(m Missing) bool {
				return strings.HasPrefix(m.What, c.needs) && m.Fix != ""
			}) {
			t.Errorf("%s, %s: %v does not say that %s is missing and how to get it", c.name, c.level, err, c.needs)
		}
	}
}
