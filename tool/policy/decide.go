package policy

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"wield/chat"
	"wield/schema"
)

// Decide decides about a call. It looks at files, to see where paths lead, and at nothing else outside of the
// call; what a name of a host stands for is checked when the connection is made, see Egress.
func (p *Policy) Decide(call Action) Verdict {
	e := &eval{p: p, call: call}
	if e.begin() {
		e.facts()
	}
	if len(e.findings) == 0 { // what cannot be judged is asked about
		e.builtin(p.unjudged(), SubjectTool, call.Tool, "", "nothing", "nothing of the call could be judged", nil)
	}
	v := Verdict{Findings: e.findings}
	v.decided()
	return v
}

// An eval is one decision in the making.
type eval struct {
	p          *Policy
	call       Action
	args       any
	files      *root        // see root
	ignored    []ignoreRule // see ignores
	ignoring   error        // that they cannot be read
	looked     bool         // at the two above
	findings   []Finding
	vars       map[string]field // what is known of variables that the command line sets
	input      *listing         // what the command that is judged next reads from a pipe
	fed        *feed            // what the standard input gives; nil: that of the call
	made       []string         // places that the command line writes to
	linked     []string         // those of them that are, or get, a second name
	sets       []setting        // what the command line has set them to
	trapped    bool             // they may change at any time
	plainShell bool             // the line is read without the extensions of bash
	source     string           // the command line that is being judged
	depth      int              // of command lines and commands in one another
	lines      int              // of them that are lines
	bytes      int              // that were read as command lines
	work       int              // see affords
}

// begin reads the arguments. If they cannot be read nothing else is looked at.
func (e *eval) begin() bool {
	text := e.call.Arguments
	if text == "" {
		text = "{}"
	}
	if err := schema.Check(text); err != nil {
		e.builtin(chat.DecisionDeny, SubjectTool, e.call.Tool, "", "arguments", err.Error(), nil)
		return false
	}
	if why := e.p.def.Limits.exceeded(text); why != "" {
		e.builtin(chat.DecisionDeny, SubjectTool, e.call.Tool, "", "limit", why, nil)
		return false
	}
	if !slices.ContainsFunc(e.p.rules, func(r *rule) bool { return len(r.args) > 0 }) {
		return true
	}
	args, err := readArguments(text)
	if err != nil {
		e.builtin(chat.DecisionDeny, SubjectTool, e.call.Tool, "", "arguments", err.Error(), nil)
		return false
	}
	e.args = args
	return true
}

// facts judges every subject of the call.
func (e *eval) facts() {
	c := &e.call
	if c.Argv == nil && c.Shell == "" && len(c.Paths) == 0 && len(c.URLs) == 0 {
		e.tool()
		return
	}
	if c.Argv != nil || c.Shell != "" {
		sc := scope{dirs: e.workingDir()}
		if c.Argv != nil {
			e.argv(c.Argv, sc)
		}
		if c.Shell != "" {
			e.shell(c.Shell, sc)
		}
		e.throughLinks()
	}
	for _, u := range c.Paths {
		e.path(u)
	}
	for _, u := range c.URLs {
		e.host(u, "", false)
	}
}

// root returns the root of the call, which is looked at when it is first needed.
func (e *eval) root() *root {
	if e.files == nil {
		e.files = openRoot(e.call.Root)
	}
	return e.files
}

// workingDir returns where the command begins, and refuses a directory outside of the root.
func (e *eval) workingDir() []string {
	dir := e.call.Dir
	if dir == "" {
		return []string{""}
	}
	if at := e.root().locate(dir, ""); e.root().err == nil && at.outside {
		e.builtin(chat.DecisionDeny, SubjectPath, dir, "", "working directory",
			"the command would run outside of the root", nil)
	}
	return []string{dir}
}

