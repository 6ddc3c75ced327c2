package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Release is the version that the changelog names last.
const Release = "0.1.0-dev"

// A build says what program this is.
type build struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Time    string `json:"time,omitempty"` // of the commit
	Changed bool   `json:"changed,omitempty"`
	Go      string `json:"go"`
	System  string `json:"system"`
}

// ThisBuild reads what the Go tool recorded when it built the program.
func ThisBuild() build {
	b := build{Version: Release, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Changed = s.Value == "true"
		}
	}
	return b
}

func (b build) String() string {
	s := "wield " + b.Version
	if b.Commit != "" {
		s += " (" + b.Commit[:min(12, len(b.Commit))]
		if b.Changed {
			s += ", changed"
		}
		s += ")"
	}
	return fmt.Sprintf("%s %s %s", s, b.Go, b.System)
}
