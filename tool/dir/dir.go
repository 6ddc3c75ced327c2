package dir

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wield/tool"
	"wield/tool/sandbox"
)

// Options say how tools are loaded.
type Options struct {
	// Level is how what runs while tools are loaded is held, such as a program that is asked what it is; empty: workspace.
	Level sandbox.Level
	// Getenv looks up variables that tools ask for; nil: there are none.
	Getenv func(string) string
	// Root is the workspace; paths in registries are relative to it.
	Root string
	// Builtin are names of tools that an entry of a registry may be about without a directory. What is loaded for one then has a
	// state and a guard, and no handler.
	Builtin []string
}

// Load returns the tools of the files in a directory, by their names. Files that are no tools are passed over; what is wrong
// with the others is told with the file and the line, and their tools are left out.
func Load(ctx context.Context, dir string, o Options) ([]*tool.Tool, error) {
	s := Set{Options: o, Dirs: []string{dir}}
	tools, errs := s.Load(ctx)
	return tools, errors.Join(errs...)
}

// A unit is a file of tools, or a directory that is one.
type unit struct {
	path  string
	stamp string // changes when it has to be read again
	load  func(ctx context.Context) ([]*tool.Tool, error)
}

// files lists the files of a directory that may be tools.
func (s *Set) files(dir string) ([]unit, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("tools: %w", err)
	}
	var units []unit
	for _, e := range entries {
		file := filepath.Join(dir, e.Name())
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() {
			continue // what can be no tool need not be readable either
		}
		for _, kind := range kinds {
			if kind.is(file, info) {
				units = append(units, unit{file, stamp(info), func(ctx context.Context) ([]*tool.Tool, error) { return kind.load(s, ctx, file) }})
				break
			}
		}
	}
	return units, nil
}

// kinds are the kinds of files that hold tools. The first that fits counts.
var kinds = []struct {
	is   func(file string, info os.FileInfo) bool
	load func(s *Set, ctx context.Context, file string) ([]*tool.Tool, error)
}{
	{isPython, (*Set).functions},
	{func(_ string, info os.FileInfo) bool { return info.Mode()&0o111 != 0 }, (*Set).program},
}

// stamp is what of a file tells that it was changed.
func stamp(info os.FileInfo) string {
	return fmt.Sprintf("%o %d %d", info.Mode(), info.Size(), info.ModTime().UnixNano())
}

// program makes a tool of an executable file.
func (s *Set) program(ctx context.Context, file string) ([]*tool.Tool, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, &Error{File: file, Msg: err.Error()}
	}
	defer f.Close()
	base := filepath.Base(file)
	t, err := readTags(file, strings.TrimSuffix(base, filepath.Ext(base)), f)
	if err == nil && t == nil {
		t, err = s.describe(ctx, file)
	}
	if err != nil {
		return nil, err
	}
	t.Handler = program(file)
	return []*tool.Tool{own(t, file)}, nil
}

// own says where a tool comes from. One that may change something does not, until somebody says otherwise.
func own(t *tool.Tool, source string) *tool.Tool {
	t.Source = source
	if !t.Facts.ReadOnly && t.Guard == nil {
		t.Guard = &tool.Guard{Mode: tool.ModeRO}
	}
	return t
}

// A program is the file of a tool.
type program string

// Run runs the file.
func (p program) Run(ctx context.Context, c *tool.Call) (tool.Result, error) {
	cmd := c.Command(string(p))
	cmd.Readable = append(cmd.Readable, filepath.Dir(string(p)))
	cmd.Stdin = strings.NewReader(c.Arguments)
	cmd.Env = append(cmd.Env, variables(c.Arguments)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	exit, err := c.Exec(ctx, cmd)
	if err != nil {
		return tool.Result{}, err
	}
	if exit.Code != 0 {
		return tool.Result{}, failed(exit, stderr.String())
	}
	return answer(stdout.Bytes()), nil
}

// failed is the error of a program that ended with a status other than 0.
func failed(exit sandbox.Exit, stderr string) error {
	says := strings.TrimSpace(strings.ToValidUTF8(stderr, "�"))
	if says == "" {
		says = fmt.Sprintf("it ended with status %d", exit.Code)
	}
	return &tool.Error{Kind: tool.ErrTool, Message: says}
}

// answer is the result that an output stands for: JSON if it is an object or a list, else text.
func answer(stdout []byte) tool.Result {
	out := bytes.TrimSpace(stdout)
	if len(out) > 0 && (out[0] == '{' || out[0] == '[') && json.Valid(out) {
		return tool.Result{OK: true, Data: slices.Clone(out)}
	}
	return tool.Text(strings.TrimSuffix(strings.ToValidUTF8(string(stdout), "�"), "\n"))
}

// Bounds of what is put into variables: a system starts no program with more. Standard input has all of it.
const (
	maxVariable  = 32 << 10
	maxVariables = 128 << 10
)

// variables puts each argument into a variable: a text as it is, anything else as JSON. What is too long for one is left out.
func variables(arguments string) []string {
	var args map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &args) != nil {
		return nil
	}
	var env []string
	size := 0
	for _, name := range slices.Sorted(maps.Keys(args)) {
		raw := args[name]
		value := string(raw)
		var text string
		if json.Unmarshal(raw, &text) == nil && len(raw) > 0 && raw[0] == '"' {
			value = text
		}
		if len(value) <= maxVariable && size+len(value) <= maxVariables && !strings.Contains(value, "\x00") {
			env = append(env, "ARG_"+name+"="+value)
			size += len(value)
		}
	}
	return env
}
