package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"wield/chat"
)

// argv judges a command that no shell reads.
func (e *eval) argv(words []string, sc scope) {
	deny := func(check, why string) {
		e.builtin(chat.DecisionDeny, SubjectCommand, strings.Join(words, " "), "", check, why, nil)
	}
	if len(words) == 0 {
		deny("program", "no program is named")
		return
	}
	for _, w := range words {
		if strings.Contains(w, "\x00") {
			deny("characters", "a NUL byte, which no argument can carry")
			return
		}
	}
	if why := badProgram(words[0]); why != "" {
		deny("program", why)
	}
	if strings.Contains(words[0], "/") && !strings.HasPrefix(words[0], "/") && !e.pinned(words[0]) {
		deny("program", "a program is named by its bare name or a full path: only a rule that names this path opens it")
	}
	e.command(literal(words), sc, "")
}

// badProgram says what is wrong with the name of a program.
func badProgram(name string) string {
	switch {
	case name == "":
		return "no program is named"
	case name[0] == '-':
		return "the name of a program does not begin with a hyphen"
	case strings.ContainsAny(name, " \t\n"):
		return "the name of a program has no blanks: arguments are given one by one"
	}
	return badText(name)
}

// pinned reports whether a rule that allows names the path of the program.
func (e *eval) pinned(name string) bool {
	return slices.ContainsFunc(e.p.rules, func(r *rule) bool {
		return r.Decision == chat.DecisionAllow && r.fitsTool(e.call.Tool) &&
			slices.ContainsFunc(r.commands, func(c commandPattern) bool { return !c.asks && c.words[0].fits(name) })
	})
}

// command judges one command after the shell has done its part: by the rules, by the table of programs, and
// by the paths and addresses in it.
func (e *eval) command(words []field, sc scope, node string) {
	e.depth++
	defer func() { e.depth-- }()
	in, fed := e.input, e.fed
	e.input = nil
	if !slices.Contains(ownShell, words[0].text) {
		defer func() { e.fed = fed }()
	}
	text := commandText(words)
	if e.depth > 4*maxDepth {
		e.builtin(chat.DecisionDeny, SubjectCommand, text, node, "limit", "too many commands that run commands", nil)
		return
	}
	if e.plainShell && strings.HasPrefix(words[0].text, "-") && words[len(words)-1].text == "]]" {
		return // what follows a && in [[ ]]: no program has such a name
	}
	words, ok := e.expand(words, sc, text, node)
	if !ok || !e.affords(len(words), text, node) {
		return
	}
	a := analyse(words)
	if a.asks && baseName(words[0].text) == "xargs" && len(a.inner) == 1 {
		if inner, ok := e.handed(words, a.inner[0], in, sc); ok {
			a.inner[0], a.asks = inner, false
		}
	}
	if a.each && len(a.inner) == 1 {
		if inner, ok := e.found(words, a.inner[0], sc); ok {
			a.inner[0] = inner
			a.uses = slices.DeleteFunc(a.uses, func(u use) bool {
				return u.flagged == effectCommand || u.flagged == effectExec
			})
		}
	}
	for _, inner := range a.inner {
		if strings.Contains(rest0(inner), " ") { // some give it to a shell
			e.within(inner[0].text, sc, node)
		}
		e.command(inner, sc, node)
	}
	e.fromInput(a, sc, text, node)
	e.forget(words)
	e.hidden(a.hidden, sc, text, node)
	e.strange(a.strange, sc, node)
	if a.asks {
		e.builtin(chat.DecisionAsk, SubjectCommand, text, node, "wrapper",
			words[0].text+" runs another command, and what it adds to it is not known in full", nil)
	}
	if e.byCommandRules(a, words, text, node) {
		e.uses(a, a.uses, nil, sc, text, node)
		return
	}
	e.allowed(a, words, sc, text, node)
}

// ownShell lists what runs its words in the shell itself, where exec may give it another input.
var ownShell = []string{"eval", "command", "builtin", "time"}

