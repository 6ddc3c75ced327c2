package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// Options say where a configuration comes from.
type Options struct {
	// the file; empty: the variable WIELD_CONFIG, then the default place, where there need not be one
	File   string
	Getenv func(string) string // of the environment; nil: an empty one
	Flags  []Flag              // in the order of the command line

	// AllowPending reads the file although a tool has changed it and nobody has agreed to that, so that somebody can.
	AllowPending bool

	// Upstream is a backend and a model on it on top of those of the file. The zero value adds none.
	Upstream Upstream
}

// An Upstream is a backend of kind openai and one model on it, as the command line gives them.
type Upstream struct {
	URL     string
	Key     string // reference to the backend's key; empty: it needs none
	Model   string // its name, there and for clients
	Mode    string // as in the file; empty: auto
	Dialect string // as in the file; empty: auto
	Profile string // as in the file; empty: auto
}

// A Flag sets one key from the command line.
type Flag struct {
	Name  string // with its dashes, for messages
	Path  string // of the key
	Value string
}

// A Result is a configuration that was read.
type Result struct {
	*Config
	File     string   // that was read; empty: there is none
	Warnings Problems // what has no effect, and the like
	Demo     bool     // no model is configured, so that those of the demo were added

	read  *decoder // where every value stands
	state stamp    // of the file, from before it was read
}

// maxFile bounds a configuration file, so that a wrong path is not read whole.
const maxFile = 16 << 20

// Load reads the configuration in all its layers. The error is a Problems that holds everything that is wrong
// with it, or tells that the file cannot be read.
func Load(o Options) (*Result, error) {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	file, data, state, err := findFile(o)
	if err != nil {
		return nil, err
	}
	r, err := Parse(file, data, o)
	if err != nil {
		return nil, err
	}
	r.state = state
	if file != "" && !o.AllowPending {
		if err := r.pendingFile(file, o.Getenv); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// findFile returns the file's name, its text, and its state from before it was read, so that a change
// meanwhile is one to come; no name if there is no file and there need not be one.
func findFile(o Options) (string, []byte, stamp, error) {
	file, must := o.File, true
	if file == "" {
		file = o.Getenv("WIELD_CONFIG")
	}
	if file == "" {
		file, must = DefaultFile(o.Getenv), false
	}
	if file == "" {
		return "", nil, stamp{}, nil
	}
	state := stampOf(file)
	data, err := ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && !must {
		return "", nil, stamp{}, nil
	}
	return file, data, state, err
}

// A FileError says why a file that was named cannot be read as a configuration, and what to name in its place.
type FileError struct {
	Name string
	Err  error
	Fix  string // what to do; empty: that is plain
}

func (e *FileError) Error() string {
	text := fmt.Sprintf("configuration: %s: %v", e.Name, e.Err)
	if e.Fix != "" {
		text += "; " + e.Fix
	}
	return text
}

func (e *FileError) Unwrap() error { return e.Err }

// Reasons of a FileError.
var (
	errIsDir   = errors.New("it is a directory")
	errTooLong = fmt.Errorf("it is longer than %d MiB", maxFile>>20)
)

func ReadFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, &FileError{Name: name, Err: plainCause(err)}
	case info.IsDir():
		return nil, &FileError{Name: name, Err: errIsDir, Fix: "name the file, such as " + fileIn(name)}
	case info.Size() > maxFile:
		return nil, &FileError{Name: name, Err: errTooLong}
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, &FileError{Name: name, Err: plainCause(err)}
	}
	return data, nil
}

// plainCause returns what is behind an error of the file system, which would name the file a second time.
func plainCause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// fileIn returns the file of a directory that may have been meant: one that is there, else the usual name.
func fileIn(dir string) string {
	usual := []string{"wield.yaml", "config.yaml", "wield.yml", "config.yml"}
	for _, name := range usual {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return filepath.Join(dir, name)
		}
	}
	return filepath.Join(dir, usual[0])
}

// Parse reads the text of a configuration file, in all the layers of the options.
func Parse(file string, data []byte, o Options) (*Result, error) {
	c := Default()
	d := newDecoder(file)
	if file != "" {
		d.decode(data, c)
		c.besideFile(file)
	}
	c.applyEnv(d, o.Getenv)
	c.applyFlags(d, o.Flags)
	c.applyUpstream(d, o.Upstream)
	c.applyLumo(d)
	c.applyBrowser(d)
	c.check(d)
	errs, warnings := d.done().split()
	if len(errs) > 0 {
		return nil, errs
	}
	return &Result{Config: c, File: file, Warnings: warnings, read: d}, nil
}

// besideFile makes the names of directories of tools and of their documents, which are relative to the file
// that holds them, such as can be used.
func (c *Config) besideFile(file string) {
	beside := func(name string) string {
		if name == "" || filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(filepath.Dir(file), name)
	}
	for i, name := range c.Tools.Dirs {
		c.Tools.Dirs[i] = beside(name)
	}
	for name, o := range c.Tools.OpenAPI {
		o.Document = beside(o.Document)
		c.Tools.OpenAPI[name] = o
	}
}

