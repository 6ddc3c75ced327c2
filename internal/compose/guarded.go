package compose

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"wield/internal/config"
	"wield/tool"
	"wield/tool/guarded"
	"wield/tool/runner"
)

// protect names what no process of a tool changes: what decides about the tools.
func (t *Toolbox) protect(file string) {
	list := append(t.programFiles(), t.Dirs...)
	if file != "" {
		if file, err := filepath.Abs(file); err == nil {
			list = append(list, file)
		}
	}
	if t.State != "" {
		dir := filepath.Dir(t.State)
		for _, name := range []string{ToolStateFile, config.GuardedFile, MemoryFile, config.PinsFile} {
			list = append(list, filepath.Join(dir, name))
		}
	}
	if self, err := os.Executable(); err == nil {
		list = append(list, self)
	}
	data := ""
	if t.State != "" {
		data = filepath.Dir(t.State)
	}
	var ways []string
	for _, p := range list {
		ways = append(ways, guarded.Way(p)...)
	}
	slices.Sort(ways)
	list = slices.Compact(ways)
	t.Runner = t.Runner.With(func(s *runner.Settings) {
		s.Sandbox.Protected, s.Sandbox.Guarded, s.Sandbox.Data = list,
			t.Held, data
	})
}

// agree notes what the files of the enabled tools are when they are first seen, and tells which have changed
// since, and what is held back.
func (t *Toolbox) agree() []error {
	if t.Held == nil {
		return nil
	}
	var errs []error
	for _, e := range t.Registry.Entries() {
		if e.State == tool.StateDisabled || e.Tool.Files == "" {
			continue
		}
		agreed, err := t.Held.Agreed(e.Tool.Files)
		switch {
		case err != nil:
			return append(errs, err)
		case !agreed:
			errs = append(errs,
				fmt.Errorf(
					"tool %s is another than was agreed to, and asks before it runs: look at %s; wield tool accept "+
						"%s agrees to it", e.Tool.Name(), e.Tool.Files, e.Tool.Name()))
		}
	}
	held, err := t.Held.List()
	if err != nil {
		return append(errs, err)
	}
	for _, h := range held {
		errs = append(errs, config.PendingError(h))
	}
	return errs
}

// Files returns the files that an argument means, which is the name of a tool or a path; "" if there are none.
func (t *Toolbox) Files(arg string) string {
	if e, ok := t.Registry.Lookup(arg); ok && e.Tool.Files != "" {
		return e.Tool.Files
	}
	path, err := filepath.Abs(arg)
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(real, filepath.Base(path))
	}
	if _, held, _ := t.Held.Pending(path); held {
		return path
	}
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	return path
}