// expand replaces patterns by the names that they stand for, and looks at what cannot be in a word.
func (e *eval) expand(words []field, sc scope, text, node string) ([]field, bool) {
	var out []field
	for i, w := range words {
		switch {
		case i == 0 && (!w.known || w.glob || w.text == ""):
			e.builtin(chat.DecisionAsk, SubjectCommand, text, node, "undecidable",
				"the program is known only at run time", nil)
			return nil, false
		case w.known && w.glob:
			more, why := e.files1(w, sc)
			if why != "" {
				e.builtin(chat.DecisionAsk, SubjectCommand, text, node, "undecidable", "the pattern "+w.text+" "+why,
					nil)
				more = append(more, field{})
			}
			out = append(out, more...)
			continue
		case !w.known && w.shown && !shows(words, i):
			e.builtin(chat.DecisionAsk, SubjectCommand, text, node, "undecidable",
				"the value of a word is known only at run time", nil)
		case w.known:
			if i == 0 && w.held {
				e.builtin(chat.DecisionAsk, SubjectCommand, text, node, "undecidable",
					"the name of the program is in a variable", nil)
			}
			if i == 0 && strings.HasPrefix(w.text, "=") {
				e.builtin(chat.DecisionAsk, SubjectCommand, text, node, "undecidable",
					"some shells run the program that is named behind the =", nil)
			}
			if r, odd := oddCharacter(w.text); odd {
				e.builtin(chat.DecisionAsk, SubjectCommand, text, node, "characters",
					fmt.Sprintf("the character %U cannot be seen or changes how others are seen", r), nil)
			}
			if i == 0 && !isASCII(w.text) {
				e.builtin(chat.DecisionAsk, SubjectCommand, text, node, "characters",
					"letters beyond ASCII in the name of a program, which may be mistaken for others", nil)
			}
		}
		out = append(out, w)
	}
	return out, true
}

// brackets finds what a pattern has between brackets.
var brackets = lazily(`\[[^\]]*\]?`)

// plainSet is one that every shell reads alike, in every language: ! and ^ are not the same everywhere, and
// what is between two letters depends on the language.
var plainSet = lazily(`^\[([A-Za-z0-9_.]|[0-9]-[0-9])+\]$`)

func plainSets(pattern string) bool {
	return !slices.ContainsFunc(brackets.FindAllString(pattern, -1),
		func(s string) bool { return !plainSet.MatchString(s) })
}

// files1 lists what a pattern stands for now. why tells why it is not known.
func (e *eval) files1(w field, sc scope) (fields []field, why string) {
	r := e.root()
	if bare := strings.TrimRight(w.text, "/"); bare != w.text && bare != "" { // directories only
		w.text = bare
		fields, why = e.files1(w, sc)
		if dirs := slices.DeleteFunc(fields, func(f field) bool { return !e.isDir(f.text, sc) }); why != "" ||
			len(dirs) > 0 {
			fields = dirs
		} else {
			fields = []field{{text: bare, known: true}}
		}
		for i := range fields {
			fields[i].text += "/"
		}
		return fields, why
	}
	switch {
	case r.err != nil || len(sc.dirs) != 1:
		return nil, "stands for files of a directory that is not known"
	case w.tilde || strings.ContainsAny(w.text, "\\") || strings.Contains(w.text, ".."):
		return nil, "may stand for files outside of the root"
	case !plainSets(w.text):
		return nil, "holds a set of characters that shells read in different ways"
	}
	dir, last := path.Split(w.text)
	if strings.HasPrefix(last, ".") || strings.HasPrefix(w.text, "/") && strings.ContainsAny(dir, "*?[") {
		return nil, "stands for more than the files of one directory"
	}
	if strings.ContainsAny(dir, "*?[") {
		return e.filesBelow(w.text, sc)
	}
	at := r.locate("./"+strings.TrimPrefix(dir, "./"), sc.dirs[0])
	if strings.HasPrefix(dir, "/") {
		at = r.locate(dir, "")
	}
	if at.outside || at.err != nil {
		return nil, "stands for files outside of the root"
	}
	if at.missing {
		return e.noFiles(w.text, sc)
	}
	d, err := os.Open(at.abs)
	if err != nil {
		return e.noFiles(w.text, sc)
	}
	defer d.Close()
	names, err := d.Readdirnames(maxTree + 1)
	if e.work += len(names) / 10; len(names) > maxTree || e.work > maxWork {
		return nil, "stands for too many files"
	}
	if err != nil && len(names) == 0 {
		return e.noFiles(w.text, sc)
	}
	slices.Sort(names)
	for _, n := range names {
		ok, err := path.Match(last, n)
		if err != nil {
			return nil, "cannot be read"
		}
		if ok && !strings.HasPrefix(n, ".") {
			fields = append(fields, field{text: dir + n, known: true})
		}
	}
	if len(fields) == 0 {
		return e.noFiles(w.text, sc)
	}
	return fields, ""
}

