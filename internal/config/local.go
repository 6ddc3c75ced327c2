package config

import (
	"maps"
	"slices"

	"wield/tool/builtin/local"
)

// LocalActions configures the tools read, edit and create, and the executors. Their keys are those of lumo-tamer.
type LocalActions struct {
	Enabled   bool                `key:"enabled" doc:"Offer the actions read, edit, create, bash, python and sh, in mode rw. tools.builtin takes precedence."`
	FileReads FileReads           `key:"fileReads" doc:"Reading of files."`
	Executors map[string][]string `key:"executors" doc:"Program and arguments that run code, by language of the block. An empty list removes one."`
	Undo      int                 `key:"undo" min:"0" doc:"Actions that can be undone."`
}

// FileReads configures read.
type FileReads struct {
	Enabled     bool `key:"enabled" doc:"Allow read."`
	MaxFileSize Size `key:"maxFileSize" min:"1" max:"10MiB" doc:"Largest file that is read."`
}

const keptActions = 200

func defaultLocal() LocalActions {
	l := LocalActions{FileReads: FileReads{Enabled: true, MaxFileSize: local.DefaultMaxRead},
		Executors: map[string][]string{}, Undo: keptActions}
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
