package runner

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"wield/chat"
	"wield/tool"
	"wield/tool/policy"
)

// A guard judges calls by the rules that a tool has of its own.
type guard struct{ *tool.Guard }

// ruleGuard is the rule of verdicts that deny what a guard does not allow.
const ruleGuard = "built-in: the limits of the tool"

// asking is the verdict that a person has to be asked because of the tool itself.
func asking(why string) policy.Verdict {
	return policy.Verdict{Decision: chat.DecisionAsk, Rule: "requires_approval", Why: why}
}

// decide judges a call by the tool's own rules, in this order: is the target listed, is the operation
// dangerous, may anything be changed, must somebody be asked. A tool without a guard asks if it is dangerous.
func (g guard) decide(t *tool.Tool, u *uses) policy.Verdict {
	const every = "the tool asks before every run"
	deny := func(why string) policy.Verdict {
		return policy.Verdict{Decision: chat.DecisionDeny, Rule: ruleGuard, Why: why}
	}
	if g.Guard == nil {
		if t.Dangerous {
			return asking(every)
		}
		return policy.Verdict{Decision: chat.DecisionAllow}
	}
	if why := g.unlisted(u); why != "" {
		return deny(why)
	}
	if (t.Dangerous || g.dangerous(u)) && !g.RequiresApproval {
		return deny("Dangerous operation requires approval")
	}
	if why := g.changes(t, u); why != "" {
		return deny(why)
	}
	if g.RequiresApproval {
		return asking(every)
	}
	if why := g.asks(u); why != "" {
		return asking(why)
	}
	return policy.Verdict{Decision: chat.DecisionAllow}
}

// asks tells which use of a call a person is asked about; "" if none.
func (g guard) asks(u *uses) string {
	if len(u.Argv) > 0 || u.Shell != "" {
		if slices.Contains(g.AskFor, "command_exec") {
			return "the tool asks before command_exec"
		}
	}
	for _, p := range u.Paths {
		if use := "file_" + string(p.Op); slices.Contains(g.AskFor, use) {
			return "the tool asks before " + use
		}
	}
	return ""
}

// unlisted tells which target is not on the whitelist: paths, each by itself, and the program of a command.
// "": all are.
func (g guard) unlisted(u *uses) string {
	if g.Whitelist == nil {
		return ""
	}
	for _, p := range u.Paths {
		if !g.allowsPath(p.Path, u) {
			return "Not whitelisted: " + p.Path
		}
	}
	if !g.allowsCommand(u) {
		return "Command not whitelisted"
	}
	return ""
}

// allowsCommand reports whether the program of a command is listed. A star stands for letters of a bare name:
// a program by its path is listed by that very path, since a path leads anywhere, or by a star alone, which
// is all of them. So is a line that a shell reads, since it holds any number of programs.
func (g guard) allowsCommand(u *uses) bool {
	switch {
	case u.Shell != "" && !slices.Contains(g.Whitelist, "*"):
		return false
	case len(u.Argv) == 0:
		return true
	}
	program := u.Argv[0]
	return slices.ContainsFunc(g.Whitelist, func(p string) bool {
		return p == program || p == "*" || !strings.ContainsAny(program, `/\\`) && wildcard(p, program)
	})
}

// allowsPath reports whether a pattern fits a path. A pattern with a slash is about the whole path, relative
// to the root or absolute; one without is about the last name. What leaves the root is only allowed by an
// absolute pattern.
func (g guard) allowsPath(name string, u *uses) bool {
	root := g.root(u)
	full := name
	if !filepath.IsAbs(full) {
		full = filepath.Join(root, name)
	}
	full = filepath.ToSlash(filepath.Clean(full))
	rel, inside := relative(filepath.ToSlash(root), full)
	for _, pattern := range g.Whitelist {
		switch {
		case path.IsAbs(pattern):
			if glob(pattern, full) {
				return true
			}
		case !inside:
		case strings.Contains(pattern, "/"):
			if glob(pattern, rel) {
				return true
			}
		case pattern == "**" || wildcard(pattern, path.Base(rel)):
			return true
		}
	}
	return false
}

// root returns the directory of relative paths.
func (g guard) root(u *uses) string {
	if g.Root != "" {
		return g.Root
	}
	return u.Root
}

// relative returns the path of full within root.
func relative(root, full string) (string, bool) {
	if root == "" {
		return strings.TrimPrefix(full, "/"), !path.IsAbs(full)
	}
	if full == root {
		return ".", true
	}
	return strings.CutPrefix(full, strings.TrimSuffix(root, "/")+"/")
}

