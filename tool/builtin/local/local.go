package local

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"wield/tool"
	"wield/tool/files"
	"wield/tool/internal/patch"
	"wield/tool/undo"
)

// Source is that of the tools.
const Source = "local"

// Options apply to all tools. The zero value works, and has no executors.
type Options struct {
	MaxRead   int64 // bytes of a file that is read; 0: 360 KiB
	NoReads   bool  // read refuses every file
	MaxFile   int64 // bytes of a file that is changed; 0: 10 MiB
	Executors []Executor
	Undo      *undo.Log // keeps what undoes each action; nil: nothing does
}

// An Executor runs what stands in a block of its name.
type Executor struct {
	Name string
	Argv []string // the program and what stands before the text of the block
}

// DefaultMaxRead is the most bytes of a file that is read where nothing else is said: 360 KiB.
const DefaultMaxRead = 360 << 10

// DefaultExecutors returns the executors that are usual.
func DefaultExecutors() []Executor {
	return []Executor{{"bash", []string{"bash", "-c"}}, {"python", []string{"python3", "-c"}},
		{"sh", []string{"sh", "-c"}}}
}

// A kind is a kind of block that is no executor.
type kind struct {
	name    string
	make    func(*tracker) *tool.Tool
	summary func(in *blockInput) string
}

// kinds has the rows, in the order in which they are offered. It is a function since the tools name kinds in turn.
func kinds() []kind {
	return []kind{
		{"read", (*tracker).readTool, (*blockInput).readSummary},
		{"edit", (*tracker).editTool, (*blockInput).editSummary},
		{"create", (*tracker).createTool, (*blockInput).createSummary},
	}
}

// Tools makes the tools. Each is disabled and, where it could change anything, read-only, until somebody says
// otherwise.
func (o Options) Tools() []*tool.Tool {
	if o.MaxRead <= 0 {
		o.MaxRead = DefaultMaxRead
	}
	if o.MaxFile <= 0 {
		o.MaxFile = files.DefaultMaxFile
	}
	b := &tracker{o: o}
	var all []*tool.Tool
	for _, k := range kinds() {
		all = append(all, k.make(b))
	}
	for _, e := range o.Executors {
		all = append(all, e.tool())
	}
	for _, t := range all {
		t.State, t.Source = tool.StateDisabled, Source
	}
	return all
}

// Check tells what is wrong with an executor.
func (e *Executor) Check() error {
	switch {
	case slices.ContainsFunc(kinds(), func(k kind) bool { return k.name == e.Name }):
		return fmt.Errorf("blocks %s have a meaning of their own", e.Name)
	case len(e.Argv) == 0 || e.Argv[0] == "":
		return errors.New("an executor needs a program")
	}
	return nil
}

// open opens the directory that a call works in.
func open(c *tool.Call, most int64) (*files.Root, error) {
	dir := c.Root
	if c.Guard != nil && c.Guard.Root != "" {
		dir = c.Guard.Root
	}
	if dir == "" {
		return nil, tool.Errorf(tool.ErrNotAvailable, "there is no workspace: start wield with a directory to work in")
	}
	root, err := files.Open(dir, files.Options{MaxFile: most})
	if err != nil {
		return nil, tool.Errorf(tool.ErrNotAvailable, "the workspace cannot be used: %w", err)
	}
	return root, nil
}

// refusals are errors of package files that are about where a path leads.
var refusals = []error{files.ErrOutside, files.ErrSpecial, files.ErrShared, files.ErrLoop, files.ErrPath}

// fault says what is wrong with a file, in a line.
func fault(err error) string {
	var e *files.Error
	if errors.As(err, &e) && errors.Is(err, fs.ErrNotExist) {
		return "File not found: " + e.Path
	}
	return err.Error()
}

// failed makes an error of edits one that a model can act on.
func failed(what string, err error) error {
	kind := tool.ErrTool
	for _, r := range refusals {
		if errors.Is(err, r) {
			kind = tool.ErrSecurity
		}
	}
	var s *patch.SyntaxError
	if errors.As(err, &s) {
		kind = tool.ErrInvalid
	}
	return &tool.Error{Kind: kind, Message: what + "\n\n" + err.Error(), Cause: err}
}

// shells are programs whose option -c reads a text as a shell does, so that policies can look at the commands in it.
var shells = []string{"sh", "bash", "dash", "ash", "ksh", "zsh"}

// isShell reports whether an executor is a shell.
func (e *Executor) isShell() bool {
	if len(e.Argv) < 2 || !slices.Contains(shells, strings.TrimSuffix(filepath.Base(e.Argv[0]), ".exe")) {
		return false
	}
	return slices.Equal(e.Argv[1:], []string{"-c"})
}
