package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"wield/tool"
	"wield/tool/files"
	"wield/tool/policy"
	"wield/tool/sandbox"
)

type diagnosticsInput struct {
	File string `json:"file,omitempty" jsonschema:"only problems in this file, relative to the workspace"`
	Dir  string `json:"cwd,omitempty" jsonschema:"project directory, relative to the workspace. Default: that of file, or the workspace"`
}

type diagnosticsOutput struct {
	Diagnostics []diagnostic     `json:"diagnostics"`
	Count       int              `json:"count"`
	Checkers    []string         `json:"checkers"`          // that ran
	Missing     []string         `json:"missing,omitempty"` // that the project could use and this machine does not have
	Failed      []checkerFailure `json:"failed,omitempty"`  // that could not check the project
}

// A checkerFailure holds the words of a checker that found nothing and did not end well either.
type checkerFailure struct {
	Checker string `json:"checker"`
	Message string `json:"message"`
}

// failureBytes limits the part of its output that is quoted.
const failureBytes = 2000

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
	grave string // the argument with which it tells errors only, if it does not say what is one
	suits string // a pattern of names: it checks the files that fit, each named to it; empty: the project

	goes  bool                       // it asks the go command to compile
	vets  bool                       // it is go vet
	scope func(file string) []string // what it looks at where one file is asked about, or none; nil: it decides itself
}

// With -trimpath, which a person may have set for good, go vet remembers what it found under the paths of whatever copy
// it saw first.
var checkers = []checker{
	{name: "go vet", files: []string{"go.mod"}, argv: []string{"go", "vet", "-trimpath=false", "-json"}, read: readVet,
		goes: true, vets: true, scope: packageOf},
	{name: "gopls", files: []string{"go.mod"}, argv: []string{"gopls", "check"}, read: readPlaces("warning"),
		grave: "-severity=error", suits: "**/*.go", goes: true},
	{name: "tsc", files: []string{"tsconfig.json"}, argv: []string{"tsc", "--noEmit", "--pretty", "false"},
		read: readTSC},
	{name: "ruff", files: []string{"pyproject.toml", "ruff.toml", "setup.py"},
		argv: []string{"ruff", "check", "--no-cache", "--output-format", "json"}, read: readRuff},
}

// packageOf returns the packages that go vet looks at: that of a file, or all.
func packageOf(file string) []string {
	if file == "" {
		return []string{"./..."}
	}
	return []string{"./" + path.Dir(file)}
}

func getDiagnostics(o *Options) *tool.Tool {
	t := tool.Stream("get_diagnostics",
		`Check the project with go vet, gopls, tsc and ruff, as applicable, and list the problems. Example: {"file": "server/main.go"}`,
		func(ctx context.Context, c *tool.Call, in diagnosticsInput) (diagnosticsOutput, error) {
			return diagnose(ctx, c, o, in)
		})
	t.Facts = tool.Facts{Dir: "cwd", Paths: []tool.PathFact{{Argument: "file", Op: policy.OpRead}}, ReadOnly: true}
	t.Limits.Timeout = mostCommandSeconds * time.Second
	return t
}

func diagnose(ctx context.Context, c *tool.Call, o *Options, in diagnosticsInput) (diagnosticsOutput, error) {
	root, err := workspace(c, o)
	if err != nil {
		return diagnosticsOutput{}, err
	}
	defer root.Close()
	dir, file, err := project(root, in)
	if err != nil {
		return diagnosticsOutput{}, fileError(err)
	}
	out := diagnosticsOutput{Diagnostics: []diagnostic{}, Checkers: []string{}}
	for i := range checkers {
		k := &checkers[i]
		if !k.fits(root, dir) {
			continue
		}
		names, ok := k.names(ctx, root, dir, file)
		if !ok {
			continue
		}
		found, got, err := k.check(ctx, c, o, dir, names)
		if err != nil {
			if ctx.Err() != nil {
				return diagnosticsOutput{}, err
			}
			out.Missing = append(out.Missing, k.name)
			continue
		}
		out.Checkers = append(out.Checkers, k.name)
		if len(found) == 0 && got.Code != 0 {
			out.Failed = append(out.Failed, checkerFailure{k.name, tail(got.Stdout+got.Stderr, failureBytes)})
		}
		for _, d := range found {
			if file == "" || d.File == file {
				out.Diagnostics = append(out.Diagnostics, d)
			}
		}
	}
	if len(out.Checkers)+len(out.Missing) == 0 {
		return out, tool.Errorf(tool.ErrTool, "no checker fits this directory: there are go vet and gopls for "+
			"go.mod, tsc for tsconfig.json, ruff for pyproject.toml")
	}
	out.Count = len(out.Diagnostics)
	return out, nil
}