// builtin adds the finding of a built-in check.
func (e *eval) builtin(d chat.Decision, s Subject, text, node, check, why string, fix *Rule) {
	e.add(Finding{Decision: d, Subject: s, Text: Visible(text), Node: node, Rule: "built-in: " + check,
		Why: Visible(why), Fix: fix, builtin: true})
}

func (e *eval) add(f Finding) {
	f.Depth = e.lines
	e.findings = append(e.findings, f)
}

// byRule adds the finding of a rule.
func (e *eval) byRule(r *rule, s Subject, text, node, why string) {
	e.add(Finding{Decision: r.Decision, Subject: s, Text: Visible(text), Node: node, Rule: r.text, File: r.File,
		Line: r.Line, Why: why, ofRule: true})
}

// RuleDefault stands for the policy's default, where no rule decides. The reason says so too.
const RuleDefault = "default"

// byDefault adds the finding that no rule is about the subject.
func (e *eval) byDefault(s Subject, text, node string, fix *Rule) {
	name := e.p.def.Name
	if name != "" {
		name = " " + name
	}
	f := Finding{Decision: e.p.def.Default, Subject: s, Text: Visible(text), Node: node, Rule: RuleDefault,
		Why: "no rule of the policy" + name + " matches", Fix: fix}
	if f.Decision == chat.DecisionAllow {
		f.Fix = nil
	}
	e.add(f)
}

// applies reports whether a rule is about the tool and the arguments of the call, and may be about the kind
// of subject. A derived subject is one that a command leads to: rules that name nothing but a tool have been
// applied to the command.
func (e *eval) applies(r *rule, s Subject, derived bool) bool {
	about := r.subject()
	if about != s && (about != SubjectTool || derived) {
		return false
	}
	if !r.fitsTool(e.call.Tool) {
		return false
	}
	return !slices.ContainsFunc(r.args, func(c condition) bool { return !c.holds(e.args, r.Decision) })
}

// strictest returns the strictest of the rules that apply to the subject and fit it; nil if there is none.
func (e *eval) strictest(s Subject, derived bool, fits func(r *rule) bool) *rule {
	var best *rule
	for _, r := range e.p.rules {
		if (best == nil || strictness(r.Decision) > strictness(best.Decision)) && e.applies(r, s, derived) && fits(r) {
			best = r
		}
	}
	return best
}

// tool judges a call of which nothing but the arguments is known.
func (e *eval) tool() {
	r := e.strictest(SubjectTool, false, func(*rule) bool { return true })
	if r == nil {
		e.byDefault(SubjectTool, e.call.Tool, "", e.thisCall())
		return
	}
	e.byRule(r, SubjectTool, e.call.Tool, "", "the rule matches the tool")
}

// path judges a path that the tool says it uses.
func (e *eval) path(u PathUse) {
	text := string(u.Op) + " " + u.Path
	deny := func(check, why string) {
		e.builtin(chat.DecisionDeny, SubjectPath, text, "", check, why, nil)
	}
	if !slices.Contains(ops, u.Op) {
		deny("operation", fmt.Sprintf("no operation %q: there are read, list, write and delete", u.Op))
		return
	}
	if why := badText(u.Path); why != "" {
		deny("path", why)
		return
	}
	for _, n := range strings.Split(u.Path, "/") {
		if why := badName(n); why != "" {
			deny("path", why)
			return
		}
	}
	r := e.root()
	if r.err != nil {
		deny("root", "the root cannot be used: "+r.err.Error())
		return
	}
	at := r.locate(u.Path, e.call.Dir)
	if at.outside {
		e.outside(at, u.Op)
		return
	}
	if check, why := e.refused(at, u.Op, false); check != "" {
		deny(check, why)
		return
	}
	asDir := strings.HasSuffix(u.Path, "/") || strings.HasSuffix(u.Path, "/.")
	if asDir && at.mode.IsRegular() && !at.missing {
		deny(checkKind, "Path is a file, not a directory: "+u.Path)
		return
	}
	if check, why := e.wrongKind(at, u); check != "" {
		deny(check, why)
		return
	}
	text = string(u.Op) + " " + at.rel()
	e.runsLater(at, u.Op, text, "")
	rule := e.pathRule(at, u.Op, false)
	switch {
	case rule != nil:
		e.byRule(rule, SubjectPath, text, "", "the rule matches the path")
	case u.Op == OpList && len(at.names) == 0:
		e.builtin(chat.DecisionAllow, SubjectPath, text, "", "root", "the root itself may be listed", nil)
	default:
		e.byDefault(SubjectPath, text, "", allowPath(at.rel(), u.Op))
	}
}

