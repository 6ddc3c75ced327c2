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
)

// Load returns the tools of a directory, by name of their files. Files that are not executable are passed over; what is wrong
// with the others is told with the file and the line, and their tools are left out.
func Load(dir string) ([]*tool.Tool, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("tools: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("tools: %w", err)
	}
	var all []*tool.Tool
	var errs []error
	for _, e := range entries {
		t, err := load(filepath.Join(dir, e.Name()))
		if err != nil {
			errs = append(errs, err)
		} else if t != nil {
			all = append(all, t)
		}
	}
	return all, errors.Join(errs...)
}

func load(file string) (*tool.Tool, error) {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return nil, nil // what can be no tool need not be readable either
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, &TagError{File: file, Msg: err.Error()}
	}
	defer f.Close()
	base := filepath.Base(file)
	t, err := readTags(file, strings.TrimSuffix(base, filepath.Ext(base)), f)
	if err != nil {
		return nil, err
	}
	t.Source = file
	t.Handler = program(file)
	if !t.Facts.ReadOnly {
		t.Guard = &tool.Guard{Mode: tool.ModeRO} // until somebody says otherwise
	}
	return t, nil
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
		says := strings.TrimSpace(strings.ToValidUTF8(stderr.String(), "�"))
		if says == "" {
			says = fmt.Sprintf("it ended with status %d", exit.Code)
		}
		return tool.Result{}, &tool.Error{Kind: tool.ErrTool, Message: says}
	}
	out := bytes.TrimSpace(stdout.Bytes())
	if len(out) > 0 && (out[0] == '{' || out[0] == '[') && json.Valid(out) {
		return tool.Result{OK: true, Data: slices.Clone(out)}, nil
	}
	return tool.Text(strings.TrimSuffix(strings.ToValidUTF8(stdout.String(), "�"), "\n")), nil
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
		if size += len(value); len(value) <= maxVariable && size <= maxVariables && !strings.Contains(value, "\x00") {
			env = append(env, "ARG_"+name+"="+value)
		}
	}
	return env
}
