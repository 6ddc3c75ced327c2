package builtin

import (
	"context"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"wield/tool"
)

type diagnosticsInput struct {
	Dir string `json:"cwd,omitempty" jsonschema:"directory of the project, relative to the workspace"`
}

type diagnosticsOutput struct {
	Diagnostics []diagnostic `json:"diagnostics"`
	Count       int          `json:"count"`
	Checkers    []string     `json:"checkers"`          // that ran
	Missing     []string     `json:"missing,omitempty"` // that the project could use and this machine does not have
}

type diagnostic struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column,omitempty"`
	Severity string `json:"severity"` // error or warning
	Message  string `json:"message"`
	Source   string `json:"source"`
}

// A checker is a program that finds mistakes in a project which has one of the files.
type checker struct {
	name  string
	files []string
	argv  []string
	read  func(name, dir, stdout, stderr string) []diagnostic
}

var checkers = []checker{
	{"go vet", []string{"go.mod"}, []string{"go", "vet", "-json", "./..."}, readVet},
	{"gopls", []string{"go.mod"}, []string{"gopls", "check"}, readPlaces("warning")},
	{"tsc", []string{"tsconfig.json"}, []string{"tsc", "--noEmit", "--pretty", "false"}, readTSC},
	{"ruff", []string{"pyproject.toml", "ruff.toml", "setup.py"}, []string{"ruff", "check", "--no-cache", "--output-format", "json"}, readRuff},
}

func getDiagnostics(o *Options) *tool.Tool {
	t := tool.Stream("get_diagnostics", `Check the project in the workspace with go vet, gopls, tsc and ruff, whichever fit, and list what they find. Example: {"cwd": "server"}`,
		func(ctx context.Context, c *tool.Call, in diagnosticsInput) (diagnosticsOutput, error) {
			return diagnose(ctx, c, o, in.Dir)
		})
	t.Facts = tool.Facts{Dir: "cwd", ReadOnly: true}
	t.Limits.Timeout = mostCommandSeconds * time.Second
	return t
}

func diagnose(ctx context.Context, c *tool.Call, o *Options, dir string) (diagnosticsOutput, error) {
	root, err := workspace(c, o)
	if err != nil {
		return diagnosticsOutput{}, err
	}
	defer root.Close()
	out := diagnosticsOutput{Diagnostics: []diagnostic{}, Checkers: []string{}}
	for _, k := range checkers {
		fits := slices.ContainsFunc(k.files, func(f string) bool {
			_, err := root.Stat(filepath.Join(dir, f))
			return err == nil
		})
		if !fits {
			continue
		}
		argv := k.argv
		if k.name == "gopls" { // it checks files and not packages
			names, err := list(ctx, root, listInput{Path: dir, Pattern: "**/*.go"})
			if err != nil || len(names.Files) == 0 {
				continue
			}
			argv = append(append([]string{}, argv...), names.Files...)
		}
		cmd := c.Command(argv...)
		cmd.Dir = filepath.Join(c.Root, dir)
		cmd.Env = append(cmd.Env, caches(c)...)
		got, err := execute(ctx, c, cmd)
		if err != nil {
			if ctx.Err() != nil {
				return diagnosticsOutput{}, err
			}
			out.Missing = append(out.Missing, k.name)
			continue
		}
		out.Checkers = append(out.Checkers, k.name)
		out.Diagnostics = append(out.Diagnostics, k.read(k.name, cmd.Dir, got.Stdout, got.Stderr)...)
	}
	if len(out.Checkers)+len(out.Missing) == 0 {
		return out, tool.Errorf(tool.ErrTool, "no checker fits this directory: there are go vet and gopls for go.mod, tsc for tsconfig.json, ruff for pyproject.toml")
	}
	out.Count = len(out.Diagnostics)
	return out, nil
}

// place is file:line:column: message.
var place = regexp.MustCompile(`^(.+?):(\d+):(\d+)(?:-[\d:]+)?: (.+)$`)

// readPlaces returns a reader of lines that begin with a place.
func readPlaces(severity string) func(name, dir, stdout, stderr string) []diagnostic {
	return func(name, dir, stdout, stderr string) (all []diagnostic) {
		for line := range strings.Lines(stdout) {
			if m := place.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				all = append(all, diagnostic{within(dir, m[1]), number(m[2]), number(m[3]), severity, m[4], name})
			}
		}
		return all
	}
}

// readVet reads go vet's JSON: comments, and an object by package, analyser and place. Packages that do not compile are told as
// plain lines.
func readVet(name, dir, stdout, stderr string) []diagnostic {
	all := readPlaces("error")(name, dir, strings.ReplaceAll(stderr, "vet: ", ""), "")
	var text strings.Builder
	for line := range strings.Lines(stdout + stderr) {
		if !strings.HasPrefix(line, "#") {
			text.WriteString(line)
		}
	}
	dec := json.NewDecoder(strings.NewReader(text.String()))
	for {
		var packages map[string]map[string]json.RawMessage
		if dec.Decode(&packages) != nil {
			break
		}
		for _, analysers := range packages {
			for _, found := range analysers {
				var list []struct{ Posn, Message string }
				json.Unmarshal(found, &list) // an analyser that failed has an object
				for _, f := range list {
					if m := place.FindStringSubmatch(f.Posn + ": " + f.Message); m != nil {
						all = append(all, diagnostic{within(dir, m[1]), number(m[2]), number(m[3]), "warning", f.Message, name})
					}
				}
			}
		}
	}
	sortDiagnostics(all)
	return slices.Compact(all)
}

// tscLine is file(line,column): error TS1: message.
var tscLine = regexp.MustCompile(`^(.+?)\((\d+),(\d+)\): (error|warning) (.+)$`)

func readTSC(name, dir, stdout, stderr string) (all []diagnostic) {
	for line := range strings.Lines(stdout) {
		if m := tscLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			all = append(all, diagnostic{within(dir, m[1]), number(m[2]), number(m[3]), m[4], m[5], name})
		}
	}
	return all
}

func readRuff(name, dir, stdout, stderr string) (all []diagnostic) {
	var found []struct {
		Filename, Message string
		Code              string
		Location          struct{ Row, Column int }
	}
	if json.Unmarshal([]byte(stdout), &found) != nil {
		return nil
	}
	for _, f := range found {
		all = append(all, diagnostic{within(dir, f.Filename), f.Location.Row, f.Location.Column, "warning", strings.TrimSpace(f.Code + " " + f.Message), name})
	}
	return all
}

func sortDiagnostics(all []diagnostic) {
	slices.SortFunc(all, func(a, b diagnostic) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
}

// within names a file relative to the directory that was checked.
func within(dir, file string) string {
	if rel, err := filepath.Rel(dir, file); err == nil && filepath.IsAbs(file) && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return strings.TrimPrefix(filepath.ToSlash(file), "./")
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
