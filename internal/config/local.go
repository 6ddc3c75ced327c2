package config

import (
	"path/filepath"
	"slices"

	"wield/tool/builtin/local"
	"wield/tool/undo"
)

// LocalActions configures the tools read, edit and create, and the executors. Their keys are those of lumo-tamer.
type LocalActions struct {
	Enabled   bool                `key:"enabled" doc:"Whether they are offered, in mode rw. What tools.builtin says of one of them comes first."`
	FileReads FileReads           `key:"fileReads" doc:"Reading of files."`
	Executors map[string][]string `key:"executors" doc:"Programs that run blocks of code, by the language of the block: the program and its arguments, behind which the code comes. An empty list takes one away."`
	Undo      int                 `key:"undo" min:"0" doc:"Actions that can be undone; 0: nothing is kept for that."`
}

// FileReads configures read.
type FileReads struct {
	Enabled     bool `key:"enabled" doc:"Whether read reads anything."`
	MaxFileSize Size `key:"maxFileSize" min:"1" max:"10MiB" doc:"Size of a file that is read."`
}

// UndoDir is the name of the directory, in the data directory, with what undoes actions.
const UndoDir = "undo"

const keptActions = 200

func defaultLocal() LocalActions {
	l := LocalActions{FileReads: FileReads{Enabled: true, MaxFileSize: local.DefaultMaxRead}, Executors: map[string][]string{}, Undo: keptActions}
	for _, e := range local.DefaultExecutors() {
		l.Executors[e.Name] = e.Argv
	}
	return l
}

func (l *LocalActions) check(d *decoder) {
	for _, name := range sortedKeys(l.Executors) {
		e := local.Executor{Name: name, Argv: l.Executors[name]}
		if len(e.Argv) == 0 {
			continue
		}
		if err := e.Check(); err != nil {
			d.at("tools.localActions.executors."+name, "%v", err)
		}
	}
}

// local returns what the local tools are made of.
func (c *Config) local(getenv func(string) string) local.Options {
	l := &c.Tools.Local
	o := local.Options{MaxRead: int64(l.FileReads.MaxFileSize), NoReads: !l.FileReads.Enabled}
	for _, name := range sortedKeys(l.Executors) {
		if argv := l.Executors[name]; len(argv) > 0 {
			o.Executors = append(o.Executors, local.Executor{Name: name, Argv: slices.Clone(argv)})
		}
	}
	if dir := c.DataDir(getenv); dir != "" && l.Undo > 0 {
		o.Undo = &undo.Log{Dir: filepath.Join(dir, UndoDir), Keep: l.Undo}
	}
	return o
}