func allowPath(rel string, op Op) *Rule {
	return &Rule{Decision: chat.DecisionAllow, Selector: Selector{Path: []string{rel}, Op: []Op{op}}}
}

// outside judges a path that leaves the root: only a rule with an absolute pattern opens it, and never what
// the system keeps there for itself.
func (e *eval) outside(at resolvedPath, op Op) {
	text := string(op) + " " + at.abs
	names := strings.Split(strings.TrimPrefix(at.abs, "/"), "/")
	if systemDir(names) || op.changes() && e.protected(at.abs, names) != "" {
		e.builtin(chat.DecisionDeny, SubjectPath, text, "", "system", "the system keeps this place for itself", nil)
		return
	}
	if r := e.strictest(SubjectPath, true, func(r *rule) bool {
		return r.fitsOp(op) && r.fitsAbsolute(names)
	}); r != nil {
		if resolved, err := filepath.EvalSymlinks(at.abs); err == nil && resolved != at.abs {
			e.builtin(chat.DecisionDeny, SubjectPath, text, "", "outside", "a symbolic link outside of the root", nil)
			return
		}
		e.byRule(r, SubjectPath, text, "", "the rule matches the path outside of the root")
		return
	}
	e.builtin(chat.DecisionDeny, SubjectPath, text, "", "outside",
		"Path traversal not allowed: the path leaves the root "+e.call.Root, nil)
}

// systemDirs hold no files but views of processes, devices and the kernel, and aliases of everything else.
var systemDirs = []string{"proc", "sys", "dev", "boot"}

func systemDir(names []string) bool { return len(names) > 0 && slices.Contains(systemDirs, names[0]) }

func (r *rule) fitsOp(op Op) bool { return len(r.Op) == 0 || slices.Contains(r.Op, op) }

// fitsAbsolute reports whether an absolute pattern fits names below /. Rules that deny or ask ignore case.
func (r *rule) fitsAbsolute(names []string) bool {
	fold := r.Decision != chat.DecisionAllow
	return slices.ContainsFunc(r.paths, func(p pathPattern) bool {
		return p.absolute && p.fits(folded(names, fold), fold)
	})
}

func folded(names []string, fold bool) []string {
	if fold {
		return foldNames(names)
	}
	return names
}

// fitsPlace reports whether the rule is about a place in the root. To ask or deny it is enough that the path
// as it was asked for fits, whatever the case of its letters; to allow, the place that it leads to must fit.
func (r *rule) fitsPlace(at resolvedPath) bool {
	if len(r.paths) == 0 {
		return true
	}
	abs := strings.Split(strings.TrimPrefix(at.abs, "/"), "/")
	if r.fitsAbsolute(abs) {
		return true
	}
	fold := r.Decision != chat.DecisionAllow
	return slices.ContainsFunc(r.paths, func(p pathPattern) bool {
		return !p.absolute && (p.fits(folded(at.names, fold), fold) || fold && p.fits(folded(at.asked, fold), fold))
	})
}

// pathRule returns the rule that decides about a place in the root; nil if there is none.
func (e *eval) pathRule(at resolvedPath, op Op, derived bool) *rule {
	return e.strictest(SubjectPath, derived, func(r *rule) bool {
		return r.subject() == SubjectTool || r.fitsOp(op) && r.fitsPlace(at)
	})
}