// applyEnv takes the values that the environment has.
func (c *Config) applyEnv(d *decoder, getenv func(string) string) {
	for _, l := range settable(c) {
		name := envName(l.path)
		if text := getenv(name); text != "" {
			d.set(l, text, name)
		}
	}
}

func (c *Config) applyFlags(d *decoder, flags []Flag) {
	for _, f := range flags {
		for _, l := range settable(c) {
			if l.path == f.Path {
				d.set(l, f.Value, f.Name)
			}
		}
	}
}

// settable lists the keys that variables and flags can set: all that have one value and a fixed place, but the version.
func settable(c *Config) []leaf {
	all := leaves("", reflect.ValueOf(c).Elem())
	return all[1:]
}

func (d *decoder) set(l leaf, text, source string) {
	d.sources[l.path] = source
	if err := setText(l.value, text, l.field); err != nil {
		d.at(l.path, "%v", err)
	}
}

// upstreamName is the name of the backend that the command line adds.
const upstreamName = "upstream"

func (c *Config) applyUpstream(d *decoder, u Upstream) {
	if u == (Upstream{}) {
		return
	}
	if u.URL == "" || u.Model == "" {
		d.problems = append(d.problems, &Problem{File: "--upstream",
			Message: "--upstream and --model belong together: the address of a server and the name of a model there"})
		return
	}
	b, m := DefaultBackend(), DefaultModel(upstreamName)
	backend, model := "backends."+upstreamName, "models."+u.Model
	for _, f := range []struct {
		flag, path, text string
		value            reflect.Value
		field            field
	}{
		{"--upstream", backend + ".url", u.URL, reflect.ValueOf(&b.URL).Elem(), field{}},
		{"--upstream-key", backend + ".key", u.Key, reflect.ValueOf(&b.Key).Elem(), field{}},
		{"--mode", model + ".mode", u.Mode, reflect.ValueOf(&m.Mode).Elem(), fieldOf(m, "mode")},
		{"--dialect", model + ".dialect", u.Dialect, reflect.ValueOf(&m.Dialect).Elem(), field{}},
		{"--profile", model + ".profile", u.Profile, reflect.ValueOf(&m.Profile).Elem(), field{}},
	} {
		if f.flag == "--upstream-key" && mayBeKey(f.text) {
			d.problems = append(d.problems, &Problem{File: f.flag,
				Message: "a key does not stand on the command line, where other users of this machine read it: put " +
					"it into a variable, such as LLM_KEY, and write --upstream-key env:LLM_KEY"})
			continue
		}
		if f.text != "" {
			d.set(leaf{f.path, f.field, f.value}, f.text, f.flag)
		}
	}
	put(&c.Backends, upstreamName, b)
	put(&c.Models, u.Model, m)
}

// mayBeKey reports whether a text is no reference to a secret, so that it may be one.
func mayBeKey(text string) bool {
	return text != "" && !strings.HasPrefix(text, "env:") && !strings.HasPrefix(text, "file:")
}

func put[V any](m *map[string]V, name string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[name] = v
}

// DefaultFile returns where the configuration stands unless told otherwise: $XDG_CONFIG_HOME/wield/config.yaml, with
// $HOME/.config for a variable that is not set. It is empty if neither is.
func DefaultFile(getenv func(string) string) string {
	return xdg(getenv, "XDG_CONFIG_HOME", ".config", "wield/config.yaml")
}

// DataDir returns the directory for what wield keeps: the key data, else wield under $XDG_STATE_HOME.
func (c *Config) DataDir(getenv func(string) string) string {
	if c.Data != "" {
		return c.Data
	}
	return xdg(getenv, "XDG_STATE_HOME", ".local/state", "wield")
}

// xdg follows the XDG base directory specification, by which a relative path in a variable counts as none.
func xdg(getenv func(string) string, variable, fallback, name string) string {
	if dir := getenv(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, name)
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, fallback, name)
	}
	return ""
}

// A Variable of the environment sets one key.
type Variable struct {
	Name string
	Path string
	Doc  string
}

// Variables lists all variables that set keys, in the order of the file.
func Variables() []Variable {
	var list []Variable
	for _, l := range settable(Default()) {
		list = append(list, Variable{Name: envName(l.path), Path: l.path, Doc: l.field.doc})
	}
	return list
}

// UnsetSecrets warns of references to secrets that cannot be looked up now.
func (c *Config) UnsetSecrets(getenv func(string) string) Problems {
	var warnings Problems
	warn := func(path string, err error) {
		if err != nil {
			warnings = append(warnings, &Problem{Path: path, Message: err.Error(), Warning: true})
		}
	}
	for _, k := range c.Keys {
		_, err := k.Secret.Hash(getenv)
		warn("key "+k.Name, err)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Backends)) {
		b := c.Backends[name]
		_, err := b.Key.Resolve(getenv)
		warn("backends."+name+".key", err)
		for _, header := range slices.Sorted(maps.Keys(b.Headers)) {
			_, err := b.Headers[header].Resolve(getenv)
			warn("backends."+name+".headers."+header, err)
		}
	}
	return warnings
}
