package config

import (
	"maps"
	"slices"

	"wield/tool/builtin/local"
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

const keptActions = 200

func defaultLocal() LocalActions {
	l := LocalActions{FileReads: FileReads{Enabled: true, MaxFileSize: local.DefaultMaxRead}, Executors: map[string][]string{}, Undo: keptActions}
	for _, e := range local.DefaultExecutors() {
		l.Executors[e.Name] = e.Argv
	}
	return l
}

func (l *LocalActions) check(d *decoder) {
	for _, name := range slices.Sorted(maps.Keys(l.Executors)) {
		e := local.Executor{Name: name, Argv: l.Executors[name]}
		if len(e.Argv) == 0 {
			continue
		}
		if err := e.Check(); err != nil {
			d.at("tools.localActions.executors."+name, "%v", err)
		}
	}
}