// refused says for which built-in check a place in the root is refused, and why; "" if it is not. maybe says
// that the path may be a word that only looks like one.
func (e *eval) refused(at resolvedPath, op Op, maybe bool) (check, why string) {
	if at.err != nil {
		return "path", "the path cannot be followed: " + at.err.Error()
	}
	names, asked := foldNames(at.names), foldNames(at.asked)
	if op.changes() {
		if n := e.protected(at.abs, names); n != "" {
			return "protected", n + " controls what is allowed or runs later, so no call may change it"
		}
		if n := protectedName(asked); n != "" {
			return "protected", n + " controls what is allowed or runs later, so no call may change it"
		}
	}
	word := first(sensitiveName(names), sensitivePattern(asked))
	if word != "" && !at.missing && at.mode.IsDir() && word == names[len(names)-1] &&
		!slices.Contains(sensitiveDirs, word) {
		word = "" // the name is that of a file
	}
	if word == "" && !(maybe && at.missing) {
		word = first(sensitiveData(names), sensitiveData(asked))
	}
	if word != "" && !e.named(at, op) {
		return "secrets", word + " holds keys or passwords by its name: only a rule that names it opens it"
	}
	if !e.looked {
		e.ignored, e.ignoring = e.p.ignored.rules(e.root().resolved)
		e.looked = true
	}
	if e.ignoring != nil {
		return checkIgnored, ignoreFile + " cannot be read: " + e.ignoring.Error()
	}
	if rules := e.ignored; len(rules) > 0 &&
		(ignores(rules, names, at.mode.IsDir()) || ignores(rules, asked, at.mode.IsDir())) {
		return checkIgnored, "File is ignored by " + ignoreFile
	}
	return "", ""
}

// runsLater asks before what another program runs later is changed, unless a rule that allows names it.
func (e *eval) runsLater(at resolvedPath, op Op, text, node string) {
	if !op.changes() {
		return
	}
	part := first(laterName(foldNames(at.names)), laterName(foldNames(at.asked)))
	if part == "" || e.namesLater(at, op) {
		return
	}
	e.builtin(chat.DecisionAsk, SubjectPath, text, node, "runs later",
		part+" is run, or read for orders, by other programs later: only a rule that names it opens it", nil)
}

// namesLater reports whether a rule that allows names what other programs run later, rather than by a star.
func (e *eval) namesLater(at resolvedPath, op Op) bool {
	return slices.ContainsFunc(e.p.rules, func(r *rule) bool {
		return r.Decision == chat.DecisionAllow && len(r.paths) > 0 && e.applies(r, SubjectPath, true) &&
			r.fitsOp(op) && slices.ContainsFunc(r.paths, func(p pathPattern) bool {
			return !p.absolute && laterName(p.folded) != "" && p.fits(at.names, false)
		})
	})
}

// named reports whether a rule that allows names what is sensitive about the place, rather than by a star.
func (e *eval) named(at resolvedPath, op Op) bool {
	return slices.ContainsFunc(e.p.rules, func(r *rule) bool {
		return r.Decision == chat.DecisionAllow && len(r.paths) > 0 && e.applies(r, SubjectPath, true) &&
			r.fitsOp(op) && slices.ContainsFunc(r.paths, func(p pathPattern) bool {
			return !p.absolute && (p.sensitive || sensitiveData(p.folded) != "") && p.fits(at.names, false)
		})
	})
}

// protected names the part of a path for which it is never written; "" if there is none.
func (e *eval) protected(abs string, folded []string) string {
	if n := protectedName(folded); n != "" {
		return n
	}
	for _, p := range append(e.gitDirs(), e.p.def.Protected...) {
		p = filepath.Clean(p)
		if abs == p || strings.HasPrefix(abs, p+"/") || strings.EqualFold(abs, p) {
			return p
		}
		if resolved, err := filepath.EvalSymlinks(p); err == nil &&
			(abs == resolved || strings.HasPrefix(abs, resolved+"/")) {
			return p
		}
	}
	return ""
}