// commandText shows the words of a command.
func commandText(words []field) string {
	texts := make([]string, len(words))
	for i, w := range words {
		switch {
		case !w.known:
			texts[i] = "(unknown)"
		case w.text == "" || strings.ContainsAny(w.text, " \t\n'\"\\$`|&;<>()") && !w.glob:
			texts[i] = "'" + strings.ReplaceAll(w.text, "'", `'\''`) + "'"
		default:
			texts[i] = w.text
		}
	}
	return strings.Join(texts, " ")
}

// texts returns the words; one that is not known is none that a rule could name.
func texts(words []field) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.text
		if !w.known {
			out[i] = "\x00"
		}
	}
	return out
}

// byCommandRules looks for a rule that asks or denies, and reports whether there is one.
func (e *eval) byCommandRules(a *analysis, words []field, text, node string) bool {
	asked, canonical := commandOf(texts(words)), commandOf(texts(a.canonical))
	r := e.strictest(SubjectCommand, false, func(r *rule) bool {
		if r.Decision == chat.DecisionAllow {
			return false
		}
		return r.subject() == SubjectTool ||
			slices.ContainsFunc(r.commands, func(c commandPattern) bool {
				return c.reaches(asked) || c.reaches(canonical)
			})
	})
	if r == nil {
		return false
	}
	e.byRule(r, SubjectCommand, text, node, "the rule matches the command")
	return true
}

// hidden looks for commands that rules deny among words any of which may begin a command.
func (e *eval) hidden(words []field, sc scope, text, node string) {
	for i, w := range words {
		a := &analysis{canonical: words[i:]}
		if w.known && !strings.HasPrefix(w.text, "-") && e.byCommandRules(a, words[i:], text, node) {
			return
		}
		if w.known && strings.Contains(w.text, " ") {
			e.within(w.text, sc, node)
		}
	}
}

// settings asks about a setting of git that no rule allows: many of them name a program that git runs later.
func (e *eval) settings(a *analysis, words []string, text, node string) {
	sets := slices.ContainsFunc(a.uses, func(u use) bool {
		return u.flagged == effectExec || u.flagged == effectUnknown
	})
	if len(words) < 3 || words[0] != "git" || words[1] != "config" || !sets ||
		len(words) == 4 && ownSetting.MatchString(words[2]) {
		return
	}
	e.builtin(chat.DecisionAsk, SubjectCommand, text, node, "orders",
		"settings of git can name programs that it runs later: only a rule for git config lets a command change "+
			"them", proposed(words, a))
}

// ownSetting is a setting of git that names no program and no file.
var ownSetting = lazily(
	`(?i)^(user\.(name|email)|(color|advice)\.[a-z.]+|core\.(autocrlf|eol|fileMode|ignoreCase|quotePath)|init\.defaultBranch|pull\.(ff|rebase)|fetch\.(all|parallel|prune|pruneTags)|push\.(autoSetupRemote|default|followTags)|rebase\.(autoSquash|autoStash|updateRefs)|rerere\.enabled)$`)

