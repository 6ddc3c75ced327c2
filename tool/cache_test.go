package tool

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What programs keep lasts. Calls that change nothing have a cache of their own, and so has what cannot last.
func TestKeep(t *testing.T) {
	root, temp, cache := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "builds", "one")
	for _, tt := range []struct {
		name  string
		tool  *Tool
		guard *Guard
		box   Box
		want  string
	}{
		{"lasting", &Tool{}, nil, Box{Cache: cache}, cache},
		{"held to reading", &Tool{}, &Guard{Mode: ModeRO}, Box{Cache: cache}, filepath.Join(cache, "read-only")},
		{"changes nothing", &Tool{Facts: Facts{ReadOnly: true}}, nil, Box{Cache: cache},
			filepath.Join(cache, "read-only")},
		{"none that lasts", &Tool{}, nil, Box{}, filepath.Join(temp, "cache")},
		{"cannot be made", &Tool{}, nil, Box{Cache: filepath.Join(root, "file", "x")}, filepath.Join(temp, "cache")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(root, "file"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			c := &Call{Tool: tt.tool, Guard: tt.guard, Root: root, Dir: root, Temp: temp, box: tt.box}
			cmd := c.Command("true")
			c.Keep(&cmd)
			env := strings.Join(cmd.Env, "\n")
			if want := "GOCACHE=" + filepath.Join(tt.want, "gocache"); !strings.Contains(env, want) {
				t.Errorf("the variables are\n%s\nwithout %s", env, want)
			}
			may := cmd.Writable
			lasting := tt.want != filepath.Join(temp, "cache")
			if slices.Contains(may, tt.want) != lasting || slices.Contains(may, cache) != (tt.want == cache) ||
				!slices.Contains(may, temp) {
				t.Errorf("the program may write to %q", may)
			}
		})
	}
}
