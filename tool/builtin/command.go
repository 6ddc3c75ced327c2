package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"wield/tool"
	"wield/tool/sandbox"
)

// How long a command may take, in seconds: without a word about it, and at most.
const (
	commandSeconds     = 60
	mostCommandSeconds = 300
)

type commandInput struct {
	Command   string   `json:"command,omitempty"`
	Arguments words    `json:"arguments,omitempty"`
	Shell     string   `json:"shell,omitempty"`
	Dir       string   `json:"cwd,omitempty"`
	Timeout   *float64 `json:"timeout,omitempty"`
}

// words are arguments of a program. A text in place of a list is one of them, as the policy reads it too.
type words []string

func (w *words) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) != nil {
		return json.Unmarshal(data, (*[]string)(w))
	}
	if one != "" {
		*w = words{one}
	}
	return nil
}

// time limits a command: as long as the call says, within the bounds.
func (in *commandInput) time() time.Duration {
	if in.Timeout == nil {
		return commandSeconds * time.Second
	}
	return time.Duration(min(max(*in.Timeout, 1), mostCommandSeconds)) * time.Second
}

const commandSchema = `{
  "type": "object",
  "properties": {
    "command": {"type": "string", "minLength": 1, "description": "program to run, such as ls; not a shell command"},
    "arguments": {"type": ["array", "string"], "items": {"type": "string"}, "description": "arguments, passed as they are: * and $ are not expanded"},
    "shell": {"type": "string", "minLength": 1, "description": "instead of command and arguments: a command line for /bin/sh"},
    "cwd": {"type": "string", "description": "directory to run in, relative to the workspace"},
    "timeout": {"type": "integer", "description": "time limit in seconds, 1 to 300. Default: 60"}
  },
  "oneOf": [{"required": ["command"]}, {"required": ["shell"]}],
  "additionalProperties": false
}`

// commandOutput holds the output of a program. That it failed is for the model to judge: the call itself went well.
type commandOutput struct {
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	Code      int    `json:"return_code"`
	Signal    string `json:"signal,omitempty"`
	Truncated bool   `json:"truncated,omitempty"` // there was more output
}

func commandExec(*Options) *tool.Tool {
	t := tool.Stream("command_exec",
		`Run a program in the workspace and return its output. Example: {"command": "ls", "arguments": ["-l", "src"]}`,
		func(ctx context.Context, c *tool.Call, in commandInput) (commandOutput, error) {
			argv := append([]string{in.Command}, in.Arguments...)
			if in.Shell != "" {
				argv = []string{"/bin/sh", "-c", in.Shell}
			}
			cmd := c.Command(argv...)
			if in.Dir != "" {
				cmd.Dir = filepath.Join(c.Root, in.Dir)
				if filepath.IsAbs(in.Dir) {
					cmd.Dir = in.Dir
				}
			}
			cmd.Limits.Time = in.time()
			out, err := execute(ctx, c, cmd)
			return out, commandError(err, argv[0], cmd.Limits.Time, out)
		})
	t.Definition.Parameters = []byte(commandSchema)
	t.Facts = tool.Facts{Command: "command", Arguments: "arguments", Shell: "shell", Dir: "cwd"}
	t.Guard = &tool.Guard{Mode: tool.ModeRO, DangerousCommands: tool.DangerousCommands()}
	t.Limits.Timeout = mostCommandSeconds * time.Second
	t.Style = tool.StyleLLF
	return t
}

// commandError says in the words of a tool why a command did not end by itself, with what it wrote until then.
func commandError(err error, program string, limit time.Duration, out commandOutput) error {
	switch {
	case errors.Is(err, sandbox.ErrNotFound):
		return &tool.Error{Kind: tool.ErrTool,
			Message: "Command not found: " + program + ". It is in no directory of PATH", Cause: err}
	case errors.Is(err, sandbox.ErrTimeout):
		details, _ := json.Marshal(struct { // texts and a truth can always be written
			TimedOut bool   `json:"timed_out"`
			Stdout   string `json:"stdout,omitempty"`
			Stderr   string `json:"stderr,omitempty"`
		}{true, out.Stdout, out.Stderr})
		message := fmt.Sprintf("Command timed out after %d seconds", limit/time.Second)
		return &tool.Error{Kind: tool.ErrTimeout, Message: message, Timeout: limit, Details: details, Cause: err}
	}
	return err
}

// execute runs a command and gathers its output, also that of one that did not end by itself.
func execute(ctx context.Context, c *tool.Call, cmd sandbox.Command) (commandOutput, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	exit, err := c.Exec(ctx, cmd)
	return commandOutput{
		Stdout: strings.ToValidUTF8(stdout.String(), "�"), Stderr: strings.ToValidUTF8(stderr.String(), "�"),
		Code: exit.Code, Signal: exit.Signal, Truncated: exit.Truncated,
	}, err
}

// A suite is a way of testing a project, told by a file that it has.
type suite struct {
	name, file string
	argv       []string
	filter     []string // before the value of filter
}

// suites are tried in order.
var suites = []suite{
	{"go", "go.mod", []string{"go", "test", "./..."}, []string{"-run"}},
	{"cargo", "Cargo.toml", []string{"cargo", "test", "--offline"}, nil},
	{"pytest", "pytest.ini", []string{"python3", "-m", "pytest", "-q"}, []string{"-k"}},
	{"pytest", "pyproject.toml", []string{"python3", "-m", "pytest", "-q"}, []string{"-k"}},
	{"npm", "package.json", []string{"npm", "test", "--silent"}, []string{"--"}},
	{"make", "Makefile", []string{"make", "test"}, nil},
}

