package dir

import (
	"context"
	"fmt"
	"slices"

	"wield/tool"
)

// A Set is the tools of some directories, as they are now. The zero value with directories is ready. It is used by one goroutine
// at a time.
type Set struct {
	Options
	Dirs []string // absolute

	// Registries are files with the registry of a directory of LLF, by directory, where it does not lie in it.
	Registries map[string]string

	python *interpreter
	units  map[string]*loaded // by path
	lists  map[string][]unit  // the last that were found in each directory

	registers map[string]*loadedRegistry // by file
}

// loaded is what came out of a unit.
type loaded struct {
	stamp string
	tools []*tool.Tool
	err   error
}

// Load returns the tools that there are now, and what is wrong with others. What has not changed since it was loaded before is not
// read again, and is the same *tool.Tool. What cannot be loaded any more stays as it was.
func (s *Set) Load(ctx context.Context) ([]*tool.Tool, []error) {
	if s.units == nil {
		if s.python == nil {
			s.python = &interpreter{}
		}
		s.units, s.lists = map[string]*loaded{}, map[string][]unit{}
	}
	var tools []*tool.Tool
	var errs []error
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
			if found[u.path] {
				continue
			}
			found[u.path] = true
			l := s.unit(ctx, u)
			tools = append(tools, l.tools...)
			if l.err != nil {
				errs = append(errs, l.err)
			}
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

// unit loads one unit, if it has changed.
func (s *Set) unit(ctx context.Context, u unit) *loaded {
	before := s.units[u.path]
	if before != nil && before.stamp == u.stamp {
		return before
	}
	tools, err := u.load(ctx)
	now := &loaded{u.stamp, tools, err}
	switch {
	case ctx.Err() != nil && err != nil:
		if now.stamp = ""; before != nil { // nothing is known about it
			now.tools = before.tools
		}
	case err != nil && before != nil && len(before.tools) > 0:
		now.tools = slices.Clone(before.tools)
		now.err = fmt.Errorf("%w; what it was before stays in force", err)
	}
	s.units[u.path] = now
	return now
}
