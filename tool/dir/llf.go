package dir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wield/tool"
)

// registryFile is the name of the registry in a directory of tools of LLF.
const registryFile = "tools_registry.json"

// A registry lists tools of LLF.
type registry struct {
	entries   []entry
	ask       bool     // about every call
	sensitive []string // what is asked about
	file      string
}

// An entry is a tool in a registry.
type entry struct {
	node *jsonNode
	dir  string // beside the registry
}

// llf lists the tool directories of LLF in a directory: those that its registry names, and those that hold a
// configuration of their own. A directory without any is none of LLF.
func (s *Set) llf(dir string) ([]unit, error) {
	file := filepath.Join(dir, registryFile)
	named := s.Registries[dir]
	if named != "" {
		file = named
	}
	reg := &registry{file: file}
	info, err := os.Stat(file)
	switch {
	case err == nil:
		if reg, err = s.registry(file, info); err != nil && reg == nil {
			return nil, err
		}
	case !errors.Is(err, fs.ErrNotExist) || named != "":
		return nil, &Error{File: file, Msg: err.Error()}
	default:
		err = nil
	}
	var units []unit
	for _, e := range reg.entries {
		units = append(units, s.registered(dir, reg, e))
	}
	more, listed := s.unregistered(dir, reg, units)
	return append(units, more...), errors.Join(err, listed)
}

// registry reads a registry, if it has changed. One that is broken stays what it was.
func (s *Set) registry(file string, info os.FileInfo) (*registry, error) {
	if s.registers == nil {
		s.registers = map[string]*loadedRegistry{}
	}
	before := s.registers[file]
	if before != nil && before.stamp == stamp(info) {
		return before.registry, before.err
	}
	reg, err := readRegistry(file, info)
	if err != nil && before != nil && before.registry != nil {
		reg, err = before.registry, fmt.Errorf("%w; what it was before stays in force", err)
	}
	s.registers[file] = &loadedRegistry{stamp(info), reg, err}
	return reg, err
}

type loadedRegistry struct {
	stamp    string
	registry *registry
	err      error
}

// registryKeys and the like are the keys that mean something, or are known to mean nothing here.
var (
	registryKeys = []string{"version", "last_updated", "global_config", "tools", "metadata"}
	globalKeys   = []string{"require_approval", "sensitive_operations"}
	sensitive    = []string{"file_read", "file_list", "file_write", "file_delete", "command_exec"}
)

func readRegistry(file string, info os.FileInfo) (*registry, error) {
	if info.Mode().Perm()&0o002 != 0 {
		return nil, &Error{File: file, Msg: "everybody may write to it, and it says what may run: chmod 600 it"}
	}
	root, err := readJSON(file)
	if err != nil {
		return nil, err
	}
	if root.members == nil || root.get("tools") == nil || root.get("tools").raw.Kind() != '[' {
		return nil, root.wrong(`it is no registry: want {"version": "1.1", "tools": [..]}`)
	}
	version, err := root.text("version")
	if err == nil && version != "" && !strings.HasPrefix(version, "1.") {
		err = root.get("version").wrong("version %s: this program reads 1.1", version)
	}
	global := root.get("global_config")
	reg := &registry{file: file}
	ask, err1 := global.truth("require_approval", false)
	list, err2 := global.texts("sensitive_operations")
	reg.ask, reg.sensitive = ask, list
	for _, op := range list {
		if !slices.Contains(sensitive, op) {
			err2 = cmp.Or(err2, global.get("sensitive_operations").wrong("sensitive_operations: there is no %q; "+
				"there are %s", op, strings.Join(sensitive, ", ")))
		}
	}
	if err := cmp.Or(err, root.known(registryKeys), global.known(globalKeys), err1, err2); err != nil {
		return nil, err
	}
	var errs []error
	for _, n := range root.get("tools").items {
		e, err := readEntry(n)
		if errs = append(errs, err); err == nil {
			reg.entries = append(reg.entries, e)
		}
	}
	return reg, errors.Join(errs...)
}

func readEntry(n *jsonNode) (entry, error) {
	if n.members == nil {
		return entry{}, n.wrong("a tool is an object")
	}
	name, err1 := n.text("name")
	dir, err2 := n.text("directory")
	dir = cmp.Or(dir, name)
	switch err := cmp.Or(err1, err2); {
	case err != nil:
		return entry{}, err
	case name == "":
		return entry{}, n.wrong("the tool has no name")
	case !filepath.IsLocal(dir):
		return entry{}, n.wrong("the directory %q does not lie beside the registry", dir)
	}
	return entry{n, dir}, nil
}

// registered returns the unit of an entry of a registry.
func (s *Set) registered(dir string, reg *registry, e entry) unit {
	at := filepath.Join(dir, e.dir)
	return unit{path: at, stamp: stampOf(at) + string(e.node.raw) + fmt.Sprint(reg.ask, reg.sensitive, e.node.line),
		load: func(context.Context) ([]*tool.Tool, error) { return s.llfTool(at, e.node, reg, true) }}
}

// unregistered returns the directories that hold a tool and stand in no registry.
func (s *Set) unregistered(dir string, reg *registry, units []unit) ([]unit, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("tools: %w", err)
	}
	var more []unit
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		if strings.HasPrefix(e.Name(), "_") || strings.HasPrefix(e.Name(), ".") ||
			!isFile(filepath.Join(at, configFile)) || !isFile(filepath.Join(at, definitionFile)) ||
			slices.ContainsFunc(units, func(u unit) bool { return u.path == at }) {
			continue
		}
		more = append(more, unit{path: at, stamp: stampOf(at) + fmt.Sprint(reg.ask, reg.sensitive),
			load: func(context.Context) ([]*tool.Tool, error) {
				config, err := readJSON(filepath.Join(at, configFile))
				if err != nil {
					return nil, err
				}
				return s.llfTool(at, config, reg, false)
			}})
	}
	return more, nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// stampOf returns a text that changes with a tool directory. Its code is read at each call anyway.
func stampOf(dir string) string {
	all := ""
	for _, name := range []string{configFile, definitionFile} {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			all += stamp(info)
		}
		all += ";"
	}
	files, _ := filepath.Glob(filepath.Join(globQuote(dir), "execute*")) // the pattern is sound
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			all += stamp(info)
		}
		all += f + ";"
	}
	return all
}

// globQuote makes a pattern of a path that fits it alone.
func globQuote(path string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(path)
}