type testInput struct {
	Filter string `json:"filter,omitempty" jsonschema:"names of the tests to run, in the syntax of the test runner. Default: all"`
	Dir    string `json:"cwd,omitempty" jsonschema:"project directory, relative to the workspace"`
}

type testOutput struct {
	Suite  string `json:"suite"`
	Passed bool   `json:"passed"`
	commandOutput
}

func runTests(o *Options) *tool.Tool {
	t := tool.Stream("run_tests",
		`Run the tests of the project with go, cargo, pytest, npm or make, whichever it uses. Example: {"filter": "TestParse"}`,
		func(ctx context.Context, c *tool.Call, in testInput) (testOutput, error) {
			s, err := suiteOf(c, o, in.Dir)
			if err != nil {
				return testOutput{}, err
			}
			argv := s.argv
			if in.Filter != "" {
				if s.filter == nil || strings.HasPrefix(in.Filter, "-") {
					return testOutput{}, tool.Errorf(tool.ErrInvalid, "filter: tests of %s are not picked by %q",
						s.name, in.Filter)
				}
				argv = append(append(append([]string{}, argv...), s.filter...), in.Filter)
			}
			cmd := c.Command(argv...)
			cmd.Dir = filepath.Join(c.Root, in.Dir)
			c.Keep(&cmd)
			out, err := execute(ctx, c, cmd)
			return testOutput{s.name, err == nil && out.Code == 0, out}, err
		})
	t.Facts = tool.Facts{Dir: "cwd"}
	t.Guard = &tool.Guard{Mode: tool.ModeRO}
	t.Limits.Timeout = mostCommandSeconds * time.Second
	return t
}

// suiteOf finds out how a project is tested.
func suiteOf(c *tool.Call, o *Options, dir string) (*suite, error) {
	root, err := workspace(c, o)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var known []string
	for i := range suites {
		if _, err := root.Stat(filepath.Join(dir, suites[i].file)); err == nil {
			return &suites[i], nil
		}
		known = append(known, suites[i].file)
	}
	return nil, tool.Errorf(tool.ErrTool, "no way of testing is known for this directory: it has none of %s",
		strings.Join(known, ", "))
}

type statusInput struct{}

type statusOutput struct {
	Branch string       `json:"branch"`
	Ahead  int          `json:"ahead,omitempty"`
	Behind int          `json:"behind,omitempty"`
	Files  []statusFile `json:"files"`
	Clean  bool         `json:"clean"`
}

type statusFile struct {
	Path   string `json:"path"`
	From   string `json:"from,omitempty"` // before it was renamed
	Staged string `json:"staged,omitempty"`
	Change string `json:"change,omitempty"` // that is not staged
}

// gitStatus asks git without letting the repository's own configuration run anything that git would run by
// itself for a status.
func gitStatus(*Options) *tool.Tool {
	t := tool.Stream("git_status", `Show the branch and the changed files of the git repository. Example: {}`,
		func(ctx context.Context, c *tool.Call, _ statusInput) (statusOutput, error) {
			cmd := c.Command("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c",
				"submodule.recurse=false", "-c", "safe.directory=*", "-c", "safe.bareRepository=explicit",
				"status", "--porcelain=v2", "--branch", "--untracked-files=normal", "--ignore-submodules=dirty", "-z")
			cmd.Env = append(cmd.Env, "GIT_OPTIONAL_LOCKS=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
				"GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
			out, err := execute(ctx, c, cmd)
			switch {
			case err != nil:
				return statusOutput{}, err
			case out.Code != 0:
				return statusOutput{}, tool.Errorf(tool.ErrTool, "git: %s", strings.TrimSpace(out.Stderr))
			}
			return readStatus(out.Stdout), nil
		})
	t.Facts = tool.Facts{ReadOnly: true}
	t.Idempotent = true
	return t
}

// changes are git's letters.
var changes = map[byte]string{'M': "modified", 'T': "type changed", 'A': "added", 'D': "deleted", 'R': "renamed",
	'C': "copied", 'U': "conflict"}

// readStatus reads git's format porcelain v2 with records that end in a zero byte.
func readStatus(text string) statusOutput {
	s := statusOutput{Files: []statusFile{}}
	records := strings.Split(text, "\x00")
	for i := 0; i < len(records); i++ {
		r := records[i]
		switch {
		case strings.HasPrefix(r, "# branch.head "):
			s.Branch = r[len("# branch.head "):]
		case strings.HasPrefix(r, "# branch.ab "):
			s.Ahead, s.Behind = aheadBehind(r[len("# branch.ab "):])
		case strings.HasPrefix(r, "? "):
			s.Files = append(s.Files, statusFile{Path: r[2:], Change: "untracked"})
		case len(r) > 4 && strings.IndexByte("12u", r[0]) >= 0:
			fields := map[byte]int{'1': 9, '2': 10, 'u': 11}[r[0]]
			parts := strings.SplitN(r, " ", fields)
			if len(parts) < fields {
				continue
			}
			f := statusFile{Path: parts[fields-1], Staged: changes[r[2]], Change: changes[r[3]]}
			if r[0] == 'u' {
				f.Staged, f.Change = "", "conflict"
			}
			if r[0] == '2' && i+1 < len(records) {
				i++
				f.From = records[i]
			}
			s.Files = append(s.Files, f)
		}
	}
	s.Clean = len(s.Files) == 0
	return s
}

// aheadBehind reads "+1 -2".
func aheadBehind(s string) (ahead, behind int) {
	for i, f := range strings.Fields(s) {
		n := 0
		for _, c := range strings.TrimLeft(f, "+-") {
			n = n*10 + int(c-'0')
		}
		if i == 0 {
			ahead = n
		} else {
			behind = n
		}
	}
	return ahead, behind
}
