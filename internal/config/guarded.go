package config

import (
	"fmt"
	"os"
	"path/filepath"

	"wield/tool"
	"wield/tool/guarded"
)

// GuardedFile is the name of the file in the data directory that keeps which tools a person has agreed to,
// and what is held back.
const GuardedFile = "guarded.json"

// protect names what no process of a tool changes: what decides about the tools.
func (t *Toolbox) protect(file string) {
	list := append(t.config.aroundFiles(), t.Dirs...)
	if file != "" {
		if file, err := filepath.Abs(file); err == nil {
			list = append(list, file)
		}
	}
	if t.State != "" {
		dir := filepath.Dir(t.State)
		for _, name := range []string{ToolStateFile, GuardedFile, MemoryFile, PinsFile} {
			list = append(list, filepath.Join(dir, name))
		}
	}
	for i, p := range list {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			list[i] = real
		}
	}
	t.Runner.Sandbox.Protected, t.Runner.Sandbox.Held = list, t.Held
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
			errs = append(errs, fmt.Errorf("tool %s is another than was agreed to, and asks before it runs: look at %s; wield tool accept %s agrees to it", e.Tool.Name(), e.Tool.Files, e.Tool.Name()))
		}
	}
	held, err := t.Held.List()
	if err != nil {
		return append(errs, err)
	}
	for _, h := range held {
		errs = append(errs, HeldError(h))
	}
	return errs
}

// HeldError tells that a file is held back.
func HeldError(h guarded.Held) error {
	return fmt.Errorf("%s was changed by the tool %s and is held back: look at it; wield tool accept %s agrees to it", h.Path, h.By, h.Path)
}

// HeldProject returns the error for a project's file that a tool has made or changed, which is not used; nil
// if none has.
func (c *Config) HeldProject(file string, getenv func(string) string) error {
	dir := c.DataDir(getenv)
	file, err := filepath.Abs(file)
	if dir == "" || err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
		file = filepath.Join(real, filepath.Base(file))
	}
	h, held, err := (&guarded.Store{File: filepath.Join(dir, GuardedFile)}).Held(file)
	if err == nil && held {
		err = HeldError(h)
	}
	return err
}

// heldFile returns the error for a configuration file that a tool has changed, which is not used; nil if none
// has. The file itself may say now that what is held back stands elsewhere.
func (c *Config) heldFile(file string, getenv func(string) string) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	for _, dir := range []string{c.DataDir(getenv), new(Config).DataDir(getenv)} {
		if dir == "" {
			continue
		}
		if h, held, err := (&guarded.Store{File: filepath.Join(dir, GuardedFile)}).Held(file); err == nil && held {
			return HeldError(h)
		}
	}
	return nil
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
	if _, held, _ := t.Held.Held(path); held {
		return path
	}
	if _, err := os.Lstat(path); err != nil {
		return ""
	}
	return path
}
