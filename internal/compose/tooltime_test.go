package compose

import (
	"testing"
	"time"

	"wield/internal/config"
)

// TestToolTimes: a tool that needs longer than others has its own time, unless the configuration says another one.
func TestToolTimes(t *testing.T) {
	c := config.Default()
	c.Tools.Root = t.TempDir()
	box, err := OpenToolbox(c, ToolEnvironment{})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	c.Tools.Builtin = map[string]config.Builtin{"run_tests": {Mode: "ro", Timeout: config.Duration(90 * time.Second)}}
	changed, err := OpenToolbox(c, ToolEnvironment{})
	if err != nil {
		t.Fatal(err)
	}
	defer changed.Close()
	for _, tt := range []struct {
		box  *Toolbox
		name string
		want time.Duration
	}{
		{box, "read_file", time.Minute},
		{box, "command_exec", 5 * time.Minute},
		{box, "run_tests", 5 * time.Minute},
		{changed, "run_tests", 90 * time.Second},
	} {
		e, ok := tt.box.Registry.Lookup(tt.name)
		if !ok || e.Guard.Timeout != tt.want {
			t.Errorf("%s has %v, want %v", tt.name, e.Guard.Timeout, tt.want)
		}
	}
}
