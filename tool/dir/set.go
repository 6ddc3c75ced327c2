package dir

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"wield/tool"
)

// A Set is the tools of some directories, as they are now. The zero value with directories is ready. It is
// used by one goroutine at a time.
type Set struct {
	Options
	Dirs []string // absolute

	// Registries are files with the registry of a directory of LLF, by directory, where it does not lie in it.
	Registries map[string]string

	python *interpreter
	units  map[string]*loaded // by path
	lists  map[string][]unit  // the last that were found in each directory

	registers map[string]*loadedRegistry // by file
	asked     map[string]*asking         // programs that have not said yet what they are, by path
}

// patience limits how long a list waits for programs to say what they are. They are asked for longer than that,
// and the next list has them.
const patience = 5 * time.Second

// An asking is a unit that is being loaded.
type asking struct {
	stamp string
	done  chan struct{}
	tools []*tool.Tool
	err   error
}

var errAsking = errors.New("it has not said yet what it is")

// loaded holds the tools of a unit, or why there are none.
type loaded struct {
	stamp string
	tools []*tool.Tool
	err   error
}

// Load returns the tools that there are now, and what is wrong with others. What has not changed since it was
// loaded before is not read again, and is the same *tool.Tool. What cannot be loaded any more stays as it
// was.
func (s *Set) Load(ctx context.Context) ([]*tool.Tool, []error) {
	if s.units == nil {
		if s.python == nil {
			s.python = &interpreter{}
		}
		s.units, s.lists = map[string]*loaded{}, map[string][]unit{}
	}
	var tools []*tool.Tool
	var errs []error
	var units []unit
	found := map[string]bool{}
	for _, dir := range s.Dirs {
		list, err := s.list(dir)
		if err != nil {
			errs = append(errs, err)
		}
		if list == nil && err != nil {
			list = s.lists[dir] // a directory that cannot be read for a moment loses nothing
		}
		s.lists[dir] = list
		for _, u := range list {
			if !found[u.path] {
				found[u.path] = true
				units = append(units, u)
				s.start(ctx, u)
			}
		}
	}
	waits, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, u := range units {
		l := s.unit(ctx, waits, u)
		tools = append(tools, l.tools...)
		if l.err != nil {
			errs = append(errs, l.err)
		}
	}
	for path := range s.units {
		if !found[path] {
			delete(s.units, path)
		}
	}
	return tools, errs
}

// list finds the units of a directory.
func (s *Set) list(dir string) ([]unit, error) {
	files, err := s.files(dir)
	if err != nil {
		return nil, err
	}
	tools, err := s.llf(dir)
	return append(files, tools...), err
}

// start begins to load a program that has changed, beside the others.
func (s *Set) start(ctx context.Context, u unit) {
	before, a := s.units[u.path], s.asked[u.path]
	if !u.alone || before != nil && before.stamp == u.stamp || a != nil && a.stamp == u.stamp {
		return
	}
	a = &asking{stamp: u.stamp, done: make(chan struct{})}
	if s.asked == nil {
		s.asked = map[string]*asking{}
	}
	s.asked[u.path] = a
	ctx = context.WithoutCancel(ctx) // it has a time of its own
	go func() {
		defer close(a.done)
		a.tools, a.err = u.load(ctx)
	}()
}

// started returns what a program that was started has become, or errAsking if it takes longer than somebody waits.
func (s *Set) started(waits context.Context, u unit) ([]*tool.Tool, error) {
	a := s.asked[u.path]
	select {
	case <-a.done:
	case <-waits.Done():
		select {
		case <-a.done:
		default:
			return nil, &Error{File: u.path, Msg: errAsking.Error(), cause: errAsking}
		}
	}
	delete(s.asked, u.path)
	return a.tools, a.err
}

// unit loads one unit, if it has changed. A program that does not say in time what it is does not hold up the others.
func (s *Set) unit(ctx, waits context.Context, u unit) *loaded {
	before := s.units[u.path]
	if before != nil && before.stamp == u.stamp {
		return before
	}
	var tools []*tool.Tool
	var err error
	if u.alone {
		tools, err = s.started(waits, u)
	} else {
		tools, err = u.load(ctx)
	}
	now := &loaded{u.stamp, tools, err}
	switch {
	case ctx.Err() != nil && err != nil, errors.Is(err, errAsking):
		if now.stamp = ""; before != nil { // nothing is known about it
			now.tools = before.tools
		}
	case errors.Is(err, errNotExecutable): // it is a tool no longer
	case err != nil && before != nil && len(before.tools) > 0:
		for _, t := range before.tools {
			if !slices.ContainsFunc(tools, func(new *tool.Tool) bool { return new.Name() == t.Name() }) {
				now.tools = append(now.tools, t)
			}
		}
		now.err = fmt.Errorf("%w; what it was before stays in force", err)
	}
	s.units[u.path] = now
	return now
}
