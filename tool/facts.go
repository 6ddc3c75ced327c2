package tool

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"wield/tool/internal/patch"
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
	if f.none() {
		return u
	}
	var args map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &args) != nil {
		return u
	}
	u.operation = text(args[f.Operation])
	if dir := text(args[f.Dir]); f.Dir != "" && dir != "" {
		u.Dir = dir
		if !filepath.IsAbs(dir) {
			u.Dir = filepath.Join(r.dir(), dir)
		}
		u.cwd = []policy.PathUse{{Path: u.Dir, Op: policy.OpList}}
	}
	u.Argv = texts(args[f.Argv])
	if program := text(args[f.Command]); program != "" {
		u.Argv = append([]string{program}, texts(args[f.Arguments])...)
	}
	if code := text(args[f.Code]); len(f.Program) > 0 && code != "" {
		u.Argv = append(slices.Clone(f.Program), code)
	}
	u.Shell = text(args[f.Shell])
	for _, p := range f.Paths {
		op := p.Op
		if op == "" {
			op = f.Ops[u.operation]
		}
		if op == "" {
			op = policy.OpWrite // what is not known may be the worst
		}
		list := texts(argument(args, p.Argument))
		if p.Alias != "" {
			list = append(list, texts(argument(args, p.Alias))...)
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
		u.Paths = append(u.Paths, editedPaths(text(args[f.Edits]))...)
	}
	for _, name := range f.URLs {
		u.URLs = append(u.URLs, texts(args[name])...)
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
func (u *uses) rooted(g *Guard) policy.Action {
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

func (f *Facts) none() bool {
	return f.Command == "" && f.Argv == "" && f.Code == "" && f.Shell == "" && f.Dir == "" && f.Operation == "" &&
		f.Edits == "" && len(f.Paths) == 0 && len(f.URLs) == 0
}

// argument returns the argument of a name, in which a point leads into an object.
func argument(args map[string]json.RawMessage, name string) json.RawMessage {
	first, rest, nested := strings.Cut(name, ".")
	if !nested {
		return args[name]
	}
	var inner map[string]json.RawMessage
	if json.Unmarshal(args[first], &inner) != nil {
		return nil
	}
	return argument(inner, rest)
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

// text returns a JSON string's content; "" for anything else.
func text(raw json.RawMessage) string { return string(appendText(nil, raw)) }

// appendText appends a JSON string's content; nothing for anything else.
func appendText(dst []byte, raw json.RawMessage) []byte {
	if len(raw) == 0 || raw[0] != '"' {
		return dst
	}
	if out, err := jsontext.AppendUnquote(dst, raw); err == nil {
		return out
	}
	return dst
}

// texts returns the strings of a JSON value that is a string, or a list of them in which other values stand
// as their JSON text.
func texts(raw json.RawMessage) []string {
	if len(raw) == 0 || raw[0] != '[' {
		if s := text(raw); s != "" {
			return []string{s}
		}
		return nil
	}
	var items []json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return nil
	}
	list := make([]string, len(items))
	for i, item := range items {
		if list[i] = string(item); item[0] == '"' {
			list[i] = text(item)
		}
	}
	return list
}
