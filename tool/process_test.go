package tool

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWritable(t *testing.T) {
	for name, test := range map[string]struct {
		change func(c *Call)
		want   []string
	}{
		"plain":     {func(*Call) {}, []string{"/work", "/more", "/tmp/x"}},
		"read-only": {func(c *Call) { c.Tool.Facts.ReadOnly = true }, []string{"/tmp/x"}},
		"mode ro":   {func(c *Call) { c.Guard = &Guard{} }, []string{"/tmp/x"}},
		"mode rw":   {func(c *Call) { c.Guard = &Guard{Mode: ModeRW} }, []string{"/work", "/more", "/tmp/x"}},
	} {
		c := &Call{Tool: &Tool{}, Root: "/work", Temp: "/tmp/x"}
		c.Host().Writable = []string{"/more"}
		test.change(c)
		if got := c.Command("true").Writable; strings.Join(got, " ") != strings.Join(test.want, " ") {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// What programs keep lasts. Calls that change nothing have a cache of their own, and so has what cannot last.
func TestKeep(t *testing.T) {
	root, temp, cache := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "builds", "one")
	for _, tt := range []struct {
		name  string
		tool  *Tool
		guard *Guard
		cache string
		want  string
	}{
		{"lasting", &Tool{}, nil, cache, cache},
		{"held to reading", &Tool{}, &Guard{Mode: ModeRO}, cache, filepath.Join(cache, "read-only")},
		{"changes nothing", &Tool{Facts: Facts{ReadOnly: true}}, nil, cache,
			filepath.Join(cache, "read-only")},
		{"none that lasts", &Tool{}, nil, "", filepath.Join(temp, "cache")},
		{"cannot be made", &Tool{}, nil, filepath.Join(root, "file", "x"), filepath.Join(temp, "cache")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(root, "file"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			c := &Call{Tool: tt.tool, Guard: tt.guard, Root: root, Dir: root, Temp: temp}
			c.Host().Cache = tt.cache
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
