package policy

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"wield/chat"
)

// xargs adds words to a command that another command prints. Where those are names of files of known
// directories, and the command only looks at files, it is judged as if it was given the directories.

// A listing describes the names that a pipe hands on, one a line.
type listing struct {
	dirs    []string // the files lie in or below these
	begins  bool     // every name begins with one of them, so that it is no option
	filters []string // patterns of the last part of every name; none: any
	sought  []string // patterns of paths that the names are looked for by
	there   bool     // the names are those of files that are there
}

// pipeline lists the statements of a pipe.
func pipeline(s *syntax.Stmt) []*syntax.Stmt {
	c, ok := s.Cmd.(*syntax.BinaryCmd)
	if !ok || c.Op != syntax.Pipe && c.Op != syntax.PipeAll || len(s.Redirs) > 0 || s.Negated || s.Background {
		return []*syntax.Stmt{s}
	}
	return append(pipeline(c.X), pipeline(c.Y)...)
}

// listed returns what is known of what a pipe prints; nil if that is nothing.
func listed(stages []*syntax.Stmt) *listing {
	if len(stages) == 0 {
		return nil
	}
	words := staticWords(stages[0])
	if len(words) == 0 {
		return nil
	}
	lists, ok := listers[words[0]]
	if !ok {
		return nil
	}
	if words[0] != "find" && namesSecret(withoutText(words)) { // see sought
		return nil
	}
	for _, s := range stages[1:] {
		if filter := staticWords(s); !keepsNames(filter) || namesSecret(filter) {
			return nil
		}
	}
	l := lists(words[1:])
	if l == nil ||
		slices.ContainsFunc(l.dirs, func(d string) bool { return d == "" || strings.ContainsAny(d[:1], "-~/") }) {
		return nil
	}
	return l
}

// withoutText leaves out the text that a search looks for in files.
func withoutText(words []string) []string {
	from := 1
	switch {
	case words[0] == "git" && len(words) > 1 && words[1] == "grep":
		from = 2
	case words[0] != "grep" && words[0] != "rg" || slices.Contains(words, "--files"):
		return words
	}
	isText := func(w string) bool { return !strings.HasPrefix(w, "-") }
	if i := slices.IndexFunc(words[from:], isText); i >= 0 {
		return slices.Concat(words[:from+i], words[from+i+1:])
	}
	return words
}

// namesSecret reports whether a command that prints names is after those of files with keys, there or not.
func namesSecret(words []string) bool {
	for i, w := range words {
		switch {
		case i == 0, slices.Contains([]string{"!", "-not", "-v", "-E", "--exclude"}, words[i-1]),
			i > 1 && (words[i-2] == "!" || words[i-2] == "-not"), strings.HasPrefix(w, "--exclude"):
			continue
		case strings.HasPrefix(w, "--"):
			_, w, _ = strings.Cut(w, "=")
		}
		names := strings.Split(strings.ToLower(notOfName.Replace(w)), "/")
		if sensitivePattern(names) != "" {
			return true
		}
	}
	return false
}

