package compose

import (
	"wield/tool/builtin/local"

	"maps"
	"path/filepath"
	"slices"

	"wield/internal/config"
	"wield/tool/undo"
)

// UndoDir is the name of the directory, in the data directory, with what undoes actions.
const UndoDir = "undo"

// localOptions returns what the local tools are made of.
func localOptions(c *config.Config, getenv func(string) string) local.Options {
	l := &c.Tools.Local
	o := local.Options{MaxRead: int64(l.FileReads.MaxFileSize), NoReads: !l.FileReads.Enabled}
	for _, name := range slices.Sorted(maps.Keys(l.Executors)) {
		if argv := l.Executors[name]; len(argv) > 0 {
			o.Executors = append(o.Executors, local.Executor{Name: name, Argv: slices.Clone(argv)})
		}
	}
	if dir := c.DataDir(getenv); dir != "" && l.Undo > 0 {
		o.Undo = &undo.Log{Dir: filepath.Join(dir, UndoDir), Keep: l.Undo}
	}
	return o
}
