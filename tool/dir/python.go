package dir

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"wield/chat"
	"wield/tool"
	"wield/tool/policy"
	"wield/tool/sandbox"
)

//go:embed runner.py
var runnerProgram string

// An interpreter is the Python that runs tools. It is looked for once, when the first tool needs it.
type interpreter struct {
	once     sync.Once
	program  string
	readable []string // where it has its files
	err      error
}

// probe tells where an interpreter really is: that of a PATH may be a script that chooses one.
const probe = `import json,site,sys; json.dump([sys.executable, sys.prefix, sys.base_prefix, sys.exec_prefix, site.getusersitepackages()], sys.stdout); ` +
	`sys.exit(0 if sys.version_info >= (3, 9) else "Python 3.9 or later is needed, and this is " + sys.version.split()[0])`

func (p *interpreter) find(ctx context.Context) error {
	p.once.Do(func() {
		for _, name := range []string{"python3", "python"} {
			if p.err = p.ask(ctx, name); p.err == nil || !errors.Is(p.err, sandbox.ErrNotFound) {
				break
			}
		}
	})
	if p.err != nil {
		return fmt.Errorf("it needs Python: %w", p.err)
	}
	return nil
}

func (p *interpreter) ask(ctx context.Context, name string) error {
	o := Options{Level: sandbox.None} // it is the person's own program, and where it keeps its files is not known yet
	out, err := o.ask(ctx, sandbox.Command{Argv: []string{name, "-I", "-c", probe}})
	if err != nil {
		return err
	}
	var places []string
	if err := json.Unmarshal(out, &places); err != nil || len(places) == 0 || places[0] == "" {
		return fmt.Errorf("%s does not tell where it is", name)
	}
	p.program = places[0]
	for _, dir := range append(places[1:], filepath.Dir(p.program)) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && filepath.Dir(dir) != dir {
			p.readable = append(p.readable, dir)
		}
	}
	return nil
}

// command makes one of what the runner is to do.
func (p *interpreter) argv(args ...string) []string {
	return append([]string{p.program, "-I", "-B", "-X", "utf8", "-c", runnerProgram}, args...)
}