// project returns the directory to check, and the file in it that is asked about. Without a directory it is
// the nearest one above the file that a checker fits.
func project(root *files.Root, in diagnosticsInput) (dir, file string, err error) {
	if in.File == "" {
		return in.Dir, "", nil
	}
	f, err := root.Open(in.File)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	if in.Dir != "" {
		if dir, err = root.Rel(in.Dir); err != nil {
			return "", "", err
		}
		return dir, below(dir, f.Name), nil
	}
	for dir = path.Dir(f.Name); dir != "."; dir = path.Dir(dir) {
		if slices.ContainsFunc(checkers, func(k checker) bool { return k.fits(root, dir) }) {
			break
		}
	}
	return dir, below(dir, f.Name), nil
}

// fits reports whether a directory has one of the checker's files.
func (k *checker) fits(root *files.Root, dir string) bool {
	return slices.ContainsFunc(k.files, func(f string) bool {
		_, err := root.Stat(filepath.Join(dir, f))
		return err == nil
	})
}

// names returns what the checker is told to look at, and whether there is something.
func (k *checker) names(ctx context.Context, root *files.Root, dir, file string) ([]string, bool) {
	switch {
	case k.scope != nil:
		return k.scope(file), true
	case k.suits == "":
		return nil, true
	case file != "":
		return []string{"./" + file}, globs(k.suits, file, false)
	}
	found, err := list(ctx, root, listInput{Path: dir, Pattern: k.suits})
	var names []string
	for _, name := range found.Files {
		names = append(names, "./"+name) // a name may begin with a hyphen
	}
	return names, err == nil && len(names) > 0
}

// check runs a checker in a directory and returns what it finds, in order.
func (k *checker) check(ctx context.Context, c *tool.Call, o *Options, dir string, names []string) ([]diagnostic,
	commandOutput, error) {
	found, got, err := k.run(ctx, c, o, dir, names)
	if err != nil || len(found) == 0 || k.grave == "" {
		return found, got, err
	}
	grave, _, err := k.run(ctx, c, o, dir, append([]string{k.grave}, names...))
	for i, d := range found {
		if slices.Contains(grave, d) {
			found[i].Severity = "error"
		}
	}
	return found, got, err
}

// run runs a checker once.
func (k *checker) run(ctx context.Context, c *tool.Call, o *Options, dir string, args []string) ([]diagnostic,
	commandOutput, error) {
	cmd := c.Command(append(slices.Clone(k.argv), args...)...)
	cmd.Dir = filepath.Join(c.Root, dir)
	c.Keep(&cmd)
	if k.goes && len(o.GoCache) > 0 {
		shareCompiled(&cmd, o.GoCache)
	}
	if k.vets {
		vet, err := writeVetTool()
		if err == nil {
			defer os.RemoveAll(filepath.Dir(vet))
			cmd.Readable = append(slices.Clone(cmd.Readable), filepath.Dir(vet))
			cmd.Argv = slices.Insert(cmd.Argv, 2, "-vettool="+vet)
		}
	}
	got, err := execute(ctx, c, cmd)
	if err != nil {
		return nil, got, err
	}
	found := k.read(k.name, cmd.Dir, got.Stdout, got.Stderr)
	sortDiagnostics(found)
	return slices.Compact(found), got, nil
}

// shareCompiled lets the go command use what the person has compiled. It is for checkers alone: programs of the
// project have no business with what was compiled of others.
func shareCompiled(cmd *sandbox.Command, cache []string) {
	program, dir := cache[0], cache[len(cache)-1]
	cmd.Readable = append(slices.Clone(cmd.Readable), program, dir)
	words := make([]string, len(cache))
	for i, w := range cache {
		words[i] = "'" + w + "'" // the go command knows no other way to write a space
		if strings.ContainsRune(w, '\'') {
			return
		}
	}
	cmd.Env = append(cmd.Env, "GOCACHEPROG="+strings.Join(words, " "))
}

// tail returns the end of a text, where programs say why they failed.
func tail(s string, most int) string {
	s = strings.TrimSpace(s)
	if len(s) <= most {
		return s
	}
	return "..." + strings.ToValidUTF8(s[len(s)-most:], "")
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

// readVet reads go vet's JSON: comments, and an object by package, analyser and place. Packages that do not
// compile are told as plain lines.
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
						all = append(all, diagnostic{within(dir, m[1]), number(m[2]), number(m[3]), "warning",
							f.Message, name})
					}
				}
			}
		}
	}
	return all
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
		all = append(all, diagnostic{within(dir, f.Filename), f.Location.Row, f.Location.Column, "warning",
			strings.TrimSpace(f.Code + " " + f.Message), name})
	}
	return all
}

func sortDiagnostics(all []diagnostic) {
	slices.SortFunc(all, func(a, b diagnostic) int {
		if c := strings.Compare(a.File, b.File); c != 0 {
			return c
		}
		return cmp.Or(a.Line-b.Line, a.Column-b.Column, strings.Compare(a.Message, b.Message))
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