// denies reports whether a rule denies a command.
func (e *eval) denies(words []string) bool {
	cmd := commandOf(words)
	return e.strictest(SubjectCommand, false, func(r *rule) bool {
		return r.Decision == chat.DecisionDeny &&
			slices.ContainsFunc(r.commands, func(c commandPattern) bool { return c.reaches(cmd) })
	}) != nil
}

// allowed looks for a rule that allows the command with all that it does.
func (e *eval) allowed(a *analysis, words []field, sc scope, text, node string) {
	asked, canonical := texts(words), texts(a.canonical)
	var best *allowance
	for _, r := range e.p.rules {
		if r.Decision != chat.DecisionAllow || !e.applies(r, SubjectCommand, false) {
			continue
		}
		if r.subject() == SubjectTool {
			best = best.better(&allowance{rule: r, shaped: true,
				missing: missing(a.uses, commandPattern{words: []wordPattern{nil}})})
			continue
		}
		for _, c := range r.commands {
			if (c.begins(asked) || c.begins(canonical) || a.table && !a.wraps && c.later(canonical)) &&
				!c.undone(asked) {
				n := len(canonical)
				best = best.better(&allowance{rule: r, pattern: c, shaped: a.table || c.open || n <= len(c.words),
					missing: missing(a.uses, c)})
			}
		}
	}
	if best == nil && e.p.def.Default == chat.DecisionAllow || best != nil && best.rule.subject() == SubjectTool {
		e.mentions(a, words, node)
	}
	if best == nil {
		e.byDefault(SubjectCommand, text, node, proposed(canonical, a))
		e.settings(a, canonical, text, node)
		e.uses(a, a.uses, nil, sc, text, node)
		return
	}
	e.byRule(best.rule, SubjectCommand, text, node, "the rule matches the command")
	if !best.shaped {
		e.builtin(chat.DecisionAsk, SubjectCommand, text, node, "options", "nothing is known of the options of "+
			words[0].text+", and the rule does not say that any may follow", proposed(canonical, a))
	}
	e.uses(a, a.uses, best, sc, text, node)
}

// An allowance is a rule that allows a command, as far as it goes.
type allowance struct {
	rule    *rule
	pattern commandPattern
	shaped  bool // it says enough about the words
	missing int  // effects that it does not spell
}

func (a *allowance) better(b *allowance) *allowance {
	if a == nil || b.shaped && !a.shaped || b.shaped == a.shaped && b.missing < a.missing {
		return b
	}
	return a
}

// missing counts the effects that a pattern does not spell.
func missing(uses []use, c commandPattern) (n int) {
	for _, u := range uses {
		if u.flagged != effectNone && !u.spelledBy(c) {
			n++
		}
	}
	return n
}

func (u use) spelledBy(c commandPattern) bool {
	return len(c.words) > 0 && slices.ContainsFunc(u.spelled, func(s string) bool { return s != "" && c.spells(s) })
}

// proposed is the rule that would allow a command. It is about the program, and its sub-command, where the command only
// looks, and else about this command alone. nil: no rule can say it.
func proposed(words []string, a *analysis) *Rule {
	n := len(words)
	changes := slices.ContainsFunc(a.uses, func(u use) bool { return u.flagged != effectNone || u.op.changes() })
	if p := lookUp(words[0]); a.table && !changes && p != nil && !p.project {
		n = 1
		if p.subs != nil {
			n = min(2, len(words))
		}
	}
	quoted := make([]string, n)
	for i, w := range words[:n] {
		quoted[i] = quoteWord(w)
		if quoted[i] == "" {
			return nil
		}
	}
	return &Rule{Decision: chat.DecisionAllow, Selector: Selector{Command: []string{strings.Join(quoted, " ")}}}
}

