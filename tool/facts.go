package tool

import (
	"encoding/json"
	"path/filepath"

	"github.com/go-json-experiment/json/jsontext"

	"wield/tool/policy"
)

// uses is what a call would touch, as the facts of its tool say.
type uses struct {
	operation string // as the arguments name it
	policy.Call
}

// facts reads from arguments, which fit the schema, what a policy and a guard look at.
func (r *Runner) facts(e *Entry, arguments string) uses {
	f := &e.Tool.Facts
	u := uses{Call: policy.Call{Tool: e.Tool.Name(), Arguments: arguments, Root: r.Root, Dir: r.dir()}}
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
		u.Paths = append(u.Paths, policy.PathUse{Path: dir, Op: OpList})
	}
	u.Argv = texts(args[f.Argv])
	if program := text(args[f.Command]); program != "" {
		u.Argv = append([]string{program}, texts(args[f.Arguments])...)
	}
	u.Shell = text(args[f.Shell])
	for _, p := range f.Paths {
		op := p.Op
		if op == "" {
			op = f.Ops[u.operation]
		}
		if op == "" {
			op = OpWrite // what is not known may be the worst
		}
		list := texts(args[p.Argument])
		if list == nil && p.Default != "" {
			list = []string{p.Default}
		}
		for _, path := range list {
			u.Paths = append(u.Paths, policy.PathUse{Path: path, Op: op})
		}
	}
	for _, name := range f.URLs {
		u.URLs = append(u.URLs, texts(args[name])...)
	}
	return u
}

func (f *Facts) none() bool {
	return f.Command == "" && f.Argv == "" && f.Shell == "" && f.Dir == "" && f.Operation == "" && len(f.Paths) == 0 && len(f.URLs) == 0
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

// texts returns the strings of a JSON value that is a string, or a list of them in which other values stand as their JSON text.
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

// target returns what the whitelist of a guard is about: the first path, else the program.
func (u *uses) target() (string, bool) {
	switch {
	case len(u.Paths) > 0:
		return u.Paths[0].Path, true
	case len(u.Argv) > 0:
		return u.Argv[0], true
	case u.Shell != "":
		return u.Shell, true
	}
	return "", false
}