// A pyFunction holds what the runner tells of a function.
type pyFunction struct {
	Name        string          `json:"name"`
	Line        int             `json:"line"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Paths       []string        `json:"paths"`
	Comments    []struct {
		Line int    `json:"line"`
		Text string `json:"text"`
	} `json:"comments"`
}

// isPython reports whether a file holds functions of Python. One whose first line names an interpreter is a program.
func isPython(file string, info os.FileInfo) bool {
	base := filepath.Base(file)
	if filepath.Ext(base) != ".py" || base[0] == '_' || base[0] == '.' {
		return false
	}
	if info.Mode()&0o111 == 0 {
		return true
	}
	f, err := os.Open(file)
	if err != nil {
		return true // it is told when it is read
	}
	defer f.Close()
	var mark [2]byte
	_, err = f.Read(mark[:])
	return err != nil || string(mark[:]) != "#!"
}

// functions makes tools of the functions in a file of Python.
func (s *Set) functions(ctx context.Context, file string) ([]*tool.Tool, error) {
	if err := s.python.find(ctx); err != nil {
		return nil, &Error{File: file, Msg: err.Error()}
	}
	out, err := s.ask(ctx, sandbox.Command{Argv: s.python.argv("describe", file), Dir: filepath.Dir(file),
		Readable: s.python.readable})
	if err != nil {
		return nil, &Error{File: file, Msg: "it cannot be read: " + err.Error()}
	}
	var told struct {
		Error     string       `json:"error"`
		Line      int          `json:"line"`
		Functions []pyFunction `json:"functions"`
		Wrong     []struct {
			Error string `json:"error"`
			Line  int    `json:"line"`
		} `json:"wrong"` // functions that cannot be tools
	}
	if err := json.Unmarshal(out, &told); err != nil {
		return nil, &Error{File: file, Msg: err.Error()}
	}
	if told.Error != "" {
		return nil, &Error{File: file, Line: told.Line, Msg: told.Error}
	}
	var tools []*tool.Tool
	var errs []error
	for _, w := range told.Wrong {
		errs = append(errs, &Error{File: file, Line: w.Line, Msg: w.Error})
	}
	for _, f := range told.Functions {
		t, err := f.tool(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		t.Handler = &pyTool{python: s.python, args: []string{"call", file, f.Name}, dirs: []string{filepath.Dir(file)}}
		tools = append(tools, own(t, file))
	}
	return tools, errors.Join(errs...)
}

// tool makes a tool of the description of a function. Comments above it hold tags.
func (f *pyFunction) tool(file string) (*tool.Tool, error) {
	params, err := properties(f.Parameters)
	if err != nil {
		return nil, &Error{File: file, Line: f.Line, Msg: err.Error()}
	}
	r := &reader{file: file, params: params,
		t: &tool.Tool{Definition: chat.Tool{Name: f.Name, Description: f.Description, Parameters: f.Parameters}}}
	for _, c := range f.Comments {
		text, _ := comment(c.Text)
		if _, err := r.tag(c.Line, text); err != nil {
			return nil, err
		}
	}
	for _, name := range f.Paths { // what is annotated as a path is one, whatever the comments say
		if !slices.ContainsFunc(r.t.Facts.Paths, func(p tool.PathFact) bool { return p.Argument == name }) {
			op := policy.OpWrite
			if r.t.Facts.ReadOnly {
				op = policy.OpRead
			}
			r.t.Facts.Paths = append(r.t.Facts.Paths, tool.PathFact{Argument: name, Op: op})
		}
	}
	return r.t, nil
}

// A pyTool runs a tool of Python by the runner.
type pyTool struct {
	python *interpreter
	args   []string // what the runner is to do
	dirs   []string // of the tool
	limits func(*sandbox.Command, *tool.Call)
	result func(a *pyAnswer) (tool.Result, error)
}

// A pyAnswer holds the runner's answer.
type pyAnswer struct {
	Value json.RawMessage `json:"value"`
	Error *string         `json:"error"`
	Type  string          `json:"type"` // of the exception
	At    string          `json:"at"`   // FILE:LINE, if it came up in the tool
}

// Run calls the function.
func (p *pyTool) Run(ctx context.Context, c *tool.Call) (tool.Result, error) {
	cmd := c.Command(p.python.argv(p.args...)...)
	cmd.Env = append(cmd.Env, c.Variables(ctx)...)
	cmd.Readable = slices.Concat(cmd.Readable, p.dirs, p.python.readable)
	cmd.Stdin = strings.NewReader(c.Arguments)
	if p.limits != nil {
		p.limits(&cmd, c)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	exit, err := c.Ask(ctx, cmd)
	if err != nil {
		return tool.Result{}, err
	}
	if exit.Truncated {
		return tool.Result{}, tool.Errorf(tool.ErrLimit, "The result is longer than %d bytes", cmd.Limits.Output)
	}
	var a pyAnswer
	if err := json.Unmarshal(stdout.Bytes(), &a); err != nil || a.Error == nil && len(a.Value) == 0 {
		return failed(exit, nil, stderr.String()) // it ended the program itself
	}
	if p.result != nil {
		return p.result(&a)
	}
	if a.Error != nil {
		return tool.Result{}, a.failure(tool.ErrTool, *a.Error)
	}
	return tool.Result{OK: true, Data: a.Value}, nil
}

// failure is the error that an exception stands for.
func (a *pyAnswer) failure(kind tool.ErrorKind, message string) error {
	if strings.TrimSpace(message) == "" {
		message = a.Type
	}
	details, _ := json.Marshal(struct {
		Type string `json:"type"`
		At   string `json:"at,omitempty"`
	}{a.Type, filepath.Base(a.At)}) // texts can always be written
	if a.At == "" {
		details, _ = json.Marshal(map[string]string{"type": a.Type})
	}
	return &tool.Error{Kind: kind, Message: message, Details: details}
}