// uses judges what a command does beside running. by is the rule that allows the command; nil if it has been decided
// about.
func (e *eval) uses(a *analysis, uses []use, by *allowance, sc scope, text, node string) {
	for _, u := range uses {
		if u.kind == useDir && u.text != "" {
			sc = e.goesTo(u, sc, node)
		}
	}
	if a.canonical[0].text == "git" {
		if dir := first(e.bareRepository(sc.dirs), e.madeRepository(sc.dirs)); dir != "" {
			e.builtin(chat.DecisionAsk, SubjectCommand, text, node, "repository",
				Visible(dir)+" is a repository without a .git, and what its configuration says can run other "+
					"programs", nil)
		}
	}
	e.intoDirs(uses, sc, node)
	if by != nil {
		e.ontoFile(uses, sc, text, node)
	}
	uses = append(slices.Clip(uses), e.replaced(a, uses, sc)...)
	before := len(e.made)
	defer e.links(a, before)
	for _, u := range uses {
		allowed, at := false, ""
		var fix *Rule
		if u.loses && !e.isThere(u, sc) {
			continue
		}
		switch u.kind {
		case usePath, useMaybe:
			if allowed, at = e.usePath(u, sc, node); !allowed && by == nil && u.fills && u.flagged == effectWrite {
				e.builtin(chat.DecisionAsk, SubjectPath, "write "+u.text, node, "redirection",
					"it writes as a redirection does, and no rule allows to write that path", allowPath(at, OpWrite))
			}
		case useURL:
			e.useURL(u, sc, node)
		case useShell:
			e.shell(u.text, sc)
		case useInside:
			e.within(u.text, sc, node)
		}
		if u.flagged == effectNone || by == nil || allowed && u.flagged == effectWrite || u.spelledBy(by.pattern) ||
			u.output && e.isOutput(u, sc) {
			continue
		}
		if len(by.pattern.words) > 0 {
			fix = proposed(texts(a.canonical), a)
		}
		what, does := first(append(slices.Clone(u.spelled), u.text)...), effectTexts[u.flagged]
		if u.loses {
			does = "would be overwritten"
		}
		e.builtin(chat.DecisionAsk, SubjectCommand, text, node, "options",
			fmt.Sprintf("%s %s, and the rule that allows the command does not spell it",
				Visible(first(what, a.canonical[0].text)), does), fix)
	}
}

// intoDirs judges what a command puts into a directory under the name that it has already, if that name is guarded.
func (e *eval) intoDirs(uses []use, sc scope, node string) {
	for _, from := range uses {
		base := path.Base(from.text)
		names := foldNames([]string{base})
		if from.kind != usePath && from.kind != useMaybe {
			continue
		}
		guarded := base == "." || protectedName(names)+laterName(names) != ""
		for _, to := range uses {
			if to.kind == usePath && to.op == OpWrite && to.text != from.text && e.isDir(to.text, sc) {
				if base == "." && !to.fills ||
					!guarded && !takesOrders(append(strings.Split(path.Clean(to.text), "/"), base)) {
					continue
				}
				if base == "." {
					e.builtin(chat.DecisionAsk, SubjectPath, "write "+to.text, node, "directory",
						"all that "+from.text+" holds goes there under the names that it has", nil)
					continue
				}
				e.usePath(use{kind: usePath, text: strings.TrimSuffix(to.text, "/") + "/" + base, op: OpWrite,
					fills: to.fills}, sc, node)
			}
		}
	}
}

// isThere reports whether something of that name may be there.
func (e *eval) isThere(u use, sc scope) bool {
	r := e.root()
	return r.err != nil || len(sc.dirs) == 0 || slices.ContainsFunc(sc.dirs, func(dir string) bool {
		at := r.locate(u.text, dir)
		return at.err != nil || exists(at.abs)
	})
}

// isDir reports whether a path is a directory of the workspace, in one of those that it may begin at.
func (e *eval) isDir(text string, sc scope) bool {
	r := e.root()
	return r.err == nil && slices.ContainsFunc(sc.dirs, func(dir string) bool {
		at := r.locate(text, dir)
		return strings.HasSuffix(text, "/") || !at.outside && at.err == nil && !at.missing && at.mode.IsDir()
	})
}

