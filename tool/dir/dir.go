package dir

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	// Level holds programs that run while tools are loaded, such as a program that is asked what it is;
	// empty: workspace.
	Level sandbox.Level
	// Getenv looks up variables that tools ask for; nil: there are none.
	Getenv func(string) string
	// Root is the workspace; paths in registries are relative to it.
	Root string
	// Builtin are names of tools that an entry of a registry may be about without a directory. What is loaded
	// for one then has a state and a guard, and no handler.
	Builtin []string
}

// Load returns the tools of the files in a directory, by their names. Files that are no tools are passed
// over; what is wrong with the others is told with the file and the line, and their tools are left out.
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
	alone bool // it is a program, which may take its time and shares nothing with others
}

// files lists the files of a directory that may be tools.
func (s *Set) files(dir string) ([]unit, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("tools: %w; create the directory, or take it out of tools.dirs", err)
	}
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
		if noBit(file, info) {
			units = append(units, unit{file, stamp(info), func(context.Context) ([]*tool.Tool, error) {
				return nil, fmt.Errorf("%s has the comments of a tool and %w: chmod +x %s", file, errNotExecutable,
					file)
			}, false})
			continue
		}
		for _, kind := range kinds {
			if kind.is(file, info) {
				units = append(units,
					unit{file, stamp(info), func(ctx context.Context) ([]*tool.Tool, error) {
						return kind.load(s, ctx, file)
					}, kind.alone})
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

	alone bool
}{
	{isPython, (*Set).functions, false},
	{func(_ string, info os.FileInfo) bool { return info.Mode()&0o111 != 0 }, (*Set).program, true},
}

var errNotExecutable = errors.New("is not executable")

// noBit reports whether a file would be a tool if it were executable: a program that is read by an
// interpreter and says what it does.
func noBit(file string, info os.FileInfo) bool {
	if info.Mode()&0o111 != 0 || isPython(file, info) {
		return false
	}
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 4<<10)
	n, _ := io.ReadFull(f, head) // of a shorter file what there is
	return bytes.HasPrefix(head, []byte("#!")) && bytes.Contains(head[:n], []byte("description:"))
}

// stamp returns a text that changes with a file.
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
	tools := []*tool.Tool{t}
	if err == nil && t == nil {
		tools, err = s.describe(ctx, file)
	}
	if err != nil && (len(tools) == 0 || tools[0] == nil) {
		return nil, err
	}
	listed := len(tools) > 1 || err != nil // one of several
	for _, t := range tools {
		p := &program{file: file}
		if listed {
			p.args = []string{t.Name()}
		}
		t.Handler = p
		if t.Batch != nil {
			t.Batch = p
		}
		own(t, file)
	}
	return tools, err
}

// own says where a tool comes from. One that may change something does not, until somebody says otherwise.
func own(t *tool.Tool, source string) *tool.Tool {
	t.Source, t.Files = source, source
	if !t.Facts.ReadOnly && t.Guard == nil {
		t.Guard = &tool.Guard{Mode: tool.ModeRO}
	}
	return t
}

// A program is the file of a tool.
type program struct {
	file string
	args []string // the name of the tool, if the file has several
}

// Run runs the file.
func (p *program) Run(ctx context.Context, c *tool.Call) (tool.Result, error) {
	stdout, stderr, exit, err := p.run(ctx, c, p.args, c.Arguments,
		slices.Concat(variables(c.Arguments), c.Variables(ctx)))
	switch {
	case err != nil:
		return tool.Result{Data: output(stdout)}, err
	case exit.Code != 0:
		return failed(exit, stdout, string(stderr))
	}
	return answer(stdout), nil
}

// RunBatch runs the file once for several calls. It gets a list with the arguments of each, and prints a list
// with the result of each, in the same order. An object with nothing but an error is a failure.
func (p *program) RunBatch(ctx context.Context, calls []*tool.Call) ([]tool.Result, error) {
	list := make([]json.RawMessage, len(calls))
	for i, c := range calls {
		list[i] = json.RawMessage(c.Arguments)
	}
	input, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	stdout, stderr, exit, err := p.run(ctx, calls[0], append(slices.Clone(p.args), "batch"), string(input), nil)
	if err != nil {
		return nil, err
	}
	if exit.Code != 0 {
		_, err := failed(exit, stdout, string(stderr))
		return nil, err
	}
	var items []json.RawMessage
	if err := json.Unmarshal(stdout, &items); err != nil || len(items) != len(calls) {
		return nil, tool.Errorf(tool.ErrTool, "it printed no list of %d results for as many calls", len(calls))
	}
	results := make([]tool.Result, len(items))
	for i, item := range items {
		var e struct {
			Error string `json:"error"`
		}
		dec := json.NewDecoder(bytes.NewReader(item))
		dec.DisallowUnknownFields()
		if results[i] = (tool.Result{OK: true, Data: item}); dec.Decode(&e) == nil && e.Error != "" {
			results[i] = tool.Result{Error: e.Error, ErrorType: tool.ErrTool}
		}
	}
	return results, nil
}

func (p *program) run(ctx context.Context, c *tool.Call, args []string, stdin string,
	env []string) (stdout, stderr []byte, exit sandbox.Exit, err error) {
	cmd := c.Command(append([]string{p.file}, args...)...)
	cmd.Readable = append(cmd.Readable, filepath.Dir(p.file))
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(cmd.Env, env...)
	var out, says bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &says
	exit, err = c.Exec(ctx, cmd)
	return out.Bytes(), says.Bytes(), exit, err
}

// failed is the result of a program that ended with a status other than 0, or by a signal: what it says to
// its standard error is why, and what it wrote until then is kept.
func failed(exit sandbox.Exit, stdout []byte, stderr string) (tool.Result, error) {
	var details []byte
	ended := fmt.Sprintf("it ended with status %d", exit.Code)
	if exit.Signal != "" {
		details = []byte(fmt.Sprintf(`{"signal":%q}`, exit.Signal))
		ended = "it was ended by the signal " + exit.Signal
	}
	says := strings.TrimSpace(strings.ToValidUTF8(stderr, "�"))
	switch {
	case says == "":
		says = ended
	case exit.Signal != "":
		says += "\n" + ended
	}
	return tool.Result{Data: output(stdout)}, &tool.Error{Kind: tool.ErrTool, Message: says, Details: details}
}

// output returns what a program wrote before it failed; nil: nothing.
func output(stdout []byte) json.RawMessage {
	if len(bytes.TrimSpace(stdout)) == 0 {
		return nil
	}
	return answer(stdout).Data
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

// variables puts each argument into a variable: a text as it is, anything else as JSON. What is too long for
// one is left out.
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
