package runner

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wield/tool"
	"wield/tool/internal/patch"
	"wield/tool/internal/value"
	"wield/tool/policy"
)

// uses lists what a call would touch, as the facts of its tool say.
type uses struct {
	operation string           // as the arguments name it
	cwd       []policy.PathUse // the directory that a command goes to, if the arguments name one
	policy.Action
}

// facts reads from arguments, which fit the schema, what a policy and a guard look at.
func (r *Runner) facts(e *Entry, arguments string) uses {
	f := &e.Tool.Facts
	u := uses{Action: policy.Action{Tool: e.Tool.Name(), Arguments: arguments, Root: r.s.Root, Dir: r.dir()}}
	u.URLs = append(u.URLs, f.Sites...)
	if noFacts(f) {
		return u
	}
	var args map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &args) != nil {
		return u
	}
	u.operation = value.Text(args[f.Operation])
	if dir := value.Text(args[f.Dir]); f.Dir != "" && dir != "" {
		u.Dir = dir
		if !filepath.IsAbs(dir) {
			u.Dir = filepath.Join(r.dir(), dir)
		}
		u.cwd = []policy.PathUse{{Path: u.Dir, Op: policy.OpList}}
	}
	u.Argv = value.Texts(args[f.Argv])
	if program := value.Text(args[f.Command]); program != "" {
		u.Argv = append([]string{program}, value.Texts(args[f.Arguments])...)
	}
	if code := value.Text(args[f.Code]); len(f.Program) > 0 && code != "" {
		u.Argv = append(slices.Clone(f.Program), code)
	}
	u.Shell = value.Text(args[f.Shell])
	for _, p := range f.Paths {
		op := p.Op
		if op == "" {
			op = f.Ops[u.operation]
		}
		if op == "" {
			op = policy.OpWrite // what is not known may be the worst
		}
		list := value.Texts(value.Argument(args, p.Argument))
		if p.Alias != "" {
			list = append(list, value.Texts(value.Argument(args, p.Alias))...)
		}
		if list == nil && p.Default != "" {
			list = []string{p.Default}
		}
		for _, path := range list {
			use := policy.PathUse{Path: path, Op: op}
			if p.OfFile != "" && r.isFile(path) {
				use.Op = p.OfFile
			}
			u.Paths = append(u.Paths, use)
		}
	}
	if f.Edits != "" {
		u.Paths = append(u.Paths, editedPaths(value.Text(args[f.Edits]))...)
	}
	for _, name := range f.URLs {
		u.URLs = append(u.URLs, value.Texts(args[name])...)
	}
	return u
}

// isFile reports whether a path of the workspace is a file now. It may be something else when the tool comes
// to it, so that nothing is kept safe by it: the tool opens it as what was decided about, or fails.
func (r *Runner) isFile(path string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.dir(), path)
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// rooted returns the call as a policy judges it: with the directory that a command goes to, and with its
// relative paths in the root of the guard, where the tool itself takes them from.
func (u *uses) rooted(g *tool.Guard) policy.Action {
	call := u.Action
	call.Paths = slices.Concat(u.cwd, call.Paths)
	if g == nil || g.Root == "" {
		return call
	}
	for i, p := range call.Paths {
		if !filepath.IsAbs(p.Path) && !strings.HasPrefix(p.Path, "~") {
			call.Paths[i].Path = filepath.Join(g.Root, p.Path)
		}
	}
	return call
}

func noFacts(f *tool.Facts) bool {
	return f.Command == "" && f.Argv == "" && f.Code == "" && f.Shell == "" && f.Dir == "" && f.Operation == "" &&
		f.Edits == "" && len(f.Paths) == 0 && len(f.URLs) == 0
}

// editedPaths returns the files that a text of edits is about. A text that cannot be read is about none: it
// fails when it is to be carried out, as it is read in the same way there.
func editedPaths(text string) []policy.PathUse {
	if text == "" {
		return nil
	}
	ops, err := patch.Parse(text)
	if err != nil {
		return nil
	}
	var uses []policy.PathUse
	for _, op := range ops {
		use := policy.PathUse{Path: op.Path, Op: policy.OpWrite}
		if op.Kind == patch.Delete || op.To != "" {
			use.Op = policy.OpDelete
		}
		if uses = append(uses, use); op.To != "" {
			uses = append(uses, policy.PathUse{Path: op.To, Op: policy.OpWrite})
		}
	}
	return uses
}