// within looks for commands that rules ask about or deny in a text that may be a command, and for nothing else.
func (e *eval) within(text string, sc scope, node string) {
	if e.depth >= maxDepth {
		return
	}
	for _, f := range e.probe(text, sc) {
		f.Node = node
		e.add(f)
	}
}

// probe lists what rules that ask or deny find in a text, read as a command line.
func (e *eval) probe(text string, sc scope) []Finding {
	probe := &eval{p: e.p, call: e.call, args: e.args, files: e.files, ignored: e.ignored, ignoring: e.ignoring,
		looked: e.looked, depth: e.depth, lines: e.lines, bytes: e.bytes, work: e.work}
	probe.shell(text, sc)
	e.bytes, e.work = probe.bytes, probe.work
	return slices.DeleteFunc(probe.findings, func(f Finding) bool {
		return f.Why != errTooLong.Error() && f.Why != errTooMuch &&
			(!f.ofRule || f.Subject != SubjectCommand || f.Decision == chat.DecisionAllow)
	})
}

// goesTo judges a directory that a program goes to, and returns where its paths begin: there, or where they did before.
func (e *eval) goesTo(u use, sc scope, node string) scope {
	e.usePath(use{kind: usePath, text: u.text, tilde: u.tilde, op: OpRead}, sc, node)
	if sc.dirs == nil || u.tilde {
		return scope{}
	}
	there := scope{}
	for _, d := range sc.dirs {
		there.dirs = append(there.dirs, joinDir(d, u.text))
	}
	return either(sc, there)
}

// isName reports whether nothing but the name of a file itself says that it is secret.
func isName(at resolvedPath) bool {
	return !at.mode.IsDir() && sensitiveName(foldNames(at.names[:max(0, len(at.names)-1)])) == ""
}

func (e *eval) useURL(u use, sc scope, node string) {
	text := u.text
	if !strings.Contains(text, "://") {
		host, rest, scp := strings.Cut(text, ":")
		switch {
		case strings.HasPrefix(text, "/") || strings.HasPrefix(text, "."): // a repository in another directory
			e.usePath(use{kind: useMaybe, text: text, op: OpRead}, sc, node)
			return
		case strings.HasPrefix(rest, ":"):
			e.builtin(chat.DecisionAsk, SubjectHost, text, node, "address",
				"what stands before :: is a program that git runs", nil)
			return
		case !strings.ContainsAny(text, "./:@") || strings.HasPrefix(text, ".") || strings.HasPrefix(text, "/"):
			return // the name of a remote, or a directory
		case scp && strings.Contains(host, "@") ||
			scp && strings.Trim(strings.SplitN(rest, "/", 2)[0], "0123456789") != "":
			text = "ssh://" + host + "/" + strings.TrimPrefix(rest, "/")
		default:
			text = "http://" + text
		}
	}
	e.host(text, node, true)
}

// usePath judges a path that a command uses. allowed says that a rule about paths allows it; rel is its normal form.
func (e *eval) usePath(u use, sc scope, node string) (allowed bool, rel string) {
	if u.text == "" || slices.Contains(freeFiles, u.text) || u.text == "-" {
		return true, u.text
	}
	dirs := sc.dirs
	if strings.HasPrefix(u.text, "/") || u.tilde {
		dirs = []string{""}
	}
	if dirs == nil {
		if u.kind == usePath {
			e.builtin(chat.DecisionAsk, SubjectPath, string(u.op)+" "+u.text, node, "undecidable",
				"the base directory of the path is unknown", nil)
		}
		dirs = []string{""}
	}
	allowed = true
	for _, d := range dirs {
		var ok bool
		ok, rel = e.usePathIn(u, d, node)
		allowed = allowed && ok
	}
	return allowed, rel
}