// notOfName takes out of a pattern what is no part of a name.
var notOfName = strings.NewReplacer("*", "", "^", "", "$", "", `\`, "")

// staticWords returns the words of a simple command in which nothing is expanded; nil if it is another one.
func staticWords(s *syntax.Stmt) []string {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Assigns) > 0 || s.Negated || s.Background ||
		slices.ContainsFunc(s.Redirs, func(r *syntax.Redirect) bool { return r.N == nil || r.N.Value != "2" }) {
		return nil
	}
	var words []string
	for _, w := range c.Args {
		text, ok := staticWord(w)
		if !ok {
			return nil
		}
		words = append(words, text)
	}
	return words
}

// staticWord is the text of a word in which nothing is expanded.
func staticWord(w *syntax.Word) (string, bool) {
	var b strings.Builder
	for _, p := range w.Parts {
		lit, bare := p.(*syntax.Lit)
		switch p := p.(type) {
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
			continue
		case *syntax.DblQuoted:
			if len(p.Parts) == 1 && !p.Dollar {
				lit, _ = p.Parts[0].(*syntax.Lit)
			}
		}
		switch {
		case lit == nil:
			return "", false
		case bare && len(w.Parts) == 1 && (lit.Value == `\(` || lit.Value == `\)` || lit.Value == `\!`):
			// signs of find
			return lit.Value[1:], true
		case strings.Contains(lit.Value, `\`) || bare && lit.Value != "{}" && strings.ContainsAny(lit.Value, "*?[{~"):
			return "", false
		}
		b.WriteString(lit.Value)
	}
	return b.String(), true
}

// keepsNames reports whether a filter hands on whole lines of what it reads.
func keepsNames(words []string) bool {
	if len(words) == 0 {
		return false
	}
	switch rest := words[1:]; words[0] {
	case "grep", "egrep", "fgrep":
		operands := 0
		for _, w := range rest {
			if strings.HasPrefix(w, "-") && strings.Trim(w[1:], "vEFiwxP") != "" {
				return false
			}
			if !strings.HasPrefix(w, "-") {
				operands++
			}
		}
		return operands == 1
	case "sort", "uniq":
		return !slices.ContainsFunc(rest, func(w string) bool { return strings.Trim(w, "-urV") != "" })
	case "head", "tail":
		return !slices.ContainsFunc(rest, func(w string) bool { return strings.Trim(w, "-n0123456789") != "" })
	}
	return false
}

// listers say for programs that print names what is known of them.
var listers = map[string]func(words []string) *listing{
	"find": findLists,
	"fd": func(words []string) *listing {
		words = slices.Clone(words)
		for i, w := range words {
			if i > 0 && (words[i-1] == "-e" || words[i-1] == "--extension") {
				words[i] = "*." + strings.TrimPrefix(w, ".")
			}
		}
		return below(words, nil, []string{"-e", "--extension"}, []string{"-t=", "-d=", "-E=", "-H", "-I", "-0", "-a",
			"-g", "-i", "-s", "--type=", "--max-depth=", "--exclude=", "--hidden"})
	},
	"ls": func(words []string) *listing { return onlyWords(words, "-1", "-a", "-A", "-t", "-r", "-1t") },
	"grep": func(words []string) *listing {
		return under(words, below(words, []string{"-l", "-L", "--files-with-matches"}, []string{"--include"},
			grepLetters))
	},
	"rg": func(words []string) *listing {
		return under(words, below(words, []string{"-l", "--files", "--files-with-matches"}, []string{"-g", "--glob"},
			append(grepLetters, "-t=", "-0", "-u", "--type=", "--hidden")))
	},
	"git": gitLists,
}

var grepLetters = []string{"-r", "-R", "-l", "-L", "-i", "-E", "-F", "-w", "-I", "-n", "-s", "-Z", "-e=", "--include=",
	"--exclude=", "--exclude-dir=", "--null"}

// findLists is for find: what it prints begins with where it started.
func findLists(words []string) *listing {
	l := &listing{begins: true}
	for len(words) > 0 && !strings.HasPrefix(words[0], "-") && !slices.Contains([]string{"(", "!"}, words[0]) {
		l.dirs, words = append(l.dirs, words[0]), words[1:]
	}
	if len(l.dirs) == 0 {
		l.dirs = []string{"."}
	}
	for i, w := range words {
		switch w {
		case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename":
			if i+1 == len(words) || i > 0 && (words[i-1] == "-not" || words[i-1] == "!") {
				continue
			}
			if w != "-name" && w != "-iname" {
				l.sought = append(l.sought, words[i+1])
				continue
			}
			l.filters = append(l.filters, words[i+1])
			name := words[i+1]
			l.sought = append(l.sought, path.Join(l.dirs[0], name))
			if bare := strings.Trim(name, "*"); bare != name && bare != "" { // .env* is .env, too
				l.sought = append(l.sought, path.Join(l.dirs[0], bare))
			}
		case "-printf", "-fprintf", "-fprint", "-fprint0", "-fls", "-ls", "-exec", "-execdir", "-ok", "-okdir",
			"-delete", "-follow", "-L", "-files0-from":
			return nil
		case "-o", "-or", ",":
			if len(l.filters) == 0 {
				return &listing{dirs: l.dirs, begins: true} // the other side may be about any name
			}
		}
	}
	if !anyNamed(words) {
		l.filters = nil
	}
	if slices.Contains(words, "-prune") { // what is sought may be what is left out
		l.sought = nil
	}
	return l
}

// anyNamed reports whether every alternative of an expression of find is about names.
func anyNamed(words []string) bool {
	named := false
	for _, w := range words {
		switch w {
		case "-name", "-iname":
			named = true
		case "-o", "-or", ",":
			if !named {
				return false
			}
			named = false
		}
	}
	return named
}

// below is for programs that print names below the working directory, with one of the options given that make
// them do so. options are those that change nothing about that, = behind one that takes a value.
func below(words, need, filters, options []string) *listing {
	l := &listing{dirs: []string{"."}}
	found := len(need) == 0
	for i := 0; i < len(words); i++ {
		w := words[i]
		name, value, joined := strings.Cut(w, "=")
		switch {
		case !strings.HasPrefix(w, "-"):
			if strings.HasPrefix(w, "/") || strings.HasPrefix(w, "..") || strings.Contains(w, "../") {
				return nil
			}
			continue
		case slices.Contains(need, name):
			found = true
		case slices.Contains(filters, name):
			if !joined {
				if i++; i >= len(words) {
					return nil
				}
				value = words[i]
			}
			l.filters = append(l.filters, value)
		case slices.Contains(options, name+"="):
			if !joined {
				i++
			}
		case slices.Contains(options, w):
		case !strings.HasPrefix(w, "--"):
			for _, letter := range w[1:] {
				if slices.Contains(need, "-"+string(letter)) {
					found = true
				} else if !slices.Contains(options, "-"+string(letter)) {
					return nil
				}
			}
		default:
			return nil
		}
	}
	if !found || slices.ContainsFunc(l.filters, func(f string) bool { return strings.HasPrefix(f, "!") }) {
		l.filters = nil
	}
	if !found {
		return nil
	}
	l.there = true
	return l
}

// under takes the directories that a search is given behind its pattern: what it prints begins with one of them.
func under(words []string, l *listing) *listing {
	if l == nil ||
		slices.ContainsFunc(words, func(w string) bool {
			return w == "-t" || w == "-g" || w == "-e" || w == "--files"
		}) {
		return l
	}
	operands := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.HasPrefix(w, "-") })
	if len(operands) > 1 {
		l.dirs, l.begins = operands[1:], true
	}
	return l
}

// onlyWords is for a command with none but these words.
func onlyWords(words []string, known ...string) *listing {
	if slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(known, w) }) {
		return nil
	}
	return &listing{dirs: []string{"."}}
}

// gitLists is for the sub-commands of git that print names of files.
func gitLists(words []string) *listing {
	if len(words) == 0 {
		return nil
	}
	var l *listing
	switch words[0] {
	case "ls-files":
		l = below(words[1:], nil, nil, []string{"-z", "-o", "-c", "-m", "--others", "--cached", "--modified",
			"--exclude-standard", "--"})
	case "diff":
		l = below(words[1:], []string{"--name-only"}, nil, []string{"-z", "--cached", "--staged", "--diff-filter=",
			"--relative", "--"})
	case "grep":
		l = below(words[1:], []string{"-l", "--name-only", "--files-with-matches"}, nil,
			append(grepLetters, "-z", "--"))
	}
	if l == nil {
		return nil
	}
	l.there = words[0] != "diff" && !slices.ContainsFunc(words, func(w string) bool {
		return strings.HasPrefix(w, "--m") || strings.HasPrefix(w, "-") && strings.Contains(w, "m") // deleted ones, too
	})
	operands := slices.DeleteFunc(slices.Clone(words[1:]), func(w string) bool { return strings.HasPrefix(w, "-") })
	if words[0] == "ls-files" && len(operands) > 0 &&
		!slices.ContainsFunc(operands, func(w string) bool { return !strings.HasPrefix(w, "*.") }) {
		l.filters = operands
	}
	return l
}

// handed judges what xargs runs. in is what it reads; nil: nobody knows. It reports whether all that may be
// added is harmless, and returns the command with it.
func (e *eval) handed(words []field, inner []field, in *listing, sc scope) ([]field, bool) {
	options := words[1 : len(words)-len(inner)]
	if len(inner) == 0 {
		return nil, true // it shows what it reads
	}
	p := lookUp(inner[0].text)
	if p == nil || p.wraps || p.subs != nil || slices.ContainsFunc(words, func(w field) bool { return !w.known }) ||
		optionOf(options, "-a") {
		return inner, false
	}
	if onlyShows(p) {
		return inner, true
	}
	if in == nil || len(sc.dirs) != 1 || in.sought == nil && namesSecret(append([]string{""}, in.filters...)) {
		return inner, false
	}
	full, first := given(inner, options, in.dirs)
	a := analyse(full)
	if len(a.inner) > 0 || a.wraps || a.asks || !a.table {
		return inner, false
	}
	content, uses := false, 0
	for _, u := range a.uses {
		if u.flagged != effectNone || u.op.changes() || u.kind == useShell || u.kind == useURL || u.kind == useDir {
			return inner, false
		}
		if u.operand && (u.kind == usePath || u.kind == useMaybe) && slices.Contains(in.dirs, u.text) {
			uses++
			content = content || u.op != OpList
		}
	}
	if first < 0 || uses < len(full)-len(inner) || uses == 0 {
		return inner, false // a name would be taken for something else
	}
	ended := first > 0 && full[first-1].text == "--"
	t := walked{e: e, l: in, content: content, split: !optionOf(options, "-0"), options: !in.begins && !ended}
	if t.options && !in.there && !readsOnly(p) || !t.harmless(sc) {
		return inner, false
	}
	if content {
		for _, name := range in.sought { // whether it is there now or not
			e.usePath(use{kind: usePath, text: name, op: OpRead}, sc, "")
		}
	}
	return full, true
}

// found judges what find runs with -exec, at its end, or fd with -x, as what xargs runs with the names that they print.
func (e *eval) found(words, inner []field, sc scope) ([]field, bool) {
	if words[0].text == "fd" {
		if namesSecret(texts(words[:len(words)-len(inner)])) {
			return inner, false
		}
		at := len(words) - 1 - len(inner)
		in := listers["fd"](texts(words[1:max(at, 1)]))
		if at < 1 || in == nil || !slices.Contains(fdRuns, words[at].text) ||
			slices.ContainsFunc(inner, func(w field) bool { return w.text != "{}" && strings.Contains(w.text, "{") }) {
			return inner, false
		}
		xargs := literal([]string{"xargs", "-0"})
		if slices.ContainsFunc(inner, func(w field) bool { return w.text == "{}" }) {
			xargs = append(xargs, literal([]string{"-I", "{}"})...)
		}
		return e.handed(append(xargs, inner...), inner, in, sc)
	}
	at := len(words) - 2 - len(inner)
	if at < 1 || words[at].text != "-exec" || slices.ContainsFunc(words, func(w field) bool { return !w.known }) {
		return inner, false
	}
	return e.handed(append(literal([]string{"xargs", "-0", "-I", "{}"}), inner...), inner,
		findLists(texts(words[1:at])), sc)
}

// fdRuns are the options of fd that run the words behind them.
var fdRuns = []string{"-x", "-X", "--exec", "--exec-batch"}

// onlyShows reports whether a program does nothing but show its words, whatever they are.
func onlyShows(p *program) bool {
	if slices.ContainsFunc(p.operands, func(k kind) bool { return k != kindText && k != kindFree }) ||
		len(p.operands) == 0 || p.bare != effectNone {
		return false
	}
	for _, o := range p.options {
		if !o.harmless() {
			return false
		}
	}
	return p.style == styleGNU || p.style == stylePlain
}

// readsOnly reports whether no option of a program does more than read files.
func readsOnly(p *program) bool {
	reads := []kind{kindText, kindFree, kindRead, kindLook, kindList, kindSeen, kindGlob}
	for _, o := range p.options {
		if o.effect != effectNone ||
			slices.ContainsFunc(o.kinds, func(k kind) bool { return !slices.Contains(reads, k) }) {
			return false
		}
	}
	return true
}

// optionOf reports whether xargs is given an option, which may be one of several letters.
func optionOf(options []field, name string) bool {
	return slices.ContainsFunc(options, func(w field) bool {
		return w.text == name || len(w.text) > 1 && w.text[0] == '-' && w.text[1] != '-' &&
			strings.Contains(w.text, name[1:]) ||
			name == "-0" && w.text == "--null" || name == "-a" && strings.HasPrefix(w.text, "--a")
	})
}

// given puts the directories where xargs puts names: three times over, since several names may come, or in
// place of a sign. first is where they begin; -1: nobody knows.
func given(inner, options []field, dirs []string) (full []field, first int) {
	sign := ""
	for i, w := range options {
		switch {
		case w.text == "-I" && i+1 < len(options):
			sign = options[i+1].text
		case strings.HasPrefix(w.text, "-I"):
			sign = w.text[2:]
		case strings.HasPrefix(w.text, "-i"), strings.HasPrefix(w.text, "--rep"):
			return inner, -1
		}
	}
	if sign == "" {
		given := literal(dirs)
		return slices.Concat(inner, given, given, given), len(inner)
	}
	first = -1
	for i, w := range inner {
		switch {
		case w.text == sign && i > 0 && first < 0:
			first = i
			full = append(full, literal(dirs)...)
		case strings.Contains(w.text, sign):
			return inner, -1
		default:
			full = append(full, w)
		}
	}
	if len(dirs) == 1 && first > 0 { // one takes the place of the other
		full = slices.Insert(full, first, full[first])
	}
	return full, first
}

// filesBelow lists what a pattern with directories stands for. ** is any number of them, as some shells read
// it, or one, as others do.
func (e *eval) filesBelow(pattern string, sc scope) (fields []field, why string) {
	r := e.root()
	parts := strings.Split(strings.TrimPrefix(pattern, "./"), "/")
	fixed := slices.IndexFunc(parts, func(p string) bool { return strings.ContainsAny(p, "*?[") })
	if slices.ContainsFunc(parts, func(p string) bool {
		return p == "" || strings.HasPrefix(p, ".") || strings.Contains(p, "**") && p != "**"
	}) {
		return nil, "is of a form that shells read in different ways"
	}
	base := strings.Join(parts[:fixed], "/")
	at := r.locate("./"+base, sc.dirs[0])
	if at.outside || at.err != nil {
		return nil, "stands for files outside of the root"
	}
	seen, again := 0, slices.Contains(parts, "**")
	err := filepath.WalkDir(at.abs, func(name string, entry fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(at.abs, name)
		names := append(slices.Clone(parts[:fixed]), strings.Split(filepath.ToSlash(rel), "/")...)
		switch seen++; {
		case at.missing || seen > maxTree:
			return fs.ErrInvalid
		case name == at.abs:
			return err
		case err != nil || strings.HasPrefix(entry.Name(), ".") || entry.IsDir() && !again && len(names) > len(parts):
			if err != nil || entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.Type()&os.ModeSymlink != 0 && e.isDir(name, scope{dirs: []string{""}}):
			return fs.ErrInvalid // some shells follow it
		case matchSegments(parts, names, matches):
			fields = append(fields, field{text: strings.Join(names, "/"), known: true})
		}
		return nil
	})
	if e.work += seen / 10; err != nil && !at.missing || e.work > maxWork {
		return nil, "stands for files that are too many, or behind a link"
	}
	if len(fields) == 0 {
		return e.noFiles(pattern, sc)
	}
	return fields, ""
}

// noFiles is for a pattern that stands for no file now, and so for itself. Files that a rule closes may be there by
// then.
func (e *eval) noFiles(pattern string, sc scope) (fields []field, why string) {
	fields = []field{{text: pattern, known: true}}
	if at := e.root().locate(pattern, sc.dirs[0]); !at.outside {
		names := foldNames(at.asked)
		for _, r := range e.p.rules {
			if r.Decision != chat.DecisionAllow && r.fitsOp(OpRead) && e.applies(r, SubjectPath, true) &&
				slices.ContainsFunc(r.paths, func(p pathPattern) bool {
					return !p.absolute && matchSegments(p.folded, names, mayMeet)
				}) {
				return fields, "may stand for files that a rule closes"
			}
		}
	}
	return fields, ""
}

// mayMeet reports whether there may be a name that a part of a rule and one of a pattern of the shell both fit. A lone
// star and two that are both patterns do not count.
func mayMeet(name, by string) bool {
	if strings.ContainsAny(name, "*?[") {
		name, by = by, name
	} else if strings.HasPrefix(name, ".") && !strings.HasPrefix(by, ".") {
		return false
	}
	return matches(by, name) && by != "*" && !strings.ContainsAny(name, "*?[")
}

// maxTree limits the files that are looked at behind names that are handed on.
const maxTree = 20000

// walked is the files whose names are handed on.
type walked struct {
	e       *eval
	l       *listing
	content bool // what is in the files is seen
	split   bool // a name is cut where it has blanks or quotes
	options bool // a name may be taken for an option
	seen    int
}

// harmless reports whether no name is read as something else, and no file is one that must not be read.
func (t *walked) harmless(sc scope) bool {
	r := t.e.root()
	if r.err != nil {
		return false
	}
	for _, d := range t.l.dirs {
		at := r.locate(d, sc.dirs[0])
		if at.outside || at.err != nil {
			return false
		}
		if at.missing {
			continue
		}
		err := filepath.WalkDir(at.abs, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() && entry.Name() == ".git" {
				return fs.SkipDir
			}
			if t.seen++; t.seen > maxTree || name != at.abs && t.harms(name, path.Dir(name) == at.abs, entry) {
				return fs.ErrInvalid
			}
			return nil
		})
		if t.e.work += t.seen / 10; err != nil {
			return false
		}
	}
	return true
}

// harms looks at one file.
func (t *walked) harms(name string, top bool, entry fs.DirEntry) bool {
	base := entry.Name()
	if t.split && strings.ContainsAny(base, " \t\n\r\v\f'\"\\") || t.options && top && strings.HasPrefix(base, "-") {
		return true
	}
	if !t.content || entry.IsDir() || !t.l.fits(base) {
		return false
	}
	if t.e.work++; t.e.work > maxWork {
		return true
	}
	if entry.Type()&os.ModeSymlink != 0 {
		return true
	}
	at := t.e.root().locate(name, "")
	return at.outside || t.e.closed(at)
}

// closed reports whether a file must not be read without a question.
func (e *eval) closed(at resolvedPath) bool {
	check, _ := e.refused(at, OpRead, false)
	rule := e.pathRule(at, OpRead, true)
	return check != "" || rule != nil && rule.Decision != chat.DecisionAllow
}

// names lists the names that a listing stands for now; nil if they are not known, too many, or would be read as
// something else.
func (e *eval) names(l *listing, sc scope) []field {
	r := e.root()
	if l == nil || r.err != nil || len(sc.dirs) != 1 {
		return nil
	}
	t := walked{e: e, l: l, content: true, split: true, options: !l.begins}
	names := []field{}
	for _, d := range l.dirs {
		at := r.locate(d, sc.dirs[0])
		if at.outside || at.err != nil || at.missing {
			return nil
		}
		err := filepath.WalkDir(at.abs, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() && entry.Name() == ".git" {
				return fs.SkipDir
			}
			if t.seen++; t.seen > maxTree || name != at.abs && t.harms(name, path.Dir(name) == at.abs, entry) {
				return fs.ErrInvalid
			}
			rel, err := filepath.Rel(at.abs, name)
			if err != nil {
				return err
			}
			if l.fits(entry.Name()) {
				names = append(names, field{text: path.Join(d, filepath.ToSlash(rel)), known: true, held: true})
			}
			return nil
		})
		if e.work += t.seen / 10; err != nil {
			return nil
		}
	}
	for _, name := range l.sought {
		if at := r.locate(name, sc.dirs[0]); at.missing && e.closed(at) { // it may be there by then
			names = append(names, field{text: name, known: true})
		}
	}
	if len(names) == 0 { // some may be there by then
		filters := l.filters
		if len(filters) == 0 {
			filters = []string{"*"}
		}
		for _, filter := range filters {
			names = append(names, field{text: path.Join(l.dirs[0], path.Base(filter)), known: true, held: true})
		}
	}
	return names
}

// fits reports whether one of the filters fits a name, without regard to case, as some of the programs are.
func (l *listing) fits(name string) bool {
	return len(l.filters) == 0 || slices.ContainsFunc(l.filters, func(filter string) bool {
		ok, err := path.Match(strings.ToLower(path.Base(filter)), strings.ToLower(name))
		return ok || err != nil
	})
}
