package script

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"wield/chat"
)

// A Live is a scenario file that may change while it is played. Each request sees the newest version that loads: a
// file that does not load leaves the old version in force and reports why, a file that is gone leaves nothing to
// answer from.
type Live struct {
	name string // of the file
	load *loader
	stat func(name string) (fs.FileInfo, error)
	log  *slog.Logger

	mu     sync.Mutex
	cur    *Scenario
	stamps map[string]stamp // of the files of cur, and of the file that failed to load
	err    error            // of the last attempt to load
}

type stamp struct {
	size int64
	time time.Time
}

// Open loads the scenario in the file and follows its changes. A nil log discards reports.
func Open(name string, log *slog.Logger) (*Live, error) {
	return open(&Live{name: name, load: osLoader(), stat: os.Stat, log: log})
}

// OpenFS is Open in a file system.
func OpenFS(fsys fs.FS, name string, log *slog.Logger) (*Live, error) {
	return open(&Live{name: name, load: fsLoader(fsys),
		stat: func(n string) (fs.FileInfo, error) { return fs.Stat(fsys, n) }, log: log})
}

func open(l *Live) (*Live, error) {
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	l.reload()
	if l.cur == nil {
		return nil, l.err
	}
	return l, nil
}

// Scenario returns the version in force. It fails with a 404 when the file is gone.
func (l *Live) Scenario() (*Scenario, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed() {
		l.reload()
	}
	if errors.Is(l.err, fs.ErrNotExist) {
		return nil, &chat.Error{Kind: chat.ErrNotFound, Status: 404, Code: "scenario_not_found", Cause: l.err,
			Message: fmt.Sprintf("the scenario file %s is gone", l.name)}
	}
	return l.cur, nil
}

// Err returns why the newest version of the file does not load, or nil.
func (l *Live) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Name returns the name of the file.
func (l *Live) Name() string { return l.name }

// changed compares the files with what they were when they were last read.
func (l *Live) changed() bool {
	for name, old := range l.stamps {
		if l.stamp(name) != old {
			return true
		}
	}
	return false
}

func (l *Live) stamp(name string) stamp {
	info, err := l.stat(name)
	if err != nil {
		return stamp{size: -1}
	}
	return stamp{info.Size(), info.ModTime()}
}

func (l *Live) reload() {
	// Stamps are taken before reading: a change in between is seen at the next request.
	stamps := map[string]stamp{l.name: l.stamp(l.name)}
	for name := range l.stamps {
		stamps[name] = l.stamp(name)
	}
	s, err := l.load.load(l.name)
	if err != nil {
		l.err, l.stamps = err, stamps
		switch {
		case l.cur == nil:
		case errors.Is(err, fs.ErrNotExist):
			l.log.Warn("scenario file is missing", "file", l.name)
		default:
			l.log.Warn("cannot load the scenario; keeping the old version", "file", l.name, "error", err)
		}
		return
	}
	if l.cur != nil {
		l.log.Info("scenario reloaded", "file", l.name)
	}
	l.stamps = map[string]stamp{}
	for _, name := range s.Files {
		if st, ok := stamps[name]; ok {
			l.stamps[name] = st
		} else {
			l.stamps[name] = l.stamp(name)
		}
	}
	l.cur, l.err = s, nil
}

// Model returns a model that answers from the version in force.
func (l *Live) Model(o Options) *Model { return NewModel(NewPlayer(l.Scenario, o), o) }

// Find opens the scenario that a command line names: a file, or the name of one of the catalogue.
func Find(cat fs.FS, name string, log *slog.Logger) (*Live, error) {
	if filepath.Ext(name) != "" || filepath.Base(name) != name {
		return Open(name, log)
	}
	return FromCatalogue(cat, name, log)
}