func (e *eval) usePathIn(u use, dir, node string) (allowed bool, rel string) {
	text := string(u.op) + " " + u.text
	if u.tilde && u.guess {
		return false, u.text
	}
	if u.tilde {
		e.outsideCommand(resolvedPath{abs: u.text, outside: true}, u, node)
		return false, u.text
	}
	r := e.root()
	if r.err != nil {
		if u.kind == usePath || strings.Contains(u.text, "/") {
			e.builtin(chat.DecisionAsk, SubjectPath, text, node, "root", "the root cannot be used: "+r.err.Error(), nil)
		}
		return false, u.text
	}
	at := r.locate(u.text, dir)
	if at.outside && (u.guess || u.there && strings.HasPrefix(u.text, "/") && !exists(topDir(at.abs))) {
		return false, at.abs // it is asked about as what is read there
	}
	if at.outside {
		e.outsideCommand(at, u, node)
		return false, at.abs
	}
	if u.guess {
		if u.there && !at.missing && at.err == nil && at.mode.IsRegular() {
			e.builtin(chat.DecisionAsk, SubjectPath, "write "+at.rel(), node, "options",
				"a file of that name is there, and nothing is known of what it is for", nil)
		}
		e.mayWrite(at, node)
		// rather than the name of a task or a test
		if strings.ContainsAny(u.text, "./") || !at.missing && at.mode.IsRegular() {
			e.givesOrders(at, u, node)
		}
		return false, at.rel()
	}
	maybe := u.kind == useMaybe || !strings.ContainsAny(u.text, "/.")
	if check, why := e.refused(at, u.op, maybe); check != "" && !(check == "secrets" && u.op == OpList && isName(at)) {
		e.builtin(chat.DecisionDeny, SubjectPath, string(u.op)+" "+at.rel(), node, check, why, nil)
		return false, at.rel()
	}
	if !at.missing && at.mode.IsRegular() && at.links > 1 && !e.p.def.HardLinks {
		e.builtin(chat.DecisionDeny, SubjectPath, string(u.op)+" "+at.rel(), node, "hard link",
			fmt.Sprintf("the file has %d names, and one may be outside of the root", at.links), nil)
		return false, at.rel()
	}
	below, many := e.protectedBelow(at, u)
	if many && below == "" {
		e.builtin(chat.DecisionAsk, SubjectPath, string(u.op)+" "+at.rel(), node, "protected",
			"it holds too many files, or files that cannot be read, to see whether one of them controls what is "+
				"allowed or runs later", nil)
	}
	if below != "" {
		e.builtin(chat.DecisionDeny, SubjectPath, string(u.op)+" "+at.rel(), node, "protected",
			below+" is below it and controls what is allowed or runs later, so no call may change it", nil)
		return false, at.rel()
	}
	e.runsLater(at, u.op, string(u.op)+" "+at.rel(), node)
	if u.op.changes() {
		e.made = append(e.made, at.rel())
		e.givesOrders(at, u, node)
	}
	rule := e.pathRule(at, u.op, true)
	if rule != nil {
		e.byRule(rule, SubjectPath, string(u.op)+" "+at.rel(), node, "the rule matches the path")
	}
	return rule != nil && rule.Decision == chat.DecisionAllow, at.rel()
}

// topDir is the directory of the file system's root that a name leads to: what has none is no path, as /api/users.
func topDir(name string) string {
	if i := strings.IndexByte(name[1:], '/'); i > 0 {
		return name[:i+1]
	}
	return name
}

// exists reports whether something of that name is there, which need not be a file that may be looked at.
func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

// givesOrders asks before a command puts a text of its own where programs that build and test take orders from, unless
// a rule names that file: the next command of the line may be such a program, and nobody has seen what was written.
func (e *eval) givesOrders(at resolvedPath, u use, node string) {
	names := foldNames(at.names)
	if !u.fills || len(names) == 0 || !takesOrders(at.names) && !e.installed(at, names) {
		return
	}
	if slices.ContainsFunc(e.p.rules, func(r *rule) bool {
		return r.Decision == chat.DecisionAllow && e.applies(r, SubjectPath, true) && r.fitsOp(u.op) &&
			slices.ContainsFunc(r.paths, func(p pathPattern) bool {
				return !p.absolute && takesOrders(p.segments) && p.fits(at.names, false)
			})
	}) {
		return
	}
	e.builtin(chat.DecisionAsk, SubjectPath, string(u.op)+" "+at.rel(), node, "orders",
		"programs that build, test or check take orders from "+names[len(names)-1]+
			": only a rule that names it lets a command write it", allowPath(at.rel(), OpWrite))
}