// dangerous reports whether the target is among those that need a person's word.
func (g guard) dangerous(u *uses) bool {
	if len(u.Argv) > 0 {
		program := path.Base(filepath.ToSlash(u.Argv[0]))
		if slices.ContainsFunc(g.DangerousCommands, func(p string) bool { return wildcard(p, program) }) {
			return true
		}
	}
	if g.runsDangerous(u) {
		return true
	}
	if u.Shell != "" && slices.ContainsFunc(shellWords(u.Shell), func(word string) bool {
		return slices.ContainsFunc(g.DangerousCommands, func(p string) bool { return wildcard(p, path.Base(word)) })
	}) {
		return true
	}
	for _, use := range append(u.Paths[:len(u.Paths):len(u.Paths)], u.cwd...) {
		name := strings.ToLower(filepath.ToSlash(use.Path))
		full := path.Clean(name)
		if !path.IsAbs(full) {
			full = path.Join(strings.ToLower(filepath.ToSlash(g.root(u))), full)
		}
		for _, pattern := range g.DangerousPaths {
			pattern = strings.ToLower(pattern)
			if glob(pattern, path.Clean(name)) || glob(pattern, full) ||
				!strings.Contains(pattern, "/") && wildcard(pattern, path.Base(name)) {
				return true
			}
		}
	}
	return false
}

// runsDangerous reports whether a command runs a program that needs a person's word: by way of another
// program that runs it, or of a shell, however it is spelled there. A policy that denies these programs alone
// tells.
func (g guard) runsDangerous(u *uses) bool {
	if len(g.DangerousCommands) == 0 || len(u.Argv) == 0 && u.Shell == "" {
		return false
	}
	def := policy.Definition{Default: chat.DecisionAllow}
	for _, name := range append([]string{"find -delete"}, g.DangerousCommands...) {
		r := policy.Rule{Decision: chat.DecisionDeny, Selector: policy.Selector{Command: []string{name}},
			File: dangerousRule}
		if r.Check() == nil { // else it is no name of a program
			def.Rules = append(def.Rules, r)
		}
	}
	p, err := policy.New(def)
	if err != nil {
		return true
	}
	v := p.Decide(policy.Action{Tool: u.Tool, Argv: u.Argv, Shell: u.Shell, Root: u.Root, Dir: u.Dir})
	return slices.ContainsFunc(v.Findings, func(f policy.Finding) bool {
		return f.File == dangerousRule && f.Decision == chat.DecisionDeny
	})
}

// dangerousRule names the place of the rules of runsDangerous.
const dangerousRule = "dangerous commands"

// shellWords returns all that could be the name of a program in a text for a shell. It may be too much, and
// never too little but for what a shell puts together, which policies look at.
func shellWords(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n;&|()`$<>{}\"'\\=", r) })
}

// changes tells what a call would change although the guard's mode is ro; "" if nothing.
func (g guard) changes(t *tool.Tool, u *uses) string {
	if g.Mode == tool.ModeRW || t.Facts.ReadOnly {
		return ""
	}
	for _, use := range u.Paths {
		if op := use.Op; op == policy.OpWrite || op == policy.OpDelete {
			name := u.operation
			if name == "" {
				name = string(op)
			}
			return "Operation " + name + " not allowed in read-only mode"
		}
	}
	return ""
}

// glob reports whether a pattern fits a path: ** stands for any number of directories, none too, * and ? for
// characters of one name.
func glob(pattern, name string) bool {
	return globParts(strings.Split(pattern, "/"), strings.Split(name, "/"))
}

func globParts(pattern, name []string) bool {
	return fits(len(pattern), len(name), func(p int) bool { return pattern[p] == "**" },
		func(p, n int) bool { return wildcard(pattern[p], name[n]) })
}

// wildcard reports whether a pattern with * and ? fits the whole of name.
func wildcard(pattern, name string) bool {
	return fits(len(pattern), len(name), func(p int) bool { return pattern[p] == '*' },
		func(p, n int) bool { return pattern[p] == '?' || pattern[p] == name[n] })
}

// fits reports whether a pattern fits the whole of a name, both of so many places: at some of the pattern stands what
// fits any number of the name's, at the others what fits one. It keeps the last of the former in mind instead of
// trying all ways, so that its work is bounded by the product of the lengths.
func fits(pattern, name int, many func(p int) bool, one func(p, n int) bool) bool {
	p, n, star, mark := 0, 0, -1, 0
	for n < name {
		switch {
		case p < pattern && many(p):
			star, mark = p, n
			p++
		case p < pattern && one(p, n):
			p, n = p+1, n+1
		case star >= 0:
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	for p < pattern && many(p) {
		p++
	}
	return p == pattern
}