// Checks whose refusals have words of their own.
const (
	checkKind    = "kind"
	checkIgnored = "ignored"
)

// Rules of verdicts that are built-in checks.
const (
	RuleKind    = "built-in: " + checkKind    // what is there is not what the operation is for
	RuleIgnored = "built-in: " + checkIgnored // the ignore file leaves it out
)

// wrongKind refuses what is there but is not a file that the operation is for.
func (e *eval) wrongKind(at resolvedPath, u PathUse) (check, why string) {
	if at.missing {
		return "", ""
	}
	switch {
	case at.mode.IsRegular():
		if u.Op == OpList {
			return checkKind, "Path is a file, not a directory: " + u.Path
		}
		if at.links > 1 && u.Op != OpDelete && !e.p.def.HardLinks {
			return "hard link", fmt.Sprintf("the file has %d names, and one may be outside of the root", at.links)
		}
	case at.mode.IsDir():
		switch u.Op {
		case OpRead:
			return checkKind, IsDirectory(u.Path)
		case OpWrite:
			return checkKind, "Path is a directory, not a file: " + u.Path
		}
	default:
		return checkKind, "Path is neither a file nor a directory: " + u.Path
	}
	return "", ""
}

// IsDirectory says that a path to read is a directory, and what to do.
func IsDirectory(path string) string {
	return "Path is a directory, not a file: " + path + ". Use list_files instead."
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// host judges an address that the call would go to.
func (e *eval) host(text, node string, derived bool) {
	deny := func(why string) {
		e.builtin(chat.DecisionDeny, SubjectHost, text, node, "address", why, nil)
	}
	t, err := readTarget(text)
	if err != nil {
		deny("the address is refused for " + err.Error())
		return
	}
	shown := t.String()
	r := e.strictest(SubjectHost, derived, func(r *rule) bool {
		return r.subject() == SubjectTool || slices.ContainsFunc(r.hosts, func(h hostPattern) bool { return h.fits(t) })
	})
	if class := t.hostClassOf(); class != "" && !e.p.opens(e.call.Tool, t) {
		text = shown
		why := "the address belongs to " + class
		if class != cloudMetadata { // it gives keys away, which nobody should be led to
			why += "; a rule that names it allows it: allow: {host: [\"" +
				net.JoinHostPort(strings.Trim(t.host, "[]"), t.port) + "\"]}"
		}
		deny(why)
		return
	}
	switch open := t.usualPort() || e.p.opens(e.call.Tool, t); {
	case r != nil && (open || r.Decision != chat.DecisionAllow):
		e.byRule(r, SubjectHost, shown, node, "the rule matches the host")
	case !open:
		text = shown
		deny("port " + t.port + " is none of 80 and 443, and no rule names it")
	default:
		e.byDefault(SubjectHost, shown, node,
			&Rule{Decision: chat.DecisionAllow, Selector: Selector{Host: []string{t.ruleHost()}}})
	}
}

// ruleHost returns the host as a rule names it.
func (t target) ruleHost() string {
	host := t.host
	if t.addr.IsValid() && t.addr.Is6() && !t.usualPort() {
		host = "[" + host + "]"
	}
	if t.usualPort() {
		return host
	}
	return host + ":" + t.port
}

// opens reports whether a rule that allows names the host or address itself, which opens addresses and ports that are
// otherwise refused.
func (p *Policy) opens(tool string, t target) bool {
	return slices.ContainsFunc(p.rules, func(r *rule) bool {
		return r.Decision == chat.DecisionAllow && r.fitsTool(tool) &&
			slices.ContainsFunc(r.hosts, func(h hostPattern) bool { return h.names(t) })
	})
}