// installedDirs hold programs and libraries that others run by their names.
var installedDirs = []string{"node_modules", "site-packages", ".venv", "venv", ".tox", ".nox"}

// installed reports whether a place is among what is installed, or is a program that a rule allows by its path.
func (e *eval) installed(at resolvedPath, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(installedDirs, n) }) ||
		e.pinned(at.rel()) || e.pinned("./"+at.rel())
}

// mayWrite asks about a place that nobody knows to be written, if it must not be.
func (e *eval) mayWrite(at resolvedPath, node string) {
	if at.err != nil {
		return
	}
	part := first(e.protected(at.abs, foldNames(at.names)), protectedName(foldNames(at.asked)),
		laterName(foldNames(at.names)), laterName(foldNames(at.asked)))
	if r := e.pathRule(at, OpWrite, true); part == "" && r != nil && r.Decision != chat.DecisionAllow {
		part = at.rel()
	}
	if part != "" {
		e.builtin(chat.DecisionAsk, SubjectPath, "write "+at.rel(), node, "options",
			"nothing is known of what it is for: it may be written, and "+part+" is not to be", nil)
	}
}

// outsideCommand judges a path outside of the root that a command uses. To read there is asked about, to write is
// denied.
func (e *eval) outsideCommand(at resolvedPath, u use, node string) {
	text := string(u.op) + " " + at.abs
	names := strings.Split(strings.TrimPrefix(at.abs, "/"), "/")
	folded := foldNames(names)
	add := func(d chat.Decision, check, why string, fix *Rule) {
		e.builtin(d, SubjectPath, text, node, check, why, fix)
	}
	word := first(sensitiveName(folded), sensitiveData(folded))
	switch {
	case systemDir(names) && (u.op.changes() || !e.spellsAbsolute(names, u.op)):
		add(chat.DecisionDeny, "system", "the system keeps this place for itself", nil)
	case word != "":
		add(chat.DecisionDeny, "secrets", word+" holds keys or passwords by its name", nil)
	case u.op.changes():
		if r := e.absoluteRule(names, u.op); r != nil && e.protected(at.abs, folded) == "" {
			e.byRule(r, SubjectPath, text, node, "the rule matches the path outside of the root")
			return
		}
		add(chat.DecisionDeny, "outside", "it would write outside of the root "+e.call.Root, nil)
	default:
		if r := e.absoluteRule(names, u.op); r != nil {
			e.byRule(r, SubjectPath, text, node, "the rule matches the path outside of the root")
			return
		}
		var fix *Rule
		if !u.tilde {
			fix = allowPath(at.abs, u.op)
		}
		add(chat.DecisionAsk, "outside", "it would read outside of the root "+e.call.Root, fix)
	}
}

// spellsAbsolute reports whether a rule that allows the call an operation names a path outside of the root in full,
// without a star.
func (e *eval) spellsAbsolute(names []string, op Op) bool {
	return slices.ContainsFunc(e.p.rules, func(r *rule) bool {
		return r.Decision == chat.DecisionAllow && e.applies(r, SubjectPath, true) && r.fitsOp(op) &&
			slices.ContainsFunc(r.paths, func(p pathPattern) bool {
				return p.absolute && slices.Equal(p.segments, names)
			})
	})
}

func (e *eval) absoluteRule(names []string, op Op) *rule {
	return e.strictest(SubjectPath, true, func(r *rule) bool { return r.fitsOp(op) && r.fitsAbsolute(names) })
}
